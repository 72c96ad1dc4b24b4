// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_GENERATE_CPP_H_
#define SRC_PROTOC_PLUGIN_CPP_GENERATE_CPP_H_

#include <string>
#include <vector>

#include "src/protoc_plugin/language.h"

namespace protozero::plugin {

// Generates C++: `<path>.pbzero.h` for each file, and an empty
// `<path>.pbzero.cc` for build systems that expect one.
bool GenerateCpp(const Schema& schema,
                 const std::vector<Option>& options,
                 std::vector<OutputFile>* output,
                 std::string* error);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_GENERATE_CPP_H_
