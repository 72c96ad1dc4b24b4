// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/service_host.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "src/tracing/ipc/descriptor_reserve.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/frame_sender.h"
#include "src/tracing/ipc/peer_shares.h"
#include "src/tracing/ipc/producer_ipc_service.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// The pause after accepting failed, for example for lack of a descriptor.
constexpr uint32_t kPauseMs = 100;

// The most connections to accept in a turn. It limits what a process that
// connects and disconnects in a loop costs the connected producers.
constexpr size_t kAcceptsPerTurn = 16;

// The share of a process in a turn, for all of its connections. An honest
// process commits a few times a second.
constexpr TurnShare kTurnShare = {256, 256 * 1024};
constexpr size_t kMinTurnBytes = 4096;

// The number of descriptors that poll() looks at besides the connections'.
constexpr size_t kNumOwnFds = 2;

void Pause(uint32_t max_ms) {
  const auto ms = static_cast<int32_t>(std::min(max_ms, kPauseMs));
  const timespec pause{0, 1000000L * ms};
  nanosleep(&pause, nullptr);
}

}  // namespace

class ServiceHost::Impl {
 public:
  Impl(TracingService* service, Options options)
      : service_(service), options_(std::move(options)) {
    if (options_.socket.empty())
      options_.socket = DefaultProducerSocket();
    poll_fds_.reserve(kNumOwnFds);
  }
  ~Impl() { connections_.clear(); }

  bool Listen(std::string* error) {
    return listening_.Listen(options_.socket, error);
  }
  const std::string& socket() const { return options_.socket; }
  int ConnectProducer();

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
  int accept_error() const {
    return listening_.is_lost() ? EBADF : accept_error_;
  }
  uint64_t num_refused() const { return num_refused_; }
  uint64_t num_out_of_memory() const { return num_out_of_memory_; }

 private:
  struct Connection {
    std::unique_ptr<ProducerIpcService> host;
    // The time when the connection ends, if its producer has not introduced
    // itself by then.
    uint64_t introduction_deadline;
  };
  using Connections = std::vector<Connection>;

  bool IsOverdue(const Connection& connection, uint64_t now) const {
    return !connection.host->is_introduced() &&
           connection.introduction_deadline <= now;
  }
  int PollTimeout(uint32_t timeout_ms) const;
  void Poll(uint32_t timeout_ms);
  TurnShare ShareOf(const ProducerIpcService& connection) const;
  void RemoveEnded();
  void Add(ScopedFd socket, const PeerIdentity& peer);
  void Accept();
  bool AcceptByReserve();
  void Admit(ScopedFd socket, bool is_full);
  bool MakeRoomFor(const PeerIdentity& peer, bool is_full);

  TracingService* const service_;
  Options options_;
  WakeupFd wakeup_;
  ListeningSocket listening_;
  // Reserves: one for a newcomer who takes the place of another, one for
  // memory.
  DescriptorReserve accept_reserve_;
  DescriptorReserve memory_reserve_;
  // The time before which the host accepts no connections, because of
  // |accept_error_|.
  uint64_t accept_after_ = 0;
  int accept_error_ = 0;
  uint64_t num_refused_ = 0;
  uint64_t num_out_of_memory_ = 0;
  std::atomic<bool> is_stopping_{false};
  // The connections in the order in which they came.
  Connections connections_;
  PeerShares places_;
  CommitDataReader commit_reader_;
  // A reused array, which has room for every connection.
  std::vector<pollfd> poll_fds_;
};

int ServiceHost::Impl::PollTimeout(uint32_t timeout_ms) const {
  const uint64_t now = service_->NowMs();
  uint64_t deadline = service_->NextDeadlineMs();
  if (accept_after_ > now)
    deadline = std::min(deadline, accept_after_);
  for (const Connection& connection : connections_) {
    if (connection.host->has_more())
      return 0;
    if (!connection.host->is_introduced())
      deadline = std::min(deadline, connection.introduction_deadline);
  }
  const uint64_t until_deadline = deadline > now ? deadline - now : 0;
  // Without the descriptor, nothing ends the poll.
  const uint64_t longest =
      poll_fds_[0].fd < 0 ? kPauseMs : WakeupFd::kMaxPollMs;
  return static_cast<int>(
      std::min<uint64_t>({until_deadline, timeout_ms, longest}));
}

void ServiceHost::Impl::Poll(uint32_t timeout_ms) {
  poll_fds_.clear();
  poll_fds_.push_back({wakeup_.fd(), POLLIN, 0});
  // poll() ignores negative descriptors.
  const bool accepts = accept_after_ <= service_->NowMs();
  poll_fds_.push_back({accepts ? listening_.get() : -1, POLLIN, 0});
  for (const Connection& connection : connections_) {
    poll_fds_.push_back(
        {connection.host->socket(),
         static_cast<short>(connection.host->has_queued() ? POLLIN | POLLOUT
                                                          : POLLIN),
         0});
  }
  const int timeout = PollTimeout(timeout_ms);
  if (poll(poll_fds_.data(), poll_fds_.size(), timeout) < 0) {
    // There is no memory, or there are more connections than descriptors are
    // allowed by now. It is no use to poll again at once.
    if (errno != EINTR)
      Pause(static_cast<uint32_t>(timeout));
    for (pollfd& fd : poll_fds_)
      fd.revents = 0;
  }
}

void ServiceHost::Impl::RunOnce(uint32_t timeout_ms) {
  Poll(timeout_ms);
  if (poll_fds_[0].revents != 0)
    wakeup_.Clear();
  for (size_t i = 0; i < connections_.size(); ++i) {
    ProducerIpcService& connection = *connections_[i].host;
    const short events = poll_fds_[kNumOwnFds + i].revents;
    if (events & POLLOUT)
      connection.SendQueued();
    if (connection.has_more() || (events & ~POLLOUT))
      connection.TakeTurn(ShareOf(connection));
    if (service_->has_become_half_full())
      service_->RunDue();
  }
  service_->RunDue();
  RemoveEnded();
  if (poll_fds_[1].revents != 0)
    Accept();
}

TurnShare ServiceHost::Impl::ShareOf(
    const ProducerIpcService& connection) const {
  const size_t num = places_.OfProcess(connection.peer());
  return {std::max<size_t>(kTurnShare.frames / num, 1),
          std::max(kTurnShare.bytes / num, kMinTurnBytes)};
}

void ServiceHost::Impl::RemoveEnded() {
  const uint64_t now = service_->NowMs();
  const auto has_ended = [&](const Connection& it) {
    return it.host->is_broken() || IsOverdue(it, now);
  };
  for (const Connection& it : connections_) {
    if (!has_ended(it))
      continue;
    num_out_of_memory_ += it.host->is_out_of_memory();
    num_refused_ += it.host->is_displaced();
    places_.Remove(it.host->peer());
  }
  // The other connections keep their order.
  connections_.erase(
      std::remove_if(connections_.begin(), connections_.end(), has_ended),
      connections_.end());
}

// Adds a connection. Throws std::bad_alloc, and has changed nothing, if there
// is no memory.
void ServiceHost::Impl::Add(ScopedFd socket, const PeerIdentity& peer) {
  const size_t num_fds = kNumOwnFds + connections_.size() + 1;
  if (num_fds > poll_fds_.capacity())
    poll_fds_.reserve(2 * num_fds);
  places_.Reserve(peer);
  ScopeExit undo([&] { places_.ForgetIfNone(peer); });
  connections_.push_back(
      {std::make_unique<ProducerIpcService>(
           service_, std::move(socket), peer, options_.max_queued_bytes,
           &wakeup_, &memory_reserve_, options_.flight_source, &commit_reader_),
       service_->NowMs() + options_.introduction_timeout_ms});
  undo.Cancel();
  places_.Add(peer);
}

int ServiceHost::Impl::ConnectProducer() {
  ScopedFd own_end;
  ScopedFd producers_end;
  PeerIdentity peer;
  // Without |wakeup_|, no thread could stop the one that runs the host.
  if (wakeup_.fd() < 0 && !wakeup_.TryOpen())
    return -1;
  if (!ConnectSocketPair(&own_end, &producers_end) ||
      !GetPeerIdentity(own_end.get(), &peer)) {
    return -1;
  }
  if (!RunsInMemory([&] { Add(std::move(own_end), peer); })) {
    errno = ENOMEM;
    return -1;
  }
  return producers_end.Release();
}

void ServiceHost::Impl::Accept() {
  for (size_t i = 0; i < kAcceptsPerTurn; ++i) {
    ScopedFd socket = AcceptConnection(listening_.get());
    if (socket.is_valid()) {
      Admit(std::move(socket), /*is_full=*/false);
      continue;
    }
    accept_error_ = errno;
    // Without a free descriptor, accept() fails even if no producer waits.
    pollfd waiting{listening_.get(), POLLIN, 0};
    if (accept_error_ == EAGAIN || poll(&waiting, 1, 0) == 0) {
      accept_error_ = 0;
      return;
    }
    if (LacksDescriptors(accept_error_) && AcceptByReserve())
      continue;
    // It is no use to look again at once.
    accept_after_ = service_->NowMs() + kPauseMs;
    return;
  }
}

// Accepts without a free descriptor: users with many connections make room, as
// if the host were full. Returns whether it has decided on a newcomer.
bool ServiceHost::Impl::AcceptByReserve() {
  // If no user has more than one connection, newcomers wait for a descriptor.
  if (places_.OfLargestUser() <= 1)
    return false;
  return accept_reserve_.Use([this] {
    // Only an accepted connection says which process it is of.
    ScopedFd socket = AcceptConnection(listening_.get());
    const bool has_come = socket.is_valid();
    if (has_come)
      Admit(std::move(socket), /*is_full=*/true);
    return has_come;
  });
}

void ServiceHost::Impl::Admit(ScopedFd socket, bool is_full) {
  PeerIdentity peer;
  if (!GetPeerIdentity(socket.get(), &peer) || !MakeRoomFor(peer, is_full)) {
    ++num_refused_;
    return;
  }
  if (!RunsInMemory([&] { Add(std::move(socket), peer); }))
    ++num_out_of_memory_;
}

// Closes a connection if needed. Returns false if there is no place. |is_full|
// says that no more connections are possible, whatever the options say.
bool ServiceHost::Impl::MakeRoomFor(const PeerIdentity& peer, bool is_full) {
  if (places_.OfProcess(peer) >= options_.max_connections_per_process)
    return false;
  is_full = is_full || connections_.size() >= options_.max_connections;
  if (!is_full && places_.OfUser(peer.uid) < options_.max_connections_per_user)
    return true;

  const auto process = places_.WhoMakesRoom(peer, is_full);
  if (!process.has_value())
    return false;
  auto last = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    if (PeerShares::ProcessOf(it->host->peer()) == *process &&
        (last == connections_.end() || last->host->is_introduced() ||
         !it->host->is_introduced()))
      last = it;
  }
  places_.Remove(last->host->peer());
  connections_.erase(last);
  ++num_refused_;
  return true;
}

ServiceHost::ServiceHost(TracingService* service, Options options)
    : impl_(new Impl(service, std::move(options))) {}
ServiceHost::~ServiceHost() = default;

bool ServiceHost::Listen(std::string* error) {
  return impl_->Listen(error);
}

int ServiceHost::ConnectProducer() {
  return impl_->ConnectProducer();
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

int ServiceHost::accept_error() const {
  return impl_->accept_error();
}

uint64_t ServiceHost::num_refused() const {
  return impl_->num_refused();
}

uint64_t ServiceHost::num_out_of_memory() const {
  return impl_->num_out_of_memory();
}

PROTOZERO_ABI_END
}  // namespace protozero
