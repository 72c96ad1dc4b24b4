// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/event_reader.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/trace_reader/legacy_event.h"
#include "src/tracing/trace_reader/slice_nesting.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

using trace::TrackEvent;

namespace {

// The most bytes of details that may wait for their place in the order of time.
constexpr size_t kMaxDetails = size_t{48} << 20;

class FormattedEvent final : public EventArgs {
 public:
  explicit FormattedEvent(const ReadEvent& event) : event_(event) {}
  ConstBytes event() const override { return event_.bytes; }
  bool has_other_args() const override { return event_.has_other_args; }
  ConstBytes FindInterned(uint32_t list, uint64_t iid) const override {
    return event_.sequence->texts.FindEntry(list, iid);
  }

 private:
  const ReadEvent& event_;
};

template <typename Ids>
void AppendFlows(const Ids& ids,
                 bool ends_here,
                 std::vector<EventFlow>* flows) {
  for (const uint64_t id : ids)
    flows->push_back({id, ends_here});
}

// Adds as unsigned numbers, whose sum is defined for any bytes of a trace.
int64_t WrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}

// Returns the text for the user about a field that the reader does not read.
// Returns null if the reader reads it, or if it is a time of the thread.
const char* NameOfUnreadField(uint32_t field_id) {
  switch (field_id) {
    case 24:
      return "fields cc_scheduler_state";
    case 29:
      return "fields chrome_latency_info";
    case 32:
      return "fields chrome_frame_reporter";
    case 35:
      return "fields chrome_message_pump";
    case 38:
      return "fields chrome_mojo_event_info";
    case 39:
      return "fields chrome_application_state_info";
    case 40:
      return "fields chrome_renderer_scheduler_state";
    case 41:
      return "fields chrome_window_handle_event_info";
    case 43:
      return "fields chrome_content_settings_event_info";
    case 49:
      return "fields chrome_active_processes";
    case 50:
      return "fields screenshot";
    case 55:
    case 56:
      return "fields callstack";
    default:
      return nullptr;
  }
}

}  // namespace

// The content of a TrackEvent, except for lists and details.
struct EventReader::Fields {
  uint32_t type = 0;
  uint32_t num_categories = 0;
  uint64_t track_uuid = 0;
  uint64_t category_iid = 0;
  uint64_t name_iid = 0;
  std::string_view name;
  ConstBytes legacy_event;
  double value = 0;
  int64_t time_us = 0;
  bool has_track = false;
  bool has_name = false;
  bool has_category_text = false;
  bool has_time_delta = false;
  bool has_time = false;
  bool has_legacy_event = false;
  bool has_extra_counters = false;
  bool has_thread_counters = false;
  bool has_flows = false;
  bool has_args = false;
  bool has_other_args = false;
  const char* unread = nullptr;
};

EventReader::Fields EventReader::ReadFields(ConstBytes event) {
  Fields fields;
  ProtoDecoder decoder(event);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    switch (field.id()) {
      case TrackEvent::kTypeFieldNumber:
        fields.type = field.as_uint32();
        break;
      case TrackEvent::kTrackUuidFieldNumber:
        fields.track_uuid = field.as_uint64();
        fields.has_track = true;
        break;
      case TrackEvent::kCategoryIidsFieldNumber:
        fields.category_iid = field.as_uint64();
        // A packed list counts as several.
        fields.num_categories += field.size() != 0 ? 2u : 1u;
        break;
      case TrackEvent::kCategoriesFieldNumber:
        ++fields.num_categories;
        fields.has_category_text = true;
        break;
      case TrackEvent::kNameFieldNumber:
        fields.name = field.as_string().ToStdStringView();
        fields.has_name = true;
        break;
      case TrackEvent::kNameIidFieldNumber:
        fields.name_iid = field.as_uint64();
        break;
      case TrackEvent::kCounterValueFieldNumber:
        fields.value = static_cast<double>(field.as_int64());
        break;
      case TrackEvent::kDoubleCounterValueFieldNumber:
        fields.value = field.as_double();
        break;
      case TrackEvent::kExtraCounterValuesFieldNumber:
      case TrackEvent::kExtraDoubleCounterValuesFieldNumber:
        fields.has_extra_counters = true;
        break;
      case TrackEvent::kFlowIdsFieldNumber:
      case TrackEvent::kTerminatingFlowIdsFieldNumber:
      case TrackEvent::kFlowIdsOldFieldNumber:
      case TrackEvent::kTerminatingFlowIdsOldFieldNumber:
        fields.has_flows = true;
        break;
      case TrackEvent::kTimestampDeltaUsFieldNumber:
        fields.time_us = field.as_int64();
        fields.has_time_delta = true;
        break;
      case TrackEvent::kTimestampAbsoluteUsFieldNumber:
        fields.time_us = field.as_int64();
        fields.has_time = true;
        break;
      case TrackEvent::kThreadTimeDeltaUsFieldNumber:
      case TrackEvent::kThreadTimeAbsoluteUsFieldNumber:
      case TrackEvent::kThreadInstructionCountDeltaFieldNumber:
      case TrackEvent::kThreadInstructionCountAbsoluteFieldNumber:
        fields.has_thread_counters = true;
        break;
      case TrackEvent::kLegacyEventFieldNumber:
        fields.legacy_event = field.as_bytes();
        fields.has_legacy_event = true;
        break;
      case TrackEvent::kDebugAnnotationsFieldNumber:
        fields.has_args = true;
        break;
      default:
        fields.has_args = fields.has_other_args = true;
        if (const char* const name = NameOfUnreadField(field.id()))
          fields.unread = name;
        break;
    }
  }
  return fields;
}

TextId EventReader::TextOf(const Fields& fields,
                           ConstBytes bytes,
                           SequenceState* sequence) {
  InternedTexts& texts = sequence->texts;
  if (!fields.has_category_text && fields.num_categories <= 1 &&
      !fields.has_name) {
    return texts.TextOf(fields.category_iid, fields.name_iid);
  }
  StringId category = TextTable::kEmpty;
  if (fields.num_categories == 1 && !fields.has_category_text) {
    category = texts.CategoryOf(fields.category_iid);
  } else if (fields.num_categories != 0) {
    const TrackEvent::Decoder event(bytes);
    std::string all;
    const auto add = [&all](std::string_view text) {
      // Further text would be cut.
      if (all.size() > EventText::kMaxTextSize)
        return;
      all += all.empty() ? "" : ",";
      all += text;
    };
    for (const uint64_t iid : event.category_iids())
      add(parts_.texts.string(texts.CategoryOf(iid)));
    for (const auto text : event.categories())
      add(text.ToStdStringView());
    category = parts_.texts.Intern(all);
  }
  const StringId name = fields.name_iid != 0 ? texts.NameOf(fields.name_iid)
                                             : parts_.texts.Intern(fields.name);
  return parts_.texts.TextOf(category, name);
}

TrackIndex EventReader::TrackOf(const Fields& fields, SequenceState* sequence) {
  // The track 0 stands for none.
  if (fields.has_track && fields.track_uuid != 0)
    return parts_.tracks.IndexOf(fields.track_uuid);
  if (fields.has_legacy_event &&
      (fields.has_track ||
       sequence->default_track == SequenceState::kNoTrack)) {
    const auto thread =
        OtherThreadOf(fields.legacy_event, *sequence, &parts_.tracks);
    if (thread)
      return *thread;
  }
  if (!fields.has_track)
    return sequence->OwnTrack(&parts_.tracks);
  return fields.type == 0 && sequence->has_thread() ? sequence->thread_track
                                                    : parts_.tracks.IndexOf(0);
}

// Returns the time in older traces: microseconds of the monotonic clock.
uint64_t EventReader::LegacyTime(const Fields& fields,
                                 SequenceState* sequence) {
  uint64_t us = static_cast<uint64_t>(fields.time_us);
  if (fields.has_time_delta) {
    us += static_cast<uint64_t>(sequence->references.time_us);
    sequence->references.time_us = static_cast<int64_t>(us);
  }
  bool is_related = true;
  return sequence->ToTraceTime(us * 1000, ClockTable::kMonotonic,
                               &parts_.clocks, &is_related);
}

uint64_t EventReader::Read(ConstBytes bytes,
                           uint64_t time_ns,
                           bool is_related,
                           std::optional<uint32_t> ended_duration,
                           SequenceState* sequence) {
  const Fields fields = ReadFields(bytes);
  if (fields.unread != nullptr)
    AddUnread(fields.unread);
  if (sequence->epoch == 0)
    sequence->epoch = ++num_epochs_;
  if (fields.has_time_delta || fields.has_time)
    time_ns = LegacyTime(fields, sequence);
  else
    unrelated_ += !is_related;
  first_ns_ = std::min(first_ns_, time_ns);
  last_ns_ = std::max(last_ns_, time_ns);

  ReadEvent event;
  event.bytes = bytes;
  event.sequence = sequence;
  event.time_ns = time_ns;
  if (fields.has_track || fields.has_legacy_event)
    event.track = TrackOf(fields, sequence);
  else
    event.track = sequence->OwnTrack(&parts_.tracks);
  event.has_text =
      fields.num_categories != 0 || fields.has_name || fields.name_iid != 0;
  event.has_flows = fields.has_flows;
  event.has_args = fields.has_args;
  event.has_other_args = fields.has_other_args;
  if (event.track == sequence->track)
    sequence->last_own_ns = std::max(sequence->last_own_ns, time_ns);
  if (event.has_text || fields.type != TrackEvent::TYPE_SLICE_END)
    event.text = TextOf(fields, bytes, sequence);
  if (fields.has_thread_counters)
    AddThreadCounters(event);
  if (fields.has_extra_counters && parts_.callbacks.on_counter)
    AddExtraCounters(event);
  if (fields.has_legacy_event && fields.type != TrackEvent::TYPE_COUNTER &&
      ReadLegacyEvent(fields.legacy_event, parts_, this, &event)) {
    return time_ns;
  }
  switch (fields.type) {
    case TrackEvent::TYPE_SLICE_BEGIN:
      AddBegin(event);
      break;
    case TrackEvent::TYPE_SLICE_END:
      AddEnd(event, ended_duration);
      break;
    case TrackEvent::TYPE_INSTANT:
      AddInstant(event);
      break;
    case TrackEvent::TYPE_COUNTER:
      AddCounter(event, fields.value);
      break;
    case TrackEvent::TYPE_STATE:
      AddState(event);
      break;
    default:
      AddUnread("events of an unknown type");
      break;
  }
  return time_ns;
}

void EventReader::AddLoss(SequenceState* sequence) {
  ReadEvent event;
  event.sequence = sequence;
  event.track = sequence->OwnTrack(&parts_.tracks);
  Add(event, TimedEvent::kLoss,
      std::exchange(sequence->last_own_ns, uint64_t{0}), 0, DetailsPool::kNone);
  sequence->epoch = ++num_epochs_;
}

void EventReader::Add(const ReadEvent& event,
                      TimedEvent::Kind kind,
                      uint64_t time_ns,
                      uint32_t text_or_duration,
                      DetailsId details) {
  SequenceState& sequence = *event.sequence;
  const bool is_early = kind == TimedEvent::kEnd &&
                        event.track == sequence.last_begin_track &&
                        time_ns < sequence.last_begin_ns;
  sequence.last_begin_track =
      kind == TimedEvent::kBegin ? event.track : SequenceState::kNoTrack;
  sequence.last_begin_ns = time_ns;
  parts_.order.Add({time_ns,
                    event.track,
                    {text_or_duration},
                    details,
                    sequence.epoch & TimedEvent::kEpochMask,
                    kind & TimedEvent::kKindMask,
                    is_early});
  if (parts_.details.num_bytes() > kMaxDetails && details != DetailsPool::kNone)
    parts_.order.Release();
}

void EventReader::AddBegin(const ReadEvent& event) {
  Add(event, TimedEvent::kBegin, event.time_ns, event.text, KeepDetails(event));
}

void EventReader::AddEnd(const ReadEvent& event,
                         std::optional<uint32_t> duration) {
  uint32_t text_or_duration = TimedEvent::kNoText;
  if (duration)
    text_or_duration = *duration;
  else if (event.has_text)
    text_or_duration = event.text;
  Add(event, duration ? TimedEvent::kExactEnd : TimedEvent::kEnd, event.time_ns,
      text_or_duration, KeepDetails(event));
}

void EventReader::AddComplete(const ReadEvent& event, uint64_t duration_ns) {
  AddBegin(event);
  const uint64_t end_ns = std::max(event.time_ns, event.time_ns + duration_ns);
  last_ns_ = std::max(last_ns_, end_ns);
  Add(event, TimedEvent::kExactEnd, end_ns,
      static_cast<uint32_t>(end_ns - event.time_ns) &
          SliceNesting::kDurationMask,
      DetailsPool::kNone);
}

void EventReader::AddState(const ReadEvent& event) {
  Add(event, TimedEvent::kState, event.time_ns,
      event.has_text ? event.text : TimedEvent::kNoText, KeepDetails(event));
}

void EventReader::AddToOpenSlice(const ReadEvent& event) {
  AddDetails(event, TimedEvent::kDetails);
}

void EventReader::AddToNextSlice(const ReadEvent& event) {
  AddDetails(event, TimedEvent::kNextDetails);
}

void EventReader::AddDetails(const ReadEvent& event, TimedEvent::Kind kind) {
  const DetailsId details = KeepDetails(event);
  if (details != DetailsPool::kNone)
    Add(event, kind, event.time_ns, 0, details);
}

void EventReader::AddInstant(const ReadEvent& event) {
  if (!parts_.callbacks.on_instant)
    return;
  if (parts_.callbacks.nests_instants) {
    return Add(event, TimedEvent::kInstant, event.time_ns, event.text,
               KeepDetails(event));
  }
  FormatDetails(event, &scratch_);
  parts_.callbacks.on_instant({&parts_.texts.text(event.text),
                               parts_.tracks.uuid(event.track), event.time_ns,
                               &scratch_});
}

void EventReader::AddCounter(const ReadEvent& event, double value) {
  if (!parts_.callbacks.on_counter)
    return;
  if (parts_.tracks.is_incremental(event.track))
    value = event.sequence->AddToCounter(event.track, value);
  parts_.callbacks.on_counter({parts_.tracks.uuid(event.track), event.time_ns,
                               value * parts_.tracks.multiplier(event.track)});
}

void EventReader::AddThreadCounters(const ReadEvent& event) {
  // Differences count, whichever track the event is on.
  const auto thread = parts_.tracks.ThreadTrackOf(event.track);
  const TrackEvent::Decoder decoder(event.bytes);
  const auto add = [&](std::string_view name, int64_t value, double unit) {
    if (!thread || skips_thread_counters_)
      return;
    // The name is the counter's key.
    ReadEvent counter = event;
    counter.track = parts_.tracks.IndexOfMade(
        name.size(), parts_.texts.Intern(name), parts_.tracks.uuid(*thread));
    parts_.tracks.SetCounter(counter.track);
    AddCounter(counter, static_cast<double>(value) * unit);
  };
  SequenceState& sequence = *event.sequence;
  if (decoder.has_thread_time_delta_us()) {
    sequence.references.thread_time_us = WrappingSum(
        sequence.references.thread_time_us, decoder.thread_time_delta_us());
    add(kThreadTime, sequence.references.thread_time_us, 1000);
  } else if (decoder.has_thread_time_absolute_us()) {
    add(kThreadTime, decoder.thread_time_absolute_us(), 1000);
  }
  if (decoder.has_thread_instruction_count_delta()) {
    sequence.references.instructions =
        WrappingSum(sequence.references.instructions,
                    decoder.thread_instruction_count_delta());
    add(kThreadInstructions, sequence.references.instructions, 1);
  } else if (decoder.has_thread_instruction_count_absolute()) {
    add(kThreadInstructions, decoder.thread_instruction_count_absolute(), 1);
  }
}

void EventReader::AddExtraCounters(const ReadEvent& event) {
  const TrackEvent::Decoder decoder(event.bytes);
  ReadEvent counter = event;
  const auto add_all = [&](auto uuids, const auto& defaults, auto values) {
    auto uuid = uuids.begin();
    size_t i = 0;
    const bool has_uuids = uuid != uuids.end();
    for (const auto value : values) {
      if (has_uuids ? uuid == uuids.end() : i == defaults.size())
        break;
      counter.track = parts_.tracks.IndexOf(has_uuids ? *uuid : defaults[i]);
      AddCounter(counter, static_cast<double>(value));
      if (has_uuids)
        ++uuid;
      else
        ++i;
    }
  };
  add_all(decoder.extra_counter_track_uuids(), event.sequence->extra_counters,
          decoder.extra_counter_values());
  add_all(decoder.extra_double_counter_track_uuids(),
          event.sequence->extra_double_counters,
          decoder.extra_double_counter_values());
}

void EventReader::FormatDetails(const ReadEvent& event, EventDetails* details) {
  details->args.clear();
  details->flows.clear();
  if (!parts_.callbacks.reads_details)
    return;
  if (event.has_args && parts_.callbacks.format_args)
    parts_.callbacks.format_args(FormattedEvent(event), &details->args);
  if (event.has_flows) {
    const TrackEvent::Decoder decoder(event.bytes);
    AppendFlows(decoder.flow_ids(), false, &details->flows);
    AppendFlows(decoder.flow_ids_old(), false, &details->flows);
    AppendFlows(decoder.terminating_flow_ids(), true, &details->flows);
    AppendFlows(decoder.terminating_flow_ids_old(), true, &details->flows);
  }
  if (event.flow)
    details->flows.push_back(*event.flow);
}

DetailsId EventReader::KeepDetails(const ReadEvent& event) {
  if (!parts_.callbacks.reads_details ||
      (!event.has_args && !event.has_flows && !event.flow)) {
    return DetailsPool::kNone;
  }
  FormatDetails(event, &scratch_);
  return parts_.details.Keep(&scratch_);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
