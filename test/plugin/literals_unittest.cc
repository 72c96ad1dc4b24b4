// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/c_family/literals.h"

#include <stdint.h>

#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace protozero::plugin {
namespace {

TEST(LiteralsTest, Integers) {
  EXPECT_EQ(IntegerLiteral(int32_t{0}), "");
  EXPECT_EQ(IntegerLiteral(int32_t{-1}), "-1");
  EXPECT_EQ(IntegerLiteral(INT32_MIN), "-2147483647 - 1");
  EXPECT_EQ(IntegerLiteral(INT64_MIN), "-9223372036854775807 - 1");
  EXPECT_EQ(IntegerLiteral(INT64_MAX), "9223372036854775807");
  EXPECT_EQ(IntegerLiteral(uint32_t{0}), "");
  EXPECT_EQ(IntegerLiteral(UINT32_MAX), "4294967295u");
  EXPECT_EQ(IntegerLiteral(UINT64_MAX), "18446744073709551615u");
}

TEST(LiteralsTest, FloatingPointIsShortAndExact) {
  EXPECT_EQ(FloatLiteral(0.0), "");
  EXPECT_EQ(FloatLiteral(-0.0), "-0.0");
  EXPECT_EQ(FloatLiteral(2.0), "2.0");
  EXPECT_EQ(FloatLiteral(0.1), "0.1");
  EXPECT_EQ(FloatLiteral(0.1f), "0.1f");
  EXPECT_EQ(FloatLiteral(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(FloatLiteral(1e300), "1e+300");
  EXPECT_EQ(FloatLiteral(std::numeric_limits<float>::infinity()),
            "::std::numeric_limits<float>::infinity()");
  EXPECT_EQ(FloatLiteral(-std::numeric_limits<double>::infinity()),
            "-::std::numeric_limits<double>::infinity()");
  EXPECT_EQ(FloatLiteral(std::numeric_limits<float>::quiet_NaN()),
            "::std::numeric_limits<float>::quiet_NaN()");
}

TEST(LiteralsTest, Bytes) {
  EXPECT_EQ(BytesLiteral("", false, "::pz::"), "");
  EXPECT_EQ(BytesLiteral("ab", false, "::pz::"), "::pz::ConstChars{\"ab\", 2}");
  EXPECT_EQ(BytesLiteral(std::string("\0"
                                     "7\"\\?\xff",
                                     6),
                         false, "::pz::"),
            "::pz::ConstChars{\"\\0007\\042\\134\\077\\377\", 6}");
  EXPECT_EQ(BytesLiteral("a", true, "::pz::"),
            "::pz::ConstBytes{reinterpret_cast<const uint8_t*>(\"a\"), "
            "1}");
}

TEST(LiteralsTest, LongBytesAreSeveralLiterals) {
  const std::string text(70, 'x');
  EXPECT_EQ(BytesLiteral(text + "\n\n\n7" + text, false, "::pz::"),
            "::pz::ConstChars{\n      \"" + text +
                "\\012\\012\\012\"\n      \"7" + text + "\", 144}");
}

}  // namespace
}  // namespace protozero::plugin
