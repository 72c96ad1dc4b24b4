// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EDIT_WANTED_SLICES_H_
#define SRC_PZTRACE_EDIT_WANTED_SLICES_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <bitset>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_reader/details_pool.h"
#include "src/tracing/trace_reader/event_order.h"
#include "src/tracing/trace_reader/slice_nesting.h"
#include "src/tracing/trace_reader/text_table.h"
#include "src/tracing/trace_reader/track_table.h"

namespace pztrace {

// Finds the packets that begin slices which are open at a time, and those that
// end slices. Only slices that are wanted count. They nest as TraceReader nests
// them.
class WantedSlices final : private protozero::internal::EventSink,
                           private protozero::internal::SliceSink {
 public:
  using TrackIndex = protozero::internal::TrackIndex;
  using TextId = protozero::internal::TextId;
  using Wants = std::function<bool(TrackIndex track, TextId text)>;

  // Finds slices that begin before |time_ns|, and end then or later. REQUIRES:
  // |texts| outlives it.
  WantedSlices(uint64_t time_ns,
               const protozero::internal::TextTable* texts,
               Wants wants)
      : time_ns_(time_ns),
        wants_(std::move(wants)),
        nesting_(texts, &details_, this) {}

  // Adds an event of the packet |number|, which is not 0. Call it for all
  // events of the trace.
  void Add(protozero::internal::TimedEvent event, uint32_t number) {
    event.details = number;
    order_.Add(event);
  }
  // Ends the trace.
  void Finish(uint64_t end_ns) {
    order_.Finish();
    nesting_.Finish(end_ns);
  }

  // Return whether the packet begins an open slice, and whether it ends a slice
  // at the time or later. Ends take a bit of memory for each packet.
  bool BeginsOpen(uint32_t number) const { return open_.count(number) != 0; }
  bool Ends(uint32_t number) const {
    const auto block = ends_.find(number / kBlockSize);
    return block != ends_.end() && block->second[number % kBlockSize];
  }
  // Returns the tracks of the open slices.
  const std::unordered_set<TrackIndex>& tracks() const { return tracks_; }

 private:
  static constexpr size_t kBlockSize = size_t{1} << 16;

  void OnEvent(const protozero::internal::TimedEvent& event) override {
    protozero::internal::TimedEvent plain = event;
    number_ =
        std::exchange(plain.details, protozero::internal::DetailsPool::kNone);
    const bool may_begin =
        event.kind == protozero::internal::TimedEvent::kBegin ||
        event.kind == protozero::internal::TimedEvent::kState;
    // An open slice has the number of its packet as details.
    if (may_begin && event.time_ns < time_ns_) {
      scratch_.args = std::to_string(number_);
      plain.details = details_.Keep(&scratch_);
    }
    nesting_.OnEvent(plain);
  }
  void OnSlice(const protozero::internal::NestedSlice& slice) override {
    if (slice.end_ns < time_ns_ || !wants_(slice.track, slice.text))
      return;
    AddOpen(slice);
    ends_[number_ / kBlockSize][number_ % kBlockSize] = true;
  }
  void OnUnfinished(const protozero::internal::NestedSlice& slice) override {
    if (wants_(slice.track, slice.text))
      AddOpen(slice);
  }
  void AddOpen(const protozero::internal::NestedSlice& slice) {
    if (slice.begin_ns >= time_ns_)
      return;
    const std::string& number = details_.Get(slice.details).args;
    open_.insert(static_cast<uint32_t>(strtoul(number.c_str(), nullptr, 10)));
    tracks_.insert(slice.track);
  }

  const uint64_t time_ns_;
  const Wants wants_;
  protozero::EventDetails scratch_;
  protozero::internal::DetailsPool details_;
  protozero::internal::SliceNesting nesting_;
  protozero::internal::EventOrder order_{protozero::TraceReader::kMaxLateness,
                                         this};
  std::unordered_set<uint32_t> open_;  // Numbers of packets.
  std::unordered_set<TrackIndex> tracks_;
  // A bit for each number, in blocks.
  std::unordered_map<uint32_t, std::bitset<kBlockSize>> ends_;
  uint32_t number_ = 0;  // The packet of the event that nests now.
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EDIT_WANTED_SLICES_H_
