// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Deep nesting, mostly over many small chunks: a step costs the same at any
// depth.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message_handle.h"
#include "protozero/root_message.h"
#include "test/testing/chunked_delegate.h"

#if defined(__has_include)
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif
#endif
#if !defined(ASAN_POISON_MEMORY_REGION)
#define ASAN_POISON_MEMORY_REGION(address, size) static_cast<void>(address)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(address)
#endif

namespace protozero {
namespace {

using test::ChunkedDelegate;

constexpr size_t kNumLevels = 1000;

class MessageDepthTest : public testing::Test {
 protected:
  void Start(size_t chunk_size, ChunkedDelegate::Patches patches) {
    open_.clear();
    kept_.clear();
    delegate_ = std::make_unique<ChunkedDelegate>(
        std::vector<size_t>{chunk_size}, patches);
    writer_ = std::make_unique<ScatteredStreamWriter>(delegate_.get());
    delegate_->set_writer(writer_.get());
    root_ = std::make_unique<RootMessage<>>(writer_.get());
  }

  void Begin() {
    Message* const parent = open_.empty() ? root_.get() : open_.back();
    open_.push_back(parent->BeginNestedMessage<Message>(1));
  }

  // Makes the test fail if anything changes the outermost |count| messages or,
  // in builds with AddressSanitizer, reads them.
  void ForbidAccess(size_t count) {
    while (kept_.size() < count) {
      const Message* const message = open_[kept_.size()];
      kept_.emplace_back(reinterpret_cast<const char*>(message),
                         sizeof(Message));
      ASAN_POISON_MEMORY_REGION(message, sizeof(Message));
    }
  }
  void AllowAccess() {
    for (size_t i = 0; i < kept_.size(); ++i) {
      ASAN_UNPOISON_MEMORY_REGION(open_[i], sizeof(Message));
      EXPECT_EQ(memcmp(open_[i], kept_[i].data(), sizeof(Message)), 0) << i;
    }
    kept_.clear();
  }

  // Expects that each level is the rest of the message, and the innermost
  // |leaf|.
  void ExpectNested(const std::string& leaf) {
    const std::string bytes = delegate_->Bytes();
    size_t pos = 0;
    for (size_t level = 0; level < kNumLevels; ++level) {
      ASSERT_LT(pos + 2, bytes.size());
      ASSERT_EQ(bytes[pos++], 0x0a);
      size_t size = 0;
      for (int shift = 0;; shift += 7) {
        const auto byte = static_cast<uint8_t>(bytes[pos++]);
        size |= size_t{byte & 0x7fu} << shift;
        if (byte < 0x80)
          break;
      }
      ASSERT_EQ(size, bytes.size() - pos) << level;
    }
    EXPECT_EQ(bytes.substr(pos), leaf);
    EXPECT_EQ(delegate_->Complaints(), "");
  }

  // The open messages without the root message, which may be read.
  std::vector<Message*> open_;
  std::vector<std::string> kept_;
  std::unique_ptr<ChunkedDelegate> delegate_;
  std::unique_ptr<ScatteredStreamWriter> writer_;
  std::unique_ptr<RootMessage<>> root_;
};

// The number of messages that can begin in a chunk of 16 bytes, plus two that
// began before it.
constexpr size_t kNear = 6;

TEST_F(MessageDepthTest, AChunkCostsAsMuchAsTheMessagesThatBeganInIt) {
  for (const auto patches : {ChunkedDelegate::Patches::kInPlace,
                             ChunkedDelegate::Patches::kRedirect}) {
    Start(16, patches);
    for (size_t level = 0; level < kNumLevels; ++level) {
      Begin();
      if (level >= kNear)
        ForbidAccess(level - kNear);
      if (level % 100 == 7) {
        EXPECT_NE(writer_->written(), 0u);
      }
    }
    std::string leaf;
    for (int i = 0; i < 30; ++i) {
      open_.back()->AppendString(1, "0123456789");
      leaf +=
          "\x0a\x0a"
          "0123456789";
      const uint8_t raw[] = {0x10, 0x02};
      writer_->WriteBytes(raw, sizeof(raw));
      leaf += "\x10\x02";
    }
    AllowAccess();
    root_->Finalize();
    ExpectNested(leaf);
  }
}

// The number of messages in two blocks of the arena, and the most that are
// narrow together.
constexpr size_t kNearInChunk = 512;

TEST_F(MessageDepthTest, AMessageInALongChainCostsAsMuchAsTheOnesNearIt) {
  Start(8 * kNumLevels, ChunkedDelegate::Patches::kInPlace);
  for (size_t level = 0; level < kNumLevels; ++level) {
    Begin();
    if (level >= kNearInChunk)
      ForbidAccess(level - kNearInChunk);
  }
  open_.back()->AppendString(1, "0123456789");
  AllowAccess();
  root_->Finalize();
  ExpectNested(
      "\x0a\x0a"
      "0123456789");
}

// The test finalizes each message itself, from the innermost outwards, so that
// no parent seals its child.
TEST_F(MessageDepthTest, ASealedMessageCostsAsMuchAsTheOneAroundIt) {
  for (const auto patches : {ChunkedDelegate::Patches::kInPlace,
                             ChunkedDelegate::Patches::kRedirect}) {
    for (size_t chunk_size : {size_t{4}, size_t{16}}) {
      Start(chunk_size, patches);
      for (size_t level = 0; level < kNumLevels; ++level)
        Begin();
      open_.back()->AppendString(1, "0123456789");
      for (size_t level = kNumLevels; level-- > 0;) {
        // These fields are in other chunks than the child.
        if (level % 3 == 0)
          open_[level]->AppendString(2, "0123456789");
        const uint32_t size = open_[level]->Finalize();
        EXPECT_EQ(size, 12 + (kNumLevels - 1 - level) * 5 +
                            12 * ((kNumLevels - 1) / 3 - (level + 2) / 3 + 1));
      }
      const uint32_t size = root_->Finalize();
      EXPECT_EQ(size, delegate_->Bytes().size());
      EXPECT_EQ(delegate_->Complaints(), "");
    }
  }
}

// After a child was finalized, the message continues through the stream.
TEST_F(MessageDepthTest, RawBytesBehindAFinalizedChildAreCounted) {
  for (size_t chunk_size = 4; chunk_size < 40; ++chunk_size) {
    Start(chunk_size, ChunkedDelegate::Patches::kRedirect);
    for (int level = 0; level < 3; ++level)
      Begin();
    open_[2]->AppendString(1, std::string(60, 'a'));
    EXPECT_EQ(open_[2]->Finalize(), 62u);
    for (int i = 0; i < 50; ++i)
      writer_->WriteByte(static_cast<uint8_t>(i));
    open_[1]->AppendString(1, std::string(60, 'a'));
    EXPECT_EQ(open_[1]->Finalize(), 5u + 62 + 50 + 62);
    writer_->WriteByte(0);
    EXPECT_EQ(open_[0]->Finalize(), 5u + 5 + 62 + 50 + 62 + 1);
    EXPECT_EQ(root_->Finalize(), 5u + 5 + 5 + 62 + 50 + 62 + 1);
    EXPECT_EQ(delegate_->Complaints(), "");
  }
}

}  // namespace
}  // namespace protozero
