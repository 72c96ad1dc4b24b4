// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/http_sink.h"

#include <utility>

#include "protozero/otlp/http_exporter.h"
#include "src/program/io.h"
#include "src/pztrace/program_name.h"

namespace pztrace {

namespace otlp = protozero::otlp;

std::unique_ptr<otlp::BatchSink> CreateHttpSink(const std::string& url,
                                                std::string* problem) {
  std::string warnings;
  otlp::HttpExporterOptions options =
      otlp::HttpExporterOptions::FromEnvironment(&warnings);
  if (!warnings.empty()) {
    warnings.pop_back();
    program::PrintError(kProgram, "%s", warnings.c_str());
  }
  std::string base = url;
  // A URL of nothing but a scheme stays one.
  const size_t scheme = base.find("://");
  const size_t host = scheme == base.npos ? 0 : scheme + 3;
  while (base.size() > host && base.back() == '/')
    base.pop_back();
  options.traces.url = base + "/v1/traces";
  options.logs.url = base + "/v1/logs";
  auto exporter = std::make_unique<otlp::HttpExporter>(std::move(options));
  *problem = exporter->error();
  if (!problem->empty())
    return nullptr;
  return exporter;
}

}  // namespace pztrace
