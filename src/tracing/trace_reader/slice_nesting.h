// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_SLICE_NESTING_H_
#define SRC_TRACING_TRACE_READER_SLICE_NESTING_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/tracing/trace_reader/details_pool.h"
#include "src/tracing/trace_reader/event_order.h"
#include "src/tracing/trace_reader/path_table.h"
#include "src/tracing/trace_reader/text_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A slice and its end, or the end of the trace.
struct NestedSlice {
  uint64_t root_ns;  // The beginning of the outermost slice around it.
  uint64_t begin_ns;
  uint64_t end_ns;
  uint64_t self_ns;
  uint32_t track;
  uint32_t text;
  uint32_t depth;
  uint64_t number;
  uint64_t parent;  // Another one's number, or kNoParent.
  DetailsId details;
  PathId path;  // 0 without a PathTable.
};

// Takes the slices of a SliceNesting.
class SliceSink {
 public:
  // Take a slice. Its details belong to the nesting.
  virtual void OnSlice(const NestedSlice& slice) = 0;
  virtual void OnUnfinished(const NestedSlice& slice) = 0;
  virtual void OnInstant(const NestedSlice&) {}

 protected:
  ~SliceSink() = default;
};

// Makes slices of the events of each track, which are in the order of their
// times. An end that says which slice it ends may end any slice: scopes of
// coroutines overlap. An end by name also ends the slices within that slice.
class SliceNesting : public EventSink {
 public:
  static constexpr uint64_t kNoParent = UINT64_MAX;
  // The bits of TracePacket.ended_slice_duration.
  static constexpr uint32_t kDurationMask = (uint32_t{1} << 30) - 1;

  // |paths| may be null.
  SliceNesting(const TextTable* texts,
               DetailsPool* details,
               SliceSink* sink,
               PathTable* paths = nullptr)
      : texts_(texts), details_(details), sink_(sink), paths_(paths) {}

  void OnEvent(const TimedEvent& event) override;
  // Ends the trace at |end_ns|. Call it after the last event.
  void Finish(uint64_t end_ns);
  // Calls |visit| with each slice that has no end yet, as if it lasted until
  // |end_ns|, but without its time in slices within it.
  template <typename Visit>
  void ForEachOpen(uint64_t end_ns, Visit visit) const {
    for (uint32_t track = 0; track < innermost_.size(); ++track) {
      for (uint32_t i = innermost_[track]; i != kNone; i = slices_[i].below) {
        const OpenSlice& slice = slices_[i];
        visit(SliceOf(slice, track, std::max(end_ns, slice.begin_ns)));
      }
    }
  }

  // Count the slices without an end. A loss ends all slices of the sequence
  // that are open on its track: these are counted in lost_ends(), too.
  uint64_t unfinished() const { return unfinished_; }
  uint64_t lost_ends() const { return lost_ends_; }
  // Counts the ends without a beginning.
  uint64_t unbegun() const { return unbegun_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct OpenSlice {
    uint64_t root_ns;
    uint64_t begin_ns;
    uint64_t nested_ns;
    // The time up to which it is counted as nested in slices that have ended.
    uint64_t counted_ns;
    uint64_t number;
    uint64_t parent;
    uint32_t text;
    DetailsId details;
    uint32_t epoch;
    uint32_t depth;
    uint32_t below;  // The slice around it on its track.
    PathId path;
  };
  // An open slice, and the slice within it: kNone for the innermost.
  struct Found {
    uint32_t slice;
    uint32_t above;
  };

  void Begin(const TimedEvent& event);
  void AddInstant(const TimedEvent& event);
  void TakeNextDetails(uint32_t track, OpenSlice* slice);
  void EndEarly(const TimedEvent& begin);
  void End(const TimedEvent& event);
  void SetState(const TimedEvent& event);
  void Lose(const TimedEvent& event);
  void AddDetails(const TimedEvent& event);
  Found Find(const TimedEvent& event);
  bool Matches(const TimedEvent& end, const OpenSlice& slice) const;
  void EndAt(Found found, uint32_t track, uint64_t end_ns);
  void Remove(Found found, uint32_t track);
  NestedSlice SliceOf(const OpenSlice& slice,
                      uint32_t track,
                      uint64_t end_ns) const;

  const TextTable* const texts_;
  DetailsPool* const details_;
  SliceSink* const sink_;
  PathTable* const paths_;
  std::deque<uint32_t> innermost_;  // The index is the track.
  std::vector<OpenSlice> slices_;
  std::vector<uint32_t> free_;
  // Ends by exact duration that came before their beginning, because the file
  // is longer than what EventOrder keeps. The key is the track and the last
  // bits of the beginning.
  std::unordered_multimap<uint64_t, TimedEvent> waiting_ends_;
  // The epoch of an early end, by track. That end is for the next slice.
  std::unordered_map<uint32_t, uint32_t> early_ends_;
  // The details of the slice that begins next, by track.
  std::unordered_map<uint32_t, DetailsId> next_details_;
  uint64_t num_begun_ = 0;  // The number of the slice that begins next.
  // The steps that searches of slices may still take.
  uint64_t search_budget_ = uint64_t{1} << 27;
  uint64_t unfinished_ = 0;
  uint64_t lost_ends_ = 0;
  uint64_t unbegun_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_SLICE_NESTING_H_
