// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/slice_stack.h"

#include <algorithm>
#include <utility>

namespace pztrace {

namespace {

// How many slices a thread may have ended since a slice that has moved to
// another thread, so that its own time is exact.
constexpr size_t kMaxNested = 4096;

bool Matches(const EventText& said, const EventText& text) {
  return (said.name.empty() || said.name == text.name) &&
         (said.category.empty() || said.category == text.category);
}

void AddToList(const std::string& more, std::string* list) {
  if (!more.empty())
    *list += (list->empty() ? "" : ",") + more;
}

void AddToList(const EventDetails& more, EventDetails* details) {
  AddToList(more.args, &details->args);
  AddToList(more.flows, &details->flows);
}

}  // namespace

void SliceStack::Begin(OpenSlice slice, const OnEnd& on_end) {
  GoTo(slice.begin_ns, on_end);
  slice.depth = slices_.empty() ? 0 : slices_.back().depth + 1;
  slices_.push_back(std::move(slice));
}

bool SliceStack::End(const SliceEnd& end, const OnEnd& on_end) {
  GoTo(end.time_ns, on_end);
  const size_t index = Find(end);
  if (index == slices_.size())
    return false;
  AddToList(end.details, &slices_[index].details);
  EndAt(index, end.time_ns, on_end);
  return true;
}

bool SliceStack::EndFromElsewhere(const SliceEnd& end, const OnEnd& on_end) {
  const size_t index = Find(end);
  if (index == slices_.size())
    return false;
  OpenSlice& slice = slices_[index];
  AddToList(end.details, &slice.details);
  num_known_ends_ += slice.end_ns == 0;
  slice.end_ns = std::max<uint64_t>(end.time_ns, 1);
  GoTo(last_ns_, on_end);
  return true;
}

size_t SliceStack::Clear(const OnEnd& on_end) {
  GoTo(UINT64_MAX, on_end);
  const size_t num_slices = slices_.size();
  slices_.clear();
  nested_.clear();
  num_nested_ = 0;
  last_ns_ = 0;
  return num_slices;
}

size_t SliceStack::Find(const SliceEnd& end) const {
  for (size_t i = slices_.size(); i-- != 0;) {
    const OpenSlice& slice = slices_[i];
    if (end.duration
            ? ((end.time_ns - slice.begin_ns) & kDurationMask) == *end.duration
            : slice.end_ns == 0 &&
                  (end.text == nullptr || Matches(*end.text, *slice.text))) {
      return i;
    }
  }
  return slices_.size();
}

void SliceStack::GoTo(uint64_t time_ns, const OnEnd& on_end) {
  last_ns_ = std::max(last_ns_, time_ns);
  while (num_known_ends_ != 0) {
    // The earliest one; of several, the innermost.
    size_t first = slices_.size();
    for (size_t i = slices_.size(); i-- != 0;) {
      const uint64_t end_ns = slices_[i].end_ns;
      if (end_ns != 0 && end_ns <= time_ns &&
          (first == slices_.size() || end_ns < slices_[first].end_ns)) {
        first = i;
      }
    }
    if (first == slices_.size())
      return;
    --num_known_ends_;
    EndAt(first, slices_[first].end_ns, on_end);
  }
}

void SliceStack::EndAt(size_t index, uint64_t end_ns, const OnEnd& on_end) {
  OpenSlice slice = std::move(slices_[index]);
  slices_.erase(slices_.begin() + static_cast<ptrdiff_t>(index));
  end_ns = std::max(end_ns, slice.begin_ns);
  OpenSlice* const parent = index != 0 ? &slices_[index - 1] : nullptr;
  if (slice.end_ns != 0)
    TakeBackNested(&slice, end_ns, parent);
  // One that has begun in it and goes on is nested in it up to here.
  if (index < slices_.size()) {
    OpenSlice& inner = slices_[index];
    const uint64_t inner_from = std::max(inner.begin_ns, inner.counted_ns);
    if (inner_from < end_ns) {
      slice.nested_ns += end_ns - inner_from;
      inner.counted_ns = end_ns;
    }
  }
  const uint64_t from = std::max(slice.begin_ns, slice.counted_ns);
  if (parent != nullptr && from < end_ns) {
    parent->nested_ns += end_ns - from;
    AddNested({parent->begin_ns, from, end_ns});
  }
  on_end(slice, end_ns);
}

void SliceStack::AddNested(const Nested& nested) {
  if (nested_.size() < kMaxNested)
    nested_.push_back(nested);
  else
    nested_[num_nested_ % kMaxNested] = nested;
  ++num_nested_;
}

// Gives |parent| what is after |end_ns|, but was counted as nested in |slice|
// when its end was not known.
void SliceStack::TakeBackNested(OpenSlice* slice,
                                uint64_t end_ns,
                                OpenSlice* parent) {
  for (Nested& nested : nested_) {
    if (nested.parent_begin_ns != slice->begin_ns || nested.end_ns <= end_ns)
      continue;
    nested.begin_ns = std::max(nested.begin_ns, end_ns);
    const uint64_t ns = nested.end_ns - nested.begin_ns;
    slice->nested_ns -= std::min(slice->nested_ns, ns);
    if (parent == nullptr)
      continue;
    parent->nested_ns += ns;
    nested.parent_begin_ns = parent->begin_ns;
  }
}

}  // namespace pztrace
