// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/producer_loop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/command_handler.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/service_owner.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

using Lock = std::unique_lock<std::mutex>;
using OffReason = Producer::OffReason;
using State = Producer::State;

// The pause after something that is of no use to try again at once.
constexpr int kShortPauseMs = 100;
// A socket without a process is refused. So is one whose recorder is about to
// listen: it gets this many attempts.
constexpr int kMaxRefusals = 3;
// The time that Producer's destructor waits for a service that does not read.
constexpr int kGoodbyeTimeoutMs = 1000;
// The longest period after which the loop checks for other threads of the
// program.
constexpr int kMaxWatchPeriodMs = 60 * 1000;

// Returns the shorter one of two times; -1 is any time.
int Shorter(int timeout_ms, int other_ms) {
  if (timeout_ms < 0 || other_ms < 0)
    return std::max(timeout_ms, other_ms);
  return std::min(timeout_ms, other_ms);
}

}  // namespace

void ProducerLoop::Run() {
  // Without memory for this, nothing works.
  if (!RunsInMemory([&] {
        links_.reserve(kMaxServices);
        links_.push_back(std::make_unique<ServiceLink>(producer_, ""));
      })) {
    Lock lock(ClientLock());
    producer_->main_place.status.SetOff(OffReason::kOutOfMemory);
  }
  const bool tries_once = producer_->options.max_reconnect_pause_ms == 0;
  while (!links_.empty()) {
    uint32_t looks_wanted;
    bool is_in_a_hurry;
    {
      Lock lock(ClientLock());
      if (producer_->is_stopping)
        break;
      looks_wanted = producer_->looks_wanted;
      is_in_a_hurry = looks_wanted != producer_->looks_done;
    }
    if (!RunsInMemory([&] { LookForServices(is_in_a_hurry && !tries_once); }))
      OnOutOfMemory();
    if (tries_once && !HasConnection())
      break;
    if (is_in_a_hurry) {
      Lock lock(ClientLock());
      producer_->looks_done = looks_wanted;
      producer_->changed.notify_all();
    }
    Wait();
    if (tries_once && !HasConnection())
      break;
  }
  const auto goodbye_end =
      Clock::now() + std::chrono::milliseconds(kGoodbyeTimeoutMs);
  for (const auto& link : links_) {
    if (link->is_open())
      link->Close(goodbye_end);
    link->StopSurvivor();
  }
  // The last are those of recorders with names.
  while (links_.size() > 1)
    links_.pop_back();
  ProducerShared* const producer = producer_;
  Lock lock(ClientLock());
  producer->main_place.status.set_state(State::kDisconnected);
  producer->has_ended = true;
  producer->changed.notify_all();
  const auto destroy = producer->destroy;
  lock.unlock();
  // This object ends with it.
  if (destroy != nullptr)
    destroy(producer);
}

bool ProducerLoop::HasConnection() const {
  return std::any_of(links_.begin(), links_.end(),
                     [](const auto& link) { return link->is_open(); });
}

void ProducerLoop::LookForServices(bool is_in_a_hurry) {
  const auto now = Clock::now();
  const bool looks_at_folder = is_in_a_hurry || next_look_ <= now;
  const bool main_is_due =
      !main_link()->is_open() &&
      (is_in_a_hurry || main_link()->next_attempt() <= now);
  bool begins_to_watch = false;
  if (looks_at_folder || main_is_due) {
    const std::string& address = producer_->options.socket;
    addresses_ = address.empty() ? ProducerSockets(&folder_)
                                 : std::vector<std::string>{address};
    // Before the attempts: no recorder comes unnoticed between them and this.
    begins_to_watch = !folder_.empty() && watch_.Watch(folder_);
  }
  // Attempt() adds and removes none.
  for (const auto& link : links_) {
    if (!link->is_open() && (is_in_a_hurry || link->next_attempt() <= now))
      Attempt(link.get());
  }
  if (looks_at_folder || begins_to_watch)
    LookAtFolder(/*sees_listers=*/begins_to_watch);
  RemoveLinks();
}

void ProducerLoop::OnOutOfMemory() {
  if (!main_link()->is_open())
    main_link()->OnOutOfMemory();
  for (const auto& link : links_) {
    if (!link->is_open())
      link->Pause(/*can_wait=*/false);
  }
  next_look_ = Clock::now() + std::chrono::milliseconds(kShortPauseMs);
}

void ProducerLoop::LookAtFolder(bool sees_listers) {
  next_look_ = Clock::time_point::max();
  if (folder_.empty())
    return;
  const std::vector<std::string> told = std::exchange(turned_away_, {});
  ForEachFile(folder_, [&](const char* name) {
    // It is told once.
    if (HasSuffix(name, kListerSuffix) && !sees_listers)
      return;
    if (std::find(told.begin(), told.end(), name) != told.end() && !HasPlace())
      turned_away_.push_back(name);
    else
      OnFile(name, /*was_there=*/true);
  });
}

void ProducerLoop::OnFile(const char* name, bool was_there) {
  if (HasSuffix(name, kListerSuffix)) {
    if (!HasConnection())
      OfferToLister(name);
  } else if (HasSuffix(name, kSessionSuffix)) {
    OnSession(name, was_there);
  } else if (!was_there && !main_link()->is_open() &&
             std::string_view(name) == kRecorderSocketName) {
    main_link()->TryNow();
  }
}

void ProducerLoop::OnSession(const std::string& name, bool was_there) {
  for (const auto& link : links_) {
    if (link->name() != name)
      continue;
    if (!was_there && !link->is_open())
      link->TryNow();
    return;
  }
  if (!HasPlace()) {
    // One that is about to listen is told at the next look.
    if (!TellNoPlace(name) && !was_there)
      next_look_ = Clock::now() + std::chrono::milliseconds(kShortPauseMs);
    return;
  }
  links_.push_back(std::make_unique<ServiceLink>(producer_, name));
  Attempt(links_.back().get());
}

bool ProducerLoop::HasPlace() {
  if (links_.size() < kMaxServices)
    return true;
  const auto it =
      std::find_if(links_.begin() + 1, links_.end(), [](const auto& link) {
        return !link->is_open() && link->has_survivor();
      });
  if (it == links_.end())
    return false;
  (*it)->StopSurvivor();
  links_.erase(it);
  return true;
}

void ProducerLoop::RemoveLinks() {
  const auto is_gone = [](const auto& link) {
    return !link->is_main() && !link->is_open() && !link->has_survivor() &&
           link->next_attempt() == Clock::time_point::max();
  };
  const auto end = std::remove_if(links_.begin(), links_.end(), is_gone);
  if (end == links_.end())
    return;
  links_.erase(end, links_.end());
  // One of those may have the place.
  if (!turned_away_.empty())
    next_look_ = Clock::time_point::min();
}

void ProducerLoop::Attempt(ServiceLink* link) {
  if (!RunsInMemory([&] {
        ScopedFd socket;
        if (link->is_main())
          socket = std::move(producer_->connected_socket);
        if (!socket.is_valid())
          socket = Connect(link);
        if (socket.is_valid())
          return link->Open(std::move(socket));
        // The service has ended, and its sessions with it.
        link->place()->interrupted.clear();
      })) {
    link->OnOutOfMemory();
    link->Close();
  }
}

ScopedFd ProducerLoop::Connect(ServiceLink* link) {
  ServicePlace* const place = link->place();
  {
    Lock lock(ClientLock());
    if (OpenWakeup() < 0) {
      place->status.SetConnectFailed(errno);
      link->Pause(/*can_wait=*/false);
      return ScopedFd();
    }
  }
  const auto service_owner = producer_->options.service_owner;
  const std::vector<std::string> addresses =
      link->is_main() ? addresses_
                      : std::vector<std::string>{folder_ + "/" + link->name()};
  std::string names;
  std::string error;
  // True if there is no file at any address; and if there is one, but no
  // process.
  bool is_absent = true;
  bool is_refused = false;
  for (const std::string& address : addresses) {
    ScopedFd socket = ConnectToUnixSocket(address, &error);
    const int reason = errno;
    is_absent &= !socket.is_valid() && reason == ENOENT;
    is_refused = !socket.is_valid() && reason == ECONNREFUSED;
    names += (names.empty() ? "" : " or ") + address;
    const bool is_accepted =
        socket.is_valid() &&
        IsAcceptedService(socket.get(), address, service_owner, &error);
    if (!socket.is_valid() && &address != &addresses.back())
      continue;
    Lock lock(ClientLock());
    place->socket = socket.is_valid() ? address : names;
    if (is_accepted)
      return socket;
    if (socket.is_valid())
      place->status.SetOff(OffReason::kNotTrusted, error);
    else
      place->status.SetConnectFailed(reason);
  }
  if (link->is_main()) {
    // A recorder ends the pause. Perfetto's service can wait.
    const bool is_watched = watch_.fd() >= 0 && addresses.size() > 1;
    link->Pause(/*can_wait=*/is_absent && is_watched);
  } else if (is_absent || (is_refused && link->AddRefusal() == kMaxRefusals)) {
    link->PauseForEver();
  } else {
    link->Pause(/*can_wait=*/false);
  }
  return ScopedFd();
}

int ProducerLoop::OpenWakeup() {
  WakeupFd& wakeup = producer_->wakeup;
  return wakeup.fd() < 0 && !wakeup.TryOpen() ? -1 : wakeup.fd();
}

int ProducerLoop::TimeLeft() const {
  auto next = next_look_;
  for (const auto& link : links_) {
    if (!link->is_open())
      next = std::min(next, link->next_attempt());
  }
  if (next == Clock::time_point::max())
    return -1;
  const auto now = Clock::now();
  if (next <= now)
    return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now);
  return static_cast<int>(std::min<int64_t>(left.count(), INT_MAX));
}

void ProducerLoop::Wait() {
  const uint32_t pause_ms = producer_->options.max_reconnect_pause_ms;
  const int watch_fd = watch_.fd();
  // Without a watch, which the program may have closed.
  if (watch_fd < 0 && !folder_.empty() && pause_ms != 0 &&
      next_look_ == Clock::time_point::max()) {
    next_look_ = Clock::now() + std::chrono::milliseconds(pause_ms);
  }
  // poll() ignores negative descriptors.
  pollfd fds[2 + kMaxServices] = {{-1, POLLIN, 0}, {watch_fd, POLLIN, 0}};
  ServiceLink* polled[kMaxServices];
  size_t num = 0;
  bool watches_threads;
  {
    Lock lock(ClientLock());
    if (producer_->is_stopping ||
        producer_->looks_wanted != producer_->looks_done) {
      return;
    }
    watches_threads = producer_->watches_threads;
    fds[0].fd = OpenWakeup();
  }
  int timeout_ms = TimeLeft();
  for (const auto& link : links_) {
    if (!link->is_open())
      continue;
    if (link->BeginWait(&fds[2 + num], &timeout_ms)) {
      polled[num++] = link.get();
    } else {
      link->Close();
      timeout_ms = 0;
    }
  }
  const int result = Poll(fds, 2 + num, timeout_ms, watches_threads);
  const int error = errno;
  for (size_t i = 0; i < num; ++i)
    polled[i]->EndWait();
  if (fds[0].revents != 0)
    producer_->wakeup.Clear();
  if (result < 0 && error != EINTR) {
    // Only memory can be missing. It is no use to ask again at once.
    for (size_t i = 0; i < num; ++i) {
      polled[i]->OnOutOfMemory();
      polled[i]->Close();
    }
    poll(nullptr, 0, Shorter(timeout_ms, kShortPauseMs));
    return;
  }
  for (size_t i = 0; i < num; ++i)
    polled[i]->Handle(fds[2 + i].revents);
  if (fds[1].revents == 0)
    return;
  // Without memory, a look at the folder finds recorders.
  bool has_all = false;
  RunsInMemory([&] {
    has_all = watch_.TakeFiles(
        [this](const char* name) { OnFile(name, /*was_there=*/false); });
  });
  if (!has_all) {
    next_look_ = Clock::time_point::min();
    if (!main_link()->is_open())
      main_link()->TryNow();
  }
}

void ProducerLoop::OfferToLister(const char* name) {
  const std::string address = folder_ + "/" + name;
  std::string error;
  ScopedFd socket = ConnectToUnixSocket(address, &error);
  const Producer::Options& options = producer_->options;
  if (!socket.is_valid() || !IsAcceptedService(socket.get(), address,
                                               options.service_owner, &error)) {
    return;
  }
  const auto lister =
      std::make_shared<ProducerIpcClient>(std::move(socket), nullptr);
  lister->BindUnanswered();
  Introduce(options, /*has_place=*/true, lister.get());
  {
    Lock lock(ClientLock());
    for (const std::shared_ptr<DataSource>& source : producer_->sources)
      OfferDataSource(*source, lister.get());
  }
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(kGoodbyeTimeoutMs);
  while (lister->has_queued() && Clock::now() < deadline) {
    pollfd fds[2] = {{lister->socket(), POLLOUT, 0}, {watch_.fd(), POLLIN, 0}};
    poll(fds, 2, kGoodbyeTimeoutMs);
    if (fds[1].revents != 0)
      break;
    lister->SendQueued();
  }
  lister->Close();
}

bool ProducerLoop::TellNoPlace(const std::string& name) {
  const std::string address = folder_ + "/" + name;
  std::string error;
  ScopedFd socket = ConnectToUnixSocket(address, &error);
  const Producer::Options& options = producer_->options;
  if (!socket.is_valid() || !IsAcceptedService(socket.get(), address,
                                               options.service_owner, &error)) {
    return false;
  }
  const auto recorder =
      std::make_shared<ProducerIpcClient>(std::move(socket), nullptr);
  recorder->BindUnanswered();
  Introduce(options, /*has_place=*/false, recorder.get());
  recorder->Close();
  turned_away_.push_back(name);
  return true;
}

int ProducerLoop::Poll(pollfd* fds,
                       nfds_t num_fds,
                       int timeout_ms,
                       bool watches_threads) {
  const bool looks_for_threads = watches_threads && !takes_signals_;
  if (looks_for_threads) {
    takes_signals_ = OnlyBackgroundThreadsAreLeft();
    // While main() runs, it will hardly leave its process to other threads.
    watch_period_ms_ = MainThreadRuns()
                           ? std::min(2 * watch_period_ms_, kMaxWatchPeriodMs)
                           : kWatchPeriodMs;
    timeout_ms = Shorter(timeout_ms, watch_period_ms_);
  }
  // Without the descriptor, nothing ends the poll.
  if (fds[0].fd < 0)
    timeout_ms = Shorter(timeout_ms, kWatchPeriodMs);
  if (!takes_signals_)
    return poll(fds, num_fds, timeout_ms);
  const timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1000000};
  sigset_t none;
  sigemptyset(&none);
  return ppoll(fds, num_fds, timeout_ms < 0 ? nullptr : &timeout, &none);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
