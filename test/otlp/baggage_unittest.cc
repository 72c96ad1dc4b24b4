// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/baggage.h"

#include <string>

#include <gtest/gtest.h>

namespace protozero::otlp {
namespace {

TEST(BaggageTest, ReadsAndWritesTheHeader) {
  const auto baggage = Baggage::Parse("a=1, b = %20x%2C%C3%A4 ;p;q = 2 ,c=");
  ASSERT_TRUE(baggage);
  EXPECT_EQ(baggage->Get("a"), "1");
  EXPECT_EQ(baggage->Get("b"), " x,\xc3\xa4");
  EXPECT_EQ(baggage->Get("c"), "");
  EXPECT_FALSE(baggage->Get("A"));
  EXPECT_EQ(baggage->entries()[1].properties, "p;q = 2");
  EXPECT_EQ(baggage->Text(), "a=1,b=%20x%2C%C3%A4;p;q = 2,c=");
  EXPECT_EQ(Baggage::Parse("a=1,a=2")->Get("a"), "2");
  EXPECT_EQ(Baggage::Parse("a=b=c")->Get("a"), "b=c");
  EXPECT_EQ(Baggage::Parse("")->Text(), "");
}

TEST(BaggageTest, RefusesWhatIsMalformed) {
  for (const char* text :
       {"a", "=1", "a b=1", "a=%", "a=%2", "a=%zz", "a=\"x\"", "a=b c",
        "a=\xc3\xa4", "\xc3\xa4=1", "a=1;", "a=1;=2", "a=1;p q", "a=\\"}) {
    EXPECT_EQ(Baggage::Parse(text).has_value(), std::string(text) == "a=1;")
        << text;
  }
}

TEST(BaggageTest, KeepsTheLimits) {
  std::string text;
  for (int i = 0; i < 64; ++i)
    text += "k" + std::to_string(i) + "=1,";
  auto baggage = Baggage::Parse(text);
  ASSERT_TRUE(baggage);
  EXPECT_FALSE(Baggage::Parse(text + "more=1"));
  EXPECT_FALSE(baggage->Set("more", "1"));
  EXPECT_TRUE(baggage->Set("k0", "2"));
  baggage->Remove("k1");
  EXPECT_TRUE(baggage->Set("more", std::string("\0\xff%", 3)));
  EXPECT_EQ(Baggage::Parse(baggage->Text())->Get("more"),
            std::string_view("\0\xff%", 3));
  EXPECT_FALSE(baggage->Set("large", std::string(8192, 'x')));
  EXPECT_FALSE(baggage->Set("a b", "1"));
  EXPECT_FALSE(baggage->Set("a", "1", "p,q"));
  EXPECT_FALSE(Baggage::Parse("a=" + std::string(8192, 'x')));
}

}  // namespace
}  // namespace protozero::otlp
