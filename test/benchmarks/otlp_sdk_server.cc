// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Answers the requests of examples/otlp_server with the spans of otlp_sdk.h, to
// the same exporter:
//
//   otlp_sdk_server --port N

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/otlp_server/http_service.h"
#include "examples/otlp_server/shop.h"
#include "protozero/otlp/http_exporter.h"
#include "test/benchmarks/otlp_sdk.h"

int main(int argc, char** argv) {
  HttpService service;
  otlp::HttpExporter exporter;
  protozero::bench::sdk::BatchProcessor processor(&exporter);
  const protozero::bench::sdk::Tracer tracer(&processor);
  Shop<protozero::bench::sdk::Tracer> shop(tracer);
  service.server().Get("/cart", [&shop](const httplib::Request& request,
                                        httplib::Response& response) {
    shop.Answer(request, response);
  });
  if (!service.Run(argc > 2 ? atoi(argv[2]) : 8080))
    return 1;
  processor.Shutdown();
  printf("spans: %" PRIu64 " written = %" PRIu64 " exported + %" PRIu64
         " dropped\n",
         processor.written(), processor.exported(), processor.dropped());
}
