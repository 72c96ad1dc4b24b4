// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_COMPILER_H_
#define INCLUDE_PROTOZERO_INTERNAL_COMPILER_H_

#include <stddef.h>

#include <type_traits>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Returns |value|, but the compiler no longer knows anything about it.
template <typename T>
PROTOZERO_ALWAYS_INLINE T Opaque(T value) {
#if defined(__GNUC__) || defined(__clang__)
  __asm__("" : "+r"(value));
#endif
  return value;
}

// Returns |value| as a size_t, which it must fit. If it is one already this
// does not cast, since gcc warns of casts that do nothing (-Wuseless-cast).
template <typename T>
PROTOZERO_ALWAYS_INLINE constexpr size_t ToSize(T value) {
  if constexpr (std::is_same_v<T, size_t>)
    return value;
  else
    return static_cast<size_t>(value);
}

// Prints file, line, condition and advice to stderr, then aborts.
[[noreturn]] PROTOZERO_COLD PROTOZERO_EXPORT void DcheckFailed(
    const char* file,
    int line,
    const char* condition,
    const char* advice);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_COMPILER_H_
