// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_METHODS_H_
#define SRC_TRACING_IPC_PRODUCER_METHODS_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

inline constexpr char kProducerServiceName[] = "ProducerPort";

// The methods that a service has for producers. A service chooses the ids that
// they have on the wire; ours uses these.
enum class ProducerMethod : uint32_t {
  kInitializeConnection = 1,
  kRegisterDataSource,
  kUnregisterDataSource,
  kCommitData,
  kGetAsyncCommand,
  kRegisterTraceWriter,
  kUnregisterTraceWriter,
  kNotifyDataSourceStarted,
  kNotifyDataSourceStopped,
  kActivateTriggers,
  kSync,
  kUpdateDataSource,
};
inline constexpr size_t kNumProducerMethods = 12;

// The id that the service of this library has. The ids of its methods are those
// of ProducerMethod.
inline constexpr uint32_t kProducerServiceID = 1;

// The names of the methods, in the order of their ids.
inline constexpr const char* kProducerMethodNames[] = {
    "InitializeConnection",
    "RegisterDataSource",
    "UnregisterDataSource",
    "CommitData",
    "GetAsyncCommand",
    "RegisterTraceWriter",
    "UnregisterTraceWriter",
    "NotifyDataSourceStarted",
    "NotifyDataSourceStopped",
    "ActivateTriggers",
    "Sync",
    "UpdateDataSource",
};
static_assert(sizeof(kProducerMethodNames) / sizeof(kProducerMethodNames[0]) ==
                  kNumProducerMethods &&
              static_cast<size_t>(ProducerMethod::kUpdateDataSource) ==
                  kNumProducerMethods);

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_METHODS_H_
