// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_GENERATOR_H_
#define SRC_PROTOC_PLUGIN_GENERATOR_H_

#include <stdint.h>

#include <string>
#include <vector>

#include <google/protobuf/compiler/code_generator.h>
#include <google/protobuf/stubs/common.h>

#include "src/protoc_plugin/languages.h"

// True if the libprotoc that we are compiled with supports editions.
#define PROTOZERO_PLUGIN_HAS_EDITIONS (GOOGLE_PROTOBUF_VERSION >= 5026000)

namespace protozero::plugin {

// The generator in protoc's interface: it makes a model of the descriptors, and
// of the model the files of the language that the option `lang`, or `language`,
// names.
//
// It writes all files or none: if one file of a run has an error, it reports
// all errors of all files, one per line.
class Generator : public google::protobuf::compiler::CodeGenerator {
 public:
  explicit Generator(std::vector<Language> languages = Languages());

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

#if PROTOZERO_PLUGIN_HAS_EDITIONS
  // Return the editions that the plugin supports. Descriptors resolve the
  // features of an edition in is_packed(), type() and has_presence(), so all
  // editions look alike here.
  google::protobuf::Edition GetMinimumEdition() const override;
  google::protobuf::Edition GetMaximumEdition() const override;
#endif

 private:
  const Language* FindLanguage(const std::string& name) const;

  const std::vector<Language> languages_;
};

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_GENERATOR_H_
