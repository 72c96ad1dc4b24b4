// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/live_spans.h"

#include <stdio.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/program/io.h"
#include "src/program/text.h"
#include "src/program/varint.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace {

using program::CountOf;
using protozero::ConstBytes;
using protozero::Field;
using protozero::ProtoDecoder;
using protozero::trace::TracePacket;

// The bytes after which a look comes earlier, because what waits takes memory.
constexpr size_t kLookBytes = size_t{4} << 20;
// The looks after which nothing waits, if there are no more packets.
constexpr uint32_t kMaxIdleLooks = 4;

uint64_t NowMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 +
         static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

uint64_t NumPackets(ConstBytes packets) {
  ProtoDecoder decoder(packets);
  uint64_t count = 0;
  while (decoder.ReadField())
    ++count;
  return count;
}

}  // namespace

LiveSpans::LiveSpans(const std::string& host,
                     std::unique_ptr<protozero::otlp::BatchSink> sink,
                     uint64_t look_ms)
    : look_ms_(look_ms),
      sender_(std::move(sink)),
      batches_(&sender_),
      reader_(MakeCallbacks()),
      encoder_(host, &reader_, &batches_),
      tasks_(host),
      ids_(host),
      last_look_ms_(NowMs()) {
  reader_.set_schema(&schema_);
  thread_ = std::thread([this] { Run(); });
}

LiveSpans::~LiveSpans() {
  Finish();
  Interrupt();
  thread_.join();
}

TimelineReader::Callbacks LiveSpans::MakeCallbacks() {
  TimelineReader::Callbacks callbacks;
  callbacks.reads_details = true;
  callbacks.nests_instants = true;
  callbacks.on_slice = [this](const Slice& slice) { OnSlice(slice); };
  callbacks.on_unfinished = [this](const Slice& slice) {
    ++num_open_;
    AddOpenSlice(slice);
  };
  callbacks.on_instant = [this](const Instant& instant) {
    encoder_.AddInstant(instant);
  };
  callbacks.on_task_step = [this](const TaskStep& step) {
    tasks_.AddStep(step);
  };
  return callbacks;
}

void LiveSpans::Add(ConstBytes packets) {
  if (packets.size == 0)
    return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_kept = !is_interrupted_ && bytes_ + packets.size <= kMaxBytes &&
                       protozero::RunsInMemory([&] {
                         queue_.push_back({packets.ToStdString(), has_lost_});
                       });
  if (!is_kept) {
    has_lost_ = true;
    packets_lost_ += NumPackets(packets);
    return;
  }
  has_lost_ = false;
  bytes_ += packets.size;
  changed_.notify_one();
}

void LiveSpans::Finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_finished_ = true;
  changed_.notify_one();
}

bool LiveSpans::has_unread() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_ != 0;
}

void LiveSpans::Interrupt() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_interrupted_ = true;
  }
  sender_.Interrupt();
}

void LiveSpans::Run() {
  std::deque<Packets> packets;
  const bool has_memory = protozero::RunsInMemory([&] {
    while (Wait(&packets)) {
      for (const Packets& some : packets)
        Read(some);
      packets.clear();
      if (NowMs() >= last_look_ms_ + look_ms_)
        Look(/*is_last=*/false);
    }
    reader_.Finish();
    // The slices of the last look get their ids in the one after it.
    Look(/*is_last=*/true);
    Look(/*is_last=*/true);
    encoder_.WriteAllLogs();
    batches_.SendAll();
  });
  if (!has_memory) {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_out_of_memory_ = true;
    is_interrupted_ = true;
    for (const Packets& some : queue_)
      packets_lost_ += NumPackets(
          ConstBytes(reinterpret_cast<const uint8_t*>(some.bytes.data()),
                     some.bytes.size()));
    queue_.clear();
  }
  sender_.Close();
}

bool LiveSpans::Wait(std::deque<Packets>* packets) {
  std::unique_lock<std::mutex> lock(mutex_);
  bytes_ = 0;
  for (const Packets& some : queue_)
    bytes_ += some.bytes.size();
  const auto is_due = [this] { return is_finished_ || !queue_.empty(); };
  if (idle_looks_ < kMaxIdleLooks && look_ms_ != 0)
    changed_.wait_for(lock, std::chrono::milliseconds(look_ms_), is_due);
  else
    changed_.wait(lock, is_due);
  *packets = std::exchange(queue_, {});
  if (!packets->empty())
    idle_looks_ = 0;
  return !packets->empty() || !is_finished_;
}

void LiveSpans::Read(const Packets& packets) {
  const ConstBytes bytes(reinterpret_cast<const uint8_t*>(packets.bytes.data()),
                         packets.bytes.size());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_interrupted_) {
      packets_lost_ += NumPackets(bytes);
      return;
    }
  }
  if (packets.is_after_loss) {
    has_gaps_ = true;
    told_.clear();
  }
  bytes_since_look_ += bytes.size;
  if (has_gaps_)
    ReadAfterLoss(packets.bytes);
  else
    reader_.Read(bytes);
  if (bytes_since_look_ >= kLookBytes)
    Look(/*is_last=*/false);
}

void LiveSpans::ReadAfterLoss(const std::string& bytes) {
  std::string marked;
  ProtoDecoder decoder(bytes.data(), bytes.size());
  while (const Field field = decoder.ReadField()) {
    const TracePacket::Decoder packet(field.as_bytes());
    std::string content = field.as_bytes().ToStdString();
    if (told_.insert(packet.trusted_packet_sequence_id()).second) {
      program::AppendVarInt(TracePacket::kPreviousPacketDroppedFieldNumber << 3,
                            &content);
      content += '\x01';
    }
    program::AppendVarInt(
        protozero::proto_utils::MakeTagLengthDelimited(field.id()), &marked);
    program::AppendVarInt(content.size(), &marked);
    marked += content;
  }
  reader_.Read(ConstBytes(reinterpret_cast<const uint8_t*>(marked.data()),
                          marked.size()));
}

void LiveSpans::OnSlice(const Slice& slice) {
  OtelArgs otel;
  EncodedSpan span = encoder_.EncodeSlice(slice, &otel);
  ids_.AddSlice(slice, otel, /*has_ended=*/true);
  ended_.push_back({slice.number, std::move(span)});
}

void LiveSpans::Look(bool is_last) {
  last_look_ms_ = NowMs();
  bytes_since_look_ = 0;
  ++idle_looks_;
  if (!is_last)
    reader_.ReleaseEvents();
  AddOpenSlices();
  for (const LiveTask& task : tasks_.EndLook(is_last))
    WriteTask(task);
  ids_.EndLook(tasks_);
  ids_.BeginLook();
  SendEnded();
  batches_.SendAll();
}

void LiveSpans::AddOpenSlices() {
  const bool has_lost_ends = reader_.lost_ends() != lost_ends_;
  lost_ends_ = reader_.lost_ends();
  std::unordered_set<uint64_t> open;
  reader_.ForEachOpenSlice(0, [&](const Slice& slice) {
    if (has_lost_ends)
      open.insert(slice.number);
    AddOpenSlice(slice);
  });
  if (has_lost_ends)
    ids_.KeepOpen(open);
}

void LiveSpans::AddOpenSlice(const Slice& slice) {
  if (ids_.IsKnown(slice))
    return;
  OtelArgs otel;
  OtelArgsSink attributes(&otel);
  reader_.ReadArgs(*slice.details, UniqueNames::kByText, &attributes);
  ids_.AddSlice(slice, otel, /*has_ended=*/false);
}

void LiveSpans::SendEnded() {
  for (EndedSlice& slice : ended_before_) {
    const LinkedSpan ids = ids_.Take(slice.number);
    encoder_.Write(std::move(slice.span), ids.ids, ids.links);
  }
  ended_before_ = std::exchange(ended_, {});
}

void LiveSpans::WriteTask(const LiveTask& task) {
  TaskLife life;
  life.process = task.process;
  life.begin_ns = task.begin_ns;
  life.end_ns = task.end_ns;
  life.result = task.result;
  life.name = task.name;
  life.place = task.place ? &*task.place : nullptr;
  life.request = task.request;
  encoder_.Write(encoder_.EncodeTask(life), tasks_.IdentityOf(task), {});
}

bool LiveSpans::Report() const {
  const SpanSender::Counts counts = sender_.counts();
  const bool is_complete = counts.exported == counts.given &&
                           packets_lost_ == 0 && tasks_.num_dropped() == 0 &&
                           !is_out_of_memory_;
  std::string text = std::to_string(counts.exported);
  if (counts.exported != counts.given)
    text += " of " + std::to_string(counts.given);
  text += " spans and logs have arrived";
  if (counts.rejected != 0)
    text += ", " + std::to_string(counts.rejected) + " were refused";
  if (counts.dropped != 0)
    text += ", " + std::to_string(counts.dropped) + " were not sent";
  if (!counts.reason.empty() && counts.exported != counts.given)
    text += ": " + Escaped(counts.reason);
  fprintf(stderr, "--endpoint: %s\n", text.c_str());
  if (num_open_ != 0 || tasks_.num_open() != 0) {
    fprintf(stderr, "--endpoint: not sent, since they had not ended: %s, %s\n",
            CountOf(num_open_, "slice").c_str(),
            CountOf(tasks_.num_open(), "task").c_str());
  }
  if (packets_lost_ != 0) {
    program::PrintError(kProgram, "--endpoint has not seen %s",
                        CountOf(packets_lost_, "packet").c_str());
  }
  if (is_out_of_memory_) {
    program::PrintError(kProgram,
                        "--endpoint: out of memory: what was read last is not "
                        "sent");
  }
  if (tasks_.num_dropped() != 0) {
    program::PrintError(kProgram, "--endpoint has not seen %s of tasks",
                        CountOf(tasks_.num_dropped(), "step").c_str());
  }
  if (encoder_.has_no_wall_clock()) {
    program::PrintError(kProgram,
                        "--endpoint: times are the trace's own, since it has "
                        "none of the wall clock");
  }
  return is_complete;
}

}  // namespace pztrace
