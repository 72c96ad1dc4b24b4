// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/recording_rule.h"

#include <stdlib.h>

#include <cmath>
#include <string_view>

#include "src/pztrace/trace_file/quantities.h"

namespace pztrace {

namespace {

using Kind = RecordingRule::Kind;

constexpr std::string_view kLimitOption = "the limit of --when";

constexpr struct {
  std::string_view word;
  Kind kind;
} kKinds[] = {{"slice", Kind::kSlice},
              {"task", Kind::kTask},
              {"counter", Kind::kCounter},
              {"category", Kind::kCategory}};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

std::string ParseLimit(const std::string& text, double* number) {
  char* end = nullptr;
  *number = strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0' && std::isfinite(*number))
    return "";
  return std::string(kLimitOption) + " takes a number, not '" + text + "'";
}

}  // namespace

std::string ParseRecordingRule(const std::string& text, RecordingRule* rule) {
  const std::string_view words = Trim(text);
  const std::string_view word = words.substr(0, words.find(' '));
  bool is_known = false;
  for (const auto& kind : kKinds) {
    if (word == kind.word) {
      rule->kind = kind.kind;
      is_known = true;
    }
  }
  std::string_view name = Trim(words.substr(word.size()));
  std::string_view limit;
  if (rule->kind != Kind::kCategory) {
    // A name may have this sign, too.
    const size_t sign = name.rfind('>');
    is_known = is_known && sign != std::string_view::npos;
    if (is_known) {
      limit = Trim(name.substr(sign + 1));
      name = Trim(name.substr(0, sign));
    }
  }
  if (!is_known || name.empty()) {
    return "--when takes 'slice NAME > TIME', 'task NAME > TIME', "
           "'counter NAME > NUMBER' or 'category NAME', not '" +
           text + "'";
  }
  rule->name = name;
  rule->text = words;
  switch (rule->kind) {
    case Kind::kSlice:
    case Kind::kTask:
      // It would be seconds, which few rules mean.
      if (!limit.empty() && limit != "0" && limit.back() >= '0' &&
          limit.back() <= '9') {
        return std::string(kLimitOption) + " needs a unit, as in " +
               std::string(limit) + "ms; ns, us, s, m and h are others";
      }
      return ParseNanoseconds(kLimitOption, std::string(limit),
                              &rule->limit_ns);
    case Kind::kCounter:
      return ParseLimit(std::string(limit), &rule->limit);
    case Kind::kCategory:
      break;
  }
  return "";
}

}  // namespace pztrace
