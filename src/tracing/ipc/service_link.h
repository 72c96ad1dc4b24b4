// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_SERVICE_LINK_H_
#define SRC_TRACING_IPC_SERVICE_LINK_H_

#include <poll.h>
#include <stdint.h>

#include <chrono>
#include <memory>
#include <string>

#include "src/tracing/ipc/command_handler.h"
#include "src/tracing/ipc/commit_schedule.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/producer_shared.h"
#include "src/tracing/ipc/scoped_fd.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A service that a producer looks for: the time of the next attempt to connect,
// and all that a connection needs while it lasts. Only for the producer's
// thread.
class ServiceLink {
 public:
  using Clock = std::chrono::steady_clock;

  // |name| is the name of a recorder's socket in the user's folder; empty for
  // the service of ProducerShared::main_place.
  ServiceLink(ProducerShared* producer, std::string name);
  // REQUIRES: there is no connection, and no survivor.
  ~ServiceLink();

  ServiceLink(const ServiceLink&) = delete;
  ServiceLink& operator=(const ServiceLink&) = delete;

  const std::string& name() const { return name_; }
  bool is_main() const { return name_.empty(); }
  ServicePlace* place() { return place_; }

  // Returns whether there is a connection.
  bool is_open() const { return served_ != nullptr; }
  // Begins to serve the connection. May throw std::bad_alloc; then Close() has
  // to follow.
  void Open(ScopedFd socket);
  // Begins a wait for the connection: sets |fd|, and shortens |timeout_ms|.
  // Returns false if there is no connection any more; Close() has to follow.
  bool BeginWait(pollfd* fd, int* timeout_ms);
  // Ends the wait.
  void EndWait() { served_->schedule.EndWait(); }
  // Does what poll() has found. Closes the connection at its end.
  void Handle(int revents);
  // Ends the connection. Waits until |goodbye_end| for a service that does not
  // read. If the service is gone that has set up a flight recorder, that one
  // goes on.
  void Close(Clock::time_point goodbye_end = Clock::time_point::min());
  // Says that this connection, or the attempt, has ended for lack of memory.
  void OnOutOfMemory();

  // Returns whether a flight recorder goes on whose service is gone. It does
  // until another service answers.
  bool has_survivor() const { return survivor_ != nullptr; }
  void StopSurvivor();

  // The time of the next attempt to connect.
  Clock::time_point next_attempt() const { return next_attempt_; }
  // Makes it now, and the next pause the shortest.
  void TryNow();
  // Makes it after the next pause: the longest one if it |can_wait|.
  void Pause(bool can_wait);
  // Leaves the time to TryNow().
  void PauseForEver() { next_attempt_ = Clock::time_point::max(); }
  // Counts an attempt that the address has refused, since the last TryNow() or
  // Open().
  int AddRefusal() { return ++num_refusals_; }

 private:
  // The objects that last as long as a connection.
  struct Served {
    Served(ProducerShared* producer, ServicePlace* place, ScopedFd socket);

    const std::shared_ptr<ProducerIpcClient> connection;
    std::unique_ptr<CommandHandler> handler;
    FrameReader reader;
    CommitSchedule schedule;
  };

  // Returns false if the connection is to end. May throw std::bad_alloc.
  bool HandleEvents(int revents);
  // Returns false at the end of the stream, or if the stream makes no sense.
  bool Receive();
  // Remembers the data sources that record, for CommandHandler.
  void RememberInterrupted(const CommandHandler& handler);
  // Sends what is queued.
  static void SayGoodbye(ProducerIpcClient* connection, Clock::time_point end);

  ProducerShared* const producer_;
  const std::string name_;
  // The place of a recorder with a name.
  const std::unique_ptr<ServicePlace> own_place_;
  ServicePlace* const place_;

  std::unique_ptr<Served> served_;
  std::unique_ptr<CommandHandler> survivor_;
  // True if the connection has ended for lack of memory.
  bool is_out_of_memory_ = false;

  Clock::time_point next_attempt_ = Clock::time_point::min();
  uint32_t pause_ms_;
  int num_refusals_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_SERVICE_LINK_H_
