// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/stack_walk.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The smallest size of pages.
constexpr uintptr_t kPage = 4096;
// The limit of a stack that is neither the main thread's nor below the thread's
// own data, where the C library puts stacks: a coroutine's, for example.
constexpr uintptr_t kOtherStack = uintptr_t{256} << 10;
// The size from which on a distance is not that of a stack.
constexpr uintptr_t kMaxStack = uintptr_t{1} << 30;

struct Registers {
  uintptr_t address = 0;
  uintptr_t frame = 0;
  uintptr_t stack = 0;
};

Registers RegistersOf([[maybe_unused]] const void* context) {
  Registers registers;
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#endif
#if defined(__x86_64__)
  registers.address = static_cast<uintptr_t>(machine.gregs[REG_RIP]);
  registers.frame = static_cast<uintptr_t>(machine.gregs[REG_RBP]);
  registers.stack = static_cast<uintptr_t>(machine.gregs[REG_RSP]);
#elif defined(__i386__)
  registers.address = static_cast<uintptr_t>(machine.gregs[REG_EIP]);
  registers.frame = static_cast<uintptr_t>(machine.gregs[REG_EBP]);
  registers.stack = static_cast<uintptr_t>(machine.gregs[REG_ESP]);
#elif defined(__aarch64__)
  registers.address = static_cast<uintptr_t>(machine.pc);
  registers.frame = static_cast<uintptr_t>(machine.regs[29]);
  registers.stack = static_cast<uintptr_t>(machine.sp);
#endif
  return registers;
}

// Returns the end of the stack in which |stack| is.
uintptr_t EndOfStack(uintptr_t stack, uintptr_t main_stack_end) {
  if (main_stack_end - stack < kMaxStack)
    return main_stack_end;
  const auto own_data = reinterpret_cast<uintptr_t>(
      reinterpret_cast<const void*>(pthread_self()));
  return own_data - stack < kMaxStack ? own_data : stack + kOtherStack;
}

// Reads a word, which sanitizers know nothing of.
#if defined(__clang__)
__attribute__((no_sanitize("address", "memory", "thread", "undefined")))
#else
__attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif
uintptr_t
ReadWord(uintptr_t address) {
  return *reinterpret_cast<const volatile uintptr_t*>(address);
}

}  // namespace

bool StackWalk::IsPossible() {
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

StackWalk::StackWalk(const void* context, uintptr_t main_stack_end) {
  const Registers registers = RegistersOf(context);
  address_ = registers.address;
  frame_ = registers.frame;
  begin_ = registers.stack;
  end_ = EndOfStack(registers.stack, main_stack_end);
}

bool StackWalk::CanRead(uintptr_t address) {
  const uintptr_t page = address / kPage;
  if (page == readable_)
    return true;
  // A signal mask is read before anything else is looked at, and -1 changes
  // none.
  constexpr size_t kMaskSize = 8;
  const long result =
      syscall(SYS_rt_sigprocmask, -1L, page * kPage, nullptr, kMaskSize);
  if (result == 0 || errno != EINVAL)
    return false;
  readable_ = page;
  return true;
}

uintptr_t StackWalk::Next() {
  // Each frame begins with the caller's, followed by the address there.
  constexpr uintptr_t kWord = sizeof(uintptr_t);
  const uintptr_t address = address_;
  address_ = 0;
  if (address == 0 || frame_ % kWord != 0 || frame_ < begin_ ||
      frame_ >= end_ || end_ - frame_ < 2 * kWord || !CanRead(frame_) ||
      !CanRead(frame_ + kWord)) {
    return address;
  }
  begin_ = frame_ + 2 * kWord;
  address_ = ReadWord(frame_ + kWord);
  frame_ = ReadWord(frame_);
  return address;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
