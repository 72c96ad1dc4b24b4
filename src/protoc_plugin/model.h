// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_MODEL_H_
#define SRC_PROTOC_PLUGIN_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace protozero::plugin {

// The content of the schemas as plain data: names as they are written there,
// and nothing of any output language.
//
//   FileDescriptor ──BuildSchema()──▶ Schema ──Language──▶ texts
//
// No struct here mentions a type of libprotobuf, so an output language needs
// only this header, and language.h, its interface. Pointers between structs are
// valid as long as the Schema is.

struct Enum;
struct File;
struct Message;

// The same kinds, in the same order, as protozero::proto_utils::ProtoSchemaType
// and google::protobuf::FieldDescriptor::Type.
enum class FieldType {
  kDouble = 1,
  kFloat,
  kInt64,
  kUint64,
  kInt32,
  kFixed64,
  kFixed32,
  kBool,
  kString,
  kGroup,
  kMessage,
  kBytes,
  kUint32,
  kEnum,
  kSfixed32,
  kSfixed64,
  kSint32,
  kSint64,
};

enum class Repetition {
  kNotRepeated,
  kRepeatedPacked,
  kRepeatedNotPacked,
};

// The common part of all declarations.
struct Declaration {
  std::string name;
  std::string full_name;  // "package.Outer.name"
  int line = 1;           // In its file.
  // The comments before it and after it, without their marks. They may have
  // any bytes.
  std::string comment;
};

struct EnumValue : Declaration {
  int32_t number = 0;
};

struct Enum : Declaration {
  const File* file = nullptr;
  const Message* outer = nullptr;  // Null: the file.
  std::vector<EnumValue> values;   // Never empty.
};

// The value of an absent field, zero included; std::monostate for messages and
// repeated fields. For an enum it is its number, for a string its bytes.
using DefaultValue = std::variant<std::monostate,
                                  bool,
                                  int32_t,
                                  int64_t,
                                  uint32_t,
                                  uint64_t,
                                  float,
                                  double,
                                  std::string>;

struct Field : Declaration {
  static constexpr size_t kNoOneof = SIZE_MAX;

  int32_t number = 0;
  FieldType type = FieldType::kInt32;
  Repetition repetition = Repetition::kNotRepeated;
  const Message* message_type = nullptr;  // For kMessage and kGroup.
  const Enum* enum_type = nullptr;        // For kEnum.
  DefaultValue default_value;
  size_t oneof = kNoOneof;        // Index into Message::oneofs.
  bool is_lazy = false;           // [lazy = true]
  bool message_set_item = false;  // Encoded in a group that names its number.
};

// A oneof that the schema declares. Those of proto3's `optional` are left out.
struct Oneof : Declaration {};

// All extensions of one message that one scope declares. Never empty.
struct ExtensionSet {
  const Message* base = nullptr;
  const Message* scope = nullptr;  // Null: the file.
  std::vector<Field> fields;
};

struct Message : Declaration {
  const File* file = nullptr;
  const Message* outer = nullptr;  // Null: the file.
  std::vector<Field> fields;
  std::vector<Oneof> oneofs;
  std::vector<Enum> enums;
  std::vector<Message> messages;
  std::vector<ExtensionSet> extensions;  // In order of first appearance.

  // True for the entry of a map: its fields are the key and the value.
  bool is_map_entry = false;

  // True if it holds only extensions of one message, and is the type of no
  // field in its file:
  //
  //   message Wrapper { extend Base { optional int32 x = 100; } }
  bool is_extension_wrapper = false;
};

struct File {
  std::string path;
  std::string package;
  int package_line = 1;
  std::vector<const File*> public_imports;
  std::vector<Enum> enums;
  std::vector<Message> messages;
  std::vector<ExtensionSet> extensions;
  // The file and its imports, but not those whose messages it extends, as an
  // encoded FileDescriptorSet. Empty if it is not to be generated.
  std::string descriptor_set;
};

struct Schema {
  std::vector<std::unique_ptr<const File>> files;  // With all imports.
  std::vector<const File*> to_generate;
};

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_MODEL_H_
