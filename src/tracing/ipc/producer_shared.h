// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_SHARED_H_
#define SRC_TRACING_IPC_PRODUCER_SHARED_H_

#include <stdint.h>

#include <condition_variable>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/data_source.h"
#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/producer_status.h"
#include "src/tracing/ipc/unix_socket.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// What the threads that call a Producer share with the producer's own thread.
// Guarded by ClientLock(), but for the first three members.
struct ProducerShared {
  ProducerShared(Producer::Options the_options, ScopedFd connected)
      : options(std::move(the_options)),
        connected_socket(std::move(connected)) {}

  // Why the producer does not trace, even at a moment when |status| does not
  // know it yet.
  Producer::OffReason off_reason() const {
    using OffReason = Producer::OffReason;
    const OffReason reason = status.off_reason();
    if (reason != OffReason::kNone)
      return reason;
    if (connection == nullptr)
      return OffReason::kConnectionLost;
    return connection->lacks_writer() ? OffReason::kOutOfMemory : reason;
  }

  const Producer::Options options;
  // If valid, the connection that the producer's thread takes, and the only one
  // that there will be. Then that thread's.
  ScopedFd connected_socket;
  // Set before the thread starts.
  std::string socket;

  std::vector<std::shared_ptr<DataSource>> sources;
  // Null unless the producer is connected.
  std::shared_ptr<ProducerIpcClient> connection;
  ProducerStatus status;
  // The last request that the service has answered and Sync() may wait for.
  uint64_t synced_request = 0;
  // How many attempts to connect have failed, and whether the next one is to be
  // made without a pause.
  uint32_t failed_attempts = 0;
  bool is_in_a_hurry = false;
  // The thread is to end.
  bool is_stopping = false;
  // A thread that has made a producer has ended: there may be no other one left
  // of the program. Until then, nobody has to look.
  bool watches_threads = false;
  // In a child process: nothing of this may be destroyed, for other threads of
  // the parent may have been using it.
  bool is_abandoned = false;
  // Interrupts the thread's poll(). Closed until there is a descriptor for it.
  WakeupFd wakeup;
  // Notified when one of the above has changed.
  std::condition_variable changed;

  // Of the list in producer_fork.cc.
  ProducerShared* next = nullptr;
};

// Tells the service of the data source. REQUIRES: ClientLock(); there is a
// connection.
void OfferDataSource(const DataSource& source, ProducerIpcClient* connection);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_SHARED_H_
