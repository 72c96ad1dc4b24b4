// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Gives ClockTable snapshots of few clocks, on few sequences, in any order, and
// converts times between them. The first byte chooses the size of times. With
// times of any size, the only test is that a conversion does not depend on
// those before it. Small times must also agree with the last snapshot, in both
// directions. They must keep their order and distance if no snapshot is between
// them.

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/trace_reader/clock_table.h"
#include "test/fuzz/check.h"
#include "test/fuzz/fuzz_input.h"

namespace {

using protozero::HeapBuffered;
using protozero::internal::ClockTable;
using protozero::internal::TraceClockState;
using protozero::test::Check;
using protozero::test::FuzzInput;
using protozero::trace::ClockSnapshot;

// Clocks of the system, of a sequence, and others.
constexpr uint32_t kClocks[] = {ClockTable::kRealtime,
                                ClockTable::kMonotonic,
                                ClockTable::kBootTime,
                                128,
                                64,
                                127,
                                0};
constexpr uint32_t kSequences = 3;

bool IsOfSequence(uint32_t clock) {
  return clock >= 64 && clock <= 127;
}

class Run {
 public:
  explicit Run(bool has_large_times) : has_large_times_(has_large_times) {}

  void AddSnapshot(FuzzInput* input) {
    const uint32_t sequence = input->Byte() % kSequences;
    HeapBuffered<ClockSnapshot> snapshot;
    Readings readings;
    bool is_ambiguous = false;
    for (uint32_t n = input->Byte() % 5; n != 0; --n) {
      const uint32_t id = ClockOf(input);
      Clock& clock = clocks_[KeyOf(id, sequence)];
      clock.ticks = clock.said_ticks = TimeOf(input);
      const uint32_t kind = input->Byte();
      clock.is_incremental = (kind & 1) != 0;
      clock.unit = std::max(kind / 2 % 8, uint32_t{1});
      clock.said_ns.insert(clock.ns());
      is_ambiguous |= !readings.emplace(id, clock.ns()).second;
      auto* const reading = snapshot->add_clocks();
      reading->set_clock_id(id);
      reading->set_timestamp(clock.ticks);
      reading->set_is_incremental(clock.is_incremental);
      reading->set_unit_multiplier_ns(clock.unit);
    }
    const uint32_t primary = input->Byte() % 32;
    if (primary < std::size(kClocks))
      snapshot->set_primary_trace_clock(kClocks[primary]);
    const auto bytes = snapshot.SerializeAsArray();
    const uint32_t generation = table_.generation();
    table_.AddSnapshot({bytes.data(), bytes.size()}, sequence);
    unused_.AddSnapshot({bytes.data(), bytes.size()}, sequence);
    Check(table_.generation() != generation, "a change does not count");
    CheckSnapshot(readings, is_ambiguous, sequence);
  }

  // Converts a time and a later one.
  void Convert(FuzzInput* input) {
    const uint32_t sequence = input->Byte() % kSequences;
    const uint32_t id = ClockOf(input);
    const uint64_t ticks = TimeOf(input);
    const uint64_t more = input->Byte();
    TraceClockState* const state = table_.Find(id, sequence);
    if (state == nullptr)
      return;
    const TraceClockState& unused = *unused_.Find(id, sequence);
    Clock& clock = clocks_[KeyOf(id, sequence)];
    const uint64_t first = Convert(ticks, unused, &clock, state);
    const uint64_t first_ns = clock.ns();
    const uint64_t second = Convert(clock.is_incremental ? more : ticks + more,
                                    unused, &clock, state);
    const uint64_t second_ns = clock.ns();
    if (has_large_times_)
      return;
    Check(state->is_related() || second == second_ns, "nothing relates it");
    const auto next = clock.said_ns.upper_bound(first_ns);
    if (next != clock.said_ns.end() && *next <= second_ns)
      return;
    Check(first <= second, "times change places");
    // The distance may change if the time is before the trace's clock was 0.
    Check(first == 0 || second - first == second_ns - first_ns,
          "a time span changes");
  }

  void ReadRealtime(FuzzInput* input) {
    const std::optional<int64_t> time = table_.RealtimeOf(TimeOf(input));
    Check(time.has_value() == table_.realtime_offset_ns().has_value(),
          "the real time is half known");
  }

 private:
  using Readings = std::map<uint32_t, uint64_t>;  // Nanoseconds, by clock.

  struct Clock {
    uint64_t ticks = 0;
    uint64_t said_ticks = 0;  // From the last snapshot of the clock.
    uint64_t unit = 1;
    bool is_incremental = false;
    std::set<uint64_t> said_ns;  // From all snapshots.

    uint64_t ns() const { return ticks * unit; }
  };

  static uint32_t ClockOf(FuzzInput* input) {
    return kClocks[input->Byte() % std::size(kClocks)];
  }
  static uint64_t KeyOf(uint32_t clock, uint32_t sequence) {
    return IsOfSequence(clock) ? uint64_t{sequence} << 32 | clock : clock;
  }
  uint64_t TimeOf(FuzzInput* input) const {
    const uint64_t time = input->HalfWord();
    return has_large_times_ ? uint64_t{input->Word()} << 32 | time : time;
  }

  static uint64_t Convert(uint64_t ticks,
                          TraceClockState unused,
                          Clock* clock,
                          TraceClockState* state) {
    clock->ticks = clock->is_incremental ? clock->ticks + ticks : ticks;
    const uint64_t time = state->Convert(ticks);
    const uint64_t since = clock->is_incremental ? clock->said_ticks : 0;
    Check(time == unused.Convert(clock->ticks - since),
          "it depends on those before");
    return time;
  }

  void CheckSnapshot(const Readings& readings,
                     bool is_ambiguous,
                     uint32_t sequence) {
    const auto trace = std::find_if(
        readings.begin(), readings.end(),
        [this](const auto& r) { return table_.IsTraceClock(r.first); });
    is_direct_ &= trace != readings.end();
    if (trace == readings.end() || IsOfSequence(trace->first) || is_ambiguous ||
        has_large_times_) {
      is_direct_ = false;
      return;
    }
    const uint64_t trace_ns = trace->second;
    Check(table_.has_trace_clock(), "the trace's clock is not there");
    for (const auto& [id, ns] : readings) {
      const TraceClockState* const state = table_.Find(id, sequence);
      if (state == nullptr)
        continue;
      const Clock& clock = clocks_[KeyOf(id, sequence)];
      TraceClockState copy = *state;
      Check(copy.is_related(), "it is not related");
      Check(copy.Convert(clock.is_incremental ? 0 : clock.ticks) == trace_ns,
            "a snapshot does not hold");
    }
    const auto real = readings.find(ClockTable::kRealtime);
    if (real != readings.end()) {
      const auto real_ns = static_cast<int64_t>(real->second);
      Check(table_.realtime_offset_ns() ==
                real_ns - static_cast<int64_t>(trace_ns),
            "a snapshot does not hold for the real time");
      // The snapshots are in the order of time.
      Check(!is_direct_ || trace_ns < last_trace_ns_ ||
                table_.RealtimeOf(trace_ns) == real_ns,
            "the real time is another one");
    }
    is_direct_ &= trace_ns >= last_trace_ns_;
    last_trace_ns_ = std::max(last_trace_ns_, trace_ns);
  }

  const bool has_large_times_;
  ClockTable table_;
  ClockTable unused_;  // A copy that converts nothing.
  std::map<uint64_t, Clock> clocks_;
  // True if all snapshots have the trace's clock once and in its order.
  bool is_direct_ = true;
  uint64_t last_trace_ns_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput input(data, size);
  Run run(input.Byte() % 2 != 0);
  while (!input.is_at_end()) {
    switch (input.Byte() % 4) {
      case 0:
      case 1:
        run.AddSnapshot(&input);
        break;
      case 2:
        run.Convert(&input);
        break;
      default:
        run.ReadRealtime(&input);
        break;
    }
  }
  return 0;
}
