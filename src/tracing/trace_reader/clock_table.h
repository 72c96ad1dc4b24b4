// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_CLOCK_TABLE_H_
#define SRC_TRACING_TRACE_READER_CLOCK_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <unordered_map>
#include <vector>

#include "protozero/const_bytes.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A clock, as it is related to the clock of the trace. Where it is known:
//
//   clock's ns   --+--------+-------------+-->   Points, of snapshots
//                  |        |             |
//   trace's ns   --+--------+-------------+-->
//
// A time is converted by the last point that is not later, or else the first.
class TraceClockState {
 public:
  // Returns the time of the trace in nanoseconds. |ticks| of an incremental
  // clock count from the last ones.
  uint64_t Convert(uint64_t ticks) {
    if (is_incremental_)
      ticks = ticks_ += ticks;
    const uint64_t ns = ticks * ns_per_tick_;
    if (ns - cached_begin_ >= cached_size_)
      FindPoint(ns);
    return OffsetTime(ns, cached_offset_);
  }
  // Returns whether a snapshot relates it to the trace's clock.
  bool is_related() const { return !points_.empty(); }

 private:
  friend class ClockTable;

  // The times that the clock and the trace's clock showed together.
  struct Point {
    uint64_t ns;
    uint64_t trace_ns;
    uint32_t snapshot;
  };

  static uint64_t OffsetTime(uint64_t ns, uint64_t offset) {
    const uint64_t sum = ns + offset;
    // Before the trace's clock was 0.
    return static_cast<int64_t>(offset) < 0 && ns < 0 - offset ? 0 : sum;
  }
  void AddPoint(Point point, bool is_of_sequence);
  void FindPoint(uint64_t ns);

  uint64_t ticks_ = 0;
  uint64_t ns_per_tick_ = 1;
  bool is_incremental_ = false;
  // In the order of the file. Most clocks only go forward.
  std::vector<Point> points_;
  bool is_sorted_ = true;
  // The times for which the same offset holds.
  uint64_t cached_begin_ = 0;
  uint64_t cached_size_ = 0;
  uint64_t cached_offset_ = 0;
};

// The clocks of a trace, and its own: what other clocks are converted to. That
// is the boot clock, unless the first snapshot that names a primary clock names
// another.
class ClockTable {
 public:
  static constexpr uint32_t kRealtime = 1;
  static constexpr uint32_t kMonotonic = 3;
  static constexpr uint32_t kBootTime = 6;

  // Reads a ClockSnapshot of the sequence. Its time is not used.
  void AddSnapshot(ConstBytes snapshot, uint32_t sequence);

  // Returns the clock, which stays where it is; null if it is the trace's own,
  // or not known at all. Clocks 64 to 127 belong to the sequence.
  TraceClockState* Find(uint32_t clock, uint32_t sequence);
  bool IsTraceClock(uint32_t clock) const { return clock == trace_clock_; }

  // Returns whether a snapshot has it. Else nothing relates others to it.
  bool has_trace_clock() const { return has_trace_clock_; }

  // Counts changes of what Find() returns.
  uint32_t generation() const { return generation_; }

  // Returns what the real-time clock showed at that time of the trace.
  std::optional<int64_t> RealtimeOf(uint64_t trace_ns) const;
  // Returns the difference of both clocks, by the last snapshot.
  std::optional<int64_t> realtime_offset_ns() const;

 private:
  struct Reading {
    uint64_t key;
    uint64_t ns;
  };
  struct Snapshot {
    uint32_t number;  // In the order of the file.
    std::vector<Reading> readings;
  };

  static uint64_t KeyOf(uint32_t clock, uint32_t sequence);
  bool Relate(const Snapshot& snapshot);

  std::unordered_map<uint64_t, TraceClockState> clocks_;
  uint32_t trace_clock_ = kBootTime;
  bool has_primary_ = false;
  bool has_trace_clock_ = false;
  uint32_t generation_ = 0;
  // Snapshots that nothing relates to the trace's clock yet.
  std::vector<Snapshot> unrelated_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_CLOCK_TABLE_H_
