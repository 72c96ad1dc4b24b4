// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The macros of the library's own code. Every file that needs them includes
// this one after all others. The headers that users include undefine them at
// their end, with undef_macros.h, so that users see no macro.
// tools/check_headers checks that order. This file must be read again after the
// macros are undefined, so its guard is one of the macros.
#ifndef PROTOZERO_ABI_BEGIN

#include "protozero/config.h"

// The namespace of our symbols. Users write `protozero::Message`, but the
// symbols are in `protozero::pz_0_1`. Perfetto's SDK and Mapbox's library have
// a namespace `protozero`, too, and two versions of this library may be in one
// program. If two things had one name, the linker would report it, or silently
// call one for the other.
//
// The name contains the release, since every release may change the ABI, and
// says whether setters are in place.
#if PROTOZERO_INLINE_SETTERS
#define PROTOZERO_ABI_NAMESPACE pz_0_1_in_place
#else
#define PROTOZERO_ABI_NAMESPACE pz_0_1
#endif

// The full name of that namespace, which works wherever something else is
// called `protozero` or `internal`, too.
#define PROTOZERO_RUNTIME ::protozero::PROTOZERO_ABI_NAMESPACE

// These two enclose all that the library declares in `protozero`.
#if !defined(PROTOZERO_NAMESPACE)
#define PROTOZERO_ABI_BEGIN inline namespace PROTOZERO_ABI_NAMESPACE {
#else
#define PROTOZERO_ABI_BEGIN namespace PROTOZERO_ABI_NAMESPACE {
namespace protozero {
PROTOZERO_ABI_BEGIN
}
}  // namespace protozero
namespace PROTOZERO_NAMESPACE = ::protozero::PROTOZERO_ABI_NAMESPACE;
#endif
#define PROTOZERO_ABI_END }

// The library's objects hide their symbols: a shared library or program that
// links them exports none of them. If the library itself is shared, it exports
// the symbols with PROTOZERO_EXPORT, which src/protozero/exports.txt lists:
// those that users call, and those that inline code calls for them.
#if PROTOZERO_SHARED && defined(__GNUC__)
#define PROTOZERO_EXPORT __attribute__((visibility("default")))
#else
#define PROTOZERO_EXPORT
#endif

// A symbol that each shared library has of its own if the library is linked
// into it: a call from one never arrives in another one, though the names are
// the same.
#if defined(__GNUC__)
#define PROTOZERO_HIDDEN __attribute__((visibility("hidden")))
#else
#define PROTOZERO_HIDDEN
#endif

// The few compiler hints that the runtime needs for its speed.

#if defined(__GNUC__) || defined(__clang__)
#define PROTOZERO_LIKELY(x) __builtin_expect(!!(x), 1)
#if defined(__clang__)
#define PROTOZERO_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else  // gcc takes __builtin_expect() for one time in ten, and would not
       // optimize the rare side for size.
#define PROTOZERO_UNLIKELY(x) \
  __builtin_expect_with_probability(!!(x), 0, 0.9999)
#endif
#define PROTOZERO_ALWAYS_INLINE inline __attribute__((always_inline))
// The place of this one is after the parameters of a lambda.
#define PROTOZERO_INLINE_LAMBDA __attribute__((always_inline))
#define PROTOZERO_NOINLINE __attribute__((noinline))
// True if the compiler knows |x|, which it tests after inlining.
#define PROTOZERO_IS_CONSTANT(x) __builtin_constant_p(x)
// Out of line, small, and away from hot code. Functions that run at a chunk
// boundary, after an error or once a trace must not take room in the
// instruction cache.
#if defined(__clang__)
#define PROTOZERO_COLD __attribute__((noinline, cold, minsize))
#else  // For gcc, cold implies optimizing for size.
#define PROTOZERO_COLD __attribute__((noinline, cold))
#endif
#else
#define PROTOZERO_LIKELY(x) (!!(x))
#define PROTOZERO_UNLIKELY(x) (!!(x))
#define PROTOZERO_ALWAYS_INLINE inline
#define PROTOZERO_INLINE_LAMBDA
#define PROTOZERO_NOINLINE
#define PROTOZERO_IS_CONSTANT(x) false
#define PROTOZERO_COLD
#endif

// The attribute of generated setters, except for packed fields and maps.
// Without it, a compiler would inline a function depending on its size, and on
// how much inlining has made the file grow before: the same setter would be a
// call in one file and not in another.
#if defined(__GNUC__) && defined(__OPTIMIZE__) && PROTOZERO_INLINE_SETTERS
#define PROTOZERO_HOT __attribute__((always_inline))
#else
#define PROTOZERO_HOT
#endif

// PROTOZERO_DCHECK(condition, "what to do about it") stops the program on a
// caller's mistake, where PROTOZERO_DCHECK_IS_ON. Needs internal/compiler.h.
#if PROTOZERO_DCHECK_IS_ON
#define PROTOZERO_DCHECK(condition, advice)                                 \
  (PROTOZERO_LIKELY(condition) ? static_cast<void>(0)                       \
                               : PROTOZERO_RUNTIME::internal::DcheckFailed( \
                                     __FILE__, __LINE__, #condition, advice))
#else
#define PROTOZERO_DCHECK(condition, advice) \
  static_cast<void>(sizeof((condition) ? 1 : 0))
#endif

#endif  // PROTOZERO_ABI_BEGIN
