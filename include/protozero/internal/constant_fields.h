// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_CONSTANT_FIELDS_H_
#define INCLUDE_PROTOZERO_INTERNAL_CONSTANT_FIELDS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <string_view>
#include <type_traits>
#include <utility>

#include "protozero/append_fields.h"
#include "protozero/field.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/compiler.h"
#include "protozero/internal/field_value.h"
#include "protozero/internal/value_pack.h"
#include "protozero/internal/wire_number.h"
#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

// The fields of messages for "protozero/constant_message.h", and their encoding
// in a constant expression.

namespace protozero {
PROTOZERO_ABI_BEGIN

// A placeholder in MakeConstantMessage() for a value that is not known yet: a
// number, bool or enum. In the encoded message, holes of
//
//   fixed32, sfixed32, float       take 4 bytes
//   fixed64, sfixed64, double      take 8 bytes
//   bool                           take 1 byte
//   int32, uint32, sint32, enum    take 5 bytes, or |width|
//   int64, uint64, sint64          take 10 bytes, or |width|
//
// whatever value fills them: a shorter varint is padded with continuation bytes
// whose groups are zero, which every parser accepts:
//
//   300 in a hole of 5      | ac 82 80 80 00 |
//
// A narrower hole holds values of up to 7 * width bits (after zigzag encoding,
// if the field's type has it). Negative values of int32, int64 and enums are
// larger. A larger value is a mistake: it stops debug builds; otherwise its low
// 7 * width bits are written. Without a |width|, all values fit. Negative
// values of int32 and enums take 32 bits rather than the 64 that setters give
// them. A parser that knows the field as an int32 reads the same value; one
// that knows it as an int64 does not.
template <size_t width = 0>
struct Hole {};

namespace internal {

// A ConstantMessage as an argument.
template <typename T, size_t N>
struct ConstantRef {
  const uint8_t* data;
};

// The type of a hole's field, and the hole's width.
template <typename Field, size_t width>
struct HoleOf {
  using Value = typename Field::cpp_field_type;
  static constexpr auto kType = Field::kProtoFieldType;
  static constexpr bool kIsVarInt = proto_utils::ProtoSchemaToWireType(kType) ==
                                    proto_utils::ProtoWireType::kVarInt;

  // The low 32 bits of an int32 or enum determine its value.
  static constexpr size_t kFullWidth =
      kIsVarInt && sizeof(Value) == 4 ? 5 : kMaxNumberSize<kType>;
  static constexpr size_t kWidth = width != 0 ? width : kFullWidth;
  static_assert(kIsVarInt || width == 0 || width == kFullWidth,
                "only holes for varints have a choice of width");
  static_assert(kWidth <= kFullWidth,
                "this hole is wider than any value of its field");

  // Fills the hole at |pos|. REQUIRES: if |inlined|, kInlineEncodingMask is not
  // zero.
  template <bool inlined>
  PROTOZERO_ALWAYS_INLINE static void Fill(Value value, uint8_t* pos) {
    const auto number = ToWireNumber<kType>(value);
    if constexpr (!kIsVarInt) {
      StoreLittleEndian(pos, number);
    } else if constexpr (std::is_same<Value, bool>::value) {
      *pos = number;
    } else {
      const uint64_t bits =
          static_cast<std::make_unsigned_t<decltype(number)>>(number);
      constexpr size_t kBits = 7 * kWidth;
      if constexpr (kBits < 64) {
        PROTOZERO_DCHECK(bits >> kBits == 0,
                         "this value does not fit the hole: make it wider");
      }
      if constexpr (inlined) {
        proto_utils::internal::WritePaddedVarIntInline<kWidth>(bits, pos);
      } else {
        proto_utils::internal::WritePaddedVarInt<kWidth>(bits, pos);
      }
    }
  }
};

// The destination of a constant message's bytes. Without |bytes|, it only
// counts them.
struct ConstantSink {
  constexpr void Byte(uint64_t byte) {
    if (bytes != nullptr)
      bytes[size] = static_cast<uint8_t>(byte);
    ++size;
  }
  constexpr void VarInt(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      Byte(value | 0x80);
    Byte(value);
  }
  constexpr void Tag(proto_utils::internal::EncodedTag tag) {
    for (uint32_t i = 0; i < tag.size(); ++i)
      Byte(tag.encoded() >> (8 * i));
  }

  uint8_t* bytes = nullptr;
  size_t* offsets = nullptr;
  size_t size = 0;
};

template <typename... Values>
constexpr void EncodeConstant(const FieldList<Values...>& list,
                              ConstantSink* sink);

template <typename List>
constexpr size_t ConstantSize(const List& list) {
  ConstantSink sink;
  EncodeConstant(list, &sink);
  return sink.size;
}

// EncodeConstantValue() encodes each kind of value without its tag.

template <typename Field, typename T>
constexpr std::enable_if_t<std::is_arithmetic<T>::value ||
                           std::is_enum<T>::value>
EncodeConstantValue(T value, ConstantSink* sink) {
  const auto number = ToWireNumber<Field::kProtoFieldType>(value);
  if constexpr (HoleOf<Field, 0>::kIsVarInt) {
    sink->VarInt(proto_utils::ExtendValueForVarIntSerialization(number));
  } else {
    for (size_t i = 0; i < sizeof(number); ++i)
      sink->Byte(number >> (8 * i));
  }
}

template <typename Field>
constexpr void EncodeConstantValue(std::string_view value, ConstantSink* sink) {
  sink->VarInt(value.size());
  for (const char c : value)
    sink->Byte(static_cast<uint8_t>(c));
}

template <typename Field>
constexpr void EncodeConstantValue(ConstBytes value, ConstantSink* sink) {
  sink->VarInt(value.size);
  for (size_t i = 0; i < value.size; ++i)
    sink->Byte(value.data[i]);
}

template <typename Field, typename T, size_t N>
constexpr void EncodeConstantValue(ConstantRef<T, N> value,
                                   ConstantSink* sink) {
  EncodeConstantValue<Field>(ConstBytes(value.data, N), sink);
}

template <typename Field, typename... Values>
constexpr void EncodeConstantValue(const FieldList<Values...>& list,
                                   ConstantSink* sink) {
  sink->VarInt(ConstantSize(list));
  EncodeConstant(list, sink);
}

template <typename Field, size_t width>
constexpr void EncodeConstantValue(Hole<width>, ConstantSink* sink) {
  using Of = HoleOf<Field, width>;
  if (sink->offsets != nullptr)
    *sink->offsets++ = sink->size;
  for (size_t i = 0; i < Of::kWidth; ++i)
    sink->Byte(Of::kIsVarInt && i + 1 < Of::kWidth ? 0x80 : 0);
}

template <typename Field, typename Value>
constexpr void EncodeConstantField(const FieldValue<Field, Value>& field,
                                   ConstantSink* sink) {
  sink->Tag(TagOf<Field>());
  EncodeConstantValue<Field>(field.value, sink);
}

template <size_t... i, typename... Values>
constexpr void EncodeConstantFields(
    [[maybe_unused]] const IndexedValues<std::index_sequence<i...>, Values...>&
        values,
    [[maybe_unused]] ConstantSink* sink) {
  (EncodeConstantField(Get<i>(values), sink), ...);
}

template <typename... Values>
constexpr void EncodeConstant(const FieldList<Values...>& list,
                              ConstantSink* sink) {
  EncodeConstantFields(list.values, sink);
}

// The list of a constant's holes. Also checks that all fields belong to their
// messages.
template <typename T, typename List>
struct ConstantFields {
  static_assert(kAlwaysFalse<List>,
                "return the fields of a constant as a FieldList");
  using Holes = TypeList<>;
};

template <typename Field, typename Value>
struct ConstantFieldValue {
  using Holes = TypeList<>;
};
template <typename Field, size_t width>
struct ConstantFieldValue<Field, Hole<width>> {
  using Holes = TypeList<HoleOf<Field, width>>;
};
template <typename Field, typename... Values>
struct ConstantFieldValue<Field, FieldList<Values...>>
    : ConstantFields<typename Field::cpp_field_type, FieldList<Values...>> {};
template <typename Field, typename T, size_t N>
struct ConstantFieldValue<Field, ConstantRef<T, N>> {
  static_assert(AreFieldsOf<typename Field::cpp_field_type, T>(),
                "this constant is a message of another class than the field");
  using Holes = TypeList<>;
};

template <typename T, typename Value>
struct ConstantField {
  static_assert(kAlwaysFalse<Value>,
                "write a field of a constant as Event::kId(7)");
  using Holes = TypeList<>;
};
template <typename T, typename Field, typename Value>
struct ConstantField<T, FieldValue<Field, Value>>
    : ConstantFieldValue<Field, Value> {
  static_assert(AreFieldsOf<T, typename Field::message_type>(),
                "this field belongs to another message");
};

template <typename T, typename... Values>
struct ConstantFields<T, FieldList<Values...>> {
  using Holes = decltype((TypeList<>() + ... +
                          typename ConstantField<T, Values>::Holes()));
};

}  // namespace internal

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_CONSTANT_FIELDS_H_
