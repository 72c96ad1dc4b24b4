// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/data_source.h"

#include <utility>

#include "protozero/tracing/trace_writer.h"
#include "src/tracing/ipc/data_source_access.h"
#include "src/tracing/ipc/producer_ipc_client.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using internal::ProducerIpcClient;

DataSourceInstance::DataSourceInstance(
    DataSourceInstanceID id,
    DataSourceConfig config,
    std::shared_ptr<ProducerIpcClient> connection)
    : id_(id), config_(std::move(config)), connection_(std::move(connection)) {}

DataSourceInstance::~DataSourceInstance() = default;

void internal::DataSourceAccess::DestroySpareWriters(
    DataSourceInstance* instance) {
  const size_t num_writers = instance->spare_writers_.size();
  instance->connection_->AddSpareWriters(0 -
                                         static_cast<uint32_t>(num_writers));
  instance->spare_writers_.clear();
}

DataSource::DataSource(DataSourceDescriptor descriptor,
                       std::optional<BufferExhaustedPolicy> policy)
    : descriptor_(std::move(descriptor)), policy_(policy) {}

DataSource::~DataSource() = default;

void DataSource::ChangeState() {
  const uint32_t count =
      (state_.load(std::memory_order_relaxed) & ~(kStateStep - 1)) + kStateStep;
  state_.store(count | (instances_.empty() ? 0 : kEnabled),
               std::memory_order_release);
}

PROTOZERO_ABI_END
}  // namespace protozero
