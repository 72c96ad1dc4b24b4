// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Explores scenarios. weak_memory_test.py runs it.
//
//   weak_memory litmus
//   weak_memory check [NAME...] [--weaken=PC[!]=ORDER...] [--sites] [--steps]

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/model/weak/checker.h"
#include "test/model/weak/scenarios.h"

namespace protozero::weak {
namespace {

struct Arguments {
  std::vector<std::string> names;
  std::vector<Weakening> weakenings;
  bool prints_sites = false;
  bool prints_steps = false;
};

bool IsWanted(const Arguments& arguments, const Scenario& scenario) {
  return arguments.names.empty() ||
         std::find(arguments.names.begin(), arguments.names.end(),
                   scenario.name) != arguments.names.end();
}

bool RunLitmusTests() {
  int num_failed = 0;
  for (const LitmusTest& test : LitmusTests()) {
    const Result result = Explore(test.scenario, {});
    std::string found = result.failure;
    for (const std::string& outcome : result.outcomes)
      found += (found.empty() ? "" : " ") + outcome;
    const bool ok = found == test.expected;
    num_failed += ok ? 0 : 1;
    printf("%s %s: %s (%zu executions)\n", ok ? "ok    " : "FAILED",
           test.scenario.name, found.c_str(),
           static_cast<size_t>(result.executions));
  }
  return num_failed == 0;
}

bool RunScenarios(const Arguments& arguments) {
  bool ok = true;
  for (const Scenario& scenario : LibraryScenarios()) {
    if (!IsWanted(arguments, scenario))
      continue;
    const Result result = Explore(scenario, arguments.weakenings);
    printf("%s %s: %zu executions, %zu cut%s%s\n",
           result.failure.empty() ? "ok    " : "FAILED", scenario.name,
           static_cast<size_t>(result.executions),
           static_cast<size_t>(result.cut), result.failure.empty() ? "" : ", ",
           result.failure.c_str());
    for (const Site& site : result.sites) {
      if (arguments.prints_sites) {
        printf("0x%zx %s %d %d\n", site.pc, site.operation, site.order,
               site.failure_order);
      }
    }
    if (!result.failure.empty()) {
      ok = false;
      for (const std::string& step : result.steps) {
        if (arguments.prints_steps)
          printf("  %s\n", step.c_str());
      }
      break;
    }
  }
  return ok;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 2; i < argc; ++i) {
    constexpr const char kWeaken[] = "--weaken=";
    if (strncmp(argv[i], kWeaken, strlen(kWeaken)) == 0) {
      char* pos = nullptr;
      Weakening weakening{};
      weakening.pc = strtoull(argv[i] + strlen(kWeaken), &pos, 16);
      // A letter could be a digit of the address.
      weakening.is_failure_order = *pos == '!';
      weakening.order = atoi(strchr(pos, '=') + 1);
      arguments.weakenings.push_back(weakening);
    } else if (strcmp(argv[i], "--sites") == 0) {
      arguments.prints_sites = true;
    } else if (strcmp(argv[i], "--steps") == 0) {
      arguments.prints_steps = true;
    } else {
      arguments.names.push_back(argv[i]);
    }
  }
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "litmus")
    return RunLitmusTests() ? 0 : 1;
  if (command == "check")
    return RunScenarios(arguments) ? 0 : 1;
  fprintf(stderr, "weak_memory: litmus or check\n");
  return 2;
}

}  // namespace
}  // namespace protozero::weak

int main(int argc, char** argv) {
  // Counts of references are atomic, as in programs with threads.
  __libc_single_threaded = 0;
  return protozero::weak::Main(argc, argv);
}
