// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_WRITERS_H_
#define INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_WRITERS_H_

#include <stdint.h>

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/message.h"
#include "protozero/message_handle.h"
#include "protozero/tracing/data_source.h"
#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/trace_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Base class of the state that a data source keeps for each thread and session,
// for example the strings that it has interned.
class TraceContextState {
 public:
  virtual ~TraceContextState() = default;
};

namespace internal PROTOZERO_HIDDEN {
class ReadyWriter;
}  // namespace internal PROTOZERO_HIDDEN

// One thread's writer and state for one session. DataSourceWriters::Trace()
// passes it to its callback.
class TraceContext {
 public:
  // Return the session, as the data source sees it, and the thread's writer.
  const DataSourceInstance& instance() const { return *instance_; }
  TraceWriter& writer() { return *writer_; }

  // Returns the state that the data source keeps here; null at first. It is
  // destroyed with the session, or with the thread's writers.
  TraceContextState* state() const { return state_.get(); }
  void set_state(std::unique_ptr<TraceContextState> state) {
    state_ = std::move(state);
  }

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

  // Returns whether this is the first call, for this writer, since it was
  // created or since the service asked to clear incremental state. If so, the
  // next packet has to say SEQ_INCREMENTAL_STATE_CLEARED, and the program has
  // to write again what it had interned.
  bool TakeIncrementalStateCleared() {
    if (PROTOZERO_LIKELY(!is_incremental_state_cleared()))
      return false;
    clears_seen_ = instance_->num_clears_.load(std::memory_order_relaxed);
    return true;
  }
  // Returns whether the next TakeIncrementalStateCleared() returns true.
  bool is_incremental_state_cleared() const {
    return clears_seen_ !=
           instance_->num_clears_.load(std::memory_order_relaxed);
  }
  // Returns how often the service had asked to clear when
  // TakeIncrementalStateCleared() was last called. REQUIRES: it was called.
  uint64_t num_clears() const { return clears_seen_; }

  // Returns the number of chunks after which a data source that interns strings
  // should say SEQ_INCREMENTAL_STATE_CLEARED by itself. A ring buffer
  // overwrites the chunks in which it said them last, and what follows is of no
  // use then. This is less than a hundredth of the ring for all writers
  // together, but at least a chunk, and at most kMaxChunksOfSequence. Takes no
  // lock.
  uint32_t MaxChunksOfSequence() const;
  // The number for buffers that are not read at the end.
  static constexpr uint32_t kMaxChunksOfSequence = 16;

  // Describes extensions of the trace's messages that the data source writes,
  // for readers that do not know them. Writes a packet with |descriptor_set|,
  // an encoded FileDescriptorSet, unless a writer of the session has done so
  // since the service last asked to clear incremental state. If one has, this
  // costs two loads, so it may be called before each packet. |descriptor_set|
  // is the same in each call for one data source. The option descriptors=true
  // of the plugin makes a class return it:
  //
  //   context.DescribeExtensions(QueryPacket::DescriptorSet());
  //
  // Several sets, one after the other, are one set, too. REQUIRES: no packet
  // is open.
  void DescribeExtensions(ConstBytes descriptor_set) {
    const uint32_t clears =
        instance_->num_clears_.load(std::memory_order_relaxed);
    uint32_t described_at =
        instance_->described_at_.load(std::memory_order_relaxed);
    if (PROTOZERO_UNLIKELY(described_at != clears))
      DescribeExtensionsSlowPath(descriptor_set, described_at, clears);
  }

 private:
  friend class DataSourceWriters;
  TraceContext() = default;

  void DescribeExtensionsSlowPath(ConstBytes descriptor_set,
                                  uint32_t described_at,
                                  uint32_t clears);

  // These members have this order because the writer must end before its
  // instance.
  std::shared_ptr<DataSourceInstance> instance_;
  std::unique_ptr<TraceWriter> writer_;
  std::unique_ptr<TraceContextState> state_;
  // The value of DataSourceInstance::num_clears_ at the last look. Before the
  // first look, a value that the counter cannot have.
  uint64_t clears_seen_ = UINT64_MAX;
};

// One thread's writers for a data source, one for each session. They follow the
// sessions as these come and go; creating and destroying a writer takes a lock.
// Usually thread_local. One thread at a time.
//
// A signal handler may call Trace() of the writers of the thread that it
// interrupts. If the thread is in a call itself, its writers are busy: the
// handler's call then only counts one packet as lost in each session, as
// LossReason::kWriterBusy. REQUIRES, in a handler: the thread has called
// Trace() since the session began, because a call that creates a writer
// allocates and takes a lock; and the signal did not interrupt a function of
// Producer, or of the writers of another data source.
class DataSourceWriters {
 public:
  // Creates no writers yet.
  explicit DataSourceWriters(std::shared_ptr<DataSource> source);
  // Leaves the writers to other threads, which go on in the same chunks and
  // sequences of packets. If they have lost packets, or cannot be left, commits
  // all packets. Flush() does so in any case.
  ~DataSourceWriters();

  DataSourceWriters(const DataSourceWriters&) = delete;
  DataSourceWriters& operator=(const DataSourceWriters&) = delete;

  // Calls |write(TraceContext&)| for each session that records the data source.
  // The context and its packets are valid during the call. If |write| calls
  // Trace() of this object, that call loses its packets as a signal handler's
  // call would.
  template <typename Write>
  PROTOZERO_HIDDEN void Trace(Write&& write) {
    // A copy can be in registers. If the address of |write| were taken, the
    // compiler would store it before the branch that usually skips the call.
    constexpr bool kIsPassedByValue =
        !std::is_lvalue_reference<Write>::value &&
        std::is_trivially_copyable<std::decay_t<Write>>::value &&
        sizeof(Write) <= 2 * sizeof(void*);
    using Passed = std::conditional_t<kIsPassedByValue, Write, Write&>;
    const uint32_t state = source_->state_.load(std::memory_order_relaxed);
    if (PROTOZERO_UNLIKELY(state != idle_state_))
      TraceToSessions<Passed>(state, write);
  }

  // Traces without a call. For functions that are out of line themselves, and
  // do little else.
  template <typename Write>
  PROTOZERO_ALWAYS_INLINE void TraceInline(Write&& write) {
    const uint32_t state = source_->state_.load(std::memory_order_relaxed);
    if (PROTOZERO_LIKELY(state != idle_state_))
      TraceToSessionsInline(state, write);
  }

  // Commits all packets.
  void Flush();

  // Returns the losses of this thread in all sessions so far. See TraceWriter.
  PacketLosses losses() const;
  uint64_t packets_lost() const { return losses().total(); }
  uint64_t bytes_lost() const { return losses().bytes; }

 private:
  friend class internal::ReadyWriter;

  // Writes to the sessions. It is out of line, so that a call of Trace() needs
  // no more registers or code for it.
  template <typename Write>
  PROTOZERO_HIDDEN PROTOZERO_NOINLINE void TraceToSessions(uint32_t state,
                                                           Write write) {
    TraceToSessionsInline<Write>(state, write);
  }
  template <typename Write>
  PROTOZERO_ALWAYS_INLINE void TraceToSessionsInline(uint32_t state,
                                                     Write& write) {
    if (PROTOZERO_UNLIKELY(state !=
                           seen_state_.load(std::memory_order_relaxed)) &&
        !FollowSessions()) {
      return;
    }
    const Busy busy(&seen_state_, DataSource::kTracing);
    for (TraceContext& context : contexts_)
      write(context);
  }

  // Marks the writers as busy. While it exists, |seen_state_| has another
  // value, so that a signal handler that traces gets into FollowSessions(), and
  // no further. A handler that runs just before leaves everything in order.
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
    uint32_t before() const { return before_; }

   private:
    std::atomic<uint32_t>* const seen_state_;
    uint32_t before_;
  };

  // Makes the contexts match the sessions. Returns false if the writers are
  // busy; then it has counted the call.
  PROTOZERO_NOINLINE bool FollowSessions();
  // Does it if sessions have started or stopped since the last time.
  void FollowChanges();
  void RemoveStoppedSessions();
  // Adds one context. Returns whether another session may have started.
  bool AddStartedSession();
  // Destroys the context's writer.
  void RemoveContext(TraceContext* context);
  // Leaves the context's writer to another thread. Returns false if that is not
  // possible.
  bool LeaveWriter(TraceContext* context, uint32_t seen_state);

  const std::shared_ptr<DataSource> source_;
  // The data source's state when it is off and this object has nothing to
  // release.
  uint32_t idle_state_ = DataSource::kNoState;
  // The data source's state that |contexts_| match. kTracing while a call uses
  // them; kFollowing while a call changes them.
  mutable std::atomic<uint32_t> seen_state_{DataSource::kNoState};
  // The value of DataSource::instance_changes_ that they match. Before the
  // first look, and if a writer is missing, a value that it does not have.
  uint32_t changes_seen_ = UINT32_MAX;
  std::vector<TraceContext> contexts_;
  // The number of calls of Trace() during such a change that no writer has
  // counted as losses yet.
  std::atomic<uint32_t> calls_while_following_{0};
  // The losses of writers that are gone.
  PacketLosses losses_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_WRITERS_H_
