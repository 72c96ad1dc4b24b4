// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/list.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include <set>

#include "protozero/tracing/service_host.h"
#include "protozero/tracing/track_event.h"
#include "src/program/io.h"
#include "src/pztrace/command.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/runtime_folder.h"
#include "src/pztrace/shown_name.h"

namespace pztrace {

namespace {

using program::PrintError;
using protozero::TracingService;
namespace trace = protozero::trace;

// The time between two checks that the command still runs.
constexpr uint32_t kPollMs = 50;

std::string Shown(protozero::ConstChars text) {
  return ShownName({text.data, text.size});
}

std::string Describe(const TracingService::ProducerInfo& producer,
                     const protozero::DataSourceDescriptor& source) {
  std::string text =
      ShownName(producer.name) + ": " + ShownName(source.name) + "\n";
  std::set<std::string> lines;
  const trace::DataSourceDescriptor::Decoder fields(source.raw_fields);
  const trace::TrackEventDescriptor::Decoder events(
      fields.track_event_descriptor());
  for (const protozero::ConstBytes bytes : events.available_categories()) {
    const trace::TrackEventCategory::Decoder category(bytes);
    std::string line = "  " + Shown(category.name());
    std::string tags;
    for (const protozero::ConstChars tag : category.tags())
      tags += (tags.empty() ? "" : " ") + Shown(tag);
    if (!tags.empty())
      line += " [" + tags + "]";
    if (category.has_description())
      line += ": " + Shown(category.description());
    lines.insert(line + "\n");
  }
  for (const std::string& line : lines)
    text += line;
  return text;
}

}  // namespace

bool ListDataSources(const std::string& socket,
                     const std::vector<std::string>& command_line) {
  std::string error;
  const std::string folder = RuntimeFolder(&error);
  protozero::ServiceHost::Options options;
  if (!folder.empty())
    options.socket = SocketToListenOn(folder, socket, &error);
  if (options.socket.empty()) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
  }
  // This outlives the service, which calls the observer.
  std::set<std::string> printed;
  TracingService service;
  service.SetDataSourceObserver(
      [&](const TracingService::ProducerInfo& producer,
          const protozero::DataSourceDescriptor& source) {
        const auto it = printed.insert(Describe(producer, source));
        if (it.second) {
          fputs(it.first->c_str(), stdout);
          fflush(stdout);
        }
      });
  protozero::ServiceHost host(&service, options);
  if (!host.Listen(&error)) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
  }
  if (command_line.empty()) {
    fprintf(stderr, "%s=%s\n", kSocketVariable, host.socket().c_str());
    host.Run();
    return true;
  }
  Command command;
  sigset_t no_signals;
  sigemptyset(&no_signals);
  if (!command.Start(command_line, host.socket(), /*output_is_trace=*/true,
                     no_signals)) {
    return false;
  }
  while (command.is_running())
    host.RunOnce(kPollMs);
  // This handles messages that the command sent before it ended.
  host.RunOnce(0);
  return command.Finish();
}

}  // namespace pztrace
