// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_FIELDS_APPENDER_H_
#define INCLUDE_PROTOZERO_INTERNAL_FIELDS_APPENDER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include "protozero/const_bytes.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/compiler.h"
#include "protozero/internal/field_checks.h"
#include "protozero/internal/field_value.h"
#include "protozero/internal/message_inline.h"
#include "protozero/internal/short_copy.h"
#include "protozero/internal/value_pack.h"
#include "protozero/internal/wire_number.h"
#include "protozero/message.h"
#include "protozero/proto_utils.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/static_buffer.h"

#include "protozero/internal/macros.h"

// The encoders behind AppendFields(), AppendMessage() and EncodeMessage(): see
// "protozero/append_fields.h".

namespace protozero {
PROTOZERO_ABI_BEGIN

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

// Writes |size| as a varint, and the bytes. It is for sizes that compilers do
// not know, because inline code for the copy is larger than the call. REQUIRES:
// size <= kMaxMessageLength, and room for |size| bytes after
// kMaxVarIntEncodedSize others.
PROTOZERO_EXPORT uint8_t* WriteSizeAndBytesUnsafe(size_t size,
                                                  const void* src,
                                                  uint8_t* dst) noexcept;

// Widens the one-byte size in front of |begin| to kMessageLengthFieldSize
// bytes, and writes |size| there. Moves the |size| bytes, and returns their
// end.
PROTOZERO_COLD PROTOZERO_EXPORT uint8_t* WidenSizeUnsafe(uint8_t* begin,
                                                         size_t size) noexcept;

template <typename Field>
constexpr proto_utils::internal::EncodedTag TagOf() {
  static_assert(proto_utils::internal::IsFieldId(Field::kFieldId),
                "field ids are 1 to 536870911");
  return proto_utils::internal::EncodeTag(
      Field::kFieldId,
      proto_utils::ProtoSchemaToWireType(Field::kProtoFieldType));
}

// "protozero/constant_message.h" specializes this for constants.
template <typename Value>
struct ConstantEncoder {
  static_assert(kAlwaysFalse<Value>, "a Hole is for MakeConstantMessage()");
  static constexpr size_t kHeader = 0;
  static constexpr size_t kMinHeader = 0;
  static constexpr size_t kAhead = 0;
  static uint64_t BodySize(const Value&) { return 0; }
  static uint64_t SizeBits(const Value&) { return 0; }
  static uint8_t* Encode(const Value&, uint8_t* pos) { return pos; }
  static void Append(Message&, const Value&) {}
};

// An Encoder treats one argument of AppendFields(). It has these members:
//   kHeader        its largest size, without the bytes that BodySize() counts
//   kMinHeader     its smallest size, without those bytes
//   kAhead         the number of bytes of kHeader that may come before the last
//                  kMaxSimpleFieldEncodedSize bytes
//   BodySize()     the number of further bytes, known at run time
//   SizeBits()     the bitwise or of all sizes that are to be written
//   Encode()       writes the argument and returns its end. REQUIRES: kAhead,
//                  BodySize() and kMaxSimpleFieldEncodedSize bytes together
//                  are writable; SizeBits() is at most kMaxMessageLength.
//   Append()       does the work of the setter, by a call
class FieldsAppender {
  static constexpr size_t SumOfAllButLast(std::initializer_list<size_t> sizes) {
    size_t sum = 0;
    size_t last = 0;
    for (const size_t size : sizes) {
      sum += last;
      last = size;
    }
    return sum;
  }
  static constexpr size_t Last(std::initializer_list<size_t> sizes) {
    return sizes.size() != 0 ? *(sizes.end() - 1) : 0;
  }

 public:
  template <typename... Values>
  PROTOZERO_ALWAYS_INLINE static void Append(Message& message,
                                             Values... values) {
    if (PROTOZERO_UNLIKELY(!MayEncode(message.write_ptr_, message.fast_limit_,
                                      kNoMaxSize, values...))) {
      return AppendSlowPath(message, Rebuild(values)...);
    }
    message.write_ptr_ = Encode(message.write_ptr_, values...);
  }

  // Appends a message that consists of |values|. Returns its size.
  template <typename T, typename... Values>
  PROTOZERO_ALWAYS_INLINE static uint32_t AppendMessage(
      ScatteredStreamWriter& writer,
      Values... values) {
    PROTOZERO_DCHECK(!writer.reasons_.is_asking,
                     ScatteredStreamWriter::kReenteredAdvice);
    uint8_t* const begin = writer.write_ptr_;
    if (PROTOZERO_UNLIKELY(
            !MayEncode(begin, writer.fast_limit_, kNoMaxSize, values...) ||
            writer.reasons_.cursor_taken !=
                ScatteredStreamWriter::CursorTaken::kNot)) {
      return AppendMessageSlowPath<T>(writer, Rebuild(values)...);
    }
    uint8_t* const end = Encode(begin, values...);
    writer.write_ptr_ = end;
    const size_t size = static_cast<size_t>(end - begin);
    if (PROTOZERO_UNLIKELY(size > proto_utils::kMaxRootMessageLength)) {
      writer.Fail(WriteStatus::kMessageTooLong, 0);
      return 0;
    }
    return static_cast<uint32_t>(size);
  }

  // The same for a message in a buffer of its own.
  template <typename T, typename... Values>
  PROTOZERO_ALWAYS_INLINE static size_t EncodeMessage(uint8_t* begin,
                                                      size_t size,
                                                      Values... values) {
    // Larger buffers than a message may fill take the slow path, too. So a
    // message that fits into a buffer here is not too long.
    if (PROTOZERO_UNLIKELY(
            !FitIntoBuffer(size & kInlineEncodingMask, values...))) {
      return EncodeMessageSlowPath<T>(begin, size, Rebuild(values)...);
    }
    return static_cast<size_t>(Encode(begin, values...) - begin);
  }

  // Returns whether the bytes are certain to be at most |max_size|, and to fit
  // between |write_ptr| and the end of the chunk that |fast_limit| is for.
  template <typename... Values>
  PROTOZERO_ALWAYS_INLINE static bool MayEncode(const uint8_t* write_ptr,
                                                uintptr_t fast_limit,
                                                uint64_t max_size,
                                                Values... values) {
    if (!FitInto(max_size, values...))
      return false;
    // Tests whether HasFastRoom() would be true after |ahead| more bytes.
    const uint64_t ahead = SizeAhead(values...);
    const uintptr_t pos = reinterpret_cast<uintptr_t>(write_ptr);
    // No address, and no lent or returned cursor, is so large that adding seven
    // sizes overflows. |fast_limit| may be zero.
    if constexpr (sizeof(uintptr_t) >= sizeof(uint64_t) &&
                  sizeof...(values) <= 7) {
      return pos + ahead < fast_limit;
    } else {
      return pos < fast_limit && ahead < fast_limit - pos;
    }
  }

  // Writes the bytes of Append() to |pos|, and returns their end. REQUIRES:
  // MayEncode(), or FitIntoBuffer() where kInlineEncodingMask is not zero.
  template <typename... Values>
  PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(uint8_t* pos,
                                                 Values... values) {
    return Encoders<Values...>::Encode(pos, values...);
  }

 private:
  static constexpr uint64_t kNoMaxSize = ~uint64_t{0};

  // Returns the largest number of bytes in front of the last
  // kMaxSimpleFieldEncodedSize ones.
  template <typename... Values>
  PROTOZERO_ALWAYS_INLINE static uint64_t SizeAhead(Values... values) {
    return Encoders<Values...>::kAhead +
           Encoders<Values...>::BodySize(values...);
  }

  // Returns whether Encode() may be called if |size| bytes are writable.
  template <typename... Values>
  PROTOZERO_ALWAYS_INLINE static bool FitInto(uint64_t size, Values... values) {
    static_assert((proto_utils::kMaxMessageLength &
                   (proto_utils::kMaxMessageLength + 1)) == 0);
    return Encoders<Values...>::SizeBits(values...) <=
               proto_utils::kMaxMessageLength &&
           SizeAhead(values...) + proto_utils::kMaxSimpleFieldEncodedSize <=
               size;
  }

  // The same, but returns false if |size| is larger than a message may be.
  template <typename... Values>
  PROTOZERO_ALWAYS_INLINE static bool FitIntoBuffer(uint64_t size,
                                                    Values... values) {
    constexpr uint64_t kNeeded =
        Encoders<Values...>::kAhead + proto_utils::kMaxSimpleFieldEncodedSize;
    static_assert(kNeeded <= proto_utils::kMaxMessageLength);
    // The subtraction wraps if |size| is too small. The tests have this order
    // to show the compiler that a single string is not too long.
    const uint64_t room = size - kNeeded;
    return room <= proto_utils::kMaxMessageLength - kNeeded &&
           Encoders<Values...>::BodySize(values...) <= room &&
           Encoders<Values...>::SizeBits(values...) <=
               proto_utils::kMaxMessageLength;
  }

  // Returns a copy of |value|, made of its parts, for the slow path, because a
  // call takes a list in memory. So the original can be in registers; otherwise
  // gcc would store it on the fast path, too, in case the call is needed.
  template <typename Value>
  PROTOZERO_ALWAYS_INLINE static Value Rebuild(Value value) {
    return value;
  }
  template <typename Field, typename... Values>
  PROTOZERO_ALWAYS_INLINE static FieldValue<Field, FieldList<Values...>>
  Rebuild(const FieldValue<Field, FieldList<Values...>>& value) {
    return RebuildList(value, std::index_sequence_for<Values...>());
  }
  template <typename Field, typename... Values, size_t... i>
  PROTOZERO_ALWAYS_INLINE static FieldValue<Field, FieldList<Values...>>
  RebuildList(const FieldValue<Field, FieldList<Values...>>& value,
              std::index_sequence<i...>) {
    return {FieldList<Values...>(Rebuild(Get<i>(value.value.values))...)};
  }

  template <typename... Values>
  PROTOZERO_COLD static void AppendSlowPath(Message& message,
                                            Values... values) noexcept {
    Encoders<Values...>::Append(message, values...);
  }

  template <typename T, typename... Values>
  PROTOZERO_COLD static uint32_t AppendMessageSlowPath(
      ScatteredStreamWriter& writer,
      Values... values) noexcept {
    RootMessage<T> message(&writer);
    Encoders<Values...>::Append(message, values...);
    return message.Finalize();
  }

  template <typename T, typename... Values>
  PROTOZERO_COLD static size_t EncodeMessageSlowPath(
      uint8_t* begin,
      size_t size,
      Values... values) noexcept {
    StaticBuffered<T> message(begin, size);
    Encoders<Values...>::Append(*message.get(), values...);
    return message.Finalize();
  }

  template <typename Value, typename = void>
  struct Encoder : ConstantEncoder<Value> {};

 public:
  // The encoder of several arguments.
  template <typename... Values>
  struct Encoders {
    static constexpr size_t kHeader =
        (size_t{0} + ... + Encoder<Values>::kHeader);
    static constexpr size_t kMinHeader =
        (size_t{0} + ... + Encoder<Values>::kMinHeader);
    static constexpr size_t kAhead =
        SumOfAllButLast({Encoder<Values>::kHeader...}) +
        Last({Encoder<Values>::kAhead...});

    PROTOZERO_ALWAYS_INLINE static uint64_t BodySize(Values... values) {
      return (uint64_t{0} + ... + Encoder<Values>::BodySize(values));
    }
    PROTOZERO_ALWAYS_INLINE static uint64_t SizeBits(Values... values) {
      return (uint64_t{0} | ... | Encoder<Values>::SizeBits(values));
    }
    PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(uint8_t* pos,
                                                   Values... values) {
      ((pos = Encoder<Values>::Encode(values, pos)), ...);
      return pos;
    }
    static void Append(Message& message, Values... values) {
      (Encoder<Values>::Append(message, values), ...);
    }
  };

 private:
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
    static constexpr size_t kMinHeader = kIsVarInt ? kTag.size() + 1 : kHeader;
    static constexpr size_t kAhead = 0;
    static_assert(kHeader <= proto_utils::kMaxSimpleFieldEncodedSize, "");

    static constexpr uint64_t BodySize(FieldValue<Field, T>) { return 0; }
    static constexpr uint64_t SizeBits(FieldValue<Field, T>) { return 0; }

    PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(FieldValue<Field, T> field,
                                                   uint8_t* pos) {
      uint8_t* const value_pos = kTag.Store(pos);
      if constexpr (kMaxNumberSize<kType> == 1) {
        StoreLittleEndian(value_pos, static_cast<uint8_t>(Number(field)));
        return value_pos + 1;
      } else if constexpr (kIsVarInt) {
        const uint64_t bits = Number(field);
        const VarIntMasks masks = LoadVarIntMasks();
        if (PROTOZERO_UNLIKELY(proto_utils::internal::MayBeLongVarInt<uint64_t>(
                bits, masks))) {
          return proto_utils::internal::WriteLongVarIntInline(bits, value_pos,
                                                              masks);
        }
        // This adds to the cursor once, because the next field waits for it.
        return proto_utils::internal::WriteVarInt56Inline<kTag.size()>(
            bits, pos, masks);
      } else {
        const auto bits = ToWireNumber<kType>(field.value);
        StoreLittleEndian(value_pos, bits);
        return value_pos + sizeof(bits);
      }
    }

    static void Append(Message& message, FieldValue<Field, T> field) {
      if constexpr (kIsVarInt) {
        MessageRuntime::AppendVarInt(&message, kTag, Number(field));
      } else {
        MessageRuntime::AppendFixed(&message, kTag,
                                    ToWireNumber<kType>(field.value));
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
    static constexpr size_t kMinHeader = kTag.size() + 1;
    static constexpr size_t kAhead = 0;

    static constexpr uint64_t BodySize(FieldValue<Field, T> field) {
      return SizeOf(field.value);
    }
    static constexpr uint64_t SizeBits(FieldValue<Field, T> field) {
      return SizeOf(field.value);
    }

    PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(FieldValue<Field, T> field,
                                                   uint8_t* pos) {
      const void* data = DataOf(field.value);
      const size_t size = SizeOf(field.value);
      pos = kTag.Store(pos);
      // A literal, for example, takes a few moves of constants.
      if (PROTOZERO_IS_CONSTANT(size) && size <= kMaxInlineCopy) {
        *pos++ = static_cast<uint8_t>(size);
        if (size != 0)  // memcpy() may not be given null.
          memcpy(pos, data, size);
        return pos + size;
      }
#if PROTOZERO_INLINE_SETTERS
      if (PROTOZERO_LIKELY(size <= kMaxShortCopy))
        return WriteShortBytes(size, data, pos);
#endif
      return WriteSizeAndBytesUnsafe(size, data, pos);
    }

    static void Append(Message& message, FieldValue<Field, T> field) {
      MessageRuntime::AppendBytes(&message, kTag, DataOf(field.value),
                                  SizeOf(field.value));
    }
  };

  // Writes the same bytes as a child that begins, gets the fields and is
  // sealed: its size takes one byte, or kMessageLengthFieldSize.
  template <typename Field, typename List, typename Indices>
  struct ListEncoder;
  template <typename Field, typename... Values, size_t... i>
  struct ListEncoder<Field, FieldList<Values...>, std::index_sequence<i...>> {
    static_assert(
        (ListField<typename Field::cpp_field_type, Values>::kIsChecked && ...));
    using Value = FieldValue<Field, FieldList<Values...>>;
    using All = Encoders<Values...>;
    static constexpr auto kTag = TagOf<Field>();
    static constexpr size_t kSizes =
        kTag.size() + proto_utils::kMessageLengthFieldSize;
    static constexpr size_t kHeader = kSizes + All::kHeader;
    static constexpr size_t kMinHeader = kTag.size() + 1 + All::kMinHeader;
    static constexpr size_t kAhead = kSizes + All::kAhead;

    PROTOZERO_ALWAYS_INLINE static uint64_t BodySize(const Value& field) {
      return All::BodySize(Get<i>(field.value.values)...);
    }

    PROTOZERO_ALWAYS_INLINE static uint64_t SizeBits(const Value& field) {
      return All::SizeBits(Get<i>(field.value.values)...) |
             (All::kHeader + BodySize(field));
    }

    PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(const Value& field,
                                                   uint8_t* pos) {
      // The compiler knows both conditions if there are no strings.
      const uint64_t body_size = BodySize(field);
      const bool is_long =
          All::kMinHeader + body_size > proto_utils::kMaxOneByteMessageLength;
      const bool may_be_long =
          All::kHeader + body_size > proto_utils::kMaxOneByteMessageLength;
      uint8_t* const begin =
          kTag.Store(pos) +
          (is_long ? proto_utils::kMessageLengthFieldSize : 1);
      uint8_t* const end = All::Encode(begin, Get<i>(field.value.values)...);
      const size_t size = static_cast<size_t>(end - begin);
      if (PROTOZERO_UNLIKELY(is_long)) {
        proto_utils::internal::WritePaddedVarIntInline<
            proto_utils::kMessageLengthFieldSize>(
            size, begin - proto_utils::kMessageLengthFieldSize);
      } else if (may_be_long &&
                 PROTOZERO_UNLIKELY(size >
                                    proto_utils::kMaxOneByteMessageLength)) {
        return WidenSizeUnsafe(begin, size);
      } else {
        StoreLittleEndian(begin - 1, static_cast<uint8_t>(size));
      }
      return end;
    }

    static void Append(Message& message, const Value& field) {
      All::Append(*MessageRuntime::BeginByCall(&message, kTag),
                  Get<i>(field.value.values)...);
      MessageRuntime::TakeCursor(&message);
    }
  };

  template <typename Field, typename... Values>
  struct Encoder<FieldValue<Field, FieldList<Values...>>>
      : ListEncoder<Field,
                    FieldList<Values...>,
                    std::index_sequence_for<Values...>> {};

  static constexpr size_t kMaxInlineCopy = 64;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_FIELDS_APPENDER_H_
