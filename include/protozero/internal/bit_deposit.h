// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_BIT_DEPOSIT_H_
#define INCLUDE_PROTOZERO_INTERNAL_BIT_DEPOSIT_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/byte_order.h"
#include "protozero/internal/compiler.h"

#include "protozero/internal/macros.h"

// x86 instructions that encode a varint in a third of the instructions that
// portable code takes. They need no special build: the inline code of the
// setters uses them, and runs only on processors where they are fast. On other
// processors all setters take their out-of-line path. See
// PROTOZERO_USE_BIT_DEPOSIT.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

#if PROTOZERO_USE_BIT_DEPOSIT

// All ones if the functions below may be called, and are fast; zero otherwise.
// It is set at the beginning of static initialization, and zero before. It is
// not const, and so not initialized late: messages may be written before.
extern PROTOZERO_EXPORT uintptr_t kInlineEncodingMask;

// The operands that the functions need besides the value. Functions that encode
// several values keep them in registers. Compared with operands in memory, that
// saves an instruction and 8 bytes of code a value, and the port for loads.
struct VarIntMasks {
  uint64_t seven_bit_groups;
  // The continuation bits of all bytes but the last.
  uint64_t continuation_bits;
};

// Not const: if compilers knew the values, they would make ten bytes of code
// for each use. So functions load them once, and again after calls. Hidden, so
// that no load goes through a table of addresses.
__attribute__((visibility("hidden"))) inline VarIntMasks kVarIntMasks = {
    0x7f7f7f7f7f7f7f7f, 0x0080808080808080};

PROTOZERO_ALWAYS_INLINE VarIntMasks LoadVarIntMasks() {
  return kVarIntMasks;
}

// Does the work of Opaque(), and uses |masks|. If one side of a branch calls
// this, and the other side an encoder, compilers load the masks before the
// branch, and then once for several such branches.
template <typename T>
PROTOZERO_ALWAYS_INLINE T OpaqueAfter(VarIntMasks masks, T value) {
  __asm__(""
          : "+r"(value)
          : "r"(masks.seven_bit_groups), "r"(masks.continuation_bits));
  return value;
}

// Deals the low 56 bits of |value| out to eight groups of seven bits, one a
// byte.
PROTOZERO_ALWAYS_INLINE uint64_t
DepositSevenBitGroups(uint64_t value, VarIntMasks masks = LoadVarIntMasks()) {
  uint64_t groups;
  __asm__("pdep{q %2, %1, %0| %0, %1, %2}"
          : "=r"(groups)
          : "r"(value), "r"(masks.seven_bit_groups));
  return groups;
}

// Does the reverse: puts the groups together again.
PROTOZERO_ALWAYS_INLINE uint64_t
ExtractSevenBitGroups(uint64_t groups, VarIntMasks masks = LoadVarIntMasks()) {
  uint64_t value;
  __asm__("pext{q %2, %1, %0| %0, %1, %2}"
          : "=r"(value)
          : "r"(groups), "r"(masks.seven_bit_groups));
  return value;
}

// Returns the top bit of each byte that ends below the |count|-th bit, except
// for the last byte. REQUIRES: count < 256.
PROTOZERO_ALWAYS_INLINE uint64_t
ContinuationBitsBelow(uint32_t count, VarIntMasks masks = LoadVarIntMasks()) {
  uint64_t result;
  // The instruction reads only the lowest byte of |count|.
  __asm__("bzhi{q %q1, %2, %0| %0, %2, %q1}"
          : "=r"(result)
          : "r"(count), "r"(masks.continuation_bits)
          : "cc");
  return result;
}

// Returns the number of the highest bit that is set. REQUIRES: value != 0.
PROTOZERO_ALWAYS_INLINE uint32_t HighestBit(uint64_t value) {
  uint64_t leading_zeros;
  __asm__("lzcnt{q %1, %0| %0, %1}" : "=r"(leading_zeros) : "r"(value) : "cc");
  return static_cast<uint32_t>(leading_zeros) ^ 63;
}

#else

inline constexpr uintptr_t kInlineEncodingMask = UINTPTR_MAX;

struct VarIntMasks {};
inline VarIntMasks LoadVarIntMasks() {
  return {};
}
template <typename T>
PROTOZERO_ALWAYS_INLINE T OpaqueAfter(VarIntMasks, T value) {
  return Opaque(value);
}

#endif  // PROTOZERO_USE_BIT_DEPOSIT

// Asks for the cache line |offset| bytes after |base|, in order to write to
// it. Otherwise a store to a line that another processor has would wait, and
// all stores after it. Compilers ask only for reading it, unless the build
// says that the processor has this instruction. All processors that the
// functions above may be called on have it, or take it for a `nop`. Any address
// will do. REQUIRES: kInlineEncodingMask is not zero.
template <int offset>
PROTOZERO_ALWAYS_INLINE void PrefetchForWriting(const uint8_t* base) {
#if PROTOZERO_USE_BIT_DEPOSIT
  __asm__ volatile("prefetchw {%c1(%0)|byte ptr [%0+%c1]}"
                   :
                   : "r"(base), "i"(offset));
#elif defined(__GNUC__)
  __builtin_prefetch(base + offset, 1);
#else
  static_cast<void>(base);
#endif
}

// Returns |base| + |index| + |offset|, for addresses or pointers, in one
// instruction. Compilers make two of it for x86 if they do not know the
// processor, because the one takes longer on some processors from before 2019.
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

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_BIT_DEPOSIT_H_
