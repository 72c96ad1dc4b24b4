// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/skynet_tracer.h"

#include "protozero/constant_message.h"
#include "protozero/tracing/trace.h"
#include "test/workloads/skynet_tree.h"

namespace protozero::workloads {

namespace {

using protozero::trace::EventName;
using protozero::trace::InternedData;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

// The events. The compiler has encoded all but the time and the node. So
// writing an event is a copy, and takes hardly any stack. The stack of a fiber
// is cold memory, and each line of it costs as much as an event.
constexpr Hole<9> kTime;
constexpr Hole<3> kNode;
static_assert(kMillionFibers.end_of_ids() <= 1 << (3 * 7));

constexpr auto kEnd = MakeConstantMessage<TracePacket>([] {
  return FieldList(TracePacket::kTimestamp(kTime),
                   TracePacket::kTrackEvent(
                       FieldList(TrackEvent::kType(TrackEvent::TYPE_SLICE_END),
                                 TrackEvent::kTrackUuid(kNode))));
});
constexpr auto kBegin = MakeConstantMessage<TracePacket>([] {
  return FieldList(TracePacket::kTimestamp(kTime),
                   TracePacket::kSequenceFlags(
                       uint32_t{TracePacket::SEQ_NEEDS_INCREMENTAL_STATE}),
                   TracePacket::kTrackEvent(FieldList(
                       TrackEvent::kType(TrackEvent::TYPE_SLICE_BEGIN),
                       TrackEvent::kTrackUuid(kNode),
                       TrackEvent::kNameIid(SkynetTracer::kEventName))));
});
// The same event, which also tells viewers to forget all ids and gives them the
// name.
constexpr auto kFirstBegin = MakeConstantMessage<TracePacket>([] {
  return FieldList(
      TracePacket::kTimestamp(kTime),
      TracePacket::kSequenceFlags(
          uint32_t{TracePacket::SEQ_INCREMENTAL_STATE_CLEARED} |
          uint32_t{TracePacket::SEQ_NEEDS_INCREMENTAL_STATE}),
      TracePacket::kInternedData(FieldList(InternedData::kEventNames(
          FieldList(EventName::kIid(SkynetTracer::kEventName),
                    EventName::kName(SkynetTracer::kEventNameText))))),
      TracePacket::kTrackEvent(
          FieldList(TrackEvent::kType(TrackEvent::TYPE_SLICE_BEGIN),
                    TrackEvent::kTrackUuid(kNode),
                    TrackEvent::kNameIid(SkynetTracer::kEventName))));
});

}  // namespace

// A pointer, because it needs no initialization that each access would have to
// check.
thread_local SkynetTracer::Writer* SkynetTracer::this_thread_ = nullptr;

SkynetTracer::Writer::Writer(const std::shared_ptr<DataSource>& source,
                             const TraceClock* trace_clock)
    : writers(source), clock(trace_clock) {
  // Announces the writer to the service.
  writers.Trace([](TraceContext&) {});
}

SkynetTracer::Thread::Thread(SkynetTracer* tracer) : tracer_(tracer) {
  {
    std::lock_guard<std::mutex> lock(tracer_->lock_);
    if (!tracer_->writers_.empty()) {
      writer_ = std::move(tracer_->writers_.back());
      tracer_->writers_.pop_back();
    }
  }
  if (writer_ == nullptr)
    writer_ = std::make_unique<Writer>(tracer_->source_, tracer_->clock_);
  this_thread_ = writer_.get();
}

SkynetTracer::Thread::~Thread() {
  this_thread_ = nullptr;
  std::lock_guard<std::mutex> lock(tracer_->lock_);
  tracer_->writers_.push_back(std::move(writer_));
}

SkynetTracer::Totals SkynetTracer::Finish() {
  std::lock_guard<std::mutex> lock(lock_);
  Totals totals;
  for (const std::unique_ptr<Writer>& writer : writers_) {
    totals.events_written += writer->events_written;
    totals.events_lost += writer->writers.packets_lost();
  }
  writers_.clear();
  return totals;
}

// The functions for the sessions get their arguments in registers. An object
// with an address would take one more line of the stack.

void SkynetTracer::WriteBegin(uint64_t id) {
  Writer* const writer = this_thread_;
  ++writer->events_written;
  writer->writers.Trace([writer, id](TraceContext& context) {
    // A viewer that has missed a packet has forgotten the name.
    const uint64_t losses = context.writer().packets_lost();
    if (__builtin_expect(context.TakeIncrementalStateCleared() ||
                             losses != writer->losses_seen,
                         false)) {
      writer->losses_seen = losses;
      return writer->WriteFirstBegin(&context, id);
    }
    context.WriteTracePacket<TracePacket>(kBegin(writer->clock->Now(), id));
  });
}

void SkynetTracer::Writer::WriteFirstBegin(TraceContext* context, uint64_t id) {
  context->WriteTracePacket<TracePacket>(kFirstBegin(clock->Now(), id));
}

void SkynetTracer::WriteEnd(uint64_t id) {
  Writer* const writer = this_thread_;
  ++writer->events_written;
  writer->writers.Trace([writer, id](TraceContext& context) {
    context.WriteTracePacket<TracePacket>(kEnd(writer->clock->Now(), id));
  });
}

}  // namespace protozero::workloads
