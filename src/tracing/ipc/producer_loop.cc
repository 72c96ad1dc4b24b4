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
#include <utility>
#include <vector>

#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/commit_schedule.h"
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
using SteadyClock = std::chrono::steady_clock;

constexpr uint32_t kMinReconnectPauseMs = 100;
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
  uint32_t pause_ms = kMinReconnectPauseMs;
  for (;;) {
    // Only this thread changes it.
    const uint32_t connections_before = producer_->status.num_connections();
    if (!RunsInMemory([&] {
          if (ConnectAndServe())
            pause_ms = kMinReconnectPauseMs;
        })) {
      OnOutOfMemory();
    }
    {
      Lock lock(ClientLock());
      producer_->is_in_a_hurry = false;
      if (producer_->status.num_connections() == connections_before) {
        ++producer_->failed_attempts;
        producer_->changed.notify_all();
      }
      if (producer_->is_stopping ||
          producer_->options.max_reconnect_pause_ms == 0) {
        producer_->status.set_state(State::kDisconnected);
        producer_->changed.notify_all();
        break;
      }
    }
    Pause(&pause_ms);
  }
  StopSurvivor();
  ProducerShared* const producer = producer_;
  Lock lock(ClientLock());
  producer->has_ended = true;
  producer->changed.notify_all();
  const auto destroy = producer->destroy;
  lock.unlock();
  // This object ends with it.
  if (destroy != nullptr)
    destroy(producer);
}

bool ProducerLoop::ConnectAndServe() {
  {
    Lock lock(ClientLock());
    if (OpenWakeup() < 0) {
      producer_->status.SetConnectFailed(errno);
      return false;
    }
  }
  ScopedFd socket = std::move(producer_->connected_socket);
  if (!socket.is_valid())
    socket = Connect();
  if (!socket.is_valid()) {
    // The service has ended, and its sessions with it.
    producer_->interrupted.clear();
    return false;
  }
  const auto connection = std::make_shared<ProducerIpcClient>(
      std::move(socket), &producer_->wakeup);
  // Only this thread changes it.
  const uint32_t connections_before = producer_->status.num_connections();
  is_out_of_memory_ = false;
  Serve(connection);
  if (connection->is_out_of_memory())
    OnOutOfMemory();
  Lock lock(ClientLock());
  ProducerStatus& status = producer_->status;
  const bool was_connected = status.num_connections() != connections_before;
  // If this process ended the connection for lack of memory, the status says
  // so.
  if (is_out_of_memory_ || (was_connected && status.lacks_shared_memory()))
    return false;
  if (!has_lost_socket_) {
    status.SetOff(was_connected ? OffReason::kConnectionLost
                                : OffReason::kRefused);
  }
  return was_connected;
}

ScopedFd ProducerLoop::Connect() {
  const Producer::Options& options = producer_->options;
  const std::vector<std::string> addresses =
      options.socket.empty() ? ProducerSockets(&recorder_folder_)
                             : std::vector<std::string>{options.socket};
  std::string names;
  std::string error;
  has_no_socket_ = true;
  for (const std::string& address : addresses) {
    ScopedFd socket = ConnectToUnixSocket(address, &error);
    const int reason = errno;
    has_no_socket_ &= !socket.is_valid() && reason == ENOENT;
    names += (names.empty() ? "" : " or ") + address;
    const bool is_accepted =
        socket.is_valid() &&
        IsAcceptedService(socket.get(), address, options.service_owner, &error);
    if (!socket.is_valid() && &address != &addresses.back())
      continue;
    Lock lock(ClientLock());
    producer_->socket = socket.is_valid() ? address : names;
    if (is_accepted)
      return socket;
    if (socket.is_valid())
      producer_->status.SetOff(OffReason::kNotTrusted, error);
    else
      producer_->status.SetConnectFailed(reason);
  }
  return ScopedFd();
}

void ProducerLoop::Serve(const std::shared_ptr<ProducerIpcClient>& connection) {
  auto handler = std::make_unique<CommandHandler>(producer_, connection);
  if (!RunsInMemory([&] { HandleEvents(connection.get(), handler.get()); }))
    OnOutOfMemory();

  has_lost_socket_ = connection->has_lost_socket();
  if (connection->ring_bytes() != 0 && handler->has_instances()) {
    survivor_ = std::move(handler);
    Lock lock(ClientLock());
    producer_->survivor = connection;
  } else {
    if (has_lost_socket_)
      RememberInterrupted(*handler);
    if (!handler->StopInstances())
      OnOutOfMemory();
  }
  const auto deadline =
      SteadyClock::now() + std::chrono::milliseconds(kGoodbyeTimeoutMs);
  while (connection->has_queued() && SteadyClock::now() < deadline) {
    pollfd fd{connection->socket(), POLLOUT, 0};
    if (fd.fd >= 0)
      poll(&fd, 1, kGoodbyeTimeoutMs);
    connection->SendQueued();
  }
  // Destroyed after the lock is released: it may be the last reference.
  std::shared_ptr<ProducerIpcClient> last;
  {
    Lock lock(ClientLock());
    producer_->status.set_state(State::kConnecting);
    // At once: a LocalTrace that stops may ask as soon as there is no
    // connection.
    if (has_lost_socket_)
      producer_->status.SetOff(OffReason::kDescriptorTaken);
    last = std::move(producer_->connection);
    producer_->connection.reset();
    producer_->changed.notify_all();
  }
  connection->Close();
}

void ProducerLoop::RememberInterrupted(const CommandHandler& handler) {
  std::vector<std::shared_ptr<DataSource>> sources;
  if (RunsInMemory([&] { sources = handler.sources(); }))
    producer_->interrupted = std::move(sources);
}

int ProducerLoop::OpenWakeup() {
  WakeupFd& wakeup = producer_->wakeup;
  return wakeup.fd() < 0 && !wakeup.TryOpen() ? -1 : wakeup.fd();
}

void ProducerLoop::StopSurvivor() {
  if (survivor_ == nullptr)
    return;
  if (!survivor_->StopInstances())
    OnOutOfMemory();
  // Destroyed after the lock is released: it may be the last reference.
  std::shared_ptr<ProducerIpcClient> last;
  {
    Lock lock(ClientLock());
    last = std::move(producer_->survivor);
    producer_->survivor.reset();
  }
  survivor_.reset();
}

void ProducerLoop::HandleEvents(ProducerIpcClient* connection,
                                CommandHandler* handler) {
  FrameReader reader;
  CommitSchedule schedule(producer_->options, connection);
  connection->Bind();
  while (connection->is_open()) {
    bool watches_threads;
    pollfd fds[2] = {{-1, POLLIN, 0}, {connection->socket(), POLLIN, 0}};
    {
      Lock lock(ClientLock());
      if (producer_->is_stopping || fds[1].fd < 0)
        break;
      watches_threads = producer_->watches_threads;
      fds[0].fd = OpenWakeup();
    }
    if (connection->has_queued())
      fds[1].events |= POLLOUT;
    const bool is_recorded =
        handler->has_instances() && connection->ring_bytes() == 0;
    const int longest_ms = is_recorded ? WakeupFd::kMaxPollMs : -1;
    const int timeout_ms = Shorter(schedule.BeginWait(), longest_ms);
    const int result = Poll(fds, 2, timeout_ms, watches_threads);
    const int error = errno;
    schedule.EndWait();
    if (result < 0 && error != EINTR) {
      // Only memory can be missing. It is no use to ask again at once.
      return OnOutOfMemory();
    }
    if (fds[0].revents != 0)
      producer_->wakeup.Clear();
    if (fds[1].revents & POLLOUT)
      connection->SendQueued();
    if ((fds[1].revents & ~POLLOUT) && !Receive(connection, handler, &reader))
      break;
    schedule.Run();
  }
}

bool ProducerLoop::Receive(ProducerIpcClient* connection,
                           CommandHandler* handler,
                           FrameReader* reader) {
  const ContiguousMemoryRange range = reader->BeginReceive();
  if (range.size() == 0) {
    OnOutOfMemory();
    return false;
  }
  size_t size;
  const SocketStatus status =
      ReceiveFromSocket(connection->socket(), range.begin, range.size(), &size,
                        handler->received_fd());
  reader->EndReceive(size);
  ConstBytes payload;
  while (reader->NextFrame(&payload)) {
    // Not before it answers: a service that is being killed still accepts.
    StopSurvivor();
    if (!handler->OnFrame(payload))
      return false;
  }
  return status != SocketStatus::kClosed && !reader->is_broken();
}

void ProducerLoop::Pause(uint32_t* pause_ms) {
  // Without memory, the program is not on the list.
  const auto on_lister = [this](const char* name) {
    RunsInMemory([this, name] { OfferToLister(name); });
  };
  if (!recorder_folder_.empty()) {
    const bool was_watched = recorder_watch_.fd() >= 0;
    recorder_watch_.Watch(recorder_folder_, on_lister);
    // A recorder may have come just before.
    if (!was_watched && recorder_watch_.fd() >= 0)
      return;
    // A recorder ends the pause. Perfetto's service can wait.
    if (was_watched && has_no_socket_)
      *pause_ms = producer_->options.max_reconnect_pause_ms;
  }
  *pause_ms = std::min(*pause_ms, producer_->options.max_reconnect_pause_ms);
  const auto end = SteadyClock::now() + std::chrono::milliseconds(*pause_ms);
  *pause_ms *= 2;
  for (;;) {
    bool watches_threads;
    // poll() ignores negative descriptors.
    pollfd fds[2] = {{-1, POLLIN, 0}, {recorder_watch_.fd(), POLLIN, 0}};
    {
      Lock lock(ClientLock());
      if (producer_->is_stopping || producer_->is_in_a_hurry)
        return;
      watches_threads = producer_->watches_threads;
      fds[0].fd = OpenWakeup();
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now());
    if (left.count() <= 0)
      return;
    const int timeout_ms =
        static_cast<int>(std::min<int64_t>(left.count(), INT_MAX));
    if (Poll(fds, 2, timeout_ms, watches_threads) < 0 && errno != EINTR) {
      // Only memory can be missing. It is no use to poll again at once.
      poll(nullptr, 0, std::min<int>(timeout_ms, kMinReconnectPauseMs));
    }
    if (fds[0].revents != 0)
      producer_->wakeup.Clear();
    if (fds[1].revents != 0 &&
        recorder_watch_.HasAppeared(kRecorderSocketName, on_lister)) {
      *pause_ms = kMinReconnectPauseMs;
      return;
    }
  }
}

void ProducerLoop::OfferToLister(const char* name) {
  const std::string address = recorder_folder_ + "/" + name;
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
  Introduce(options, lister.get());
  {
    Lock lock(ClientLock());
    for (const std::shared_ptr<DataSource>& source : producer_->sources)
      OfferDataSource(*source, lister.get());
  }
  const auto deadline =
      SteadyClock::now() + std::chrono::milliseconds(kGoodbyeTimeoutMs);
  while (lister->has_queued() && SteadyClock::now() < deadline) {
    pollfd fds[2] = {{lister->socket(), POLLOUT, 0},
                     {recorder_watch_.fd(), POLLIN, 0}};
    poll(fds, 2, kGoodbyeTimeoutMs);
    if (fds[1].revents != 0)
      break;
    lister->SendQueued();
  }
  lister->Close();
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

void ProducerLoop::OnOutOfMemory() {
  is_out_of_memory_ = true;
  Lock lock(ClientLock());
  producer_->status.SetOff(OffReason::kOutOfMemory);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
