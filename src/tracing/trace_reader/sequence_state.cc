// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/sequence_state.h"

#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

void SequenceState::Clear() {
  is_valid = true;
  ++num_clears;
  texts.Clear();
  if (tasks != nullptr)
    tasks->Clear();
  clock_id = 0;
  default_uuid = 0;
  default_track = kNoTrack;
  ChooseTrack();
  extra_counters.clear();
  extra_double_counters.clear();
  sum_indexes_.Clear();
  sums_.clear();
}

void SequenceState::SetDefaults(ConstBytes bytes, TrackTable* tracks) {
  const trace::TracePacketDefaults::Decoder defaults(bytes);
  clock_id = defaults.timestamp_clock_id();
  const trace::TrackEventDefaults::Decoder of_events(
      defaults.track_event_defaults());
  extra_counters.clear();
  for (const uint64_t uuid : of_events.extra_counter_track_uuids())
    extra_counters.push_back(uuid);
  extra_double_counters.clear();
  for (const uint64_t uuid : of_events.extra_double_counter_track_uuids())
    extra_double_counters.push_back(uuid);
  default_uuid = of_events.track_uuid();
  FindDefaultTrack(tracks);
}

void SequenceState::SetThread(ConstBytes bytes,
                              bool is_known,
                              TrackTable* tracks) {
  const trace::ThreadDescriptor::Decoder thread(bytes);
  references = {};
  SetReferences(thread);
  thread_track =
      is_known ? tracks->IndexOfThread(pid, tid) : tracks->AddThread(bytes);
  ChooseTrack();
}

void SequenceState::SetThreadOfTrack(ConstBytes bytes, TrackTable* tracks) {
  const trace::TrackDescriptor::Decoder said(bytes);
  if (!said.has_thread())
    return;
  SetReferences(trace::ThreadDescriptor::Decoder(said.thread()));
  thread_track = tracks->IndexOf(said.uuid());
  ChooseTrack();
}

void SequenceState::SetReferences(
    const trace::ThreadDescriptor::Decoder& thread) {
  pid = thread.pid();
  tid = thread.tid();
  if (thread.has_reference_timestamp_us())
    references.time_us = thread.reference_timestamp_us();
  if (thread.has_reference_thread_time_us())
    references.thread_time_us = thread.reference_thread_time_us();
  if (thread.has_reference_thread_instruction_count())
    references.instructions = thread.reference_thread_instruction_count();
}

uint64_t SequenceState::ToTraceTime(uint64_t timestamp,
                                    uint32_t clock,
                                    ClockTable* clocks,
                                    bool* is_related) {
  if (clock == 0)
    clock = clock_id;
  if (clock == 0 || clocks->IsTraceClock(clock))
    return timestamp;
  if (clock != known_clock_id_ || clocks->generation() != known_generation_) {
    known_clock_ = clocks->FindRelated(clock, id);
    known_clock_id_ = clock;
    known_generation_ = clocks->generation();
    // A later packet may have said that it is the clock of the trace.
    if (clocks->IsTraceClock(clock))
      return timestamp;
  }
  if (known_clock_ == nullptr) {
    *is_related = false;
    return timestamp;
  }
  *is_related = known_clock_->is_related();
  return known_clock_->Convert(timestamp);
}

double SequenceState::AddToCounter(TrackIndex counter, double value) {
  const auto next = static_cast<uint32_t>(sums_.size());
  const uint32_t index = sum_indexes_.Insert(counter, next);
  if (index == next)
    sums_.push_back({counter, 0});
  return sums_[index].value += value;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
