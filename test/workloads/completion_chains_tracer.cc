// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/completion_chains_tracer.h"

#include <unistd.h>

#include <string>

namespace protozero::workloads {

namespace {

using protozero::trace::ClockSnapshot;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

// The id in Perfetto's BuiltinClock.
constexpr uint32_t kBoottime = 6;
// The first id of a clock that belongs to a sequence.
constexpr uint32_t kSequenceClock = 64;

// Returns the track's id. It may be any number that no other producer has.
uint64_t ProcessTrack() {
  return uint64_t{1} << 62 | static_cast<uint32_t>(getpid()) << 8;
}
uint64_t FlowTrack(uint32_t flow) {
  return ProcessTrack() + 1 + flow;
}

}  // namespace

void FlowTracer::BeginSequence(TraceContext* context) {
  last_event_ns_ = clock_->Now();
  {
    auto packet = context->NewTracePacket<TracePacket>();
    packet->set_timestamp(last_event_ns_);
    packet->set_timestamp_clock_id(kBoottime);
    packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    packet->set_first_packet_on_sequence(true);
    auto* defaults = packet->set_trace_packet_defaults();
    defaults->set_timestamp_clock_id(kSequenceClock);
    defaults->set_track_event_defaults()->set_track_uuid(FlowTrack(flow_));
    auto* name = packet->set_interned_data()->add_event_names();
    name->set_iid(kEventName);
    name->set_name("completion");
    ClockSnapshot* const clocks = packet->set_clock_snapshot();
    ClockSnapshot::Clock* clock = clocks->add_clocks();
    clock->set_clock_id(kBoottime);
    clock->set_timestamp(last_event_ns_);
    clock = clocks->add_clocks();
    clock->set_clock_id(kSequenceClock);
    clock->set_timestamp(last_event_ns_);
    clock->set_is_incremental(true);
  }
  {
    auto packet = context->NewTracePacket<TracePacket>();
    auto* track = packet->set_track_descriptor();
    track->set_uuid(ProcessTrack());
    auto* process = track->set_process();
    process->set_pid(static_cast<int32_t>(getpid()));
    process->set_process_name("completion chains");
  }
  auto packet = context->NewTracePacket<TracePacket>();
  auto* track = packet->set_track_descriptor();
  track->set_uuid(FlowTrack(flow_));
  track->set_parent_uuid(ProcessTrack());
  track->set_name("flow " + std::to_string(flow_));
}

bool FlowTracer::IsEvent(ConstBytes bytes) {
  const TracePacket::Decoder packet(bytes);
  const TrackEvent::Decoder event(packet.track_event());
  return packet.has_timestamp() && !packet.has_timestamp_clock_id() &&
         packet.sequence_flags() == TracePacket::SEQ_NEEDS_INCREMENTAL_STATE &&
         event.type() == TrackEvent::TYPE_INSTANT &&
         event.name_iid() == kEventName && !event.has_track_uuid();
}

}  // namespace protozero::workloads
