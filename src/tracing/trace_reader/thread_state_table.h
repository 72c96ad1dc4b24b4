// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_THREAD_STATE_TABLE_H_
#define SRC_TRACING_TRACE_READER_THREAD_STATE_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_reader/id_map.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The time of a thread, by what it did.
struct TimeDivision {
  uint64_t ran_ns = 0;
  uint64_t ready_ns = 0;  // It could run, but had no processor.
  uint64_t waited_ns = 0;

  void Add(const TimeDivision& other) {
    ran_ns += other.ran_ns;
    ready_ns += other.ready_ns;
    waited_ns += other.waited_ns;
  }
};

// The states of the threads of a trace, as the kernel told them to a recorder:
//
//   RUNNING    RUNNABLE    RUNNING    INTERRUPTIBLE_SLEEP   RUNNING
//   | running  | preempted | running  | sleeping            | running ...
//
// A state is unknown before the first event of its thread, after the last event
// of its sequence, and wherever events must be missing: between two events with
// a loss between them, after two states of which one cannot follow the other,
// and while another thread got the processor that the thread did not leave.
//
// An event takes 12 bytes, and 16 more if it says who woke the thread.
class ThreadStateTable {
 public:
  enum class State : uint8_t {
    kUnknown,
    kCreated,
    kWoken,  // It could run since something woke it.
    kRunning,
    kSleeping,
    kBlocked,  // It waits, and no signal can wake it: mostly for a disk.
    kStopped,
    kDead,
    kPreempted,  // It could run on.
    kDestroyed,  // It is dead, and its parent knows.
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kNoCpu = (uint32_t{1} << 20) - 1;

  static bool IsReady(State state) {
    return state == State::kCreated || state == State::kWoken ||
           state == State::kPreempted;
  }
  static bool IsWaiting(State state) {
    return state == State::kSleeping || state == State::kBlocked ||
           state == State::kStopped;
  }

  static bool IsOver(State state) {
    return state == State::kDead || state == State::kDestroyed;
  }

  // A time in which a thread stays in one state.
  struct Part {
    uint64_t begin_ns;
    uint64_t end_ns;
    State state;
    // The processor on which it runs, or ran last; kNoCpu if it is not known.
    uint32_t cpu;

    uint64_t dur_ns() const { return end_ns - begin_ns; }
  };

  // The reason for the end of a wait.
  struct Waking {
    uint64_t time_ns;
    // The thread that woke the other one, or that an interrupt found when it
    // did so; 0 if none ran there.
    uint32_t tid;
    bool is_in_interrupt;
  };

  // Reads a packet. Those that are no states, names or processes are ignored.
  void Add(const KernelPacket& packet);
  // Makes parts of the events. Call it once, after the last packet.
  void Finish();

  bool is_empty() const { return num_events_ == 0; }

  // REQUIRES: Finish() was called, for what follows.
  uint32_t num_threads() const {
    return static_cast<uint32_t>(threads_.size());
  }
  int64_t tid(uint32_t thread) const { return threads_[thread].tid; }
  // Returns the process of the thread; 0 if the trace does not say it.
  int64_t pid(uint32_t thread) const { return threads_[thread].pid; }
  // Returns false if the thread is another process's, as one of that number in
  // another namespace is.
  bool MayBeOf(uint32_t thread, int64_t pid) const {
    return threads_[thread].pid == 0 || pid == 0 || threads_[thread].pid == pid;
  }
  const std::string& name(uint32_t thread) const {
    return threads_[thread].name;
  }
  // Returns the first words of the command lines of processes, by pid.
  const std::map<int64_t, std::string>& process_names() const {
    return process_names_;
  }
  // Returns the thread of a track; kNone if it is none, or has no states.
  uint32_t Find(const TrackInfo& track) const;

  // Returns the thread of a track by its number.
  uint32_t Find(uint64_t track, const TraceTracks& tracks) const;
  // Returns the description of a thread's track with the ids that the recorder
  // sees. A container has others; null is returned if they are not known.
  static std::optional<TrackInfo> InfoForKernel(uint64_t track,
                                                const TraceTracks& tracks);

  size_t num_parts(uint32_t thread) const {
    return threads_[thread].times.size();
  }
  Part PartOf(uint32_t thread, size_t part) const;
  // Returns what woke the thread before the part; null if that is not known.
  const Waking* WakingOf(uint32_t thread, size_t part) const;
  // Returns the thread of that number, which may have no states; kNone if the
  // trace does not know it.
  uint32_t FindTid(int64_t tid) const {
    return thread_indexes_.Find(static_cast<uint64_t>(tid));
  }
  // Returns the part at a time; the number of parts if that is before the first
  // one.
  size_t PartAt(uint32_t thread, uint64_t time_ns) const;

  // Returns how the thread spent its time. Null if some of it is unknown.
  std::optional<TimeDivision> Divide(uint32_t thread,
                                     uint64_t begin_ns,
                                     uint64_t end_ns) const;

  // Returns the times in which the processor ran threads, the longest first.
  struct Run {
    uint32_t thread;
    uint64_t ns;
  };
  std::vector<Run> RunsOn(uint32_t cpu,
                          uint64_t begin_ns,
                          uint64_t end_ns) const;

 private:
  // The sums of all parts before one.
  struct Sums {
    TimeDivision known;
    uint64_t unknown_ns = 0;
  };
  struct Thread {
    int64_t tid = 0;
    int64_t pid = 0;
    std::string name = {};
    uint32_t sequence = 0;  // The one of its last event.
    uint64_t num_losses = 0;
    bool is_sorted = true;
    std::vector<uint64_t> times = {};
    std::vector<uint32_t> events = {};  // See EventOf().
    std::vector<Waking> wakings = {};   // By time, once they are sorted.
    std::vector<Sums> sums = {};        // Before each kStride-th part.
  };
  struct Sequence {
    uint64_t num_gaps = 0;
    uint64_t end_ns = 0;
  };

  static constexpr size_t kStride = 64;

  // An event is the state, the number of losses before it in the file, modulo
  // 2^7, a bit if there is one since the thread's event before, and the
  // processor:
  //
  //   31       12 11          10     4 3     0
  //   | cpu      | is after   | loss  | state |
  //   |          | a loss     |       |       |
  static constexpr uint32_t kStateMask = 15;
  static constexpr uint32_t kLostEnd = 15;  // A kRunning until Settle().
  static constexpr uint32_t kLossMask = 0x7f0;
  static constexpr uint32_t kLossShift = 4;
  static constexpr uint32_t kIsAfterLoss = uint32_t{1} << 11;
  static constexpr uint32_t kCpuShift = 12;
  static State StateOf(uint32_t event) {
    return static_cast<State>(event & kStateMask);
  }

  Thread& ThreadOf(int64_t tid);
  void AddState(ConstBytes bytes, uint64_t time_ns, uint32_t sequence);
  void AddWakings(ConstBytes bytes, uint64_t time_ns, uint32_t sequence);
  void AddEvent(uint64_t time_ns,
                State state,
                uint32_t cpu,
                uint32_t sequence,
                Thread* thread);
  void AddTree(ConstBytes bytes);
  static void Sort(Thread* thread);
  void Settle(Thread* thread) const;
  void CompareProcessors();
  void AddUp(Thread* thread) const;
  uint64_t EndOf(const Thread& thread, size_t part) const;
  Sums SumsUntil(const Thread& thread, uint64_t time_ns) const;
  static void AddTo(Sums* sums, State state, uint64_t ns);

  std::deque<Thread> threads_;
  std::map<int64_t, std::string> process_names_;
  IdMap thread_indexes_;
  std::unordered_map<uint32_t, Sequence> sequences_;
  uint64_t num_losses_ = 0;
  uint64_t num_events_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_THREAD_STATE_TABLE_H_
