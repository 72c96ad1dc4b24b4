// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_WHY_THREAD_CAUSES_H_
#define SRC_PZTRACE_WHY_THREAD_CAUSES_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/pztrace/events/thread_times.h"
#include "src/pztrace/events/track_info.h"

namespace pztrace {

// The reasons why a thread took as long as it did.
struct ThreadCauses {
  // The thread that ended a wait, or that ran when an interrupt did.
  struct Waker {
    uint64_t time_ns;
    uint32_t thread;  // ThreadStateTable::kNone if it is not known.
    std::string name;
    bool is_in_interrupt;
  };
  // A time in which it waited.
  struct Wait {
    uint64_t begin_ns;
    uint64_t end_ns;
    bool is_blocked;                 // True if no signal could wake it.
    std::vector<std::string> stack;  // The innermost function first.
    std::optional<Waker> waker;
  };
  // A thread that ran on its processor while it was ready.
  struct Neighbour {
    std::string thread;
    uint64_t ns;
  };
  // A function, or a stack, and the number of samples in it.
  struct Place {
    std::string text;
    uint64_t samples;
  };

  TimeDivision times;
  uint64_t unknown_ns = 0;
  uint64_t num_ready = 0;  // The times without a processor.
  uint64_t num_waits = 0;
  std::vector<Wait> waits;  // The longest first, kMaxWaits at most.
  // The same with more of them, without stacks.
  std::vector<std::pair<uint64_t, uint64_t>> wait_times;
  std::vector<Neighbour> neighbours;  // The longest first.
  uint64_t not_recorded_ns = 0;       // The rest of the time that it was ready.
  uint64_t num_samples = 0;           // Samples of its running time.
  uint64_t num_in_kernel = 0;         // The ones taken in the kernel.
  // The running time without samples, if that is much: without privileges, the
  // kernel takes none in itself.
  uint64_t unsampled_ns = 0;
  StackSamples::Counts counts;
  std::vector<Place> functions;  // The hottest first.
  std::vector<Place> stacks;     // The same; the outermost function first.

  static constexpr size_t kMaxWaits = 3;
  static constexpr size_t kMaxPlaces = 5;
  static constexpr size_t kMaxFrames = 8;
};

// The names of threads: those of their tracks, or else the kernel's.
class ThreadNames {
 public:
  // REQUIRES: |times| are finished.
  ThreadNames(const ThreadTimes& times, const Tracks& tracks);
  const std::string& Get(uint32_t thread) const { return names_[thread]; }

 private:
  std::vector<std::string> names_;
};

// Returns why a thread took that time. REQUIRES: |thread| has states.
ThreadCauses CausesOf(const ThreadTimes& times,
                      const ThreadNames& names,
                      uint32_t thread,
                      uint64_t begin_ns,
                      uint64_t end_ns);

// Returns a text such as "it was preempted for 2.00 ms and waited in read for
// 3.00 ms" about the time in which a thread did not run; empty if it always
// did, or if all of that is unknown.
std::string HaltText(const ThreadCauses& causes);

}  // namespace pztrace

#endif  // SRC_PZTRACE_WHY_THREAD_CAUSES_H_
