// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/testing/delegates.h"

#include <stdint.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/config.h"
#include "protozero/root_message.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/static_buffer.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/hex.h"
#include "test/testing/without_bit_deposit.h"

namespace protozero::test {

namespace {

using Write = std::function<void(Message*)>;
// A function that returns the expected output for chunks of given sizes.
using Encode = std::function<std::string(const ChunkSizes&)>;

std::string Describe(const char* delegate, const ChunkSizes& chunk_sizes) {
  std::string text = std::string(delegate) + " with chunks of";
  for (size_t size : chunk_sizes)
    text += " " + std::to_string(size);
  return text + " bytes";
}

void RunForeign(const ChunkSizes& chunk_sizes,
                ChunkedDelegate::Patches patches,
                const std::string& bytes,
                const Write& write) {
  SCOPED_TRACE(Describe("foreign delegate", chunk_sizes) + ", patch policy " +
               std::to_string(static_cast<int>(patches)));
  ChunkedStream stream(chunk_sizes, patches);
  RootMessage<> message;
  message.Reset(&stream.writer);
  write(&message);
  EXPECT_EQ(message.Finalize(), bytes.size());
  EXPECT_TRUE(stream.writer.ok());
  EXPECT_EQ(stream.writer.written(), bytes.size());
  EXPECT_EQ(stream.delegate.Complaints(), "");
  const std::string written = stream.delegate.Bytes();
  if (patches == ChunkedDelegate::Patches::kUnwanted) {
    EXPECT_EQ(written.size(), bytes.size());
  } else {
    EXPECT_EQ(AsHex(written), AsHex(bytes));
  }
}

// Runs a heap buffer. Its chunks grow from the first of the sizes to the last.
void RunHeap(const ChunkSizes& chunk_sizes,
             const std::string& bytes,
             const Write& write) {
  SCOPED_TRACE(Describe("heap buffer", chunk_sizes));
  HeapBuffered<Message> message(chunk_sizes.front(), chunk_sizes.back());
  // The second message is written to the memory of the first.
  for (int i = 0; i < 2; ++i) {
    write(message.get());
    EXPECT_EQ(AsHex(message.SerializeAsArray()), AsHex(bytes));
    EXPECT_TRUE(message.ok());
    message.Reset();
  }
}

void RunStatic(const std::string& bytes, const Write& write) {
  // A message takes a little more while it is being nested than in the end.
  constexpr size_t kSlack = 4096;
  SCOPED_TRACE("static buffer");
  std::vector<uint8_t> buffer(bytes.size() + kSlack);
  StaticBuffered<Message> message(buffer.data(), buffer.size());
  write(message.get());
  EXPECT_EQ(message.Finalize(), bytes.size());
  EXPECT_TRUE(message.ok());
  EXPECT_EQ(AsHex(buffer.data(), bytes.size()), AsHex(bytes));
}

void RunAll(const Encode& encode, const Write& write) {
  // With thousands of chunks, slow code takes seconds and shows little more
  // than with hundreds.
  constexpr size_t kMaxChunks = kIsSlowBuild ? 500 : SIZE_MAX;
  const std::string contiguous = encode(OneLargeChunk());
  RunStatic(contiguous, write);
  const ChunkSizes growing{4, 8, 16, 32, 64, 128, 256, 512, 1024};
  const std::string growing_bytes = encode(growing);
  RunHeap(growing, growing_bytes, write);
  {
    const WithoutBitDeposit without;
    RunStatic(contiguous, write);
    RunHeap(growing, growing_bytes, write);
  }
  for (size_t size : InterestingChunkSizes()) {
    if (contiguous.size() / size > kMaxChunks)
      continue;
    const std::string bytes = encode({size});
    RunHeap({size}, bytes, write);
    for (const auto patches : {ChunkedDelegate::Patches::kInPlace,
                               ChunkedDelegate::Patches::kRedirect,
                               ChunkedDelegate::Patches::kUnwanted}) {
      RunForeign({size}, patches, bytes, write);
    }
    if (testing::Test::HasFailure())
      return;  // One report is enough.
  }
}

}  // namespace

const ChunkSizes& InterestingChunkSizes() {
  static const auto* const sizes = [] {
    auto* result = new ChunkSizes;
    for (size_t size = 4; size <= 64; size += size < 20 ? 1 : kSeriesStep)
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
  RunForeign(chunk_sizes, ChunkedDelegate::Patches::kInPlace,
             EncodeTree(tree, chunk_sizes),
             [&](Message* message) { WriteTree(tree, message); });
}

}  // namespace protozero::test
