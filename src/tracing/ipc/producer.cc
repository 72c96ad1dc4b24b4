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
using internal::ServicePlace;

namespace {

using Lock = std::unique_lock<std::mutex>;
using SteadyClock = std::chrono::steady_clock;

constexpr uint32_t kMaxWaitForRecorderMs = 2000;
// The time that the destructor waits for a thread that it may be unable to
// wake.
constexpr std::chrono::seconds kMaxWaitForLost{3};

// Called before a producer's thread starts, without a lock.
void PrepareForThread() {
  // The thread runs in this library.
  KeepThisLibraryLoaded();
  internal::TellWhenThisThreadEnds();
}

}  // namespace

namespace internal {

namespace {

// Describes the data source in a request of type T.
template <typename T>
void Describe(ProducerMethod method,
              const DataSource& source,
              ProducerIpcClient* connection) {
  connection->InvokeLocked<T>(method, /*drop_reply=*/true, [&](T* message) {
    auto* const descriptor = message->set_data_source_descriptor();
    WriteDataSourceDescriptor(source.descriptor(), descriptor);
    DataSourceAccess::AppendToDescriptor(source, descriptor);
    // A Producer notifies by itself, after it has called OnStart() or OnStop().
    // Readers take the last value of a field, so this needs no changed copy of
    // the descriptor, which would allocate.
    descriptor->set_will_notify_on_start(true);
    descriptor->set_will_notify_on_stop(true);
  });
}

}  // namespace

void OfferDataSource(const DataSource& source, ProducerIpcClient* connection) {
  Describe<pb::RegisterDataSourceRequest>(ProducerMethod::kRegisterDataSource,
                                          source, connection);
}

void UpdateDataSource(const DataSource& source, ProducerIpcClient* connection) {
  Describe<pb::UpdateDataSourceRequest>(ProducerMethod::kUpdateDataSource,
                                        source, connection);
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
      main_place.status.set_state(State::kDisconnected);
  }
  ~Impl() {
    if (thread_.is_started())
      thread_.Join();
  }

  // Has the thread end. Returns false if that does not happen, because the
  // program has taken the descriptors that would wake the thread. The thread
  // destroys this object then, if it ever ends.
  bool Stop() {
    Lock lock(ClientLock());
    RemoveFromProducers(this);
    is_stopping = true;
    wakeup.Notify();
    changed.notify_all();
    if (!thread_.is_started() || wakeup.fd() >= 0 ||
        changed.wait_for(lock, kMaxWaitForLost, [this] { return has_ended; })) {
      return true;
    }
    thread_.Detach();
    destroy = [](ProducerShared* shared) { delete static_cast<Impl*>(shared); };
    return false;
  }

  // Calls |use(place)| for each place, or for |only_place|.
  template <typename Use>
  void ForEachPlace(ServicePlace* only_place, Use use) {
    for (ServicePlace* it = &main_place; it != nullptr; it = it->next) {
      if (only_place == nullptr || it == only_place)
        use(it);
    }
  }
  // Does Sync(), for |only_place| if that is not null. Takes the lock, and
  // gives it back while it waits.
  bool Sync(Lock* lock,
            SteadyClock::time_point deadline,
            ServicePlace* only_place);
  // Waits, if a recorder has started this program, until it records what has
  // been registered. The recorder's service may be stopped, or gone.
  void WaitForRecorder(Lock* lock);

 private:
  // The connection, and the number of a request to it. Places and connections
  // come and go while the lock is released.
  struct Request {
    std::shared_ptr<ProducerIpcClient> connection;
    uint64_t id;
  };
  // Returns whether the service has given what Sync() has asked for.
  bool FinishSync(const Request& request);
  // Returns null if there is no such connection any more.
  ServicePlace* FindPlace(const ProducerIpcClient& connection);
  // Waits until the thread has looked for services.
  void WaitForLook(Lock* lock,
                   SteadyClock::time_point deadline,
                   ServicePlace* only_place);

  void StartLocked() {
    if (!RunsInMemory([&] { main_place.socket = options.socket; }) ||
        !internal::HandleForks()) {
      return main_place.status.SetOff(OffReason::kOutOfMemory);
    }
    if (options.socket.empty() && IsStartedByRecorder())
      max_wait_ms_ = kMaxWaitForRecorderMs;
    const int error = thread_.Start<&internal::ProducerLoop::Run>(&loop_);
    if (error != 0)
      main_place.status.SetOff(OffReason::kNoThread, strerror(error));
  }

  // The rest of the time that WaitForRecorder() may wait. Set before the thread
  // starts.
  uint32_t max_wait_ms_ = 0;
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
  const NoCancellation no_cancellation;
  if (impl_ != nullptr && (impl_->is_abandoned || !impl_->Stop()))
    impl_.release();
}

Producer::State Producer::state() const {
  Lock lock(ClientLock());
  return impl_ != nullptr ? impl_->state() : State::kDisconnected;
}

uint32_t Producer::num_connections() const {
  Lock lock(ClientLock());
  return impl_ != nullptr ? impl_->num_connections : 0;
}

Producer::OffReason Producer::off_reason() const {
  Lock lock(ClientLock());
  if (impl_ == nullptr)
    return OffReason::kOutOfMemory;
  const ServicePlace* const trouble = impl_->FindTrouble();
  return trouble != nullptr ? trouble->off_reason() : OffReason::kNone;
}

std::string Producer::why_off() const {
  std::string why = internal::kOutOfMemory;
  RunsInMemory([&] {
    Lock lock(ClientLock());
    if (impl_ == nullptr)
      return;
    const ServicePlace* const trouble = impl_->FindTrouble();
    why = trouble == nullptr
              ? std::string()
              : trouble->status.WhyOff(trouble->off_reason(), trouble->socket);
  });
  return why;
}

bool Producer::RegisterDataSource(std::shared_ptr<DataSource> source) {
  if (impl_ == nullptr)
    return false;
  Lock lock(ClientLock());
  auto& sources = impl_->sources;
  if (!RunsInMemory([&] { sources.emplace_back(); })) {
    impl_->main_place.status.SetOff(OffReason::kOutOfMemory);
    return false;
  }
  sources.back() = std::move(source);
  impl_->ForEachPlace(nullptr, [&](const ServicePlace* place) {
    if (place->is_connected())
      OfferDataSource(*sources.back(), place->connection.get());
  });
  impl_->WaitForRecorder(&lock);
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
  // The service answers by stopping the instances that it has set up. Instances
  // of other producers go on.
  impl_->ForEachPlace(nullptr, [&](const ServicePlace* place) {
    DataSourceAccess::StopInstancesOf(source.get(), place->connection.get());
    DataSourceAccess::StopInstancesOf(source.get(), place->survivor.get());
    if (!place->is_connected())
      return;
    place->connection->InvokeLocked<pb::UnregisterDataSourceRequest>(
        ProducerMethod::kUnregisterDataSource, /*drop_reply=*/true,
        [&](pb::UnregisterDataSourceRequest* message) {
          message->set_data_source_name(source->descriptor().name);
        });
  });
}

bool Producer::Sync(uint32_t timeout_ms) {
  const NoCancellation no_cancellation;
  if (impl_ == nullptr)
    return false;
  Lock lock(ClientLock());
  return impl_->Sync(&lock,
                     SteadyClock::now() + std::chrono::milliseconds(timeout_ms),
                     /*only_place=*/nullptr);
}

void Producer::Impl::WaitForLook(Lock* lock,
                                 SteadyClock::time_point deadline,
                                 ServicePlace* only_place) {
  // A producer without an address may have missed a recorder that has come.
  const bool is_needed = only_place != nullptr ? !only_place->is_connected()
                                               : state() != State::kConnected ||
                                                     options.socket.empty();
  if (!is_needed)
    return;
  const uint32_t look = ++looks_wanted;
  wakeup.Notify();
  changed.wait_until(*lock, deadline, [&] {
    return state() == State::kDisconnected ||
           static_cast<int32_t>(looks_done - look) >= 0;
  });
}

bool Producer::Impl::Sync(Lock* lock,
                          SteadyClock::time_point deadline,
                          ServicePlace* only_place) {
  WaitForLook(lock, deadline, only_place);
  Request requests[internal::ProducerLoop::kMaxServices];
  size_t num = 0;
  const auto is_answered = [&](const Request& request) {
    const ServicePlace* const place = FindPlace(*request.connection);
    return place == nullptr || request.id == 0 ||
           place->synced_request >= request.id;
  };
  // Asks each service as soon as it is connected: another one may be stopped.
  changed.wait_until(*lock, deadline, [&] {
    bool is_introducing = false;
    ForEachPlace(only_place, [&](const ServicePlace* place) {
      is_introducing |= place->is_introducing;
      const bool is_asked =
          std::any_of(requests, requests + num, [&](const Request& request) {
            return request.connection == place->connection;
          });
      if (!place->is_connected() || is_asked ||
          num == internal::ProducerLoop::kMaxServices) {
        return;
      }
      const uint64_t id = place->connection->InvokeLocked<Message>(
          ProducerMethod::kSync, /*drop_reply=*/false, [](Message*) {});
      requests[num++] = {place->connection, id};
    });
    return !is_introducing &&
           std::all_of(requests, requests + num, is_answered);
  });
  // The next recorder of that name may be there already.
  const bool has_lost =
      std::any_of(requests, requests + num, [&](const Request& request) {
        return FindPlace(*request.connection) == nullptr;
      });
  if (has_lost && only_place == nullptr && options.socket.empty() &&
      state() == State::kConnected && SteadyClock::now() < deadline) {
    return Sync(lock, deadline, only_place);
  }
  bool ok = num != 0;
  ForEachPlace(only_place, [&](ServicePlace* place) {
    if (!place->is_introducing)
      return;
    ok = false;
    if (state() == State::kConnected)
      place->status.SetOff(OffReason::kTimedOut);
  });
  for (size_t i = 0; i < num; ++i)
    ok = FinishSync(requests[i]) && ok;
  // Some of |requests| may have the last references, whose end takes the lock.
  lock->unlock();
  return ok;
}

ServicePlace* Producer::Impl::FindPlace(const ProducerIpcClient& connection) {
  ServicePlace* found = nullptr;
  ForEachPlace(nullptr, [&](ServicePlace* place) {
    if (place->connection.get() == &connection)
      found = place;
  });
  return found;
}

bool Producer::Impl::FinishSync(const Request& request) {
  ServicePlace* const place = FindPlace(*request.connection);
  // A recorder that has ended meanwhile wants nothing any more.
  if (place == nullptr)
    return state() == State::kConnected;
  const bool has_answer =
      request.id != 0 && place->synced_request >= request.id;
  const bool ok = has_answer && !place->status.lacks_shared_memory() &&
                  !place->status.refuses_sessions();
  // If it succeeds, all earlier problems are over.
  if (ok) {
    place->status.SetOff(OffReason::kNone);
  } else if (place->off_reason() == OffReason::kNone) {
    place->status.SetOff(request.id != 0 ? OffReason::kTimedOut
                                         : OffReason::kConnectionLost);
  }
  return ok;
}

void Producer::Impl::WaitForRecorder(Lock* lock) {
  if (max_wait_ms_ == 0 || thread_.is_current())
    return;
  const auto begin = SteadyClock::now();
  const uint32_t before = std::exchange(max_wait_ms_, 0);
  if (!Sync(lock, begin + std::chrono::milliseconds(before), &main_place))
    return;
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
      SteadyClock::now() - begin);
  lock->lock();
  max_wait_ms_ =
      before - std::min(before, static_cast<uint32_t>(waited.count()));
  lock->unlock();
}

void Producer::ActivateTrigger(const std::string& name) {
  if (impl_ == nullptr)
    return;
  Lock lock(ClientLock());
  impl_->ForEachPlace(nullptr, [&](const ServicePlace* place) {
    if (!place->is_connected())
      return;
    place->connection->InvokeLocked<pb::ActivateTriggersRequest>(
        ProducerMethod::kActivateTriggers, /*drop_reply=*/true,
        [&](pb::ActivateTriggersRequest* message) {
          message->add_trigger_names(name);
        });
  });
}

PROTOZERO_ABI_END
}  // namespace protozero
