// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_FILE_BUILDER_H_
#define SRC_PROTOC_PLUGIN_CPP_FILE_BUILDER_H_

#include <vector>

#include "src/protoc_plugin/cpp/cpp_model.h"
#include "src/protoc_plugin/cpp/cpp_names.h"
#include "src/protoc_plugin/language.h"
#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// Turns a file of the schema into a CppFile. Refuses everything that would not
// compile or would be encoded wrongly, with errors at the end of `diagnostics`,
// in the order of lines. `names` must outlive the result.
CppFile BuildCppFile(const CppNames& names,
                     const File& file,
                     std::vector<Diagnostic>* diagnostics);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_FILE_BUILDER_H_
