// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/contiguous_memory_range.h"

#include <gtest/gtest.h>

namespace protozero {
namespace {

TEST(ContiguousMemoryRangeTest, AnInvalidOneIsEmpty) {
  const ContiguousMemoryRange range{};
  EXPECT_FALSE(range.is_valid());
  EXPECT_EQ(range.size(), 0u);
}

TEST(ContiguousMemoryRangeTest, AnEmptyOneMayBeValid) {
  uint8_t byte = 0;
  const ContiguousMemoryRange range{&byte, &byte};
  EXPECT_TRUE(range.is_valid());
  EXPECT_EQ(range.size(), 0u);
}

TEST(ContiguousMemoryRangeTest, ResetInvalidates) {
  uint8_t bytes[3];
  ContiguousMemoryRange range{bytes, bytes + 3};
  EXPECT_EQ(range.size(), 3u);
  range.reset();
  EXPECT_FALSE(range.is_valid());
  EXPECT_EQ(range.size(), 0u);
}

}  // namespace
}  // namespace protozero
