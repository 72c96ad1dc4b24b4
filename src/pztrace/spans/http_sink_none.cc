// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/http_sink.h"

namespace pztrace {

std::unique_ptr<protozero::otlp::BatchSink> CreateHttpSink(
    const std::string&,
    std::string* problem) {
  *problem = "pztrace was built without libcurl";
  return nullptr;
}

}  // namespace pztrace
