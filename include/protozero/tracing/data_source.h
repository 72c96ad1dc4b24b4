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
class Message;
class TraceContext;
class TraceWriter;

namespace internal {
class DataSourceAccess;
class ProducerIpcClient;
}  // namespace internal

namespace internal PROTOZERO_HIDDEN {
class ReadyWriter;
}  // namespace internal PROTOZERO_HIDDEN

// One session's use of a data source. Any thread.
class DataSourceInstance {
 public:
  // Producer and LocalTrace make instances.
  DataSourceInstance(DataSourceInstanceID id,
                     DataSourceConfig config,
                     std::shared_ptr<internal::ProducerIpcClient> connection);
  ~DataSourceInstance();

  // Returns its id, which is unique in its connection.
  DataSourceInstanceID id() const { return id_; }
  // Returns the session's request.
  const DataSourceConfig& config() const { return config_; }

 private:
  friend class DataSource;
  friend class DataSourceWriters;
  friend class internal::DataSourceAccess;
  friend class TraceContext;

  const DataSourceInstanceID id_;
  const DataSourceConfig config_;
  const std::shared_ptr<internal::ProducerIpcClient> connection_;
  // True if DataSource::OnSetup() has called Refuse() for it.
  mutable bool is_refused_ = false;
  // The number of times that the service has asked to clear incremental state.
  std::atomic<uint32_t> num_clears_{0};
  // The value of |num_clears_| when the extensions were last described. At
  // first, a value that the counter does not reach soon.
  std::atomic<uint32_t> described_at_{UINT32_MAX};
  // The writers that threads have left when they ended. A thread that begins
  // takes one of them: it goes on in the same chunk, and the service hears of
  // neither thread. Guarded by ClientLock(); once the instance has stopped, the
  // thread that stops it has them.
  std::vector<std::unique_ptr<TraceWriter>> spare_writers_;
};

// Something that can be traced, under the name by which sessions ask for it.
// Derive from it to learn about sessions. Producers and DataSourceWriters keep
// it alive.
class DataSource {
 public:
  // Takes a |policy| that overrides what sessions want when the shared memory
  // is full. The producer always notifies the service when instances have
  // started and stopped, whatever |descriptor| says. REQUIRES:
  // |descriptor.name| is not empty.
  explicit DataSource(
      DataSourceDescriptor descriptor,
      std::optional<BufferExhaustedPolicy> policy = std::nullopt);
  virtual ~DataSource();

  DataSource(const DataSource&) = delete;
  DataSource& operator=(const DataSource&) = delete;

  // Returns the descriptor that the constructor was given.
  const DataSourceDescriptor& descriptor() const { return descriptor_; }

  // Returns whether a session records the data source. If none does, a program
  // can spare the work of preparing packets. Any thread.
  bool is_enabled() const {
    return (state_.load(std::memory_order_relaxed) & kEnabled) != 0;
  }

 protected:
  // Appends what services are told besides descriptor(): fields of Perfetto's
  // DataSourceDescriptor, of less than 64 KB. Called by any thread, with a lock
  // held, each time that a producer offers the data source to a service. Must
  // not trace, nor call functions of producers.
  virtual void AppendToDescriptor(Message* /*descriptor*/) const {}

  // The producer's thread, which reads the service's commands, calls these.
  // They must not take long, and must not destroy the producer. They may trace,
  // with DataSourceWriters of that thread.

  // Called before OnStart(). A session may set up its data sources long before
  // it starts them.
  virtual void OnSetup(const DataSourceInstance&) {}
  // Called when threads begin to write to the instance.
  virtual void OnStart(const DataSourceInstance&) {}
  // Called when no thread begins to write to the instance any more. Packets
  // from before are part of the trace if they are committed when this returns,
  // or if the service can scrape them.
  virtual void OnStop(const DataSourceInstance&) {}
  // Flushes. Packets that are committed when this returns are part of the
  // flush. So are the complete packets of threads that are between two packets.
  // A thread in the middle of a packet gives up its chunk in its next Trace().
  virtual void OnFlush(const DataSourceInstance&, FlushFlags) {}
  // See TraceContext::TakeIncrementalStateCleared().
  virtual void OnClearIncrementalState(const DataSourceInstance&) {}

  // Says that the data source cannot record that session besides the others.
  // Nothing is written to the session, its ledger has an unknown loss, and the
  // producer's off_reason() is kTooManySessions while the session lasts. Only
  // for OnSetup(). OnStart() is not called then; OnStop() is.
  static void Refuse(const DataSourceInstance& instance) {
    instance.is_refused_ = true;
  }

 private:
  friend class DataSourceWriters;
  friend class internal::DataSourceAccess;
  friend class internal::ReadyWriter;

  // A bit of |state_|, which is a counter and this bit. It changes whenever
  // threads have to look at the data source.
  static constexpr uint32_t kEnabled = 1;
  static constexpr uint32_t kStateStep = 4;
  // Values that the counter never takes.
  static constexpr uint32_t kNoState = 2;
  static constexpr uint32_t kTracing = 3;
  static constexpr uint32_t kFollowing = 6;

  // REQUIRES: ClientLock() of the implementation is held.
  void ChangeState();

  const DataSourceDescriptor descriptor_;
  const std::optional<BufferExhaustedPolicy> policy_;
  std::atomic<uint32_t> state_{0};
  // The number of times that |instances_| has changed.
  std::atomic<uint32_t> instance_changes_{0};
  // The instances that have started. Guarded by ClientLock().
  std::vector<std::shared_ptr<DataSourceInstance>> instances_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_H_
