// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_NINJA_TRACE_BUILD_HISTORY_H_
#define EXAMPLES_NINJA_TRACE_BUILD_HISTORY_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ninja_trace {

// One line of a log: a command made an output.
struct LogEntry {
  // The times in milliseconds since ninja was started.
  uint32_t start_ms = 0;
  uint32_t end_ms = 0;
  // The log's mtime: nanoseconds since 1970, or 0.
  int64_t mtime = 0;
  std::string_view output;
  uint64_t command_hash = 0;
};

// One run of a command, with everything that it made.
struct BuildStep {
  uint32_t start_ms = 0;
  uint32_t end_ms = 0;
  int64_t mtime = 0;
  uint64_t command_hash = 0;
  std::vector<std::string> outputs;
};

// One run of ninja.
struct Build {
  std::vector<BuildStep> steps;
};

// Turns the entries of a log back into the builds that wrote them.
//
// Ninja appends an entry for each output when its command ends, and does not
// write down where a build begins. Two things show it: the end times, which
// only grow within a build, go backwards; or an output is made again. (So a
// build goes unnoticed if its first command took longer than all of the build
// before, and all its outputs are new.)
//
// Now and then ninja rewrites its log, keeping the newest entry of each output
// in no particular order. Builds before that then look like many short ones;
// the last build is not affected.
class BuildHistory {
 public:
  enum class Keep {
    // The steps since ninja was started last.
    kLastBuild,
    // Every step that made the newest version of some output.
    kAllBuilds,
  };

  explicit BuildHistory(Keep keep) : keep_(keep) {}

  // Adds an entry. Entries come in the order of the log.
  void AddEntry(const LogEntry& entry);

  // Tells that the next line certainly belongs to another build.
  void StartBuild();

  // Returns the builds, oldest first, with their steps in the order in which
  // they ended. Leaves out builds without remaining steps. Empties the history.
  std::vector<Build> TakeBuilds();

 private:
  struct StepPosition {
    bool operator==(const StepPosition& other) const {
      return build == other.build && step == other.step;
    }
    size_t build;
    size_t step;
  };
  // The key of one run of a command: its outputs have the same times.
  struct StepKey {
    bool operator==(const StepKey& other) const {
      return start_ms == other.start_ms && end_ms == other.end_ms &&
             command_hash == other.command_hash;
    }
    uint32_t start_ms;
    uint32_t end_ms;
    uint64_t command_hash;
  };
  struct StepKeyHash {
    size_t operator()(const StepKey& key) const;
  };

  // Returns the step of the current build that |entry| belongs to.
  size_t FindOrAddStep(const LogEntry& entry);

  const Keep keep_;
  std::vector<Build> builds_;
  // The steps of the current build, which is the last of builds_.
  std::unordered_map<StepKey, size_t, StepKeyHash> current_steps_;
  uint32_t last_end_ms_ = 0;
  // Maps each output to the step that made its newest version.
  std::unordered_map<std::string, StepPosition> newest_;
};

}  // namespace ninja_trace

#endif  // EXAMPLES_NINJA_TRACE_BUILD_HISTORY_H_
