// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/legacy_event.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

using trace::DebugAnnotation;
using trace::TrackEvent;
using Legacy = TrackEvent::LegacyEvent;

// The kinds of tracks that the reader makes for such events.
enum class MadeTrack : uint64_t { kAsync = 1, kCounter, kGlobal };

uint64_t KeyOf(MadeTrack kind, std::string_view text, uint64_t id = 0) {
  return std::hash<std::string_view>()(text) + 31 * id +
         static_cast<uint64_t>(kind) * 0x9e3779b97f4a7c15;
}

// Reads an event, by the phases of the JSON format.
class LegacyReader {
 public:
  LegacyReader(ConstBytes bytes,
               const EventParts& parts,
               ReadEventSink* sink,
               ReadEvent* event)
      : legacy_(bytes),
        fields_(event->bytes),
        event_(*event),
        sink_(sink),
        reads_counters_(parts.callbacks.on_counter != nullptr),
        texts_(parts.texts),
        tracks_(parts.tracks) {}

  // Returns false if the event has a type in place of a phase.
  bool Read() {
    if (legacy_.has_name_iid() && !fields_.has_name() &&
        !fields_.has_name_iid()) {
      const EventText& text = texts_.text(event_.text);
      event_.text = texts_.TextOf(
          texts_.Intern(event_.has_text ? text.category : std::string()),
          event_.sequence->texts.NameOf(legacy_.name_iid()));
      event_.has_text = true;
    }
    // If there is a bind_id, an arrow begins or ends at this slice.
    using Arrows = EventFlow::Arrows;
    if (legacy_.has_bind_id() && legacy_.flow_direction() != 0) {
      SetFlow(legacy_.bind_id(),
              legacy_.flow_direction() == Legacy::FLOW_IN    ? Arrows::kIn
              : legacy_.flow_direction() == Legacy::FLOW_OUT ? Arrows::kOut
                                                             : Arrows::kStep);
    }
    if (legacy_.has_phase() || fields_.type() == 0)
      ReadPhase();
    return legacy_.has_phase() || fields_.type() == 0;
  }

 private:
  void ReadPhase() {
    switch (legacy_.phase()) {
      case 'B':
        return sink_->AddBegin(event_);
      case 'E':
        return sink_->AddEnd(event_, std::nullopt);
      case 'X':
        return sink_->AddComplete(event_, DurationNs());
      case 'I':
      case 'i':
      case 'R':
        return AddInstant();
      case 'b':
      case 'S':
        SetAsyncTrack();
        return sink_->AddBegin(event_);
      case 'e':
      case 'F':
        SetAsyncTrack();
        return sink_->AddEnd(event_, std::nullopt);
      case 'n':
      case 'T':
      case 'p':
        SetAsyncTrack();
        return sink_->AddInstant(event_);
      case 's':
      case 't':
      case 'f':
        SetFlow(Id().value_or(legacy_.bind_id()),
                legacy_.phase() == 's'   ? EventFlow::Arrows::kOut
                : legacy_.phase() == 'f' ? EventFlow::Arrows::kIn
                                         : EventFlow::Arrows::kStep);
        if (legacy_.phase() == 'f' && !legacy_.bind_to_enclosing())
          return sink_->AddToNextSlice(event_);
        return sink_->AddToOpenSlice(event_);
      case 'C':
        return AddCounters();
      case 'M':
        return AddName();
      default:
        return sink_->AddUnread(UnknownPhase());
    }
  }

  // Returns a text, one of a limited number whatever the trace has.
  std::string UnknownPhase() const {
    const int32_t phase = legacy_.phase();
    if (phase <= ' ' || phase >= 0x7f)
      return "events of an unknown phase";
    return std::string("events of the phase '") + static_cast<char>(phase) +
           "'";
  }

  uint64_t DurationNs() const {
    const int64_t us = std::max<int64_t>(legacy_.duration_us(), 0);
    return std::min(static_cast<uint64_t>(us), UINT64_MAX / 1000) * 1000;
  }

  std::optional<uint64_t> Id() const {
    if (legacy_.has_unscoped_id())
      return legacy_.unscoped_id();
    if (legacy_.has_local_id())
      return legacy_.local_id();
    if (legacy_.has_global_id())
      return legacy_.global_id();
    return std::nullopt;
  }

  TrackInfo ThreadInfo() const {
    return tracks_.Find(tracks_.uuid(event_.track)).value_or(TrackInfo());
  }

  // Returns the track of the event's process; 0 if it is not known.
  uint64_t ProcessTrack() {
    const TrackInfo info = ThreadInfo();
    if (info.pid == 0)
      return info.parent;
    if (!info.is_thread)
      return tracks_.uuid(event_.track);
    // If nothing describes the process, it has no track yet.
    tracks_.AddProcess(info.pid, {});
    return ThreadInfo().parent;
  }

  void SetFlow(uint64_t id, EventFlow::Arrows arrows) {
    event_.flow = EventFlow{id, false, arrows};
  }

  // Sets the track: events of one id and category are on one track. Those of
  // the older phases, which need not nest, have one name, too.
  void SetAsyncTrack() {
    const EventText& text = texts_.text(event_.text);
    const int32_t phase = legacy_.phase();
    const bool is_nestable = phase == 'b' || phase == 'e' || phase == 'n';
    std::string scope = text.category;
    if (legacy_.has_id_scope())
      scope += ':' + legacy_.id_scope().ToStdString();
    else if (!is_nestable)
      scope += '\n' + text.name;
    const uint64_t process = legacy_.has_local_id() ? ProcessTrack() : 0;
    event_.track =
        tracks_.IndexOfMade(KeyOf(MadeTrack::kAsync, scope, Id().value_or(0)),
                            texts_.Intern(text.name), process);
  }

  void AddInstant() {
    switch (legacy_.instant_event_scope()) {
      case Legacy::SCOPE_GLOBAL:
        event_.track = tracks_.IndexOfMade(KeyOf(MadeTrack::kGlobal, {}),
                                           TextTable::kEmpty, 0);
        break;
      case Legacy::SCOPE_PROCESS:
        event_.track = tracks_.IndexOfNumber(ProcessTrack());
        break;
      default:
        break;
    }
    sink_->AddInstant(event_);
  }

  std::string_view NameOf(const DebugAnnotation::Decoder& annotation) const {
    if (!annotation.has_name_iid())
      return annotation.name().ToStdStringView();
    const trace::DebugAnnotationName::Decoder name(
        event_.sequence->texts.FindEntry(
            trace::InternedData::kDebugAnnotationNamesFieldNumber,
            annotation.name_iid()));
    return name.name().ToStdStringView();
  }

  // Adds values. Each argument is a counter.
  void AddCounters() {
    if (!reads_counters_)
      return;
    const uint64_t process = ProcessTrack();
    for (const auto bytes : fields_.debug_annotations()) {
      const DebugAnnotation::Decoder annotation(bytes);
      double value = 0;
      if (annotation.has_int_value())
        value = static_cast<double>(annotation.int_value());
      else if (annotation.has_uint_value())
        value = static_cast<double>(annotation.uint_value());
      else if (annotation.has_double_value())
        value = annotation.double_value();
      else
        continue;
      std::string name = texts_.text(event_.text).name;
      name += ' ';
      name += NameOf(annotation);
      ReadEvent counter = event_;
      counter.track = CounterTrack(name, process);
      sink_->AddCounter(counter, value);
    }
  }

  TrackIndex CounterTrack(const std::string& name, uint64_t process) {
    const TrackIndex track = tracks_.IndexOfMade(
        KeyOf(MadeTrack::kCounter, name), texts_.Intern(name), process);
    tracks_.SetCounter(track);
    return track;
  }

  // Names a thread or process. The name is an argument called "name".
  void AddName() {
    const std::string& kind = texts_.text(event_.text).name;
    std::string_view name;
    for (const auto bytes : fields_.debug_annotations()) {
      const DebugAnnotation::Decoder annotation(bytes);
      if (NameOf(annotation) == "name")
        name = annotation.string_value().ToStdStringView();
    }
    const TrackInfo info = ThreadInfo();
    if (kind == "thread_name")
      tracks_.AddThread(info.pid, info.tid, name);
    else if (kind == "process_name")
      tracks_.AddProcess(info.pid, name);
    else
      sink_->AddUnread("events of the phase 'M'");
  }

  const Legacy::Decoder legacy_;
  const TrackEvent::Decoder fields_;
  ReadEvent& event_;
  ReadEventSink* const sink_;
  const bool reads_counters_;
  TextTable& texts_;
  TrackTable& tracks_;
};

}  // namespace

bool ReadLegacyEvent(ConstBytes legacy_event,
                     const EventParts& parts,
                     ReadEventSink* sink,
                     ReadEvent* event) {
  return LegacyReader(legacy_event, parts, sink, event).Read();
}

std::optional<TrackIndex> OtherThreadOf(ConstBytes legacy_event,
                                        const SequenceState& sequence,
                                        TrackTable* tracks) {
  const Legacy::Decoder legacy(legacy_event);
  if (!legacy.has_pid_override() &&
      (!legacy.has_tid_override() || !sequence.has_thread())) {
    return std::nullopt;
  }
  // The thread is not known of an event that names only the process.
  constexpr int32_t kUnknown = -1;
  return tracks->IndexOfThread(
      legacy.has_pid_override() ? legacy.pid_override() : sequence.pid,
      legacy.has_tid_override() ? legacy.tid_override() : kUnknown);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
