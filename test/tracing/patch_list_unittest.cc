// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/internal/patch_list.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace protozero::test {
namespace {

class PatchListTest : public testing::Test {
 protected:
  Patch* Add(ChunkID chunk_id, bool is_ready) {
    Patch* const patch = pool_->TryAllocate();
    patch->chunk_id = chunk_id;
    patch->size_field[0] = is_ready ? 0x80 : 0;
    list_.PushBack(patch);
    return patch;
  }
  // Returns the chunks of all groups in the list, in order.
  std::vector<ChunkID> Chunks() {
    std::vector<ChunkID> chunks;
    list_.TakeGroups([&](const PatchList::Group& group) {
      chunks.push_back(group.chunk_id());
      return false;
    });
    return chunks;
  }
  // Takes one chunk's group.
  void Take(ChunkID chunk_id) {
    list_.TakeGroups([&](const PatchList::Group& group) {
      return group.chunk_id() == chunk_id;
    });
  }

  const std::unique_ptr<PatchPool> pool_ = std::make_unique<PatchPool>();
  PatchList list_;
};

TEST_F(PatchListTest, PoolHandsOutEachPatchOnce) {
  std::vector<Patch*> patches;
  while (Patch* const patch = pool_->TryAllocate())
    patches.push_back(patch);
  EXPECT_EQ(patches.size(), PatchPool::kNumPatches);
  patches[5]->size_field[0] = 1;
  patches[5]->is_void = true;
  patches[5]->Free();
  Patch* const again = pool_->TryAllocate();
  EXPECT_EQ(again, patches[5]);
  EXPECT_FALSE(again->is_ready());
  EXPECT_FALSE(again->is_void);
  EXPECT_EQ(pool_->TryAllocate(), nullptr);
}

TEST_F(PatchListTest, GroupIsReadyWhenAllOfItAre) {
  Add(1, true);
  Add(1, false);
  Add(2, true);
  Add(2, true);
  std::vector<bool> ready;
  list_.TakeGroups([&](const PatchList::Group& group) {
    ready.push_back(group.is_ready);
    return false;
  });
  EXPECT_EQ(ready, (std::vector<bool>{false, true}));
}

TEST_F(PatchListTest, GroupsLeaveFromAnywhere) {
  for (ChunkID id : {1u, 1u, 2u, 3u, 3u, 4u})
    Add(id, false);
  Take(2);
  EXPECT_EQ(Chunks(), (std::vector<ChunkID>{1, 3, 4}));
  Take(4);
  Add(5, false);
  EXPECT_EQ(Chunks(), (std::vector<ChunkID>{1, 3, 5}));
  Take(1);
  EXPECT_EQ(Chunks(), (std::vector<ChunkID>{3, 5}));
  Take(5);
  Take(3);
  EXPECT_TRUE(list_.empty());
  Add(6, false);
  EXPECT_EQ(Chunks(), std::vector<ChunkID>{6});
}

TEST_F(PatchListTest, VoidPatchesNeedNoPatching) {
  Add(1, false);
  Add(2, false);
  EXPECT_TRUE(list_.NeedsPatching(2));
  EXPECT_FALSE(list_.NeedsPatching(3));
  list_.MakeVoid(2);
  EXPECT_FALSE(list_.NeedsPatching(2));
  EXPECT_TRUE(list_.NeedsPatching(1));
  EXPECT_EQ(Chunks(), (std::vector<ChunkID>{1, 2}));
}

}  // namespace
}  // namespace protozero::test
