// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_PRODUCER_H_
#define INCLUDE_PROTOZERO_TRACING_PRODUCER_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>

#include "protozero/tracing/data_source.h"
#include "protozero/tracing/data_source_writers.h"
#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

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

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_PRODUCER_H_
