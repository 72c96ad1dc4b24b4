// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tasks/sample_tasks.h"

#include <utility>

#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/pztrace/tasks/task_summary.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;
using protozero::Field;
using protozero::KernelPacket;
using protozero::ProtoDecoder;
using protozero::TraceReader;
using protozero::trace::InternedData;
using protozero::trace::StackSample;
using protozero::trace::Trace;
using protozero::trace::TracePacket;

// The limit of the tasks before a task that are described with it. A task that
// spawns the next one, and so on, comes from all of them.
constexpr size_t kMaxAncestors = 64;

std::string_view RecordsView(ConstBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

// Returns the number of a task among all of a trace: those of the program are
// unique in their process only.
uint64_t AsyncIdOf(uint32_t task) {
  return uint64_t{task} + 1;
}

}  // namespace

SampleTasks::SampleTasks()
    : tasks_reader_([this] {
        TraceReader::Callbacks callbacks;
        callbacks.on_task_step = [this](const TaskStep& step) {
          timeline_.Add(step);
        };
        return callbacks;
      }()),
      samples_reader_([this] {
        TraceReader::Callbacks callbacks;
        callbacks.skips_events = true;
        callbacks.on_kernel_packet = [this](const KernelPacket& packet) {
          FindTask(packet);
        };
        return callbacks;
      }()) {}

void SampleTasks::Finish() {
  tasks_reader_.Finish();
  timeline_.Finish(tasks_reader_.end_ns());
  runs_.emplace(timeline_, tasks_reader_.tracks());
}

std::string_view SampleTasks::AddTo(ConstBytes packets) {
  found_.clear();
  packets_ = packets;
  if (!timeline_.tasks().empty())
    samples_reader_.Read(packets);
  if (found_.empty())
    return RecordsView(packets);
  output_.clear();
  ProtoDecoder decoder(packets);
  size_t begin = 0;
  for (const Found& found : found_) {
    while (const Field field = decoder.ReadField()) {
      const size_t end = decoder.read_offset();
      const bool is_sample = found.message < packets.data + end;
      if (is_sample)
        AppendSample(field.as_bytes(), found);
      else
        output_ += RecordsView(packets).substr(begin, end - begin);
      begin = end;
      if (is_sample)
        break;
    }
  }
  output_ += RecordsView(packets).substr(begin);
  count_ += found_.size();
  return output_;
}

void SampleTasks::FindTask(const KernelPacket& packet) {
  const ConstBytes message = packet.message();
  // A packet whose clock was not known before comes later, from elsewhere.
  if (packet.field_id() != TracePacket::kStackSampleFieldNumber ||
      !packet.time_ns() || message.data < packets_.data ||
      message.data >= packets_.data + packets_.size) {
    return;
  }
  const StackSample::Decoder sample(message);
  ConstBytes context = sample.task_context();
  if (sample.has_task_context_iid()) {
    context =
        packet.FindInterned(InternedData::kStackSampleTaskContextsFieldNumber,
                            sample.task_context_iid());
  }
  const StackSample::TaskContext::Decoder thread(context);
  if (thread.has_async_id())
    return;
  const uint32_t task =
      runs_->Find(thread.pid(), thread.tid(), *packet.time_ns());
  if (task != kNoIndex) {
    found_.push_back({message.data, packet.sequence(), packet.num_clears(),
                      thread.pid(), thread.tid(), task});
  }
}

void SampleTasks::AppendSample(ConstBytes packet, const Found& found) {
  DescribeTask(found);
  std::string bytes;
  std::string sample;
  ProtoDecoder decoder(packet);
  while (const Field field = decoder.ReadField()) {
    if (field.id() != TracePacket::kStackSampleFieldNumber) {
      field.SerializeAndAppendTo(&bytes);
      continue;
    }
    ProtoDecoder of_sample(field.as_bytes());
    while (const Field part = of_sample.ReadField()) {
      if (part.id() != StackSample::kTaskContextFieldNumber &&
          part.id() != StackSample::kTaskContextIidFieldNumber) {
        part.SerializeAndAppendTo(&sample);
      }
    }
  }
  protozero::HeapBuffered<StackSample> context;
  auto* const thread = context->set_task_context();
  thread->set_pid(found.pid);
  thread->set_tid(found.tid);
  thread->set_async_id(AsyncIdOf(found.task));
  sample += context.SerializeAsString();
  protozero::HeapBuffered<Trace> trace;
  auto* const message = trace->add_packet();
  message->AppendRawProtoBytes(bytes.data(), bytes.size());
  message->AppendBytes(TracePacket::kStackSampleFieldNumber, sample.data(),
                       sample.size());
  output_ += trace.SerializeAsString();
}

// Describes the task and the last of those that it comes from, unless the
// sequence has done so since it has cleared its interned data.
void SampleTasks::DescribeTask(const Found& found) {
  Sequence& sequence = sequences_[found.sequence];
  if (sequence.num_clears != found.num_clears)
    sequence = {found.num_clears, {}};
  if (sequence.tasks.count(found.task) != 0)
    return;
  protozero::HeapBuffered<Trace> trace;
  auto* const packet = trace->add_packet();
  packet->set_trusted_packet_sequence_id(found.sequence);
  packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  auto* const data = packet->set_interned_data();
  uint32_t task = found.task;
  for (size_t i = 0; task != kNoIndex && sequence.tasks.insert(task).second;
       ++i) {
    auto* const context = data->add_stack_sample_async_context_descriptors();
    context->set_iid(AsyncIdOf(task));
    context->set_name(TaskText(timeline_, task));
    context->set_kind("task");
    task = i < kMaxAncestors ? timeline_.tasks()[task].parent : kNoIndex;
    if (task != kNoIndex)
      context->set_parent_iid(AsyncIdOf(task));
  }
  output_ += trace.SerializeAsString();
}

}  // namespace pztrace
