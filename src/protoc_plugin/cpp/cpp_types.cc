// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/cpp/cpp_types.h"

#include <stddef.h>

namespace protozero::plugin {

namespace {

// In the order of FieldType, which begins with 1. A row to a line:
// clang-format off
constexpr TypeTraits kTypes[] = {
    {"Double", "double", "AppendDouble", "PackedFixedSizeInt<double>", "AsDouble", nullptr},
    {"Float", "float", "AppendFloat", "PackedFixedSizeInt<float>", "AsFloat", nullptr},
    {"Int64", "int64_t", "AppendInt64", "PackedVarInt", "AsInt64", nullptr},
    {"Uint64", "uint64_t", "AppendUint64", "PackedVarInt", "AsUint64", nullptr},
    {"Int32", "int32_t", "AppendInt32", "PackedVarInt", "AsInt32", nullptr},
    {"Fixed64", "uint64_t", "AppendFixed64", "PackedFixedSizeInt<uint64_t>", "AsUint64", nullptr},
    {"Fixed32", "uint32_t", "AppendFixed32", "PackedFixedSizeInt<uint32_t>", "AsUint32", nullptr},
    {"Bool", "bool", "AppendBool", "PackedVarInt", "AsBool", nullptr},
    {"String", "::std::string", "AppendString", nullptr, "AsString", "ConstChars"},
    {"Group", nullptr, "BeginNestedGroup", nullptr, "AsBytes", "ConstBytes"},
    {"Message", nullptr, "BeginNestedMessage", nullptr, "AsBytes", "ConstBytes"},
    {"Bytes", "::std::string", "AppendString", nullptr, "AsBytes", "ConstBytes"},
    {"Uint32", "uint32_t", "AppendUint32", "PackedVarInt", "AsUint32", nullptr},
    {"Enum", nullptr, "AppendInt32", "PackedVarInt", "AsInt32", nullptr},
    {"Sfixed32", "int32_t", "AppendSfixed32", "PackedFixedSizeInt<int32_t>", "AsInt32", nullptr},
    {"Sfixed64", "int64_t", "AppendSfixed64", "PackedFixedSizeInt<int64_t>", "AsInt64", nullptr},
    {"Sint32", "int32_t", "AppendSint32", "PackedSignedVarInt", "AsSint32", nullptr},
    {"Sint64", "int64_t", "AppendSint64", "PackedSignedVarInt", "AsSint64", nullptr},
};
// clang-format on

}  // namespace

const TypeTraits& TraitsOf(const CppField& field) {
  static_assert(sizeof(kTypes) / sizeof(kTypes[0]) ==
                    static_cast<size_t>(FieldType::kSint64),
                "a row for each type");
  return kTypes[static_cast<size_t>(field.schema->type) - 1];
}

bool IsMessage(const CppField& field) {
  return field.schema->message_type != nullptr;
}

std::string CppTypeOf(const CppField& field) {
  const char* cpp_type = TraitsOf(field).cpp_type;
  return cpp_type != nullptr ? cpp_type : field.type_name;
}

const char* MetadataPrefix(Repetition repetition) {
  switch (repetition) {
    case Repetition::kNotRepeated:
      return "";
    case Repetition::kRepeatedPacked:
      return "Packed";
    case Repetition::kRepeatedNotPacked:
      return "Repeated";
  }
  return "";
}

}  // namespace protozero::plugin
