// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_CLASS_BUILDER_H_
#define SRC_PROTOC_PLUGIN_CPP_CLASS_BUILDER_H_

#include <vector>

#include "src/protoc_plugin/cpp/cpp_model.h"
#include "src/protoc_plugin/cpp/cpp_names.h"
#include "src/protoc_plugin/language.h"
#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// Name all that is inside the classes of a message, or of a set of extensions.
// Add errors at the end of `diagnostics`.
CppMessage BuildMessage(const CppNames& names,
                        const Message& message,
                        std::vector<Diagnostic>* diagnostics);
CppExtensionSet BuildExtensionSet(const CppNames& names,
                                  const File& file,
                                  const ExtensionSet& set,
                                  std::vector<Diagnostic>* diagnostics);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_CLASS_BUILDER_H_
