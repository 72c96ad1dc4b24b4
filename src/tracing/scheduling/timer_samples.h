// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_TIMER_SAMPLES_H_
#define SRC_TRACING_SCHEDULING_TIMER_SAMPLES_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>
#include <vector>

#include "src/tracing/scheduling/kernel_record.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Stacks of this program's threads where the kernel's events are forbidden.
//
// A timer on each thread's own processor time sends it a signal, and the
// handler follows the frame pointers. The kernel looks at such timers when its
// clock ticks, 100 to 1000 times a second; a sample stands for all periods
// since the last one. A call that the signal interrupts goes on, but for those
// that no flag of sigaction() lets go on, such as poll(): a thread that calls
// one while the clock ticks gets EINTR.
//
// It takes a real-time signal that has no handler. Threads that block it are
// not sampled; if one blocks it later, for longer than a tenth of a second that
// it runs, the rest of that time counts as lost samples when it lets the signal
// in. One thread at a time.
class TimerSamples {
 public:
  // Takes samples that stand for |period| nanoseconds each.
  explicit TimerSamples(uint64_t period) : period_(period) {}
  // Calls Stop().
  ~TimerSamples();

  TimerSamples(const TimerSamples&) = delete;
  TimerSamples& operator=(const TimerSamples&) = delete;

  // Takes a signal. Returns false, and says why, if it cannot.
  bool Start(std::string* error);
  // Samples these threads of the process, and no others any more. Returns false
  // if the program has given the signal a handler of its own: then no thread is
  // sampled.
  bool Follow(const std::vector<int32_t>& tids);
  // Gives the signal back. No handler begins to run any more.
  void Stop();

  // Appends what was sampled since the last call.
  void Take(std::vector<KernelRecord>* records);
  // Returns how many samples found no room, or could not be taken, since the
  // last call.
  uint64_t TakeNumLost();
  // Returns whether a thread could not have a timer.
  bool lacks_timers() const { return lacks_timers_; }

 private:
  struct Timer {
    int id = 0;
    // The place of its samples.
    uint32_t slot = 0;
  };

  bool Has(int32_t tid) const { return timers_.count(tid) != 0; }
  void Add(int32_t tid);
  void Remove(int32_t tid, const Timer& timer);
  void RemoveAll();
  // Returns whether the signal has this class's handler.
  bool HasSignal() const;
  void TakeFrom(int32_t tid, uint32_t slot, std::vector<KernelRecord>* records);

  const uint64_t period_;
  int signal_ = 0;
  std::map<int32_t, Timer> timers_;
  // The samples of threads that have ended.
  std::vector<KernelRecord> ended_;
  uint64_t num_lost_ = 0;
  bool lacks_timers_ = false;
  // True if a timer could not be deleted.
  bool has_lost_timer_ = false;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_TIMER_SAMPLES_H_
