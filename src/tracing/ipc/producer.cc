// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/producer.h"

#include <string.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/data_source_access.h"
#include "src/tracing/ipc/keep_loaded.h"
#include "src/tracing/ipc/messages.h"
#include "src/tracing/ipc/producer_fork.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/producer_loop.h"
#include "src/tracing/ipc/producer_shared.h"
#include "src/tracing/ipc/producer_status.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "src/tracing/shared_memory/no_cancellation.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace pb = tracing::pbzero;
using internal::ClientLock;
using internal::DataSourceAccess;
using internal::ProducerIpcClient;

namespace {

using Lock = std::unique_lock<std::mutex>;

// Before a producer's thread starts, without a lock.
void PrepareForThread() {
  // The thread runs in it.
  KeepThisLibraryLoaded();
  internal::TellWhenThisThreadEnds();
}

}  // namespace

namespace internal {

void OfferDataSource(const DataSource& source, ProducerIpcClient* connection) {
  connection->InvokeLocked<pb::RegisterDataSourceRequest>(
      ProducerMethod::kRegisterDataSource, /*drop_reply=*/true,
      [&](pb::RegisterDataSourceRequest* message) {
        auto* const descriptor = message->set_data_source_descriptor();
        WriteDataSourceDescriptor(source.descriptor(), descriptor);
        DataSourceAccess::AppendToDescriptor(source, descriptor);
        // A Producer notifies by itself, after it has called OnStart() or
        // OnStop(). Readers take the last value of a field; a changed copy of
        // the descriptor would allocate.
        descriptor->set_will_notify_on_start(true);
        descriptor->set_will_notify_on_stop(true);
      });
}

}  // namespace internal

// The state that is shared with the producer's thread, and the thread.
class Producer::Impl : public internal::ProducerShared {
 public:
  Impl(Options the_options, ScopedFd connected)
      : ProducerShared(std::move(the_options), std::move(connected)) {
    Lock lock(ClientLock());
    AddToProducers(this);
    StartLocked();
    if (!thread_.is_started())
      status.set_state(State::kDisconnected);
  }
  ~Impl() {
    {
      Lock lock(ClientLock());
      RemoveFromProducers(this);
      is_stopping = true;
      wakeup.Notify();
      changed.notify_all();
    }
    if (thread_.is_started())
      thread_.Join();
  }

  // REQUIRES: ClientLock().
  OffReason OffReasonLocked() const {
    const OffReason reason = status.off_reason();
    return reason == OffReason::kNone && connection != nullptr &&
                   connection->lacks_writer()
               ? OffReason::kOutOfMemory
               : reason;
  }
  // REQUIRES: ClientLock().
  bool is_connected() const { return status.state() == State::kConnected; }

 private:
  void StartLocked() {
    if (!RunsInMemory([&] {
          socket =
              options.socket.empty() ? DefaultProducerSocket() : options.socket;
        }) ||
        !internal::HandleForks()) {
      return status.SetOff(OffReason::kOutOfMemory);
    }
    const int error = thread_.Start<&internal::ProducerLoop::Run>(&loop_);
    if (error != 0)
      status.SetOff(OffReason::kNoThread, strerror(error));
  }

  internal::ProducerLoop loop_{this};
  BackgroundThread thread_;
};

// A Producer without memory for its Impl is kDisconnected for good.

Producer::Producer(Options options) {
  const NoCancellation no_cancellation;
  PrepareForThread();
  impl_.reset(new (std::nothrow) Impl(std::move(options), ScopedFd()));
}

Producer::Producer(Options options, int connected_socket) {
  const NoCancellation no_cancellation;
  PrepareForThread();
  ScopedFd connected(connected_socket);
  options.max_reconnect_pause_ms = 0;
  impl_.reset(new (std::nothrow)
                  Impl(std::move(options), std::move(connected)));
}

Producer::~Producer() {
  if (impl_ != nullptr && impl_->is_abandoned)
    impl_.release();
}

Producer::State Producer::state() const {
  Lock lock(ClientLock());
  return impl_ != nullptr ? impl_->status.state() : State::kDisconnected;
}

uint32_t Producer::num_connections() const {
  Lock lock(ClientLock());
  return impl_ != nullptr ? impl_->status.num_connections() : 0;
}

Producer::OffReason Producer::off_reason() const {
  Lock lock(ClientLock());
  return impl_ != nullptr ? impl_->OffReasonLocked() : OffReason::kOutOfMemory;
}

std::string Producer::why_off() const {
  std::string why = internal::kOutOfMemory;
  RunsInMemory([&] {
    Lock lock(ClientLock());
    if (impl_ != nullptr)
      why = impl_->status.WhyOff(impl_->OffReasonLocked(), impl_->socket);
  });
  return why;
}

bool Producer::RegisterDataSource(std::shared_ptr<DataSource> source) {
  if (impl_ == nullptr)
    return false;
  Lock lock(ClientLock());
  auto& sources = impl_->sources;
  if (!RunsInMemory([&] { sources.emplace_back(); })) {
    impl_->status.SetOff(OffReason::kOutOfMemory);
    return false;
  }
  sources.back() = std::move(source);
  if (impl_->is_connected())
    OfferDataSource(*sources.back(), impl_->connection.get());
  return true;
}

void Producer::UnregisterDataSource(const std::shared_ptr<DataSource>& source) {
  if (impl_ == nullptr)
    return;
  Lock lock(ClientLock());
  auto& sources = impl_->sources;
  const auto it = std::find(sources.begin(), sources.end(), source);
  if (it == sources.end())
    return;
  sources.erase(it);
  // The service answers by stopping the instances that it has set up. Other
  // producers may have instances of the data source, too.
  DataSourceAccess::StopInstancesOf(source.get(), impl_->connection.get());
  if (!impl_->is_connected())
    return;
  impl_->connection->InvokeLocked<pb::UnregisterDataSourceRequest>(
      ProducerMethod::kUnregisterDataSource, /*drop_reply=*/true,
      [&](pb::UnregisterDataSourceRequest* message) {
        message->set_data_source_name(source->descriptor().name);
      });
}

bool Producer::Sync(uint32_t timeout_ms) {
  const NoCancellation no_cancellation;
  if (impl_ == nullptr)
    return false;
  Impl& impl = *impl_;
  Lock lock(ClientLock());
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  if (!impl.changed.wait_until(
          lock, deadline,
          [&] { return impl.status.state() != State::kConnecting; }) ||
      !impl.is_connected()) {
    return false;
  }
  const std::shared_ptr<ProducerIpcClient> connection = impl.connection;
  const uint64_t request = connection->InvokeLocked<Message>(
      ProducerMethod::kSync, /*drop_reply=*/false, [](Message*) {});
  const bool done =
      request != 0 && impl.changed.wait_until(lock, deadline, [&] {
        return impl.connection != connection || impl.synced_request >= request;
      });
  const bool ok = done && impl.connection == connection &&
                  !impl.status.lacks_shared_memory() &&
                  !impl.status.refuses_sessions();
  // Whatever was wrong before, nothing is wrong any more.
  if (ok)
    impl.status.SetOff(OffReason::kNone);
  // |connection| may be the last reference, whose end takes the lock.
  lock.unlock();
  return ok;
}

void Producer::ActivateTrigger(const std::string& name) {
  if (impl_ == nullptr)
    return;
  Lock lock(ClientLock());
  if (!impl_->is_connected())
    return;
  impl_->connection->InvokeLocked<pb::ActivateTriggersRequest>(
      ProducerMethod::kActivateTriggers, /*drop_reply=*/true,
      [&](pb::ActivateTriggersRequest* message) {
        message->add_trigger_names(name);
      });
}

PROTOZERO_ABI_END
}  // namespace protozero
