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

// The state of the connection to one service. Guarded by ClientLock(), except
// for |interrupted|.
struct ServicePlace {
  // Returns the reason why the program does not trace for that service, even at
  // a moment when |status| does not know it yet.
  Producer::OffReason off_reason() const {
    using OffReason = Producer::OffReason;
    const OffReason reason = status.off_reason();
    if (reason != OffReason::kNone)
      return reason;
    return connection != nullptr ? connection->off_reason()
                                 : OffReason::kConnectionLost;
  }
  bool is_connected() const {
    return status.state() == Producer::State::kConnected;
  }

  // The service's address, or the ones at which the producer looks for it, for
  // people. Empty before the first attempt, if the program has given none.
  std::string socket;
  // The connection; null unless the producer is connected.
  std::shared_ptr<ProducerIpcClient> connection;
  // The connection to a service that is gone, if its flight recorder goes on.
  std::shared_ptr<ProducerIpcClient> survivor;
  ProducerStatus status;
  // True while there is a connection, and the service has not answered yet.
  bool is_introducing = false;
  // The last request that the service has answered and Sync() may wait for.
  uint64_t synced_request = 0;
  // The data sources that were recording, once for each session, when the
  // program took the connection's socket away. Only for the producer's thread.
  std::vector<std::shared_ptr<DataSource>> interrupted;

  // The next place of the producer.
  ServicePlace* next = nullptr;
};

// The state that the threads that call a Producer share with the producer's own
// thread. Guarded by ClientLock(), except for the first two members.
struct ProducerShared {
  ProducerShared(Producer::Options the_options, ScopedFd connected)
      : options(std::move(the_options)),
        connected_socket(std::move(connected)) {}

  // Returns the state of all places together.
  Producer::State state() const {
    for (const ServicePlace* it = &main_place; it != nullptr; it = it->next) {
      if (it->is_connected())
        return Producer::State::kConnected;
    }
    return main_place.status.state();
  }
  // Returns the place that says why the producer is off; null if it is not. A
  // service that is not there matters only if no other one is.
  const ServicePlace* FindTrouble() const {
    using OffReason = Producer::OffReason;
    bool is_connected = false;
    for (const ServicePlace* it = &main_place; it != nullptr; it = it->next) {
      is_connected |=
          it->is_connected() && it->off_reason() != OffReason::kConnectionLost;
    }
    for (const ServicePlace* it = &main_place; it != nullptr; it = it->next) {
      const OffReason reason = it->off_reason();
      if (reason == OffReason::kNone ||
          (is_connected && (reason == OffReason::kConnecting ||
                            reason == OffReason::kNoService ||
                            reason == OffReason::kConnectionLost))) {
        continue;
      }
      return it;
    }
    return nullptr;
  }

  const Producer::Options options;
  // If valid, the only connection of this producer. The producer's thread takes
  // it, and owns it then.
  ScopedFd connected_socket;

  std::vector<std::shared_ptr<DataSource>> sources;
  // The place of the service that the producer looks for, and the head of the
  // list of places; the others are those of recorders with names.
  ServicePlace main_place;
  // The number of times that state() has become kConnected.
  uint32_t num_connections = 0;
  // The number of times that a caller has asked the thread to look for services
  // at once, and the number at its last look.
  uint32_t looks_wanted = 0;
  uint32_t looks_done = 0;
  // True if the thread is to end, and if it does nothing more.
  bool is_stopping = false;
  bool has_ended = false;
  // Destroys the object that this is the base of. Not null if its destructor
  // has left that to the thread.
  void (*destroy)(ProducerShared*) = nullptr;
  // True if a thread that has made a producer has ended: there may be no other
  // thread left of the program. Until then, no look is needed.
  bool watches_threads = false;
  // True in a child process. Nothing of this may be destroyed, because other
  // threads of the parent may have been using it.
  bool is_abandoned = false;
  // An object that interrupts the thread's poll(). Closed until there is a
  // descriptor for it.
  WakeupFd wakeup;
  // A condition that is notified when one of the above has changed.
  std::condition_variable changed;

  // The next element of the list in producer_fork.cc.
  ProducerShared* next = nullptr;
};

// Tells the service of the data source. REQUIRES: ClientLock(); there is a
// connection.
void OfferDataSource(const DataSource& source, ProducerIpcClient* connection);
// Describes a data source again that the service knows: it may have learnt more
// since. REQUIRES: as OfferDataSource().
void UpdateDataSource(const DataSource& source, ProducerIpcClient* connection);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_SHARED_H_
