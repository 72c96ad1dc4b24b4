// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_PBZERO_WRITER_H_
#define SRC_PROTOC_PLUGIN_CPP_PBZERO_WRITER_H_

#include <string>

#include "src/protoc_plugin/cpp/cpp_model.h"

namespace protozero::plugin {

// Returns the text of `<path>.pbzero.h`. Cannot fail, and depends on the model
// alone: the same schema gives the same bytes on every machine.
std::string WritePbzeroHeader(const CppFile& file);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_PBZERO_WRITER_H_
