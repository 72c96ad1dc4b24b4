// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_GROWTH_H_
#define INCLUDE_PROTOZERO_INTERNAL_GROWTH_H_

#include <stddef.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Return one of the two: std::min() and std::max() are in <algorithm>, which is
// slow to compile.
constexpr size_t Smaller(size_t a, size_t b) {
  return a < b ? a : b;
}
constexpr size_t Larger(size_t a, size_t b) {
  return a < b ? b : a;
}

// Calls |function|, which puts bytes into a container. Returns false if that
// throws, which it can do only in code that is compiled with exceptions.
template <typename Function>
bool HasMemoryFor(const Function& function) {
#if defined(__cpp_exceptions)
  try {
    function();
  } catch (...) {
    return false;
  }
#else
  function();
#endif
  return true;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_GROWTH_H_
