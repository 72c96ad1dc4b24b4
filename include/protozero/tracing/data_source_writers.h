// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_WRITERS_H_
#define INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_WRITERS_H_

#include <stdint.h>

#include <atomic>
#include <memory>
#include <type_traits>
#include <vector>

#include "protozero/message.h"
#include "protozero/message_handle.h"
#include "protozero/tracing/data_source.h"
#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/trace_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// What one thread writes to one session. Given out by
// DataSourceWriters::Trace().
class TraceContext {
 public:
  const DataSourceInstance& instance() const { return *instance_; }
  TraceWriter& writer() { return *writer_; }

  // Begins a packet. See TraceWriter::NewTracePacket().
  template <typename T = Message>
  MessageHandle<T> NewTracePacket() {
    return writer_->NewTracePacket<T>();
  }

  // Writes a packet of some fields. See TraceWriter::WriteTracePacket().
  template <typename T, typename... Values>
  PROTOZERO_ALWAYS_INLINE void WriteTracePacket(const Values&... values) {
    writer_->WriteTracePacket<T>(values...);
  }

  // Whether this is the first call, for this writer, since it was created or
  // since the service asked to clear incremental state: the next packet has to
  // say SEQ_INCREMENTAL_STATE_CLEARED, and what was interned is to be written
  // again.
  bool TakeIncrementalStateCleared() {
    const uint64_t clears =
        instance_->num_clears_.load(std::memory_order_relaxed);
    if (PROTOZERO_LIKELY(clears_seen_ == clears))
      return false;
    clears_seen_ = clears;
    return true;
  }

 private:
  friend class DataSourceWriters;
  TraceContext() = default;

  // In this order: the writer goes first.
  std::shared_ptr<DataSourceInstance> instance_;
  std::unique_ptr<TraceWriter> writer_;
  // DataSourceInstance::num_clears_ when it was looked at last; more than that
  // can be, if it never was.
  uint64_t clears_seen_ = UINT64_MAX;
};

// One thread's writers for a data source: one for each session. Follows the
// sessions as they come and go; creating and destroying writers takes a lock.
// Usually thread_local. One thread at a time.
//
// A signal handler may call Trace() of the writers of the thread that it
// interrupts. If that thread is in a call itself, its writers are busy: then
// the handler's call does nothing but count a packet as lost, for each session,
// as LossReason::kWriterBusy. REQUIRES, in a handler: the thread has called
// Trace() since the session began, for a call that creates a writer allocates
// and takes a lock; and it was not interrupted in a function of Producer, or of
// the writers of another data source.
class DataSourceWriters {
 public:
  explicit DataSourceWriters(std::shared_ptr<DataSource> source);
  // Commits what has been written.
  ~DataSourceWriters();

  DataSourceWriters(const DataSourceWriters&) = delete;
  DataSourceWriters& operator=(const DataSourceWriters&) = delete;

  // Calls |write(TraceContext&)| for each session that records the data source.
  // The context is valid during the call, and so are packets. If |write| calls
  // Trace() of this object, that is lost as if a signal handler had called it.
  template <typename Write>
  void Trace(Write&& write) {
    // In registers if possible: if it had an address, it would be stored there
    // before it is known whether it is called at all.
    constexpr bool kIsPassedByValue =
        !std::is_lvalue_reference<Write>::value &&
        std::is_trivially_copyable<std::decay_t<Write>>::value &&
        sizeof(Write) <= 2 * sizeof(void*);
    using Passed = std::conditional_t<kIsPassedByValue, Write, Write&>;
    const uint32_t state = source_->state_.load(std::memory_order_relaxed);
    if (PROTOZERO_UNLIKELY(state != idle_state_))
      TraceToSessions<Passed>(state, write);
  }

  // Commits what has been written.
  void Flush();

  // What this thread has lost, in all sessions so far. See TraceWriter.
  PacketLosses losses() const;
  uint64_t packets_lost() const { return losses().total(); }
  uint64_t bytes_lost() const { return losses().bytes; }

 private:
  // Not inline, so that it costs the caller neither registers nor code.
  template <typename Write>
  PROTOZERO_NOINLINE void TraceToSessions(uint32_t state, Write write) {
    if (PROTOZERO_UNLIKELY(state !=
                           seen_state_.load(std::memory_order_relaxed)) &&
        !FollowSessions()) {
      return;
    }
    const Busy busy(&seen_state_, DataSource::kTracing);
    for (TraceContext& context : contexts_)
      write(context);
  }

  // In its scope, |seen_state_| is another value, so that a signal handler
  // which traces gets to FollowSessions(), and goes no further. A handler that
  // comes just before finds everything in order, and leaves it so.
  class Busy {
   public:
    Busy(std::atomic<uint32_t>* seen_state, uint32_t while_busy)
        : seen_state_(seen_state),
          before_(seen_state->load(std::memory_order_relaxed)) {
      seen_state->store(while_busy, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~Busy() {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      seen_state_->store(before_, std::memory_order_relaxed);
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    void set_before(uint32_t state) { before_ = state; }

   private:
    std::atomic<uint32_t>* const seen_state_;
    uint32_t before_;
  };

  // Returns false if the writers are busy. Then the call is counted.
  PROTOZERO_NOINLINE bool FollowSessions();
  // Returns the state that this is about.
  uint32_t RemoveStoppedSessions();
  // Returns whether there may be more.
  bool AddStartedSession();
  // Destroys the writer.
  void RemoveContext(TraceContext* context);

  const std::shared_ptr<DataSource> source_;
  // The data source's state when it is off and there is nothing to let go of.
  uint32_t idle_state_ = DataSource::kNoState;
  // The data source's state that |contexts_| are up to date with; kTracing
  // while they are used; kFollowing while they change.
  mutable std::atomic<uint32_t> seen_state_{DataSource::kNoState};
  std::vector<TraceContext> contexts_;
  // Calls of Trace() while they changed, which have not been counted as losses.
  std::atomic<uint32_t> calls_while_following_{0};
  // By writers that are gone.
  PacketLosses losses_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_WRITERS_H_
