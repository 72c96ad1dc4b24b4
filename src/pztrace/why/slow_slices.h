// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_WHY_SLOW_SLICES_H_
#define SRC_PZTRACE_WHY_SLOW_SLICES_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "src/pztrace/events/thread_times.h"
#include "src/pztrace/events/timeline_reader.h"

namespace pztrace {

// The slowest slices of a trace: of one name, or one of each name.
class SlowSlices {
 public:
  // A slice, and those around its waits.
  struct SlowSlice {
    // A slice within it, or itself.
    struct Inner {
      uint64_t begin_ns;
      uint64_t end_ns;
      uint32_t depth;
      const EventText* text;
      std::string args;  // Members of a JSON object.
    };

    const EventText* text;  // Null for a thread's time.
    uint64_t number;        // The number of the slice, or of the thread.
    uint64_t track;
    uint64_t begin_ns;
    uint64_t end_ns;
    bool is_open;  // True if it had not ended.
    std::vector<Inner> inner = {};

    uint64_t dur_ns() const { return end_ns - begin_ns; }
    // Returns the innermost one at that time; null if it is not there.
    const Inner* InnermostAt(uint64_t time_ns) const;
  };

  // Keeps |limit| slices at most, those of |name| unless that is empty.
  SlowSlices(std::string name, size_t limit)
      : name_(std::move(name)), limit_(limit) {}

  // Adds a slice, and keeps it if it is slow enough. |has_thread| if the states
  // of its thread are in the trace.
  void Add(const Slice& slice, bool is_open, bool has_thread);
  // Sorts those that are kept, the slowest first. Call it once, after the last.
  void Finish();
  // Replaces the slices by the times of the threads that ran most, for a trace
  // that has no slice. Call it after Finish().
  void TakeThreads(const protozero::internal::ThreadStateTable& states);
  // Adds the slice to those that it is within. Call it for all slices of
  // another reading, after Finish().
  void AddInner(const Slice& slice, bool is_open, const TimelineReader& reader);

  const std::vector<SlowSlice>& slices() const { return slices_; }
  // Counts the slices without states of their threads, which are not kept.
  uint64_t num_without_thread() const { return num_without_thread_; }

 private:
  const std::string name_;
  const size_t limit_;
  std::vector<SlowSlice> slices_;
  std::unordered_map<const EventText*, size_t> of_names_;
  uint64_t num_without_thread_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_WHY_SLOW_SLICES_H_
