// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_COMPILER_H_
#define INCLUDE_PROTOZERO_INTERNAL_COMPILER_H_

#include "protozero/internal/namespace.h"

// The few compiler hints the runtime depends on for its speed, and its one
// family of checks. Nothing here changes a layout: objects compiled with and
// without NDEBUG can be linked together.

#if defined(__GNUC__) || defined(__clang__)
#define PROTOZERO_LIKELY(x) __builtin_expect(!!(x), 1)
#if defined(__clang__)
#define PROTOZERO_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else  // For gcc, that is one time in ten: too often to be made small.
#define PROTOZERO_UNLIKELY(x) \
  __builtin_expect_with_probability(!!(x), 0, 0.9999)
#endif
#define PROTOZERO_ALWAYS_INLINE inline __attribute__((always_inline))
#define PROTOZERO_NOINLINE __attribute__((noinline))
// For a function of short loops: how long they take depends on which of their
// instructions share a cache line with which others, and should not depend on
// the code in front of them. With clang, half a line is as good.
#if defined(__clang__)
#define PROTOZERO_LOOPS_ALIGNED __attribute__((aligned(32)))
#else
#define PROTOZERO_LOOPS_ALIGNED __attribute__((aligned(64)))
#endif
// Whether the compiler knows |x|, which it does once it has inlined what it
// can.
#define PROTOZERO_IS_CONSTANT(x) __builtin_constant_p(x)
// Out of line, small, and moved away from hot code: what runs at a chunk
// boundary, after an error or once a trace must not take room in the
// instruction cache.
#if defined(__clang__)
#define PROTOZERO_COLD __attribute__((noinline, cold, minsize))
#else  // For gcc, cold implies that size counts.
#define PROTOZERO_COLD __attribute__((noinline, cold))
#endif
#else
#define PROTOZERO_LIKELY(x) (!!(x))
#define PROTOZERO_UNLIKELY(x) (!!(x))
#define PROTOZERO_ALWAYS_INLINE inline
#define PROTOZERO_NOINLINE
#define PROTOZERO_LOOPS_ALIGNED
#define PROTOZERO_IS_CONSTANT(x) false
#define PROTOZERO_COLD
#endif

// For what inline code seldom calls: a function, defined in a header, that must
// not throw. Where the compiler can, it leaves alone all registers but r11 and
// those of vectors, so that what the caller has in registers stays there, and
// no code is needed to bring it back; elsewhere it is part of the caller.
// Hidden: caller and callee have the same compiler, and the dynamic linker,
// which knows nothing of this, does not come between them.
#if defined(__clang__) && defined(__x86_64__) && defined(__ELF__)
#define PROTOZERO_HAS_PRESERVE_MOST 1
#define PROTOZERO_SELDOM_CALLED \
  __attribute__((preserve_most, noinline, visibility("hidden"))) inline
#else
#define PROTOZERO_HAS_PRESERVE_MOST 0
#define PROTOZERO_SELDOM_CALLED PROTOZERO_ALWAYS_INLINE
#endif

// In front of the generated setters but those of packed fields and maps.
// Whether a compiler inlines a function depends on how large it is, and on how
// much the functions before it have made the file grow: the same setter would
// be a call in one file and not in another.
#if defined(__GNUC__) && defined(__OPTIMIZE__) && PROTOZERO_INLINE_SETTERS
#define PROTOZERO_HOT __attribute__((always_inline))
#else
#define PROTOZERO_HOT
#endif

// PROTOZERO_DCHECK(condition, "what to do about it") stops the program on a
// caller's mistake. On by default in builds without NDEBUG; define
// PROTOZERO_DCHECK_IS_ON to 0 or 1 to choose. Where it is off, the runtime
// still tolerates the mistake: nothing outside of the buffers is touched, and
// what is written remains protobuf. Comments say what happens to the write.
#if !defined(PROTOZERO_DCHECK_IS_ON)
#if defined(NDEBUG)
#define PROTOZERO_DCHECK_IS_ON 0
#else
#define PROTOZERO_DCHECK_IS_ON 1
#endif
#endif

#if PROTOZERO_DCHECK_IS_ON
#define PROTOZERO_DCHECK(condition, advice)                                 \
  (PROTOZERO_LIKELY(condition) ? static_cast<void>(0)                       \
                               : PROTOZERO_RUNTIME::internal::DcheckFailed( \
                                     __FILE__, __LINE__, #condition, advice))
#else
#define PROTOZERO_DCHECK(condition, advice) \
  static_cast<void>(sizeof((condition) ? 1 : 0))
#endif

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// |value|, of which the compiler knows nothing any more.
template <typename T>
PROTOZERO_ALWAYS_INLINE T Opaque(T value) {
#if defined(__GNUC__) || defined(__clang__)
  __asm__("" : "+r"(value));
#endif
  return value;
}

// *dst = value, in a move of its own: of neighbours, gcc makes a vector first,
// in twice as many instructions.
template <typename T>
PROTOZERO_ALWAYS_INLINE void StoreAlone(T* dst, T value) {
  *const_cast<volatile T*>(dst) = value;
}

// Prints where, which condition and the advice to stderr, then aborts.
[[noreturn]] PROTOZERO_COLD PROTOZERO_EXPORT void DcheckFailed(
    const char* file,
    int line,
    const char* condition,
    const char* advice);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_COMPILER_H_
