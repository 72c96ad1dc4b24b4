// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_CONFIG_H_
#define SRC_PZTRACE_RECORD_CONFIG_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <string>

#include "protozero/const_bytes.h"
#include "protozero/tracing/tracing_service.h"

namespace pztrace {

// The largest buffer. TraceConfig's size_kb limits it, and so does the size of
// an object.
inline constexpr size_t kMaxBufferSize = static_cast<size_t>(
    std::min<uint64_t>(uint64_t{UINT32_MAX} * 1024, PTRDIFF_MAX));

// Reads a TraceConfig of Perfetto's. Skips fields that the service does not
// know. Returns false, and says why, if it is malformed.
bool ParseTraceConfig(protozero::ConstBytes bytes,
                      protozero::TraceConfig* config,
                      std::string* error);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_CONFIG_H_
