// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A receiver of OpenTelemetry's spans over HTTP, for trying and measuring: it
// counts them. At SIGTERM, it prints how many came.
//
//   otlp_receiver [PORT]

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <string>

#include "http_service.h"
#include "protozero/proto_decoder.h"

namespace {

// Returns how many nested messages there are at the end of a path of fields.
uint64_t CountFields(protozero::ConstBytes message,
                     const uint32_t* path,
                     size_t size) {
  if (size == 0)
    return 1;
  uint64_t count = 0;
  protozero::ProtoDecoder decoder(message.data, message.size);
  for (protozero::Field field = decoder.ReadField(); field;
       field = decoder.ReadField()) {
    if (field.id() == path[0])
      count += CountFields(field.as_bytes(), path + 1, size - 1);
  }
  return count;
}

uint64_t CountSpans(const std::string& request) {
  // ExportTraceServiceRequest.resource_spans, ResourceSpans.scope_spans and
  // ScopeSpans.spans.
  constexpr uint32_t kPath[] = {1, 2, 2};
  return CountFields(
      {reinterpret_cast<const uint8_t*>(request.data()), request.size()}, kPath,
      3);
}

}  // namespace

int main(int argc, char** argv) {
  std::atomic<uint64_t> spans{0};
  HttpService service;
  service.server().Post("/v1/traces", [&spans](const httplib::Request& request,
                                               httplib::Response& response) {
    spans += CountSpans(request.body);
    // An empty ExportTraceServiceResponse.
    response.set_content("", "application/x-protobuf");
  });
  if (!service.Run(argc > 1 ? atoi(argv[1]) : 4318))
    return 1;
  printf("received %" PRIu64 " spans\n", spans.load());
}
