// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_STACK_WALK_H_
#define SRC_TRACING_SCHEDULING_STACK_WALK_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The limit of a stack's addresses, which the kernel has, too.
constexpr uint32_t kMaxStackDepth = 127;

// Follows the frame pointers of the thread that a signal has interrupted, in
// the signal's handler. A function that uses the register for something else
// leaves any number in it. So frames only go up, not beyond the end of the
// thread's stack, and the kernel is asked whether a page can be read before it
// is. Async-signal-safe.
class StackWalk {
 public:
  // Returns whether the processor's frames are known.
  static bool IsPossible();

  // Takes the handler's third argument, and the end of the main thread's stack.
  StackWalk(const void* context, uintptr_t main_stack_end);

  // Returns the next address, the innermost first, or 0 at the end.
  uintptr_t Next();

 private:
  bool CanRead(uintptr_t address);

  uintptr_t address_ = 0;
  uintptr_t frame_ = 0;
  // The lowest place where the next frame may be, and the end of the stack.
  uintptr_t begin_ = 0;
  uintptr_t end_ = 0;
  // The page that was last found readable.
  uintptr_t readable_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_STACK_WALK_H_
