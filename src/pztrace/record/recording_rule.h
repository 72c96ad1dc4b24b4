// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RECORDING_RULE_H_
#define SRC_PZTRACE_RECORD_RECORDING_RULE_H_

#include <stdint.h>

#include <string>
#include <vector>

namespace pztrace {

// Something in a trace that is worth a file of its own, as `pztrace record
// --when` says it:
//
//   slice request > 50ms   a slice that lasts longer
//   task worker > 2s       a task, from its spawn to its end
//   counter queue > 100    a counter that rises above this value
//   category error         an event of the category
struct RecordingRule {
  enum class Kind : uint8_t { kSlice, kTask, kCounter, kCategory };

  Kind kind = Kind::kSlice;
  std::string name;       // '*' stands for any text.
  uint64_t limit_ns = 0;  // For slices and tasks.
  double limit = 0;       // For counters.
  std::string text;       // The rule in the user's words.
};

// The rules of a recording, and what they do.
struct WatchedRules {
  std::vector<RecordingRule> rules;
  // The trigger that they activate, and the time that its file has before and
  // after that.
  std::string trigger;
  uint32_t before_ms = 0;
  uint32_t after_ms = 0;
};

// Parses a rule. Returns the problem with |text|, or an empty string.
std::string ParseRecordingRule(const std::string& text, RecordingRule* rule);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RECORDING_RULE_H_
