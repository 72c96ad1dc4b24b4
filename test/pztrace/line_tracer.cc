// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Traces each line of its standard input as one event, and prints "traced" for
// each, or "off" if it is not recorded. Before its input ends, it never commits
// by itself, even when it is idle, unless it has --commits.
//
//   line_tracer [--commits] [PRODUCER_NAME [DATA_SOURCE_NAME...]]

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <memory>
#include <string>
#include <vector>

#include "protozero/tracing/producer.h"
#include "protozero/tracing/trace.h"

namespace {

using protozero::DataSource;
using protozero::DataSourceDescriptor;
using protozero::DataSourceWriters;
using protozero::TraceContext;
using protozero::trace::TracePacket;

int Main(int argc, char** argv) {
  protozero::Producer::Options options;
  if (argc > 1 && strcmp(argv[1], "--commits") == 0) {
    ++argv;
    --argc;
  } else {
    options.commit_period_ms = 1 << 30;
    options.idle_period_ms = 0;
  }
  options.name = argc > 1 ? argv[1] : "line_tracer";
  protozero::Producer producer(options);
  std::vector<std::string> names(argv + (argc > 2 ? 2 : argc), argv + argc);
  if (names.empty())
    names.push_back("track_event");
  std::vector<std::shared_ptr<DataSource>> sources;
  for (const std::string& name : names) {
    DataSourceDescriptor descriptor;
    descriptor.name = name;
    sources.push_back(std::make_shared<DataSource>(descriptor));
    producer.RegisterDataSource(sources.back());
  }
  // No timeout: the program's output must not depend on the speed of the
  // service.
  const bool is_synced = producer.Sync(UINT32_MAX);
  DataSourceWriters writers(sources[0]);
  // A pipe holds fewer bytes than this.
  static char line[1 << 18];
  uint64_t timestamp = 0;
  while (fgets(line, sizeof(line), stdin) != nullptr) {
    bool is_on = false;
    writers.Trace([&](TraceContext& context) {
      is_on = true;
      auto packet = context.NewTracePacket<TracePacket>();
      packet->set_timestamp(++timestamp);
      packet->set_track_event()->set_name(line);
    });
    puts(is_on ? "traced" : "off");
    fflush(stdout);
  }
  return is_synced ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return Main(argc, argv);
}
