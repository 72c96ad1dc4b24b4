// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_SYSTEM_MACROS_H_
#define SRC_PROTOC_PLUGIN_CPP_SYSTEM_MACROS_H_

#include <stddef.h>

#include <string_view>

namespace protozero::plugin {

// The macros of the headers of Linux and Windows, which tools/list_macros takes
// from those headers. Names that begin alike, up to their first underscore, are
// one row, or a few. Rows are in the order of their prefixes.
struct MacroGroup {
  std::string_view prefix;
  std::string_view endings;  // "INET INET6 ", each with a space behind it.
};

// Those that stand for something without arguments, in some header at least.
extern const MacroGroup kSystemValueMacros[];
extern const size_t kSystemValueMacrosSize;

// Those that always take arguments: only a name before a parenthesis is one.
extern const MacroGroup kSystemFunctionMacros[];
extern const size_t kSystemFunctionMacrosSize;

// Names of C headers that are in neither: macros in C alone, and what the C
// library declares at file scope.
extern const MacroGroup kNamesOfC[];
extern const size_t kNamesOfCSize;

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_SYSTEM_MACROS_H_
