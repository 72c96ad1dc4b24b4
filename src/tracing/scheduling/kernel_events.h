// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_KERNEL_EVENTS_H_
#define SRC_TRACING_SCHEDULING_KERNEL_EVENTS_H_

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/tracing/ipc/scoped_fd.h"
#include "src/tracing/scheduling/kernel_counter.h"
#include "src/tracing/scheduling/kernel_record.h"
#include "src/tracing/scheduling/kernel_ring.h"

#include "protozero/internal/macros.h"

struct perf_event_attr;

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The kernel's events about threads: perf_event_open(), for a user without
// privileges.
//
// There is a ring for each processor. A thread has an event for each processor,
// all of which write to that processor's ring; threads and processes that it
// makes inherit them. The events with which the rings are opened belong to the
// opening thread, and do nothing there: a child process has them from its
// exec() on, so a command is recorded from its first instruction.
//
// In a privileged process, each thread has another event for each processor, of
// kLeaving, and each processor has one of kWaking for all threads of the
// machine: the kernel does not tell a thread's own event who wakes it.
class KernelEvents {
 public:
  struct Options {
    bool has_switches = false;
    // The samples in a second of processor time; 0 for none.
    uint32_t samples_hz = 0;
    // False if only threads of this process are recorded, not its children.
    // Then at most half of the descriptors that it may have are used.
    bool follows_processes = true;

    // The counters that samples have, as far as the kernel has them.
    std::vector<KernelCounter> counters = HardwareCounters();

    // Returns the nanoseconds that a sample stands for.
    uint64_t sample_period() const {
      return samples_hz == 0 ? 0 : uint64_t{1000000000} / samples_hz;
    }
    bool are_wanted() const { return has_switches || samples_hz != 0; }
  };

  explicit KernelEvents(Options options) : options_(options) {}
  ~KernelEvents();

  KernelEvents(const KernelEvents&) = delete;
  KernelEvents& operator=(const KernelEvents&) = delete;

  // Opens the rings. The calling thread's later child processes are recorded.
  // Returns false, and says why and what helps, if the kernel forbids it.
  bool Open(std::string* error);
  // Returns why records of kWaking are missing, and what helps, after Open();
  // empty if this process may not have them anyway.
  const std::string& why_no_wakings() const { return why_no_wakings_; }
  // Returns the counters that samples have, after Open().
  const std::vector<KernelCounter>& counters() const { return counters_; }
  // Opens events for all threads of a process, and adds those that it has
  // found. Returns false, and says why and what helps, if the kernel forbids
  // it; true if the process has ended. REQUIRES: Open() has returned true.
  bool Attach(int32_t pid, std::vector<int32_t>* tids, std::string* error);
  // Returns how long the thread has run on the processor since Attach(), in
  // nanoseconds, with threads that it has made since then.
  uint64_t RanOn(int32_t pid, int32_t tid, uint32_t cpu) const;
  // Begins to record who wakes threads, if this process may.
  void StartWakings();
  // Closes the events of Attach(). Threads that have inherited them are not
  // recorded any more.
  void Detach(int32_t pid);

  // Waits until a ring is a quarter full, |other_fd| can be read, or the time
  // is up.
  void Wait(int timeout_ms, int other_fd);
  // Copies what is in the rings that have so much that Wait() would end, so
  // that the kernel has room while the records of an earlier Read() are
  // handled. It makes no system call.
  void TakeMuch();
  // Appends the records of a ring, in its order, and a loss if there may have
  // been one after them.
  void Read(size_t ring, std::vector<KernelRecord>* records);
  // Appends the last records of a ring, and a loss if the kernel has lost some
  // that no record tells.
  void ReadLast(size_t ring, std::vector<KernelRecord>* records);
  size_t num_rings() const { return rings_.size(); }
  // Returns the bytes of each ring, after Open().
  size_t ring_size() const { return ring_size_; }
  // Returns whether another event of the record's thread says the same.
  // |has_own_events| if Attach() has added the thread.
  bool IsRepeated(const KernelRecord& record, bool has_own_events) const;

  // Returns how many records were lost.
  uint64_t num_lost() const;
  // Returns whether samples are taken in the kernel, too.
  bool samples_kernel() const { return samples_kernel_; }

 private:
  // The events of counters, and their ids.
  using CounterFds = std::vector<std::pair<uint64_t, ScopedFd>>;
  struct Ring {
    uint32_t cpu = 0;
    ScopedFd fd;
    void* memory = nullptr;
    std::unique_ptr<KernelRing> reader;
    // The losses of events that are closed.
    uint64_t lost_before = 0;
    CounterFds counters;
    ScopedFd leaving;
    ScopedFd wakings;
  };
  struct Event {
    size_t ring = 0;
    ScopedFd fd;
    uint64_t id = 0;
    CounterFds counters;
  };

  // Copies what a ring has, and gives its room back.
  void Take(const Ring& ring) const;
  // Gives records from |first| on the boot clock's time.
  void FinishRecords(const Ring& ring,
                     size_t first,
                     std::vector<KernelRecord>* records) const;
  void CompareClocks();
  // Finds out what this process may see besides the states of its threads.
  void FindPrivileges();
  void FindCounters();
  // Adds a counter to the event |leader| of kSample. Returns a descriptor, or
  // -1 and sets errno.
  int OpenCounter(const KernelCounter& counter,
                  int leader,
                  int32_t tid,
                  int cpu) const;
  // Adds all counters, as far as that is possible.
  CounterFds OpenCounters(int leader, int32_t tid, uint32_t cpu);
  void FillAttr(KernelRecord::Kind kind, perf_event_attr* attr) const;
  // Returns a descriptor, or -1 and sets errno. A |tid| of 0 is this thread, -1
  // means all threads.
  int OpenEvent(KernelRecord::Kind kind, int32_t tid, int cpu);
  // Does it for an event that writes to |ring|.
  bool OpenEventFor(const Ring& ring,
                    KernelRecord::Kind kind,
                    int32_t tid,
                    ScopedFd* fd);
  // These return an errno; ENOMEM also if so much memory may not be locked.
  int OpenRings(uint32_t processors);
  int OpenRing(uint32_t cpu);
  int MapRing(Ring* ring) const;
  void CloseRings();
  // The counts of an event.
  struct Counts {
    uint64_t value = 0;
    uint64_t ran = 0;
    // The event's id in records.
    uint64_t id = 0;
    // The records that it could not write.
    uint64_t lost = 0;
  };
  Counts ReadCounts(int fd) const;
  void AddEvent(int32_t tid, Event event, std::vector<Event>* events);
  int AttachThread(int32_t tid, std::vector<Event>* events);
  // Returns whether the descriptor is one of those that are left to the
  // program.
  bool IsTooMany(int fd) const;
  // Lets this process have more descriptors. Returns whether it can.
  bool RaiseLimit();

  const Options options_;
  bool samples_kernel_ = true;
  bool wants_build_ids_ = true;
  bool inherits_by_thread_ = true;
  // The bytes of each ring, without the page before them.
  size_t ring_size_ = 0;
  bool has_leaving_ = false;
  // The number of the tracepoint; 0 if this process may not see it.
  uint64_t waking_id_ = 0;
  // The clock of the kernel's records, and the time by which the boot clock is
  // ahead of it.
  clockid_t clock_ = CLOCK_BOOTTIME;
  uint64_t clock_offset_ = 0;
  std::string why_no_wakings_;
  std::vector<KernelCounter> counters_;
  KernelSamples samples_;
  std::vector<Ring> rings_;
  std::map<int32_t, std::vector<Event>> attached_;
  // The threads of events, by the events' ids.
  std::unordered_map<uint64_t, int32_t> owners_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_KERNEL_EVENTS_H_
