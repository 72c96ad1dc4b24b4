// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Random messages in random chunks, compared with the reference encoder.
// Flags: --seed=N, --messages=N.

#include <stdint.h>

#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/flags.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"
#include "test/testing/tree_parser.h"

namespace protozero {
namespace {

using test::ChunkedDelegate;
using test::ChunkedStream;
using test::ChunkSizes;
using test::Hex;
using test::MessageTree;

// Returns chunks of 4 bytes or more, up to a random magnitude.
ChunkSizes RandomChunkSizes(std::mt19937_64& random) {
  ChunkSizes sizes;
  const uint64_t magnitude = uint64_t{1} << (2 + random() % 10);
  for (uint64_t i = 0; i < 1 + random() % 50; ++i)
    sizes.push_back(4 + random() % magnitude);
  return sizes;
}

using MakeTree = MessageTree (*)(std::mt19937_64& random);

void WriteRandomMessages(MakeTree make_tree) {
  const uint64_t seed = test::Flag("seed", 1);
  const uint64_t messages = test::Flag("messages", 20000);
  RootMessage<> message;
  for (uint64_t i = 0; i < messages; ++i) {
    // To repeat a failure, run --seed=<this seed> --messages=1. If the failure
    // depends on what the arena remembers, begin with an earlier seed.
    SCOPED_TRACE("--seed=" + std::to_string(seed + i));
    std::mt19937_64 random(seed + i);
    const MessageTree tree = make_tree(random);
    const ChunkSizes chunk_sizes = RandomChunkSizes(random);
    ChunkedStream stream(chunk_sizes,
                         random() % 2 ? ChunkedDelegate::Patches::kInPlace
                                      : ChunkedDelegate::Patches::kRedirect);
    message.Reset(&stream.writer);
    test::WriteTree(tree, &message);
    MessageTree kept;
    const std::string expected = test::EncodeTree(tree, chunk_sizes, &kept);
    ASSERT_EQ(message.Finalize(), expected.size());
    ASSERT_TRUE(stream.writer.ok());
    ASSERT_EQ(stream.writer.written(), expected.size());
    const std::string bytes = stream.delegate.Bytes();
    ASSERT_TRUE(bytes == expected) << Hex(bytes) << "\n" << Hex(expected);
    ASSERT_EQ(stream.delegate.Complaints(), "");
    if (i % 4 == 0) {
      ASSERT_TRUE(test::ParsesAs(bytes, kept));
    }
  }
}

TEST(MessageModelTest, RandomMessagesInRandomChunks) {
  WriteRandomMessages([](std::mt19937_64& random) {
    const uint32_t max_fields = 1 + static_cast<uint32_t>(random() % 8);
    const uint32_t max_depth = static_cast<uint32_t>(random() % 7);
    return test::RandomTree(random, max_fields, max_depth);
  });
}

TEST(MessageModelTest, NestedMessagesOfSizesAroundTheLimits) {
  WriteRandomMessages([](std::mt19937_64& random) {
    const size_t size = 100 + random() % (random() % 4 == 0 ? 1000 : 450);
    const uint32_t max_depth = static_cast<uint32_t>(random() % 10);
    MessageTree tree = test::RandomTreeOfSize(random, size, max_depth);
    // At this depth, the arena's own memory ends.
    const uint64_t levels_around = random() % 16 == 0 ? 90 + random() % 20 : 0;
    for (uint64_t i = 0; i < levels_around; ++i)
      tree = {test::NestedField(1, std::move(tree))};
    return tree;
  });
}

}  // namespace
}  // namespace protozero
