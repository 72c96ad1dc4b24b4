// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_SERVICE_OWNER_H_
#define SRC_TRACING_IPC_SERVICE_OWNER_H_

#include <string>

#include "protozero/tracing/producer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Whether users who have nothing to do with this process could have created a
// socket of that name: one in the abstract namespace, or in a folder that
// others than its owner may write to, as /tmp.
bool AnybodyCanListenOn(const std::string& path);

// Whether a producer with that option may use the service that |socket| is
// connected to, by |path|. If not, says why in |reason|.
bool IsAcceptedService(int socket,
                       const std::string& path,
                       Producer::ServiceOwner accepted,
                       std::string* reason);

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_SERVICE_OWNER_H_
