// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/producer.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "src/tracing/ipc/service_connection.h"

namespace protozero {

using internal::ClientLock;
using internal::ServiceConnection;

DataSourceInstance::DataSourceInstance(
    DataSourceInstanceID id,
    DataSourceConfig config,
    std::shared_ptr<ServiceConnection> connection)
    : id_(id), config_(std::move(config)), connection_(std::move(connection)) {}

DataSourceInstance::~DataSourceInstance() = default;

DataSource::DataSource(DataSourceDescriptor descriptor,
                       std::optional<BufferExhaustedPolicy> policy)
    : descriptor_(std::move(descriptor)), policy_(policy) {}

DataSource::~DataSource() = default;

void DataSource::ChangeState() {
  const uint32_t count =
      (state_.load(std::memory_order_relaxed) & ~(kStateStep - 1)) + kStateStep;
  state_.store(count | (instances_.empty() ? 0 : kEnabled),
               std::memory_order_relaxed);
}

DataSourceWriters::DataSourceWriters(std::shared_ptr<DataSource> source)
    : source_(std::move(source)) {}

DataSourceWriters::~DataSourceWriters() {
  for (TraceContext& context : contexts_)
    RemoveContext(&context);
}

void DataSourceWriters::FollowSessions() {
  std::vector<std::shared_ptr<DataSourceInstance>> instances;
  {
    std::lock_guard<std::mutex> lock(ClientLock());
    seen_state_ = source_->state_.load(std::memory_order_relaxed);
    instances = source_->instances_;
  }
  std::vector<TraceContext> contexts;
  for (TraceContext& context : contexts_) {
    const auto it =
        std::find(instances.begin(), instances.end(), context.instance_);
    if (it == instances.end()) {
      RemoveContext(&context);
    } else {
      instances.erase(it);
      // This may be about a flush.
      context.writer_->ReturnChunk();
      contexts.push_back(std::move(context));
    }
  }
  for (std::shared_ptr<DataSourceInstance>& instance : instances) {
    TraceContext context;
    const DataSourceConfig& config = instance->config();
    context.writer_ = instance->connection_->arbiter()->CreateTraceWriter(
        config.target_buffer,
        source_->policy_.value_or(config.buffer_exhausted_policy));
    context.instance_ = std::move(instance);
    contexts.push_back(std::move(context));
  }
  contexts_ = std::move(contexts);
  idle_state_ = contexts_.empty() ? seen_state_ : DataSource::kNoState;
}

void DataSourceWriters::RemoveContext(TraceContext* context) {
  losses_.Add(context->writer_->losses());
  ServiceConnection& connection = *context->instance_->connection_;
  if (connection.is_abandoned())
    connection.Keep(std::move(context->writer_));
  context->writer_.reset();
}

void DataSourceWriters::Flush() {
  for (TraceContext& context : contexts_) {
    if (!context.instance_->connection_->is_abandoned())
      context.writer_->Flush();
  }
}

PacketLosses DataSourceWriters::losses() const {
  PacketLosses sum = losses_;
  for (const TraceContext& context : contexts_)
    sum.Add(context.writer_->losses());
  return sum;
}

}  // namespace protozero
