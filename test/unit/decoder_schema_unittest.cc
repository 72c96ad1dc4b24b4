// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/decoder_schema.h"

#include <stdint.h>

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace protozero::internal {
namespace {

constexpr uint32_t kNone = DecoderSchema::kNoSlot;

// Finds every id of the schema, and none of the ids around them.
template <uint32_t... ids>
void ExpectToFindTheIds() {
  const DecoderSchema& schema = SchemaOf<ids...>::kSchema;
  const std::vector<uint32_t> all = {ids...};
  ASSERT_EQ(schema.count, all.size());
  for (uint32_t slot = 0; slot < all.size(); ++slot) {
    SCOPED_TRACE(all[slot]);
    EXPECT_EQ(schema.SlotOf(all[slot]), slot);
    if (slot + 1 == all.size() || all[slot + 1] != all[slot] + 1) {
      EXPECT_EQ(schema.SlotOf(all[slot] + 1), kNone);
    }
  }
  for (uint32_t id = 1; id < 5000; ++id) {
    const bool known = ((id == ids) || ...);
    EXPECT_EQ(schema.SlotOf(id) != kNone, known) << id;
  }
  EXPECT_EQ(schema.SlotOf(0), kNone);
}

TEST(DecoderSchemaTest, FindsIdsAndNothingElse) {
  ExpectToFindTheIds<>();
  ExpectToFindTheIds<1>();
  ExpectToFindTheIds<2>();
  ExpectToFindTheIds<1, 2, 3>();
  ExpectToFindTheIds<2, 3, 4>();
  ExpectToFindTheIds<1, 3>();
  ExpectToFindTheIds<536870911>();
  ExpectToFindTheIds<1, 2, 3, 500, 505, 999, 19000, 536870910, 536870911>();
}

template <uint32_t factor, uint32_t... i>
void ExpectToFindMultiples(std::integer_sequence<uint32_t, i...>) {
  ExpectToFindTheIds<((i + 1) * factor)...>();
}

// The hash must work with any pattern of ids.
TEST(DecoderSchemaTest, FindsManySparseIds) {
  using Hundred = std::make_integer_sequence<uint32_t, 100>;
  ExpectToFindMultiples<1>(Hundred());
  ExpectToFindMultiples<2>(Hundred());
  ExpectToFindMultiples<64>(Hundred());
  ExpectToFindMultiples<1000>(Hundred());
  ExpectToFindMultiples<1 << 20>(Hundred());
  ExpectToFindMultiples<144>(Hundred());  // 2^32 / golden ratio, nearly
}

TEST(DecoderSchemaTest, TablesAreAsLargeAsTheNumberOfIdsAllows) {
  static_assert(SchemaOf<1, 2, 3>::kSmall == 3);
  static_assert(SchemaOf<1, 2, 88>::kSmall == 3);
  static_assert(SchemaOf<1, 2, 89>::kSmall == 2);
  static_assert(SchemaOf<500>::kSmall == 0);
  static_assert(sizeof(SchemaOf<1, 2, 3>::kDirect) == 8);
  static_assert(sizeof(SchemaOf<500>::kDirect) == 2);
  static_assert(sizeof(SchemaOf<1, 2, 3>::kSparse) <= 24);
  static_assert(sizeof(SchemaOf<1, 2, 3, 536870911>::kSparse) <= 32);
}

TEST(DecoderSchemaTest, TellsIdsThatCannotBe) {
  constexpr uint32_t kAscending[] = {1, 2, 536870911};
  static_assert(AreAscendingFieldIds(kAscending, 3));
  static_assert(AreAscendingFieldIds(kAscending, 0));
  constexpr uint32_t kZero[] = {0, 1};
  static_assert(!AreAscendingFieldIds(kZero, 2));
  constexpr uint32_t kTwice[] = {1, 1};
  static_assert(!AreAscendingFieldIds(kTwice, 2));
  constexpr uint32_t kDescending[] = {2, 1};
  static_assert(!AreAscendingFieldIds(kDescending, 2));
  constexpr uint32_t kTooLarge[] = {1, 536870912};
  static_assert(!AreAscendingFieldIds(kTooLarge, 2));
}

TEST(DecoderSchemaTest, SortsIdsAndDropsThoseThatComeTwice) {
  const uint32_t unsorted[] = {7, 3, 7, 1, 536870911, 3, 2, 1};
  const SortedIds<8> sorted(unsorted);
  EXPECT_EQ(std::vector<uint32_t>(sorted.ids, sorted.ids + sorted.count),
            (std::vector<uint32_t>{1, 2, 3, 7, 536870911}));
  EXPECT_EQ(SortedIds<0>(nullptr).count, 0u);
  using Schema = UnsortedSchemaOf<7, 3, 7, 1, 536870911, 3, 2, 1>::Schema;
  EXPECT_EQ(Schema::kCount, 5u);
  EXPECT_EQ(Schema::kSchema.SlotOf(1), 0u);
  EXPECT_EQ(Schema::kSchema.SlotOf(7), 3u);
  EXPECT_EQ(Schema::kSchema.SlotOf(536870911), 4u);
}

TEST(DecoderSchemaTest, ADenseOneIsItsOwnIndex) {
  const DecoderSchema& schema = DenseSchema<40>::kSchema;
  EXPECT_EQ(schema.count, 40u);
  for (uint32_t id = 1; id <= 40; ++id) {
    EXPECT_EQ(schema.SlotOf(id), id - 1);
  }
  EXPECT_EQ(schema.SlotOf(0), kNone);
  EXPECT_EQ(schema.SlotOf(41), kNone);
  EXPECT_EQ(schema.SlotOf(536870911), kNone);
  const IdentitySlots<3> slots;
  for (uint16_t id = 0; id < 3; ++id) {
    EXPECT_EQ(slots.by_id[id], id);
  }
}

}  // namespace
}  // namespace protozero::internal
