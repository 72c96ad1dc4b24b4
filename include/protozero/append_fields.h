// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_APPEND_FIELDS_H_
#define INCLUDE_PROTOZERO_APPEND_FIELDS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "protozero/byte_order.h"
#include "protozero/compiler.h"
#include "protozero/field.h"
#include "protozero/field_value.h"
#include "protozero/message.h"
#include "protozero/proto_utils.h"
#include "protozero/wire_number.h"

namespace protozero {

namespace internal {

constexpr const void* DataOf(std::string_view bytes) {
  return bytes.data();
}
constexpr const void* DataOf(ConstBytes bytes) {
  return bytes.data;
}
constexpr size_t SizeOf(std::string_view bytes) {
  return bytes.size();
}
constexpr size_t SizeOf(ConstBytes bytes) {
  return bytes.size;
}

// Writes |size| as a varint, and the bytes. For sizes unknown at compile time:
// the copy is larger than the call. REQUIRES: size <= kMaxMessageLength, and
// room for |size| bytes after kMaxVarIntEncodedSize others.
uint8_t* WriteSizeAndBytesUnsafe(size_t size, const void* src, uint8_t* dst);

// Writes a varint of any length, as inline code does of most. REQUIRES:
// kMaxVarIntEncodedSize writable bytes, and a processor for inline code.
uint8_t* WriteVarIntOutOfLineUnsafe(uint64_t value, uint8_t* dst);

template <typename Field>
constexpr proto_utils::internal::EncodedTag TagOf() {
  return proto_utils::internal::EncodeTag(
      Field::kFieldId,
      proto_utils::ProtoSchemaToWireType(Field::kProtoFieldType));
}

// Constants are encoded by "protozero/constant_message.h".
template <typename Value>
struct ConstantEncoder {
  static_assert(kAlwaysFalse<Value>,
                "a FieldList or a Hole is for MakeConstantMessage()");
  static constexpr size_t kHeader = 0;
  static size_t BodySize(const Value&) { return 0; }
  static uint8_t* Encode(const Value&, uint8_t* pos) { return pos; }
  static uint8_t* EncodeAny(const Value&, uint8_t* pos) { return pos; }
  static void Append(Message&, const Value&) {}
};

// How AppendFields() treats one of its arguments:
//   kHeader      its largest size, but for the bytes counted by the next
//   BodySize()   bytes that it has besides, known at run time
//   LargeBits()  zero if Encode() can write it
//   Encode()     writes it and returns its end. REQUIRES: BodySize() writable
//                bytes after kMaxSimpleFieldEncodedSize others.
//   EncodeAny()  Encode() for what LargeBits() says, but for sizes
//   Append()     what the setter would do, out of line.
class FieldsAppender {
 public:
  template <typename... Values>
  PROTOZERO_ALWAYS_INLINE static void Append(Message& message,
                                             Values... values) {
    constexpr size_t kAhead = SumOfAllButLast({Encoder<Values>::kHeader...});
    const uint64_t ahead =
        (uint64_t{kAhead} + ... + Encoder<Values>::BodySize(values));
    // A size that is too large has a bit beyond those of the largest, and so
    // has a varint that is too long for the inline code.
    const uint64_t large =
        (uint64_t{0} | ... | Encoder<Values>::LargeBits(values));
    uint8_t* pos = message.write_ptr_;
    if (PROTOZERO_UNLIKELY(large != 0 || !HasFastRoom(message, ahead)))
      return AppendOutOfLine(message, ahead, values...);
    ((pos = Encoder<Values>::Encode(values, pos)), ...);
    message.write_ptr_ = pos;
  }

  // Writes to |pos| what Append() would, and returns its end; null, and nothing
  // is written, unless that is sure to be |max_size| bytes at most, and to fit
  // in front of the end that |fast_limit| is for.
  template <typename... Values>
  PROTOZERO_ALWAYS_INLINE static uint8_t* TryEncode(uint8_t* pos,
                                                    uintptr_t fast_limit,
                                                    uint64_t max_size,
                                                    Values... values) {
    constexpr size_t kAhead = SumOfAllButLast({Encoder<Values>::kHeader...});
    const uint64_t ahead =
        (uint64_t{kAhead} + ... + Encoder<Values>::BodySize(values));
    const uint64_t large =
        (uint64_t{0} | ... | Encoder<Values>::LargeBits(values));
    if (PROTOZERO_UNLIKELY(large != 0 ||
                           ahead + proto_utils::kMaxSimpleFieldEncodedSize >
                               max_size ||
                           !HasFastRoom(pos, fast_limit, ahead))) {
      return nullptr;
    }
    ((pos = Encoder<Values>::Encode(values, pos)), ...);
    return pos;
  }

 private:
  // The headers before the last one. The room that HasFastRoom() asks for is
  // enough for that.
  static constexpr size_t SumOfAllButLast(std::initializer_list<size_t> sizes) {
    size_t sum = 0;
    size_t last = 0;
    for (const size_t size : sizes) {
      sum += last;
      last = size;
    }
    return sum;
  }

  // Whether Message::HasFastRoom() would hold after |size| more bytes.
  // REQUIRES: size < 2^60.
  PROTOZERO_ALWAYS_INLINE static bool HasFastRoom(const Message& message,
                                                  uint64_t size) {
    return HasFastRoom(message.write_ptr_, message.fast_limit_, size);
  }
  PROTOZERO_ALWAYS_INLINE static bool HasFastRoom(const uint8_t* write_ptr,
                                                  uintptr_t fast_limit,
                                                  uint64_t size) {
    const uintptr_t pos = reinterpret_cast<uintptr_t>(write_ptr);
    if constexpr (sizeof(uintptr_t) >= sizeof(uint64_t)) {
      // No address is so large that this overflows; |fast_limit| may be zero.
      return pos + size < fast_limit;
    } else {
      return pos < fast_limit && size < fast_limit - pos;
    }
  }

  template <typename... Values>
  PROTOZERO_COLD static void AppendOutOfLine(Message& message,
                                             uint64_t ahead,
                                             Values... values) {
    // Long varints are not rare everywhere.
    if (((Encoder<Values>::BodySize(values) <=
          proto_utils::kMaxMessageLength) &&
         ...) &&
        HasFastRoom(message, ahead)) {
      uint8_t* pos = message.write_ptr_;
      ((pos = Encoder<Values>::EncodeAny(values, pos)), ...);
      message.write_ptr_ = pos;
      return;
    }
    (Encoder<Values>::Append(message, values), ...);
  }

  template <typename Value, typename = void>
  struct Encoder : ConstantEncoder<Value> {};

  template <typename Field, typename T>
  struct Encoder<FieldValue<Field, T>,
                 std::enable_if_t<std::is_arithmetic<T>::value ||
                                  std::is_enum<T>::value>> {
    static constexpr auto kTag = TagOf<Field>();
    static constexpr auto kType = Field::kProtoFieldType;
    static constexpr bool kIsVarInt =
        proto_utils::ProtoSchemaToWireType(kType) ==
        proto_utils::ProtoWireType::kVarInt;
    static constexpr size_t kHeader = kTag.size() + kMaxNumberSize<kType>;
    static_assert(kHeader <= proto_utils::kMaxSimpleFieldEncodedSize, "");

    static constexpr size_t BodySize(FieldValue<Field, T>) { return 0; }

    PROTOZERO_ALWAYS_INLINE static uint64_t LargeBits(
        FieldValue<Field, T> field) {
      return kIsVarInt ? Number(field) >> 56 : 0;
    }

    PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(FieldValue<Field, T> field,
                                                   uint8_t* pos) {
      pos = kTag.Store(pos);
      if constexpr (kMaxNumberSize<kType> == 1) {
        *pos = static_cast<uint8_t>(Number(field));
        return pos + 1;
      } else if constexpr (kIsVarInt) {
        return proto_utils::internal::WriteVarInt56Inline(Number(field), pos);
      } else {
        const auto bits = ToWireNumber<kType>(field.value);
        StoreLittleEndian(pos, bits);
        return pos + sizeof(bits);
      }
    }

    static uint8_t* EncodeAny(FieldValue<Field, T> field, uint8_t* pos) {
      if constexpr (kIsVarInt && kMaxNumberSize<kType> > 1) {
        return WriteVarIntOutOfLineUnsafe(Number(field), kTag.StoreAsWord(pos));
      } else {
        return Encode(field, pos);
      }
    }

    static void Append(Message& message, FieldValue<Field, T> field) {
      if constexpr (kIsVarInt) {
        message.AppendVarIntOutOfLine(kTag, Number(field));
      } else {
        message.AppendFixedOutOfLine(kTag, ToWireNumber<kType>(field.value));
      }
    }

    PROTOZERO_ALWAYS_INLINE static uint64_t Number(FieldValue<Field, T> field) {
      return proto_utils::ExtendValueForVarIntSerialization(
          ToWireNumber<kType>(field.value));
    }
  };

  template <typename Field, typename T>
  struct Encoder<FieldValue<Field, T>,
                 std::enable_if_t<std::is_same<T, std::string_view>::value ||
                                  std::is_same<T, ConstBytes>::value>> {
    static constexpr auto kTag = TagOf<Field>();
    static constexpr size_t kHeader =
        kTag.size() + proto_utils::kMessageLengthFieldSize;

    static constexpr size_t BodySize(FieldValue<Field, T> field) {
      return SizeOf(field.value);
    }

    static constexpr uint64_t LargeBits(FieldValue<Field, T> field) {
      static_assert((proto_utils::kMaxMessageLength &
                     (proto_utils::kMaxMessageLength + 1)) == 0);
      return SizeOf(field.value) & ~proto_utils::kMaxMessageLength;
    }

    PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(FieldValue<Field, T> field,
                                                   uint8_t* pos) {
      const void* data = DataOf(field.value);
      const size_t size = SizeOf(field.value);
      pos = kTag.Store(pos);
#if defined(__GNUC__) || defined(__clang__)
      // A literal, say: a few moves of constants.
      if (__builtin_constant_p(size) && size <= kMaxInlineCopy) {
        *pos++ = static_cast<uint8_t>(size);
        if (size != 0)  // memcpy() may not be given null.
          memcpy(pos, data, size);
        return pos + size;
      }
#endif
      return WriteSizeAndBytesUnsafe(size, data, pos);
    }

    static uint8_t* EncodeAny(FieldValue<Field, T> field, uint8_t* pos) {
      return WriteSizeAndBytesUnsafe(SizeOf(field.value), DataOf(field.value),
                                     kTag.StoreAsWord(pos));
    }

    static void Append(Message& message, FieldValue<Field, T> field) {
      message.AppendEncodedBytes(kTag, DataOf(field.value),
                                 SizeOf(field.value));
    }
  };

  static constexpr size_t kMaxInlineCopy = 64;
};

// What AppendFields() takes: of which class, and as what it is passed on.
template <typename Value>
struct Appendable : std::false_type {};
template <typename Field, typename Value>
struct Appendable<FieldValue<Field, Value>> : std::true_type {
  using message_type = typename Field::message_type;
  static constexpr FieldValue<Field, Value> Pass(
      const FieldValue<Field, Value>& value) {
    return value;
  }
};

// Whether a field of class |Of| may be appended to a |T|: its own fields, those
// of the message that it extends, and all extensions of it.
template <typename T, typename Of>
constexpr bool AreFieldsOf() {
  if constexpr (std::is_same<T, Of>::value) {
    return true;
  } else {
    return std::is_base_of<Of, T>::value || std::is_base_of<T, Of>::value;
  }
}

template <typename T, typename Value>
constexpr bool CheckField() {
  if constexpr (Appendable<Value>::value) {
    static_assert(AreFieldsOf<T, typename Appendable<Value>::message_type>(),
                  "this field belongs to another message");
  } else {
    static_assert(kAlwaysFalse<Value>,
                  "write a field as AppendFields() takes it: Event::kId(7)");
  }
  return true;
}

}  // namespace internal

// Appends several fields at once:
//
//   AppendFields(event, Event::kId(id), Event::kName(name),
//                Event::kTimestamp(now));
//
// writes the same bytes as event->set_id(id), event->set_name(name) and so on
// in that order, but asks only once whether there is room for all of them, and
// keeps the cursor in a register throughout. Any fields of numbers, bools,
// enums, strings and bytes, in any order, any of them more than once. Fields of
// other messages do not compile; extensions of the message do. Constants of
// "protozero/constant_message.h" may be among them.
//
// Where the room is not there (at the end of a chunk, while a child of the
// message is open, after an error), the fields are appended one by one, out of
// line. Everything said about setters holds here as well.
//
// REQUIRES: strings and bytes do not overlap the current chunk.
template <typename T, typename... Values>
PROTOZERO_ALWAYS_INLINE void AppendFields(T* message, const Values&... values) {
  static_assert(
      std::is_base_of<Message, T>::value && !std::is_same<Message, T>::value,
      "AppendFields() takes a pointer to a generated message class");
  static_assert(sizeof...(values) != 0, "no fields to append");
  if constexpr ((internal::CheckField<T, Values>() && ...)) {
    internal::FieldsAppender::Append(
        *message, internal::Appendable<Values>::Pass(values)...);
  }
}

}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_APPEND_FIELDS_H_
