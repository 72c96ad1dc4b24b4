// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace trigger.

#include <sys/types.h>

#include <set>
#include <string>
#include <utility>

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

}  // namespace

int TriggerMain(int argc, char** argv) {
  std::string trigger;
  const program::Command command = {
      "pztrace trigger",
      "NAME",
      R"(Activates a trigger: sessions that wait for one of that name start, stop, or
write a file, such as those of `pztrace record --on-trigger NAME`. It goes to
all recordings of this user, and to the service that programs find.
)",
      {{"NAME", "the name of the trigger", &trigger}},
      R"(The exit code is 0 if all services were told, 1 if one does not answer or there
is none.
)"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  std::string why;
  const std::string folder = RecorderFolder(&why);
  // Each is told once, however it is found.
  std::set<std::string> told;
  bool all_answer = true;
  for (const pid_t pid : FindRecorders(folder)) {
    const std::string socket = AddressOf(folder, pid);
    if (told.count(socket) != 0)
      continue;
    if (Activate(trigger, socket, &why)) {
      told.insert(socket);
    } else {
      all_answer = false;
      program::PrintError(kProgram, "process %d: %s", static_cast<int>(pid),
                          why.c_str());
    }
  }
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
