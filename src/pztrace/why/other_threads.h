// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_WHY_OTHER_THREADS_H_
#define SRC_PZTRACE_WHY_OTHER_THREADS_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/pztrace/events/thread_times.h"
#include "src/pztrace/events/timeline_reader.h"

namespace pztrace {

// The slices of the other threads of a program while one of them waited: one of
// them may have had the lock.
class OtherThreads {
 public:
  // The slice of a thread in that time, the innermost of those that lasted for
  // a quarter of it.
  struct Other {
    uint32_t thread;
    uint64_t begin_ns;
    uint64_t end_ns;
    uint32_t depth;
    const EventText* text;
    std::string args;  // Members of a JSON object.
    // The division of the time that the slice and the wait have in common.
    std::optional<TimeDivision> times;
    bool waits_there_too;
  };

  // REQUIRES: |times| are finished, and outlive this; |tracks|, too.
  OtherThreads(ThreadTimes* times, const protozero::TraceTracks& tracks)
      : times_(times), tracks_(tracks) {}

  // Adds a wait, whose number is that of waits before it. Do it before the
  // slices.
  void AddWait(uint32_t thread, uint64_t begin_ns, uint64_t end_ns);
  size_t num_waits() const { return waits_.size(); }
  // Adds a slice of any thread.
  void AddSlice(const Slice& slice, const TimelineReader& reader);
  // Returns what others did in a wait of a thread in a slice of that name: who
  // had the lock comes first, as far as that can be known. Those that waited in
  // a slice of the same name come last.
  std::vector<Other> During(size_t wait, const std::string& slice) const;

 private:
  struct Wait {
    uint32_t thread;
    uint64_t begin_ns;
    uint64_t end_ns;
    std::map<uint32_t, Other> others;  // By thread.
  };

  ThreadTimes* const times_;
  const protozero::TraceTracks& tracks_;
  std::vector<Wait> waits_;
  uint64_t first_ns_ = UINT64_MAX;
  uint64_t last_ns_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_WHY_OTHER_THREADS_H_
