// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_SKYNET_TREE_H_
#define TEST_WORKLOADS_SKYNET_TREE_H_

#include <stdint.h>

namespace protozero::workloads {

// The tree of Skynet: each node has ten children, down to the leaves, which are
// counted from 0. Each leaf answers with its ordinal, each other node with the
// sum of its children's answers.
//
//                         1
//              10    11   ...   19
//       100 ... 109 110   ...  190 ... 199
//
// The numbers above are the nodes' ids: the id of a child has one digit more
// than its parent's. The id of a leaf is a 1 followed by its ordinal.
class SkynetTree {
 public:
  static constexpr uint64_t kBranches = 10;
  static constexpr uint64_t kRoot = 1;

  // REQUIRES: |num_leaves| is a power of ten.
  explicit constexpr SkynetTree(uint64_t num_leaves)
      : num_leaves_(num_leaves) {}

  constexpr uint64_t num_leaves() const { return num_leaves_; }
  // Returns the number of nodes: 1 + 10 + 100 + ... + num_leaves().
  constexpr uint64_t num_nodes() const {
    return (num_leaves_ * kBranches - 1) / (kBranches - 1);
  }
  // Returns the root's answer.
  constexpr uint64_t sum() const { return num_leaves_ * (num_leaves_ - 1) / 2; }

  constexpr bool IsLeaf(uint64_t id) const { return id >= num_leaves_; }
  // Returns the ordinal of a leaf. REQUIRES: IsLeaf(leaf).
  constexpr uint64_t Ordinal(uint64_t leaf) const { return leaf - num_leaves_; }
  static constexpr uint64_t Child(uint64_t id, uint64_t index) {
    return id * kBranches + index;
  }

  // Returns a number that is larger than all ids.
  constexpr uint64_t end_of_ids() const { return 2 * num_leaves_; }
  // Returns true if there is a node with that id.
  constexpr bool HasNode(uint64_t id) const {
    if (id >= end_of_ids())
      return false;
    uint64_t first = num_leaves_;
    while (id < first)
      first /= kBranches;
    return first != 0 && id < 2 * first;
  }

 private:
  const uint64_t num_leaves_;
};

// The tree of the published measurement.
inline constexpr SkynetTree kMillionFibers(1'000'000);
static_assert(kMillionFibers.sum() == 499'999'500'000);
static_assert(kMillionFibers.num_nodes() == 1'111'111);

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_SKYNET_TREE_H_
