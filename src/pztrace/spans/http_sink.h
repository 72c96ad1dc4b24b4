// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_HTTP_SINK_H_
#define SRC_PZTRACE_SPANS_HTTP_SINK_H_

#include <memory>
#include <string>

#include "protozero/otlp/batch_sink.h"

namespace pztrace {

// Returns a sink that sends to a Collector, whose URL is without "/v1/traces".
// All other settings are in the environment. Null, and |problem| says why, if
// that cannot be done.
std::unique_ptr<protozero::otlp::BatchSink> CreateHttpSink(
    const std::string& url,
    std::string* problem);

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_HTTP_SINK_H_
