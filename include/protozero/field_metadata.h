// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_FIELD_METADATA_H_
#define INCLUDE_PROTOZERO_FIELD_METADATA_H_

#include <stdint.h>

#include <string>
#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/internal/field_value.h"
#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

// Types that describe the fields of generated classes. The constant kFoo of
// such a type stands for the field in generic code, and kFoo(value) is a
// FieldValue. There is a class for each schema type and repetition:
//
//   using FieldMetadata_Id = ::protozero::meta::Int32<1, Event>;
//   using FieldMetadata_Tags = ::protozero::meta::RepeatedString<2, Event>;
//   using FieldMetadata_Kind = ::protozero::meta::Enum<3, Kind, Event>;
//
// They have the members
//
//   kFieldId, kRepetitionType, kProtoFieldType, cpp_field_type, message_type
//
// A header uses one for each field, and compilers spend nearly half of the time
// for the header on them. So they are classes, with few arguments and all
// members in place. Aliases of one class with more arguments take longer, with
// gcc by a tenth of the whole. A call operator that inspects its argument types
// before it is called takes longer, too.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace meta {

#define PROTOZERO_FIELD(name, repetition, type, CppFieldType, call) \
  struct name : proto_utils::FieldMetadataBase {                    \
    static constexpr uint32_t kFieldId = field_id;                  \
    static constexpr proto_utils::RepetitionType kRepetitionType =  \
        proto_utils::RepetitionType::repetition;                    \
    static constexpr proto_utils::ProtoSchemaType kProtoFieldType = \
        proto_utils::ProtoSchemaType::type;                         \
    using cpp_field_type = CppFieldType;                            \
    using message_type = MessageType;                               \
    call                                                            \
  };

// The call operator of a class |name|. It takes anything that Notation<name>
// can turn into a FieldValue.
#define PROTOZERO_CALL(name, Notation)                                     \
  template <typename... Values>                                            \
  constexpr auto operator()(Values&&... values) const {                    \
    return internal::Notation<name>::Of(static_cast<Values&&>(values)...); \
  }
// The same, but the first choice is a |Value|, as for the setter: the caller
// converts to it, so that compilers warn about narrowing in the caller's code.
#define PROTOZERO_CALL_WITH(name, Value, Notation, ...)                       \
  constexpr auto operator()(Value value) const {                              \
    return FieldValue<name, Value>{value};                                    \
  }                                                                           \
  template <typename... Values,                                               \
            typename =                                                        \
                typename internal::EnableUnlessTaken<Value, Values...>::type> \
  constexpr auto operator()(Values&&... values) const {                       \
    return internal::Notation<name, __VA_ARGS__>::Of(                         \
        static_cast<Values&&>(values)...);                                    \
  }

// The template arguments of the classes. Classes for enums and messages name
// the C++ type, too.
#define PROTOZERO_SCALAR() template <uint32_t field_id, typename MessageType>
#define PROTOZERO_DECLARED() \
  template <uint32_t field_id, typename CppType, typename MessageType>

// The classes of a type that is not packed. CALL is one of the call operators
// above, and the rest are its arguments.
#define PROTOZERO_FIELDS(TEMPLATE, type, CppFieldType, CALL, ...)            \
  TEMPLATE()                                                                 \
  PROTOZERO_FIELD(type, kNotRepeated, k##type, CppFieldType,                 \
                  CALL(type, __VA_ARGS__))                                   \
  TEMPLATE()                                                                 \
  PROTOZERO_FIELD(Repeated##type, kRepeatedNotPacked, k##type, CppFieldType, \
                  CALL(Repeated##type, __VA_ARGS__))
#define PROTOZERO_NUMBER_FIELDS(TEMPLATE, type, CppFieldType)           \
  PROTOZERO_FIELDS(TEMPLATE, type, CppFieldType, PROTOZERO_CALL_WITH,   \
                   CppFieldType, NumberNotation, CppFieldType)          \
  TEMPLATE()                                                            \
  PROTOZERO_FIELD(Packed##type, kRepeatedPacked, k##type, CppFieldType, \
                  PROTOZERO_CALL(Packed##type, SetterNotation))
#define PROTOZERO_BYTES_FIELDS(type, Element, Range)                         \
  PROTOZERO_FIELDS(PROTOZERO_SCALAR, type, std::string, PROTOZERO_CALL_WITH, \
                   std::string_view, BytesNotation, Element, Range)
#define PROTOZERO_MESSAGE_FIELDS(type, Notation) \
  PROTOZERO_FIELDS(PROTOZERO_DECLARED, type, CppType, PROTOZERO_CALL, Notation)

PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Double, double)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Float, float)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Int64, int64_t)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Uint64, uint64_t)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Int32, int32_t)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Fixed64, uint64_t)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Fixed32, uint32_t)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Bool, bool)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Uint32, uint32_t)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Sfixed32, int32_t)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Sfixed64, int64_t)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Sint32, int32_t)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_SCALAR, Sint64, int64_t)
PROTOZERO_NUMBER_FIELDS(PROTOZERO_DECLARED, Enum, CppType)
PROTOZERO_BYTES_FIELDS(String, char, ConstChars)
PROTOZERO_BYTES_FIELDS(Bytes, uint8_t, ConstBytes)
PROTOZERO_MESSAGE_FIELDS(Message, MessageNotation)
PROTOZERO_MESSAGE_FIELDS(Group, SetterNotation)

#undef PROTOZERO_FIELD
#undef PROTOZERO_CALL
#undef PROTOZERO_CALL_WITH
#undef PROTOZERO_SCALAR
#undef PROTOZERO_DECLARED
#undef PROTOZERO_FIELDS
#undef PROTOZERO_NUMBER_FIELDS
#undef PROTOZERO_BYTES_FIELDS
#undef PROTOZERO_MESSAGE_FIELDS

}  // namespace meta
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_FIELD_METADATA_H_
