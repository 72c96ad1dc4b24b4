// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SCHEDULING_SCHEDULING_RECORDER_H_
#define SRC_PZTRACE_SCHEDULING_SCHEDULING_RECORDER_H_

#include <stdint.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "protozero/tracing/data_source.h"
#include "protozero/tracing/data_source_writers.h"
#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/scoped_fd.h"
#include "src/tracing/scheduling/kernel_events.h"
#include "src/tracing/scheduling/thread_recording.h"
#include "src/tracing/scheduling/thread_sums.h"

namespace pztrace {

using protozero::internal::KernelEvents;
using protozero::internal::StackTable;
using protozero::internal::ThreadRecording;
using protozero::internal::ThreadSumsWriter;

// The data source of the recorder itself: the states and stacks of threads of
// the programs that it records. It is a producer like any other, so buffers,
// rings, files and the ledger have its packets as they have all others.
//
// A thread of its own reads the kernel's rings.
class SchedulingRecorder {
 public:
  // The name of the data source.
  static constexpr char kDataSource[] = "pztrace.scheduling";

  explicit SchedulingRecorder(KernelEvents::Options options);
  ~SchedulingRecorder();

  // Opens the kernel's rings, before the command starts. If the kernel forbids
  // it, prints why; then threads have sums only, see ThreadSumsWriter. Returns
  // false if nothing can be recorded.
  bool Open();
  // Connects to the recorder's own service.
  void Connect(const std::string& socket);
  // Returns whether the session records it. Connect() does not wait for that.
  bool has_started() const { return has_started_; }
  // Returns whether the session, which stops, lacks records of its last
  // moments.
  bool is_ending() const { return has_started_ && !has_ended_; }
  // Has the thread write what the rings have, and end, before the session asks
  // for it. Does not wait for that.
  void BeginStop();
  // Records a process, unless it is one that is recorded already. Any thread.
  void AddProcess(int32_t pid);
  // Prints what limits the use of the recording. Call it when the session has
  // stopped. Returns false if it is_ending().
  bool Report();

  // Writes the names of functions, which |write| takes as records of a Trace.
  // REQUIRES: Report() was called.
  void WriteSymbols(const std::function<bool(const std::string&)>& write) const;

 private:
  class Source;

  // Called by the producer's thread.
  void Start();
  void Stop();
  // Waits until the records from before this call are committed.
  void Flush();

  // Reads the rings until Stop().
  void Run();
  void RunWithEvents(protozero::TraceContext* context);
  void RunWithSums(protozero::TraceContext* context);
  // Attaches to new processes.
  void AttachNew();
  std::vector<int32_t> TakeNewProcesses();
  uint64_t num_flushes();
  // Waits until it is time to look again, or until a call wakes the thread.
  void Wait();
  // Commits what is written, and ends calls of Flush() up to |flush|.
  void EndFlush(uint64_t flush, protozero::TraceContext* context);

  const KernelEvents::Options options_;
  ThreadRecording recording_;
  // True if the kernel's events are allowed.
  bool has_events_ = false;
  ThreadSumsWriter sums_;

  // An eventfd that wakes the thread.
  protozero::ScopedFd wakeup_;
  std::atomic<bool> has_started_{false};
  std::atomic<bool> has_ended_{false};
  std::atomic<bool> is_stopping_{false};
  std::mutex stop_mutex_;
  // The thread that reads. Guarded by |stop_mutex_|.
  std::thread thread_;
  std::mutex mutex_;
  // The processes to attach to. Guarded by |mutex_|.
  std::vector<int32_t> new_processes_;
  std::condition_variable flush_ends_;
  // The number of calls of Flush(), and of those that have ended. Guarded by
  // |mutex_|.
  uint64_t num_flushes_ = 0;
  uint64_t num_flushed_ = 0;
  // The number of processes that could not be recorded, and one reason.
  uint32_t num_refused_ = 0;

  std::shared_ptr<Source> source_;
  std::unique_ptr<protozero::DataSourceWriters> writers_;
  std::unique_ptr<protozero::Producer> producer_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SCHEDULING_SCHEDULING_RECORDER_H_
