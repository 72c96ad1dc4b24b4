// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_JSON_LINES_H_
#define SRC_OTLP_JSON_LINES_H_

#include <string>

#include "protozero/otlp/batch_sink.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {

// Appends a batch as a line of OTLP's JSON: that of protobuf, with ids in
// hexadecimal digits and enumerations as numbers.
void AppendJsonLine(const Batch& batch, std::string* line);

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_JSON_LINES_H_
