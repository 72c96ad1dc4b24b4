// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOZERO_CPU_FEATURES_H_
#define SRC_PROTOZERO_CPU_FEATURES_H_

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The registers in which the instruction `cpuid` describes an x86 processor.
struct CpuIdRegisters {
  unsigned eax, ebx, ecx, edx;
};

// Returns whether a processor has the instructions of "bit_deposit.h", and they
// are fast. |cpu_id| returns what the processor says for a leaf.
template <typename CpuId>
bool HasFastBitDeposit(const CpuId& cpu_id) {
  // The registers are all zero for a leaf that the processor does not have.
  const auto ask = [&cpu_id](unsigned leaf) -> CpuIdRegisters {
    const unsigned last_leaf = cpu_id(leaf & 0x80000000).eax;
    return leaf <= last_leaf ? cpu_id(leaf) : CpuIdRegisters{};
  };
  constexpr unsigned kBmi2 = 1u << 8;   // leaf 7, ebx
  constexpr unsigned kLzcnt = 1u << 5;  // leaf 0x80000001, ecx
  if (!(ask(7).ebx & kBmi2) || !(ask(0x80000001).ecx & kLzcnt))
    return false;
  // Before Zen 3 (family 0x19), AMD's processors, and Hygon's after them, have
  // pdep in microcode, at up to 250 cycles. The last letters of "AuthenticAMD"
  // and "HygonGenuine" tell them from all others.
  const unsigned vendor = ask(0).ecx;
  if (vendor != 0x444d4163 && vendor != 0x656e6975)
    return true;
  const unsigned version = ask(1).eax;
  const unsigned family = ((version >> 8) & 0xf) + ((version >> 20) & 0xff);
  return family >= 0x19;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_PROTOZERO_CPU_FEATURES_H_
