// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_H_
#define INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_H_

#include <stdint.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "protozero/tracing/data_source_config.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

class DataSourceWriters;
class TraceContext;

namespace internal {
class DataSourceAccess;
class ProducerIpcClient;
}  // namespace internal

// One session's use of a data source. Any thread.
class DataSourceInstance {
 public:
  DataSourceInstance(DataSourceInstanceID id,
                     DataSourceConfig config,
                     std::shared_ptr<internal::ProducerIpcClient> connection);
  ~DataSourceInstance();

  // Unique as long as the connection lasts.
  DataSourceInstanceID id() const { return id_; }
  const DataSourceConfig& config() const { return config_; }

 private:
  friend class DataSourceWriters;
  friend class internal::DataSourceAccess;
  friend class TraceContext;

  const DataSourceInstanceID id_;
  const DataSourceConfig config_;
  const std::shared_ptr<internal::ProducerIpcClient> connection_;
  // How often the service has asked to clear incremental state.
  std::atomic<uint32_t> num_clears_{0};
};

// Something that can be traced, under the name by which sessions ask for it.
// Derive from it to hear of sessions. Outlives its registration: producers and
// DataSourceWriters keep it alive.
class DataSource {
 public:
  // |policy| is what writers do when the memory is full, whatever the sessions
  // want. The service is told when instances have started and stopped, whatever
  // |descriptor| says. REQUIRES: |descriptor.name| is not empty.
  explicit DataSource(
      DataSourceDescriptor descriptor,
      std::optional<BufferExhaustedPolicy> policy = std::nullopt);
  virtual ~DataSource();

  DataSource(const DataSource&) = delete;
  DataSource& operator=(const DataSource&) = delete;

  const DataSourceDescriptor& descriptor() const { return descriptor_; }

  // Whether a session records it: to spare work that is in vain otherwise. Any
  // thread.
  bool is_enabled() const {
    return (state_.load(std::memory_order_relaxed) & kEnabled) != 0;
  }

 protected:
  // Called on the producer's thread, which reads what the service says: they
  // must not take long, nor destroy the producer. They may trace, with
  // DataSourceWriters that belong to that thread.

  // Before OnStart(): another session may be ready long before it starts.
  virtual void OnSetup(const DataSourceInstance&) {}
  // From now on, threads write to it.
  virtual void OnStart(const DataSourceInstance&) {}
  // From now on, no thread begins to write to it. What has been written by then
  // is part of the trace if it has been committed when this returns, or if the
  // service can scrape it.
  virtual void OnStop(const DataSourceInstance&) {}
  // What has been committed when this returns is part of what is flushed, and
  // so are the complete packets of threads that are not in the middle of one;
  // these others let go of their chunks in their next Trace().
  virtual void OnFlush(const DataSourceInstance&, FlushFlags) {}
  // See TraceContext::TakeIncrementalStateCleared().
  virtual void OnClearIncrementalState(const DataSourceInstance&) {}

 private:
  friend class DataSourceWriters;
  friend class internal::DataSourceAccess;

  // What changes whenever threads have to take notice of something: a counter,
  // and a bit.
  static constexpr uint32_t kEnabled = 1;
  static constexpr uint32_t kStateStep = 4;
  // No values that the counter takes.
  static constexpr uint32_t kNoState = 2;
  static constexpr uint32_t kTracing = 3;
  static constexpr uint32_t kFollowing = 6;

  // REQUIRES: ClientLock() of the implementation is held.
  void ChangeState();

  const DataSourceDescriptor descriptor_;
  const std::optional<BufferExhaustedPolicy> policy_;
  std::atomic<uint32_t> state_{0};
  // Those that have been started. Guarded by that lock.
  std::vector<std::shared_ptr<DataSourceInstance>> instances_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_H_
