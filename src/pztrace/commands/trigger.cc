// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace trigger.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/producer.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/tracing/ipc/user_folder.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;

namespace {

// The time in which a service answers.
constexpr uint32_t kConnectTimeoutMs = 5000;

// Activates a trigger of the sessions of one service. Returns false, and says
// why, if it has not been told.
bool Activate(const std::string& trigger,
              const std::string& socket,
              std::string* why) {
  protozero::Producer::Options options;
  options.socket = socket;
  protozero::Producer producer(std::move(options));
  if (producer.Sync(kConnectTimeoutMs)) {
    producer.ActivateTrigger(trigger);
    if (producer.Sync(kConnectTimeoutMs))
      return true;
  }
  *why = producer.why_off();
  return false;
}

// Activates a trigger of these recorders. Adds the addresses of those that were
// told, and returns false, and has printed why, if one was not.
bool ActivateAll(const std::string& trigger,
                 const std::string& folder,
                 const std::vector<Recorder>& recorders,
                 std::set<std::string>* told) {
  bool all_answer = true;
  std::string why;
  for (const Recorder& recorder : recorders) {
    const std::string socket = AddressOf(folder, recorder.pid);
    // Each is told once, however it is found.
    if (told->count(socket) != 0)
      continue;
    if (Activate(trigger, socket, &why)) {
      told->insert(socket);
    } else {
      all_answer = false;
      program::PrintError(kProgram, "%s: %s", ShownRecorder(recorder).c_str(),
                          why.c_str());
    }
  }
  return all_answer;
}

}  // namespace

int TriggerMain(int argc, char** argv) {
  std::string trigger;
  RecorderChoice choice;
  const program::Command command = {
      "pztrace trigger",
      "[options] NAME",
      R"(Activates a trigger: sessions that wait for one of that name start, stop, or
write a file, such as those of `pztrace record --on-trigger NAME`. It goes to
all recordings of this user, and to the service that programs find.
)",
      {{"NAME", "the name of the trigger", &trigger},
       {"--session NAME", "tell the recording of this name only",
        &choice.sessions}},
      R"(The exit code is 0 if all services were told, 1 if one does not answer or there
is none.
)"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  const std::string problem = choice.Problem();
  if (!problem.empty())
    return WrongUsage(command, problem);
  std::set<std::string> told;
  std::string folder;
  if (!choice.sessions.empty()) {
    const std::vector<Recorder> recorders = FindChosen(choice, &folder);
    return !recorders.empty() && ActivateAll(trigger, folder, recorders, &told)
               ? kSuccess
               : kFailure;
  }
  std::string why;
  folder = RecorderFolder(&why);
  const bool all_answer =
      ActivateAll(trigger, folder, FindRecorders(folder), &told);
  // A program finds the first of these that answers.
  std::string unused;
  for (const std::string& socket : protozero::ProducerSockets(&unused)) {
    if (told.count(socket) != 0 || Activate(trigger, socket, &why)) {
      told.insert(socket);
      break;
    }
  }
  if (told.empty() && all_answer)
    program::PrintError(kProgram, "%s", why.c_str());
  return told.empty() || !all_answer ? kFailure : kSuccess;
}

}  // namespace pztrace
