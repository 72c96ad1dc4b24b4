// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/byte_order.h"

#include <string>

#include <gtest/gtest.h>

#include "test/testing/hex.h"

namespace protozero {
namespace {

using internal::LoadLittleEndian;
using internal::StoreLittleEndian;
using test::Hex;

// This file is also compiled with PROTOZERO_FORCE_BIG_ENDIAN_PATH.
#if defined(PROTOZERO_FORCE_BIG_ENDIAN_PATH)
static_assert(!internal::kCopyIsLittleEndian);
#endif

template <typename T>
std::string StoredHex(T value) {
  // Off by one byte, so that nothing is aligned.
  uint8_t buffer[10] = {0xee, 0xee, 0xee, 0xee, 0xee,
                        0xee, 0xee, 0xee, 0xee, 0xee};
  StoreLittleEndian(buffer + 1, value);
  EXPECT_EQ(buffer[0], 0xee);
  EXPECT_EQ(buffer[1 + sizeof(T)], 0xee);
  EXPECT_EQ(LoadLittleEndian<T>(buffer + 1), value);
  return Hex(buffer + 1, sizeof(T));
}

TEST(ByteOrderTest, LowestByteComesFirst) {
  EXPECT_EQ(StoredHex(uint8_t{0x12}), "12");
  EXPECT_EQ(StoredHex(uint16_t{0x1234}), "34 12");
  EXPECT_EQ(StoredHex(uint32_t{0x12345678}), "78 56 34 12");
  EXPECT_EQ(StoredHex(uint64_t{0x123456789abcdef0}), "f0 de bc 9a 78 56 34 12");
}

TEST(ByteOrderTest, HighBitsSurvive) {
  EXPECT_EQ(StoredHex(uint16_t{0x8001}), "01 80");
  EXPECT_EQ(StoredHex(uint32_t{0x80000001}), "01 00 00 80");
  EXPECT_EQ(StoredHex(uint64_t{0x8000000000000001}), "01 00 00 00 00 00 00 80");
  EXPECT_EQ(StoredHex(~uint64_t{0}), "ff ff ff ff ff ff ff ff");
}

}  // namespace
}  // namespace protozero
