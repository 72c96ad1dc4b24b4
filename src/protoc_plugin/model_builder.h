// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_MODEL_BUILDER_H_
#define SRC_PROTOC_PLUGIN_MODEL_BUILDER_H_

#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "src/protoc_plugin/model.h"
#include "src/protoc_plugin/options.h"
#include "src/protoc_plugin/symbol_table.h"

namespace protozero::plugin {

// Why a schema is refused, and what its author can do about it.
struct Diagnostic {
  std::string proto_path;
  int line = 1;
  std::string element;  // Full name of a message, field, ...; may be empty.
  std::string reason;   // "what is wrong; what to do"

  // foo/bar.proto:12: package.Message.field: what is wrong; what to do
  std::string ToString() const;
};

// Turns descriptors into the model of what to emit, and refuses everything that
// would not compile or whose bytes would not be right.
class ModelBuilder {
 public:
  // `files` are all files of the run. Their names, and those of everything they
  // import, are checked against each other: `A.B` and `A_B` of one package make
  // the same class, and nobody would notice if their headers never met in one
  // translation unit.
  ModelBuilder(
      const Options& options,
      const std::vector<const google::protobuf::FileDescriptor*>& files);

  // Appends everything that is wrong with the file to `diagnostics`, in the
  // order of lines. Returns true if that was nothing.
  bool Build(const google::protobuf::FileDescriptor& descriptor,
             File* file,
             std::vector<Diagnostic>* diagnostics) const;

 private:
  CppNames names_;
  SymbolTable symbols_;
};

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_MODEL_BUILDER_H_
