// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/producer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <utility>

#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/messages.h"
#include "src/tracing/ipc/producer_impl.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/service_owner.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace pb = tracing::pbzero;
using internal::ClientLock;
using internal::ProducerIpcClient;

namespace {

using Lock = std::unique_lock<std::mutex>;
using SteadyClock = std::chrono::steady_clock;

constexpr uint32_t kMinReconnectPauseMs = 100;
// What the destructor waits for a service that does not read.
constexpr int kGoodbyeTimeoutMs = 1000;
// So short that a std::string takes no memory for it.
constexpr char kOutOfMemory[] = "out of memory";

}  // namespace

Producer::Impl* Producer::Impl::first_ = nullptr;
bool Producer::Impl::is_ready_for_fork_ = false;

Producer::Impl::Impl(Options options) : options_(std::move(options)) {
  Lock lock(ClientLock());
  next_ = first_;
  first_ = this;
  StartLocked();
  if (!thread_.is_started())
    state_ = State::kDisconnected;
}

void Producer::Impl::StartLocked() {
  const auto set_socket = [this] {
    socket_ =
        options_.socket.empty() ? DefaultProducerSocket() : options_.socket;
  };
  if (!RunsInMemory(set_socket))
    return SetOffLocked(OffReason::kOutOfMemory, "");
  // This has no other reason to fail.
  is_ready_for_fork_ =
      is_ready_for_fork_ ||
      pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild) == 0;
  if (!is_ready_for_fork_)
    return SetOffLocked(OffReason::kOutOfMemory, "");
  const int error = thread_.Start<&Impl::Run>(this);
  if (error != 0)
    SetOffLocked(OffReason::kNoThread, strerror(error));
}

Producer::Impl::~Impl() {
  {
    Lock lock(ClientLock());
    Impl** link = &first_;
    while (*link != this)
      link = &(*link)->next_;
    *link = next_;
    is_stopping_ = true;
    wakeup_.Notify();
    changed_.notify_all();
  }
  if (thread_.is_started())
    thread_.Join();
}

void Producer::Impl::AfterForkInChild() {
  ProducerIpcClient::AbandonAllAfterFork();
  for (Impl* producer = first_; producer != nullptr;
       producer = producer->next_) {
    producer->is_abandoned_ = true;
    producer->state_ = State::kDisconnected;
    producer->SetOffLocked(OffReason::kForked, "");
    for (const std::shared_ptr<DataSource>& source : producer->sources_) {
      source->instances_.clear();
      source->ChangeState();
    }
  }
  ClientLock().unlock();
}

Producer::State Producer::Impl::state() const {
  Lock lock(ClientLock());
  return state_;
}

Producer::OffReason Producer::Impl::off_reason() const {
  Lock lock(ClientLock());
  return OffReasonLocked();
}

Producer::OffReason Producer::Impl::OffReasonLocked() const {
  return off_reason_ == OffReason::kNone && connection_ != nullptr &&
                 connection_->lacks_writer()
             ? OffReason::kOutOfMemory
             : off_reason_;
}

std::string Producer::Impl::why_off() const {
  Lock lock(ClientLock());
  const std::string detail = off_detail_;
  switch (OffReasonLocked()) {
    case OffReason::kNone:
      return std::string();
    case OffReason::kConnecting:
      return "not connected yet to " + socket_;
    case OffReason::kNoService:
      return "cannot connect to " + socket_ + ": " + detail;
    case OffReason::kNotTrusted:
      return detail;
    case OffReason::kRefused:
      return "the service at " + socket_ + " has refused this program";
    case OffReason::kConnectionLost:
      return "the connection to " + socket_ + " is lost";
    case OffReason::kNoSharedMemory:
      return "no shared memory for traces: " + detail;
    case OffReason::kOutOfMemory:
      return kOutOfMemory;
    case OffReason::kNoDescriptors:
      return "no file descriptors: " + detail;
    case OffReason::kNoThread:
      return "cannot start a thread: " + detail;
    case OffReason::kForked:
      return "this is a child process, which needs a producer of its own";
  }
  return std::string();
}

void Producer::Impl::SetOffLocked(OffReason reason, std::string_view detail) {
  off_reason_ = reason;
  const size_t size = std::min(detail.size(), sizeof(off_detail_) - 1);
  // What comes from a service is for a terminal, perhaps.
  std::transform(detail.data(), detail.data() + size, off_detail_,
                 [](char c) { return c < ' ' || c > '~' ? '?' : c; });
  off_detail_[size] = '\0';
}

void Producer::Impl::OnConnectFailed(int error) {
  Lock lock(ClientLock());
  SetOffLocked(error == EMFILE || error == ENFILE    ? OffReason::kNoDescriptors
               : error == ENOMEM || error == ENOBUFS ? OffReason::kOutOfMemory
                                                     : OffReason::kNoService,
               strerror(error));
}

void Producer::Impl::OnOutOfMemory() {
  is_out_of_memory_ = true;
  Lock lock(ClientLock());
  SetOffLocked(OffReason::kOutOfMemory, "");
}

void Producer::Impl::OnNoSharedMemory(OffReason reason,
                                      std::string_view detail) {
  Lock lock(ClientLock());
  lacks_memory_ = true;
  SetOffLocked(reason, detail);
}

void Producer::Impl::OnSharedMemory() {
  Lock lock(ClientLock());
  lacks_memory_ = false;
  SetOffLocked(OffReason::kNone, "");
}

uint32_t Producer::Impl::num_connections() const {
  Lock lock(ClientLock());
  return num_connections_;
}

bool Producer::Impl::RegisterDataSource(std::shared_ptr<DataSource> source) {
  Lock lock(ClientLock());
  if (!RunsInMemory([&] { sources_.emplace_back(); })) {
    SetOffLocked(OffReason::kOutOfMemory, "");
    return false;
  }
  sources_.back() = std::move(source);
  if (state_ == State::kConnected)
    OfferLocked(*sources_.back());
  return true;
}

void Producer::Impl::OfferLocked(const DataSource& source) {
  connection_->InvokeLocked<pb::RegisterDataSourceRequest>(
      ProducerMethod::kRegisterDataSource, /*drop_reply=*/true,
      [&](pb::RegisterDataSourceRequest* message) {
        auto* const descriptor = message->set_data_source_descriptor();
        WriteDataSourceDescriptor(source.descriptor(), descriptor);
        // What this class does by itself, and after the callback. What comes
        // last counts; a copy of the descriptor would take memory.
        descriptor->set_will_notify_on_start(true);
        descriptor->set_will_notify_on_stop(true);
      });
}

void Producer::Impl::UnregisterDataSource(
    const std::shared_ptr<DataSource>& source) {
  Lock lock(ClientLock());
  const auto it = std::find(sources_.begin(), sources_.end(), source);
  if (it == sources_.end())
    return;
  sources_.erase(it);
  // The service answers by stopping what is in running_.
  source->instances_.clear();
  source->ChangeState();
  if (state_ != State::kConnected)
    return;
  connection_->InvokeLocked<pb::UnregisterDataSourceRequest>(
      ProducerMethod::kUnregisterDataSource, /*drop_reply=*/true,
      [&](pb::UnregisterDataSourceRequest* message) {
        message->set_data_source_name(source->descriptor().name);
      });
}

bool Producer::Impl::Sync(uint32_t timeout_ms) {
  Lock lock(ClientLock());
  const auto deadline =
      SteadyClock::now() + std::chrono::milliseconds(timeout_ms);
  if (!changed_.wait_until(lock, deadline,
                           [this] { return state_ != State::kConnecting; }) ||
      state_ != State::kConnected) {
    return false;
  }
  const ConnectionPtr connection = connection_;
  const uint64_t request = connection->InvokeLocked<Message>(
      ProducerMethod::kSync, /*drop_reply=*/false, [](Message*) {});
  const bool done = request != 0 && changed_.wait_until(lock, deadline, [&] {
    return connection_ != connection || synced_request_ >= request;
  });
  const bool ok = done && connection_ == connection && !lacks_memory_;
  // Whatever was wrong before, nothing is wrong any more.
  if (ok)
    SetOffLocked(OffReason::kNone, "");
  // The connection may end here, which takes the lock.
  lock.unlock();
  return ok;
}

void Producer::Impl::ActivateTrigger(const std::string& name) {
  Lock lock(ClientLock());
  if (state_ != State::kConnected)
    return;
  connection_->InvokeLocked<pb::ActivateTriggersRequest>(
      ProducerMethod::kActivateTriggers, /*drop_reply=*/true,
      [&](pb::ActivateTriggersRequest* message) {
        message->add_trigger_names(name);
      });
}

void Producer::Impl::Run() {
  uint32_t pause_ms = kMinReconnectPauseMs;
  for (;;) {
    if (!RunsInMemory([&] {
          if (ConnectAndServe())
            pause_ms = kMinReconnectPauseMs;
        })) {
      OnOutOfMemory();
    }
    {
      Lock lock(ClientLock());
      if (is_stopping_ || options_.max_reconnect_pause_ms == 0) {
        state_ = State::kDisconnected;
        changed_.notify_all();
        return;
      }
    }
    Pause(&pause_ms);
  }
}

bool Producer::Impl::ConnectAndServe() {
  {
    Lock lock(ClientLock());
    if (wakeup_.fd() < 0 && !wakeup_.TryOpen()) {
      lock.unlock();
      OnConnectFailed(errno);
      return false;
    }
  }
  std::string error;
  ScopedFd socket = ConnectToUnixSocket(socket_, &error);
  if (!socket.is_valid()) {
    OnConnectFailed(errno);
    return false;
  }
  if (!IsAcceptedService(socket.get(), socket_, options_.service_owner,
                         &error)) {
    Lock lock(ClientLock());
    SetOffLocked(OffReason::kNotTrusted, error);
    return false;
  }
  const auto connection =
      std::make_shared<ProducerIpcClient>(std::move(socket), &wakeup_);
  const uint32_t connections_before = num_connections();
  is_out_of_memory_ = false;
  Serve(connection);
  if (connection->is_out_of_memory())
    OnOutOfMemory();
  Lock lock(ClientLock());
  const bool was_connected = num_connections_ != connections_before;
  // This process may have ended it, for want of something.
  if (is_out_of_memory_ || (was_connected && lacks_memory_))
    return false;
  SetOffLocked(was_connected ? OffReason::kConnectionLost : OffReason::kRefused,
               "");
  return was_connected;
}

void Producer::Impl::Pause(uint32_t* pause_ms) {
  *pause_ms = std::min(*pause_ms, options_.max_reconnect_pause_ms);
  Lock lock(ClientLock());
  changed_.wait_for(lock, std::chrono::milliseconds(*pause_ms),
                    [this] { return is_stopping_; });
  *pause_ms *= 2;
}

void Producer::Impl::Serve(const ConnectionPtr& connection) {
  received_fd_.Reset();
  initialize_request_ = 0;
  command_request_ = 0;
  if (!RunsInMemory([&] { HandleEvents(connection); }))
    OnOutOfMemory();

  StopInstances(connection);
  const auto deadline =
      SteadyClock::now() + std::chrono::milliseconds(kGoodbyeTimeoutMs);
  while (connection->has_queued() && SteadyClock::now() < deadline) {
    pollfd fd{connection->socket(), POLLOUT, 0};
    poll(&fd, 1, kGoodbyeTimeoutMs);
    connection->SendQueued();
  }
  ConnectionPtr last;
  {
    Lock lock(ClientLock());
    state_ = State::kConnecting;
    last = std::move(connection_);
    connection_.reset();
    changed_.notify_all();
  }
  connection->Close();
}

void Producer::Impl::HandleEvents(const ConnectionPtr& connection) {
  FrameReader reader;
  connection->Bind();
  SteadyClock::time_point return_idle_chunks_at;
  while (connection->is_open()) {
    {
      Lock lock(ClientLock());
      if (is_stopping_)
        break;
    }
    pollfd fds[2] = {{connection->socket(), POLLIN, 0},
                     {wakeup_.fd(), POLLIN, 0}};
    if (connection->has_queued())
      fds[0].events |= POLLOUT;
    // Without instances, there is nobody who could have something to commit.
    if (poll(fds, 2,
             running_.empty()
                 ? -1
                 : static_cast<int>(options_.commit_period_ms)) < 0 &&
        errno != EINTR) {
      // Nothing but memory can be missing. Asking again at once is no use.
      return OnOutOfMemory();
    }
    if (fds[1].revents != 0)
      wakeup_.Clear();
    if (fds[0].revents & POLLOUT)
      connection->SendQueued();
    if ((fds[0].revents & ~POLLOUT) && !Receive(connection, &reader))
      break;
    if (connection->arbiter() != nullptr) {
      if (options_.idle_period_ms != 0 &&
          SteadyClock::now() >= return_idle_chunks_at) {
        return_idle_chunks_at =
            SteadyClock::now() +
            std::chrono::milliseconds(options_.idle_period_ms);
        connection->arbiter()->ReturnIdleChunks(/*even_if_recent=*/false);
      }
      connection->arbiter()->FlushPendingCommitDataRequests();
    }
  }
}

bool Producer::Impl::Receive(const ConnectionPtr& connection,
                             FrameReader* reader) {
  const ContiguousMemoryRange range = reader->BeginReceive();
  if (range.size() == 0) {
    OnOutOfMemory();
    return false;
  }
  size_t size;
  const SocketStatus status = ReceiveFromSocket(
      connection->socket(), range.begin, range.size(), &size, &received_fd_);
  reader->EndReceive(size);
  ConstBytes payload;
  while (reader->NextFrame(&payload)) {
    if (!OnFrame(connection, payload))
      return false;
  }
  return status != SocketStatus::kClosed && !reader->is_broken();
}

// A Producer that finds no memory for its insides is kDisconnected, for good.

Producer::Producer(Options options)
    : impl_(new(std::nothrow) Impl(std::move(options))) {}

Producer::~Producer() {
  if (impl_ != nullptr && impl_->is_abandoned())
    impl_.release();
}

Producer::State Producer::state() const {
  return impl_ != nullptr ? impl_->state() : State::kDisconnected;
}

uint32_t Producer::num_connections() const {
  return impl_ != nullptr ? impl_->num_connections() : 0;
}

bool Producer::RegisterDataSource(std::shared_ptr<DataSource> source) {
  return impl_ != nullptr && impl_->RegisterDataSource(std::move(source));
}

void Producer::UnregisterDataSource(const std::shared_ptr<DataSource>& source) {
  if (impl_ != nullptr)
    impl_->UnregisterDataSource(source);
}

Producer::OffReason Producer::off_reason() const {
  return impl_ != nullptr ? impl_->off_reason() : OffReason::kOutOfMemory;
}

std::string Producer::why_off() const {
  std::string why = kOutOfMemory;
  RunsInMemory([&] {
    if (impl_ != nullptr)
      why = impl_->why_off();
  });
  return why;
}

bool Producer::Sync(uint32_t timeout_ms) {
  return impl_ != nullptr && impl_->Sync(timeout_ms);
}

void Producer::ActivateTrigger(const std::string& name) {
  if (impl_ != nullptr)
    impl_->ActivateTrigger(name);
}

PROTOZERO_ABI_END
}  // namespace protozero
