// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_OPTIONS_H_
#define SRC_PROTOC_PLUGIN_OPTIONS_H_

#include <string>
#include <vector>

namespace protozero::plugin {

// What stands before the colon in `--plugin_out=wrapper_namespace=pbzero:DIR`.
struct Options {
  // Innermost namespaces of all generated code, inside those of the package.
  // `wrapper_namespace=a::b` gives two; none is fine.
  std::vector<std::string> wrapper_namespaces;
};

// Parses a comma-separated list of name=value. On failure returns false and
// sets `error` to a sentence that names the culprit and what is allowed.
bool ParseOptions(const std::string& text,
                  Options* options,
                  std::string* error);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_OPTIONS_H_
