// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_CONFIG_H_
#define SRC_PZTRACE_TRACE_CONFIG_H_

#include <string>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_service.h"

namespace pztrace {

// Reads a TraceConfig of Perfetto's. What the service does not know is passed
// over. Returns false, and says why, if it is malformed.
bool ParseTraceConfig(protozero::ConstBytes bytes,
                      protozero::TraceConfig* config,
                      std::string* error);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_CONFIG_H_
