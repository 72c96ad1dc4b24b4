// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_COMPLETION_CHAINS_TRACER_H_
#define TEST_WORKLOADS_COMPLETION_CHAINS_TRACER_H_

#include <stdint.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "protozero/append_fields.h"
#include "protozero/const_bytes.h"
#include "protozero/constant_message.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/trace.h"
#include "test/workloads/trace_clock.h"

// The tracers' work for each completion of a flow.

namespace protozero::workloads {

// Compiled without instrumentation.
class NoTracer {
 public:
  [[gnu::always_inline]] inline void OnCompletion() {}
};

// A tracer that writes an instant event on a track of the flow. Data that does
// not change from one event to the next is not written with each of them:
// - a flow is a sequence of packets of its own, whose defaults name the track;
// - the time is a difference to the flow's last event, on a clock that the
//   sequence declares;
// - the rest is a constant, encoded by the compiler.
// That leaves ten bytes, and the length in front of them.
//
// Only for one session at a time.
class FlowTracer {
 public:
  FlowTracer(std::shared_ptr<DataSource> source,
             const TraceClock* clock,
             uint32_t flow)
      : clock_(clock), flow_(flow), writers_(std::move(source)) {}

  [[gnu::always_inline]] inline void OnCompletion() {
    writers_.Trace([this](TraceContext& context) { WriteEvent(&context); });
  }

  uint64_t events_written() const { return events_written_; }
  uint64_t events_lost() const { return writers_.packets_lost(); }

  // Returns true if OnCompletion() could have written this packet.
  static bool IsEvent(ConstBytes packet);

 private:
  using TracePacket = protozero::trace::TracePacket;
  using TrackEvent = protozero::trace::TrackEvent;

  static constexpr uint64_t kEventName = 1;
  static constexpr auto kEvent = MakeConstantMessage<TracePacket>([] {
    return FieldList(TracePacket::kSequenceFlags(
                         uint32_t{TracePacket::SEQ_NEEDS_INCREMENTAL_STATE}),
                     TracePacket::kTrackEvent(
                         FieldList(TrackEvent::kType(TrackEvent::TYPE_INSTANT),
                                   TrackEvent::kNameIid(kEventName))));
  });

  [[gnu::always_inline]] inline void WriteEvent(TraceContext* context) {
    if (__builtin_expect(context->TakeIncrementalStateCleared(), false))
      BeginSequence(context);
    const uint64_t now = std::max(clock_->Now(), last_event_ns_);
    const uint64_t since_last_event = now - last_event_ns_;
    last_event_ns_ = now;
    ++events_written_;
    context->WriteTracePacket<TracePacket>(
        TracePacket::kTimestamp(since_last_event), kEvent);
  }
  // Writes the data that events refer to.
  [[gnu::noinline]] void BeginSequence(TraceContext* context);

  const TraceClock* const clock_;
  uint64_t last_event_ns_ = 0;
  uint64_t events_written_ = 0;
  const uint32_t flow_;
  DataSourceWriters writers_;
};

// A tracer to which each flow is a task, which runs from its completion to the
// next one.
class FlowTaskTracer {
 public:
  static constexpr char kSite[] = "flow";

  ~FlowTaskTracer() { task_.End(TaskResult::kDone); }

  [[gnu::always_inline]] inline void OnCompletion() { SwitchTask(task_); }

 private:
  const Task task_ = Task::Spawn(PROTOZERO_TASK_SITE(kSite));
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_COMPLETION_CHAINS_TRACER_H_
