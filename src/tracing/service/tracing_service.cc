// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/tracing_service.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "src/tracing/service/service_impl.h"
#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

class TracingService::Connection : public ProducerConnection {
 public:
  Connection(Impl* impl, Impl::ProducerState* producer)
      : impl_(impl),
        producer_(producer),
        id_(producer->id),
        uses_provided_memory_(producer->memory != nullptr) {}
  ~Connection() override {
    Locked([](Impl* impl, auto* producer) { impl->RemoveProducer(producer); });
  }

  ProducerID id() const override { return id_; }
  bool uses_provided_memory() const override { return uses_provided_memory_; }
  uint64_t bytes_copied() const override { return producer_->bytes_copied; }

  void RegisterDataSource(const DataSourceDescriptor& descriptor) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->RegisterDataSource(producer, descriptor);
    });
  }
  void UpdateDataSource(const DataSourceDescriptor& descriptor) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->UpdateDataSource(producer, descriptor);
    });
  }
  void UnregisterDataSource(const std::string& name) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->UnregisterDataSource(producer, name);
    });
  }
  void NotifyDataSourceStarted(DataSourceInstanceID instance_id) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->NotifyDataSourceStarted(producer, instance_id);
    });
  }
  void NotifyDataSourceStopped(DataSourceInstanceID instance_id) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->NotifyDataSourceStopped(producer, instance_id);
    });
  }
  void RegisterTraceWriter(WriterID writer_id,
                           BufferID target_buffer) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->RegisterTraceWriter(producer, writer_id, target_buffer);
    });
  }
  void UnregisterTraceWriter(WriterID writer_id) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->UnregisterTraceWriter(producer, writer_id);
    });
  }
  void ReportUnknownLoss() override {
    Locked(
        [](Impl* impl, auto* producer) { impl->ReportUnknownLoss(*producer); });
  }
  bool CommitDataIfSetUp(const CommitDataRequest& request) override {
    std::lock_guard<std::mutex> lock(impl_->mutex_);
    return impl_->CommitData(producer_, request);
  }

 private:
  template <typename Function>
  void Locked(Function function) {
    std::lock_guard<std::mutex> lock(impl_->mutex_);
    function(impl_, producer_);
  }

  Impl* const impl_;
  Impl::ProducerState* const producer_;
  const ProducerID id_;
  const bool uses_provided_memory_;
};

TracingService::TracingService(Clock clock)
    : impl_(std::make_unique<Impl>(clock ? std::move(clock) : [] {
        return static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::steady_clock::now().time_since_epoch())
                .count());
      })) {}

TracingService::~TracingService() = default;

std::unique_ptr<TracingService::ProducerConnection>
TracingService::ConnectProducer(RemoteProducer* producer, ProducerInfo info) {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  Impl::ProducerState* state = nullptr;
  std::unique_ptr<Connection> connection;
  RunsInMemory([&] {
    state = impl_->AddProducer(producer, std::move(info));
    if (state != nullptr)
      connection = std::make_unique<Connection>(impl_.get(), state);
  });
  if (connection == nullptr && state != nullptr)
    impl_->RemoveProducer(state);
  return connection;
}

TracingSessionID TracingService::StartTracing(const TraceConfig& config,
                                              Consumer* consumer,
                                              std::string* error) {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  return impl_->StartTracing(config, consumer, error);
}

void TracingService::StopTracing(TracingSessionID session_id) {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  if (Impl::Session* const session = impl_->FindSession(session_id))
    impl_->StopTracing(session);
}

FlushRequestID TracingService::Flush(TracingSessionID session_id,
                                     uint32_t timeout_ms,
                                     FlushFlags flags,
                                     std::function<void(bool)> on_done) {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  Impl::Session* const session = impl_->FindSession(session_id);
  if (session == nullptr ||
      (session->state != kStarting && session->state != kStarted)) {
    return 0;
  }
  if (timeout_ms == 0)
    timeout_ms = session->config.flush_timeout_ms;
  return impl_->Flush(session, timeout_ms, flags, false, std::move(on_done));
}

TracingService::State TracingService::GetState(
    TracingSessionID session_id) const {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  const Impl::Session* const session = impl_->FindSession(session_id);
  return session == nullptr ? kNone : session->state;
}

TraceStats TracingService::GetStats(TracingSessionID session_id) const {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  const Impl::Session* const session = impl_->FindSession(session_id);
  return session == nullptr ? TraceStats() : impl_->GetStats(*session);
}

bool TracingService::ReadPackets(TracingSessionID session_id,
                                 const TraceSink& sink) {
  std::lock_guard<std::mutex> read_lock(impl_->read_mutex_);
  return impl_->ReadPackets(session_id, sink);
}

void TracingService::CloseSession(TracingSessionID session_id) {
  // Nobody is in its sink, or its consumer, afterwards.
  std::lock_guard<std::mutex> read_lock(impl_->read_mutex_);
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  if (Impl::Session* const session = impl_->FindSession(session_id))
    impl_->CloseSession(session);
}

uint64_t TracingService::NextDeadlineMs() const {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  return impl_->NextDeadline();
}

uint64_t TracingService::NowMs() const {
  return impl_->Now();
}

uint64_t TracingService::NumVisitsForTesting() const {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  return impl_->num_visits();
}

void TracingService::RunDue() {
  {
    std::lock_guard<std::mutex> lock(impl_->mutex_);
    impl_->RunDue();
  }
  const auto next = [this] {
    std::lock_guard<std::mutex> lock(impl_->mutex_);
    return impl_->TakeSessionToWrite();
  };
  while (const TracingSessionID id = next())
    impl_->WriteSession(id);
}

PROTOZERO_ABI_END
}  // namespace protozero
