// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_THREAD_TIMES_H_
#define SRC_PZTRACE_EVENTS_THREAD_TIMES_H_

#include <stdint.h>

#include <optional>
#include <unordered_map>

#include "protozero/tracing/trace_reader.h"
#include "src/pztrace/events/stack_samples.h"
#include "src/tracing/trace_reader/thread_state_table.h"

namespace pztrace {

using protozero::internal::ThreadStateTable;
using protozero::internal::TimeDivision;

// The states of the threads of a trace, and their stacks, for those who know
// tracks.
class ThreadTimes {
 public:
  void Add(const protozero::KernelPacket& packet) {
    states_.Add(packet);
    samples_.Add(packet);
  }
  // Call it once, after the last packet.
  void Finish() {
    states_.Finish();
    samples_.Finish();
    is_finished_ = true;
  }

  bool is_empty() const { return states_.is_empty() && samples_.is_empty(); }
  bool has_states() const { return !states_.is_empty(); }
  bool is_finished() const { return is_finished_; }
  const ThreadStateTable& states() const { return states_; }
  const StackSamples& samples() const { return samples_; }

  // Returns the thread of a track; ThreadStateTable::kNone if it has no states.
  // REQUIRES: is_finished(), and |tracks| are those of the trace.
  uint32_t ThreadOf(uint64_t track, const protozero::TraceTracks& tracks);
  // Returns the number that the recorder gives to the thread of a track; 0 if
  // it is no thread, or if that is not known.
  int64_t TidOf(uint64_t track, const protozero::TraceTracks& tracks) const;
  // Returns how the thread of a track spent its time. Null if that is unknown.
  std::optional<TimeDivision> Divide(uint64_t track,
                                     const protozero::TraceTracks& tracks,
                                     uint64_t begin_ns,
                                     uint64_t end_ns) {
    return states_.Divide(ThreadOf(track, tracks), begin_ns, end_ns);
  }

 private:
  ThreadStateTable states_;
  StackSamples samples_;
  bool is_finished_ = false;
  uint64_t version_ = 0;
  std::unordered_map<uint64_t, uint32_t> threads_;  // By track.
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_THREAD_TIMES_H_
