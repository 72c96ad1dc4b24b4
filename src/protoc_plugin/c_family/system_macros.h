// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_C_FAMILY_SYSTEM_MACROS_H_
#define SRC_PROTOC_PLUGIN_C_FAMILY_SYSTEM_MACROS_H_

#include <stddef.h>

#include <string_view>

namespace protozero::plugin {

// The macros of the headers of Linux and Windows, which tools/list_macros takes
// from those headers, in the order of their bytes, and some forty in a row. A
// row begins with a space and a whole name. The character before each further
// name tells how many characters the name shares with the one before it: the
// character's place in kSharedLengths. No name has these characters.
//
//   " AF_INET(6!LG_SET_KEY"     AF_INET, AF_INET6, ALG_SET_KEY
//
inline constexpr std::string_view kSharedLengths =
    " !#$%&'()*+,-./:;<=>@[]^`{|}~";

// The macros that some header defines without arguments.
extern const std::string_view kSystemValueMacros[];
extern const size_t kSystemValueMacrosSize;

// The macros that always take arguments: only a name before a parenthesis is
// one.
extern const std::string_view kSystemFunctionMacros[];
extern const size_t kSystemFunctionMacrosSize;

// Names of C headers that are in neither table: macros in C alone, and names
// that the C library declares at file scope.
extern const std::string_view kNamesOfC[];
extern const size_t kNamesOfCSize;

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_C_FAMILY_SYSTEM_MACROS_H_
