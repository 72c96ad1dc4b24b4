// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_PROTOS_NAMESPACE_H_
#define SRC_TRACING_PROTOS_NAMESPACE_H_

#include "protozero/internal/macros.h"

// The classes of the library's own messages are symbols of the library, and so
// in a namespace of its ABI, too: BUILD.gn gives the plugin its name. Other
// code calls it `tracing::pbzero`.
namespace protozero::tracing {
namespace PROTOZERO_ABI_NAMESPACE {}
namespace pbzero = PROTOZERO_ABI_NAMESPACE;
}  // namespace protozero::tracing

#endif  // SRC_TRACING_PROTOS_NAMESPACE_H_
