// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_BYTE_ORDER_H_
#define INCLUDE_PROTOZERO_INTERNAL_BYTE_ORDER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <new>
#include <type_traits>

#include "protozero/internal/macros.h"

// Unaligned little-endian loads and stores: protobuf's fixed-width types, and
// every multi-byte store of the encoder, are little-endian on every machine.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// PROTOZERO_FORCE_BIG_ENDIAN_PATH lets a little-endian machine test the code
// that big-endian ones run; both produce the same bytes.
#if defined(PROTOZERO_FORCE_BIG_ENDIAN_PATH) ||                  \
    (defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__) && \
     __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
inline constexpr bool kCopyIsLittleEndian = false;
#else
inline constexpr bool kCopyIsLittleEndian = true;
#endif

// The type of words that StoreLittleEndian() writes to a buffer. No other
// object has this type, and it is no character type. So compilers know that
// such a store changes neither a message nor a setter's argument. After
// memcpy(), or a store of a byte, they would load these again.
#if defined(__GNUC__) || defined(__clang__)
template <typename T>
struct StreamWord {
  enum class Bits : T {};
  struct __attribute__((packed)) Stored {
    explicit Stored(T value) : bits{value} {}
    Bits bits;
  };
};
#endif

// Writes the sizeof(T) bytes of |value| at |dst|, as they are.
template <typename T>
inline void StoreWord(uint8_t* dst, T value) {
#if defined(__GNUC__) || defined(__clang__)
  new (static_cast<void*>(dst)) typename StreamWord<T>::Stored(value);
#else
  memcpy(dst, &value, sizeof(T));
#endif
}

// Reads the sizeof(T) bytes at |src|, as they are.
template <typename T>
inline T LoadWord(const uint8_t* src) {
  T value;
  memcpy(&value, src, sizeof(T));
  return value;
}

// Writes the sizeof(T) bytes of |value| at |dst|, lowest byte first.
template <typename T>
inline void StoreLittleEndian(uint8_t* dst, T value) {
  static_assert(std::is_unsigned<T>::value, "bit patterns only");
  if constexpr (kCopyIsLittleEndian) {
    StoreWord(dst, value);
  } else {
    for (size_t i = 0; i < sizeof(T); ++i)
      dst[i] = static_cast<uint8_t>(value >> (8 * i));
  }
}

// Reads sizeof(T) bytes at |src|, lowest byte first.
template <typename T>
inline T LoadLittleEndian(const uint8_t* src) {
  static_assert(std::is_unsigned<T>::value, "bit patterns only");
  if constexpr (kCopyIsLittleEndian) {
    return LoadWord<T>(src);
  } else {
    T value{};
    for (size_t i = 0; i < sizeof(T); ++i)
      value = static_cast<T>(value | (static_cast<T>(src[i]) << (8 * i)));
    return value;
  }
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_BYTE_ORDER_H_
