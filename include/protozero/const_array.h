// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_CONST_ARRAY_H_
#define INCLUDE_PROTOZERO_CONST_ARRAY_H_

#include <stddef.h>

#include <type_traits>
#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A view of elements that it does not own, one after the other in memory, for
// the setter of a packed field. Arrays, and containers whose data() points to
// elements of exactly type T, convert to it. Nothing is copied, so the elements
// must outlive the view. (std::vector<bool> has no such elements.)
template <typename T>
struct ConstArray {
  constexpr ConstArray(const T* d, size_t n) : data(d), size(n) {}

  // Views a whole array.
  template <size_t n>
  constexpr ConstArray(const T (&array)[n])  // NOLINT: a view, implicit.
      : data(array), size(n) {}

  // Views a container, such as std::vector and std::string.
  template <typename Range,
            typename Element = std::remove_cv_t<std::remove_pointer_t<
                decltype(std::declval<const Range&>().data())>>,
            typename = std::enable_if_t<std::is_same<Element, T>::value>>
  constexpr ConstArray(const Range& range)  // NOLINT: a view, implicit.
      : data(range.data()), size(range.size()) {}

  // The first element, and the number of elements.
  const T* data;
  size_t size;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_CONST_ARRAY_H_
