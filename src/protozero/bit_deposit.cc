// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/bit_deposit.h"

#include "protozero/internal/macros.h"

#if PROTOZERO_USE_BIT_DEPOSIT

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The processor's description of itself; all zero for a leaf that it does not
// have. <cpuid.h> supports only one of the two assembler dialects.
struct CpuId {
  explicit CpuId(unsigned leaf) {
    Ask(leaf & 0x80000000);
    if (eax >= leaf) {
      Ask(leaf);
    } else {
      eax = ebx = ecx = edx = 0;
    }
  }

  void Ask(unsigned leaf) {
    __asm__("cpuid"
            : "=a"(eax), "=b"(ebx), "=c"(ecx), "=d"(edx)
            : "0"(leaf), "2"(0));
  }

  unsigned eax, ebx, ecx, edx;
};

PROTOZERO_COLD bool DetectFastBitDeposit() {
  constexpr unsigned kBmi2 = 1u << 8;   // leaf 7, ebx
  constexpr unsigned kLzcnt = 1u << 5;  // leaf 0x80000001, ecx
  if (!(CpuId(7).ebx & kBmi2) || !(CpuId(0x80000001).ecx & kLzcnt))
    return false;
  // Before Zen 3 (family 0x19), AMD's processors, and Hygon's after them, have
  // pdep in microcode, at up to 250 cycles. The last letters of "AuthenticAMD"
  // and "HygonGenuine" tell them from all others.
  const unsigned vendor = CpuId(0).ecx;
  if (vendor != 0x444d4163 && vendor != 0x656e6975)
    return true;
  const unsigned version = CpuId(1).eax;
  const unsigned family = ((version >> 8) & 0xf) + ((version >> 20) & 0xff);
  return family >= 0x19;
}

// Sets the mask before all constructors of a program that do not ask to be
// among the first, because they may start threads, which write messages.
__attribute__((constructor(101))) PROTOZERO_COLD void SetInlineEncodingMask() {
  kInlineEncodingMask = DetectFastBitDeposit() ? UINTPTR_MAX : 0;
}

}  // namespace

uintptr_t kInlineEncodingMask = 0;

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // PROTOZERO_USE_BIT_DEPOSIT
