// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RECORD_CONFIG_H_
#define SRC_PZTRACE_RECORD_RECORD_CONFIG_H_

#include <string>
#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/trace_file/codec.h"

namespace pztrace {

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

#endif  // SRC_PZTRACE_RECORD_RECORD_CONFIG_H_
