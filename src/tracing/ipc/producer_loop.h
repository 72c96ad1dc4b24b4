// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_LOOP_H_
#define SRC_TRACING_IPC_PRODUCER_LOOP_H_

#include <poll.h>
#include <stddef.h>

#include <memory>
#include <string>
#include <vector>

#include "src/tracing/ipc/producer_shared.h"
#include "src/tracing/ipc/scoped_fd.h"
#include "src/tracing/ipc/service_link.h"
#include "src/tracing/ipc/user_folder.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The producer's thread: connects, serves the connections as long as they last,
// pauses, and connects again. One thread serves all: the service that the
// options name, or that the environment names, or that is found; and all
// recorders with names in the user's folder, as soon as they appear there.
class ProducerLoop {
 public:
  // The most services that a producer serves at once. Further recorders are
  // told so.
  static constexpr size_t kMaxServices = 16;

  explicit ProducerLoop(ProducerShared* producer) : producer_(producer) {}

  // Runs until ProducerShared::is_stopping is set, or, if Producer::Options
  // wants only one attempt, until that has ended.
  void Run();

 private:
  using Clock = ServiceLink::Clock;

  ServiceLink* main_link() { return links_[0].get(); }
  bool HasConnection() const;
  // Makes the attempts to connect that are due, or all if it |is_in_a_hurry|,
  // and looks for recorders. May throw std::bad_alloc.
  void LookForServices(bool is_in_a_hurry);
  // Says so, and makes the next attempts later.
  void OnOutOfMemory();
  // Looks at the recorders that are in the user's folder, and, if it
  // |sees_listers|, at those.
  void LookAtFolder(bool sees_listers);
  // Handles a file that has appeared in the folder, or |was_there|.
  void OnFile(const char* name, bool was_there);
  // Connects to the recorder of that socket, or tells it that there is no place
  // for it, once.
  void OnSession(const std::string& name, bool was_there);
  // Makes an attempt to connect.
  void Attempt(ServiceLink* link);
  // Returns a socket that is connected to an accepted service, or an invalid
  // one, and the status says why. May throw std::bad_alloc.
  ScopedFd Connect(ServiceLink* link);
  // Returns whether there is a place for one more service. A recorder that is
  // gone leaves its place.
  bool HasPlace();
  // Removes recorders that are not there any more.
  void RemoveLinks();
  // Waits until something happens, and handles it.
  void Wait();
  // Returns the time until something is to be done, in milliseconds.
  int TimeLeft() const;
  // Describes this producer to the lister of that name, who is no service: the
  // state stays as it is. Gives up if a lister that takes too little keeps it
  // from a recorder.
  void OfferToLister(const char* name);
  // Tells a recorder that there is no place for it. Returns false if it does
  // not listen.
  bool TellNoPlace(const std::string& name);
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

  ProducerShared* const producer_;
  // The services: first that of ProducerShared::main_place, always, then
  // recorders with names.
  std::vector<std::unique_ptr<ServiceLink>> links_;
  // The addresses of the first one.
  std::vector<std::string> addresses_;
  // The user's folder, where recorders may come; empty if this producer looks
  // for none.
  std::string folder_;
  FolderWatch watch_;
  // The time to look at the folder again. Never, if that is watched.
  Clock::time_point next_look_ = Clock::time_point::min();
  // The recorders that were told that there is no place.
  std::vector<std::string> turned_away_;
  bool takes_signals_ = false;
  // The period after which the loop checks for other threads of the program,
  // and its shortest value.
  static constexpr int kWatchPeriodMs = 200;
  int watch_period_ms_ = kWatchPeriodMs;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_LOOP_H_
