// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_KERNEL_REFUSAL_H_
#define SRC_TRACING_SCHEDULING_KERNEL_REFUSAL_H_

#include <stdint.h>
#include <sys/types.h>

#include <string>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The facts by which a refusal of perf_event_open() is explained.
struct KernelRefusal {
  // The errno. ENOMEM stands for a lack of memory that may be locked.
  int error = 0;
  // The process whose threads were asked for; 0 for this one.
  int32_t pid = 0;
  // The value of kernel.perf_event_paranoid.
  int paranoid = 2;
  // The users of this process and of the other one.
  uid_t own_user = 0;
  uid_t other_user = 0;
  bool is_in_container = false;
};

// Returns the reason, and the least that allows it.
std::string RefusalText(const KernelRefusal& refusal);

// Returns the same of the current state of the system.
std::string WhyRefused(int32_t pid, int error);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_KERNEL_REFUSAL_H_
