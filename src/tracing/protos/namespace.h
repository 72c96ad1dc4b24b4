// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_PROTOS_NAMESPACE_H_
#define SRC_TRACING_PROTOS_NAMESPACE_H_

#include "protozero/internal/macros.h"

// The plugin puts the classes of the library's own messages into a namespace of
// the ABI, because they are symbols of the library: see BUILD.gn. Code calls it
// `tracing::pbzero`.
namespace protozero::tracing {
namespace PROTOZERO_ABI_NAMESPACE {}
namespace pbzero = PROTOZERO_ABI_NAMESPACE;
}  // namespace protozero::tracing

#endif  // SRC_TRACING_PROTOS_NAMESPACE_H_
