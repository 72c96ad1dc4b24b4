// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/bit_deposit.h"

#include "cpu_features.h"

#include "protozero/internal/macros.h"

#if PROTOZERO_USE_BIT_DEPOSIT

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// <cpuid.h> supports only one of the two assembler dialects.
CpuIdRegisters CpuId(unsigned leaf) {
  CpuIdRegisters r;
  __asm__("cpuid"
          : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
          : "0"(leaf), "2"(0));
  return r;
}

// Sets the mask before all constructors of a program that do not ask to be
// among the first, because they may start threads, which write messages.
__attribute__((constructor(101))) PROTOZERO_COLD void SetInlineEncodingMask() {
  kInlineEncodingMask = HasFastBitDeposit(CpuId) ? UINTPTR_MAX : 0;
}

}  // namespace

uintptr_t kInlineEncodingMask = 0;

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // PROTOZERO_USE_BIT_DEPOSIT
