// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/thread_sums.h"

#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

using trace::TracePacket;

// The tracks of a thread: its own, and one for each counter.
enum TrackKind : uint64_t { kThread = 0, kRan = 1, kReady = 2 };

// Returns a number that no other track is likely to have.
uint64_t TrackOf(int32_t tid, TrackKind kind) {
  constexpr uint64_t kSumsOfThreads = 0x9d3c5f1ea7420000;
  return (kSumsOfThreads ^ static_cast<uint64_t>(tid) << 2) | kind;
}

void DescribeThread(int32_t pid, int32_t tid, TraceContext* context) {
  auto packet = context->NewTracePacket<TracePacket>();
  auto* const track = packet->set_track_descriptor();
  track->set_uuid(TrackOf(tid, kThread));
  auto* const thread = track->set_thread();
  thread->set_pid(pid);
  thread->set_tid(tid);
  thread->set_thread_name(ThreadName(pid, tid));
}

void DescribeCounter(int32_t tid, TrackKind kind, TraceContext* context) {
  auto packet = context->NewTracePacket<TracePacket>();
  auto* const track = packet->set_track_descriptor();
  track->set_uuid(TrackOf(tid, kind));
  track->set_parent_uuid(TrackOf(tid, kThread));
  track->set_name(kind == kRan ? "ran" : "was ready");
  track->set_counter()->set_unit(trace::CounterDescriptor::UNIT_TIME_NS);
}

void WriteCounter(uint64_t time,
                  int32_t tid,
                  TrackKind kind,
                  uint64_t value,
                  TraceContext* context) {
  auto packet = context->NewTracePacket<TracePacket>();
  packet->set_timestamp(time);
  auto* const event = packet->set_track_event();
  event->set_type(trace::TrackEvent::TYPE_COUNTER);
  event->set_track_uuid(TrackOf(tid, kind));
  event->set_counter_value(static_cast<int64_t>(value));
}

}  // namespace

void ThreadSumsWriter::Write(uint64_t time, TraceContext* context) {
  // Tracks are described again when the trace may have forgotten them.
  if (context->TakeIncrementalStateCleared())
    sums_.clear();
  for (const int32_t pid : processes_) {
    for (const int32_t tid : ThreadsOf(pid))
      WriteThread(time, pid, tid, context);
  }
}

void ThreadSumsWriter::WriteThread(uint64_t time,
                                   int32_t pid,
                                   int32_t tid,
                                   TraceContext* context) {
  const std::optional<ThreadSums> found = SumsOf(pid, tid);
  if (!found)
    return;
  const ThreadSums sums = *found;
  const auto [it, is_new] = sums_.try_emplace(tid, sums);
  ThreadSums& last = it->second;
  if (is_new) {
    DescribeThread(pid, tid, context);
    DescribeCounter(tid, kRan, context);
    DescribeCounter(tid, kReady, context);
  }
  if (is_new || sums.ran != last.ran)
    WriteCounter(time, tid, kRan, sums.ran, context);
  if (is_new || sums.was_ready != last.was_ready)
    WriteCounter(time, tid, kReady, sums.was_ready, context);
  last = sums;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
