// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Describes its extensions once, as other libraries do, and once more for each
// line of its standard input, each time differently. Prints "described" each
// time.

#include <stdio.h>

#include <memory>
#include <string>

#include "protozero/tracing/producer.h"
#include "protozero/tracing/trace.h"

int main() {
  using protozero::trace::TracePacket;
  protozero::Producer::Options options;
  options.name = "schema_tracer";
  protozero::Producer producer(options);
  const auto source = std::make_shared<protozero::DataSource>(
      protozero::DataSourceDescriptor{"track_event"});
  producer.RegisterDataSource(source);
  if (!producer.Sync(10000))
    return 1;
  protozero::DataSourceWriters writers(source);
  std::string package = "p";
  do {
    // A FileDescriptorSet of one file, which has only a package.
    const std::string file =
        "\x12" + std::string(1, static_cast<char>(package.size())) + package;
    const std::string set =
        "\x0a" + std::string(1, static_cast<char>(file.size())) + file;
    writers.Trace([&](protozero::TraceContext& context) {
      context.NewTracePacket<TracePacket>()
          ->set_extension_descriptor()
          ->set_extension_set(set);
    });
    writers.Flush();
    package += "p";
    puts("described");
    fflush(stdout);
  } while (getchar() != EOF);
  return 0;
}
