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
      SetTrack(of_events.track_uuid(), sequence);
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
  OnEvent(packet.track_event(), time_ns,
          packet.has_ended_slice_duration()
              ? std::optional(packet.ended_slice_duration())
              : std::nullopt,
          sequence);
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
                             std::optional<uint32_t> ended_duration,
                             Sequence* sequence) {
  const TrackEvent::Decoder event(bytes);
  const bool is_own_track =
      !event.has_track_uuid() || event.track_uuid() == sequence->track;
  const uint64_t track =
      is_own_track ? sequence->own_track() : event.track_uuid();
  switch (event.type()) {
    case TrackEvent::TYPE_SLICE_BEGIN: {
      OpenSlice slice;
      slice.begin_ns = time_ns;
      slice.track = track;
      slice.text_id = TextOf(event, *sequence);
      slice.text = &texts_[slice.text_id];
      slice.details = DetailsOf(bytes, event, *sequence);
      OnBegin(std::move(slice), is_own_track, sequence);
      break;
    }
    case TrackEvent::TYPE_SLICE_END: {
      SliceEnd end;
      end.time_ns = time_ns;
      end.duration = ended_duration;
      if (event.has_name() || event.has_name_iid() || event.has_categories() ||
          event.has_category_iids()) {
        end.text = &texts_[TextOf(event, *sequence)];
      }
      end.details = DetailsOf(bytes, event, *sequence);
      OnEnd(std::move(end), track, is_own_track, sequence);
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

void TimelineReader::OnBegin(OpenSlice slice,
                             bool is_own_track,
                             Sequence* sequence) {
  const uint64_t track = slice.track;
  const uint64_t begin_ns = slice.begin_ns;
  if (!is_own_track) {
    tracks_[track].push_back(
        {true,
         slice.text_id,
         {begin_ns, {}, slice.text, std::move(slice.details)}});
    return;
  }
  sequence->stack.Begin(std::move(slice), on_end_);
  if (num_waiting_ends_ == 0)
    return;
  Owner& owner = owners_[track];
  const auto end = owner.ends.find(begin_ns & SliceStack::kDurationMask);
  if (end == owner.ends.end())
    return;
  sequence->stack.EndFromElsewhere(end->second, on_end_);
  owner.ends.erase(end);
  --num_waiting_ends_;
}

void TimelineReader::OnEnd(SliceEnd end,
                           uint64_t track,
                           bool is_own_track,
                           Sequence* sequence) {
  if (is_own_track)
    return End(end, &sequence->stack);
  const auto owner = owners_.find(track);
  if (!end.duration || owner == owners_.end()) {
    tracks_[track].push_back({false, 0, std::move(end)});
    return;
  }
  SliceStack& stack = sequences_[owner->second.sequence].stack;
  if (!stack.EndFromElsewhere(end, on_end_))
    AddWaitingEnd(std::move(end), &owner->second);
}

void TimelineReader::AddWaitingEnd(SliceEnd end, Owner* owner) {
  const uint64_t begin_ns = end.time_ns - *end.duration;
  owner->ends.emplace(begin_ns & SliceStack::kDurationMask, std::move(end));
  ++num_waiting_ends_;
}

void TimelineReader::OnEnd(const OpenSlice& slice, uint64_t end_ns) {
  if (!callbacks_.on_slice)
    return;
  const uint64_t duration = end_ns - slice.begin_ns;
  callbacks_.on_slice({slice.text, slice.text_id, slice.depth, slice.track,
                       slice.begin_ns, duration,
                       duration - std::min(duration, slice.nested_ns),
                       &slice.details});
}

void TimelineReader::SetTrack(uint64_t track, Sequence* sequence) {
  Drop(&sequence->stack);
  sequence->track = track;
  Owner& owner = owners_[track];
  owner.sequence = sequence->id;
  // Those that were taken for a track of no sequence.
  std::vector<Event>& events = tracks_[track];
  const auto is_waiting = [&](Event& event) {
    if (event.is_begin || !event.what.duration)
      return false;
    AddWaitingEnd(std::move(event.what), &owner);
    return true;
  };
  events.erase(std::remove_if(events.begin(), events.end(), is_waiting),
               events.end());
}

void TimelineReader::End(const SliceEnd& end, SliceStack* stack) {
  // An end that is of one slice only says nothing of others.
  if (!stack->End(end, on_end_) && !end.duration)
    ++unbegun_;
}

void TimelineReader::Drop(SliceStack* stack) {
  unfinished_ += stack->Clear(on_end_);
}

void TimelineReader::Finish() {
  for (auto& [id, sequence] : sequences_)
    Drop(&sequence.stack);
  for (auto& [uuid, events] : tracks_) {
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& a, const Event& b) {
                       return a.what.time_ns < b.what.time_ns;
                     });
    SliceStack stack;
    for (Event& event : events) {
      SliceEnd& what = event.what;
      if (event.is_begin) {
        OpenSlice slice;
        slice.begin_ns = what.time_ns;
        slice.track = uuid;
        slice.text_id = event.text_id;
        slice.text = what.text;
        slice.details = std::move(what.details);
        stack.Begin(std::move(slice), on_end_);
      } else {
        End(what, &stack);
      }
    }
    Drop(&stack);
  }
  tracks_.clear();
}

}  // namespace pztrace
