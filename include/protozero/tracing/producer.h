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
// Trace() calls the function once for each session that records the data source
// now. While there is none, Trace() costs a relaxed load, a comparison and a
// branch.
//
// What happens at an end, in whatever order ends come:
// - The service dies, or drops the connection: the sessions stop, and the
//   producer tries to connect again. A thread loses what it writes until its
//   next Trace(), which notices. There is no signal; a writer that waits for
//   memory waits until its time is over.
// - A thread exits: its writers commit what they have.
// - The producer is destroyed, or the program exits, while other threads trace:
//   packets that they have committed arrive. If the service scrapes, their
//   other complete packets arrive, too. The threads notice in their next
//   Trace().
// - fork(): the parent goes on. In the child, the producer is disconnected for
//   good and its data sources are off. The child shares no memory with the
//   service any more; what it writes with writers of the parent is lost. It may
//   create a producer of its own and register new data sources.
// - dlclose() of a shared library that has a producer: it stays loaded.
// - exec(): the new program gets nothing of all this.

namespace protozero {
PROTOZERO_ABI_BEGIN

class LocalTrace;

// The connections to services. A thread of its own keeps them up for as long as
// the object exists. Any thread, except for the constructor and the destructor.
class Producer {
 public:
  // The owners of a service that the producer accepts. A service sees what its
  // producers trace, and can end their process (by truncating the memory that
  // they share).
  enum class ServiceOwner {
    // Root, or the effective user of this process, at addresses where anyone
    // can listen: in the abstract namespace, and in folders such as /tmp that
    // others than their owner may write to. Elsewhere any owner: there the
    // folder's owner decides who listens.
    kRootOrSelfWhereAnybodyCanListen,
    // Root, or the effective user of this process, everywhere.
    kRootOrSelf,
    kAnybody,
  };

  // The service that a producer looks for, and the memory that it shares.
  struct Options {
    // The name by which sessions can select producers. If empty, the program's
    // name: its first argument, without folders.
    std::string name;
    // The service's address: a path, or '@' and a name in the abstract
    // namespace. If empty, PERFETTO_PRODUCER_SOCK_NAME in the environment, or
    // else two places in turn: a recorder of this user (`pztrace record`), and
    // Perfetto's service at /run/perfetto/traced-producer.sock or
    // /tmp/perfetto-producer. In that case, and in programs that a recorder has
    // started, the producer also connects to up to 15 recorders of this user
    // that have names (`pztrace record --session`), as they come and go.
    std::string socket;
    // The accepted owners. The producer treats a service of another owner as if
    // there was none.
    ServiceOwner service_owner = ServiceOwner::kRootOrSelfWhereAnybodyCanListen;
    // The sizes, in bytes, that the producer asks the service for; 0 leaves
    // them to the service. Not every size is possible; see SharedMemoryABI.
    size_t shared_memory_size = 0;
    size_t page_size = 0;
    // The number of chunks that share a page. More threads need more chunks.
    SharedMemoryABI::PageLayout page_layout = SharedMemoryABI::kPageDiv1;
    // The time that a writer with the policy kStall waits.
    uint32_t stall_timeout_ms = 3000;
    // The time after which finished chunks are committed at the latest. The
    // producer's thread commits them, so that threads that trace need not call
    // the system. While threads fill chunks, it looks how much is finished
    // every millisecond, and commits 512 KB, or
    // a quarter of the memory if that is less. After this time without a
    // chunk, it sleeps; the thread that takes the next one wakes it.
    uint32_t commit_period_ms = 100;
    // The time after which a thread that writes nothing gives up the chunk that
    // it has begun, or twice that time at the latest. 0 for never. Needs
    // membarrier(2).
    uint32_t idle_period_ms = 1000;
    // The longest pause before connecting again. The first pause is short;
    // further ones double until they reach this. A recorder of this user ends
    // the pause when it comes. With 0, the producer tries once.
    uint32_t max_reconnect_pause_ms = 10000;
    // True if the service may look at chunks that have not been committed. Then
    // it sees the last packets of threads that write no more, and of processes
    // that were killed. If not, a thread that is in the middle of a packet when
    // a session ends keeps some packets before it, too. The ledger has an
    // unknown loss then.
    bool scraping = true;
  };

  // The state of the connection.
  enum class State {
    // The producer is looking for a service, or introducing this program to
    // one.
    kConnecting,
    kConnected,
    // The producer will not try again, or this is a child process.
    kDisconnected,
  };

  // The reason why the producer does not trace. The reasons up to
  // kNoDescriptors may pass: the producer tries again, unless it is
  // kDisconnected.
  enum class OffReason {
    // It does trace: sessions get what they ask for.
    kNone,
    // The first attempt to connect has not ended.
    kConnecting,
    // No service listens at the address, or this process may not connect to it.
    kNoService,
    // Options::service_owner does not accept the service's owner.
    kNotTrusted,
    // The service ended the connection before it let this program trace.
    kRefused,
    // The service was there, and is gone.
    kConnectionLost,
    // A session wanted something, and there was no memory to share: the service
    // could not create it, or this process could not map it.
    kNoSharedMemory,
    // An allocation in this process failed.
    kOutOfMemory,
    // The service has not answered Sync() in time. It may be busy.
    kTimedOut,
    // This process, or the whole system, may open no more files.
    kNoDescriptors,
    // The system gave this process no thread.
    kNoThread,
    // This is a child process, after fork().
    kForked,
    // A data source has refused a session, because it already records as many
    // as it can: see DataSource::Refuse(). The other sessions get what they ask
    // for. Passes when the refused session ends.
    kTooManySessions,
    // This program has closed the descriptor of the connection, as daemons do,
    // or put another file in its place. Passes: the producer connects again.
    kDescriptorTaken,
  };

  // Starts connecting, and does not wait for it.
  explicit Producer(Options options);
  // Stops all sessions of its data sources, commits, and disconnects. Waits up
  // to a second for a service that does not read.
  ~Producer();

  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Returns the current state, which another thread may be changing. Any
  // thread.
  State state() const;

  // Returns the reason why sessions get nothing from this program, or not all
  // that they ask for; the last reason if there are several. kNone does not
  // mean that there is a session: see DataSource::is_enabled().
  OffReason off_reason() const;
  // Returns the same as text for people, with the address and the system's
  // message. Empty if it is kNone.
  //
  //   if (!producer.Sync(1000))
  //     fprintf(stderr, "not traced: %s\n", producer.why_off().c_str());
  std::string why_off() const;

  // Returns the number of times that the state has become kConnected.
  uint32_t num_connections() const;

  // Offers |source| to the service, now and after every new connection. Usually
  // does not wait. In a program that `pztrace record` has started, and that
  // connects to the service of the environment, waits like Sync(), up to two
  // seconds in all, so that the program is recorded from its next event on.
  // Returns false if there is no memory to remember |source|, which then stays
  // off. Several producers may offer one data source. REQUIRES: this producer
  // has no other one of that name.
  bool RegisterDataSource(std::shared_ptr<DataSource> source);
  // Withdraws the data source. Its sessions stop.
  void UnregisterDataSource(const std::shared_ptr<DataSource>& source);

  // Waits until the service has done all that it was asked for before: until
  // this program is connected, and every registered data source that a running
  // session records is enabled. Returns false, and why_off() says why, if that
  // takes longer than |timeout_ms|, if the connection is lost, or if a session
  // gets nothing because there is no shared memory or a data source has refused
  // it. Without a connection, tries once to connect, and returns false at once
  // if that fails, for example because no service listens. If it returns true,
  // off_reason() is kNone, unless a thread has no memory for a writer; that
  // thread tries again with each flush. REQUIRES: not called by a function of
  // DataSource.
  bool Sync(uint32_t timeout_ms);

  // Tells the service about an event that a session may be waiting for. Does
  // nothing if there is no connection.
  void ActivateTrigger(const std::string& name);

 private:
  friend class LocalTrace;
  // Uses this connection to a service of this process, and no other one, and
  // closes it at the end. |options.socket| only tells people what it is.
  Producer(Options options, int connected_socket);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_PRODUCER_H_
