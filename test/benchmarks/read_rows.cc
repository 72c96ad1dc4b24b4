// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Each row reads the same packets again and again. Their timestamps are
// differences, as track events write them, so time goes on.
//
// A reader keeps at least the last 2^19 events before it orders and nests them,
// because an event may be late. It would keep all of a few thousand events, and
// the measurement would miss the ordering and nesting. So each run finishes its
// trace. The difference of two runs is then all the work on the additional
// events: the reader decodes, keeps, orders and nests each and calls the
// callback. Its memory has grown before, as in a long trace.

#include "test/benchmarks/read_rows.h"

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <utility>

#include "protozero/const_bytes.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/trace_reader.h"

namespace protozero {
namespace bench {

namespace {

using trace::CounterDescriptor;
using trace::InternedData;
using trace::Trace;
using trace::TracePacket;
using trace::TrackEvent;

constexpr uint32_t kSequence = 2;
constexpr uint64_t kThreadTrack = 0xb4c52a7d15e9f379;
constexpr uint64_t kCounterTrack = 0x326e9c0b8d41f5ab;
constexpr uint32_t kBootClock = 6;
constexpr uint32_t kSequenceClock = 64;

// The number of reads that are not counted. The vector that keeps their events
// doubles when it grows, so it has room for 12768 events after 10000 slices.
constexpr size_t kWarmUp = 10000;

// Adds a packet as the track events of this library and its service write them.
template <typename Fill>
void AddPacket(uint32_t flags, const Fill& fill, std::string* packets) {
  HeapBuffered<Trace> trace;
  auto* const packet = trace->add_packet();
  fill(packet);
  packet->set_sequence_flags(flags);
  packet->set_trusted_uid(1000);
  packet->set_trusted_packet_sequence_id(kSequence);
  packet->set_trusted_pid(6567);
  *packets += trace.SerializeAsString();
}

template <typename Fill>
void AddEvent(TrackEvent::Type type, const Fill& fill, std::string* packets) {
  const auto fill_packet = [&](TracePacket* packet) {
    packet->set_timestamp(300);
    auto* const event = packet->set_track_event();
    event->set_type(type);
    fill(event);
  };
  AddPacket(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, fill_packet, packets);
}

void AddText(InternedData* data) {
  auto* const category = data->add_event_categories();
  category->set_iid(1);
  category->set_name("app");
  auto* const name = data->add_event_names();
  name->set_iid(1);
  name->set_name("event");
}

// Returns the packets that a sequence has once, at its beginning.
std::string Beginning() {
  std::string packets;
  const auto fill_state = [](TracePacket* packet) {
    auto* const defaults = packet->set_trace_packet_defaults();
    defaults->set_timestamp_clock_id(kSequenceClock);
    defaults->set_track_event_defaults()->set_track_uuid(kThreadTrack);
    auto* const snapshot = packet->set_clock_snapshot();
    for (const uint32_t id : {kBootClock, kSequenceClock}) {
      auto* const clock = snapshot->add_clocks();
      clock->set_clock_id(id);
      clock->set_timestamp(546044548026);
      clock->set_is_incremental(id == kSequenceClock);
    }
  };
  AddPacket(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED, fill_state, &packets);
  const auto fill_tracks = [](TracePacket* packet) {
    AddText(packet->set_interned_data());
    auto* const track = packet->set_track_descriptor();
    track->set_uuid(kThreadTrack);
    auto* const thread = track->set_thread();
    thread->set_pid(6567);
    thread->set_tid(6572);
  };
  AddPacket(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, fill_tracks, &packets);
  const auto fill_counter = [](TracePacket* packet) {
    auto* const track = packet->set_track_descriptor();
    track->set_uuid(kCounterTrack);
    track->set_name("items");
    track->set_counter()->set_unit(CounterDescriptor::UNIT_COUNT);
  };
  AddPacket(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, fill_counter, &packets);
  return packets;
}

void SetText(TrackEvent* event) {
  event->add_category_iids(1);
  event->set_name_iid(1);
}

struct Instants {
  static constexpr bool kReadsDetails = false;
  static void Add(std::string* packets) {
    AddEvent(TrackEvent::TYPE_INSTANT, &SetText, packets);
  }
};
void AddSlice(void (*fill)(TrackEvent* event), std::string* packets) {
  AddEvent(TrackEvent::TYPE_SLICE_BEGIN, fill, packets);
  AddEvent(TrackEvent::TYPE_SLICE_END, [](TrackEvent*) {}, packets);
}

struct Slices {
  static constexpr bool kReadsDetails = false;
  static void Add(std::string* packets) { AddSlice(&SetText, packets); }
};
// Slices whose arguments are read, too. Formatting is the caller's part: it
// appends a constant here.
struct SlicesWithArgs {
  static constexpr bool kReadsDetails = true;
  static void Add(std::string* packets) {
    const auto fill = [](TrackEvent* event) {
      SetText(event);
      auto* const arg = event->add_debug_annotations();
      arg->set_name_iid(1);
      arg->set_uint_value(9546);
    };
    AddSlice(fill, packets);
  }
};
struct Counters {
  static constexpr bool kReadsDetails = false;
  static void Add(std::string* packets) {
    const auto fill = [](TrackEvent* event) {
      event->set_track_uuid(kCounterTrack);
      event->set_counter_value(439625);
    };
    AddEvent(TrackEvent::TYPE_COUNTER, fill, packets);
  }
};

// tools/measure_instructions counts the function of this name.
template <bool kReads>
__attribute__((noinline)) void EncodeOutOfLine(TraceReader* reader,
                                               ConstBytes packets) {
  if (kReads)
    reader->Read(packets);
  asm volatile("" : : : "memory");
}

template <bool kReads>
__attribute__((noinline)) void ReadMany(TraceReader* reader,
                                        ConstBytes packets,
                                        size_t count) {
  for (size_t i = 0; i < count; ++i)
    EncodeOutOfLine<kReads>(reader, packets);
}

ConstBytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

template <typename Kind>
bool Read(size_t count) {
  size_t num_read = 0;
  TraceReader::Callbacks callbacks;
  callbacks.on_slice = [&](const Slice& slice) {
    num_read += slice.duration_ns == 300 &&
                slice.details->args.empty() != Kind::kReadsDetails;
  };
  callbacks.on_instant = [&](const Instant&) { ++num_read; };
  callbacks.on_counter = [&](const CounterValue&) { ++num_read; };
  callbacks.reads_details = Kind::kReadsDetails;
  callbacks.format_args = [](const EventArgs&, std::string* args) {
    *args += "\"bytes\":9546";
  };
  TraceReader reader(std::move(callbacks));
  const std::string beginning = Beginning();
  reader.Read(BytesOf(beginning));
  std::string packets;
  Kind::Add(&packets);
  for (size_t i = 0; i < kWarmUp; ++i)
    reader.Read(BytesOf(packets));
  ReadMany<true>(&reader, BytesOf(packets), count);
  reader.Finish();
  return num_read == kWarmUp + count && reader.skipped() == 0 &&
         reader.unrelated() == 0 && reader.late() == 0;
}

// Reads repeated fields with a typed decoder.
__attribute__((noinline)) size_t EncodeOutOfLine(const std::string& message) {
  constexpr uint32_t kNames = InternedData::kEventNamesFieldNumber;
  const MessageDecoder<kNames> decoder(message);
  size_t size = 0;
  for (auto it = decoder.GetRepeated<ConstBytes>(kNames); it; ++it)
    size += (*it).size;
  return size;
}

// Reads |count| of them.
bool ReadRepeated(size_t count) {
  constexpr size_t kFields = 64;
  HeapBuffered<InternedData> data;
  for (size_t i = 0; i < kFields; ++i)
    data->add_event_names()->set_iid(1);
  const std::string message = data.SerializeAsString();
  size_t size = 0;
  for (size_t i = 0; i < count / kFields; ++i)
    size += EncodeOutOfLine(message);
  return size == 2 * (count / kFields * kFields);
}

bool ReadNothing(size_t count) {
  ReadMany<false>(nullptr, {}, count);
  return true;
}

}  // namespace

std::vector<EventRow> AllReadRows() {
  return {
      {"Read_Empty", &ReadNothing},
      {"Read_Instant", &Read<Instants>},
      {"Read_Slice", &Read<Slices>},
      {"Read_SliceWithArgs", &Read<SlicesWithArgs>},
      {"Read_Counter", &Read<Counters>},
      {"Read_Repeated", &ReadRepeated},
  };
}

}  // namespace bench
}  // namespace protozero
