// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/service_packets.h"

#include <string.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/static_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/shared_memory/chunk_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

using proto_utils::ProtoWireType;
using trace::Trace;
using trace::TracePacket;

namespace {

// Any bytes would do that do not occur by accident. Readers know these.
constexpr uint8_t kSynchronizationMarker[] = {
    0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba,
    0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79};

constexpr uint8_t kPacketTag = static_cast<uint8_t>(
    proto_utils::MakeTagLengthDelimited(Trace::kPacketFieldNumber));

// The numbers of clocks in Perfetto's format.
enum ClockID : uint32_t { kRealtime = 1, kMonotonic = 3, kBoottime = 6 };

// The drift from which a snapshot is worth adding. Readers take the latest
// snapshot before a timestamp.
constexpr int64_t kSignificantDriftNs = 1000 * 1000;

template <typename Duration>
uint64_t Nanoseconds(Duration since_epoch) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch)
          .count());
}

uint64_t MonotonicTime() {
  return Nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
}

// Returns whether a clock has drifted against the monotonic one.
bool HasDrifted(uint64_t offset, uint64_t later_offset) {
  const int64_t drift = static_cast<int64_t>(later_offset - offset);
  return drift >= kSignificantDriftNs || drift <= -kSignificantDriftNs;
}

// Returns whether the service alone writes this field: it says who wrote the
// packet, or is config, statistics, an event, or packets inside of this one.
constexpr bool IsOfService(uint32_t field_id) {
  switch (field_id) {
    case TracePacket::kTrustedUidFieldNumber:
    case TracePacket::kTrustedPacketSequenceIdFieldNumber:
    case TracePacket::kTrustedPidFieldNumber:
    case TracePacket::kTraceConfigFieldNumber:
    case TracePacket::kTraceStatsFieldNumber:
    case TracePacket::kSynchronizationMarkerFieldNumber:
    case 50:   // compressed_packets
    case 69:   // service_event
    case 98:   // machine_id
    case 124:  // Not in public schemas, and not for producers.
    case 125:
    case 133:
      return true;
    default:
      return false;
  }
}

// The kinds of fields by the first byte of their tag. The value of a number of
// fixed size is that size.
enum TagKind : uint8_t {
  kVarIntField = 0,
  kBytesField = 1,
  kFixed32Field = sizeof(uint32_t),
  kFixed64Field = sizeof(uint64_t),
  // A tag of several bytes, a field of the service, or no field at all. The
  // value is no size.
  kRareField = 255,
};

struct TagKinds {
  constexpr TagKinds() {
    for (uint32_t tag = 0; tag < sizeof(of); ++tag) {
      const uint32_t field_id = proto_utils::GetTagFieldId(tag);
      of[tag] = kRareField;
      if (tag >= 0x80 || field_id == 0 || IsOfService(field_id))
        continue;
      switch (proto_utils::GetTagFieldType(tag)) {
        case ProtoWireType::kVarInt:
          of[tag] = kVarIntField;
          break;
        case ProtoWireType::kFixed64:
          of[tag] = kFixed64Field;
          break;
        case ProtoWireType::kLengthDelimited:
          of[tag] = kBytesField;
          break;
        case ProtoWireType::kFixed32:
          of[tag] = kFixed32Field;
          break;
        case ProtoWireType::kStartGroup:
        case ProtoWireType::kEndGroup:
          break;
      }
    }
  }
  uint8_t of[256] = {};
};
constexpr TagKinds kTagKinds;

// Returns the kind of a field with a tag of two bytes, kRareField for any
// other.
inline size_t KindOfLongTag(uint32_t first, uint32_t second) {
  if (first < 0x80 || second >= 0x80)
    return kRareField;
  const uint32_t field_id =
      proto_utils::GetTagFieldId((first & 0x7f) | second << 7);
  // A packet that says that another one was dropped needs another look.
  if (field_id == 0 || IsOfService(field_id) ||
      field_id == TracePacket::kPreviousPacketDroppedFieldNumber) {
    return kRareField;
  }
  return kTagKinds.of[proto_utils::MakeTagVarInt(1) | (first & 7)];
}

// The largest packet that is copied without a call.
constexpr size_t kMaxShortPacket = 64;
static_assert(1 + kMaxShortPacket <= TraceBuffer::Run::kPadding);

// Returns whether a packet is valid, as IsValidPacket() says, and has no rare
// fields, as nearly all events. Looks for the end once a field, so it may read
// padding. For packets of kMaxShortPacket bytes at most, kIsShort takes fewer
// instructions, and takes long tags for rare ones.
template <bool kIsShort>
inline bool IsPlainPacket(const uint8_t* pos, const uint8_t* end) {
  constexpr size_t kMaxVarInt = 8;
  static_assert(kMaxVarInt + 2 <= TraceBuffer::Run::kPadding);
  while (pos < end) {
    const uint32_t tag = *pos++;
    size_t kind = kTagKinds.of[tag];
    if (!kIsShort && kind == kRareField)
      kind = KindOfLongTag(tag, *pos++);
    if (PROTOZERO_LIKELY(kind == kVarIntField)) {
      const uint8_t* const limit = pos + kMaxVarInt;
      while (*pos++ >= 0x80) {
        if (pos == limit)
          return false;
      }
    } else if (PROTOZERO_LIKELY(kind == kBytesField)) {
      size_t size = *pos++;
      if (!kIsShort && size >= 0x80) {
        if (*pos >= 0x80)
          return false;
        size += (size_t{*pos++} << 7) - 0x80;
      }
      if (kIsShort ? size > kMaxShortPacket
                   : static_cast<ptrdiff_t>(size) > end - pos) {
        return false;
      }
      pos += size;
    } else if (kind == kRareField) {
      return false;
    } else {
      pos += kind;
    }
  }
  return pos == end;
}

// The tag of a record and its length.
constexpr size_t kMaxHeaderSize = 1 + proto_utils::kMaxVarIntEncodedSize;

// Writes a packet and its trusted fields. Returns the end.
uint8_t* WriteRecord(ConstBytes packet, ConstBytes trusted, uint8_t* record) {
  *record++ = kPacketTag;
  record = proto_utils::WriteVarInt(packet.size + trusted.size, record);
  if (packet.size != 0)
    memcpy(record, packet.data, packet.size);
  memcpy(record + packet.size, trusted.data, trusted.size);
  return record + packet.size + trusted.size;
}

void Append(const void* data, size_t size, std::vector<uint8_t>* trace) {
  const uint8_t* const bytes = static_cast<const uint8_t*>(data);
  trace->insert(trace->end(), bytes, bytes + size);
}

// Returns false if there is no memory for the message.
bool Append(HeapBuffered<Trace>* message, std::vector<uint8_t>* trace) {
  if (message->status() != WriteStatus::kOk)
    return false;
  const std::vector<uint8_t> bytes = message->SerializeAsArray();
  Append(bytes.data(), bytes.size(), trace);
  return true;
}

TracePacket* AddServicePacket(Trace* trace) {
  TracePacket* const packet = trace->add_packet();
  packet->set_trusted_packet_sequence_id(kServiceSequenceID);
  return packet;
}

// Returns the clock that trace viewers use unless told otherwise. The
// timestamps of the service's packets use it, too.
ClockID PrimaryClock(const ClockReadings& clocks) {
  return clocks.boottime != 0 ? kBoottime : kMonotonic;
}
uint64_t PrimaryTime(const ClockReadings& clocks) {
  return clocks.boottime != 0 ? clocks.boottime : clocks.monotonic;
}

void AddClockSnapshot(const ClockReadings& clocks, Trace* trace) {
  TracePacket* const packet = AddServicePacket(trace);
  packet->set_timestamp(PrimaryTime(clocks));
  auto* const snapshot = packet->set_clock_snapshot();
  const auto add = [snapshot](ClockID id, uint64_t time) {
    if (time == 0)
      return;
    auto* const clock = snapshot->add_clocks();
    clock->set_clock_id(id);
    clock->set_timestamp(time);
  };
  add(kRealtime, clocks.realtime);
  add(kMonotonic, clocks.monotonic);
  add(kBoottime, clocks.boottime);
  snapshot->set_primary_trace_clock(PrimaryClock(clocks));
}

void WriteStats(const TraceStats& stats, trace::TraceStats* message) {
  for (const TraceBufferStats& buffer : stats.buffers) {
    auto* const nested = message->add_buffer_stats();
    nested->set_buffer_size(buffer.buffer_size);
    nested->set_bytes_written(buffer.bytes_written);
    nested->set_bytes_overwritten(buffer.bytes_overwritten);
    nested->set_bytes_read(buffer.bytes_read);
    nested->set_chunks_written(buffer.chunks_written);
    nested->set_chunks_rewritten(buffer.chunks_rewritten);
    nested->set_chunks_overwritten(buffer.chunks_overwritten);
    nested->set_chunks_discarded(buffer.chunks_discarded);
    nested->set_chunks_read(buffer.chunks_read);
    nested->set_chunks_committed_out_of_order(
        buffer.chunks_committed_out_of_order);
    nested->set_write_wrap_count(buffer.write_wrap_count);
    nested->set_patches_succeeded(buffer.patches_succeeded);
    nested->set_patches_failed(buffer.patches_failed);
    nested->set_readaheads_succeeded(buffer.readaheads_succeeded);
    nested->set_readaheads_failed(buffer.readaheads_failed);
    nested->set_abi_violations(buffer.abi_violations);
    nested->set_trace_writer_packet_loss(buffer.trace_writer_packet_loss());
    nested->set_packets_begun(buffer.packets_begun);
    nested->set_packets_read(buffer.packets_read);
    for (size_t i = 0; i < kNumLossReasons; ++i) {
      if (buffer.lost.packets[i] == 0)
        continue;
      auto* const losses = nested->add_packets_lost();
      losses->set_reason(static_cast<trace::TraceStats::LossReason>(i));
      losses->set_packets(buffer.lost.packets[i]);
    }
    nested->set_bytes_lost(buffer.lost.bytes);
    nested->set_unknown_losses(buffer.unknown_losses);
  }
  message->set_producers_connected(
      static_cast<uint32_t>(stats.producers.size()));
  message->set_producers_seen(stats.producers_seen);
  message->set_data_sources_registered(stats.data_sources_registered);
  message->set_tracing_sessions(stats.tracing_sessions);
  message->set_total_buffers(static_cast<uint32_t>(stats.buffers.size()));
  message->set_chunks_discarded(stats.chunks_discarded);
  message->set_patches_discarded(stats.patches_discarded);
  message->set_invalid_packets(stats.invalid_packets);
  message->set_flushes_requested(stats.flushes_requested);
  message->set_flushes_succeeded(stats.flushes_succeeded);
  message->set_flushes_failed(stats.flushes_failed);
  using Stats = trace::TraceStats;
  message->set_final_flush_outcome(stats.final_flush_succeeded
                                       ? Stats::FINAL_FLUSH_SUCCEEDED
                                       : Stats::FINAL_FLUSH_FAILED);
}

}  // namespace

bool IsValidPacket(ConstBytes packet) {
  ProtoDecoder decoder(packet);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    switch (field.type()) {
      case ProtoWireType::kVarInt:
      case ProtoWireType::kFixed64:
      case ProtoWireType::kLengthDelimited:
      case ProtoWireType::kFixed32:
        break;
      default:
        return false;
    }
    if (IsOfService(field.id()))
      return false;
  }
  return decoder.status() == DecodeStatus::kOk;
}

bool SaysPreviousPacketDropped(ConstBytes packet) {
  return ProtoDecoder(packet)
             .FindField(TracePacket::kPreviousPacketDroppedFieldNumber)
             .as_uint64() != 0;
}

bool HasState(ConstBytes packet, bool* lacks_state) {
  const uint32_t flags = ProtoDecoder(packet)
                             .FindField(TracePacket::kSequenceFlagsFieldNumber)
                             .as_uint32();
  if ((flags & TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) != 0)
    *lacks_state = false;
  return !*lacks_state ||
         (flags & TracePacket::SEQ_NEEDS_INCREMENTAL_STATE) == 0;
}

void TrustedFields::Encode(const TraceBuffer::ProducerIdentity& producer,
                           uint32_t sequence_id) {
  if (sequence_id == sequence_id_)
    return;
  StackBuffered<TracePacket, sizeof(bytes_)> fields;
  fields->set_trusted_uid(producer.uid);
  fields->set_trusted_packet_sequence_id(sequence_id);
  if (stamps_pid_)
    fields->set_trusted_pid(producer.pid);
  fields->set_previous_packet_dropped(1);
  const size_t size = fields.Finalize();
  memcpy(bytes_, fields.data(), size);
  size_ = size - kDroppedSize;
  sequence_id_ = sequence_id;
}

ConstBytes TrustedFields::Of(const TraceBuffer::Packet& packet) {
  Encode(packet.producer, *packet.sequence_id);
  return {bytes_, size_ + (packet.previous_packet_dropped ? kDroppedSize : 0)};
}

// The place in a run, and the end of the records of the packets before it.
struct TrustedFields::RunCursor {
  const uint8_t* pos;
  uint8_t* record;
  size_t packets_left;
};

// This loop is most of the work for a packet. It has no calls, so that all
// variables are in registers.
TrustedFields::RunCursor TrustedFields::WriteShortPackets(
    RunCursor cursor,
    const uint8_t* end,
    const uint8_t* records_end) const {
  static_assert(kMaxShortPacket + kMaxSize < 0x80);
  if (static_cast<size_t>(records_end - cursor.record) <
      kMaxShortPacket + kMaxAdded) {
    return cursor;
  }
  const uint8_t* const last_record =
      records_end - (kMaxShortPacket + kMaxAdded);
  const size_t added = 2 + size_;
  const uint8_t* pos = cursor.pos;
  uint8_t* record = cursor.record;
  size_t packets_left = cursor.packets_left;
  for (; packets_left != 0 && record <= last_record; --packets_left) {
    // In the padding, there is a size, too.
    const size_t size = *pos;
    if (size == 0 || size > kMaxShortPacket)
      break;
    const uint8_t* const packet = pos + 1;
    const uint8_t* const next = packet + size;
    if (next > end || !IsPlainPacket<true>(packet, next))
      break;
    record[0] = kPacketTag;
    record[1] = static_cast<uint8_t>(size + added - 2);
    // Copies of constant size need no call. The next one overwrites the excess.
    memcpy(record + 2, packet, kMaxShortPacket / 2);
    if (size > kMaxShortPacket / 2) {
      memcpy(record + 2 + kMaxShortPacket / 2, packet + kMaxShortPacket / 2,
             kMaxShortPacket / 2);
    }
    memcpy(record + 2 + size, bytes_, kMaxSize);
    record += size + added;
    pos = next;
  }
  return {pos, record, packets_left};
}

bool TrustedFields::WriteAnyPacket(const TraceBuffer::Run& run,
                                   const uint8_t* records_end,
                                   RunCursor* cursor) const {
  size_t offset = static_cast<size_t>(cursor->pos - run.fragments.data);
  ConstBytes packet;
  if (cursor->packets_left == 0 ||
      ReadFragment(run.fragments, &offset, &packet) != FragmentKind::kPacket ||
      packet.size == 0 ||
      std::max(packet.size, kMaxShortPacket) + kMaxAdded >
          static_cast<size_t>(records_end - cursor->record)) {
    return false;
  }
  if (!IsPlainPacket<false>(packet.data, packet.data + packet.size) &&
      (!IsValidPacket(packet) ||
       (!run.producer.reports_losses && SaysPreviousPacketDropped(packet)))) {
    return false;
  }
  cursor->record = WriteRecord(packet, {bytes_, size_}, cursor->record);
  cursor->pos = packet.data + packet.size;
  --cursor->packets_left;
  return true;
}

TraceBuffer::RunPart TrustedFields::AppendTo(const TraceBuffer::Run& run,
                                             std::vector<uint8_t>* trace) {
  Encode(run.producer, run.sequence_id);
  // A std::vector would fill memory with zeros before it is written.
  uint8_t records[4096];
  const uint8_t* const end = run.fragments.data + run.fragments.size;
  const uint8_t* const records_end = records + sizeof(records);
  RunCursor cursor = {run.fragments.data, records, run.max_packets};
  do {
    cursor = WriteShortPackets(cursor, end, records_end);
  } while (WriteAnyPacket(run, records_end, &cursor));
  trace->insert(trace->end(), records, cursor.record);
  return {static_cast<uint16_t>(run.max_packets - cursor.packets_left),
          static_cast<size_t>(cursor.pos - run.fragments.data)};
}

void AppendPacket(ConstBytes packet,
                  ConstBytes trusted,
                  std::vector<uint8_t>* trace) {
  const size_t begin = trace->size();
  trace->resize(begin + kMaxHeaderSize + packet.size + trusted.size);
  const uint8_t* const end =
      WriteRecord(packet, trusted, trace->data() + begin);
  trace->resize(static_cast<size_t>(end - trace->data()));
}

ClockReadings ReadClocks() {
  // On a busy machine, another thread may run between two readings. The
  // shortest of several tries is the most exact.
  constexpr int kMaxTries = 5;
  constexpr uint64_t kExactNs = 1000;
  ClockReadings best;
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < kMaxTries && shortest > kExactNs; ++i) {
    ClockReadings clocks;
    clocks.monotonic = MonotonicTime();
    clocks.realtime =
        Nanoseconds(std::chrono::system_clock::now().time_since_epoch());
#ifdef CLOCK_BOOTTIME
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    clocks.boottime = Nanoseconds(std::chrono::seconds(time.tv_sec) +
                                  std::chrono::nanoseconds(time.tv_nsec));
#endif
    const uint64_t duration = MonotonicTime() - clocks.monotonic;
    if (duration < shortest) {
      shortest = duration;
      best = clocks;
    }
  }
  return best;
}

ClockReadings ReadClocksAfter(const ClockReadings& earlier) {
  ClockReadings clocks = ReadClocks();
  if (HaveDrifted(earlier, clocks))
    return clocks;
  const uint64_t passed = clocks.monotonic - earlier.monotonic;
  clocks.realtime = earlier.realtime + passed;
  if (clocks.boottime != 0)
    clocks.boottime = earlier.boottime + passed;
  return clocks;
}

bool HaveDrifted(const ClockReadings& earlier, const ClockReadings& later) {
  return HasDrifted(earlier.realtime - earlier.monotonic,
                    later.realtime - later.monotonic) ||
         HasDrifted(earlier.boottime - earlier.monotonic,
                    later.boottime - later.monotonic);
}

bool AppendTraceHeader(const ClockReadings& clocks,
                       const std::string& raw_config,
                       std::vector<uint8_t>* trace) {
  HeapBuffered<Trace> message;
  AddClockSnapshot(clocks, message.get());
  AddServicePacket(message.get())
      ->set_synchronization_marker(kSynchronizationMarker,
                                   sizeof(kSynchronizationMarker));
  if (!raw_config.empty())
    AddServicePacket(message.get())->set_trace_config(raw_config);
  return Append(&message, trace);
}

bool AppendClockSnapshot(const ClockReadings& clocks,
                         std::vector<uint8_t>* trace) {
  HeapBuffered<Trace> message;
  AddClockSnapshot(clocks, message.get());
  return Append(&message, trace);
}

bool AppendTraceTrailer(const ClockReadings& clocks,
                        const TraceStats& stats,
                        std::vector<uint8_t>* trace) {
  HeapBuffered<Trace> message;
  AddClockSnapshot(clocks, message.get());
  TracePacket* const packet = AddServicePacket(message.get());
  packet->set_timestamp(PrimaryTime(clocks));
  WriteStats(stats, packet->set_trace_stats());
  return Append(&message, trace);
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
