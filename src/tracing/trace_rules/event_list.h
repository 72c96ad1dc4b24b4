// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_RULES_EVENT_LIST_H_
#define SRC_TRACING_TRACE_RULES_EVENT_LIST_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protozero/testing/trace_rules.h"
#include "protozero/tracing/trace_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Sorts |items|, and keeps the order of equal ones. Returns the indices that
// they had. std::stable_sort() keeps it, too, but warns of its own inside with
// some compilers and libraries.
template <typename T, typename IsLess>
std::vector<size_t> SortInOrder(std::vector<T>* items, IsLess is_less) {
  std::vector<size_t> indices(items->size());
  std::iota(indices.begin(), indices.end(), size_t{0});
  std::sort(indices.begin(), indices.end(), [&](size_t a, size_t b) {
    const T& item_a = (*items)[a];
    const T& item_b = (*items)[b];
    return is_less(item_a, item_b) || (!is_less(item_b, item_a) && a < b);
  });
  std::vector<T> sorted;
  sorted.reserve(items->size());
  for (const size_t index : indices)
    sorted.push_back((*items)[index]);
  *items = std::move(sorted);
  return indices;
}

// The maxima of all ranges of values, of which each node has two parts:
//
//   |      1      |
//   |  2   |  3   |
//   | 4| 5 | 6| 7 |  the values
class MaxTree {
 public:
  explicit MaxTree(const std::vector<size_t>& values);
  // Returns the index of the first value from |begin| on that is above |limit|;
  // the number of values if there is none. Takes the logarithm of that number
  // of steps.
  size_t FirstAbove(size_t begin, size_t limit) const;

 private:
  const size_t num_values_;
  size_t num_leaves_ = 1;
  std::vector<size_t> nodes_;
};

// A slice or an instant.
struct ListedEvent {
  enum class Kind : uint8_t { kSlice, kUnfinished, kInstant };

  uint64_t begin_ns;
  uint64_t duration_ns;
  uint32_t text;
  // The number of events inside it. They stand after it in the list. Until
  // Sort(), the slice's number.
  uint32_t num_inside;
  uint32_t track;
  Kind kind;

  uint64_t end_ns() const { return begin_ns + duration_ns; }
};
static_assert(sizeof(ListedEvent) == 32, "trace_rules.h promises this");

// A task of which a trace has steps.
struct ListedTask {
  uint64_t first_ns = UINT64_MAX;
  bool has_ended = false;
  std::string text = {};  // Its name, and the place where it was spawned.
};

// The events of a trace that rules name, by track, in the order in which they
// begin. So the events inside a slice are the next ones, even if slices overlap
// and do not contain each other.
class EventList {
 public:
  explicit EventList(TraceEvents::Options options);

  // Add what |reader| has read.
  void AddSlice(const TraceReader& reader,
                const Slice& slice,
                ListedEvent::Kind kind);
  void AddInstant(const TraceReader& reader, const Instant& instant);
  void AddStep(const TraceReader& reader, const TaskStep& step);
  // Sorts the events, and counts those inside of each. Call it after the last
  // one.
  void Sort();
  // Returns the events. REQUIRES: Sort() was called.
  const std::vector<ListedEvent>& events() const { return events_; }

  const std::string& NameOf(const ListedEvent& event) const {
    return texts_[event.text]->name;
  }
  // Returns, for each ListedEvent::text, if that is its name.
  std::vector<bool> TextsNamed(std::string_view name) const;
  // Returns "; it has a, b, c", the first names.
  std::string NamesText() const;
  // Returns the number of the track in the trace.
  uint64_t TrackOf(const ListedEvent& event) const {
    return tracks_[event.track].number;
  }
  // Returns the tasks by process and number.
  const std::map<std::pair<uint64_t, uint64_t>, ListedTask>& tasks() const {
    return tasks_;
  }

 private:
  struct ListedTrack {
    uint64_t number;
    bool is_wanted;
  };

  static constexpr uint32_t kNoText = UINT32_MAX;

  // Returns the track's index in |tracks_|.
  uint32_t TrackFor(const TraceReader& reader, uint64_t number);
  bool IsWanted(const TraceReader& reader, uint64_t track) const;
  // Adds an event, with its track and text, if a rule names it.
  void Add(const TraceReader& reader,
           uint64_t track,
           const EventText* text,
           ListedEvent event);
  // Returns kNoText if no rule names it.
  uint32_t TextFor(const EventText* text);
  // Returns the number of events inside the slice at |index|. REQUIRES: they
  // are sorted, and were added in the order of |added|, which |maxima| has,
  // too.
  uint32_t CountInside(size_t index,
                       const std::vector<size_t>& added,
                       const MaxTree& maxima) const;
  ListedTask& TaskFor(const TaskStep& step, uint64_t task);

  const TraceEvents::Options options_;
  std::set<std::string, std::less<>> names_;  // All, if empty.
  std::vector<const EventText*> texts_;
  std::unordered_map<const EventText*, uint32_t> text_ids_;
  std::vector<ListedTrack> tracks_;
  std::unordered_map<uint64_t, uint32_t> track_ids_;
  std::vector<ListedEvent> events_;
  std::map<std::pair<uint64_t, uint64_t>, ListedTask> tasks_;
  // The task that each thread runs.
  std::unordered_map<uint64_t, uint64_t> running_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_RULES_EVENT_LIST_H_
