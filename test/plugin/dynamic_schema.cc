// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/plugin/dynamic_schema.h"

#include <stdio.h>
#include <stdlib.h>

#include <vector>

#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/common.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>

#include "gtest/gtest.h"

namespace protozero::plugin {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

namespace {

class PrintErrors : public google::protobuf::compiler::MultiFileErrorCollector {
 public:
#if GOOGLE_PROTOBUF_VERSION >= 4022000
  void RecordError(absl::string_view path,
                   int line,
                   int,
                   absl::string_view message) override {
    Print(std::string(path), line, std::string(message));
  }
#else
  void AddError(const std::string& path,
                int line,
                int,
                const std::string& message) override {
    Print(path, line, message);
  }
#endif

 private:
  void Print(const std::string& path, int line, const std::string& message) {
    fprintf(stderr, "%s:%d: %s\n", path.c_str(), line + 1, message.c_str());
  }
};

bool HasUnknownFields(const Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (!reflection.GetUnknownFields(message).empty())
    return true;
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    if (!field->is_repeated()) {
      if (HasUnknownFields(reflection.GetMessage(message, field)))
        return true;
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      if (HasUnknownFields(reflection.GetRepeatedMessage(message, field, i)))
        return true;
    }
  }
  return false;
}

}  // namespace

struct DynamicSchema::Impl {
  google::protobuf::compiler::DiskSourceTree tree;
  PrintErrors errors;
  std::unique_ptr<google::protobuf::compiler::Importer> importer;
  google::protobuf::DynamicMessageFactory factory;
};

DynamicSchema::DynamicSchema(const std::string& path)
    : impl_(std::make_unique<Impl>()) {
  const char* root = getenv("PROTOZERO_SOURCE_ROOT");
  impl_->tree.MapPath("", root != nullptr ? root : ".");
  impl_->tree.MapPath("", "/usr/include");
  impl_->importer = std::make_unique<google::protobuf::compiler::Importer>(
      &impl_->tree, &impl_->errors);
  impl_->importer->Import(path);
}

DynamicSchema::~DynamicSchema() = default;

std::string DynamicSchema::ToText(const std::string& message,
                                  const std::string& bytes) {
  const google::protobuf::Descriptor* descriptor =
      impl_->importer->pool()->FindMessageTypeByName(message);
  if (descriptor == nullptr)
    return "unknown message";

  const std::unique_ptr<Message> parsed(
      impl_->factory.GetPrototype(descriptor)->New());
  google::protobuf::io::ArrayInputStream stream(bytes.data(),
                                                static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream input(&stream);
  input.SetExtensionRegistry(impl_->importer->pool(), &impl_->factory);
  // Parses partially: this test does not set a schema's required fields.
  if (!parsed->ParsePartialFromCodedStream(&input) ||
      !input.ConsumedEntireMessage()) {
    return "malformed bytes";
  }

  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  if (!printer.PrintToString(*parsed, &text))
    return "not printable";
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return HasUnknownFields(*parsed) ? "unknown field in " + text : text;
}

std::string DynamicSchema::FromText(const std::string& message,
                                    const std::string& text) {
  const google::protobuf::Descriptor* descriptor =
      impl_->importer->pool()->FindMessageTypeByName(message);
  if (descriptor == nullptr) {
    ADD_FAILURE() << "unknown message " << message;
    return std::string();
  }
  const std::unique_ptr<Message> parsed(
      impl_->factory.GetPrototype(descriptor)->New());
  google::protobuf::TextFormat::Parser parser;
  parser.AllowPartialMessage(true);
  if (!parser.ParseFromString(text, parsed.get()))
    ADD_FAILURE() << "not a " << message << ": " << text;
  return parsed->SerializePartialAsString();
}

}  // namespace protozero::plugin
