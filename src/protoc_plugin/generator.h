// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_GENERATOR_H_
#define SRC_PROTOC_PLUGIN_GENERATOR_H_

#include <stdint.h>

#include <string>
#include <vector>

#include <google/protobuf/compiler/code_generator.h>

namespace protozero::plugin {

// Ties the parts to protoc's interface: for each file, descriptors -> model ->
// text -> `<path>.pbzero.h`, and an empty `<path>.pbzero.cc` for build systems
// that expect one.
//
// All or nothing: if one file of a run has an error, nothing is written and all
// errors of all files are reported, one per line.
class Generator : public google::protobuf::compiler::CodeGenerator {
 public:
  bool Generate(const google::protobuf::FileDescriptor* file,
                const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context,
                std::string* error) const override;

  bool GenerateAll(
      const std::vector<const google::protobuf::FileDescriptor*>& files,
      const std::string& parameter,
      google::protobuf::compiler::GeneratorContext* context,
      std::string* error) const override;

  uint64_t GetSupportedFeatures() const override;
};

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_GENERATOR_H_
