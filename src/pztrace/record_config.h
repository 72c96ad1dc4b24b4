// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_CONFIG_H_
#define SRC_PZTRACE_RECORD_CONFIG_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/codec.h"

namespace pztrace {

// The largest buffer. TraceConfig's size_kb limits it, and so does the size of
// an object.
inline constexpr size_t kMaxBufferSize = static_cast<size_t>(
    std::min<uint64_t>(uint64_t{UINT32_MAX} * 1024, PTRDIFF_MAX));

// Encodes a TraceConfig of Perfetto's that is in protobuf's text format. Leaves
// out, and prints, fields that the service does not know. Returns false, and
// has printed why, if the text is not valid. |path| is its file.
bool EncodeTraceConfig(const std::string& path,
                       std::string_view text,
                       std::string* bytes);

// Reads a TraceConfig of Perfetto's. Skips fields that the service does not
// know. Returns false, and says why, if it is malformed.
bool ParseTraceConfig(protozero::ConstBytes bytes,
                      protozero::TraceConfig* config,
                      std::string* error);

// Returns the compression that a TraceConfig of Perfetto's asks for.
Compression ReadCompression(protozero::ConstBytes config);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_CONFIG_H_
