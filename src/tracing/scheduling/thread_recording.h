// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_THREAD_RECORDING_H_
#define SRC_TRACING_SCHEDULING_THREAD_RECORDING_H_

#include <stdint.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "protozero/tracing/data_source_writers.h"
#include "src/tracing/scheduling/code_maps.h"
#include "src/tracing/scheduling/kernel_events.h"
#include "src/tracing/scheduling/kernel_record.h"
#include "src/tracing/scheduling/stack_table.h"
#include "src/tracing/scheduling/thread_packets.h"
#include "src/tracing/scheduling/thread_states.h"
#include "src/tracing/scheduling/timer_samples.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Returns the time of events, in nanoseconds.
uint64_t ThreadTimeNs();

// Writes the kernel's events about threads as packets.
//
// Records of different processors are put in order: what has been read is
// written after the next look, when no earlier record can come any more. One
// thread at a time.
class ThreadRecording final : private ThreadStates::Observer {
 public:
  explicit ThreadRecording(KernelEvents::Options options);

  // See KernelEvents::Open().
  bool Open(std::string* error) { return events_.Open(error); }
  // See KernelEvents::why_no_wakings().
  const std::string& why_no_wakings() const { return events_.why_no_wakings(); }
  // Writes with |context| from now on.
  void Begin(TraceContext* context);

  // Returns whether the process is recorded already, since a recorded one has
  // made it.
  bool IsRecorded(int32_t pid) const;
  // Records a process. Returns false, and says why and what helps, if the
  // kernel forbids it; true if the process has ended. REQUIRES: Open() has
  // returned true, and Begin() was called.
  bool Attach(int32_t pid, std::string* error);

  // Takes samples of this process by timers, where the kernel forbids its
  // events; states are not recorded. Returns false, and says why, if that does
  // not work either. REQUIRES: Begin() was called, and the options do not
  // follow processes.
  bool StartTimers(std::string* error);

  // See KernelEvents::Wait().
  void Wait(int timeout_ms, int other_fd) {
    events_.Wait(timeout_ms, other_fd);
  }
  // Reads the rings, and writes what the last call has read.
  void Look();
  // Writes all that there is. Losses count that no record has told.
  void LookForTheLastTime();

  // Returns whether the program has taken the timers' signal.
  bool has_lost_signal() const { return has_lost_signal_; }
  // Returns whether a thread could not have a timer.
  bool lacks_timers() const {
    return timers_ != nullptr && timers_->lacks_timers();
  }
  // Returns how many records were lost.
  uint64_t num_lost() const { return events_.num_lost(); }
  const CodeMaps& maps() const { return maps_; }
  const StackTable& stacks() const { return packets_.stacks(); }

 private:
  // Writes the records up to the time |until|.
  void LookUntil(uint64_t until);
  // Finds the state of a thread that runs already.
  void AddFound(int32_t pid, int32_t tid);
  void ReadRings(bool is_last);
  void ReadTimers(bool is_last);
  // Returns whether the record is about a child of the one recorded process.
  bool IsOfChild(const KernelRecord& record) const;
  void WriteRecords(uint64_t until);
  void Write(const KernelRecord& record);
  // Writes the stack of a thread if the record says that it waits.
  void WriteWait(const KernelRecord& record);
  // Removes threads that have ended while records were lost.
  void RemoveEnded();

  // ThreadStates::Observer:
  void OnState(uint64_t time,
               int32_t tid,
               const ThreadStates::Thread& thread) override;
  void OnWaking(const KernelRecord& record,
                const ThreadStates::Thread& thread) override;
  void OnThread(int32_t tid, const ThreadStates::Thread& thread) override;
  void OnProcess(int32_t pid, const ThreadStates::Process& process) override;
  void OnRename(uint64_t time, int32_t tid, const std::string& name) override;
  void OnProcessGone(int32_t pid) override;
  void OnRootGone(int32_t root) override;

  const KernelEvents::Options options_;
  KernelEvents events_;
  ThreadStates states_;
  CodeMaps maps_;
  ThreadPackets packets_;
  // The records that wait for earlier ones.
  std::vector<KernelRecord> records_;
  // The stacks of the threads that are about to leave their processors.
  std::unordered_map<int32_t, KernelRecord> leaving_;
  // The time of the last look.
  uint64_t looked_at_ = 0;
  // The time of Begin().
  uint64_t began_at_ = 0;
  // The time of the last record that was written.
  uint64_t time_ = 0;
  // The processes whose threads have all ended.
  std::vector<int32_t> gone_;
  bool has_lost_ = false;
  // The process, if no other is recorded.
  const int32_t own_pid_ = getpid();
  std::unique_ptr<TimerSamples> timers_;
  bool has_lost_signal_ = false;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_THREAD_RECORDING_H_
