// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/edit/trace_merger.h"

#include <stdlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "protozero/field.h"
#include "protozero/tracing/trace.h"
#include "src/program/varint.h"

namespace pztrace {

using program::AppendVarInt;
using protozero::ConstBytes;
using protozero::Field;
using protozero::ProtoDecoder;
using protozero::trace::Trace;
using protozero::trace::TracePacket;
using protozero::trace::TrackDescriptor;

namespace {

// The clocks of one host show the same real time at the same boot time, but for
// corrections of the real-time clock.
constexpr int64_t kMaxRealtimeDifference = 1000000000;

bool AreSameRealtime(int64_t a, int64_t b) {
  const uint64_t difference =
      static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
  return std::min(difference, 0 - difference) <= kMaxRealtimeDifference;
}

constexpr char kArchiveHint[] =
    "; HOST=TRACE for each of them makes an archive";

std::string_view BytesAt(const uint8_t* begin, size_t size) {
  return {reinterpret_cast<const char*>(begin), size};
}

// Appends the packet as one of the sequence |id|.
void AppendRenumbered(ConstBytes packet, uint32_t id, std::string* trace) {
  std::string bytes;
  ProtoDecoder decoder(packet);
  size_t begin = 0;
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    const size_t end = decoder.read_offset();
    if (field.id() != TracePacket::kTrustedPacketSequenceIdFieldNumber)
      bytes += BytesAt(packet.data + begin, end - begin);
    begin = end;
  }
  AppendVarInt(TracePacket::kTrustedPacketSequenceIdFieldNumber << 3, &bytes);
  AppendVarInt(id, &bytes);
  AppendVarInt(Trace::kPacketFieldNumber << 3 | 2, trace);
  AppendVarInt(bytes.size(), trace);
  *trace += bytes;
}

}  // namespace

// A trace to be merged, of which one packet at a time is looked at.
class TraceMerger::Input {
 public:
  Input(std::string name, pbz::FieldStream* stream)
      : name_(std::move(name)), stream_(stream) {}

  // Begins to read from the trace's first packet.
  bool Restart() {
    auto next = std::make_unique<PacketScanner>(&tables_);
    if (scanner_ != nullptr)
      next->clocks().RelateAsIn(scanner_->clocks());
    scanner_ = std::move(next);
    decoder_.reset();
    time_ns_ = 0;
    return stream_->Restart();
  }

  // Goes on to the next packet. Returns false if there is none.
  bool Next() {
    for (;;) {
      pbz::FieldStream::Run run;
      if (!decoder_) {
        if (!stream_->Next(&run))
          return false;
        decoder_.emplace(ConstBytes(run.data, run.size));
      }
      const size_t begin = decoder_->read_offset();
      const Field field = decoder_->ReadField();
      if (!field) {
        is_damaged_ |= decoder_->bytes_left() != 0;
        decoder_.reset();
        continue;
      }
      field_ =
          BytesAt(decoder_->begin() + begin, decoder_->read_offset() - begin);
      packet_.reset();
      if (field.id() != Trace::kPacketFieldNumber)
        return true;
      packet_ = scanner_->Parse(field.as_bytes());
      scanner_->Read(&*packet_);
      // Packets without a time stay after the event before them.
      const auto time_ns =
          packet_->time_ns ? packet_->time_ns : packet_->snapshot_ns;
      time_ns_ = std::max(time_ns_, time_ns.value_or(0));
      first_ns_ = std::min(first_ns_, time_ns.value_or(UINT64_MAX));
      return true;
    }
  }

  const std::string& name() const { return name_; }
  const std::string& stream_error() const { return stream_->error(); }
  bool is_damaged() const { return is_damaged_; }
  bool is_compressed() const {
    return packet_ && packet_->content == ScannedPacket::Content::kCompressed;
  }
  PacketScanner& scanner() { return *scanner_; }

  // Return the packet, or null if the trace has another field there, and the
  // whole field.
  const ScannedPacket* packet() const { return packet_ ? &*packet_ : nullptr; }
  std::string_view field() const { return field_; }
  // Return the times of the earliest and of the latest event or snapshot so
  // far.
  uint64_t first_ns() const { return first_ns_; }
  uint64_t time_ns() const { return time_ns_; }
  // Returns the real time. REQUIRES: has_realtime().
  bool has_realtime() { return scanner_->clocks().RealtimeOf(0).has_value(); }
  int64_t RealtimeOf(uint64_t time_ns) {
    return *scanner_->clocks().RealtimeOf(time_ns);
  }

  std::set<uint32_t> sequences;
  // The new numbers of those that change.
  std::unordered_map<uint32_t, uint32_t> new_ids;
  bool has_next = false;

 private:
  const std::string name_;
  pbz::FieldStream* const stream_;
  TraceTables tables_;
  std::unique_ptr<PacketScanner> scanner_;
  std::optional<ProtoDecoder> decoder_;
  std::optional<ScannedPacket> packet_;
  std::string_view field_;
  uint64_t first_ns_ = UINT64_MAX;
  uint64_t time_ns_ = 0;
  bool is_damaged_ = false;
};

TraceMerger::TraceMerger() = default;
TraceMerger::~TraceMerger() = default;

void TraceMerger::Add(std::string name, pbz::FieldStream* stream) {
  inputs_.emplace_back(std::move(name), stream);
}

bool TraceMerger::Fail(const std::string& name, const std::string& why) {
  error_ = name + ": " + why;
  return false;
}

bool TraceMerger::Survey() {
  for (Input& input : inputs_) {
    if (!SurveyInput(&input))
      return false;
  }
  if (!CheckClocks())
    return false;
  NumberSequences();
  for (Input& input : inputs_) {
    input.Restart();
    input.has_next = input.Next();
  }
  return true;
}

bool TraceMerger::SurveyInput(Input* input) {
  if (!input->Restart())
    return Fail(input->name(), "it is read twice, which no pipe allows");
  while (input->Next()) {
    const ScannedPacket* const packet = input->packet();
    if (packet == nullptr)
      continue;
    if (input->is_compressed())
      return Fail(input->name(), "a compressed packet cannot be read");
    input->sequences.insert(packet->sequence_id);
    if (packet->content == ScannedPacket::Content::kTrack &&
        !CheckTrack(*packet, *input)) {
      return false;
    }
  }
  if (input->is_damaged())
    damaged_.insert(input->name());
  return input->stream_error().empty() ||
         Fail(input->name(), input->stream_error());
}

bool TraceMerger::CheckTrack(const ScannedPacket& packet, const Input& input) {
  const TrackDescriptor::Decoder track(packet.content_bytes);
  const protozero::internal::PacketWriter writer = packet.writer();
  Described described;
  described.input = &input;
  described.parent = track.parent_uuid();
  described.process.writer_pid = writer.pid;
  described.process.machine = writer.machine;
  if (track.has_process()) {
    described.process.pid =
        protozero::trace::ProcessDescriptor::Decoder(track.process()).pid();
  }
  if (track.has_thread()) {
    const protozero::trace::ThreadDescriptor::Decoder thread(track.thread());
    described.process.pid = thread.pid();
    described.tid = thread.tid();
  }
  const auto [found, is_new] = tracks_.try_emplace(track.uuid(), described);
  const Described& known = found->second;
  if (is_new || known.input == &input)
    return true;
  const bool is_other = known.process.pid != described.process.pid ||
                        known.tid != described.tid ||
                        known.parent != described.parent ||
                        ((track.has_process() || track.has_thread()) &&
                         protozero::internal::ProcessTable::IsOther(
                             known.process, described.process.pid, writer));
  return !is_other ||
         Fail(input.name(), "track " + std::to_string(track.uuid()) +
                                " is another one in " + known.input->name() +
                                kArchiveHint);
}

bool TraceMerger::CheckClocks() {
  const uint32_t clock = inputs_.front().scanner().clocks().trace_clock();
  std::vector<Input*> related;
  for (Input& input : inputs_) {
    if (!input.scanner().clocks().IsTraceClock(clock)) {
      return Fail(input.name(), "its clock is not that of " +
                                    inputs_.front().name() + kArchiveHint);
    }
    if (!input.has_realtime())
      continue;
    for (Input* const other : related) {
      const bool is_later = input.first_ns() >= other->first_ns();
      if (!AreOfOneHost(is_later ? *other : input, is_later ? input : *other)) {
        return Fail(input.name(),
                    "by its clocks, it is not of the host of " + other->name() +
                        ", or the host has booted since" + kArchiveHint);
      }
    }
    related.push_back(&input);
  }
  return true;
}

// The real-time clock may be set between two traces, but forwards only: if it
// goes back, the host has probably booted.
bool TraceMerger::AreOfOneHost(Input& earlier, Input& later) {
  const uint64_t begin_ns = later.first_ns();
  const int64_t realtime = later.RealtimeOf(begin_ns);
  if (AreSameRealtime(realtime, earlier.RealtimeOf(begin_ns)))
    return true;
  const uint64_t end_ns = earlier.time_ns();
  return end_ns < begin_ns && earlier.RealtimeOf(end_ns) <= realtime;
}

void TraceMerger::NumberSequences() {
  std::set<uint32_t> all;
  for (const Input& input : inputs_)
    all.insert(input.sequences.begin(), input.sequences.end());
  std::set<uint32_t> used;
  uint32_t unused = 0;
  for (Input& input : inputs_) {
    for (const uint32_t id : input.sequences) {
      if (used.insert(id).second)
        continue;
      do {
        ++unused;
      } while (!all.insert(unused).second);
      input.new_ids[id] = unused;
    }
  }
}

bool TraceMerger::Next(std::string* merged) {
  Input* first = nullptr;
  for (Input& input : inputs_) {
    if (input.has_next &&
        (first == nullptr || input.time_ns() < first->time_ns())) {
      first = &input;
    }
  }
  if (first == nullptr)
    return false;
  const ScannedPacket* const packet = first->packet();
  const auto new_id = packet == nullptr
                          ? first->new_ids.end()
                          : first->new_ids.find(packet->sequence_id);
  if (new_id == first->new_ids.end())
    merged->append(first->field());
  else
    AppendRenumbered(packet->bytes, new_id->second, merged);
  first->has_next = first->Next();
  if (!first->has_next && !first->stream_error().empty())
    return Fail(first->name(), first->stream_error());
  return true;
}

}  // namespace pztrace
