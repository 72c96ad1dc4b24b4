// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_LOOP_H_
#define SRC_TRACING_IPC_PRODUCER_LOOP_H_

#include <poll.h>
#include <stdint.h>

#include <memory>

#include "src/tracing/ipc/command_handler.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/producer_shared.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The producer's thread: connects, serves the connection as long as it lasts,
// pauses, and connects again.
class ProducerLoop {
 public:
  explicit ProducerLoop(ProducerShared* producer) : producer_(producer) {}

  // Returns when ProducerShared::is_stopping is set, or after the first attempt
  // if Producer::Options wants only one.
  void Run();

 private:
  // Returns whether the pause before the next attempt is the shortest again.
  // May throw std::bad_alloc.
  bool ConnectAndServe();
  // Does what comes until the connection is lost, or is to end.
  void Serve(const std::shared_ptr<ProducerIpcClient>& connection);
  // The part of it that may throw std::bad_alloc.
  void HandleEvents(ProducerIpcClient* connection, CommandHandler* handler);
  // Returns false at the end of the stream, or if the stream makes no sense.
  bool Receive(ProducerIpcClient* connection,
               CommandHandler* handler,
               FrameReader* reader);
  void Pause(uint32_t* pause_ms);
  // Does what poll() does, and obeys signals if the program has no other thread
  // for them: then one that would have ended it, or run a handler, does so
  // here, where no lock is held. Nothing tells of such a time, so if it
  // |watches_threads|, it looks for it again and again.
  int Poll(pollfd* fds, nfds_t num_fds, int timeout_ms, bool watches_threads);
  void OnConnectFailed(int error);
  void OnOutOfMemory();

  ProducerShared* const producer_;
  bool takes_signals_ = false;
  // Why the connection has ended.
  bool is_out_of_memory_ = false;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_LOOP_H_
