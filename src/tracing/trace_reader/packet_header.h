// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_PACKET_HEADER_H_
#define SRC_TRACING_TRACE_READER_PACKET_HEADER_H_

#include <stdint.h>

#include <optional>

#include "protozero/const_bytes.h"
#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/trace_reader/process_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The field of a TracePacket with the machine that wrote it, 0 for the host of
// the service. Only Perfetto's schema has it.
inline constexpr uint32_t kMachineIdFieldNumber = 98;

// The fields of a TracePacket that say when and by which sequence it was
// written, whatever its content is.
struct PacketHeader {
  // Returns whether it has SEQ_NEEDS_INCREMENTAL_STATE.
  bool needs_state() const {
    return (flags & trace::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE) != 0;
  }

  PacketWriter writer() const { return {sequence_id, pid, machine}; }
  bool is_of_other_machine() const { return machine != 0; }

  uint64_t timestamp = 0;
  uint32_t clock_id = 0;
  uint32_t sequence_id = 0;
  uint32_t flags = 0;
  int32_t pid = 0;
  bool is_cleared = false;
  bool is_behind_loss = false;
  bool has_timestamp = false;
  uint32_t machine = 0;
  std::optional<uint32_t> ended_duration;
};

// Reads the header of a packet, and calls functions of |*packet|, which extends
// a PacketHeader, with the other fields: SetEvent() with a TrackEvent,
// AddState() with interned data and defaults, and AddContent() with anything
// else.
template <typename Packet>
void ReadPacketFields(ConstBytes bytes, Packet* packet) {
  using trace::TracePacket;
  ProtoDecoder decoder(bytes);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    switch (field.id()) {
      case TracePacket::kTimestampFieldNumber:
        packet->timestamp = field.as_uint64();
        packet->has_timestamp = true;
        break;
      case TracePacket::kTimestampClockIdFieldNumber:
        packet->clock_id = field.as_uint32();
        break;
      case TracePacket::kTrustedPacketSequenceIdFieldNumber:
        packet->sequence_id = field.as_uint32();
        break;
      case TracePacket::kSequenceFlagsFieldNumber:
        packet->flags = field.as_uint32();
        break;
      case TracePacket::kIncrementalStateClearedFieldNumber:
        packet->is_cleared = field.as_bool();
        break;
      case TracePacket::kPreviousPacketDroppedFieldNumber:
        packet->is_behind_loss = field.as_bool();
        break;
      case TracePacket::kTrustedPidFieldNumber:
        packet->pid = field.as_int32();
        break;
      case TracePacket::kTrustedUidFieldNumber:
        break;
      case TracePacket::kEndedSliceDurationFieldNumber:
        packet->ended_duration = field.as_uint32();
        break;
      case kMachineIdFieldNumber:
        packet->machine = field.as_uint32();
        break;
      case TracePacket::kInternedDataFieldNumber:
      case TracePacket::kTracePacketDefaultsFieldNumber:
        packet->AddState();
        break;
      case TracePacket::kTrackEventFieldNumber:
        packet->SetEvent(field);
        break;
      default:
        packet->AddContent(field);
        break;
    }
  }
  packet->is_cleared |=
      (packet->flags & TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) != 0;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_PACKET_HEADER_H_
