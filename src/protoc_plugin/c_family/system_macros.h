// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_C_FAMILY_SYSTEM_MACROS_H_
#define SRC_PROTOC_PLUGIN_C_FAMILY_SYSTEM_MACROS_H_

#include <stddef.h>

#include <string_view>

namespace protozero::plugin {

// The macros of the headers of Linux and Windows, which tools/list_macros takes
// from those headers. Names with the same prefix, up to the first underscore,
// are one row, or a few. Rows are in the order of their prefixes.
struct MacroGroup {
  std::string_view prefix;
  std::string_view endings;  // "INET INET6 ", each with a space after it.
};

// The macros that some header defines without arguments.
extern const MacroGroup kSystemValueMacros[];
extern const size_t kSystemValueMacrosSize;

// The macros that always take arguments: only a name before a parenthesis is
// one.
extern const MacroGroup kSystemFunctionMacros[];
extern const size_t kSystemFunctionMacrosSize;

// Names of C headers that are in neither table: macros in C alone, and names
// that the C library declares at file scope.
extern const MacroGroup kNamesOfC[];
extern const size_t kNamesOfCSize;

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_C_FAMILY_SYSTEM_MACROS_H_
