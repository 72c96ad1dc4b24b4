// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/why/slow_slices.h"

#include <algorithm>
#include <utility>

namespace pztrace {

namespace {

// The most slices within one whose places are kept.
constexpr size_t kMaxInner = 100000;

// Returns whether |a| comes before |b|.
bool IsSlower(const SlowSlices::SlowSlice& a, const SlowSlices::SlowSlice& b) {
  if (a.dur_ns() != b.dur_ns())
    return a.dur_ns() > b.dur_ns();
  return a.number < b.number;
}

}  // namespace

const SlowSlices::SlowSlice::Inner* SlowSlices::SlowSlice::InnermostAt(
    uint64_t time_ns) const {
  const Inner* found = nullptr;
  for (const Inner& candidate : inner) {
    if (candidate.begin_ns <= time_ns && time_ns < candidate.end_ns &&
        (found == nullptr || candidate.depth > found->depth)) {
      found = &candidate;
    }
  }
  return found;
}

void SlowSlices::Add(const Slice& slice, bool is_open, bool has_thread) {
  if (!name_.empty() && slice.text->name != name_)
    return;
  if (!has_thread) {
    ++num_without_thread_;
    return;
  }
  SlowSlice slow{slice.text,
                 slice.number,
                 slice.track,
                 slice.begin_ns,
                 slice.begin_ns + slice.duration_ns,
                 is_open};
  if (name_.empty()) {
    const auto [place, is_new] =
        of_names_.try_emplace(slice.text, slices_.size());
    if (is_new)
      slices_.push_back(slow);
    else if (IsSlower(slow, slices_[place->second]))
      slices_[place->second] = slow;
    return;
  }
  // A heap whose first element is the fastest.
  slices_.push_back(slow);
  std::push_heap(slices_.begin(), slices_.end(), IsSlower);
  if (slices_.size() > limit_) {
    std::pop_heap(slices_.begin(), slices_.end(), IsSlower);
    slices_.pop_back();
  }
}

void SlowSlices::Finish() {
  std::sort(slices_.begin(), slices_.end(), IsSlower);
  slices_.resize(std::min(slices_.size(), limit_));
}

void SlowSlices::TakeThreads(
    const protozero::internal::ThreadStateTable& states) {
  using protozero::internal::ThreadStateTable;
  std::vector<std::pair<uint64_t, SlowSlice>> threads;  // With their time.
  for (uint32_t thread = 0; thread < states.num_threads(); ++thread) {
    const size_t num_parts = states.num_parts(thread);
    if (num_parts == 0)
      continue;
    uint64_t ran_ns = 0;
    for (size_t i = 0; i < num_parts; ++i) {
      const ThreadStateTable::Part part = states.PartOf(thread, i);
      if (part.state == ThreadStateTable::State::kRunning)
        ran_ns += part.dur_ns();
    }
    const ThreadStateTable::Part last = states.PartOf(thread, num_parts - 1);
    threads.push_back(
        {ran_ns,
         {nullptr, thread, 0, states.PartOf(thread, 0).begin_ns,
          ThreadStateTable::IsOver(last.state) ? last.begin_ns : last.end_ns,
          !ThreadStateTable::IsOver(last.state)}});
  }
  std::sort(threads.begin(), threads.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first
                              : a.second.number < b.second.number;
  });
  threads.resize(std::min(threads.size(), limit_));
  slices_.clear();
  for (const auto& [ran_ns, thread] : threads)
    slices_.push_back(thread);
}

void SlowSlices::AddInner(const Slice& slice,
                          bool is_open,
                          const TimelineReader& reader) {
  const uint64_t end_ns = slice.begin_ns + slice.duration_ns;
  for (SlowSlice& slow : slices_) {
    if (slow.track != slice.track || slice.begin_ns < slow.begin_ns ||
        (end_ns > slow.end_ns && !is_open) || slow.inner.size() == kMaxInner) {
      continue;
    }
    std::string args;
    if (!slice.details->args.empty())
      reader.AppendArgs(*slice.details, &args);
    slow.inner.push_back(
        {slice.begin_ns, end_ns, slice.depth, slice.text, std::move(args)});
  }
}

}  // namespace pztrace
