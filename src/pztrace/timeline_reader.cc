// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/timeline_reader.h"

#include <algorithm>

#include "protozero/proto_decoder.h"
#include "src/pztrace/extension_json.h"

namespace pztrace {

namespace {

namespace trace = protozero::trace;
using protozero::ConstBytes;

// Ids of clocks that belong to one sequence.
constexpr uint32_t kMinSequenceClock = 64;
constexpr uint32_t kMaxSequenceClock = 127;
constexpr uint32_t kRealtimeClock = 1;
constexpr uint32_t kBootClock = 6;

// Keeps the texts of |entries|, a list of InternedData.
template <typename Entry, typename Entries>
void Keep(const Entries& entries, std::map<uint64_t, std::string>* texts) {
  for (const auto bytes : entries) {
    const typename Entry::Decoder entry(bytes);
    texts->emplace(entry.iid(), entry.name().ToStdString());
  }
}

}  // namespace

bool TimelineReader::Read(ConstBytes packets) {
  protozero::ProtoDecoder decoder(packets);
  for (auto field = decoder.ReadField(); field.valid();
       field = decoder.ReadField()) {
    if (field.id() == trace::Trace::kPacketFieldNumber)
      OnPacket(field.as_bytes());
  }
  return decoder.bytes_left() == 0;
}

void TimelineReader::OnPacket(ConstBytes bytes) {
  const TracePacket::Decoder packet(bytes);
  const uint32_t id = packet.trusted_packet_sequence_id();
  Sequence* const sequence = &sequences_[id];
  sequence->id = id;
  const uint32_t flags = packet.sequence_flags();
  if (packet.previous_packet_dropped() != 0) {
    // Perfetto's writers say it of the first one, too.
    if (sequence->has_begun) {
      OnGap(packet, *sequence);
      sequence->has_gap = sequence->is_in_gap = true;
      lost_ends_ += sequence->stack.size();
    }
    sequence->is_valid = false;
    Drop(&sequence->stack);
  }
  sequence->has_begun = true;
  if (flags & TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) {
    Sequence before = std::exchange(*sequence, Sequence());
    sequence->id = id;
    sequence->is_valid = true;
    sequence->has_begun = true;
    sequence->last_ns = before.last_ns;
    sequence->has_gap = before.has_gap;
    sequence->is_in_gap = before.is_in_gap;
    sequence->stack = std::move(before.stack);
    sequence->track = before.track;
  }
  if ((flags & TracePacket::SEQ_NEEDS_INCREMENTAL_STATE) &&
      !sequence->is_valid) {
    ++skipped_;
    skipped_by_loss_ += sequence->has_gap;
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
  if (packet.has_trace_stats())
    OnStats(packet.trace_stats());
  if (packet.has_track_descriptor())
    OnTrack(packet.track_descriptor());
  if (packet.has_interned_data())
    OnInterned(packet.interned_data(), sequence);
  // The time of such a packet does not advance a clock.
  if (packet.has_clock_snapshot())
    return OnClocks(packet.clock_snapshot(), sequence);
  const uint64_t time_ns = TimeNs(packet, sequence);
  if (!packet.has_track_event())
    return;
  OnTime(time_ns, sequence);
  OnEvent(packet.track_event(), time_ns, sequence);
}

void TimelineReader::OnInterned(ConstBytes bytes, Sequence* sequence) {
  const trace::InternedData::Decoder data(bytes);
  Keep<trace::EventCategory>(data.event_categories(), &sequence->categories);
  Keep<trace::EventName>(data.event_names(), &sequence->names);
  if (!callbacks_.reads_details)
    return;
  Keep<trace::DebugAnnotationName>(data.debug_annotation_names(),
                                   &sequence->annotations.names);
  for (const auto entry : data.debug_annotation_string_values()) {
    const trace::InternedString::Decoder string(entry);
    sequence->annotations.values.emplace(string.iid(),
                                         string.str().ToStdString());
  }
}

void TimelineReader::OnClocks(ConstBytes bytes, Sequence* sequence) {
  const trace::ClockSnapshot::Decoder snapshot(bytes);
  std::optional<uint64_t> realtime;
  std::optional<uint64_t> boot_time;
  for (const auto entry : snapshot.clocks()) {
    const trace::ClockSnapshot::Clock::Decoder clock(entry);
    const uint32_t id = clock.clock_id();
    if (id == kRealtimeClock)
      realtime = clock.timestamp();
    if (id == kBootClock)
      boot_time = clock.timestamp();
    if (id < kMinSequenceClock || id > kMaxSequenceClock)
      continue;
    sequence->clocks[id] = {
        clock.timestamp(),
        std::max<uint64_t>(1, clock.unit_multiplier_ns()),
        clock.is_incremental(),
    };
  }
  if (realtime && boot_time)
    realtime_offset_ = static_cast<int64_t>(*realtime - *boot_time);
}

void TimelineReader::OnStats(ConstBytes bytes) {
  using Stats = trace::TraceStats;
  const Stats::Decoder stats(bytes);
  has_stats_ = true;
  for (const auto entry : stats.buffer_stats()) {
    const Stats::BufferStats::Decoder buffer(entry);
    for (const auto losses : buffer.packets_lost()) {
      const Stats::PacketsLost::Decoder lost(losses);
      packets_lost_[static_cast<uint32_t>(lost.reason())] += lost.packets();
    }
    unknown_losses_ += buffer.unknown_losses();
    // Of Perfetto's service, which gives no reasons.
    if (!buffer.has_packets_lost() && buffer.trace_writer_packet_loss() != 0)
      packets_lost_[0] += buffer.trace_writer_packet_loss();
  }
}

void TimelineReader::OnGap(const TracePacket::Decoder& packet,
                           const Sequence& sequence) {
  Gaps& gaps = gaps_[sequence.id];
  ++gaps.places;
  gaps.track = sequence.track;
  if (packet.has_trusted_pid())
    gaps.pid = packet.trusted_pid();
}

void TimelineReader::OnTime(uint64_t time_ns, Sequence* sequence) {
  first_ns_ = std::min(first_ns_, time_ns);
  if (std::exchange(sequence->is_in_gap, false) && sequence->last_ns != 0) {
    lost_stretches_.push_back({sequence->own_track(), sequence->last_ns,
                               std::max(sequence->last_ns, time_ns)});
  }
  sequence->last_ns = time_ns;
}

void TimelineReader::OnTrack(ConstBytes bytes) {
  const trace::TrackDescriptor::Decoder track(bytes);
  TrackInfo& info = infos_[track.uuid()];
  if (track.has_parent_uuid())
    info.parent = track.parent_uuid();
  info.order = track.sibling_order_rank();
  protozero::ConstChars name =
      track.has_static_name() ? track.static_name() : track.name();
  if (track.has_process()) {
    const trace::ProcessDescriptor::Decoder process(track.process());
    info.pid = process.pid();
    if (name.size == 0)
      name = process.process_name();
  }
  if (track.has_thread()) {
    const trace::ThreadDescriptor::Decoder thread(track.thread());
    info.pid = thread.pid();
    info.tid = thread.tid();
    if (name.size == 0)
      name = thread.thread_name();
  }
  if (name.size != 0)
    info.name = name.ToStdString();
  if (track.has_counter()) {
    using Counter = trace::CounterDescriptor;
    const Counter::Decoder counter(track.counter());
    info.is_counter = true;
    info.is_incremental = counter.is_incremental();
    info.unit = counter.unit() == Counter::UNIT_TIME_NS ? "ns"
                : counter.unit() == Counter::UNIT_SIZE_BYTES
                    ? "bytes"
                    : counter.unit_name().ToStdString();
    if (counter.unit_multiplier() != 0)
      info.multiplier = static_cast<double>(counter.unit_multiplier());
  }
}

uint64_t TimelineReader::TimeNs(const TracePacket::Decoder& packet,
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

TimelineReader::TextId TimelineReader::TextOf(const TrackEvent::Decoder& event,
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
    texts_.push_back({it->first.first, it->first.second});
  return it->second;
}

void TimelineReader::OnEvent(ConstBytes bytes,
                             uint64_t time_ns,
                             Sequence* sequence) {
  const TrackEvent::Decoder event(bytes);
  const bool is_own_track =
      !event.has_track_uuid() || event.track_uuid() == sequence->track;
  const uint64_t track =
      is_own_track ? sequence->own_track() : event.track_uuid();
  switch (event.type()) {
    case TrackEvent::TYPE_SLICE_BEGIN:
    case TrackEvent::TYPE_SLICE_END: {
      const bool is_begin = event.type() == TrackEvent::TYPE_SLICE_BEGIN;
      const TextId text = is_begin ? TextOf(event, *sequence) : 0;
      EventDetails details = DetailsOf(bytes, event, *sequence);
      if (!is_own_track) {
        tracks_[track].push_back({time_ns, is_begin, text, std::move(details)});
      } else if (is_begin) {
        sequence->stack.push_back({time_ns, 0, text, std::move(details)});
      } else {
        End(time_ns, track, details, &sequence->stack);
      }
      break;
    }
    case TrackEvent::TYPE_INSTANT:
      if (callbacks_.on_instant) {
        const EventDetails details = DetailsOf(bytes, event, *sequence);
        callbacks_.on_instant(
            {&texts_[TextOf(event, *sequence)], track, time_ns, &details});
      }
      break;
    case TrackEvent::TYPE_COUNTER:
      if (callbacks_.on_counter)
        OnCounter(event, track, time_ns, sequence);
      break;
  }
}

void TimelineReader::OnCounter(const TrackEvent::Decoder& event,
                               uint64_t track,
                               uint64_t time_ns,
                               Sequence* sequence) {
  double value = event.has_double_counter_value()
                     ? event.double_counter_value()
                     : static_cast<double>(event.counter_value());
  const auto info = infos_.find(track);
  if (info != infos_.end()) {
    if (info->second.is_incremental)
      value = sequence->sums[track] += value;
    value *= info->second.multiplier;
  }
  callbacks_.on_counter({track, time_ns, value});
}

EventDetails TimelineReader::DetailsOf(ConstBytes bytes,
                                       const TrackEvent::Decoder& event,
                                       const Sequence& sequence) const {
  EventDetails details;
  if (!callbacks_.reads_details)
    return details;
  for (const auto annotation : event.debug_annotations())
    AppendMember(annotation, sequence.annotations, &details.args);
  if (event_type_ != nullptr)
    AppendExtensions(bytes, *event_type_, &details.args);
  const auto add = [&details](uint64_t flow) {
    details.flows += (details.flows.empty() ? "" : ",") + std::to_string(flow);
  };
  for (const uint64_t flow : event.flow_ids())
    add(flow);
  for (const uint64_t flow : event.terminating_flow_ids())
    add(flow);
  return details;
}

void TimelineReader::End(uint64_t time_ns,
                         uint64_t track,
                         const EventDetails& details,
                         Stack* stack) {
  if (stack->empty()) {
    ++unbegun_;
    return;
  }
  OpenSlice slice = std::move(stack->back());
  stack->pop_back();
  const uint64_t duration = time_ns - std::min(time_ns, slice.begin_ns);
  if (!stack->empty())
    stack->back().nested_ns += duration;
  if (!callbacks_.on_slice)
    return;
  const auto add = [](const std::string& more, std::string* list) {
    if (!more.empty())
      *list += (list->empty() ? "" : ",") + more;
  };
  add(details.args, &slice.details.args);
  add(details.flows, &slice.details.flows);
  callbacks_.on_slice(
      {&texts_[slice.text], slice.text, static_cast<uint32_t>(stack->size()),
       track, slice.begin_ns, duration,
       duration - std::min(duration, slice.nested_ns), &slice.details});
}

void TimelineReader::Drop(Stack* stack) {
  unfinished_ += stack->size();
  stack->clear();
}

void TimelineReader::Finish() {
  for (auto& [id, sequence] : sequences_)
    Drop(&sequence.stack);
  for (auto& [uuid, events] : tracks_) {
    std::stable_sort(
        events.begin(), events.end(),
        [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
    Stack stack;
    for (Event& event : events) {
      if (event.is_begin) {
        stack.push_back(
            {event.time_ns, 0, event.text, std::move(event.details)});
      } else {
        End(event.time_ns, uuid, event.details, &stack);
      }
    }
    Drop(&stack);
  }
  tracks_.clear();
}

}  // namespace pztrace
