// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_OPTIONS_H_
#define SRC_PROTOC_PLUGIN_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

namespace protozero::plugin {

// One option, such as each of the two in
// `--plugin_out=wrapper_namespace=pbzero,sdk=true:DIR`.
struct Option {
  std::string name;
  std::optional<std::string> value;  // None if there is no `=`.
};

// Splits a comma-separated list of name=value.
std::vector<Option> SplitOptions(const std::string& text);

// Returns the error for an option that neither the plugin nor the language
// knows. `known` are the options of the language, as users write them.
std::string UnknownOption(const std::string& name, const std::string& known);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_OPTIONS_H_
