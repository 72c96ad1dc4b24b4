// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The macros of the library's own code. Every file that needs them includes
// this one behind all others, since the headers that users include undefine
// them at their end, with undef_macros.h: no macro is visible to users.
// tools/check_headers looks at that order. It is read again wherever they are
// undefined, so this guard is not one of the usual kind.
#ifndef PROTOZERO_ABI_BEGIN

#include "protozero/config.h"

// The namespace of our symbols. Users write `protozero::Message`; the symbols
// are those of `protozero::pz_0_1::Message`: Perfetto's SDK and Mapbox's
// library have a namespace `protozero`, too, and two versions of this library
// may be in one program. If two things had one name, the linker would report
// it, or silently call one for the other.
//
// The name is that of the release, for every release may change the ABI, and of
// whether setters are in place.
#if PROTOZERO_INLINE_SETTERS
#define PROTOZERO_ABI_NAMESPACE pz_0_1_in_place
#else
#define PROTOZERO_ABI_NAMESPACE pz_0_1
#endif

// From anywhere, whatever else is called `protozero` or `internal` there.
#define PROTOZERO_RUNTIME ::protozero::PROTOZERO_ABI_NAMESPACE

// What the library declares in `protozero` stands between these two.
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

// The library's objects hide their symbols, so that those of a shared library
// or a program that they are linked into are of no concern to others. A shared
// library of its own shows what stands behind PROTOZERO_EXPORT, which
// src/protozero/exports.txt lists: what users call, and what inline code calls
// for them.
#if PROTOZERO_SHARED && defined(__GNUC__)
#define PROTOZERO_EXPORT __attribute__((visibility("default")))
#else
#define PROTOZERO_EXPORT
#endif

// What each shared library that is linked with the library has of its own: a
// call from one never arrives in another one, though the names are the same.
#if defined(__GNUC__)
#define PROTOZERO_HIDDEN __attribute__((visibility("hidden")))
#else
#define PROTOZERO_HIDDEN
#endif

// The few compiler hints the runtime depends on for its speed.

#if defined(__GNUC__) || defined(__clang__)
#define PROTOZERO_LIKELY(x) __builtin_expect(!!(x), 1)
#if defined(__clang__)
#define PROTOZERO_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else  // For gcc, that is one time in ten: too often to be made small.
#define PROTOZERO_UNLIKELY(x) \
  __builtin_expect_with_probability(!!(x), 0, 0.9999)
#endif
#define PROTOZERO_ALWAYS_INLINE inline __attribute__((always_inline))
// Behind the parameters of a lambda.
#define PROTOZERO_INLINE_LAMBDA __attribute__((always_inline))
#define PROTOZERO_NOINLINE __attribute__((noinline))
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
#define PROTOZERO_INLINE_LAMBDA
#define PROTOZERO_NOINLINE
#define PROTOZERO_IS_CONSTANT(x) false
#define PROTOZERO_COLD
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
