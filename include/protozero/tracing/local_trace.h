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

// Records the events of this program to a file, as long as the object exists:
//
//   protozero::LocalTrace trace("out.pftrace");
//
// It consists of a session, the service that runs it, and the connection
// between them: two threads, and memory that they share with the threads that
// trace. The connection has no name, so no other process can take part. When
// the constructor returns, events are being recorded. When the destructor
// returns, the file has the events from before its call, also those of threads
// that have ended or still run.
//
// Several may exist at once, besides a Producer for a system's service: each
// gets all events that it wants.
//
// Every write period, and when the buffer is half full, whole packets are
// appended to the file, which ends with one if the disk becomes full. A program
// that is killed, or that ends without the destructor, loses what it has
// written since then, unless it has Options::flight_recorder. In a child
// process, after fork(), the object does nothing, and events are off.
//
// Nothing throws, and nothing raises a signal: neither a pipe without a reader
// nor a limit for the size of files. If the system has no memory, thread or
// descriptor for it, error() says so, and the program goes on. If the program
// closes the object's descriptors, as daemons do, or puts files of its own in
// their place, recording ends, error() says so, and these files stay as they
// are. A flight recorder needs none. Without exceptions, this does not
// hold if a container of the standard library found no memory.
class LocalTrace {
 public:
  // Takes |size| bytes, which continue those of the last call. Returns false,
  // or throws std::bad_alloc, if it cannot; then recording ends. A thread of
  // the LocalTrace calls it. Must not call Stop().
  using Sink = std::function<bool(const uint8_t* data, size_t size)>;

  // The output of a trace, and its content.
  struct Options {
    // The output: exactly one of these. A file is created, or made empty, and
    // locked until Stop(); it is an error if it is a FIFO that nothing reads,
    // or the file of a recording that goes on. A descriptor is not closed.
    std::string path;
    int fd = -1;
    Sink sink;
    // A file that threads write to by themselves: it has the last events at any
    // time, whatever ends the program. Then the object has no service and no
    // thread. `pztrace recover` makes a trace of the file. A file that is there
    // is kept as |flight_recorder|.last; or, if another user has taken that
    // name, as |flight_recorder|.last.1, and so on. Only this user can read it.
    // A device or a FIFO in its place is an error.
    std::string flight_recorder;
    // True for a flight recorder without a file, in memory, which Snapshot()
    // and core dumps save.
    bool flight_recorder_in_memory = false;

    // Patterns with commas between them, such as "app,net.*,-net.dns". A '-'
    // stands before unwanted ones. If empty, all categories are wanted except
    // those with the tag "slow" or "debug".
    std::string categories;
    // The size of the buffer for packets that are not written yet. They are
    // written when it is half full. If the output is so slow that the other
    // half fills meanwhile, packets are lost. The size of a flight recorder's
    // file: if it is full, the oldest events are overwritten; the options below
    // have no meaning for it.
    size_t buffer_size = 32 << 20;
    // The policy when the buffer is full. With kRingBuffer, the buffer is
    // written at the end, and has the last events by then.
    BufferFillPolicy fill_policy = BufferFillPolicy::kDiscard;
    // The duration; 0 for as long as the object exists.
    uint32_t duration_ms = 0;
    // The period after which recorded packets are written at the latest.
    uint32_t write_period_ms = 1000;
    // The size of the memory that threads write to. Its data go to the buffer.
    // Threads begin at its front: memory that no burst has needed costs
    // nothing, and what a burst has needed is given back.
    size_t shared_memory_size = 32 << 20;
    // The policy of a thread when that memory is full.
    BufferExhaustedPolicy exhausted_policy = BufferExhaustedPolicy::kDrop;

    // True to record also when each thread of the program runs, is preempted
    // and waits, as `pztrace record --scheduling` does from outside. It takes
    // another thread, and a descriptor for each thread of the program and
    // processor; children are not recorded.
    bool scheduling = false;
    // The number of samples of stacks in a second of processor time; 0 for
    // none. Where the kernel forbids its events, timers take them: each thread
    // gets a real-time signal that the program has no handler for, and calls
    // such as poll() may return EINTR.
    uint32_t samples_hz = 0;
  };

  // Begins to record into a file, or where |options| say.
  explicit LocalTrace(const std::string& path);
  explicit LocalTrace(Options options);
  // Calls Stop(), if the program has not done so.
  ~LocalTrace();

  LocalTrace(const LocalTrace&) = delete;
  LocalTrace& operator=(const LocalTrace&) = delete;

  // Writes all remaining packets, and ends recording. Returns error().empty().
  // Any thread; if several call it, each returns when that is done.
  bool Stop();

  // Writes a copy of a flight recorder to |path|, while threads go on to trace:
  // all events that were finished before the call and not overwritten. `pztrace
  // recover` makes a trace of it. A file that is there is replaced. Returns
  // false, and sets errno, if that does not work; EBUSY if another call is
  // under way, EINVAL if |path| is a recorder's own file, or a link, a FIFO, a
  // device or anything else but a regular file; EFBIG, without a signal, at the
  // limit for the size of files. Waits for nothing but the disk. Any thread.
  // Also in a signal handler: it is async-signal-safe.
  bool Snapshot(const char* path) const;

  // Returns the reason why it does not record, or why not all that it records
  // is written, for example: there is nothing to write to, or no memory, or
  // this program already records as many sessions as it can (31). Empty if all
  // is well. Any thread.
  std::string error() const;
  // Returns why Options::scheduling or Options::samples_hz is not there, or
  // only in part, the least that allows it, and what is recorded instead. Empty
  // if they are recorded, or not wanted. Any thread.
  std::string scheduling_error() const;
  // Counts the packets recorded and lost; of a flight recorder, those that were
  // overwritten or could not be written. After Stop() the counts are exact and
  // final: packets_begun() is packets_read() + lost().total(). The packets read
  // were given to the file or sink. If it has not taken the last of them,
  // error() says so. The result is empty if there is no memory for it. Any
  // thread.
  TraceStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_LOCAL_TRACE_H_
