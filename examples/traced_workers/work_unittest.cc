// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/traced_workers/work.h"

#include <string>

#include <gtest/gtest.h>

namespace traced_workers {
namespace {

TEST(WorkTest, TextsComeOutAsTheyWentIn) {
  for (size_t size : {0u, 1u, 3u, 4u, 5u, 127u, 128u, 1000u, 100000u}) {
    const std::string text = MakeText(size, size);
    ASSERT_EQ(text.size(), size);
    EXPECT_EQ(Decompress(Compress(text)), text);
  }
}

TEST(WorkTest, WhatRepeatsBecomesShorter) {
  const std::string text(10000, 'a');
  EXPECT_LT(Compress(text).size(), 300u);
  EXPECT_EQ(Decompress(Compress(text)), text);
  const std::string words = MakeText(1, 10000);
  EXPECT_LT(Compress(words).size(), words.size() / 2);
}

TEST(WorkTest, WhatIsNotCompressedIsRefused) {
  EXPECT_EQ(Decompress(std::string("\x05xyz", 4)), "");
  EXPECT_EQ(Decompress(std::string("\x80\x01", 2)), "");
  EXPECT_EQ(Decompress(std::string("\x01x\x80\x02\x00", 5)), "");
  EXPECT_EQ(Decompress(std::string("\x01x\x80\x00\x00", 5)), "");
}

TEST(WorkTest, PrimesAreCounted) {
  EXPECT_EQ(CountPrimes(0), 0u);
  EXPECT_EQ(CountPrimes(3), 1u);
  EXPECT_EQ(CountPrimes(100), 25u);
  EXPECT_EQ(CountPrimes(10000), 1229u);
}

}  // namespace
}  // namespace traced_workers
