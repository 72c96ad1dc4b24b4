// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_PRODUCER_H_
#define INCLUDE_PROTOZERO_TRACING_PRODUCER_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "protozero/compiler.h"
#include "protozero/message.h"
#include "protozero/message_handle.h"
#include "protozero/namespace.h"
#include "protozero/tracing/data_source.h"
#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"

// A program that traces, connected to a tracing service in another process:
// Perfetto's `traced`, or a ServiceHost.
//
//   // For the life of the program.
//   static auto& source =
//       *new std::shared_ptr<DataSource>(new DataSource({"my.events"}));
//   static auto& producer = *new Producer(Producer::Options());
//   producer.RegisterDataSource(source);
//
//   // In each thread.
//   thread_local DataSourceWriters writers(source);
//   writers.Trace([&](TraceContext& context) {
//     auto packet = context.NewTracePacket<pbzero::TracePacket>();
//     packet->set_timestamp(now);
//   });
//
// The function is called once for each session that records the data source
// now. As long as there is none, Trace() is a relaxed load, a comparison, and a
// branch.
//
// What happens when something ends, in whatever order:
// - The service dies, or drops the connection: the sessions stop, threads lose
//   what they write until they notice, in their next Trace(), and the producer
//   tries to connect again. There is no signal; a writer that waits for memory
//   waits until its time is over.
// - A thread exits: its writers commit what they have.
// - The producer is destroyed, or the program exits, while other threads trace:
//   what they have committed arrives, and so do, if the service scrapes, their
//   other packets that are complete. They notice in their next Trace().
// - fork(): the parent goes on. In the child, the producer is disconnected for
//   good and data sources are off; it shares no memory with the service any
//   more, and what it writes with what it has left of the parent is lost. It
//   may make a producer of its own and register new data sources.
// - exec(): nothing is passed on.

namespace protozero {
PROTOZERO_ABI_BEGIN

class DataSource;
class DataSourceWriters;
class Producer;
class TraceContext;

namespace internal {
class ServiceConnection;
}  // namespace internal

// One session's use of a data source. Any thread.
class DataSourceInstance {
 public:
  DataSourceInstance(DataSourceInstanceID id,
                     DataSourceConfig config,
                     std::shared_ptr<internal::ServiceConnection> connection);
  ~DataSourceInstance();

  // Unique as long as the connection lasts.
  DataSourceInstanceID id() const { return id_; }
  const DataSourceConfig& config() const { return config_; }

 private:
  friend class DataSourceWriters;
  friend class Producer;
  friend class TraceContext;

  const DataSourceInstanceID id_;
  const DataSourceConfig config_;
  const std::shared_ptr<internal::ServiceConnection> connection_;
  // How often the service has asked to clear incremental state.
  std::atomic<uint32_t> num_clears_{0};
};

// Something that can be traced, under the name by which sessions ask for it.
// Derive from it to hear of sessions. Outlives its registration: producers and
// DataSourceWriters keep it alive.
class DataSource {
 public:
  // |policy| is what writers do when the memory is full, whatever the sessions
  // want. The service is told when instances have started and stopped, whatever
  // |descriptor| says. REQUIRES: |descriptor.name| is not empty.
  explicit DataSource(
      DataSourceDescriptor descriptor,
      std::optional<BufferExhaustedPolicy> policy = std::nullopt);
  virtual ~DataSource();

  DataSource(const DataSource&) = delete;
  DataSource& operator=(const DataSource&) = delete;

  const DataSourceDescriptor& descriptor() const { return descriptor_; }

  // Whether a session records it: to spare work that is in vain otherwise. Any
  // thread.
  bool is_enabled() const {
    return (state_.load(std::memory_order_relaxed) & kEnabled) != 0;
  }

 protected:
  // Called on the producer's thread, which reads what the service says: they
  // must not take long, nor destroy the producer. They may trace, with
  // DataSourceWriters that belong to that thread.

  // Before OnStart(): another session may be ready long before it starts.
  virtual void OnSetup(const DataSourceInstance&) {}
  // From now on, threads write to it.
  virtual void OnStart(const DataSourceInstance&) {}
  // From now on, no thread begins to write to it. What has been written by then
  // is part of the trace if it has been committed when this returns, or if the
  // service can scrape it.
  virtual void OnStop(const DataSourceInstance&) {}
  // What has been committed when this returns is part of what is flushed, and
  // so are the complete packets of threads that are not in the middle of one;
  // these others let go of their chunks in their next Trace().
  virtual void OnFlush(const DataSourceInstance&, FlushFlags) {}
  // See TraceContext::TakeIncrementalStateCleared().
  virtual void OnClearIncrementalState(const DataSourceInstance&) {}

 private:
  friend class DataSourceWriters;
  friend class Producer;

  // What changes whenever threads have to take notice of something: a counter,
  // and a bit.
  static constexpr uint32_t kEnabled = 1;
  static constexpr uint32_t kStateStep = 4;
  // No values that the counter takes.
  static constexpr uint32_t kNoState = 2;
  static constexpr uint32_t kTracing = 3;
  static constexpr uint32_t kFollowing = 6;

  // REQUIRES: ClientLock() of the implementation is held.
  void ChangeState();

  const DataSourceDescriptor descriptor_;
  const std::optional<BufferExhaustedPolicy> policy_;
  std::atomic<uint32_t> state_{0};
  // Those that have been started. Guarded by that lock.
  std::vector<std::shared_ptr<DataSourceInstance>> instances_;
};

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

// The connection to the service, kept up by a thread of its own, which runs as
// long as the object exists. Any thread, but for the constructor and the
// destructor.
class Producer {
 public:
  // Whose service it uses. A service can end the process of its producers (by
  // making the memory that they share shorter), and gets what they trace.
  enum class ServiceOwner {
    // Root's or one's own (by the effective user) where anybody can listen: in
    // the abstract namespace, and in folders that others than their owner may
    // write to, as /tmp. Elsewhere, whoever owns the folder is believed.
    kRootOrSelfWhereAnybodyCanListen,
    // Root's or one's own, everywhere.
    kRootOrSelf,
    kAnybody,
  };

  struct Options {
    // Sessions can select producers by it.
    std::string name;
    // A path, or '@' and a name in the abstract namespace. If empty,
    // PERFETTO_PRODUCER_SOCK_NAME in the environment, or else where a system's
    // service is: /run/perfetto/traced-producer.sock or /tmp/perfetto-producer.
    std::string socket;
    // Another one's service is treated as if there was none.
    ServiceOwner service_owner = ServiceOwner::kRootOrSelfWhereAnybodyCanListen;
    // In bytes. What the service is asked for; 0 leaves it to the service. Not
    // every size is possible; see SharedMemoryABI.
    size_t shared_memory_size = 0;
    size_t page_size = 0;
    // How many chunks share a page: more chunks for more threads.
    SharedMemoryABI::PageLayout page_layout = SharedMemoryABI::kPageDiv1;
    // How long a writer waits whose policy is kStall.
    uint32_t stall_timeout_ms = 3000;
    // Finished chunks are committed after this time at the latest, if not when
    // half of the memory is full of them.
    uint32_t commit_period_ms = 100;
    // A thread that writes nothing for so long gives up the chunk that it has
    // begun; at the latest after twice that time. 0 for never. Needs
    // membarrier(2).
    uint32_t idle_period_ms = 1000;
    // The pause before it connects again, which doubles until it reaches this.
    // With 0, it tries once.
    uint32_t max_reconnect_pause_ms = 10000;
    // Whether the service may look at chunks that have not been committed. It
    // is what lets it see the last packets of threads that do not write any
    // more, and of processes that were killed.
    bool scraping = true;
  };

  enum class State {
    // Looking for a service, or introducing itself to one.
    kConnecting,
    kConnected,
    // It will not try again, or is in a child process.
    kDisconnected,
  };

  // What keeps it from tracing. Those up to kNoDescriptors may pass: it tries
  // again, unless it is kDisconnected.
  enum class OffReason {
    // Nothing: sessions get what they ask for.
    kNone,
    // The first attempt to connect has not ended.
    kConnecting,
    // Nobody listens at the address, or nobody may connect to it.
    kNoService,
    // The service is not one of those that Options::service_owner accepts.
    kNotTrusted,
    // The service has ended the connection before it let this program trace.
    kRefused,
    // The service was there, and is gone.
    kConnectionLost,
    // A session wanted something, and there was no memory to share: the service
    // could not create it, or this process could not map it.
    kNoSharedMemory,
    // An allocation has failed in this process.
    kOutOfMemory,
    // This process may open no more files, or the system may not.
    kNoDescriptors,
    // The system gave this process no thread.
    kNoThread,
    // This is a child process, after fork().
    kForked,
  };

  // Starts connecting, and does not wait for it.
  explicit Producer(Options options);
  // Stops all sessions of its data sources, commits, and disconnects. Waits up
  // to a second for a service that does not read.
  ~Producer();

  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  State state() const;

  // Why sessions get nothing from this program, or not all that they ask for.
  // kNone does not say that there is a session; see DataSource::is_enabled().
  // Where several things went wrong, the last one.
  OffReason off_reason() const;
  // The same, for people: with the address, and with what the system said.
  // Empty if it is kNone.
  //
  //   if (!producer.Sync(1000))
  //     fprintf(stderr, "not traced: %s\n", producer.why_off().c_str());
  std::string why_off() const;

  // How often it has been kConnected.
  uint32_t num_connections() const;

  // Offers |source| to the service, now and whenever it is connected again.
  // Returns false if there is no memory to remember it: then it stays off.
  // REQUIRES: it is registered with no other producer, and no other one of that
  // name with this.
  bool RegisterDataSource(std::shared_ptr<DataSource> source);
  // Its sessions stop.
  void UnregisterDataSource(const std::shared_ptr<DataSource>& source);

  // Waits until all that was asked of the service before has taken effect:
  // until it is connected, and the registered data sources are enabled which a
  // running session records. Returns false if that takes longer than
  // |timeout_ms|, if the connection is lost, or if a session gets nothing for
  // want of shared memory. If it returns true, off_reason() is kNone, unless a
  // thread has no memory for a writer, which it tries again with each flush.
  // REQUIRES: not called by a function of DataSource.
  bool Sync(uint32_t timeout_ms);

  // Tells the service that something has happened that a session may have been
  // waiting for. Lost if not connected.
  void ActivateTrigger(const std::string& name);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_PRODUCER_H_
