// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/why/other_threads.h"

#include <algorithm>
#include <tuple>

namespace pztrace {

namespace {

// The part of a wait for which a slice has to last.
constexpr uint64_t kShare = 4;

}  // namespace

void OtherThreads::AddWait(uint32_t thread,
                           uint64_t begin_ns,
                           uint64_t end_ns) {
  waits_.push_back({thread, begin_ns, end_ns, {}});
  first_ns_ = std::min(first_ns_, begin_ns);
  last_ns_ = std::max(last_ns_, end_ns);
}

void OtherThreads::AddSlice(const Slice& slice, const TimelineReader& reader) {
  const uint64_t end_ns = slice.begin_ns + slice.duration_ns;
  if (end_ns <= first_ns_ || slice.begin_ns >= last_ns_)
    return;
  const ThreadStateTable& states = times_->states();
  for (Wait& wait : waits_) {
    const uint64_t begin = std::max(slice.begin_ns, wait.begin_ns);
    const uint64_t end = std::min(end_ns, wait.end_ns);
    if (end <= begin || end - begin < (wait.end_ns - wait.begin_ns) / kShare)
      continue;
    const uint32_t thread = times_->ThreadOf(slice.track, tracks_);
    if (thread == ThreadStateTable::kNone || thread == wait.thread ||
        states.pid(thread) != states.pid(wait.thread)) {
      continue;
    }
    const auto [known, is_new] = wait.others.try_emplace(thread);
    Other& other = known->second;
    if (!is_new && other.depth > slice.depth)
      continue;
    other = {thread, slice.begin_ns, end_ns, slice.depth, slice.text, {},
             {},     false};
    if (!slice.details->args.empty())
      reader.AppendArgs(*slice.details, &other.args);
  }
}

std::vector<OtherThreads::Other> OtherThreads::During(
    size_t index,
    const std::string& slice) const {
  const Wait& wait = waits_[index];
  std::vector<Other> others;
  for (const auto& [thread, known] : wait.others) {
    Other other = known;
    other.times =
        times_->states().Divide(thread, std::max(other.begin_ns, wait.begin_ns),
                                std::min(other.end_ns, wait.end_ns));
    other.waits_there_too = other.text->name == slice && other.times &&
                            other.times->waited_ns > other.times->ran_ns;
    others.push_back(std::move(other));
  }
  const auto overlap = [&wait](const Other& other) {
    return std::min(other.end_ns, wait.end_ns) -
           std::max(other.begin_ns, wait.begin_ns);
  };
  std::stable_sort(
      others.begin(), others.end(), [&](const Other& a, const Other& b) {
        return std::make_tuple(a.waits_there_too, overlap(b), a.begin_ns) <
               std::make_tuple(b.waits_there_too, overlap(a), b.begin_ns);
      });
  return others;
}

}  // namespace pztrace
