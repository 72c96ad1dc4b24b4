// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_PROTOS_SCHEMA_H_
#define SRC_OTLP_PROTOS_SCHEMA_H_

#include "src/otlp/protos/otlp.pbzero.h"  // IWYU pragma: export

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The classes of otlp.proto. They are in a namespace of the library's ABI,
// because a program may have other classes of the official schema.
namespace otlp_schema = ::opentelemetry::proto::PROTOZERO_ABI_NAMESPACE;

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_PROTOS_SCHEMA_H_
