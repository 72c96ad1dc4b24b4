// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/generator.h"

#include <memory>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include "src/protoc_plugin/model.h"
#include "src/protoc_plugin/model_builder.h"
#include "src/protoc_plugin/naming.h"
#include "src/protoc_plugin/options.h"
#include "src/protoc_plugin/pbzero_writer.h"

namespace protozero::plugin {

namespace {

void WriteFile(google::protobuf::compiler::GeneratorContext* context,
               const std::string& path,
               const std::string& text) {
  const std::unique_ptr<google::protobuf::io::ZeroCopyOutputStream> stream(
      context->Open(path));
  google::protobuf::io::CodedOutputStream output(stream.get());
  output.WriteString(text);
}

}  // namespace

bool Generator::Generate(const google::protobuf::FileDescriptor* file,
                         const std::string& parameter,
                         google::protobuf::compiler::GeneratorContext* context,
                         std::string* error) const {
  return GenerateAll({file}, parameter, context, error);
}

bool Generator::GenerateAll(
    const std::vector<const google::protobuf::FileDescriptor*>& files,
    const std::string& parameter,
    google::protobuf::compiler::GeneratorContext* context,
    std::string* error) const {
  Options options;
  if (!ParseOptions(parameter, &options, error))
    return false;

  const ModelBuilder builder(options, files);
  std::vector<File> models;
  std::vector<Diagnostic> diagnostics;
  for (const google::protobuf::FileDescriptor* file : files) {
    File model;
    if (builder.Build(*file, &model, &diagnostics))
      models.push_back(std::move(model));
  }
  if (!diagnostics.empty()) {
    std::string text;
    for (const Diagnostic& diagnostic : diagnostics) {
      if (!text.empty())
        text += '\n';
      text += diagnostic.ToString();
    }
    *error = text;
    return false;
  }

  for (const File& model : models) {
    WriteFile(context, model.header_path, WritePbzeroHeader(model));
    WriteFile(context, SourcePath(model.proto_path), std::string());
  }
  return true;
}

#if PROTOZERO_PLUGIN_HAS_EDITIONS

uint64_t Generator::GetSupportedFeatures() const {
  return FEATURE_PROTO3_OPTIONAL | FEATURE_SUPPORTS_EDITIONS;
}

google::protobuf::Edition Generator::GetMinimumEdition() const {
  return google::protobuf::EDITION_PROTO2;
}

google::protobuf::Edition Generator::GetMaximumEdition() const {
  // Earlier versions have the name, but not the edition.
#if GOOGLE_PROTOBUF_VERSION >= 6032000
  return google::protobuf::EDITION_2024;
#else
  return google::protobuf::EDITION_2023;
#endif
}

#else

uint64_t Generator::GetSupportedFeatures() const {
  return FEATURE_PROTO3_OPTIONAL;
}

#endif

}  // namespace protozero::plugin
