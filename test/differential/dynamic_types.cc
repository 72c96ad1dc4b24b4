// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/differential/dynamic_types.h"

#include <stdio.h>
#include <stdlib.h>

#include <map>

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/strutil.h>

#include "test/testing/hex.h"

namespace protozero::test {

namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::Message;
using google::protobuf::RepeatedPtrField;

[[noreturn]] void Die(const std::string& error) {
  fprintf(stderr, "%s\n", error.c_str());
  exit(2);
}

// A class that changes the types as Strictness::kWireOnly says.
class Relaxer {
 public:
  void Relax(FileDescriptorSet* files) {
    for (auto& file : *files->mutable_file()) {
      const std::string scope = '.' + file.package();
      CollectEnums(scope, file.enum_type());
      for (auto& message : file.message_type())
        CollectEnums(scope, message);
    }
    for (auto& file : *files->mutable_file()) {
      is_proto3_ = file.syntax() == "proto3";
      RelaxFields(file.mutable_extension());
      for (auto& message : *file.mutable_message_type())
        Relax(&message);
    }
  }

 private:
  void CollectEnums(
      const std::string& scope,
      const RepeatedPtrField<google::protobuf::EnumDescriptorProto>& enums) {
    for (const auto& type : enums) {
      const std::string name = scope + '.' + type.name();
      for (const auto& value : type.value())
        numbers_[name + '.' + value.name()] = value.number();
      defaults_[name] = type.value(0).number();
    }
  }

  void CollectEnums(const std::string& scope, const DescriptorProto& message) {
    const std::string name = scope + '.' + message.name();
    CollectEnums(name, message.enum_type());
    for (const auto& nested : message.nested_type())
      CollectEnums(name, nested);
  }

  void Relax(DescriptorProto* message) {
    message->mutable_options()->clear_map_entry();
    RelaxFields(message->mutable_field());
    RelaxFields(message->mutable_extension());
    for (auto& nested : *message->mutable_nested_type())
      Relax(&nested);
  }

  void RelaxFields(RepeatedPtrField<FieldDescriptorProto>* fields) {
    for (auto& field : *fields) {
      if (field.type() == FieldDescriptorProto::TYPE_STRING) {
        field.set_type(FieldDescriptorProto::TYPE_BYTES);
        if (field.has_default_value()) {
          field.set_default_value(
              google::protobuf::CEscape(field.default_value()));
        }
      } else if (field.type() == FieldDescriptorProto::TYPE_ENUM) {
        field.set_type(FieldDescriptorProto::TYPE_INT32);
        const std::string& type = field.type_name();
        if (field.has_default_value()) {
          field.set_default_value(
              std::to_string(numbers_.at(type + '.' + field.default_value())));
        } else if (!is_proto3_ &&
                   field.label() != FieldDescriptorProto::LABEL_REPEATED) {
          field.set_default_value(std::to_string(defaults_.at(type)));
        }
        field.clear_type_name();
      }
    }
  }

  bool is_proto3_ = false;
  std::map<std::string, int> numbers_;   // By enum and name of the value.
  std::map<std::string, int> defaults_;  // The first value of each enum.
};

}  // namespace

DynamicTypes::DynamicTypes(std::string_view descriptor_set,
                           Strictness strictness) {
  FileDescriptorSet files;
  if (!files.ParseFromArray(descriptor_set.data(),
                            static_cast<int>(descriptor_set.size()))) {
    Die("no descriptors");
  }
  if (strictness == Strictness::kWireOnly)
    Relaxer().Relax(&files);
  for (const auto& file : files.file()) {
    if (pool_.BuildFile(file) == nullptr)
      Die("bad descriptor of " + file.name());
  }
}

std::unique_ptr<Message> DynamicTypes::NewMessage(
    const std::string& full_name) {
  const auto* type = pool_.FindMessageTypeByName(full_name);
  if (type == nullptr)
    Die("no message " + full_name);
  return std::unique_ptr<Message>(factory_.GetPrototype(type)->New());
}

std::unique_ptr<Message> DynamicTypes::Parse(const std::string& full_name,
                                             ConstBytes bytes) {
  std::unique_ptr<Message> message = NewMessage(full_name);
  google::protobuf::io::CodedInputStream stream(bytes.data,
                                                static_cast<int>(bytes.size));
  stream.SetExtensionRegistry(&pool_, &factory_);
  if (!message->ParsePartialFromCodedStream(&stream) ||
      !stream.ConsumedEntireMessage()) {
    message.reset();
  }
  return message;
}

std::string Serialize(const Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&coded);
  }
  return bytes;
}

std::string CompareReading(DynamicTypes* types,
                           const DifferentialCase& test_case,
                           ConstBytes bytes) {
  const auto describe = [&](const char* what) {
    return std::string(what) + "\n-- bytes\n" + Hex(bytes.ToStdString()) + '\n';
  };
  const auto expected = types->Parse(test_case.full_name, bytes);
  const auto read = types->NewMessage(test_case.full_name);
  Reader::State state;
  const std::string copy = test_case.copy(Reader(read.get(), bytes, &state));
  if (state.malformed != (expected == nullptr)) {
    return describe(state.malformed ? "malformed, but libprotobuf parses it"
                                    : "libprotobuf does not parse it");
  }
  if (state.malformed)
    return std::string();
  // Only libprotobuf reads unknown fields.
  expected->DiscardUnknownFields();
  const std::string expected_bytes = Serialize(*expected);
  if (!state.errors.empty())
    return describe("getters are wrong") + state.errors;
  if (Serialize(*read) != expected_bytes) {
    return describe("another message is read") + "-- read\n" +
           read->DebugString() + "-- expected\n" + expected->DebugString();
  }
  const auto copied = types->Parse(
      test_case.full_name,
      ConstBytes(reinterpret_cast<const uint8_t*>(copy.data()), copy.size()));
  if (!copied || Serialize(*copied) != expected_bytes) {
    return describe("another message is written") + "-- written\n" + Hex(copy) +
           "\n-- expected\n" + expected->DebugString();
  }
  return std::string();
}

}  // namespace protozero::test
