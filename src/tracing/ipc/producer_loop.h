// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_LOOP_H_
#define SRC_TRACING_IPC_PRODUCER_LOOP_H_

#include <poll.h>
#include <stdint.h>

#include <memory>
#include <string>

#include "src/tracing/ipc/command_handler.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/producer_shared.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/ipc/user_folder.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The producer's thread: connects, serves the connection as long as it lasts,
// pauses, and connects again.
class ProducerLoop {
 public:
  explicit ProducerLoop(ProducerShared* producer) : producer_(producer) {}

  // Runs until ProducerShared::is_stopping is set, or, if Producer::Options
  // wants only one attempt, until that has ended.
  void Run();

 private:
  // Connects and serves. Returns whether the pause before the next attempt is
  // the shortest again. May throw std::bad_alloc.
  bool ConnectAndServe();
  // Returns a socket that is connected to an accepted service, or an invalid
  // one, and the status says why. May throw std::bad_alloc.
  ScopedFd Connect();
  // Serves until the connection is lost, or is to end. If the service is gone
  // that has set up a flight recorder, that one goes on.
  void Serve(const std::shared_ptr<ProducerIpcClient>& connection);
  // Does the part of Serve() that may throw std::bad_alloc.
  void HandleEvents(ProducerIpcClient* connection, CommandHandler* handler);
  // Returns false at the end of the stream, or if the stream makes no sense.
  bool Receive(ProducerIpcClient* connection,
               CommandHandler* handler,
               FrameReader* reader);
  // Waits until the next attempt: for |pause_ms|, which it doubles, or until a
  // recorder has come, or a caller is in a hurry. If there is no socket, and a
  // recorder would be noticed, the first pause is the longest.
  void Pause(uint32_t* pause_ms);
  // Describes this producer to the lister of that name, who is no service: the
  // state stays as it is. Gives up if a lister that takes too little keeps it
  // from a recorder.
  void OfferToLister(const char* name);
  // Remembers the data sources that record, for CommandHandler.
  void RememberInterrupted(const CommandHandler& handler);
  // Opens the producer's WakeupFd if it is closed, or if the program has closed
  // or replaced it. Returns its descriptor, or -1 and sets errno. REQUIRES:
  // ClientLock().
  int OpenWakeup();
  // Calls poll(), the first descriptor being the one of OpenWakeup(), and obeys
  // signals if the program has no other thread for them: a signal that would
  // have ended the program, or run a handler, does so here, where no lock is
  // held. Nothing reports that time, so if it |watches_threads|, it checks
  // again and again, less and less often while the main thread runs.
  int Poll(pollfd* fds, nfds_t num_fds, int timeout_ms, bool watches_threads);
  // Stops what Serve() has let go on.
  void StopSurvivor();
  void OnOutOfMemory();

  ProducerShared* const producer_;
  // The folder in which a recorder may come; empty if this producer looks for
  // none.
  std::string recorder_folder_;
  FolderWatch recorder_watch_;
  // True if there was no file at any address at the last attempt to connect.
  bool has_no_socket_ = false;
  // The instances of a flight recorder whose service is gone. They go on until
  // another service answers. Null if there are none.
  std::unique_ptr<CommandHandler> survivor_;
  bool takes_signals_ = false;
  // The period after which the loop checks for other threads of the program,
  // and its shortest value.
  static constexpr int kWatchPeriodMs = 200;
  int watch_period_ms_ = kWatchPeriodMs;
  // True if the last connection has ended because the program has closed or
  // replaced its socket.
  bool has_lost_socket_ = false;
  // True if the connection has ended for lack of memory.
  bool is_out_of_memory_ = false;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_LOOP_H_
