// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_PZTRACE_RANDOM_TRACE_H_
#define TEST_PZTRACE_RANDOM_TRACE_H_

#include <stdint.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"

// Makes traces with all that makes it hard to cut them. Sequences write in
// runs, as chunks come to a service, so the file is not in order of time. Each
// is a thread with a clock of another kind, interned texts, defaults, and
// events on its own track and on one that all share. Sequences start over from
// time to time. The first may have begun before the trace.
class RandomTrace {
 public:
  struct Options {
    bool has_losses = false;
    // True if all sequences start over in the middle, with other ids.
    bool is_rotated = false;
    bool begins_in_the_middle = false;
    size_t num_packets = 600;
  };

  RandomTrace(uint32_t seed, const Options& options);

  // Returns the trace. It is the same for each call.
  const std::string& bytes() const { return trace_; }

 private:
  using TracePacket = protozero::trace::TracePacket;
  using TrackEvent = protozero::trace::TrackEvent;

  enum class Clock {
    kIncremental,
    kIncrementalMicroseconds,
    kBootTime,
    kOfSequence,
    kOlder,  // TrackEvent.timestamp_delta_us.
    kLast = kOlder,
  };

  struct Thread {
    uint32_t sequence = 0;
    uint32_t number = 0;
    Clock clock = Clock::kBootTime;
    uint64_t now_ns = 0;
    uint64_t clock_ns = 0;  // The value of the incremental clock.
    bool is_valid = false;
    uint32_t first_iid = 1;
    std::set<uint32_t> interned;
    uint32_t depth = 0;
    std::vector<uint64_t> shared_begins;

    uint64_t own_track() const { return 100 + number; }
  };

  // Returns a number below |end|.
  uint32_t Below(uint32_t end) {
    return static_cast<uint32_t>(random_() % end);
  }

  template <typename Fill>
  void Add(const Thread& thread, Fill fill);
  // Adds a packet with an event. |fill| gets both.
  template <typename Fill>
  void AddEvent(Thread* thread, TrackEvent::Type type, Fill fill);
  void AddSnapshot();
  void AddMarks();
  void AddUnknownFields(protozero::Message* message);
  void AddNames(Thread* thread, TracePacket* packet, TrackEvent* event);

  void BeginAnew(Thread* thread);
  void Describe(Thread* thread);
  void AddPacket(Thread* thread);
  void AddSharedEvent(Thread* thread);
  void AddState(Thread* thread);
  void AddCounters(Thread* thread);
  void AddComplete(Thread* thread);
  void Lose(Thread* thread);

  const Options options_;
  std::mt19937 random_;
  std::vector<Thread> threads_;
  bool is_behind_loss_ = false;
  std::string trace_;
};

#endif  // TEST_PZTRACE_RANDOM_TRACE_H_
