// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace list.

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/command.h"
#include "src/pztrace/record/program_offers.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/pztrace/record/session_stats.h"
#include "src/tracing/ipc/user_folder.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;
using program::PrintError;
using protozero::TracingService;

namespace {

// Programs that wait for a recorder notice a lister, and describe themselves
// within milliseconds. The list ends when none has come for a while, or soon in
// any case.
constexpr uint32_t kQuietMs = 300;
constexpr uint32_t kMaxMs = 3000;
// The time between two checks that the command still runs.
constexpr uint32_t kPollMs = 50;

// A service that records nothing, and the offers of the programs that connect.
struct OfferCollector {
  explicit OfferCollector(const std::string& socket)
      : host(&service, OptionsFor(socket)) {
    service.SetDataSourceObserver(
        [this](const TracingService::ProducerInfo& producer,
               const protozero::DataSourceDescriptor& source) {
          offers.Add(producer, source);
        });
  }

  static protozero::ServiceHost::Options OptionsFor(const std::string& socket) {
    protozero::ServiceHost::Options options;
    options.socket = socket;
    return options;
  }

  // The service tells the first member of programs until its end.
  ProgramOffers offers;
  TracingService service;
  protozero::ServiceHost host;
};

// Lets all programs that wait for a recorder connect, and collects their
// offers.
void WaitForPrograms(OfferCollector* collector) {
  protozero::ServiceHost* const host = &collector->host;
  const TracingService* const service = &collector->service;
  const ProgramOffers& offers = collector->offers;
  const uint64_t begin_ms = service->NowMs();
  uint64_t last_ms = begin_ms;
  uint64_t last_number = 0;
  size_t last_connections = 0;
  for (uint64_t now_ms = begin_ms;
       now_ms < last_ms + kQuietMs && now_ms < begin_ms + kMaxMs;
       now_ms = service->NowMs()) {
    host->RunOnce(kPollMs);
    if (offers.number() != last_number ||
        host->num_connections() != last_connections) {
      last_ms = now_ms;
    }
    last_number = offers.number();
    last_connections = host->num_connections();
  }
}

// Adds the offers of the programs that these recorders have. Returns false, and
// has printed why, if one does not tell.
bool AddOffersToRecorders(const std::string& folder,
                          const std::vector<Recorder>& recorders,
                          std::string* text) {
  bool ok = true;
  for (const Recorder& recorder : recorders) {
    const std::string name = ShownRecorder(recorder);
    std::string bytes;
    std::string error;
    std::string offers;
    switch (FetchStats(StatsSocket(folder, recorder.pid), &bytes, &error)) {
      case AskResult::kWhole:
        if (ReadOffers(bytes, &offers) && !offers.empty()) {
          *text += "recorded now by " + name + ":\n" + offers;
        }
        break;
      case AskResult::kNoServer:
        break;
      case AskResult::kLate:
      case AskResult::kRefused:
        PrintError(kProgram,
                   "%s: %s; the programs that it records are not listed",
                   name.c_str(), error.c_str());
        ok = false;
        break;
    }
  }
  return ok;
}

// Runs the command with a service of its own, and prints its programs.
bool ListCommand(const std::string& socket,
                 const std::vector<std::string>& command_line) {
  OfferCollector collector(socket);
  protozero::ServiceHost& host = collector.host;
  std::string error;
  if (!host.Listen(&error)) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
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
  fputs(collector.offers.Text().c_str(), stdout);
  return command.Finish();
}

// Prints the programs that run. Takes no address of a recorder: programs that
// wait for one watch the folder for a lister, too.
bool ListRunning(const std::string& folder) {
  const std::string socket = protozero::ListerSocket(folder, getpid());
  // The name that programs look for appears when the socket listens.
  OfferCollector collector(socket + "-new");
  std::string error;
  if (!collector.host.Listen(&error)) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
  }
  if (rename(collector.host.socket().c_str(), socket.c_str()) != 0) {
    PrintError(kProgram, "%s: %s", socket.c_str(), strerror(errno));
    return false;
  }
  WaitForPrograms(&collector);
  unlink(socket.c_str());
  std::string text = collector.offers.Text();
  const bool ok = AddOffersToRecorders(folder, FindRecorders(folder), &text);
  if (text.empty() && ok) {
    PrintError(kProgram,
               "no program in %s waits for a recorder, or is recorded",
               folder.c_str());
  }
  fputs(text.c_str(), stdout);
  return ok;
}

// Prints the programs of a recording.
bool ListRecorded(const RecorderChoice& choice) {
  std::string folder;
  std::string text;
  const std::vector<Recorder> recorders = FindChosen(choice, &folder);
  if (recorders.empty() || !AddOffersToRecorders(folder, recorders, &text))
    return false;
  if (text.empty())
    PrintError(kProgram, "the recording has no program");
  fputs(text.c_str(), stdout);
  return true;
}

}  // namespace

int ListMain(int argc, char** argv) {
  std::string socket;
  RecorderChoice choice;
  std::vector<std::string> command_line;
  const program::Command command = {
      "pztrace list",
      "[options] [-- COMMAND [ARGUMENT...]]",
      R"(Prints the programs that can be traced: their names and processes, the data
sources that they offer, and the categories of their events, with tags and
descriptions. They go on as before, and a recorder may begin meanwhile. With a
command, prints those that the command starts.
)",
      {{"--session NAME", "only what the recording of this name records",
        &choice.sessions},
       {"--socket PATH",
        "where the command's programs connect; @NAME is an abstract socket "
        "(default: one for the command alone)",
        &socket}},
      R"(The exit code is 0 if all went well, also if there is no program; 1 if the
command failed, if the socket cannot be used, or if a recorder does not answer.
)",
      &command_line};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  if (!socket.empty() && command_line.empty()) {
    return WrongUsage(command,
                      "--socket is for the programs of a command; those that "
                      "are recorded elsewhere are listed without it");
  }
  if (!choice.sessions.empty()) {
    std::string problem = choice.Problem();
    if (problem.empty() && !command_line.empty())
      problem = "--session is for programs that run already; give no command";
    if (!problem.empty())
      return WrongUsage(command, problem);
    const bool ok = ListRecorded(choice);
    return program::FlushStandardOutput(kProgram) && ok ? kSuccess : kFailure;
  }
  std::string error;
  const std::string folder = RecorderFolder(&error);
  if (!socket.empty())
    socket = AbsolutePath(socket, &error);
  else if (!folder.empty())
    socket = ProducerSocket(folder, getpid());
  if (socket.empty()) {
    PrintError(kProgram, "%s", error.c_str());
    return kFailure;
  }
  const bool ok = command_line.empty() ? ListRunning(folder)
                                       : ListCommand(socket, command_line);
  return program::FlushStandardOutput(kProgram) && ok ? kSuccess : kFailure;
}

}  // namespace pztrace
