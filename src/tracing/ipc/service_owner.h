// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_SERVICE_OWNER_H_
#define SRC_TRACING_IPC_SERVICE_OWNER_H_

#include <string>

#include "protozero/tracing/producer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Returns whether any user could have created a socket of that name: one in the
// abstract namespace, or in a folder, such as /tmp, that others than its owner
// may write to.
bool AnybodyCanListenOn(const std::string& path);

// Returns whether a producer with the option |accepted| may use the service at
// |path|, to which |socket| is connected. If not, says why in |reason|.
bool IsAcceptedService(int socket,
                       const std::string& path,
                       Producer::ServiceOwner accepted,
                       std::string* reason);

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_SERVICE_OWNER_H_
