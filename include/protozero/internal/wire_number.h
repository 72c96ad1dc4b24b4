// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_WIRE_NUMBER_H_
#define INCLUDE_PROTOZERO_INTERNAL_WIRE_NUMBER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

// Converts the value of a number, bool or enum field to the integer that stands
// for it on the wire.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

#if defined(__has_builtin)
#if __has_builtin(__builtin_bit_cast)
#define PROTOZERO_HAS_BIT_CAST 1
#endif
#endif

// Returns the bits of a floating-point number. It is a constant expression if
// the compiler supports that: gcc from 11 and clang from 9 on.
#if defined(PROTOZERO_HAS_BIT_CAST)
constexpr uint32_t BitsOf(float value) {
  return __builtin_bit_cast(uint32_t, value);
}
constexpr uint64_t BitsOf(double value) {
  return __builtin_bit_cast(uint64_t, value);
}
#else
inline uint32_t BitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline uint64_t BitsOf(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
#endif
#undef PROTOZERO_HAS_BIT_CAST

// For fixed-size types, returns the bits, as wide as they are on the wire. For
// all others, returns an integer whose varint, sign-extended if it is signed,
// is the field's value.
template <proto_utils::ProtoSchemaType type, typename T>
constexpr auto ToWireNumber(T value) {
  using Type = proto_utils::ProtoSchemaType;
  if constexpr (std::is_floating_point<T>::value) {
    return BitsOf(value);
  } else if constexpr (type == Type::kFixed32 || type == Type::kSfixed32) {
    return static_cast<uint32_t>(value);
  } else if constexpr (type == Type::kFixed64 || type == Type::kSfixed64) {
    return static_cast<uint64_t>(value);
  } else if constexpr (type == Type::kSint32 || type == Type::kSint64) {
    return proto_utils::ZigZagEncode(value);
  } else if constexpr (type == Type::kEnum) {
    return static_cast<int32_t>(value);
  } else {
    return value;
  }
}

// The size of the longest number of a type, without its tag.
template <proto_utils::ProtoSchemaType type>
inline constexpr size_t kMaxNumberSize = [] {
  using Type = proto_utils::ProtoSchemaType;
  if (type == Type::kBool)
    return 1;
  if (type == Type::kFloat || type == Type::kFixed32 || type == Type::kSfixed32)
    return 4;
  if (type == Type::kUint32 || type == Type::kSint32)
    return 5;
  if (type == Type::kDouble || type == Type::kFixed64 ||
      type == Type::kSfixed64) {
    return 8;
  }
  return 10;
}();

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_WIRE_NUMBER_H_
