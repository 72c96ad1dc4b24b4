// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Mistakes of callers with messages: debug builds stop, and release builds do
// no more harm than the comments say.

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/contiguous_memory_range.h"
#include "protozero/message.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/root_message.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::ChunkedStream;
using test::Hex;

// Messages that are sealed, while another message is in their place.

class StaleMessageTest : public testing::Test {
 protected:
  // Returns the parent of the tested messages, at the first or a deeper level.
  Message* Start(int levels, size_t chunk_size) {
    stream_.emplace(chunk_size);
    message_.Reset(&stream_->writer);
    message_.AppendVarInt(1, 1);
    Message* parent = &message_;
    for (int i = 0; i < levels; ++i)
      parent = parent->BeginNestedMessage<Message>(15);
    return parent;
  }

  void ExpectStale([[maybe_unused]] Message* stale) {
#if PROTOZERO_DCHECK_IS_ON
    constexpr char kAdvice[] = "this message is sealed";
    // Tries one way at a time, because a death takes long with sanitizers.
    switch (deaths_++ % 3) {
      case 0:
        EXPECT_DEATH(stale->AppendVarInt(3, 3), kAdvice);
        break;
      case 1:
        EXPECT_DEATH(stale->AppendString(3, "abc"), kAdvice);
        break;
      default:
        EXPECT_DEATH(stale->BeginNestedMessage<Message>(3), kAdvice);
    }
    EXPECT_TRUE(stale->is_finalized());
#endif
  }

  // A function that begins and ends a message in |parent| in some way, and
  // returns it.
  using Use = std::function<Message*(Message* parent)>;

  void ExpectStaleAfter(const Use& use) {
    for (const int levels : {0, 2}) {
      for (const size_t chunk_size : {size_t{20}, size_t{10000}}) {
        SCOPED_TRACE(std::to_string(levels) + " levels, chunks of " +
                     std::to_string(chunk_size));
        Message* const parent = Start(levels, chunk_size);
        Message* const stale = use(parent);
        Message* const live = parent->BeginNestedMessage<Message>(2);
        ExpectStale(stale);
        live->AppendVarInt(4, 4);
        Message* const below = live->BeginNestedMessage<Message>(2);
        ExpectStale(stale);
        below->AppendVarInt(4, 4);
        live->AppendVarInt(4, 4);
        ExpectStale(stale);
        ExpectStale(below);
        EXPECT_NE(message_.Finalize(), 0u);
        EXPECT_TRUE(stream_->writer.ok());
        if (chunk_size < 100)  // In small chunks, sizes have one byte or four.
          continue;
        const std::string bytes = stream_->Bytes();
        const std::string live_bytes = "20 04 12 02 20 04 20 04";
        EXPECT_EQ(bytes.substr(bytes.size() - live_bytes.size()), live_bytes);
      }
    }
  }

  std::optional<ChunkedStream> stream_;
  RootMessage<> message_;
  [[maybe_unused]] int deaths_ = 0;
};

TEST_F(StaleMessageTest, ThatASiblingHasEnded) {
  ExpectStaleAfter([](Message* parent) {
    Message* child = parent->BeginNestedMessage<Message>(2);
    child->AppendVarInt(1, 1);
    return child;
  });
}

TEST_F(StaleMessageTest, ThatItsParentHasEnded) {
  ExpectStaleAfter([](Message* parent) {
    Message* child = parent->BeginNestedMessage<Message>(2);
    parent->AppendVarInt(1, 1);
    return child;
  });
}

TEST_F(StaleMessageTest, ThatWasFinalized) {
  ExpectStaleAfter([](Message* parent) {
    Message* child = parent->BeginNestedMessage<Message>(2);
    child->AppendVarInt(1, 1);
    child->Finalize();
    return child;
  });
}

TEST_F(StaleMessageTest, ThatWasTakenBack) {
  ExpectStaleAfter([](Message* parent) {
    Message* child = parent->BeginNestedMessage<Message>(2);
    child->BeginNestedMessage<Message>(1);
    parent->RollBackNestedMessage();
    return child;
  });
}

TEST_F(StaleMessageTest, ThatIsAGroup) {
  ExpectStaleAfter([](Message* parent) {
    Message* child = parent->BeginNestedGroup<Message>(2);
    child->AppendVarInt(1, 1);
    return child;
  });
}

TEST_F(StaleMessageTest, ThatIsLong) {
  for (const size_t size : {200u, 600u}) {
    ExpectStaleAfter([size](Message* parent) {
      Message* child = nullptr;
      // Messages are expected to be long from the third one on.
      for (int i = 0; i < 4; ++i) {
        child = parent->BeginNestedMessage<Message>(2);
        child->AppendString(1, std::string(size, 'x'));
      }
      return child;
    });
  }
}

TEST_F(StaleMessageTest, ThatIsInAnotherOne) {
  ExpectStaleAfter([](Message* parent) {
    Message* child = parent->BeginNestedMessage<Message>(2);
    child->BeginNestedMessage<Message>(2)->AppendVarInt(1, 1);
    Message* last = child->BeginNestedMessage<Message>(2);
    last->AppendVarInt(1, 1);
    last->BeginNestedMessage<Message>(2)->AppendVarInt(1, 1);
    return last;
  });
}

TEST_F(StaleMessageTest, ThatWasTheFirstOfMany) {
  ExpectStaleAfter([](Message* parent) {
    Message* first = parent->BeginNestedMessage<Message>(2);
    for (int i = 0; i < 500; ++i) {
      Message* next = parent->BeginNestedMessage<Message>(2);
      next->AppendVarInt(1, 1);
      next->BeginNestedMessage<Message>(2)->AppendVarInt(1, 1);
      if (i % 3 == 0)
        parent->AppendVarInt(1, 1);
    }
    return first;
  });
}

// In release builds, sealed messages drop all fields. If another message has
// their memory, the fields go to that message.
TEST_F(StaleMessageTest, WritesToTheLiveOneInReleaseBuilds) {
#if PROTOZERO_DCHECK_IS_ON
  GTEST_SKIP() << "debug builds stop";
#else
  Message* const parent = Start(0, 100);
  Message* const stale = parent->BeginNestedMessage<Message>(2);
  parent->AppendVarInt(1, 1);
  stale->AppendVarInt(3, 3);
  Message* const live = parent->BeginNestedMessage<Message>(2);
  live->AppendVarInt(4, 4);
  stale->AppendVarInt(3, 3);
  live->AppendVarInt(5, 5);
  EXPECT_EQ(message_.Finalize(), 14u);
  EXPECT_EQ(stream_->Bytes(), "08 01 12 00 08 01 12 06 20 04 18 03 28 05");
  EXPECT_TRUE(stream_->writer.ok());
#endif
}

TEST_F(StaleMessageTest, ThatWasAbandonedWithItsRootMessage) {
  Message* const child = Start(0, 100)->BeginNestedMessage<Message>(2);
  Message* const below = child->BeginNestedMessage<Message>(2);
  Message* const live = Start(0, 100)->BeginNestedMessage<Message>(2);
  live->BeginNestedMessage<Message>(2);
  ExpectStale(child);
  ExpectStale(below);
  EXPECT_EQ(message_.Finalize(), 6u);
}

TEST_F(StaleMessageTest, ThatIsOfAnEarlierRootMessage) {
  for (const int count : {1, 2, 10}) {  // Messages in a root message.
    Message* const stale = Start(0, 1000)->BeginNestedMessage<Message>(2);
    stale->BeginNestedMessage<Message>(2);
    message_.Finalize();
    for (int begun = 2; begun + count <= 50; begun += count) {
      Start(0, 1000);
      for (int i = 0; i < count; ++i) {
        Message* const live = message_.BeginNestedMessage<Message>(2);
        EXPECT_EQ(live == stale, !PROTOZERO_DCHECK_IS_ON);
      }
      if (begun == 2)
        ExpectStale(stale);
      message_.Finalize();
    }
  }
}

// A root message never has two messages in one place, and a place is used again
// after 50 others at the earliest.
TEST_F(StaleMessageTest, HasItsPlaceForItself) {
#if PROTOZERO_DCHECK_IS_ON
  std::minstd_rand random(34);
  const auto one_in = [&random](unsigned n) { return random() % n == 0; };
  std::map<Message*, int> last_use;
  int begun = 0;
  for (int root = 0; root < 500; ++root) {
    Start(0, one_in(2) ? 50 : 10000);
    std::vector<Message*> open = {&message_};
    const int first = begun;
    const unsigned size = one_in(10) ? 300 : 30;
    while (!one_in(size)) {
      if (one_in(3) && open.size() > 1) {
        open.resize(1 + random() % (open.size() - 1));
        if (one_in(3)) {
          open.back()->RollBackNestedMessage();
        } else if (one_in(2)) {
          open.back()->AppendVarInt(1, 1);
        }
        continue;
      }
      Message* const child = one_in(5)
                                 ? open.back()->BeginNestedGroup<Message>(2)
                                 : open.back()->BeginNestedMessage<Message>(2);
      child->AppendString(1, std::string(one_in(9) ? 200 : 2, 'x'));
      open.push_back(child);
      const auto [it, is_new] = last_use.try_emplace(child, begun);
      if (!is_new) {
        ASSERT_LT(it->second, first) << "in this root message";
        ASSERT_GT(begun - it->second, 50);
        it->second = begun;
      }
      ++begun;
    }
    if (one_in(5))
      continue;  // Abandoned.
    EXPECT_NE(message_.Finalize(), 0u);
  }
#else
  GTEST_SKIP() << "not so in release builds";
#endif
}

// Field ids that are known at run time only.

class FieldIdTest : public testing::TestWithParam<uint32_t> {
 protected:
  FieldIdTest() : stream_(size_t{100}) { message_.Reset(&stream_.writer); }

  // Returns an id that compilers do not know.
  uint32_t id() const { return GetParam(); }

  ChunkedStream stream_;
  RootMessage<> message_;
};

class BadFieldIdTest : public FieldIdTest {
 protected:
  // Expects that |append| fails on the outermost message and on a nested one.
  template <typename Append>
  void ExpectMistake(const Append& append) {
    constexpr char kAdvice[] = "field ids are 1 to 536870911";
    EXPECT_MISTAKE(append(&message_), kAdvice);
    Message* const child = message_.BeginNestedMessage<Message>(1);
    EXPECT_MISTAKE(append(child), kAdvice);
    expected_ += "0a 00 ";
  }

  void TearDown() override {
    message_.AppendVarInt(2, 2);
    message_.Finalize();
    EXPECT_TRUE(stream_.writer.ok());
    EXPECT_EQ(stream_.Bytes(), expected_ + "10 02");
  }

  std::string expected_;
};

TEST_P(BadFieldIdTest, WritesNoNumber) {
  ExpectMistake([this](Message* m) { m->AppendVarInt(id(), 1); });
  ExpectMistake([this](Message* m) { m->AppendVarInt(id(), ~uint64_t{0}); });
  ExpectMistake([this](Message* m) { m->AppendSignedVarInt(id(), -1); });
  ExpectMistake([this](Message* m) { m->AppendTinyVarInt(id(), 1); });
  ExpectMistake([this](Message* m) { m->AppendBool(id(), true); });
  ExpectMistake([this](Message* m) { m->AppendFixed(id(), uint32_t{1}); });
  ExpectMistake([this](Message* m) { m->AppendDouble(id(), 1); });
}

TEST_P(BadFieldIdTest, WritesNoBytes) {
  const int32_t values[] = {1, -2, 300};
  uint8_t byte = 1;
  ExpectMistake([this](Message* m) { m->AppendString(id(), "abc"); });
  ExpectMistake(
      [this](Message* m) { m->AppendString(id(), std::string(1000, 'x')); });
  ExpectMistake([this](Message* m) { m->AppendBytes(id(), nullptr, 0); });
  ExpectMistake([this, &byte](Message* m) {
    ContiguousMemoryRange range{&byte, &byte + 1};
    EXPECT_EQ(m->AppendScatteredBytes(id(), &range, 1), 1u);
  });
  ExpectMistake([this](Message* m) { m->AppendBorrowedBytes(id(), "abc", 3); });
  ExpectMistake([this, &values](Message* m) {
    PackedVarInt::AppendField(m, id(), values, 3);
  });
  ExpectMistake([this](Message* m) {
    const std::string many(10000, '\x01');
    PackedVarInt::AppendField(
        m, id(), reinterpret_cast<const uint8_t*>(many.data()), many.size());
  });
  ExpectMistake([this, &values](Message* m) {
    PackedFixedSizeInt<int32_t>::AppendField(m, id(), values, 3);
  });
}

TEST_P(BadFieldIdTest, BeginsNoMessage) {
  const auto use = [](Message* child) {
    ASSERT_NE(child, nullptr);
    child->AppendVarInt(1, 1);
    child->AppendString(1, "abc");
    Message* below = child->BeginNestedMessage<Message>(1);
    below->AppendFixed(1, 1.0);
    EXPECT_EQ(below->Finalize(), 0u);
    EXPECT_EQ(child->Finalize(), 0u);
  };
  ExpectMistake([&](Message* m) { use(m->BeginNestedMessage<Message>(id())); });
  ExpectMistake([&](Message* m) { use(m->BeginNestedGroup<Message>(id())); });
}

INSTANTIATE_TEST_SUITE_P(
    Ids,
    BadFieldIdTest,
    testing::Values(0, 536870912, 536870913, uint32_t{1} << 31, UINT32_MAX));

class GoodFieldIdTest : public FieldIdTest {};

TEST_P(GoodFieldIdTest, IsWritten) {
  message_.AppendTinyVarInt(id(), 1);
  message_.BeginNestedMessage<Message>(id());
  message_.AppendString(id(), "");
  const size_t tag_size = GetParam() < 16 ? 1 : 5;
  EXPECT_EQ(message_.Finalize(), 3 * (tag_size + 1));
  EXPECT_TRUE(stream_.writer.ok());
}

INSTANTIATE_TEST_SUITE_P(Ids,
                         GoodFieldIdTest,
                         testing::Values(1, 2, 536870910, 536870911));

// Root messages that take turns on one stream.

TEST(InterleavedMessagesTest, OnlyTheOneThatBeganLastIsOpen) {
  ChunkedStream stream(size_t{100});
  RootMessage<> messages[3];
  uint8_t size_fields[3][4] = {};
  for (int i = 0; i < 3; ++i) {
    messages[i].Reset(&stream.writer);
    messages[i].set_size_field(size_fields[i]);
    messages[i].AppendVarInt(1, i);
  }
  constexpr char kAdvice[] = "another one began on its stream";
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(messages[i].is_finalized());
      EXPECT_MISTAKE(messages[i].AppendVarInt(2, i), kAdvice);
      EXPECT_MISTAKE(messages[i].BeginNestedMessage<Message>(3), kAdvice);
    }
    messages[2].AppendVarInt(2, 2);
  }
  // The messages ended as they were, without a size.
  EXPECT_EQ(messages[0].Finalize(), 0u);
  EXPECT_EQ(messages[1].Finalize(), 0u);
  EXPECT_EQ(messages[2].Finalize(), 6u);
  EXPECT_EQ(Hex(size_fields[0], 4), "00 00 00 00");
  EXPECT_EQ(Hex(size_fields[1], 4), "00 00 00 00");
  EXPECT_EQ(Hex(size_fields[2], 4), "86 80 80 00");
  EXPECT_EQ(stream.Bytes(), "08 00 08 01 08 02 10 02 10 02");
  EXPECT_TRUE(stream.writer.ok());
}

TEST(InterleavedMessagesTest, OneAfterTheOtherIsFine) {
  ChunkedStream stream(size_t{100});
  RootMessage<> messages[3];
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 3; ++i) {
      messages[i].Reset(&stream.writer);
      messages[i].AppendVarInt(1, i);
      EXPECT_EQ(messages[i].Finalize(), 2u);
    }
  }
  EXPECT_EQ(stream.Bytes(), "08 00 08 01 08 02 08 00 08 01 08 02");
}

}  // namespace
}  // namespace protozero
