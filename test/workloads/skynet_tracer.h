// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_SKYNET_TRACER_H_
#define TEST_WORKLOADS_SKYNET_TRACER_H_

#include <stdint.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "protozero/tracing/producer.h"
#include "test/workloads/trace_clock.h"

// The tracer's work for each node of Skynet when it begins and when it ends.

namespace protozero::workloads {

// Compiled without instrumentation.
class NoSkynetTracer {
 public:
  class Thread {
   public:
    explicit Thread(NoSkynetTracer*) {}
    // Not trivial, to avoid warnings that the object is not used.
    ~Thread() {}
  };
  [[gnu::always_inline]] inline void Begin(uint64_t) {}
  [[gnu::always_inline]] inline void End(uint64_t) {}
};

// A tracer that writes a slice on the node's own track. The track's id is the
// node's id.
//
// There are many fibers and few threads, so each thread has a writer. A
// suspended fiber may continue in another thread. So it keeps nothing of a
// thread: no packet, and no address of a thread-local variable, which a
// compiler would like to keep for it. The functions that are not inline prevent
// that: they look for the current thread, and no fiber is suspended in them.
//
// There may also be many threads that end soon. Announcing a writer to the
// service, and the chunk that it takes with it at its end, cost more than the
// rest of such a thread's work. So a thread leaves its writer to the next one.
//
// Only for one session.
class SkynetTracer {
 private:
  // A thread's writer. Only one thread at a time has it.
  struct Writer {
    Writer(const std::shared_ptr<DataSource>& source,
           const TraceClock* trace_clock);

    // Writes the beginning of a node, and the data that viewers need.
    [[gnu::noinline]] void WriteFirstBegin(TraceContext* context, uint64_t id);

    DataSourceWriters writers;
    const TraceClock* const clock;
    uint64_t events_written = 0;
    // The losses at the time when the interned data was last written.
    uint64_t losses_seen = 0;
  };

 public:
  static constexpr uint64_t kEventName = 1;
  static constexpr char kEventNameText[] = "fiber";

  // The state of a thread while it runs nodes, one for each thread. Its
  // constructor needs more stack than a fiber may have, so it must run on the
  // thread's stack.
  class Thread {
   public:
    explicit Thread(SkynetTracer* tracer);
    ~Thread();

    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

   private:
    SkynetTracer* const tracer_;
    std::unique_ptr<Writer> writer_;
  };

  SkynetTracer(std::shared_ptr<DataSource> source, const TraceClock* clock)
      : source_(std::move(source)), clock_(clock) {}

  [[gnu::always_inline]] inline void Begin(uint64_t id) {
    if (__builtin_expect(source_->is_enabled(), false))
      WriteBegin(id);
  }
  [[gnu::always_inline]] inline void End(uint64_t id) {
    if (__builtin_expect(source_->is_enabled(), false))
      WriteEnd(id);
  }

  // The result of Finish(), which commits all events. REQUIRES: all threads are
  // gone.
  struct Totals {
    uint64_t events_written = 0;
    uint64_t events_lost = 0;
  };
  Totals Finish();

 private:
  [[gnu::noinline]] static void WriteBegin(uint64_t id);
  [[gnu::noinline]] static void WriteEnd(uint64_t id);
  // The writer of the calling thread.
  static thread_local Writer* this_thread_;

  const std::shared_ptr<DataSource> source_;
  const TraceClock* const clock_;

  std::mutex lock_;
  // The writers that no thread has now.
  std::vector<std::unique_ptr<Writer>> writers_;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_SKYNET_TRACER_H_
