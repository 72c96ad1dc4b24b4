// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/slice_reader.h"

#include <algorithm>

#include "protozero/proto_decoder.h"

namespace pztrace {

namespace {

namespace trace = protozero::trace;
using protozero::ConstBytes;

// Ids of clocks that belong to one sequence.
constexpr uint32_t kMinSequenceClock = 64;
constexpr uint32_t kMaxSequenceClock = 127;

}  // namespace

bool SliceReader::Read(ConstBytes packets) {
  protozero::ProtoDecoder decoder(packets);
  for (auto field = decoder.ReadField(); field.valid();
       field = decoder.ReadField()) {
    if (field.id() == trace::Trace::kPacketFieldNumber)
      OnPacket(field.as_bytes());
  }
  return decoder.bytes_left() == 0;
}

void SliceReader::OnPacket(ConstBytes bytes) {
  const TracePacket::Decoder packet(bytes);
  Sequence* const sequence = &sequences_[packet.trusted_packet_sequence_id()];
  const uint32_t flags = packet.sequence_flags();
  if (packet.previous_packet_dropped() != 0) {
    sequence->is_valid = false;
    Drop(&sequence->stack);
  }
  if (flags & TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) {
    Stack stack = std::move(sequence->stack);
    const uint64_t track = sequence->track;
    *sequence = Sequence();
    sequence->is_valid = true;
    sequence->stack = std::move(stack);
    sequence->track = track;
  }
  if ((flags & TracePacket::SEQ_NEEDS_INCREMENTAL_STATE) &&
      !sequence->is_valid) {
    ++skipped_;
    return;
  }
  if (packet.has_trace_packet_defaults()) {
    const trace::TracePacketDefaults::Decoder defaults(
        packet.trace_packet_defaults());
    sequence->clock_id = defaults.timestamp_clock_id();
    const trace::TrackEventDefaults::Decoder of_events(
        defaults.track_event_defaults());
    if (of_events.track_uuid() != sequence->track) {
      Drop(&sequence->stack);
      sequence->track = of_events.track_uuid();
    }
  }
  if (packet.has_interned_data())
    OnInterned(packet.interned_data(), sequence);
  // The time of such a packet does not advance a clock.
  if (packet.has_clock_snapshot())
    return OnClocks(packet.clock_snapshot(), sequence);
  const uint64_t time_ns = TimeNs(packet, sequence);
  if (packet.has_track_event())
    OnEvent(packet.track_event(), time_ns, sequence);
}

void SliceReader::OnInterned(ConstBytes bytes, Sequence* sequence) {
  const trace::InternedData::Decoder data(bytes);
  for (const auto entry : data.event_categories()) {
    const trace::EventCategory::Decoder category(entry);
    sequence->categories.emplace(category.iid(), category.name().ToStdString());
  }
  for (const auto entry : data.event_names()) {
    const trace::EventName::Decoder name(entry);
    sequence->names.emplace(name.iid(), name.name().ToStdString());
  }
}

void SliceReader::OnClocks(ConstBytes bytes, Sequence* sequence) {
  const trace::ClockSnapshot::Decoder snapshot(bytes);
  for (const auto entry : snapshot.clocks()) {
    const trace::ClockSnapshot::Clock::Decoder clock(entry);
    const uint32_t id = clock.clock_id();
    if (id < kMinSequenceClock || id > kMaxSequenceClock)
      continue;
    sequence->clocks[id] = {
        clock.timestamp(),
        std::max<uint64_t>(1, clock.unit_multiplier_ns()),
        clock.is_incremental(),
    };
  }
}

uint64_t SliceReader::TimeNs(const TracePacket::Decoder& packet,
                             Sequence* sequence) {
  const uint32_t id = packet.has_timestamp_clock_id()
                          ? packet.timestamp_clock_id()
                          : sequence->clock_id;
  const auto clock = sequence->clocks.find(id);
  // Of the whole trace, and in nanoseconds.
  if (clock == sequence->clocks.end())
    return packet.timestamp();
  uint64_t ticks = packet.timestamp();
  if (clock->second.is_incremental)
    ticks = clock->second.ticks += ticks;
  return ticks * clock->second.ns_per_tick;
}

SliceReader::TextId SliceReader::TextOf(const TrackEvent::Decoder& event,
                                        const Sequence& sequence) {
  std::pair<std::string, std::string> text;
  const auto add_category = [&](const std::string& category) {
    text.first += (text.first.empty() ? "" : ",") + category;
  };
  for (const uint64_t iid : event.category_iids()) {
    const auto found = sequence.categories.find(iid);
    add_category(found == sequence.categories.end() ? "?" : found->second);
  }
  for (const auto category : event.categories())
    add_category(category.ToStdString());
  if (event.has_name_iid()) {
    const auto found = sequence.names.find(event.name_iid());
    text.second = found == sequence.names.end() ? "?" : found->second;
  } else {
    text.second = event.name().ToStdString();
  }
  const auto [it, is_new] =
      text_ids_.emplace(std::move(text), static_cast<TextId>(texts_.size()));
  if (is_new)
    texts_.push_back(&it->first);
  return it->second;
}

void SliceReader::OnEvent(ConstBytes bytes,
                          uint64_t time_ns,
                          Sequence* sequence) {
  const TrackEvent::Decoder event(bytes);
  const bool is_begin = event.type() == TrackEvent::TYPE_SLICE_BEGIN;
  if (!is_begin && event.type() != TrackEvent::TYPE_SLICE_END)
    return;
  const TextId text = is_begin ? TextOf(event, *sequence) : 0;
  if (event.has_track_uuid() && event.track_uuid() != sequence->track) {
    tracks_[event.track_uuid()].push_back({time_ns, is_begin, text});
  } else if (is_begin) {
    Begin(time_ns, text, &sequence->stack);
  } else {
    End(time_ns, &sequence->stack);
  }
}

void SliceReader::Begin(uint64_t time_ns, TextId text, Stack* stack) {
  stack->push_back({time_ns, 0, text});
}

void SliceReader::End(uint64_t time_ns, Stack* stack) {
  if (stack->empty()) {
    ++unbegun_;
    return;
  }
  const OpenSlice slice = stack->back();
  stack->pop_back();
  const uint64_t duration = time_ns - std::min(time_ns, slice.begin_ns);
  if (!stack->empty())
    stack->back().nested_ns += duration;
  const auto& [category, name] = *texts_[slice.text];
  callback_({slice.text, category, name, duration,
             duration - std::min(duration, slice.nested_ns)});
}

void SliceReader::Drop(Stack* stack) {
  unfinished_ += stack->size();
  stack->clear();
}

void SliceReader::Finish() {
  for (auto& [id, sequence] : sequences_)
    Drop(&sequence.stack);
  for (auto& [uuid, events] : tracks_) {
    std::stable_sort(
        events.begin(), events.end(),
        [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
    Stack stack;
    for (const Event& event : events) {
      if (event.is_begin)
        Begin(event.time_ns, event.text, &stack);
      else
        End(event.time_ns, &stack);
    }
    Drop(&stack);
  }
  tracks_.clear();
}

}  // namespace pztrace
