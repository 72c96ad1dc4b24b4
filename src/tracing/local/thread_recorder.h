// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_LOCAL_THREAD_RECORDER_H_
#define SRC_TRACING_LOCAL_THREAD_RECORDER_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "protozero/tracing/data_source.h"
#include "protozero/tracing/data_source_writers.h"
#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/scheduling/kernel_events.h"
#include "src/tracing/scheduling/thread_recording.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The data source of a LocalTrace for the states and stacks of the program's
// threads. A thread of its own reads the kernel's rings, from the session's
// start to its end.
class ThreadRecorder {
 public:
  // The name of the data source.
  static constexpr char kDataSource[] = "protozero.scheduling";

  // Throws std::bad_alloc.
  explicit ThreadRecorder(internal::KernelEvents::Options options);
  // REQUIRES: no session records source() any more.
  ~ThreadRecorder();

  ThreadRecorder(const ThreadRecorder&) = delete;
  ThreadRecorder& operator=(const ThreadRecorder&) = delete;

  const std::shared_ptr<DataSource>& source() const { return source_; }
  // Waits until the threads of today are recorded, or cannot be. REQUIRES: the
  // session has started.
  void WaitUntilBegun();
  // Returns why not all is recorded, and the least that allows it.
  std::string error() const;

 private:
  class Source;

  // Called by the producer's thread.
  void Start();
  void Stop();

  // Records until Stop().
  void Run();
  void Record(TraceContext* context);
  // Returns whether the kernel's events are recorded.
  bool Begin(TraceContext* context);
  void RecordSums(TraceContext* context);
  // Waits until the kernel has news, or for a while. Returns false if it is
  // time to stop.
  bool Wait();
  void SetError(const std::string& what);
  void SetBegun();
  bool is_stopping() const;

  const internal::KernelEvents::Options options_;
  std::shared_ptr<DataSource> source_;
  // Wakes the thread.
  WakeupFd wakeup_;
  BackgroundThread thread_;
  // Null if the thread does not run.
  std::unique_ptr<internal::ThreadRecording> recording_;
  bool has_timers_ = false;

  mutable std::mutex lock_;
  std::condition_variable changed_;
  bool has_begun_ = false;
  bool is_stopping_ = false;
  std::string error_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_LOCAL_THREAD_RECORDER_H_
