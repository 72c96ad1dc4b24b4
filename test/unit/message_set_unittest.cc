// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message_set.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace protozero {
namespace {

// Returns the item of type 5, or "none".
std::string Find(std::string_view bytes) {
  const MessageDecoder<1> set(bytes);
  const Field field =
      internal::FindMessageSetItem(set.GetRepeated<ConstBytes>(1), 5);
  return field.valid() ? field.as_std_string() : "none";
}

TEST(MessageSetTest, FindsTheItemByItsType) {
  EXPECT_EQ(Find(""), "none");
  EXPECT_EQ(Find("\x0b\x10\x05\x1a\x01x\x0c"), "x");
  EXPECT_EQ(Find("\x0b\x10\x06\x1a\x01x\x0c"), "none");
  EXPECT_EQ(Find("\x0b\x10\x06\x1a\x01x\x0c\x0b\x10\x05\x1a\x01y\x0c"), "y");
  EXPECT_EQ(Find("\x0b\x10\x05\x1a\x01x\x0c\x0b\x10\x06\x1a\x01y\x0c"), "x");
}

TEST(MessageSetTest, LastItemWins) {
  EXPECT_EQ(Find("\x0b\x10\x05\x1a\x01x\x0c\x0b\x10\x05\x1a\x01y\x0c"), "y");
}

TEST(MessageSetTest, FieldsOfAnItemComeInAnyOrder) {
  EXPECT_EQ(Find("\x0b\x1a\x01x\x10\x05\x0c"), "x");
}

TEST(MessageSetTest, IncompleteItemsAreNone) {
  EXPECT_EQ(Find("\x0b\x10\x05\x0c"), "none");
  EXPECT_EQ(Find("\x0b\x1a\x01x\x0c"), "none");
  EXPECT_EQ(Find("\x0b\x10\x05\x1a\x01x"), "none");
  EXPECT_EQ(Find("\x0b\x10\x05\x1a\x02x\x0c"), "none");
}

}  // namespace
}  // namespace protozero
