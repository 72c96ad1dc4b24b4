// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/testing/delegates.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/root_message.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/static_buffer.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/hex.h"

namespace protozero::test {

namespace {

using Write = std::function<void(Message*)>;
// What must be written, given the sizes of the chunks.
using Encode = std::function<std::string(const ChunkSizes&)>;

std::string Describe(const char* delegate, const ChunkSizes& chunk_sizes) {
  std::string text = std::string(delegate) + " with chunks of";
  for (size_t size : chunk_sizes)
    text += " " + std::to_string(size);
  return text + " bytes";
}

void RunForeign(const ChunkSizes& chunk_sizes,
                ChunkedDelegate::Patches patches,
                const Encode& encode,
                const Write& write) {
  SCOPED_TRACE(Describe("foreign delegate", chunk_sizes) + ", patch policy " +
               std::to_string(static_cast<int>(patches)));
  const std::string bytes = encode(chunk_sizes);
  ChunkedStream stream(chunk_sizes, patches);
  RootMessage<> message;
  message.Reset(&stream.writer);
  write(&message);
  EXPECT_EQ(message.Finalize(), bytes.size());
  EXPECT_TRUE(stream.writer.ok());
  EXPECT_EQ(stream.writer.written(), bytes.size());
  EXPECT_EQ(stream.delegate.Complaints(), "");
  if (patches == ChunkedDelegate::Patches::kUnwanted) {
    EXPECT_EQ(stream.delegate.Bytes().size(), bytes.size());
  } else {
    EXPECT_EQ(stream.Bytes(), Hex(bytes));
  }
}

void RunHeap(size_t initial_size,
             size_t maximum_size,
             const Encode& encode,
             const Write& write) {
  ChunkSizes chunk_sizes{initial_size};
  while (chunk_sizes.back() < maximum_size)
    chunk_sizes.push_back(std::min(2 * chunk_sizes.back(), maximum_size));
  SCOPED_TRACE(Describe("heap buffer", chunk_sizes));
  const std::string bytes = encode(chunk_sizes);
  HeapBuffered<Message> message(initial_size, maximum_size);
  // The second time in the memory of the first.
  for (int i = 0; i < 2; ++i) {
    write(message.get());
    EXPECT_EQ(Hex(message.SerializeAsArray()), Hex(bytes));
    EXPECT_TRUE(message.ok());
    message.Reset();
  }
}

void RunStatic(const Encode& encode, const Write& write) {
  const std::string bytes = encode(OneLargeChunk());
  // A message that is being nested takes a little more than in the end.
  constexpr size_t kSlack = 4096;
  SCOPED_TRACE("static buffer");
  std::vector<uint8_t> buffer(bytes.size() + kSlack);
  StaticBuffered<Message> message(buffer.data(), buffer.size());
  write(message.get());
  EXPECT_EQ(message.Finalize(), bytes.size());
  EXPECT_TRUE(message.ok());
  EXPECT_EQ(Hex(buffer.data(), bytes.size()), Hex(bytes));
}

void RunAll(const Encode& encode, const Write& write) {
  RunStatic(encode, write);
  RunHeap(4, 1024, encode, write);
  for (size_t size : InterestingChunkSizes()) {
    RunHeap(size, size, encode, write);
    for (const auto patches : {ChunkedDelegate::Patches::kInPlace,
                               ChunkedDelegate::Patches::kRedirect,
                               ChunkedDelegate::Patches::kUnwanted}) {
      RunForeign({size}, patches, encode, write);
    }
    if (testing::Test::HasFailure())
      return;  // One report is enough.
  }
}

}  // namespace

const ChunkSizes& InterestingChunkSizes() {
  static const auto* const sizes = [] {
    auto* result = new ChunkSizes;
    for (size_t size = 4; size <= 64; ++size)
      result->push_back(size);
    result->insert(result->end(), {100, 126, 127, 128, 129, 130, 131, 132, 133,
                                   255, 256, 257, 1000, 4096, 20000});
    return result;
  }();
  return *sizes;
}

void ExpectWrites(const MessageTree& tree, const Write& write) {
  RunAll([&](const ChunkSizes& sizes) { return EncodeTree(tree, sizes); },
         write);
}

void ExpectWrites(const MessageTree& tree) {
  ExpectWrites(tree, [&](Message* message) { WriteTree(tree, message); });
}

void ExpectWritesHex(std::string_view hex, const Write& write) {
  RunAll([&](const ChunkSizes&) { return FromHex(hex); }, write);
}

void ExpectWritesToChunks(const MessageTree& tree,
                          const ChunkSizes& chunk_sizes) {
  RunForeign(
      chunk_sizes, ChunkedDelegate::Patches::kInPlace,
      [&](const ChunkSizes& sizes) { return EncodeTree(tree, sizes); },
      [&](Message* message) { WriteTree(tree, message); });
}

}  // namespace protozero::test
