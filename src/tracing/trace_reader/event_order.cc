// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/event_order.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

void EventOrder::OnDisorder(const TimedEvent& event) {
  late_ += event.time_ns < tracks_[event.track].released_ns;
  if (!is_unsorted_[event.track])
    AddUnsorted(event.track);
}

void EventOrder::AddUnsorted(uint32_t track) {
  is_unsorted_[track] = true;
  unsorted_indexes_.Insert(track, static_cast<uint32_t>(unsorted_.size()));
  unsorted_.push_back({track, 0, 0});
}

void EventOrder::Give(const TimedEvent& event) {
  uint64_t& released_ns = tracks_[event.track].released_ns;
  released_ns = std::max(released_ns, event.time_ns);
  sink_->OnEvent(event);
}

void EventOrder::Release() {
  if (unsorted_.empty()) {
    for (const TimedEvent& event : older_)
      Give(event);
  } else {
    GiveUnsorted();
  }
  older_.clear();
  std::swap(older_, newer_);
}

void EventOrder::GiveUnsorted() {
  sorted_.clear();
  for (const TimedEvent& event : older_) {
    const uint32_t unsorted = UnsortedOf(event.track);
    if (unsorted == IdMap::kNone) {
      Give(event);
      continue;
    }
    uint64_t& cut_ns = unsorted_[unsorted].cut_ns;
    cut_ns = std::max(cut_ns, event.time_ns);
    sorted_.push_back(event);
  }
  // The other events stay, in the right order or not.
  size_t num_kept = 0;
  std::vector<bool> stays_unsorted(unsorted_.size());
  for (const TimedEvent& event : newer_) {
    const uint32_t unsorted = UnsortedOf(event.track);
    if (unsorted != IdMap::kNone) {
      UnsortedTrack& track = unsorted_[unsorted];
      if (event.time_ns < track.cut_ns) {
        sorted_.push_back(event);
        continue;
      }
      if (event.time_ns < track.last_ns)
        stays_unsorted[unsorted] = true;
      track.last_ns = std::max(track.last_ns, event.time_ns);
    }
    newer_[num_kept++] = event;
  }
  newer_.resize(num_kept);
  const std::vector<UnsortedTrack> before = std::move(unsorted_);
  unsorted_.clear();
  unsorted_indexes_.Clear();
  for (size_t i = 0; i < before.size(); ++i) {
    is_unsorted_[before[i].track] = false;
    if (stays_unsorted[i])
      AddUnsorted(before[i].track);
  }
  // std::stable_sort() uses something deprecated in some standard libraries.
  places_.resize(sorted_.size());
  std::iota(places_.begin(), places_.end(), 0);
  std::sort(places_.begin(), places_.end(), [this](uint32_t a, uint32_t b) {
    const TimedEvent& left = sorted_[a];
    const TimedEvent& right = sorted_[b];
    return std::tie(left.track, left.time_ns, a) <
           std::tie(right.track, right.time_ns, b);
  });
  for (const uint32_t place : places_)
    Give(sorted_[place]);
}

void EventOrder::Finish() {
  Release();
  Release();
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
