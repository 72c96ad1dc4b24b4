// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_C_GENERATE_C_H_
#define SRC_PROTOC_PLUGIN_C_GENERATE_C_H_

#include <string>
#include <vector>

#include "src/protoc_plugin/language.h"

namespace protozero::plugin {

// Generates C: `<path>.pbzero_c.h` for each file.
bool GenerateC(const Schema& schema,
               const std::vector<Option>& options,
               std::vector<OutputFile>* output,
               std::string* error);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_C_GENERATE_C_H_
