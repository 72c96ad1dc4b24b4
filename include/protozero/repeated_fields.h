// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_REPEATED_FIELDS_H_
#define INCLUDE_PROTOZERO_REPEATED_FIELDS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "protozero/field.h"
#include "protozero/internal/byte_order.h"
#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

// The values of a repeated field, in the order of the wire:
//
//   for (auto it = decoder.name(); it; ++it)
//     Use(*it);
//   for (ConstChars name : decoder.name())
//     Use(name);
//
// Iterators read the bytes of the message as they advance: they allocate
// nothing, and need the bytes but not the decoder that they come from. They can
// be copied.

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal {

// A scanner that finds the fields of one id in a message.
class PROTOZERO_EXPORT FieldScanner {
 public:
  FieldScanner() = default;
  FieldScanner(const uint8_t* begin, const uint8_t* end, uint32_t id)
      : pos_(begin), end_(end), id_(id) {}

  // Returns the next field, or an invalid one at the end or where bytes are
  // malformed.
  Field Next();

 private:
  const uint8_t* pos_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint32_t id_ = 0;
};

// All fields of an id: the first one, and a scanner for the others.
struct RepeatedFields {
  Field first{};
  FieldScanner others;
};

// The members that range-for needs of an iterator that is its own range.
struct EndOfRange {};
template <typename Iterator>
class IteratorRange {
 public:
  Iterator begin() const { return static_cast<const Iterator&>(*this); }
  EndOfRange end() const { return {}; }
  friend bool operator!=(const Iterator& it, EndOfRange) {
    return static_cast<bool>(it);
  }
  friend bool operator==(const Iterator& it, EndOfRange) { return !it; }
};

// A cursor over strings, bytes, or fields of any kind.
template <typename T>
class BytesCursor {
 public:
  BytesCursor() = default;
  explicit BytesCursor(const RepeatedFields& fields)
      : others_(fields.others), field_(fields.first) {
    if (field_.valid() && !MayBe(field_))
      Next();
  }

  const Field& field() const { return field_; }
  void Next() {
    do {
      field_ = others_.Next();
    } while (field_.valid() && !MayBe(field_));
  }

 private:
  static bool MayBe(const Field& field) {
    using proto_utils::ProtoWireType;
    return std::is_same<T, Field>::value ||
           field.type() == ProtoWireType::kLengthDelimited ||
           field.type() == ProtoWireType::kStartGroup;
  }

  FieldScanner others_;
  Field field_{};
};

// A cursor over numbers. All their types have this one class, so that a caller
// may mix them: the encoding is a value.
class PROTOZERO_EXPORT NumberCursor {
 public:
  NumberCursor() = default;
  // Reads numbers of any encoding, but not packed ones.
  explicit NumberCursor(const RepeatedFields& fields) : others_(fields.others) {
    Enter(fields.first);
  }
  // Reads numbers of the schema's type |type|, packed or not.
  NumberCursor(const RepeatedFields& fields,
               proto_utils::ProtoSchemaType type,
               bool* parse_error)
      : others_(fields.others),
        parse_error_(parse_error),
        is_typed_(true),
        is_zigzag_(type == proto_utils::ProtoSchemaType::kSint32 ||
                   type == proto_utils::ProtoSchemaType::kSint64),
        wire_type_(proto_utils::ProtoSchemaToWireType(type)) {
    Enter(fields.first);
  }

  // Returns the current field. An element of a packed field becomes a field by
  // itself.
  const Field& field() const { return field_; }
  void Next();
  bool IsZigZag() const { return is_zigzag_; }

 private:
  // Moves to the first number in |field|, or in another one after it.
  void Enter(Field field);

  FieldScanner others_;
  Field field_{};
  const uint8_t* pos_ = nullptr;  // In the payload of a packed field.
  const uint8_t* end_ = nullptr;
  uint32_t tag_ = 0;  // The tag of its elements if they were not packed.
  bool* parse_error_ = nullptr;
  bool is_typed_ = false;
  bool is_zigzag_ = false;
  proto_utils::ProtoWireType wire_type_ = proto_utils::ProtoWireType::kVarInt;
};

// Converts the bits of a value on the wire to a T.
template <typename T, bool zigzag>
T FromWire(uint64_t bits) {
  if constexpr (std::is_same<T, bool>::value) {
    return bits != 0;
  } else if constexpr (std::is_same<T, float>::value) {
    const uint32_t low = static_cast<uint32_t>(bits);
    T value;
    memcpy(&value, &low, sizeof(value));
    return value;
  } else if constexpr (std::is_same<T, double>::value) {
    T value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  } else if constexpr (zigzag) {
    return proto_utils::ZigZagDecode(static_cast<T>(bits));
  } else if constexpr (std::is_enum<T>::value) {
    return static_cast<T>(static_cast<int32_t>(bits));
  } else {
    return static_cast<T>(bits);
  }
}

}  // namespace internal

// The values of a repeated field: T is a type that Field::get() takes. The
// iterator skips numbers if T is bytes, and bytes if T is a number. All numbers
// of one C++ type have the same iterator, whatever their types in the schema
// are:
//
//   RepeatedFieldIterator<uint64_t> ids =
//       is_short ? decoder.uint64_ids() : decoder.fixed64_ids();
//
// An iterator that knows the schema's type reads packed fields, too, and
// un-zigzags sint32 and sint64: see TypedProtoDecoderBase::GetRepeated().
template <typename T>
class RepeatedFieldIterator
    : public internal::IteratorRange<RepeatedFieldIterator<T>> {
  using Cursor = std::conditional_t<std::is_class<T>::value,
                                    internal::BytesCursor<T>,
                                    internal::NumberCursor>;

 public:
  RepeatedFieldIterator() = default;
  // Decoders make and return it.
  explicit RepeatedFieldIterator(const internal::RepeatedFields& fields)
      : cursor_(fields) {}
  // Iterates over numbers. For |parse_error|, see RepeatedScalarIterator.
  RepeatedFieldIterator(const internal::RepeatedFields& fields,
                        proto_utils::ProtoSchemaType type,
                        bool* parse_error)
      : cursor_(fields, type, parse_error) {}

  // Returns false after the last element.
  explicit operator bool() const { return field().valid(); }
  // Returns the element as a T.
  T operator*() const {
    if constexpr (std::is_integral<T>::value) {
      // The cursor of numbers gives no field that has bytes.
      const uint64_t bits = field().raw_int_value();
      if constexpr (std::is_signed<T>::value) {
        if (cursor_.IsZigZag())
          return internal::FromWire<T, true>(bits);
      }
      return internal::FromWire<T, false>(bits);
    } else {
      T value{};
      field().get(&value);
      return value;
    }
  }
  // Returns the field as it is on the wire, so that as_sint32() un-zigzags. An
  // element of a packed field looks like a field that is not packed.
  const Field* operator->() const { return &field(); }
  const Field& field() const { return cursor_.field(); }

  // Moves to the next element. Stops for good after the last one.
  RepeatedFieldIterator& operator++() {
    cursor_.Next();
    return *this;
  }
  RepeatedFieldIterator operator++(int) {
    RepeatedFieldIterator before = *this;
    ++*this;
    return before;
  }

 private:
  Cursor cursor_;
};

namespace internal {

// A number, and the byte after it; null instead of that if it is malformed.
// Functions return it in two registers.
struct ParsedNumber {
  const uint8_t* next;
  uint64_t value;
};

// Reads the varint at |pos|. Drops bits beyond the 64th.
PROTOZERO_EXPORT ParsedNumber ParseLongVarInt(const uint8_t* pos,
                                              const uint8_t* end);

PROTOZERO_ALWAYS_INLINE ParsedNumber ParseVarInt(const uint8_t* pos,
                                                 const uint8_t* end) {
  if (PROTOZERO_LIKELY(pos != end && *pos < 0x80))
    return {pos + 1, *pos};
  return ParseLongVarInt(pos, end);
}

template <proto_utils::ProtoWireType wire_type>
PROTOZERO_ALWAYS_INLINE ParsedNumber ParseNumber(const uint8_t* pos,
                                                 const uint8_t* end) {
  using proto_utils::ProtoWireType;
  if constexpr (wire_type == ProtoWireType::kVarInt) {
    return ParseVarInt(pos, end);
  } else {
    using Bits = std::conditional_t<wire_type == ProtoWireType::kFixed64,
                                    uint64_t, uint32_t>;
    if (static_cast<size_t>(end - pos) < sizeof(Bits))
      return {};
    return {pos + sizeof(Bits), LoadLittleEndian<Bits>(pos)};
  }
}

// The values of a repeated number, packed or not: protobuf requires parsers to
// accept both forms, and a mix of them, whatever the schema says.
template <proto_utils::ProtoWireType wire_type, typename T, bool zigzag>
class ScalarIterator
    : public IteratorRange<ScalarIterator<wire_type, T, zigzag>> {
  using ProtoWireType = proto_utils::ProtoWireType;
  static_assert(wire_type == ProtoWireType::kVarInt ||
                    wire_type == ProtoWireType::kFixed32 ||
                    wire_type == ProtoWireType::kFixed64,
                "numbers only");

 public:
  ScalarIterator() = default;
  ScalarIterator(const RepeatedFields& fields, bool* parse_error)
      : others_(fields.others), parse_error_(parse_error) {
    Enter(fields.first);
  }
  // Iterates over the payload of one packed field.
  ScalarIterator(const uint8_t* data, size_t size, bool* parse_error)
      : pos_(data), end_(data + size), parse_error_(parse_error) {
    ++*this;
  }

  explicit operator bool() const { return valid_; }
  T operator*() const { return FromWire<T, zigzag>(bits_); }

  ScalarIterator& operator++() {
    if (PROTOZERO_UNLIKELY(pos_ == end_)) {
      Enter(others_.Next());
      return *this;
    }
    const ParsedNumber number = ParseNumber<wire_type>(pos_, end_);
    valid_ = true;
    bits_ = number.value;
    pos_ = number.next;
    if (PROTOZERO_UNLIKELY(pos_ == nullptr))
      Fail();
    return *this;
  }
  ScalarIterator operator++(int) {
    ScalarIterator before = *this;
    ++*this;
    return before;
  }

 private:
  // Moves to the first value of |field|, or of another one after it.
  PROTOZERO_NOINLINE void Enter(Field field) {
    for (; field.valid(); field = others_.Next()) {
      if (field.type() == wire_type) {
        bits_ = field.raw_int_value();
        break;
      }
      // For gcc, the address may be null as long as this does not say
      // otherwise.
      const uint8_t* const data = field.data();
      if (field.type() == ProtoWireType::kLengthDelimited && data != nullptr &&
          field.size() > 0) {
        pos_ = data;
        end_ = pos_ + field.size();
        ++*this;
        return;
      }
    }
    valid_ = field.valid();
  }

  // Ends the iteration, because the bytes that follow may be anything.
  void Fail() {
    *this = ScalarIterator(parse_error_);
    if (parse_error_ != nullptr)
      *parse_error_ = true;
  }
  explicit ScalarIterator(bool* parse_error) : parse_error_(parse_error) {}

  const uint8_t* pos_ = nullptr;  // In the payload of a packed field.
  const uint8_t* end_ = nullptr;
  uint64_t bits_ = 0;
  bool valid_ = false;
  FieldScanner others_;
  bool* parse_error_ = nullptr;
};

template <proto_utils::ProtoSchemaType type>
struct ScalarTypeOf;
#define PROTOZERO_SCALAR_TYPE(schema_type, cpp_type)               \
  template <>                                                      \
  struct ScalarTypeOf<proto_utils::ProtoSchemaType::schema_type> { \
    using type = cpp_type;                                         \
  };
PROTOZERO_SCALAR_TYPE(kDouble, double)
PROTOZERO_SCALAR_TYPE(kFloat, float)
PROTOZERO_SCALAR_TYPE(kInt64, int64_t)
PROTOZERO_SCALAR_TYPE(kUint64, uint64_t)
PROTOZERO_SCALAR_TYPE(kInt32, int32_t)
PROTOZERO_SCALAR_TYPE(kFixed64, uint64_t)
PROTOZERO_SCALAR_TYPE(kFixed32, uint32_t)
PROTOZERO_SCALAR_TYPE(kBool, bool)
PROTOZERO_SCALAR_TYPE(kUint32, uint32_t)
PROTOZERO_SCALAR_TYPE(kEnum, int32_t)
PROTOZERO_SCALAR_TYPE(kSfixed32, int32_t)
PROTOZERO_SCALAR_TYPE(kSfixed64, int64_t)
PROTOZERO_SCALAR_TYPE(kSint32, int32_t)
PROTOZERO_SCALAR_TYPE(kSint64, int64_t)
#undef PROTOZERO_SCALAR_TYPE

}  // namespace internal

// The values of a repeated number of the schema's type |type|, in either
// encoding. Values of enums are int32_t; sint32 and sint64 are un-zigzagged.
//
// A malformed packed field ends the iteration after the values that could be
// read, and sets |*parse_error| to true if that is given. It is malformed if it
// cuts off a varint, or if its size is no multiple of an element's. Nothing
// sets |*parse_error| to false. Fields of the id with another wire type are
// skipped.
template <proto_utils::ProtoSchemaType type>
using RepeatedScalarIterator =
    internal::ScalarIterator<proto_utils::ProtoSchemaToWireType(type),
                             typename internal::ScalarTypeOf<type>::type,
                             type == proto_utils::ProtoSchemaType::kSint32 ||
                                 type == proto_utils::ProtoSchemaType::kSint64>;

// The same by wire type and C++ type. Varints are not un-zigzagged.
template <proto_utils::ProtoWireType wire_type, typename T>
using PackedRepeatedFieldIterator =
    internal::ScalarIterator<wire_type, T, false>;
template <proto_utils::ProtoWireType wire_type, typename T>
using UnifiedRepeatedFieldIterator =
    internal::ScalarIterator<wire_type, T, false>;

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_REPEATED_FIELDS_H_
