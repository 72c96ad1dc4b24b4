// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/service_link.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "src/tracing/ipc/client_lock.h"
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

constexpr uint32_t kMinReconnectPauseMs = 100;
// The longest wait for a service that does not read, before another look at the
// time.
constexpr int kPollMs = 100;

}  // namespace

ServiceLink::Served::Served(ProducerShared* producer,
                            ServicePlace* place,
                            ScopedFd socket)
    : connection(std::make_shared<ProducerIpcClient>(std::move(socket),
                                                     &producer->wakeup)),
      handler(std::make_unique<CommandHandler>(producer, place, connection)),
      schedule(producer->options, connection.get()) {}

ServiceLink::ServiceLink(ProducerShared* producer, std::string name)
    : producer_(producer),
      name_(std::move(name)),
      own_place_(is_main() ? nullptr : std::make_unique<ServicePlace>()),
      place_(is_main() ? &producer->main_place : own_place_.get()),
      pause_ms_(kMinReconnectPauseMs) {
  if (is_main())
    return;
  Lock lock(ClientLock());
  ServicePlace& main_place = producer_->main_place;
  place_->next = std::exchange(main_place.next, place_);
}

ServiceLink::~ServiceLink() {
  if (is_main())
    return;
  Lock lock(ClientLock());
  ServicePlace** link = &producer_->main_place.next;
  while (*link != place_)
    link = &(*link)->next;
  *link = place_->next;
  producer_->changed.notify_all();
}

void ServiceLink::Open(ScopedFd socket) {
  is_out_of_memory_ = false;
  num_refusals_ = 0;
  served_ = std::make_unique<Served>(producer_, place_, std::move(socket));
  {
    Lock lock(ClientLock());
    place_->is_introducing = true;
  }
  served_->connection->Bind();
}

bool ServiceLink::BeginWait(pollfd* fd, int* timeout_ms) {
  const ProducerIpcClient& connection = *served_->connection;
  *fd = {connection.socket(), POLLIN, 0};
  if (!connection.is_open() || fd->fd < 0)
    return false;
  if (connection.has_queued())
    fd->events |= POLLOUT;
  const auto shorten = [timeout_ms](int other_ms) {
    if (other_ms >= 0)
      *timeout_ms =
          *timeout_ms < 0 ? other_ms : std::min(*timeout_ms, other_ms);
  };
  shorten(served_->schedule.BeginWait());
  if (served_->handler->has_instances() && connection.ring_bytes() == 0)
    shorten(WakeupFd::kMaxPollMs);
  return true;
}

void ServiceLink::Handle(int revents) {
  bool goes_on = false;
  if (!RunsInMemory([&] { goes_on = HandleEvents(revents); }))
    OnOutOfMemory();
  if (!goes_on)
    Close();
}

bool ServiceLink::HandleEvents(int revents) {
  if (revents & POLLOUT)
    served_->connection->SendQueued();
  if ((revents & ~POLLOUT) && !Receive())
    return false;
  served_->schedule.Run();
  return served_->connection->is_open();
}

bool ServiceLink::Receive() {
  FrameReader& reader = served_->reader;
  CommandHandler& handler = *served_->handler;
  const ContiguousMemoryRange range = reader.BeginReceive();
  if (range.size() == 0) {
    OnOutOfMemory();
    return false;
  }
  size_t size;
  const SocketStatus status =
      ReceiveFromSocket(served_->connection->socket(), range.begin,
                        range.size(), &size, handler.received_fd());
  reader.EndReceive(size);
  ConstBytes payload;
  while (reader.NextFrame(&payload)) {
    // Not before it answers: a service that is being killed still accepts.
    StopSurvivor();
    if (!handler.OnFrame(payload))
      return false;
  }
  return status != SocketStatus::kClosed && !reader.is_broken();
}

void ServiceLink::Close(Clock::time_point goodbye_end) {
  if (served_ == nullptr)
    return Pause(/*can_wait=*/false);
  const std::unique_ptr<Served> served = std::move(served_);
  ProducerIpcClient& connection = *served->connection;
  const bool has_lost_socket = connection.has_lost_socket();
  // Without memory, the service is not told.
  RunsInMemory([&] { served->handler->UpdateOffers(); });
  if (connection.ring_bytes() != 0 && served->handler->has_instances()) {
    survivor_ = std::move(served->handler);
    Lock lock(ClientLock());
    place_->survivor = served->connection;
  } else {
    if (has_lost_socket)
      RememberInterrupted(*served->handler);
    if (!served->handler->StopInstances())
      OnOutOfMemory();
  }
  SayGoodbye(&connection, goodbye_end);
  if (connection.is_out_of_memory())
    OnOutOfMemory();
  // Destroyed after the lock is released: it may be the last reference.
  std::shared_ptr<ProducerIpcClient> last;
  {
    Lock lock(ClientLock());
    ProducerStatus& status = place_->status;
    const bool was_connected = place_->is_connected();
    // If this process ended the connection for lack of memory, the status says
    // so.
    const bool lacks_memory =
        is_out_of_memory_ || (was_connected && status.lacks_shared_memory());
    if (was_connected && !lacks_memory)
      pause_ms_ = kMinReconnectPauseMs;
    if (has_lost_socket)
      status.SetOff(OffReason::kDescriptorTaken);
    else if (!lacks_memory)
      status.SetOff(was_connected ? OffReason::kConnectionLost
                                  : OffReason::kRefused);
    status.set_state(producer_->options.max_reconnect_pause_ms != 0
                         ? State::kConnecting
                         : State::kDisconnected);
    last = std::move(place_->connection);
    place_->connection.reset();
    place_->is_introducing = false;
    producer_->changed.notify_all();
  }
  connection.Close();
  Pause(/*can_wait=*/false);
}

void ServiceLink::RememberInterrupted(const CommandHandler& handler) {
  std::vector<std::shared_ptr<DataSource>> sources;
  if (RunsInMemory([&] { sources = handler.sources(); }))
    place_->interrupted = std::move(sources);
}

void ServiceLink::SayGoodbye(ProducerIpcClient* connection,
                             Clock::time_point end) {
  if (connection->has_queued())
    connection->SendQueued();
  while (connection->has_queued() && Clock::now() < end) {
    pollfd fd{connection->socket(), POLLOUT, 0};
    if (fd.fd >= 0)
      poll(&fd, 1, kPollMs);
    connection->SendQueued();
  }
}

void ServiceLink::StopSurvivor() {
  if (survivor_ == nullptr)
    return;
  if (!survivor_->StopInstances())
    OnOutOfMemory();
  // Destroyed after the lock is released: it may be the last reference.
  std::shared_ptr<ProducerIpcClient> last;
  {
    Lock lock(ClientLock());
    last = std::move(place_->survivor);
    place_->survivor.reset();
  }
  survivor_.reset();
}

void ServiceLink::OnOutOfMemory() {
  is_out_of_memory_ = true;
  Lock lock(ClientLock());
  place_->status.SetOff(OffReason::kOutOfMemory);
}

void ServiceLink::TryNow() {
  pause_ms_ = kMinReconnectPauseMs;
  num_refusals_ = 0;
  next_attempt_ = Clock::time_point::min();
}

void ServiceLink::Pause(bool can_wait) {
  const uint32_t longest_ms = producer_->options.max_reconnect_pause_ms;
  // Such a producer tries once.
  if (longest_ms == 0)
    return PauseForEver();
  if (can_wait)
    pause_ms_ = longest_ms;
  pause_ms_ = std::min(pause_ms_, longest_ms);
  next_attempt_ = Clock::now() + std::chrono::milliseconds(pause_ms_);
  pause_ms_ *= 2;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
