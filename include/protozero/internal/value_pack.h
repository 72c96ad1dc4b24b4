// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_VALUE_PACK_H_
#define INCLUDE_PROTOZERO_INTERNAL_VALUE_PACK_H_

#include <stddef.h>

#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Values of several types, one after another. It is an aggregate, which
// compilers copy like plain bytes. std::tuple has constructors that test each
// type in many ways: it takes compilers longer than all other work with the
// values.
template <size_t i, typename T>
struct PackedValue {
  T value;
};
template <typename Indices, typename... T>
struct IndexedValues;
template <size_t... i, typename... T>
struct IndexedValues<std::index_sequence<i...>, T...> : PackedValue<i, T>... {};

//   ValuePack<int, bool> pack{{1}, {true}};
//   const bool second = Get<1>(pack);  // true
template <typename... T>
using ValuePack = IndexedValues<std::index_sequence_for<T...>, T...>;

template <size_t i, typename T>
constexpr const T& Get(const PackedValue<i, T>& packed) {
  return packed.value;
}

// A list of types. The type of the sum of two lists is the joined list.
template <typename... T>
struct TypeList {};
template <typename... T, typename... U>
TypeList<T..., U...> operator+(TypeList<T...>, TypeList<U...>);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_VALUE_PACK_H_
