// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/slice_nesting.h"

#include <algorithm>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The number of open slices that an event may search, on average. Besides,
// search_budget_ begins with half a second's work. So the time depends only on
// the number of events.
constexpr uint64_t kStepsPerEvent = 64;
// The most ends that may wait for a beginning, which may never come.
constexpr size_t kMaxWaitingEnds = 1 << 18;

uint64_t WaitingKey(uint32_t track, uint64_t begin_ns) {
  return uint64_t{track} << 32 | (begin_ns & SliceNesting::kDurationMask);
}

}  // namespace

void SliceNesting::OnEvent(const TimedEvent& event) {
  if (event.track >= innermost_.size())
    innermost_.resize(size_t{event.track} + 1, kNone);
  search_budget_ += kStepsPerEvent;
  switch (static_cast<TimedEvent::Kind>(event.kind)) {
    case TimedEvent::kBegin:
      return Begin(event);
    case TimedEvent::kEnd:
    case TimedEvent::kExactEnd:
      return End(event);
    case TimedEvent::kState:
      return SetState(event);
    case TimedEvent::kLoss:
      return Lose(event);
    case TimedEvent::kDetails:
      return AddDetails(event);
    case TimedEvent::kNextDetails:
      return details_->Merge(event.details, &next_details_[event.track]);
    case TimedEvent::kInstant:
      return AddInstant(event);
  }
}

void SliceNesting::Begin(const TimedEvent& event) {
  uint32_t& innermost = innermost_[event.track];
  uint32_t index = static_cast<uint32_t>(slices_.size());
  if (free_.empty()) {
    slices_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  OpenSlice& slice = slices_[index];
  slice.root_ns =
      innermost == kNone ? event.time_ns : slices_[innermost].root_ns;
  slice.begin_ns = event.time_ns;
  slice.nested_ns = 0;
  slice.counted_ns = 0;
  slice.number = num_begun_++;
  slice.parent = innermost == kNone ? kNoParent : slices_[innermost].number;
  slice.text = event.text;
  slice.details = event.details;
  slice.epoch = event.epoch;
  slice.depth = innermost == kNone ? 0 : slices_[innermost].depth + 1;
  slice.below = innermost;
  slice.path = 0;
  if (paths_ != nullptr) {
    slice.path = paths_->PathOf(
        innermost == kNone ? 0 : slices_[innermost].path, event.text);
  }
  innermost = index;
  if (!next_details_.empty())
    TakeNextDetails(event.track, &slice);
  if (!early_ends_.empty())
    EndEarly(event);
  if (waiting_ends_.empty())
    return;
  const auto waiting =
      waiting_ends_.find(WaitingKey(event.track, event.time_ns));
  if (waiting == waiting_ends_.end())
    return;
  const TimedEvent end = waiting->second;
  waiting_ends_.erase(waiting);
  End(end);
}

void SliceNesting::AddInstant(const TimedEvent& event) {
  const uint32_t innermost = innermost_[event.track];
  NestedSlice instant = {};
  instant.begin_ns = event.time_ns;
  instant.end_ns = event.time_ns;
  instant.track = event.track;
  instant.text = event.text;
  instant.number = num_begun_++;
  instant.parent = kNoParent;
  instant.details = event.details;
  if (innermost != kNone) {
    instant.depth = slices_[innermost].depth + 1;
    instant.parent = slices_[innermost].number;
  }
  sink_->OnInstant(instant);
  details_->Free(event.details);
}

void SliceNesting::TakeNextDetails(uint32_t track, OpenSlice* slice) {
  const auto next = next_details_.find(track);
  if (next == next_details_.end())
    return;
  details_->Merge(next->second, &slice->details);
  next_details_.erase(next);
}

// Ends a slice that has its end before its beginning: a clock went back.
void SliceNesting::EndEarly(const TimedEvent& begin) {
  const auto early = early_ends_.find(begin.track);
  if (early == early_ends_.end())
    return;
  if (early->second == begin.epoch) {
    --unbegun_;
    EndAt({innermost_[begin.track], kNone}, begin.track, begin.time_ns);
  }
  early_ends_.erase(early);
}

void SliceNesting::End(const TimedEvent& event) {
  const Found found = Find(event);
  if (found.slice == kNone) {
    if (event.kind == TimedEvent::kEnd) {
      if (event.is_early)
        early_ends_[event.track] = event.epoch;
      ++unbegun_;
    } else if (waiting_ends_.size() < kMaxWaitingEnds) {
      waiting_ends_.emplace(
          WaitingKey(event.track, event.time_ns - event.duration), event);
      return;
    }
    return details_->Free(event.details);
  }
  details_->Merge(event.details, &slices_[found.slice].details);
  // An end by name also ends the slices within.
  while (event.kind == TimedEvent::kEnd &&
         innermost_[event.track] != found.slice) {
    EndAt({innermost_[event.track], kNone}, event.track, event.time_ns);
  }
  const bool is_innermost = innermost_[event.track] == found.slice;
  EndAt({found.slice, is_innermost ? kNone : found.above}, event.track,
        event.time_ns);
}

// Sets a state, which is a slice that the next state ends.
void SliceNesting::SetState(const TimedEvent& event) {
  const uint32_t innermost = innermost_[event.track];
  if (innermost != kNone)
    EndAt({innermost, kNone}, event.track, event.time_ns);
  if (event.text != TimedEvent::kNoText)
    Begin(event);
  else
    details_->Free(event.details);
}

void SliceNesting::AddDetails(const TimedEvent& event) {
  const uint32_t innermost = innermost_[event.track];
  if (innermost != kNone)
    details_->Merge(event.details, &slices_[innermost].details);
  else
    details_->Free(event.details);
}

void SliceNesting::Lose(const TimedEvent& event) {
  uint32_t above = kNone;
  for (uint32_t i = innermost_[event.track]; i != kNone;) {
    // The slices of other sequences stay, and so would be searched again.
    if (search_budget_ == 0)
      return;
    --search_budget_;
    const uint32_t below = slices_[i].below;
    if (slices_[i].epoch == event.epoch) {
      details_->Free(slices_[i].details);
      Remove({i, above}, event.track);
      ++unfinished_;
      ++lost_ends_;
    } else {
      above = i;
    }
    i = below;
  }
}

bool SliceNesting::Matches(const TimedEvent& end,
                           const OpenSlice& slice) const {
  if (end.kind == TimedEvent::kExactEnd)
    return ((end.time_ns - slice.begin_ns) & kDurationMask) == end.duration;
  if (end.text == TimedEvent::kNoText || end.text == slice.text)
    return true;
  // Equal texts have the same address.
  const EventText& said = texts_->text(end.text);
  const EventText& text = texts_->text(slice.text);
  return (said.name.empty() || &said.name == &text.name) &&
         (said.category.empty() || &said.category == &text.category);
}

SliceNesting::Found SliceNesting::Find(const TimedEvent& event) {
  Found found = {innermost_[event.track], kNone};
  while (found.slice != kNone && !Matches(event, slices_[found.slice])) {
    // Comparing texts takes longer.
    const uint64_t cost = event.kind == TimedEvent::kExactEnd ? 1 : 8;
    if (search_budget_ < cost)
      return {kNone, kNone};
    search_budget_ -= cost;
    found = {slices_[found.slice].below, found.slice};
  }
  return found;
}

void SliceNesting::Remove(Found found, uint32_t track) {
  const uint32_t below = slices_[found.slice].below;
  if (found.above == kNone)
    innermost_[track] = below;
  else
    slices_[found.above].below = below;
  free_.push_back(found.slice);
}

void SliceNesting::EndAt(Found found, uint32_t track, uint64_t end_ns) {
  Remove(found, track);
  OpenSlice& slice = slices_[found.slice];
  end_ns = std::max(end_ns, slice.begin_ns);
  // If a slice has begun in it and goes on, it is nested in it up to here.
  if (found.above != kNone) {
    OpenSlice& inner = slices_[found.above];
    const uint64_t inner_from = std::max(inner.begin_ns, inner.counted_ns);
    if (inner_from < end_ns) {
      slice.nested_ns += end_ns - inner_from;
      inner.counted_ns = end_ns;
    }
  }
  const uint64_t from = std::max(slice.begin_ns, slice.counted_ns);
  if (slice.below != kNone && from < end_ns)
    slices_[slice.below].nested_ns += end_ns - from;
  sink_->OnSlice(SliceOf(slice, track, end_ns));
  details_->Free(slice.details);
}

NestedSlice SliceNesting::SliceOf(const OpenSlice& slice,
                                  uint32_t track,
                                  uint64_t end_ns) const {
  const uint64_t duration_ns = end_ns - slice.begin_ns;
  return {slice.root_ns, slice.begin_ns,
          end_ns,        duration_ns - std::min(duration_ns, slice.nested_ns),
          track,         slice.text,
          slice.depth,   slice.number,
          slice.parent,  slice.details,
          slice.path};
}

void SliceNesting::Finish(uint64_t end_ns) {
  for (uint32_t track = 0; track < innermost_.size(); ++track) {
    uint64_t inner_from = UINT64_MAX;
    for (uint32_t i = innermost_[track]; i != kNone;) {
      OpenSlice& slice = slices_[i];
      // The slice within it lasts as long as this one.
      if (inner_from < end_ns)
        slice.nested_ns += end_ns - inner_from;
      inner_from = std::max(slice.begin_ns, slice.counted_ns);
      sink_->OnUnfinished(
          SliceOf(slice, track, std::max(end_ns, slice.begin_ns)));
      details_->Free(slice.details);
      ++unfinished_;
      i = slice.below;
    }
    innermost_[track] = kNone;
  }
  for (const auto& [track, details] : next_details_)
    details_->Free(details);
  next_details_.clear();
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
