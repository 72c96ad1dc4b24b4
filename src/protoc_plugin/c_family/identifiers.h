// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_C_FAMILY_IDENTIFIERS_H_
#define SRC_PROTOC_PLUGIN_C_FAMILY_IDENTIFIERS_H_

#include <string>
#include <vector>

namespace protozero::plugin {

// The conversion of a schema's names to names of C++.
//
// A schema may use names that are words of C++ or its standard headers. Such a
// name gets an underscore at its end, but only where it would stand bare:
// `class` becomes `class_`, while `set_class()` and `Outer_class` need no
// change.

// Escapes C++ keywords of all versions to C++20 (with alternative tokens such
// as `xor`), macros that standard headers and compilers define (`EOF`, `errno`,
// `INT32_MAX`, `linux`), and types that generated code does not qualify
// (`int32_t`). A global name shares its namespace with the functions and types
// of the C library (`log`, `time`), and with `std` and `protozero`.
std::string EscapeName(const std::string& name, bool is_global = false);

// "a" + "b" -> "::a::b"; the global namespace is "".
std::string Qualify(const std::vector<std::string>& namespaces);

// foo/bar.proto -> foo/bar.pbzero.h
std::string HeaderPath(const std::string& proto_path);

// foo/bar.proto -> foo/bar.pbzero.cc
std::string SourcePath(const std::string& proto_path);

// Returns an include guard that no other pair of path and namespaces has.
std::string IncludeGuard(const std::string& header_path,
                         const std::vector<std::string>& namespaces);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_C_FAMILY_IDENTIFIERS_H_
