// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_FIELD_WRITER_H_
#define INCLUDE_PROTOZERO_FIELD_WRITER_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "protozero/message.h"
#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

// FieldWriter maps a schema type to the appender that encodes it, for generic
// code over FieldMetadata:
//
//   FieldWriter<FieldMetadata_Id::kProtoFieldType>::Append(
//       message, FieldMetadata_Id::kFieldId, value);
//
namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

template <typename CppType>
struct VarIntFieldWriter {
  PROTOZERO_ALWAYS_INLINE static void Append(Message& message,
                                             uint32_t field_id,
                                             CppType value) {
    message.AppendVarInt(field_id, value);
  }
};

template <typename CppType>
struct ZigZagFieldWriter {
  PROTOZERO_ALWAYS_INLINE static void Append(Message& message,
                                             uint32_t field_id,
                                             CppType value) {
    message.AppendSignedVarInt(field_id, value);
  }
};

template <typename CppType>
struct FixedFieldWriter {
  PROTOZERO_ALWAYS_INLINE static void Append(Message& message,
                                             uint32_t field_id,
                                             CppType value) {
    message.AppendFixed(field_id, value);
  }
};

struct BytesFieldWriter {
  PROTOZERO_ALWAYS_INLINE static void Append(Message& message,
                                             uint32_t field_id,
                                             const void* data,
                                             size_t size) {
    message.AppendBytes(field_id, data, size);
  }
  PROTOZERO_ALWAYS_INLINE static void Append(Message& message,
                                             uint32_t field_id,
                                             std::string_view value) {
    message.AppendBytes(field_id, value.data(), value.size());
  }
};

// Messages and groups have no Append(): they are begun, not appended.
template <proto_utils::ProtoSchemaType>
struct FieldWriter;

using SchemaType = proto_utils::ProtoSchemaType;

template <>
struct FieldWriter<SchemaType::kDouble> : FixedFieldWriter<double> {};
template <>
struct FieldWriter<SchemaType::kFloat> : FixedFieldWriter<float> {};
template <>
struct FieldWriter<SchemaType::kInt64> : VarIntFieldWriter<int64_t> {};
template <>
struct FieldWriter<SchemaType::kUint64> : VarIntFieldWriter<uint64_t> {};
template <>
struct FieldWriter<SchemaType::kInt32> : VarIntFieldWriter<int32_t> {};
template <>
struct FieldWriter<SchemaType::kFixed64> : FixedFieldWriter<uint64_t> {};
template <>
struct FieldWriter<SchemaType::kFixed32> : FixedFieldWriter<uint32_t> {};
template <>
struct FieldWriter<SchemaType::kString> : BytesFieldWriter {};
template <>
struct FieldWriter<SchemaType::kBytes> : BytesFieldWriter {};
template <>
struct FieldWriter<SchemaType::kUint32> : VarIntFieldWriter<uint32_t> {};
template <>
struct FieldWriter<SchemaType::kSfixed32> : FixedFieldWriter<int32_t> {};
template <>
struct FieldWriter<SchemaType::kSfixed64> : FixedFieldWriter<int64_t> {};
template <>
struct FieldWriter<SchemaType::kSint32> : ZigZagFieldWriter<int32_t> {};
template <>
struct FieldWriter<SchemaType::kSint64> : ZigZagFieldWriter<int64_t> {};

template <>
struct FieldWriter<SchemaType::kBool> {
  // Appends a bool; either value takes one byte.
  PROTOZERO_ALWAYS_INLINE static void Append(Message& message,
                                             uint32_t field_id,
                                             bool value) {
    message.AppendTinyVarInt(field_id, value ? 1 : 0);
  }
};

template <>
struct FieldWriter<SchemaType::kEnum> {
  // Appends a value of any enum type, or its number.
  template <typename EnumType>
  PROTOZERO_ALWAYS_INLINE static void Append(Message& message,
                                             uint32_t field_id,
                                             EnumType value) {
    message.AppendVarInt(field_id, static_cast<int32_t>(value));
  }
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_FIELD_WRITER_H_
