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

// One operand of each is memory, because a constant of eight bytes is longer in
// code than its address. Hidden: no detour through a table of addresses.
#define PROTOZERO_MASK \
  __attribute__((visibility("hidden"))) inline constexpr uint64_t
PROTOZERO_MASK kSevenBitGroups = 0x7f7f7f7f7f7f7f7f;
PROTOZERO_MASK kContinuationBits = 0x8080808080808080;
PROTOZERO_MASK kTwoTo56 = uint64_t{1} << 56;
#undef PROTOZERO_MASK

// Such a constant as the operand %2 of an instruction: how it is written in the
// two assembler dialects, and what it is. To compilers, "m" means that the
// instruction may read any memory, so that all stores before it have to be
// made.
#if !defined(__code_model_large__)
#define PROTOZERO_ATT_CONSTANT "%c2(%%rip)"
#define PROTOZERO_INTEL_CONSTANT "[rip + %c2]"
#define PROTOZERO_CONSTANT(name) "i"(&(name))
#else
#define PROTOZERO_ATT_CONSTANT "%2"
#define PROTOZERO_INTEL_CONSTANT "%2"
#define PROTOZERO_CONSTANT(name) "m"(name)
#endif

// Deals the low 56 bits of |value| out to eight groups of seven bits, one a
// byte.
PROTOZERO_ALWAYS_INLINE uint64_t DepositSevenBitGroups(uint64_t value) {
  uint64_t groups;
  __asm__("pdep{q " PROTOZERO_ATT_CONSTANT
          ", %1, %0| %0, %1, " PROTOZERO_INTEL_CONSTANT "}"
          : "=r"(groups)
          : "r"(value), PROTOZERO_CONSTANT(kSevenBitGroups));
  return groups;
}

// The reverse: puts the groups together again.
PROTOZERO_ALWAYS_INLINE uint64_t ExtractSevenBitGroups(uint64_t groups) {
  uint64_t value;
  __asm__("pext{q " PROTOZERO_ATT_CONSTANT
          ", %1, %0| %0, %1, " PROTOZERO_INTEL_CONSTANT "}"
          : "=r"(value)
          : "r"(groups), PROTOZERO_CONSTANT(kSevenBitGroups));
  return value;
}

// The top bit of each byte that ends below the |count|-th bit.
// REQUIRES: count < 256.
PROTOZERO_ALWAYS_INLINE uint64_t ContinuationBitsBelow(uint32_t count) {
  uint64_t result;
  // Of its operand, it reads the lowest byte.
  __asm__("bzhi{q %q1, " PROTOZERO_ATT_CONSTANT
          ", %0| %0, " PROTOZERO_INTEL_CONSTANT ", %q1}"
          : "=r"(result)
          : "r"(count), PROTOZERO_CONSTANT(kContinuationBits)
          : "cc");
  return result;
}

// Whether |value| has more than 56 bits, in one instruction.
PROTOZERO_ALWAYS_INLINE bool IsAtLeastTwoTo56(uint64_t value) {
  bool result;
  __asm__("cmp{q " PROTOZERO_ATT_CONSTANT ", %1| %1, " PROTOZERO_INTEL_CONSTANT
          "}"
          : "=@ccae"(result)
          : "r"(value), PROTOZERO_CONSTANT(kTwoTo56));
  return result;
}

#undef PROTOZERO_ATT_CONSTANT
#undef PROTOZERO_INTEL_CONSTANT
#undef PROTOZERO_CONSTANT

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
