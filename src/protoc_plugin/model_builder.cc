// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/model_builder.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <google/protobuf/descriptor.pb.h>

namespace protozero::plugin {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::SourceLocation;

namespace {

DefaultValue DefaultValueOf(const FieldDescriptor& field) {
  if (field.is_repeated())
    return {};
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return field.default_value_int32();
    case FieldDescriptor::CPPTYPE_INT64:
      return field.default_value_int64();
    case FieldDescriptor::CPPTYPE_UINT32:
      return field.default_value_uint32();
    case FieldDescriptor::CPPTYPE_UINT64:
      return field.default_value_uint64();
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.default_value_enum()->number();
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool();
    case FieldDescriptor::CPPTYPE_FLOAT:
      return field.default_value_float();
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return field.default_value_double();
    case FieldDescriptor::CPPTYPE_STRING:
      return std::string(field.default_value_string());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return {};
}

// The builder of the model. It needs two passes, because fields may have types
// that come later: the first makes all messages and enums, which then stay
// where they are.
class Builder {
 public:
  explicit Builder(bool comments) : comments_(comments) {}

  const File* AddFile(const FileDescriptor& descriptor) {
    const auto inserted = files_.emplace(&descriptor, nullptr);
    if (!inserted.second)
      return inserted.first->second;
    auto owned = std::make_unique<File>();
    File* file = owned.get();
    inserted.first->second = file;
    schema_.files.push_back(std::move(owned));
    descriptors_.push_back(&descriptor);

    file->path = std::string(descriptor.name());
    file->package = std::string(descriptor.package());
    SourceLocation location;
    if (descriptor.GetSourceLocation(
            {google::protobuf::FileDescriptorProto::kPackageFieldNumber},
            &location)) {
      file->package_line = location.start_line + 1;
    }
    const auto enum_count = static_cast<size_t>(descriptor.enum_type_count());
    file->enums.resize(enum_count);
    for (size_t i = 0; i < enum_count; ++i) {
      AddEnum(*descriptor.enum_type(static_cast<int>(i)), *file,
              /*outer=*/nullptr, &file->enums[i]);
    }
    const auto message_count =
        static_cast<size_t>(descriptor.message_type_count());
    file->messages.resize(message_count);
    for (size_t i = 0; i < message_count; ++i) {
      AddMessage(*descriptor.message_type(static_cast<int>(i)), *file,
                 /*outer=*/nullptr, &file->messages[i]);
    }
    // Includes public and weak imports.
    for (int i = 0; i < descriptor.dependency_count(); ++i) {
      if (descriptor.dependency(i) != nullptr)
        AddFile(*descriptor.dependency(i));
    }
    for (int i = 0; i < descriptor.public_dependency_count(); ++i)
      file->public_imports.push_back(AddFile(*descriptor.public_dependency(i)));
    return file;
  }

  Schema Finish(const std::vector<const FileDescriptor*>& files) {
    for (const FileDescriptor* descriptor : descriptors_) {
      for (int i = 0; i < descriptor->message_type_count(); ++i)
        AddFields(*descriptor->message_type(i));
      AddExtensions(*descriptor, /*scope=*/nullptr,
                    &files_.at(descriptor)->extensions);
    }
    for (const auto& entry : messages_)
      FindWrapper(*entry.first, entry.second);
    for (const FileDescriptor* descriptor : files) {
      File* const file = files_.at(descriptor);
      file->descriptor_set = DescriptorSetOf(*descriptor);
      schema_.to_generate.push_back(file);
    }
    return std::move(schema_);
  }

 private:
  // Adds the files of extended messages. A reader of extensions knows these
  // already.
  template <typename AnyDescriptor>
  static void AddExtendedFiles(const AnyDescriptor& descriptor,
                               std::set<const FileDescriptor*>* files) {
    for (int i = 0; i < descriptor.extension_count(); ++i)
      files->insert(descriptor.extension(i)->containing_type()->file());
  }
  static void AddExtendedFilesOfMessage(
      const Descriptor& message,
      std::set<const FileDescriptor*>* files) {
    AddExtendedFiles(message, files);
    for (int i = 0; i < message.nested_type_count(); ++i)
      AddExtendedFilesOfMessage(*message.nested_type(i), files);
  }

  static void AddDescriptor(const FileDescriptor& file,
                            std::set<const FileDescriptor*>* left_out,
                            google::protobuf::FileDescriptorSet* set) {
    if (!left_out->insert(&file).second)
      return;
    for (int i = 0; i < file.dependency_count(); ++i) {
      if (file.dependency(i) != nullptr)
        AddDescriptor(*file.dependency(i), left_out, set);
    }
    file.CopyTo(set->add_file());
  }

  static std::string DescriptorSetOf(const FileDescriptor& file) {
    std::set<const FileDescriptor*> left_out;
    AddExtendedFiles(file, &left_out);
    for (int i = 0; i < file.message_type_count(); ++i)
      AddExtendedFilesOfMessage(*file.message_type(i), &left_out);
    left_out.erase(&file);
    google::protobuf::FileDescriptorSet set;
    AddDescriptor(file, &left_out, &set);
    return set.SerializeAsString();
  }

  template <typename AnyDescriptor>
  void Declare(const AnyDescriptor& descriptor,
               Declaration* declaration) const {
    declaration->name = std::string(descriptor.name());
    declaration->full_name = std::string(descriptor.full_name());
    SourceLocation location;
    if (!descriptor.GetSourceLocation(&location))
      return;
    declaration->line = location.start_line + 1;
    if (comments_) {
      declaration->comment =
          location.leading_comments + location.trailing_comments;
    }
  }

  void AddEnum(const EnumDescriptor& descriptor,
               const File& file,
               const Message* outer,
               Enum* result) {
    enums_.emplace(&descriptor, result);
    Declare(descriptor, result);
    result->file = &file;
    result->outer = outer;
    for (int i = 0; i < descriptor.value_count(); ++i) {
      EnumValue value;
      Declare(*descriptor.value(i), &value);
      value.number = descriptor.value(i)->number();
      result->values.push_back(std::move(value));
    }
  }

  void AddMessage(const Descriptor& descriptor,
                  const File& file,
                  const Message* outer,
                  Message* result) {
    messages_.emplace(&descriptor, result);
    Declare(descriptor, result);
    result->file = &file;
    result->outer = outer;
    result->is_map_entry = descriptor.options().map_entry();
    for (int i = 0; i < descriptor.real_oneof_decl_count(); ++i) {
      result->oneofs.emplace_back();
      Declare(*descriptor.oneof_decl(i), &result->oneofs.back());
    }
    const auto enum_count = static_cast<size_t>(descriptor.enum_type_count());
    result->enums.resize(enum_count);
    for (size_t i = 0; i < enum_count; ++i) {
      AddEnum(*descriptor.enum_type(static_cast<int>(i)), file, result,
              &result->enums[i]);
    }
    const auto message_count =
        static_cast<size_t>(descriptor.nested_type_count());
    result->messages.resize(message_count);
    for (size_t i = 0; i < message_count; ++i) {
      AddMessage(*descriptor.nested_type(static_cast<int>(i)), file, result,
                 &result->messages[i]);
    }
  }

  void AddFields(const Descriptor& descriptor) {
    Message* message = messages_.at(&descriptor);
    for (int i = 0; i < descriptor.field_count(); ++i)
      message->fields.push_back(MakeField(*descriptor.field(i)));
    AddExtensions(descriptor, message, &message->extensions);
    for (int i = 0; i < descriptor.nested_type_count(); ++i)
      AddFields(*descriptor.nested_type(i));
  }

  template <typename AnyDescriptor>
  void AddExtensions(const AnyDescriptor& descriptor,
                     const Message* scope,
                     std::vector<ExtensionSet>* sets) {
    for (int i = 0; i < descriptor.extension_count(); ++i) {
      const FieldDescriptor& field = *descriptor.extension(i);
      const Message* base = messages_.at(field.containing_type());
      auto set = std::find_if(
          sets->begin(), sets->end(),
          [base](const ExtensionSet& entry) { return entry.base == base; });
      if (set == sets->end())
        set = sets->insert(set, {base, scope, {}});
      set->fields.push_back(MakeField(field));
    }
  }

  Field MakeField(const FieldDescriptor& descriptor) {
    Field field;
    Declare(descriptor, &field);
    field.number = descriptor.number();
    // model.h promises the same values.
    field.type = static_cast<FieldType>(descriptor.type());
    if (descriptor.is_repeated()) {
      field.repetition = descriptor.is_packed()
                             ? Repetition::kRepeatedPacked
                             : Repetition::kRepeatedNotPacked;
    }
    field.default_value = DefaultValueOf(descriptor);
    if (descriptor.message_type() != nullptr) {
      field.message_type = messages_.at(descriptor.message_type());
      field.is_lazy = descriptor.options().lazy();
      field.message_set_item =
          descriptor.containing_type()->options().message_set_wire_format();
      if (descriptor.message_type()->file() == descriptor.file())
        used_in_own_file_.insert(field.message_type);
    }
    if (descriptor.enum_type() != nullptr)
      field.enum_type = enums_.at(descriptor.enum_type());
    // Real oneofs come before those of proto3's optional fields.
    if (descriptor.real_containing_oneof() != nullptr) {
      field.oneof =
          static_cast<size_t>(descriptor.real_containing_oneof()->index());
    }
    return field;
  }

  void FindWrapper(const Descriptor& descriptor, Message* message) {
    message->is_extension_wrapper =
        message->extensions.size() == 1 && message->fields.empty() &&
        message->messages.empty() && message->enums.empty() &&
        message->oneofs.empty() && descriptor.extension_range_count() == 0 &&
        used_in_own_file_.count(message) == 0;
  }

  const bool comments_;
  Schema schema_;
  std::vector<const FileDescriptor*>
      descriptors_;  // The descriptors of schema_.files.
  std::map<const FileDescriptor*, File*> files_;
  std::map<const Descriptor*, Message*> messages_;
  std::map<const EnumDescriptor*, Enum*> enums_;
  std::set<const Message*> used_in_own_file_;
};

}  // namespace

Schema BuildSchema(const std::vector<const FileDescriptor*>& files,
                   bool comments) {
  Builder builder(comments);
  for (const FileDescriptor* file : files)
    builder.AddFile(*file);
  return builder.Finish(files);
}

}  // namespace protozero::plugin
