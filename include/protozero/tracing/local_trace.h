// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_LOCAL_TRACE_H_
#define INCLUDE_PROTOZERO_TRACING_LOCAL_TRACE_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <memory>
#include <string>

#include "protozero/tracing/trace_stats.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Records the events of this program, to a file, as long as it exists:
//
//   protozero::LocalTrace trace("out.pftrace");
//
// It is a session, the service that runs it, and the connection between them:
// two threads, and memory that they share with those that trace. The connection
// has no name, so nobody else can take part. The constructor returns when
// events are recorded. What has been written by when the destructor is called
// is in the file when that returns, also of threads that have ended, and of
// threads that go on.
//
// There may be several at once, and a Producer besides, for a system's service:
// each gets all events that it wants.
//
// Every write period, whole packets are appended to the file, so a program that
// ends without the destructor, or is killed, loses what it has written since.
// In a child process, after fork(), the object does nothing, and events are
// off.
//
// Nothing throws. If the system has no memory, thread or descriptor for it,
// error() says so, and the program goes on; without exceptions, only if it was
// not a container of the standard library that found no memory.
class LocalTrace {
 public:
  // Takes |size| bytes, which continue those of the last call. Returns false,
  // or throws std::bad_alloc, if it cannot; then recording ends. Called by a
  // thread of the LocalTrace. Must not call Stop().
  using Sink = std::function<bool(const uint8_t* data, size_t size)>;

  // Where a trace goes, and what it takes.
  struct Options {
    // The output: exactly one of these. A file is created, or made empty; a
    // descriptor is not closed.
    std::string path;
    int fd = -1;
    Sink sink;

    // Patterns with commas between them, as "app,net.*,-net.dns": a '-' stands
    // in front of those that are not wanted. If empty, all but those with the
    // tag "slow" or "debug".
    std::string categories;
    // Of what has not been written yet. If it is full, packets are lost.
    size_t buffer_size = 32 << 20;
    // With kRingBuffer, the buffer is written at the end, and has the last
    // events by then.
    BufferFillPolicy fill_policy = BufferFillPolicy::kDiscard;
    // 0 for as long as the object exists.
    uint32_t duration_ms = 0;
    // How often what has been recorded is written.
    uint32_t write_period_ms = 1000;
    // What threads write to before it gets to the buffer.
    size_t shared_memory_size = 8 << 20;
    // What a thread does if that is full.
    BufferExhaustedPolicy exhausted_policy = BufferExhaustedPolicy::kDrop;
  };

  // Begins to record into a file, or where |options| say.
  explicit LocalTrace(const std::string& path);
  explicit LocalTrace(Options options);
  // Stop(), if that was not called.
  ~LocalTrace();

  LocalTrace(const LocalTrace&) = delete;
  LocalTrace& operator=(const LocalTrace&) = delete;

  // Writes what there is, and ends recording. Returns error().empty(). Any
  // thread; if several call it, each returns when that is done.
  bool Stop();

  // Why it does not record, or not all that it records is written: there is
  // nothing to write to, or no memory, or this program records as many sessions
  // as it can (31), for example. Empty if all is well. Any thread.
  std::string error() const;
  // Counts the packets recorded and lost. After Stop() the counts are exact:
  // packets_begun() is packets_read() + lost().total(), and nothing is added
  // any more. The read ones were given to the file or sink, the last of which
  // it may not have taken: error() says so. Empty if there is no memory for it.
  // Any thread.
  TraceStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_LOCAL_TRACE_H_
