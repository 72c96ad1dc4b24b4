// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A server whose requests are spans of OpenTelemetry:
//
//   otlp_server [--port N] [--only-slow MS]
//
// It sends them to a Collector, by the environment variables OTEL_*. With
// --only-slow, it sends only the traces of requests that took longer, or
// failed. It ends at SIGTERM, after it has sent all, and prints their account.

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>

#include "http_service.h"
#include "protozero/otlp/environment.h"
#include "protozero/otlp/http_exporter.h"
#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/tracer.h"
#include "shop.h"

namespace {

void Print(const otlp::Account& account, const std::string& error) {
  printf("spans: %" PRIu64 " written = %" PRIu64 " exported + %" PRIu64
         " rejected + %" PRIu64 " dropped (%" PRIu64 " not wanted) + %" PRIu64
         " kept\n",
         account.written, account.exported, account.rejected, account.dropped(),
         account.not_wanted, account.kept);
  if (!error.empty())
    fprintf(stderr, "otlp_server: %s\n", error.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  int port = 8080;
  uint64_t slow_ms = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--port") == 0)
      port = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--only-slow") == 0)
      slow_ms = strtoull(argv[i + 1], nullptr, 10);
  }

  HttpService service;  // Before the pipeline, which has a thread.
  std::string warnings;
  otlp::HttpExporter exporter(
      otlp::HttpExporterOptions::FromEnvironment(&warnings));
  const otlp::Environment environment;
  otlp::PipelineOptions options;
  options.resource = {{"service.name", "shop"}};
  environment.Apply(&options);
  // About 8,000 spans of each thread: room for bursts at full load.
  options.thread_buffer_size = 2 << 20;
  if (slow_ms != 0) {
    options.keep_rule.slower_than_ns = slow_ms * 1'000'000;
    options.keep_rule.errors = true;
  }
  otlp::Pipeline pipeline(options, &exporter);
  pipeline.SetEnabled(!environment.is_disabled());
  fprintf(stderr, "%s%s", warnings.c_str(), environment.warnings().c_str());

  const otlp::Tracer tracer(pipeline, "shop.http", "1.0");
  Shop<otlp::Tracer> shop(tracer);
  service.server().Get("/cart", [&shop](const httplib::Request& request,
                                        httplib::Response& response) {
    shop.Answer(request, response);
  });
  if (!service.Run(port))
    return 1;
  const bool all_sent = pipeline.Shutdown(5000);
  Print(pipeline.Spans(), pipeline.LastError());
  return all_sent ? 0 : 1;
}
