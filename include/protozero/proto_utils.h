// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_PROTO_UTILS_H_
#define INCLUDE_PROTOZERO_PROTO_UTILS_H_

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "protozero/internal/byte_order.h"
#include "protozero/internal/varint.h"  // IWYU pragma: export

#include "protozero/internal/macros.h"

// The wire format's vocabulary: wire types, schema types, tags and limits.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace proto_utils {

// The low three bits of a tag.
enum class ProtoWireType : uint32_t {
  kVarInt = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

// A field's type as the schema declares it. The values are those of protobuf's
// own FieldDescriptorProto.Type.
enum class ProtoSchemaType {
  kUnknown = 0,
  kDouble = 1,
  kFloat = 2,
  kInt64 = 3,
  kUint64 = 4,
  kInt32 = 5,
  kFixed64 = 6,
  kFixed32 = 7,
  kBool = 8,
  kString = 9,
  kGroup = 10,
  kMessage = 11,
  kBytes = 12,
  kUint32 = 13,
  kEnum = 14,
  kSfixed32 = 15,
  kSfixed64 = 16,
  kSint32 = 17,
  kSint64 = 18,
};

// Returns the type's name as written in a .proto file; "message", "group" or
// "enum" for types that the schema names.
inline const char* ProtoSchemaToString(ProtoSchemaType type) {
  switch (type) {
    case ProtoSchemaType::kUnknown:
      return "unknown";
    case ProtoSchemaType::kDouble:
      return "double";
    case ProtoSchemaType::kFloat:
      return "float";
    case ProtoSchemaType::kInt64:
      return "int64";
    case ProtoSchemaType::kUint64:
      return "uint64";
    case ProtoSchemaType::kInt32:
      return "int32";
    case ProtoSchemaType::kFixed64:
      return "fixed64";
    case ProtoSchemaType::kFixed32:
      return "fixed32";
    case ProtoSchemaType::kBool:
      return "bool";
    case ProtoSchemaType::kString:
      return "string";
    case ProtoSchemaType::kGroup:
      return "group";
    case ProtoSchemaType::kMessage:
      return "message";
    case ProtoSchemaType::kBytes:
      return "bytes";
    case ProtoSchemaType::kUint32:
      return "uint32";
    case ProtoSchemaType::kEnum:
      return "enum";
    case ProtoSchemaType::kSfixed32:
      return "sfixed32";
    case ProtoSchemaType::kSfixed64:
      return "sfixed64";
    case ProtoSchemaType::kSint32:
      return "sint32";
    case ProtoSchemaType::kSint64:
      return "sint64";
  }
  return "unknown";
}

// Returns the wire type of one unpacked value of |type|; kLengthDelimited for
// kGroup and kUnknown, too.
constexpr ProtoWireType ProtoSchemaToWireType(ProtoSchemaType type) {
  switch (type) {
    case ProtoSchemaType::kInt64:
    case ProtoSchemaType::kUint64:
    case ProtoSchemaType::kInt32:
    case ProtoSchemaType::kBool:
    case ProtoSchemaType::kUint32:
    case ProtoSchemaType::kEnum:
    case ProtoSchemaType::kSint32:
    case ProtoSchemaType::kSint64:
      return ProtoWireType::kVarInt;
    case ProtoSchemaType::kDouble:
    case ProtoSchemaType::kFixed64:
    case ProtoSchemaType::kSfixed64:
      return ProtoWireType::kFixed64;
    case ProtoSchemaType::kFloat:
    case ProtoSchemaType::kFixed32:
    case ProtoSchemaType::kSfixed32:
      return ProtoWireType::kFixed32;
    case ProtoSchemaType::kUnknown:
    case ProtoSchemaType::kString:
    case ProtoSchemaType::kGroup:
    case ProtoSchemaType::kMessage:
    case ProtoSchemaType::kBytes:
      return ProtoWireType::kLengthDelimited;
  }
  return ProtoWireType::kLengthDelimited;
}

// The largest size of a nested message or field: it is the largest that the
// four reserved bytes of a message can express, 28 bits.
inline constexpr size_t kMaxMessageLength = (size_t{1} << 28) - 1;
// The largest message that has no size in front of it, a root message or a
// group: the largest that protobuf's parsers take, 2 GiB less one byte.
inline constexpr size_t kMaxRootMessageLength = (size_t{1} << 31) - 1;
// The largest message that gets a one-byte size where that is possible.
inline constexpr size_t kMaxOneByteMessageLength = 127;
// The largest field id: ids have 29 bits.
inline constexpr uint32_t kMaxFieldId = (uint32_t{1} << 29) - 1;
inline constexpr size_t kMaxTagEncodedSize = 5;
// The largest size of a tag and a varint.
inline constexpr size_t kMaxSimpleFieldEncodedSize =
    kMaxTagEncodedSize + kMaxVarIntEncodedSize;

// A tag is the varint of (field id << 3 | wire type).
constexpr uint32_t MakeTag(uint32_t field_id, ProtoWireType wire_type) {
  return (field_id << 3) | static_cast<uint32_t>(wire_type);
}
constexpr uint32_t MakeTagVarInt(uint32_t field_id) {
  return MakeTag(field_id, ProtoWireType::kVarInt);
}
template <typename T>
constexpr uint32_t MakeTagFixed(uint32_t field_id) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "fixed32 or fixed64");
  return MakeTag(field_id, sizeof(T) == 8 ? ProtoWireType::kFixed64
                                          : ProtoWireType::kFixed32);
}
constexpr uint32_t MakeTagLengthDelimited(uint32_t field_id) {
  return MakeTag(field_id, ProtoWireType::kLengthDelimited);
}
constexpr uint32_t GetTagFieldId(uint32_t tag) {
  return tag >> 3;
}
constexpr ProtoWireType GetTagFieldType(uint32_t tag) {
  return static_cast<ProtoWireType>(tag & 7);
}

// Fails to compile unless the tag of |field_id| fits one byte.
template <uint32_t field_id>
constexpr void StaticAssertSingleBytePreamble() {
  static_assert(field_id > 0 && field_id < 16,
                "only field ids 1 to 15 have a one-byte tag");
}

// The number of values that a field may have, and their encoding in the schema.
enum class RepetitionType {
  kNotRepeated,
  kRepeatedPacked,
  kRepeatedNotPacked,
};

// The base of all classes of "protozero/field_metadata.h".
struct FieldMetadataBase {};

namespace internal {

// A tag as it stands in the buffer: one to five bytes. If the field id is a
// constant, the compiler folds all of it: Store() is one move, and an argument
// of this type is a 32-bit constant for all ids below 2^18.
class EncodedTag {
 public:
  constexpr EncodedTag(uint64_t bytes, uint32_t size)
      : bytes_and_size_(bytes << 3 | size) {}

  // Returns the bytes, lowest first.
  constexpr uint64_t encoded() const { return bytes_and_size_ >> 3; }
  constexpr uint32_t size() const { return bytes_and_size_ & 7; }
  constexpr ProtoWireType wire_type() const {
    return static_cast<ProtoWireType>(encoded() & 7);
  }

  // Writes the tag, and returns its end. REQUIRES: eight writable bytes at
  // |dst| if size() is three or more, and size() bytes otherwise.
  PROTOZERO_ALWAYS_INLINE uint8_t* Store(uint8_t* dst) const {
    using PROTOZERO_RUNTIME::internal::StoreLittleEndian;
    if (size() == 1) {
      StoreLittleEndian(dst, static_cast<uint8_t>(encoded()));
      return dst + 1;
    }
    if (size() == 2) {
      StoreLittleEndian(dst, static_cast<uint16_t>(encoded()));
      return dst + 2;
    }
    return StoreAsWord(dst);
  }

  // Does the work of Store() without branches, for tags that are known at run
  // time only. REQUIRES: eight writable bytes at |dst|.
  PROTOZERO_ALWAYS_INLINE uint8_t* StoreAsWord(uint8_t* dst) const {
    PROTOZERO_RUNTIME::internal::StoreLittleEndian(dst, encoded());
    return dst + size();
  }

 private:
  uint64_t bytes_and_size_;
};

constexpr bool IsFieldId(uint32_t field_id) {
  return field_id - 1 < kMaxFieldId;  // Wraps for 0.
}

// Encodes a tag without a loop, so that every optimization level folds it for a
// constant. REQUIRES: IsFieldId(field_id).
constexpr EncodedTag EncodeTag(uint32_t field_id, ProtoWireType wire_type) {
  const uint32_t tag = MakeTag(field_id, wire_type);
  const uint32_t size = 1u + (tag >= 1u << 7) + (tag >= 1u << 14) +
                        (tag >= 1u << 21) + (tag >= 1u << 28);
  const uint64_t continuation =
      0x80808080u & ((uint64_t{1} << (8 * (size - 1))) - 1);
  return EncodedTag(SpreadSevenBitGroups(tag) | continuation, size);
}

}  // namespace internal

}  // namespace proto_utils
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_PROTO_UTILS_H_
