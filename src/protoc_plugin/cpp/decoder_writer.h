// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_DECODER_WRITER_H_
#define SRC_PROTOC_PLUGIN_CPP_DECODER_WRITER_H_

#include <string>
#include <vector>

#include "src/protoc_plugin/c_family/code_text.h"
#include "src/protoc_plugin/cpp/cpp_model.h"

namespace protozero::plugin {

// Appends the class that reads `fields`. `runtime`: see CppFile.
void WriteDecoder(const CppDecoder& decoder,
                  const std::vector<CppField>& fields,
                  const std::string& runtime,
                  const std::string& parameter_suffix,
                  CodeText* code);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_DECODER_WRITER_H_
