// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/enum_values.h"

#include <stdint.h>

#include <string_view>

#include <gtest/gtest.h>

namespace protozero {
namespace {

constexpr EnumValue kValues[] = {
    {INT32_MIN, "LOWEST"}, {-1, "MINUS_ONE"}, {0, "ZERO"},
    {0, "NOTHING"},        {7, "SEVEN"},      {INT32_MAX, "HIGHEST"},
};
constexpr EnumValue kOnlyOne[] = {{3, "THREE"}};

TEST(EnumValuesTest, FindsEachNumber) {
  for (const EnumValue& value : kValues) {
    const EnumValue* found = internal::FindEnumValue(kValues, value.number);
    ASSERT_NE(found, nullptr) << value.name;
    EXPECT_EQ(found->number, value.number);
  }
  for (const int32_t number : {INT32_MIN + 1, -2, 1, 6, 8, INT32_MAX - 1})
    EXPECT_EQ(internal::FindEnumValue(kValues, number), nullptr) << number;
  EXPECT_NE(internal::FindEnumValue(kOnlyOne, 3), nullptr);
  EXPECT_EQ(internal::FindEnumValue(kOnlyOne, 2), nullptr);
  EXPECT_EQ(internal::FindEnumValue(kOnlyOne, 4), nullptr);
}

TEST(EnumValuesTest, NameIsTheFirstOfSeveral) {
  EXPECT_STREQ(internal::EnumName(kValues, 0), "ZERO");
  EXPECT_STREQ(internal::EnumName(kValues, INT32_MAX), "HIGHEST");
  EXPECT_STREQ(internal::EnumName(kValues, 1), "PBZERO_UNKNOWN_ENUM_VALUE");
}

TEST(EnumValuesTest, ParsesEachName) {
  enum Parsed : int32_t {};
  for (const EnumValue& value : kValues) {
    Parsed kind{1};
    EXPECT_TRUE(internal::ParseEnum(kValues, value.name, &kind));
    EXPECT_EQ(kind, value.number) << value.name;
  }
}

TEST(EnumValuesTest, OtherNamesLeaveTheValueAlone) {
  int32_t value = 77;
  for (const std::string_view name :
       {"", "zero", "ZERO ", "ZER", "PBZERO_UNKNOWN_ENUM_VALUE", "0"}) {
    EXPECT_FALSE(internal::ParseEnum(kValues, name, &value)) << name;
  }
  EXPECT_FALSE(
      internal::ParseEnum(kValues, std::string_view("ZERO\0", 5), &value));
  EXPECT_EQ(value, 77);
}

static_assert(internal::FindEnumValue(kValues, 7) == &kValues[4]);
static_assert(std::string_view(internal::EnumName(kOnlyOne, 3)) == "THREE");

}  // namespace
}  // namespace protozero
