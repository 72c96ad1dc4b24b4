// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_RULES_RULE_TEXT_H_
#define SRC_TRACING_TRACE_RULES_RULE_TEXT_H_

#include <stdint.h>

#include <string>
#include <string_view>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Returns a name as rules have it: in quotes, with escapes, if it is not one
// plain word.
std::string RuleName(std::string_view name);

// Returns a number as snprintf() with |format| does in the locale "C", whatever
// the program's locale is.
std::string PlainNumber(const char* format, double number);

// Returns the time in the largest unit in which it is whole, as in rules.
std::string RuleTime(uint64_t ns);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_RULES_RULE_TEXT_H_
