// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_CLOCK_TABLE_H_
#define SRC_TRACING_TRACE_READER_CLOCK_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A clock, in relation to the clock of the trace:
//
//   clock's ns   --+--------+-------------+-->   Points, of snapshots
//                  |        |             |
//   trace's ns   --+--------+-------------+-->
//
// A time is converted by the last point that is not later. If there is none,
// the first point is used, which may come from ClockTable::AddAhead().
class TraceClockState {
 public:
  // Returns the time of the trace in nanoseconds. For an incremental clock,
  // |ticks| count from the ticks of the last call.
  uint64_t Convert(uint64_t ticks) {
    if (is_incremental_)
      ticks = ticks_ += ticks;
    return TraceTimeOf(ticks);
  }
  // Returns the time of the trace at which the clock shows |ticks|.
  uint64_t TraceTimeOf(uint64_t ticks) {
    const uint64_t ns = ticks * ns_per_tick_;
    if (ns - cached_begin_ >= cached_size_)
      FindPoint(ns);
    return OffsetTime(ns, cached_offset_);
  }
  // Returns whether a snapshot relates it to the trace's clock.
  bool is_related() const { return !points_.empty(); }
  // Returns the ticks of the last snapshot or, for an incremental clock, those
  // that the next time is counted from.
  uint64_t ticks() const { return ticks_; }
  uint64_t ns_per_tick() const { return ns_per_tick_; }
  bool is_incremental() const { return is_incremental_; }

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
    // The result is 0 before the trace's clock was 0.
    return static_cast<int64_t>(offset) < 0 && ns < 0 - offset ? 0 : sum;
  }
  void AddPoint(Point point, bool is_of_sequence);
  void FindPoint(uint64_t ns);

  uint64_t ticks_ = 0;
  uint64_t ns_per_tick_ = 1;
  bool is_incremental_ = false;
  // The points in the order of the file. Most clocks only go forward.
  std::vector<Point> points_;
  bool is_sorted_ = true;
  // The range of times with the same offset, and that offset.
  uint64_t cached_begin_ = 0;
  uint64_t cached_size_ = 0;
  uint64_t cached_offset_ = 0;
};

// The clocks of a trace, and its own clock, to which the others are converted.
// Its own clock is the boot clock, unless the first snapshot that names a
// primary clock names another one.
class ClockTable {
 public:
  static constexpr uint32_t kRealtime = 1;
  static constexpr uint32_t kMonotonic = 3;
  static constexpr uint32_t kBootTime = 6;

  // Reads a ClockSnapshot of the sequence. The time of its packet is not used.
  // Returns its time of the trace; nothing if that is not known.
  std::optional<uint64_t> AddSnapshot(ConstBytes snapshot, uint32_t sequence);

  // Reads a ClockSnapshot that AddSnapshot() may get later, for the times that
  // come before it.
  void AddAhead(ConstBytes snapshot, uint32_t sequence);
  // Relates the clocks that have no relation yet as the snapshots of AddAhead()
  // do, and forgets those.
  void RelateAhead();
  // Does this with the snapshots of a table that has read the whole trace.
  void RelateAsIn(const ClockTable& whole);
  // Sets a function that calls AddAhead() for all of the trace. FindRelated()
  // calls it, once.
  void set_read_ahead(std::function<void()> read_ahead) {
    read_ahead_ = std::move(read_ahead);
  }
  // Returns the clock like Find(), but looks ahead if it has no relation yet.
  TraceClockState* FindRelated(uint32_t clock, uint32_t sequence);

  // Returns the clock, which stays at its address. Returns null if it is the
  // trace's own clock, or not known at all. Clocks 64 to 127 belong to the
  // sequence.
  TraceClockState* Find(uint32_t clock, uint32_t sequence);
  bool IsTraceClock(uint32_t clock) const { return clock == trace_clock_; }
  uint32_t trace_clock() const { return trace_clock_; }
  // Returns whether each sequence has a clock of that number.
  static bool IsOfSequence(uint32_t clock);

  // Returns whether a snapshot has the trace's clock. If not, it has no
  // relations.
  bool has_trace_clock() const { return has_trace_clock_; }

  // Returns a count of the changes of Find()'s results.
  uint32_t generation() const { return generation_; }

  // Returns the real-time clock's value at that time of the trace.
  std::optional<int64_t> RealtimeOf(uint64_t trace_ns) const;
  // Returns the difference of both clocks in the last snapshot.
  std::optional<int64_t> realtime_offset_ns() const;

 private:
  struct Reading {
    uint64_t key;
    uint64_t ns;
  };
  struct Snapshot {
    uint32_t number;  // Counts in the order of the file.
    std::vector<Reading> readings;
  };

  static uint64_t KeyOf(uint32_t clock, uint32_t sequence);
  std::optional<uint64_t> Relate(const Snapshot& snapshot);

  std::unordered_map<uint64_t, TraceClockState> clocks_;
  uint32_t trace_clock_ = kBootTime;
  bool has_primary_ = false;
  bool has_trace_clock_ = false;
  uint32_t generation_ = 0;
  // Snapshots that are not related to the trace's clock yet.
  std::vector<Snapshot> unrelated_;
  std::unique_ptr<ClockTable> ahead_;  // Has the snapshots of AddAhead().
  std::function<void()> read_ahead_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_CLOCK_TABLE_H_
