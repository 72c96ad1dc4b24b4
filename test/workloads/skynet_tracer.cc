// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/skynet_tracer.h"

#include "protozero/append_fields.h"

namespace protozero::workloads {

namespace {

using perfetto::protos::pbzero::TracePacket;
using perfetto::protos::pbzero::TrackEvent;

}  // namespace

// A pointer, because it needs no initialization that each access would have to
// look after.
thread_local SkynetTracer::Writer* SkynetTracer::this_thread_ = nullptr;

SkynetTracer::Writer::Writer(const std::shared_ptr<DataSource>& source)
    : writers(source) {
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
    writer_ = std::make_unique<Writer>(tracer_->source_);
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

void SkynetTracer::WriteBegin(uint64_t id) {
  Writer& writer = *this_thread_;
  const uint64_t now = clock_->Now();
  writer.writers.Trace([&](TraceContext& context) {
    // A viewer that has missed something has forgotten the name.
    const uint64_t losses = context.writer().packets_lost();
    const bool is_first = context.TakeIncrementalStateCleared();
    const bool has_lost = losses != writer.losses_seen;
    writer.losses_seen = losses;
    ++writer.events_written;

    auto packet = context.NewTracePacket<TracePacket>();
    packet->set_timestamp(now);
    if (PROTOZERO_UNLIKELY(is_first || has_lost)) {
      BeginSequence(packet.get());
    } else {
      packet->set_sequence_flags(
          uint32_t{TracePacket::SEQ_NEEDS_INCREMENTAL_STATE});
    }
    AppendFields(packet->set_track_event(),
                 TrackEvent::kType(TrackEvent::TYPE_SLICE_BEGIN),
                 TrackEvent::kTrackUuid(id), TrackEvent::kNameIid(kEventName));
  });
}

void SkynetTracer::WriteEnd(uint64_t id) {
  Writer& writer = *this_thread_;
  const uint64_t now = clock_->Now();
  writer.writers.Trace([&](TraceContext& context) {
    ++writer.events_written;
    auto packet = context.NewTracePacket<TracePacket>();
    packet->set_timestamp(now);
    AppendFields(packet->set_track_event(),
                 TrackEvent::kType(TrackEvent::TYPE_SLICE_END),
                 TrackEvent::kTrackUuid(id));
  });
}

void SkynetTracer::BeginSequence(TracePacket* packet) {
  packet->set_sequence_flags(
      uint32_t{TracePacket::SEQ_INCREMENTAL_STATE_CLEARED} |
      uint32_t{TracePacket::SEQ_NEEDS_INCREMENTAL_STATE});
  auto* name = packet->set_interned_data()->add_event_names();
  name->set_iid(kEventName);
  name->set_name(kEventNameText);
}

}  // namespace protozero::workloads
