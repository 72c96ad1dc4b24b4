// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_DATA_SOURCE_ACCESS_H_
#define SRC_TRACING_IPC_DATA_SOURCE_ACCESS_H_

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "protozero/tracing/data_source.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The functions by which a producer uses the data sources of its program.
// DataSource and DataSourceInstance let only this class do it.
class DataSourceAccess {
 public:
  using InstancePtr = std::shared_ptr<DataSourceInstance>;

  // Lets threads write to the instance from now on. Returns false if they do
  // already. REQUIRES, for this and the next five: ClientLock().
  static bool StartInstance(DataSource* source, const InstancePtr& instance) {
    if (HasStarted(*source, instance))
      return false;
    source->instances_.push_back(instance);
    OnInstancesChanged(source);
    return true;
  }
  static void StopInstance(DataSource* source, const InstancePtr& instance) {
    auto& instances = source->instances_;
    const auto it = std::find(instances.begin(), instances.end(), instance);
    if (it == instances.end())
      return;
    instances.erase(it);
    OnInstancesChanged(source);
  }
  // Stops the instances of one connection.
  static void StopInstancesOf(DataSource* source,
                              const ProducerIpcClient* connection) {
    auto& instances = source->instances_;
    instances.erase(std::remove_if(instances.begin(), instances.end(),
                                   [&](const InstancePtr& instance) {
                                     return instance->connection_.get() ==
                                            connection;
                                   }),
                    instances.end());
    OnInstancesChanged(source);
  }
  static void StopAllInstances(DataSource* source) {
    source->instances_.clear();
    OnInstancesChanged(source);
  }
  // Makes threads look at the data source in their next
  // DataSourceWriters::Trace().
  static void NotifyThreads(DataSource* source) { source->ChangeState(); }

  static void AskToClear(DataSource* source, DataSourceInstance* instance) {
    instance->num_clears_.fetch_add(1, std::memory_order_relaxed);
    source->ChangeState();
  }

  // Destroys the writers that no thread has. REQUIRES: StopInstance(), or
  // StopInstancesOf(), was called for it; ClientLock() is not held.
  static void DestroySpareWriters(DataSourceInstance* instance);

  static void AppendToDescriptor(const DataSource& source,
                                 Message* descriptor) {
    source.AppendToDescriptor(descriptor);
  }
  static void OnSetup(DataSource* source, const DataSourceInstance& instance) {
    source->OnSetup(instance);
  }
  static bool IsRefused(const DataSourceInstance& instance) {
    return instance.is_refused_;
  }
  static void OnStart(DataSource* source, const DataSourceInstance& instance) {
    source->OnStart(instance);
  }
  static void OnStop(DataSource* source, const DataSourceInstance& instance) {
    source->OnStop(instance);
  }
  static void OnFlush(DataSource* source,
                      const DataSourceInstance& instance,
                      FlushFlags flags) {
    source->OnFlush(instance, flags);
  }
  static void OnClearIncrementalState(DataSource* source,
                                      const DataSourceInstance& instance) {
    source->OnClearIncrementalState(instance);
  }

 private:
  static void OnInstancesChanged(DataSource* source) {
    source->instance_changes_.fetch_add(1, std::memory_order_relaxed);
    source->ChangeState();
  }
  static bool HasStarted(const DataSource& source,
                         const InstancePtr& instance) {
    const auto& instances = source.instances_;
    return std::find(instances.begin(), instances.end(), instance) !=
           instances.end();
  }
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_DATA_SOURCE_ACCESS_H_
