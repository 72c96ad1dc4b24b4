// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace check.

#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/testing/trace_rules.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/trace_input.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;
using program::kWrongUsage;
using program::PrintError;
using protozero::TraceEvents;
using protozero::TraceRule;
using protozero::TraceVerdict;

namespace {

// The rules of a file, and their lines.
struct RuleFile {
  std::string name;
  std::vector<TraceRule> rules;
  std::vector<size_t> lines;
};

// Reads the rules in |bytes|. Returns false, and has printed why, if a line is
// none.
bool ParseRules(std::string_view bytes, RuleFile* file) {
  bool ok = true;
  bytes = program::WithoutByteOrderMark(bytes);
  for (size_t line = 1; !bytes.empty(); ++line) {
    const std::string_view words = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(words.size() + 1, bytes.size()));
    const size_t begin = words.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos || words[begin] == '#')
      continue;
    std::string error;
    std::optional<TraceRule> rule = protozero::ParseTraceRule(words, &error);
    if (!rule) {
      PrintError(kProgram, "%s:%zu: %s", file->name.c_str(), line,
                 error.c_str());
      ok = false;
      continue;
    }
    file->rules.push_back(std::move(*rule));
    file->lines.push_back(line);
  }
  if (ok && file->rules.empty()) {
    PrintError(kProgram,
               "%s: has no rules; write one a line, such as 'never lock inside "
               "render'",
               file->name.c_str());
    return false;
  }
  return ok;
}

// Returns a line for each name of the rule that nothing in the trace has: a
// typo looks like this, too.
std::string MissingNames(const TraceEvents& events, const TraceRule& rule) {
  std::string lines;
  for (const std::string& name : {rule.name, rule.outer.value_or("")}) {
    TraceRule is_there;
    is_there.kind = TraceRule::Kind::kAtLeast;
    is_there.name = name;
    is_there.number = 1;
    if (!name.empty() &&
        events.Check(is_there).kind == TraceVerdict::Kind::kBroken) {
      lines += "  Nothing in the trace has the name '" + name + "'.\n";
    }
  }
  return lines;
}

// Prints what becomes of each rule. Returns whether none is broken. If
// |is_strict|, those that are kept for lack of such names are.
bool PrintVerdicts(const TraceEvents& events,
                   const RuleFile& file,
                   bool is_strict) {
  size_t num_broken = 0;
  for (size_t i = 0; i < file.rules.size(); ++i) {
    TraceVerdict verdict = events.Check(file.rules[i]);
    if (verdict.kind != TraceVerdict::Kind::kBroken) {
      const std::string missing = MissingNames(events, file.rules[i]);
      verdict.text += missing;
      if (is_strict && !missing.empty())
        verdict.kind = TraceVerdict::Kind::kBroken;
    }
    const char* word = "kept";
    if (verdict.kind == TraceVerdict::Kind::kReported) {
      word = "not kept, but not strict";
    } else if (verdict.kind == TraceVerdict::Kind::kBroken) {
      word = "broken";
      ++num_broken;
    }
    printf("%s:%zu: %s: %s\n%s", program::Shown(file.name).c_str(),
           file.lines[i], word,
           program::Shown(TraceRuleToText(file.rules[i])).c_str(),
           program::Shown(verdict.text).c_str());
  }
  printf("%zu of %s broken\n", num_broken,
         program::CountOf(file.rules.size(), "rule").c_str());
  return num_broken == 0;
}

}  // namespace

int CheckMain(int argc, char** argv) {
  std::string rules;
  std::string trace;
  bool is_strict = false;
  const program::Command command = {
      "pztrace check",
      "[options] RULES FILE",
      "Compares a trace with rules, and prints the events that break them.\n",
      {{"RULES", "a file of rules; - is the standard input", &rules},
       {"FILE", "a trace; - is the standard input", &trace},
       {"--strict",
        "rules with a name that nothing in the trace has are broken",
        &is_strict}},
      R"(A line of RULES is one of these, with names of slices or instants:

  exactly 3 frame                also: at least, at most
  in each request exactly 1 db   also: at least, at most
  never lock
  never lock inside render
  99 % of frame under 16 ms      reported; fails after the word strictly
  slice frame ran < 8 ms         also: ready, waited
  all tasks ended
  nothing lost

A name with spaces is in quotes. A line that begins with # is a comment. The
exit code is 1 if the trace breaks a rule, 2 if a line is no rule.
)"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  if (rules == "-" && trace == "-")
    return WrongUsage(command, "RULES and FILE are the same standard input");

  std::vector<uint8_t> bytes;
  if (!program::ReadFile(kProgram, rules, &bytes))
    return kFailure;
  RuleFile file = {program::DisplayName(rules), {}, {}};
  if (!ParseRules({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                  &file)) {
    return kWrongUsage;
  }
  TraceInput input;
  if (!input.Open(trace, "check"))
    return kFailure;
  TraceEvents events({file.rules, {}});
  bool ok = ReadTrace(trace, &input, &events.reader());
  ok = PrintVerdicts(events, file, is_strict) && ok;
  ok = program::FlushStandardOutput(kProgram) && ok;
  return ok ? kSuccess : kFailure;
}

}  // namespace pztrace
