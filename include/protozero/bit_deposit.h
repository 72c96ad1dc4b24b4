// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_BIT_DEPOSIT_H_
#define INCLUDE_PROTOZERO_BIT_DEPOSIT_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/byte_order.h"
#include "protozero/compiler.h"

// x86 instructions that encode a varint in a third of the instructions
// that portable code takes, without asking for a build that needs them: the
// inline code of the setters uses them, and is entered only where they are
// fast. On other processors all setters take their out-of-line path.
//
// PROTOZERO_USE_BIT_DEPOSIT=0, for a whole program, makes the inline code
// portable: for processors without BMI2, or where `pdep` takes long (AMD before
// Zen 3), a setter then takes about half the time.

#if !defined(PROTOZERO_USE_BIT_DEPOSIT)
#if defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__) && \
    !defined(PROTOZERO_FORCE_BIG_ENDIAN_PATH)
#define PROTOZERO_USE_BIT_DEPOSIT 1
#else
#define PROTOZERO_USE_BIT_DEPOSIT 0
#endif
#endif

namespace protozero::internal {

#if PROTOZERO_USE_BIT_DEPOSIT

// All ones if the functions below may be called, and are fast; zero otherwise,
// and until the program's static initialization has come to it. Not const, and
// so not initialized late: messages may be written before.
extern uintptr_t kInlineEncodingMask;

// The second operands are memory, because a constant of eight bytes is longer
// in code than its address. Hidden: no detour through a table of addresses.
#define PROTOZERO_MASK \
  __attribute__((visibility("hidden"))) inline constexpr uint64_t
PROTOZERO_MASK kSevenBitGroups = 0x7f7f7f7f7f7f7f7f;
PROTOZERO_MASK kContinuationBits = 0x8080808080808080;
PROTOZERO_MASK kTwoTo56 = uint64_t{1} << 56;
#undef PROTOZERO_MASK

// Deals the low bits of |value| out to the bits that are set in |mask|.
PROTOZERO_ALWAYS_INLINE uint64_t DepositBits(uint64_t value,
                                             const uint64_t& mask) {
  uint64_t result;
  __asm__("pdep{q %2, %1, %0| %0, %1, %2}"
          : "=r"(result)
          : "r"(value), "m"(mask));
  return result;
}

// The lowest |count| bits of |value|. REQUIRES: count < 256.
PROTOZERO_ALWAYS_INLINE uint64_t LowBits(const uint64_t& value,
                                         uint32_t count) {
  uint64_t result;
  // Of its operand, it reads the lowest byte.
  __asm__("bzhi{q %q2, %1, %0| %0, %1, %q2}"
          : "=r"(result)
          : "m"(value), "r"(count)
          : "cc");
  return result;
}

// Whether |value| is at least |limit|, in one instruction.
PROTOZERO_ALWAYS_INLINE bool IsAtLeast(uint64_t value, const uint64_t& limit) {
  bool result;
  __asm__("cmp{q %2, %1| %1, %2}" : "=@ccae"(result) : "r"(value), "m"(limit));
  return result;
}

// Which bit is the highest one that is set. REQUIRES: value != 0.
PROTOZERO_ALWAYS_INLINE uint32_t HighestBit(uint64_t value) {
  uint64_t leading_zeros;
  __asm__("lzcnt{q %1, %0| %0, %1}" : "=r"(leading_zeros) : "r"(value) : "cc");
  return static_cast<uint32_t>(leading_zeros) ^ 63;
}

#else

inline constexpr uintptr_t kInlineEncodingMask = UINTPTR_MAX;

#endif  // PROTOZERO_USE_BIT_DEPOSIT

// |base| + |index| + |offset|, of addresses or pointers. Compilers make two
// instructions of it for x86 if they do not know the processor, for on some of
// before 2019 the one takes longer.
template <int offset, typename T>
PROTOZERO_ALWAYS_INLINE T AddOffset(T base, size_t index) {
#if PROTOZERO_USE_BIT_DEPOSIT
  T sum;
  __asm__("lea{q %c3(%1,%2), %0| %0, [%1+%2+%c3]}"
          : "=r"(sum)
          : "r"(base), "r"(index), "i"(offset));
  return sum;
#else
  return base + index + static_cast<size_t>(offset);
#endif
}

}  // namespace protozero::internal

#endif  // INCLUDE_PROTOZERO_BIT_DEPOSIT_H_
