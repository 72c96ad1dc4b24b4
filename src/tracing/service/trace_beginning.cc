// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/trace_beginning.h"

#include <stddef.h>

#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/service/service_packets.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

using trace::ClockSnapshot;
using trace::TracePacket;

namespace {

constexpr uint32_t kBootTimeClockId = 6;
// The first clock id that belongs to a sequence.
constexpr uint32_t kSequenceClockId = 64;
// The size of a timestamp with a tag of one byte.
constexpr size_t kMaxTimestampFieldSize =
    1 + proto_utils::kMaxVarIntEncodedSize;

// Says what is to be done with a field of a packet from before the beginning.
enum class Use {
  kHeader,   // It stays if the packet stays.
  kState,    // The packet stays because of it.
  kContent,  // It is left out.
};

Use UseOf(uint32_t field_id) {
  switch (field_id) {
    case TracePacket::kTimestampFieldNumber:
    case TracePacket::kTimestampClockIdFieldNumber:
    case TracePacket::kSequenceFlagsFieldNumber:
    case TracePacket::kPreviousPacketDroppedFieldNumber:
    case TracePacket::kFirstPacketOnSequenceFieldNumber:
      return Use::kHeader;
    case TracePacket::kIncrementalStateClearedFieldNumber:
    case TracePacket::kInternedDataFieldNumber:
    case TracePacket::kTracePacketDefaultsFieldNumber:
    case TracePacket::kClockSnapshotFieldNumber:
    case TracePacket::kTrackDescriptorFieldNumber:
    case TracePacket::kExtensionDescriptorFieldNumber:
    case TracePacket::kProcessTreeFieldNumber:
    case TracePacket::kProcessDescriptorFieldNumber:
    case TracePacket::kThreadDescriptorFieldNumber:
    case TracePacket::kGenericKernelProcessTreeFieldNumber:
    case TracePacket::kGenericKernelTaskRenameEventFieldNumber:
      return Use::kState;
    default:
      return Use::kContent;
  }
}

// The parts of a packet that say when it is.
struct Header {
  bool has_timestamp = false;
  uint64_t timestamp = 0;
  uint32_t clock_id = 0;
  bool is_cleared = false;
  bool has_state = false;
  ConstBytes defaults;
  ConstBytes snapshot;
};

Header ReadHeader(ConstBytes packet) {
  Header header;
  ProtoDecoder decoder(packet);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    header.has_state |= UseOf(field.id()) == Use::kState;
    switch (field.id()) {
      case TracePacket::kTimestampFieldNumber:
        header.has_timestamp = true;
        header.timestamp = field.as_uint64();
        break;
      case TracePacket::kTimestampClockIdFieldNumber:
        header.clock_id = field.as_uint32();
        break;
      case TracePacket::kSequenceFlagsFieldNumber:
        header.is_cleared |= (field.as_uint32() &
                              TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) != 0;
        break;
      case TracePacket::kTracePacketDefaultsFieldNumber:
        header.defaults = field.as_bytes();
        break;
      case TracePacket::kClockSnapshotFieldNumber:
        header.snapshot = field.as_bytes();
        break;
      default:
        break;
    }
  }
  header.has_state |= header.is_cleared;
  return header;
}

bool IsHeaderOrState(uint32_t field_id) {
  return UseOf(field_id) != Use::kContent;
}
bool IsAnyField(uint32_t) {
  return true;
}

// Sets the clocks of a writer to those of a snapshot.
void SetClocks(ConstBytes bytes, SequenceBeginning* state) {
  uint64_t boot_time_ns = 0;
  for (const ConstBytes clock_bytes : ClockSnapshot::Decoder(bytes).clocks()) {
    const ClockSnapshot::Clock::Decoder clock(clock_bytes);
    if (clock.clock_id() == kBootTimeClockId) {
      boot_time_ns = clock.timestamp();
    } else if (clock.clock_id() >= kSequenceClockId && clock.is_incremental()) {
      state->incremental_clock = clock.clock_id();
      state->ticks_left_out = 0;
      // Differences in other units are added up, but not understood.
      state->time_ns = clock.unit_multiplier_ns() > 1 ? 0 : 1;
    }
  }
  state->time_ns = state->time_ns != 0 ? boot_time_ns : 0;
}

// Reads what a packet says about the clocks of its writer.
void ReadClocks(const Header& header, SequenceBeginning* state) {
  if (header.is_cleared)
    state->default_clock = 0;
  if (header.defaults.data != nullptr) {
    state->default_clock = trace::TracePacketDefaults::Decoder(header.defaults)
                               .timestamp_clock_id();
  }
  if (header.snapshot.data != nullptr)
    SetClocks(header.snapshot, state);
}

}  // namespace

bool TraceBeginning::IsBefore(const TraceBuffer::Packet& packet,
                              uint64_t packet_ns) const {
  const uint64_t begin_ns =
      time_ns_ + static_cast<uint64_t>(packet.producer.clock_ahead_ns);
  return packet.is_before_place ||
         (time_ns_ != 0 && packet_ns != 0 && packet_ns < begin_ns);
}

bool TraceBeginning::Cut(const TraceBuffer::Packet& packet, ConstBytes* left) {
  *left = packet.bytes;
  if (!packet.producer.reports_losses) {
    packet.beginning->is_passed = true;
    return true;
  }
  SequenceBeginning state = *packet.beginning;
  const Header header = ReadHeader(packet.bytes);
  ReadClocks(header, &state);
  const uint32_t clock =
      header.clock_id != 0 ? header.clock_id : state.default_clock;
  const bool is_difference = header.has_timestamp &&
                             header.snapshot.data == nullptr && clock != 0 &&
                             clock == state.incremental_clock;
  uint64_t packet_ns = 0;
  if (is_difference && state.time_ns != 0)
    packet_ns = state.time_ns += header.timestamp;
  else if (header.has_timestamp && (clock == 0 || clock == kBootTimeClockId))
    packet_ns = header.timestamp;

  const bool is_before = IsBefore(packet, packet_ns);
  const bool is_left =
      !is_before ||
      (header.has_state &&
       (!*packet.lacks_state || HasState(packet.bytes, packet.lacks_state)));
  const uint64_t ticks =
      state.ticks_left_out + (is_difference ? header.timestamp : 0);
  const bool says_ticks = is_left && is_difference && state.ticks_left_out != 0;
  if (is_before && is_left)
    CopyFields(packet.bytes, &IsHeaderOrState);
  else if (says_ticks)
    CopyFields(packet.bytes, &IsAnyField);
  if (says_ticks) {
    // Readers take the last value of a field.
    uint8_t field[kMaxTimestampFieldSize];
    uint8_t* const end = proto_utils::WriteVarInt(
        ticks, proto_utils::WriteVarInt(proto_utils::MakeTagVarInt(
                                            TracePacket::kTimestampFieldNumber),
                                        field));
    bytes_.insert(bytes_.end(), field, end);
  }
  if ((is_before && is_left) || says_ticks)
    *left = ConstBytes(bytes_);
  if (is_difference)
    state.ticks_left_out = is_left ? 0 : ticks;
  state.is_passed =
      !is_before && header.has_timestamp && state.ticks_left_out == 0;
  *packet.beginning = state;
  return is_left;
}

void TraceBeginning::CopyFields(ConstBytes packet,
                                bool (*is_wanted)(uint32_t field_id)) {
  bytes_.clear();
  ProtoDecoder decoder(packet);
  size_t begin = 0;
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    const size_t end = decoder.read_offset();
    if (is_wanted(field.id()))
      bytes_.insert(bytes_.end(), packet.data + begin, packet.data + end);
    begin = end;
  }
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
