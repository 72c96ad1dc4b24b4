// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/bit_deposit.h"

#include <stdint.h>

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/protozero/cpu_features.h"

namespace protozero::internal {
namespace {

TEST(BitDepositTest, TheMaskIsAllOrNothing) {
  EXPECT_TRUE(kInlineEncodingMask == 0 || kInlineEncodingMask == UINTPTR_MAX);
}

// The answers of a processor to `cpuid`.
struct Cpu {
  CpuIdRegisters operator()(unsigned leaf) const {
    if (leaf == 0)
      return {last_leaf, 0, vendor, 0};
    if (leaf == 0x80000000)
      return {last_extended_leaf, 0, vendor, 0};
    if (leaf == 1 && leaf <= last_leaf)
      return {version, 0, 0, 0};
    if (leaf == 7 && leaf <= last_leaf)
      return {0, features, 0, 0};
    if (leaf == 0x80000001 && leaf <= last_extended_leaf)
      return {0, 0, extended_features, 0};
    // Intel's processors have the data of another leaf here.
    return {~0u, ~0u, ~0u, ~0u};
  }

  unsigned vendor;
  unsigned version;
  unsigned features = 0x100;          // BMI2
  unsigned extended_features = 0x20;  // LZCNT
  unsigned last_leaf = 7;
  unsigned last_extended_leaf = 0x80000001;
};

constexpr unsigned kIntel = 0x6c65746e;  // "ntel"
constexpr unsigned kAmd = 0x444d4163;    // "cAMD"
constexpr unsigned kHygon = 0x656e6975;  // "uine"

TEST(CpuFeaturesTest, BothInstructionsAreNeeded) {
  const Cpu haswell{kIntel, 0x306c3};
  EXPECT_TRUE(HasFastBitDeposit(haswell));
  Cpu cpu = haswell;
  cpu.features = ~0x100u;
  EXPECT_FALSE(HasFastBitDeposit(cpu));
  cpu = haswell;
  cpu.extended_features = ~0x20u;
  EXPECT_FALSE(HasFastBitDeposit(cpu));
  cpu = haswell;
  cpu.features = cpu.extended_features = 0;
  EXPECT_FALSE(HasFastBitDeposit(cpu));
}

TEST(CpuFeaturesTest, OldProcessorsDoNotSayWhatTheyHave) {
  const Cpu haswell{kIntel, 0x306c3};
  for (unsigned last_leaf = 1; last_leaf <= 8; ++last_leaf) {
    Cpu cpu = haswell;
    cpu.last_leaf = last_leaf;
    EXPECT_EQ(HasFastBitDeposit(cpu), last_leaf >= 7) << last_leaf;
  }
  for (const unsigned last_extended_leaf :
       {0u, 7u, 0x80000000u, 0x80000001u, 0x80000008u}) {
    Cpu cpu = haswell;
    cpu.last_extended_leaf = last_extended_leaf;
    EXPECT_EQ(HasFastBitDeposit(cpu), last_extended_leaf > 0x80000000u);
  }
}

TEST(CpuFeaturesTest, SomeHaveTheInstructionsInMicrocode) {
  EXPECT_FALSE(HasFastBitDeposit(Cpu{kAmd, 0x660f01}));    // Excavator
  EXPECT_FALSE(HasFastBitDeposit(Cpu{kAmd, 0x800f11}));    // Zen
  EXPECT_FALSE(HasFastBitDeposit(Cpu{kAmd, 0x870f10}));    // Zen 2
  EXPECT_FALSE(HasFastBitDeposit(Cpu{kHygon, 0x900f02}));  // Dhyana
  EXPECT_TRUE(HasFastBitDeposit(Cpu{kAmd, 0xa20f10}));     // Zen 3
  EXPECT_TRUE(HasFastBitDeposit(Cpu{kAmd, 0xb40f40}));     // Zen 5
  EXPECT_TRUE(HasFastBitDeposit(Cpu{kHygon, 0xa00f00}));
  // Processors of all others are fast. Their families have other numbers.
  EXPECT_TRUE(HasFastBitDeposit(Cpu{kIntel, 0x306c3}));
  EXPECT_TRUE(HasFastBitDeposit(Cpu{kAmd + 1, 0x870f10}));
  EXPECT_TRUE(HasFastBitDeposit(Cpu{kAmd - 1, 0x870f10}));
  EXPECT_TRUE(HasFastBitDeposit(Cpu{kHygon + 1, 0x870f10}));
  EXPECT_TRUE(HasFastBitDeposit(Cpu{kHygon - 1, 0x870f10}));
}

#if PROTOZERO_USE_BIT_DEPOSIT

// Compares with the compiler's own detection, if there is one.
TEST(BitDepositTest, TheMaskIsZeroWithoutTheInstructions) {
  if (!__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("lzcnt")) {
    EXPECT_EQ(kInlineEncodingMask, 0u);
  }
  if (__builtin_cpu_is("intel") && __builtin_cpu_supports("bmi2")) {
    EXPECT_NE(kInlineEncodingMask, 0u);
  }
}

// Returns the result of the instructions, computed bit by bit.
uint64_t DepositBitByBit(uint64_t value) {
  uint64_t result = 0;
  for (uint64_t i = 0; i < 56; ++i)
    result |= ((value >> i) & 1) << (i / 7 * 8 + i % 7);
  return result;
}

uint64_t ContinuationBitsBitByBit(uint64_t count) {
  uint64_t result = 0;
  for (uint64_t i = 7; i < 56 && i < count; i += 8)
    result |= uint64_t{1} << i;
  return result;
}

uint64_t HighestBitBitByBit(uint64_t value) {
  uint64_t highest = 0;
  for (uint64_t i = 0; i < 64; ++i)
    highest = (value >> i) & 1 ? i : highest;
  return highest;
}

class BitDepositInstructionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kInlineEncodingMask == 0)
      GTEST_SKIP() << "not on this processor";
  }

  // Returns a random number. Every magnitude is equally likely.
  uint64_t Random() { return random_() >> random_() % 64; }

 private:
  std::mt19937_64 random_{1};
};

TEST_F(BitDepositInstructionTest, DepositAndExtractSevenBitGroups) {
  const auto expect_deposit = [](uint64_t value) {
    const uint64_t groups = DepositSevenBitGroups(value);
    ASSERT_EQ(groups, DepositBitByBit(value)) << value;
    ASSERT_EQ(ExtractSevenBitGroups(groups), value & ((uint64_t{1} << 56) - 1));
    // The result does not depend on any other bit.
    ASSERT_EQ(ExtractSevenBitGroups(groups | 0x8080808080808080),
              ExtractSevenBitGroups(groups));
  };
  for (const uint64_t value : {uint64_t{0}, uint64_t{1}, UINT64_MAX})
    expect_deposit(value);
  for (int bit = 0; bit < 64; ++bit)
    expect_deposit(uint64_t{1} << bit);
  for (int i = 0; i < 10000; ++i)
    expect_deposit(Random());
}

TEST_F(BitDepositInstructionTest, ContinuationBitsBelow) {
  for (uint32_t count = 0; count < 256; ++count)
    ASSERT_EQ(ContinuationBitsBelow(count), ContinuationBitsBitByBit(count));
}

TEST_F(BitDepositInstructionTest, HighestBit) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (const uint64_t value : {power, power | 1, power | (power - 1)}) {
      ASSERT_EQ(HighestBit(value), HighestBitBitByBit(value)) << value;
    }
  }
  for (int i = 0; i < 10000; ++i) {
    const uint64_t value = Random() | 1;
    ASSERT_EQ(HighestBit(value), HighestBitBitByBit(value)) << value;
  }
}

#endif  // PROTOZERO_USE_BIT_DEPOSIT

// Addresses without memory are allowed. The bytes after valid addresses do not
// change.
TEST(PrefetchTest, TakesAnyAddress) {
  if (kInlineEncodingMask == 0)
    GTEST_SKIP() << "not for this processor";
  uint8_t bytes[] = {1, 2, 3};
  PrefetchForWriting<0>(bytes);
  PrefetchForWriting<-4096>(bytes);
  PrefetchForWriting<1 << 30>(bytes);
  PrefetchForWriting<0>(nullptr);
  EXPECT_THAT(bytes, testing::ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace protozero::internal
