// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/event_order.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

void EventOrder::OnDisorder(const TimedEvent& event) {
  TrackOrder& track = tracks_[event.track];
  late_ += event.time_ns < track.released_ns;
  if (track.unsorted != kInOrder)
    return;
  track.unsorted = static_cast<uint32_t>(unsorted_.size());
  unsorted_.push_back({event.track, 0, 0});
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
    const uint32_t unsorted = tracks_[event.track].unsorted;
    if (unsorted == kInOrder) {
      Give(event);
      continue;
    }
    uint64_t& cut_ns = unsorted_[unsorted].cut_ns;
    cut_ns = std::max(cut_ns, event.time_ns);
    sorted_.push_back(event);
  }
  // Those that stay, and whether their order is right.
  size_t num_kept = 0;
  std::vector<UnsortedTrack> still_unsorted;
  std::vector<bool> is_unsorted(unsorted_.size());
  for (const TimedEvent& event : newer_) {
    const uint32_t unsorted = tracks_[event.track].unsorted;
    if (unsorted != kInOrder) {
      UnsortedTrack& track = unsorted_[unsorted];
      if (event.time_ns < track.cut_ns) {
        sorted_.push_back(event);
        continue;
      }
      if (event.time_ns < track.last_ns)
        is_unsorted[unsorted] = true;
      track.last_ns = std::max(track.last_ns, event.time_ns);
    }
    newer_[num_kept++] = event;
  }
  newer_.resize(num_kept);
  for (size_t i = 0; i < unsorted_.size(); ++i) {
    TrackOrder& track = tracks_[unsorted_[i].track];
    track.unsorted = kInOrder;
    if (is_unsorted[i]) {
      track.unsorted = static_cast<uint32_t>(still_unsorted.size());
      still_unsorted.push_back({unsorted_[i].track, 0, 0});
    }
  }
  unsorted_ = std::move(still_unsorted);
  std::stable_sort(sorted_.begin(), sorted_.end(),
                   [](const TimedEvent& a, const TimedEvent& b) {
                     return std::tie(a.track, a.time_ns) <
                            std::tie(b.track, b.time_ns);
                   });
  for (const TimedEvent& event : sorted_)
    Give(event);
}

void EventOrder::Finish() {
  Release();
  Release();
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
