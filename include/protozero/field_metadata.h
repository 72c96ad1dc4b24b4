// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_FIELD_METADATA_H_
#define INCLUDE_PROTOZERO_FIELD_METADATA_H_

#include <stdint.h>

#include <string>

#include "protozero/proto_utils.h"

// Short names that generated code has for FieldMetadata, by schema type and
// repetition:
//
//   using FieldMetadata_Id = ::protozero::meta::Int32<1, Event>;
//   using FieldMetadata_Tags = ::protozero::meta::RepeatedString<2, Event>;
//   using FieldMetadata_Kind = ::protozero::meta::Enum<3, Kind, Event>;
//
// They are aliases, and not for other code. What their arguments leave out is
// the same in each field of the type, and would be most of a generated header.

namespace protozero::meta {

// Each type has three names: the one for singular fields, and two with a
// prefix.
#define PROTOZERO_FIELD_TYPE(type, cpp_type)                         \
  template <uint32_t field_id, typename MessageType>                 \
  using type = proto_utils::FieldMetadata<                           \
      field_id, proto_utils::RepetitionType::kNotRepeated,           \
      proto_utils::ProtoSchemaType::k##type, cpp_type, MessageType>; \
  template <uint32_t field_id, typename MessageType>                 \
  using Repeated##type = proto_utils::FieldMetadata<                 \
      field_id, proto_utils::RepetitionType::kRepeatedNotPacked,     \
      proto_utils::ProtoSchemaType::k##type, cpp_type, MessageType>; \
  template <uint32_t field_id, typename MessageType>                 \
  using Packed##type = proto_utils::FieldMetadata<                   \
      field_id, proto_utils::RepetitionType::kRepeatedPacked,        \
      proto_utils::ProtoSchemaType::k##type, cpp_type, MessageType>;

// The types that say of which enum or message they are.
#define PROTOZERO_DECLARED_FIELD_TYPE(type)                            \
  template <uint32_t field_id, typename CppType, typename MessageType> \
  using type = proto_utils::FieldMetadata<                             \
      field_id, proto_utils::RepetitionType::kNotRepeated,             \
      proto_utils::ProtoSchemaType::k##type, CppType, MessageType>;    \
  template <uint32_t field_id, typename CppType, typename MessageType> \
  using Repeated##type = proto_utils::FieldMetadata<                   \
      field_id, proto_utils::RepetitionType::kRepeatedNotPacked,       \
      proto_utils::ProtoSchemaType::k##type, CppType, MessageType>;    \
  template <uint32_t field_id, typename CppType, typename MessageType> \
  using Packed##type = proto_utils::FieldMetadata<                     \
      field_id, proto_utils::RepetitionType::kRepeatedPacked,          \
      proto_utils::ProtoSchemaType::k##type, CppType, MessageType>;

PROTOZERO_FIELD_TYPE(Double, double)
PROTOZERO_FIELD_TYPE(Float, float)
PROTOZERO_FIELD_TYPE(Int64, int64_t)
PROTOZERO_FIELD_TYPE(Uint64, uint64_t)
PROTOZERO_FIELD_TYPE(Int32, int32_t)
PROTOZERO_FIELD_TYPE(Fixed64, uint64_t)
PROTOZERO_FIELD_TYPE(Fixed32, uint32_t)
PROTOZERO_FIELD_TYPE(Bool, bool)
PROTOZERO_FIELD_TYPE(String, std::string)
PROTOZERO_FIELD_TYPE(Bytes, std::string)
PROTOZERO_FIELD_TYPE(Uint32, uint32_t)
PROTOZERO_FIELD_TYPE(Sfixed32, int32_t)
PROTOZERO_FIELD_TYPE(Sfixed64, int64_t)
PROTOZERO_FIELD_TYPE(Sint32, int32_t)
PROTOZERO_FIELD_TYPE(Sint64, int64_t)
PROTOZERO_DECLARED_FIELD_TYPE(Enum)
PROTOZERO_DECLARED_FIELD_TYPE(Message)
PROTOZERO_DECLARED_FIELD_TYPE(Group)

#undef PROTOZERO_FIELD_TYPE
#undef PROTOZERO_DECLARED_FIELD_TYPE

}  // namespace protozero::meta

#endif  // INCLUDE_PROTOZERO_FIELD_METADATA_H_
