// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/generator.h"

#include <memory>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include "src/protoc_plugin/model_builder.h"
#include "src/protoc_plugin/name_check.h"
#include "src/protoc_plugin/options.h"

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

Generator::Generator(std::vector<Language> languages)
    : languages_(std::move(languages)) {}

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
  const Language* language = &languages_[0];
  std::vector<Option> options;
  bool comments = true;
  for (Option& option : SplitOptions(parameter)) {
    if (option.name == "comments") {
      comments = option.value == "true";
      if (comments || option.value == "false")
        continue;
      *error = "option 'comments' takes 'true' or 'false'";
      return false;
    }
    if (option.name != "lang" && option.name != "language") {
      options.push_back(std::move(option));
      continue;
    }
    language = FindLanguage(option.value.value_or(""));
    if (language == nullptr) {
      *error = "option '" + option.name + "' has the value '" +
               option.value.value_or("") + "'; the languages are:";
      for (const Language& known : languages_)
        *error += std::string(" ") + known.name;
      return false;
    }
  }

  const Schema schema = BuildSchema(files, comments);
  *error = ToText(CheckNames(schema));
  std::vector<OutputFile> output;
  if (!error->empty() || !language->generate(schema, options, &output, error))
    return false;
  for (const OutputFile& file : output)
    WriteFile(context, file.path, file.text);
  return true;
}

const Language* Generator::FindLanguage(const std::string& name) const {
  for (const Language& language : languages_) {
    if (name == language.name)
      return &language;
  }
  return nullptr;
}

#if PROTOZERO_PLUGIN_HAS_EDITIONS

uint64_t Generator::GetSupportedFeatures() const {
  return FEATURE_PROTO3_OPTIONAL | FEATURE_SUPPORTS_EDITIONS;
}

google::protobuf::Edition Generator::GetMinimumEdition() const {
  return google::protobuf::EDITION_PROTO2;
}

google::protobuf::Edition Generator::GetMaximumEdition() const {
  // Earlier versions have the names, but do not support the editions.
#if GOOGLE_PROTOBUF_VERSION >= 7036000
  return google::protobuf::EDITION_2026;
#elif GOOGLE_PROTOBUF_VERSION >= 6032000
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
