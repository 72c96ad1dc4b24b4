// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_ENUM_VALUES_H_
#define INCLUDE_PROTOZERO_ENUM_VALUES_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A value of an enum as the schema declares it. Generated code has an array of
// them for each enum, in ascending order of the numbers. Several names for one
// number are in the order of the schema.
struct EnumValue {
  int32_t number;
  const char* name;
};

namespace internal {

// Returns the first value with |number|, or null.
template <size_t n>
constexpr const EnumValue* FindEnumValue(const EnumValue (&values)[n],
                                         int32_t number) {
  size_t begin = 0;
  for (size_t count = n; count > 0;) {
    const size_t half = count / 2;
    if (values[begin + half].number < number) {
      begin += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return begin < n && values[begin].number == number ? &values[begin] : nullptr;
}

template <size_t n>
constexpr const char* EnumName(const EnumValue (&values)[n], int32_t number) {
  const EnumValue* value = FindEnumValue(values, number);
  return value != nullptr ? value->name : "PBZERO_UNKNOWN_ENUM_VALUE";
}

// Finds the value with |name|. Returns false, and leaves |value| unchanged, if
// there is none.
template <size_t n, typename EnumType>
constexpr bool ParseEnum(const EnumValue (&values)[n],
                         std::string_view name,
                         EnumType* value) {
  for (const EnumValue& entry : values) {
    if (name == entry.name) {
      *value = static_cast<EnumType>(entry.number);
      return true;
    }
  }
  return false;
}

}  // namespace internal

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_ENUM_VALUES_H_
