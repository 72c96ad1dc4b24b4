// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/c/generate_c.h"

#include "src/protoc_plugin/c/c_names.h"
#include "src/protoc_plugin/c/header_writer.h"

namespace protozero::plugin {

bool GenerateC(const Schema& schema,
               const std::vector<Option>& options,
               std::vector<OutputFile>* output,
               std::string* error) {
  for (const Option& option : options) {
    *error =
        option.name == "wrapper_namespace" ||
                option.name == "runtime_namespace" ||
                option.name == "descriptors" || option.name == "sdk"
            ? "option '" + option.name + "' means nothing for C; leave it out"
            : UnknownOption(option.name, std::string());
    return false;
  }
  const CNames names(schema);
  std::vector<Diagnostic> diagnostics;
  for (const File* file : schema.to_generate)
    names.Check(*file, &diagnostics);
  *error = ToText(diagnostics);
  if (!diagnostics.empty())
    return false;
  for (const File* file : schema.to_generate)
    output->push_back({CHeaderPath(file->path), WriteCHeader(names, *file)});
  return true;
}

}  // namespace protozero::plugin
