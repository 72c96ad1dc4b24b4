// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_VARINT_H_
#define INCLUDE_PROTOZERO_INTERNAL_VARINT_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "protozero/internal/bit_deposit.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/compiler.h"

#include "protozero/internal/macros.h"

// Base-128 varints, protobuf's variable-length integers:
//
//   value      0b  ggggggg fffffff ... bbbbbbb aaaaaaa    (groups of 7 bits)
//   encoded    1aaaaaaa 1bbbbbbb ... 1fffffff 0ggggggg    (lowest group first)
//
// The top bit of a byte says that another one follows. 64 bits take at most
// ten bytes. All functions here are pure and safe to call from any thread.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace proto_utils {

inline constexpr size_t kMaxVarIntEncodedSize = 10;

// Maps a signed integer to an unsigned one so that small magnitudes of either
// sign have short varints: 0, -1, 1, -2 become 0, 1, 2, 3.
template <typename T>
constexpr std::make_unsigned_t<T> ZigZagEncode(T value) {
  static_assert(std::is_integral<T>::value && std::is_signed<T>::value,
                "zigzag is for signed integers");
  using U = std::make_unsigned_t<T>;
  // The subtraction spreads the sign bit without shifting a negative value.
  return static_cast<U>((static_cast<U>(value) << 1) ^
                        (U{0} - static_cast<U>(value < 0)));
}

template <typename T>
constexpr std::make_signed_t<T> ZigZagDecode(T value) {
  static_assert(std::is_integral<T>::value, "zigzag is for integers");
  using U = std::make_unsigned_t<T>;
  const U bits = static_cast<U>(value);
  return static_cast<std::make_signed_t<T>>(
      static_cast<U>((bits >> 1) ^ (U{0} - static_cast<U>(bits & 1))));
}

// Returns the 64 bits that protobuf's wire format has for |value|. Signed types
// and enums are sign-extended, so that a negative int32 takes ten bytes and
// reads back the same as int32 and int64.
template <typename T>
constexpr uint64_t ExtendValueForVarIntSerialization(T value) {
  if constexpr (std::is_enum<T>::value) {
    return ExtendValueForVarIntSerialization(
        static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_signed<T>::value) {
    static_assert(std::is_integral<T>::value, "varints hold integers");
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  } else {
    static_assert(std::is_integral<T>::value, "varints hold integers");
    return static_cast<uint64_t>(value);
  }
}

// Returns the number of bytes that WriteVarInt() writes for |value|: 1 to 10.
inline size_t VarIntSize(uint64_t value) {
  size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

namespace internal {

using PROTOZERO_RUNTIME::internal::LoadVarIntMasks;
using PROTOZERO_RUNTIME::internal::VarIntMasks;

// Deals the low 56 bits of |value| out into eight groups of seven bits, one
// group a byte. Each step halves the group width: the upper half of every
// group moves up by 4, then 2, then 1 bits. Adding a multiple of the upper
// halves moves them without masking the lower ones out.
// REQUIRES: value < 2^56.
PROTOZERO_ALWAYS_INLINE constexpr uint64_t SpreadSevenBitGroups(
    uint64_t value) {
  value = (value & 0x0fffffff) | (value >> 28 << 32);
  value += (value & 0x0fffc0000fffc000u) * 3;
  value += (value & 0x3f803f803f803f80u);
  return value;
}

// Returns the number of bits in the zero bytes above the highest byte that is
// not zero: 0, 8, ... 56. REQUIRES: value != 0.
inline uint32_t LeadingZeroByteBits(uint64_t value) {
#if defined(__GNUC__) || defined(__clang__)
  // Counts from the other end: without instruction set extensions, x86 counts
  // leading zeros by an instruction that is microcoded on some processors, but
  // trailing zeros by a fast one.
  return static_cast<uint32_t>(__builtin_ctzll(__builtin_bswap64(value))) &
         0x38;
#else
  uint32_t bits = 0;
  for (; value < uint64_t{1} << 56; value <<= 8)
    bits += 8;
  return bits;
#endif
}

// Encodes a value below 2^56 without a branch that depends on its length: such
// a branch is mispredicted as soon as lengths vary, as they do in most traces.
PROTOZERO_ALWAYS_INLINE uint8_t* WriteVarInt56Unsafe(uint64_t value,
                                                     uint8_t* dst) {
  const uint64_t groups = SpreadSevenBitGroups(value);
  // Every byte below the highest one has a continuation bit. (Zero has one byte
  // as well.)
  const uint32_t unused_bits = LeadingZeroByteBits(groups | 1);
  PROTOZERO_RUNTIME::internal::StoreLittleEndian(
      dst, groups | (0x0080808080808080u >> unused_bits));
  return dst + sizeof(uint64_t) - unused_bits / 8;
}

// Encodes a value of 2^49 or more. |first_eight| has its first eight encoded
// bytes, without the continuation bit of the eighth.
PROTOZERO_ALWAYS_INLINE uint8_t* WriteLongVarIntUnsafe(uint64_t first_eight,
                                                       uint64_t value,
                                                       uint8_t* dst) {
  // Bits 56 to 63 are the ninth byte exactly as it is encoded: bit 63, the
  // only bit of a tenth group, is also the ninth byte's continuation bit.
  using PROTOZERO_RUNTIME::internal::Opaque;
  using PROTOZERO_RUNTIME::internal::StoreLittleEndian;
  const uint64_t ninth = Opaque(value >> 56);
  // One unless |ninth| is zero. A comparison would take more registers.
  const uint64_t has_ninth = Opaque((0 - ninth) >> 63);
  StoreLittleEndian(dst, first_eight | has_ninth << 63);
  const uint64_t tenth = value >> 63;
  StoreLittleEndian(dst + 8, static_cast<uint8_t>(ninth));
  StoreLittleEndian(dst + 9, static_cast<uint8_t>(tenth));
  return dst + 8 + has_ninth + tenth;
}

// Writes a varint that is not short. Never inlined, because it is rare and
// long.
PROTOZERO_NOINLINE inline uint8_t* WriteLongVarIntSlowPath(uint64_t value,
                                                           uint8_t* dst) {
  return WriteLongVarIntUnsafe(
      SpreadSevenBitGroups(value & 0x00ffffffffffffffu) | 0x0080808080808080u,
      value, dst);
}

// Writes a varint where kMaxVarIntEncodedSize bytes are writable; may overwrite
// all of them, whatever the length.
template <typename T>
PROTOZERO_ALWAYS_INLINE uint8_t* WriteVarIntUnsafe(T value, uint8_t* dst) {
  const uint64_t bits = ExtendValueForVarIntSerialization(value);
  // The compiler drops this for types that cannot be as large.
  if (PROTOZERO_UNLIKELY(bits >> 56 != 0))
    return WriteLongVarIntSlowPath(bits, dst);
  return WriteVarInt56Unsafe(bits, dst);
}

// Does the work of WriteVarInt56Unsafe(), |offset| bytes after |pos|, for the
// inline code of setters, which never runs where kInlineEncodingMask is zero. A
// constant takes the portable code, which the compiler can evaluate, unlike the
// instructions of bit_deposit.h.
template <int offset>
PROTOZERO_ALWAYS_INLINE uint8_t* WriteVarInt56Inline(
    uint64_t value,
    uint8_t* pos,
    [[maybe_unused]] VarIntMasks masks = LoadVarIntMasks()) {
#if PROTOZERO_USE_BIT_DEPOSIT
  using namespace PROTOZERO_RUNTIME::internal;
  uint64_t encoded;
  uint32_t last_byte;
  if (PROTOZERO_IS_CONSTANT(value)) {
    const uint64_t groups = SpreadSevenBitGroups(value);
    const uint32_t unused_bits = LeadingZeroByteBits(groups | 1);
    encoded = groups | (0x0080808080808080u >> unused_bits);
    last_byte = 7 - unused_bits / 8;
  } else {
    const uint64_t groups = DepositSevenBitGroups(value, masks);
    // Adding one sets a bit if the value is zero, and carries into no other
    // byte. All bytes below the one that holds the highest bit have
    // continuation bits.
    const uint32_t highest = HighestBit(groups + 1);
    encoded = groups | ContinuationBitsBelow(highest, masks);
    last_byte = highest / 8;
  }
  // One store for both cases: if compilers merge two stores into one, they
  // forget which objects it cannot change.
  StoreLittleEndian(pos + offset, encoded);
  if (PROTOZERO_IS_CONSTANT(value))
    return pos + offset + 1 + last_byte;
  return AddOffset<offset + 1>(pos, last_byte);
#else
  return WriteVarInt56Unsafe(value, pos + offset);
#endif
}

// Returns whether |bits| may be too large for WriteVarInt56Inline().
template <typename T>
PROTOZERO_ALWAYS_INLINE bool MayBeLongVarInt(
    uint64_t bits,
    [[maybe_unused]] VarIntMasks masks) {
#if PROTOZERO_USE_BIT_DEPOSIT
  // The bound is below 2^56, and in a register already.
  if (sizeof(T) == sizeof(uint64_t) && !PROTOZERO_IS_CONSTANT(bits >> 56))
    return bits > masks.continuation_bits;
#endif
  // For sign-extended values, gcc tests the sign instead of eight bits.
  if (std::is_signed<T>::value && sizeof(T) < sizeof(uint64_t))
    return static_cast<int64_t>(bits) < 0;
  return bits >> 56 != 0;
}

// Writes a value that WriteVarInt56Inline() cannot: MayBeLongVarInt() is true.
PROTOZERO_ALWAYS_INLINE uint8_t* WriteLongVarIntInline(
    uint64_t value,
    uint8_t* dst,
    [[maybe_unused]] VarIntMasks masks = LoadVarIntMasks()) {
#if PROTOZERO_USE_BIT_DEPOSIT
  const uint64_t groups =
      PROTOZERO_RUNTIME::internal::DepositSevenBitGroups(value, masks);
  return WriteLongVarIntUnsafe(groups | masks.continuation_bits, value, dst);
#else
  return WriteLongVarIntSlowPath(value, dst);
#endif
}

// Does the work of WriteVarInt56Inline() for any value.
template <int offset = 0>
PROTOZERO_ALWAYS_INLINE uint8_t* WriteVarIntInline(
    uint64_t value,
    uint8_t* pos,
    [[maybe_unused]] VarIntMasks masks = LoadVarIntMasks()) {
#if PROTOZERO_USE_BIT_DEPOSIT
  if (PROTOZERO_UNLIKELY(MayBeLongVarInt<uint64_t>(value, masks)))
    return WriteLongVarIntInline(value, pos + offset, masks);
  return WriteVarInt56Inline<offset>(value, pos, masks);
#else
  return WriteVarIntUnsafe(value, pos + offset);
#endif
}

// Stores the varint of WritePaddedVarInt(). |groups| has the lower eight groups
// of |bits|; groups that do not fit |width| bytes are dropped.
template <size_t width>
PROTOZERO_ALWAYS_INLINE void StorePaddedGroups(uint64_t groups,
                                               uint64_t bits,
                                               uint8_t* dst) {
  static_assert(1 <= width && width <= kMaxVarIntEncodedSize,
                "varints have one to ten bytes");
  constexpr size_t kInWord = width < 8 ? width : 8;
  constexpr size_t kContinued = width > 8 ? 8 : width - 1;
  constexpr uint64_t kContinuation =
      kContinued == 0 ? 0 : 0x8080808080808080 >> (8 * (8 - kContinued));
  uint8_t word[sizeof(uint64_t)];
  PROTOZERO_RUNTIME::internal::StoreLittleEndian(word, groups | kContinuation);
  memcpy(dst, word, kInWord);
  if constexpr (width == 9) {
    dst[8] = static_cast<uint8_t>(bits >> 56 & 0x7f);
  } else if constexpr (width == 10) {
    dst[8] = static_cast<uint8_t>(bits >> 56 | 0x80);
    dst[9] = static_cast<uint8_t>(bits >> 63);
  }
}

// Writes |bits| as a varint of exactly |width| bytes, padded with continuation
// bytes whose groups are zero, in one or two stores; touches no byte after
// them. Bits beyond the 7 * width-th are dropped.
template <size_t width>
PROTOZERO_ALWAYS_INLINE void WritePaddedVarInt(uint64_t bits, uint8_t* dst) {
  constexpr uint64_t kMask = (uint64_t{1} << (7 * (width < 8 ? width : 8))) - 1;
  StorePaddedGroups<width>(SpreadSevenBitGroups(bits & kMask), bits, dst);
}

// Writes the padded varint in place. REQUIRES: kInlineEncodingMask is not zero.
template <size_t width>
PROTOZERO_ALWAYS_INLINE void WritePaddedVarIntInline(uint64_t bits,
                                                     uint8_t* dst) {
#if PROTOZERO_USE_BIT_DEPOSIT
  using namespace PROTOZERO_RUNTIME::internal;
  if (!PROTOZERO_IS_CONSTANT(bits)) {
    return StorePaddedGroups<width>(DepositSevenBitGroups(bits), bits, dst);
  }
#endif
  WritePaddedVarInt<width>(bits, dst);
}

}  // namespace internal

// Writes the varint of |value| at |dst| and returns the byte after it. Touches
// no byte beyond the encoded ones. REQUIRES: VarIntSize() writable bytes.
template <typename T>
inline uint8_t* WriteVarInt(T value, uint8_t* dst) noexcept {
  uint64_t bits = ExtendValueForVarIntSerialization(value);
  while (bits >= 0x80) {
    *dst++ = static_cast<uint8_t>(bits | 0x80);
    bits >>= 7;
  }
  *dst++ = static_cast<uint8_t>(bits);
  return dst;
}

inline constexpr size_t kMessageLengthFieldSize = 4;

// Writes |value| as a varint of exactly |size| bytes, padded with continuation
// bytes whose groups are zero, so that a length can be filled in after the
// bytes that follow it are written. REQUIRES: value < 2^(7 * size).
inline void WriteRedundantVarInt(uint32_t value,
                                 uint8_t* dst,
                                 size_t size = kMessageLengthFieldSize) {
  for (size_t i = 0; i < size; ++i) {
    const uint8_t more = (i + 1 < size) ? 0x80 : 0;
    dst[i] = static_cast<uint8_t>((value & 0x7f) | more);
    value >>= 7;
  }
}

// Reads the varint at |start|. Returns the byte after it, or |start| (and sets
// *out_value to 0) if it does not end before |end| or takes more than ten
// bytes. Bits beyond the 64th are dropped, as every protobuf parser does.
inline const uint8_t* ParseVarInt(const uint8_t* start,
                                  const uint8_t* end,
                                  uint64_t* out_value) {
  uint64_t value = 0;
  uint32_t shift = 0;
  for (const uint8_t* pos = start; pos != end && shift < 70; shift += 7) {
    const uint64_t byte = *pos++;
    value |= (byte & 0x7f) << (shift & 63);
    if (byte < 0x80) {
      *out_value = value;
      return pos;
    }
  }
  *out_value = 0;
  return start;
}

// Parses as ParseVarInt(), without a bounds test per byte if ten bytes remain.
inline const uint8_t* ParseVarIntUnrolled(const uint8_t* start,
                                          const uint8_t* end,
                                          uint64_t* out_value) {
  if (end - start < static_cast<ptrdiff_t>(kMaxVarIntEncodedSize))
    return ParseVarInt(start, end, out_value);
  // Ten bytes can be read here.
  uint64_t value = 0;
  for (uint32_t i = 0; i < kMaxVarIntEncodedSize; ++i) {
    const uint64_t byte = start[i];
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *out_value = value;
      return start + i + 1;
    }
  }
  *out_value = 0;
  return start;
}

// Parses as ParseVarInt(), but tests for the one-byte case inline first.
// Costs a few more bytes of code per call, so it is for tags and lengths, which
// are mostly short.
PROTOZERO_ALWAYS_INLINE const uint8_t* ParseVarIntFast(const uint8_t* start,
                                                       const uint8_t* end,
                                                       uint64_t* out_value) {
  if (PROTOZERO_LIKELY(start != end && *start < 0x80)) {
    *out_value = *start;
    return start + 1;
  }
  return ParseVarIntUnrolled(start, end, out_value);
}

}  // namespace proto_utils
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_VARINT_H_
