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

// The work of each node of Skynet when it begins and when it ends.

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

// A slice on the node's own track, whose id is the node's.
//
// Fibers are many and threads are few, so the writers are the threads'. A fiber
// may go on in another thread than it was suspended in: it keeps nothing of a
// thread, neither a packet nor the address of a thread-local variable, which a
// compiler would gladly keep for it. Hence the functions that are not inline:
// they look for the thread they are in, and no fiber is suspended in them.
//
// Threads may be many, too, and gone soon. A writer is announced to the service
// and takes a chunk with it when it goes, which is more than such a thread does
// otherwise; so a thread leaves its writer to the next one.
//
// For one session.
class SkynetTracer {
 private:
  // One thread at a time has it.
  struct Writer {
    Writer(const std::shared_ptr<DataSource>& source,
           const TraceClock* trace_clock);

    // Says what viewers need, too.
    [[gnu::noinline]] void WriteFirstBegin(TraceContext* context, uint64_t id);

    DataSourceWriters writers;
    const TraceClock* const clock;
    uint64_t events_written = 0;
    // The losses when the interned data was written last.
    uint64_t losses_seen = 0;
  };

 public:
  static constexpr uint64_t kEventName = 1;
  static constexpr char kEventNameText[] = "fiber";

  // The state of a thread while it runs nodes. Its constructor needs more stack
  // than a fiber may have, so it runs on the thread's stack. One for each
  // thread.
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

  // When all threads are gone: commits what they have written.
  struct Totals {
    uint64_t events_written = 0;
    uint64_t events_lost = 0;
  };
  Totals Finish();

 private:
  [[gnu::noinline]] static void WriteBegin(uint64_t id);
  [[gnu::noinline]] static void WriteEnd(uint64_t id);
  // The thread's that calls.
  static thread_local Writer* this_thread_;

  const std::shared_ptr<DataSource> source_;
  const TraceClock* const clock_;

  std::mutex lock_;
  // Those that no thread has now.
  std::vector<std::unique_ptr<Writer>> writers_;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_SKYNET_TRACER_H_
