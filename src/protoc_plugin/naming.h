// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_NAMING_H_
#define SRC_PROTOC_PLUGIN_NAMING_H_

#include <string>
#include <string_view>

#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// Spellings that any output language may need. They are for ASCII, like names
// in a schema.

bool IsDigit(char c);
bool IsLetter(char c);
bool IsWordChar(char c);  // A letter, a digit or an underscore.
char ToUpperCase(char c);

// Returns whether `name` is an identifier of most languages: letters, digits
// and underscores, no digit first.
bool IsIdentifier(std::string_view name);

// fooBar -> foobar.
std::string ToLowerCase(const std::string& name);

// foo_bar -> FooBar. Empty if `name` consists of underscores.
std::string ToCamelCase(const std::string& name);

// Outer.Inner -> Outer_Inner
std::string FlatName(const Message& message);
std::string FlatName(const Enum& entry);

// foo/bar.proto -> foo/bar
std::string StripProtoSuffix(const std::string& path);

// foo/bar-2.proto -> foo_bar_2
std::string PathIdentifier(const std::string& proto_path);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_NAMING_H_
