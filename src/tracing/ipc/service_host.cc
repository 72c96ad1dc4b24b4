// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/service_host.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/frame_sender.h"
#include "src/tracing/ipc/host_connection.h"
#include "src/tracing/ipc/unix_socket.h"

namespace protozero {

namespace {

constexpr uint32_t kAcceptPauseMs = 100;

}  // namespace

class ServiceHost::Impl {
 public:
  Impl(TraceService* service, Options options)
      : service_(service), options_(std::move(options)) {
    if (options_.socket.empty())
      options_.socket = DefaultProducerSocket();
  }
  ~Impl() {
    connections_.clear();
    if (listening_.is_valid() && options_.socket[0] != '@')
      unlink(options_.socket.c_str());
  }

  bool Listen(std::string* error) {
    listening_ = ListenOnUnixSocket(options_.socket, error);
    return listening_.is_valid();
  }
  const std::string& socket() const { return options_.socket; }

  void RunOnce(uint32_t timeout_ms);
  void Run() {
    while (!is_stopping_.load(std::memory_order_relaxed))
      RunOnce(UINT32_MAX);
  }
  void Stop() {
    is_stopping_.store(true, std::memory_order_relaxed);
    Wakeup();
  }
  void Wakeup() { wakeup_.Notify(); }

  size_t num_connections() const { return connections_.size(); }

 private:
  int PollTimeout(uint32_t timeout_ms) const;
  void Accept();

  TraceService* const service_;
  Options options_;
  WakeupFd wakeup_;
  ScopedFd listening_;
  bool pauses_accepting_ = false;
  std::atomic<bool> is_stopping_{false};
  std::vector<std::unique_ptr<HostConnection>> connections_;
  CommitDataReader commit_reader_;
  // Reused.
  std::vector<pollfd> poll_fds_;
};

int ServiceHost::Impl::PollTimeout(uint32_t timeout_ms) const {
  const uint64_t deadline = service_->NextDeadlineMs();
  if (deadline == UINT64_MAX && timeout_ms == UINT32_MAX)
    return -1;
  const uint64_t now = service_->NowMs();
  const uint64_t until_deadline = deadline > now ? deadline - now : 0;
  return static_cast<int>(
      std::min<uint64_t>({until_deadline, timeout_ms, uint64_t{1} << 30}));
}

void ServiceHost::Impl::RunOnce(uint32_t timeout_ms) {
  const size_t num_connections = connections_.size();
  poll_fds_.clear();
  poll_fds_.push_back({wakeup_.fd(), POLLIN, 0});
  // poll() ignores what is negative.
  poll_fds_.push_back({pauses_accepting_ ? -1 : listening_.get(), POLLIN, 0});
  if (pauses_accepting_)
    timeout_ms = std::min(timeout_ms, kAcceptPauseMs);
  for (const std::unique_ptr<HostConnection>& connection : connections_) {
    poll_fds_.push_back(
        {connection->socket(),
         static_cast<short>(connection->has_queued() ? POLLIN | POLLOUT
                                                     : POLLIN),
         0});
  }
  poll(poll_fds_.data(), poll_fds_.size(), PollTimeout(timeout_ms));

  if (poll_fds_[0].revents != 0)
    wakeup_.Clear();
  for (size_t i = 0; i < num_connections; ++i) {
    const short events = poll_fds_[2 + i].revents;
    if (events & POLLOUT)
      connections_[i]->SendQueued();
    if (events & ~POLLOUT)
      connections_[i]->Receive();
  }
  service_->RunDue();
  connections_.erase(
      std::remove_if(connections_.begin(), connections_.end(),
                     [](const std::unique_ptr<HostConnection>& connection) {
                       return connection->is_broken();
                     }),
      connections_.end());
  if (pauses_accepting_ || poll_fds_[1].revents != 0)
    Accept();
}

void ServiceHost::Impl::Accept() {
  for (;;) {
    ScopedFd socket = AcceptConnection(listening_.get());
    if (!socket.is_valid()) {
      // Short of descriptors, for example. Looking again at once is no use.
      pauses_accepting_ = errno != EAGAIN && errno != EWOULDBLOCK;
      return;
    }
    PeerIdentity peer;
    if (connections_.size() < options_.max_connections &&
        GetPeerIdentity(socket.get(), &peer)) {
      connections_.emplace_back(new HostConnection(
          service_, std::move(socket), peer, options_.max_queued_bytes,
          &wakeup_, &commit_reader_));
    }
  }
}

ServiceHost::ServiceHost(TraceService* service, Options options)
    : impl_(new Impl(service, std::move(options))) {}
ServiceHost::~ServiceHost() = default;

bool ServiceHost::Listen(std::string* error) {
  return impl_->Listen(error);
}

const std::string& ServiceHost::socket() const {
  return impl_->socket();
}

void ServiceHost::RunOnce(uint32_t timeout_ms) {
  impl_->RunOnce(timeout_ms);
}

void ServiceHost::Run() {
  impl_->Run();
}

void ServiceHost::Stop() {
  impl_->Stop();
}

void ServiceHost::Wakeup() {
  impl_->Wakeup();
}

size_t ServiceHost::num_connections() const {
  return impl_->num_connections();
}

}  // namespace protozero
