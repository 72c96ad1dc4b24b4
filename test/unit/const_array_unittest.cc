// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/const_array.h"

#include <stdint.h>

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace protozero {
namespace {

// Takes an array as generated setters do.
size_t SizeOf(ConstArray<int32_t> array) {
  return array.size;
}

TEST(ConstArrayTest, ConvertsFromContiguousElementsWithoutCopying) {
  const std::vector<int32_t> vector{1, 2, 3};
  const ConstArray<int32_t> of_vector = vector;
  EXPECT_EQ(of_vector.data, vector.data());
  EXPECT_EQ(of_vector.size, 3u);

  std::array<int32_t, 2> array{};
  const ConstArray<int32_t> of_array = array;
  EXPECT_EQ(of_array.data, array.data());
  EXPECT_EQ(of_array.size, 2u);

  const int32_t c_array[] = {1, 2, 3, 4};
  const ConstArray<int32_t> of_c_array = c_array;
  EXPECT_EQ(of_c_array.data, c_array);
  EXPECT_EQ(of_c_array.size, 4u);

  const ConstArray<int32_t> of_pointer(c_array, 2);
  EXPECT_EQ(of_pointer.size, 2u);

  EXPECT_EQ(SizeOf(std::vector<int32_t>(7)), 7u);
  EXPECT_EQ(SizeOf(std::vector<int32_t>()), 0u);
}

TEST(ConstArrayTest, IsConstant) {
  static constexpr std::array<int64_t, 3> kValues{1, 2, 3};
  constexpr ConstArray<int64_t> kArray = kValues;
  static_assert(kArray.size == 3 && kArray.data[2] == 3);
}

template <typename Range, typename T>
constexpr bool kConverts =
    std::is_convertible<const Range&, ConstArray<T>>::value;

// Elements of another type would be read with the wrong type.
static_assert(kConverts<std::vector<float>, float>);
static_assert(!kConverts<std::vector<double>, float>);
static_assert(!kConverts<std::vector<uint32_t>, int32_t>);
static_assert(!kConverts<std::vector<int64_t>, int32_t>);
static_assert(!kConverts<std::vector<bool>, bool>);
static_assert(kConverts<std::array<bool, 2>, bool>);
static_assert(!kConverts<std::string, uint8_t>);
static_assert(!kConverts<int32_t, int32_t>);
static_assert(!kConverts<const int32_t*, int32_t>);
static_assert(std::is_trivially_copyable<ConstArray<double>>::value);

}  // namespace
}  // namespace protozero
