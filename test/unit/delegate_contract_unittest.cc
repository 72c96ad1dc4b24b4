// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Delegates that break their contract: delegates that return invalid ranges,
// and delegates that write to the stream that is asking them.

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/contiguous_memory_range.h"
#include "protozero/message.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/write_status.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::ChunkedDelegate;
using test::ChunkedStream;
using test::Hex;

// A delegate that returns |first|, which has eight bytes, and then |bad| for
// ever.
class BadDelegate : public ScatteredStreamWriter::Delegate {
 public:
  BadDelegate(ContiguousMemoryRange first, ContiguousMemoryRange bad)
      : ranges_{first, bad} {}

  ContiguousMemoryRange GetNewBuffer() override {
    ++calls_;
    return ranges_[calls_ == 1 ? 0 : 1];
  }

  int calls() const { return calls_; }

 private:
  const ContiguousMemoryRange ranges_[2];
  int calls_ = 0;
};

class BadRangeTest : public testing::Test {
 protected:
  // Fills the first chunk, then runs |write|, which gets |bad|.
  void ExpectError(ContiguousMemoryRange bad,
                   WriteStatus status,
                   const std::function<void(ScatteredStreamWriter*)>& write) {
    std::string before(memory_, memory_ + sizeof(memory_));
    BadDelegate delegate({memory_ + 32, memory_ + 40}, bad);
    ScatteredStreamWriter writer(&delegate);
    writer.WriteBytes(reinterpret_cast<const uint8_t*>("abcdefg"), 7);
    before.replace(32, 7, "abcdefg");
    write(&writer);
    EXPECT_EQ(writer.status(), status);
    EXPECT_EQ(delegate.calls(), 2);
    EXPECT_EQ(writer.bytes_available(), 0u);
    // The stream may have used the last byte of the first chunk.
    before[39] = static_cast<char>(memory_[39]);
    EXPECT_EQ(Hex(memory_, sizeof(memory_)), Hex(before));
  }

  // Tests every way to write to a stream.
  void ExpectError(ContiguousMemoryRange bad, WriteStatus status) {
    ExpectError(bad, status, [](ScatteredStreamWriter* writer) {
      writer->WriteByte(1);
      writer->WriteByte(2);
    });
    ExpectError(bad, status, [](ScatteredStreamWriter* writer) {
      const std::string bytes(100, 'x');
      writer->WriteBytes(reinterpret_cast<const uint8_t*>(bytes.data()), 100);
    });
    ExpectError(bad, status, [](ScatteredStreamWriter* writer) {
      EXPECT_EQ(writer->ReserveBytes(4), nullptr);
    });
    ExpectError(bad, status,
                [](ScatteredStreamWriter* writer) { writer->Extend(); });
    ExpectError(bad, status, [](ScatteredStreamWriter* writer) {
      RootMessage<> message(writer);
      message.AppendVarInt(1, 300);
      Message* child = message.BeginNestedMessage<Message>(2);
      child->AppendFixed(3, uint64_t{4});
      child->AppendString(5, std::string(100, 'x'));
      EXPECT_EQ(message.Finalize(), 0u);
    });
  }

  uint8_t memory_[64] = {};
};

TEST_F(BadRangeTest, OneThatEndsBeforeItBegins) {
  for (const size_t size : {1u, 4u, 15u, 16u, 30u}) {
    ExpectError({memory_ + 31, memory_ + 31 - size},
                WriteStatus::kInvalidBuffer);
  }
  // The largest possible range.
  ExpectError({reinterpret_cast<uint8_t*>(UINTPTR_MAX), memory_},
              WriteStatus::kInvalidBuffer);
  ExpectError({memory_, nullptr}, WriteStatus::kInvalidBuffer);
}

TEST_F(BadRangeTest, OneThatIsEmptyOrInvalid) {
  ExpectError({memory_, memory_}, WriteStatus::kOutOfBuffer);
  ExpectError({nullptr, nullptr}, WriteStatus::kOutOfBuffer);
  ExpectError({nullptr, memory_}, WriteStatus::kOutOfBuffer);
}

TEST_F(BadRangeTest, OneThatIsTooShortForAReservation) {
  for (size_t size = 1; size < 4; ++size) {
    ExpectError({memory_ + 8, memory_ + 8 + size}, WriteStatus::kOutOfBuffer,
                [](ScatteredStreamWriter* writer) {
                  EXPECT_EQ(writer->ReserveBytes(4), nullptr);
                });
    ExpectError({memory_ + 8, memory_ + 8 + size}, WriteStatus::kOutOfBuffer,
                [](ScatteredStreamWriter* writer) {
                  RootMessage<> message(writer);
                  message.BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
                  EXPECT_EQ(message.Finalize(), 0u);
                });
  }
}

// The stream's owner gives it the bad range, instead of a delegate.
TEST_F(BadRangeTest, OneForReset) {
  constexpr char kAdvice[] = "ends before it begins";
  const ContiguousMemoryRange reversed = {memory_ + 32, memory_ + 2};
  const auto write = [&](ScatteredStreamWriter* writer) {
    writer->WriteByte(1);
    EXPECT_EQ(writer->status(), WriteStatus::kOutOfBuffer);
  };
  const auto construct = [&] {
    ScatteredStreamWriter writer(nullptr, reversed);
    EXPECT_EQ(writer.bytes_available(), 0u);
    write(&writer);
  };
  EXPECT_MISTAKE(construct(), kAdvice);
  const auto reset = [&] {
    ScatteredStreamWriter writer(nullptr);
    writer.Reset(reversed);
    EXPECT_EQ(writer.bytes_available(), 0u);
    write(&writer);
    writer.Reset(reversed);
    EXPECT_TRUE(writer.ok());
    write(&writer);
  };
  EXPECT_MISTAKE(reset(), kAdvice);
  const auto reset_message = [&] {
    ScatteredStreamWriter writer(nullptr);
    RootMessage<> message;
    for (int i = 0; i < 3; ++i) {
      message.Reset(&writer, reversed);
      message.AppendVarInt(1, 1);
      message.BeginNestedMessage<Message>(1)->AppendFixed(1, 1.0);
      message.AppendString(1, std::string(50, 'x'));
      EXPECT_EQ(message.Finalize(), 0u);
      EXPECT_EQ(writer.status(), WriteStatus::kOutOfBuffer);
    }
  };
  EXPECT_MISTAKE(reset_message(), kAdvice);
  EXPECT_EQ(Hex(memory_, sizeof(memory_)),
            Hex(std::string(sizeof(memory_), '\0')));
}

// Only debug builds check a delegate's answer for a size field.
TEST(BadPatchTest, OneThatIsNotZero) {
#if PROTOZERO_DCHECK_IS_ON
  class Delegate : public ChunkedDelegate {
   public:
    Delegate() : ChunkedDelegate(8) {}
    uint8_t* AnnotatePatch(uint8_t*) override { return patch_; }

   private:
    uint8_t patch_[4] = {0, 0, 0, 1};
  };
  Delegate delegate;
  ScatteredStreamWriter writer(&delegate);
  RootMessage<> message(&writer);
  Message* child = message.BeginNestedMessage<Message>(1);
  EXPECT_DEATH(child->AppendString(1, "0123456789"), "zero bytes");
#else
  GTEST_SKIP() << "not checked in release builds";
#endif
}

// A stream with a message. Its delegate does something that is not allowed.
class ReentrantStream {
 public:
  using Mistake = std::function<void(ReentrantStream*)>;

  // The delegate does that when it is asked for chunk number |chunk|.
  explicit ReentrantStream(int chunk) : stream_(size_t{24}), chunk_(chunk) {
    stream_.delegate.set_on_new_buffer([this] {
      if (chunk_-- == 0)
        mistake_(this);
    });
  }

  ScatteredStreamWriter* writer() { return &stream_.writer; }
  RootMessage<>* root() { return &root_; }
  Message* child() { return child_; }

  void Begin() {
    root_.Reset(writer());
    root_.AppendVarInt(1, 1);
  }
  void BeginChild() { child_ = root_.BeginNestedMessage<Message>(2); }

  // Runs |write|, which crosses chunks and so causes |mistake|. Then the stream
  // must be in the error state, even after more writes, and usable after a
  // reset.
  void Run(const std::function<void(ReentrantStream*)>& write,
           const Mistake& mistake) {
    mistake_ = mistake;
    write(this);
    EXPECT_LT(chunk_, 0) << "it was not asked";
    EXPECT_EQ(writer()->status(), WriteStatus::kReentered);
    writer()->WriteByte(1);
    if (!root_.is_finalized()) {
      root_.AppendVarInt(1, 1);
      root_.BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
      EXPECT_EQ(root_.Finalize(), 0u);
    }
    EXPECT_EQ(stream_.delegate.Complaints(), "");
    EXPECT_LE(stream_.delegate.num_chunks(), 2u);
    uint8_t buffer[32];
    writer()->Reset({buffer, buffer + sizeof(buffer)});
    EXPECT_TRUE(writer()->ok());
    root_.Reset(writer());
    root_.BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
    root_.AppendVarInt(2, 2);
    EXPECT_EQ(root_.Finalize(), 6u);
    EXPECT_EQ(Hex(buffer, 6), "0a 02 08 01 10 02");
  }

 private:
  ChunkedStream stream_;
  int chunk_;
  RootMessage<> root_;
  Message* child_ = nullptr;
  Mistake mistake_;
};

using Step = std::function<void(ReentrantStream*)>;

// Returns ways to cross a chunk while a message is open.
std::vector<Step> WaysToCross() {
  return {
      [](ReentrantStream* s) {
        s->Begin();
        s->root()->AppendString(3, std::string(40, 'x'));
      },
      [](ReentrantStream* s) {
        s->Begin();
        s->BeginChild();
        s->child()->AppendString(3, std::string(40, 'x'));
      },
      [](ReentrantStream* s) {
        s->Begin();
        s->BeginChild();
        s->child()->AppendVarInt(3, 3);
        s->writer()->Extend();
      },
      // The tag or the size field of a child crosses the chunk.
      [](ReentrantStream* s) {
        s->Begin();
        s->root()->AppendString(3, std::string(20, 'x'));
        s->BeginChild();
      },
      [](ReentrantStream* s) {
        s->Begin();
        s->BeginChild();
        s->child()->AppendString(3, std::string(10, 'x'));
        Message* child = s->child()->BeginNestedMessage<Message>(4);
        child->BeginNestedMessage<Message>(4);
      },
      [](ReentrantStream* s) {
        s->Begin();
        s->BeginChild();
        s->writer()->WriteBytes(
            reinterpret_cast<const uint8_t*>("0123456789012345678901234"), 25);
      },
  };
}

class ReentranceTest : public testing::Test {
 protected:
  void ExpectMistake(const std::vector<Step>& ways,
                     const ReentrantStream::Mistake& mistake,
                     int chunk = 1) {
    int way_number = 0;
    for (const Step& way : ways) {
      SCOPED_TRACE("way to cross " + std::to_string(way_number++));
      ReentrantStream stream(chunk);
      EXPECT_MISTAKE(stream.Run(way, mistake), "may look at the stream");
    }
  }
  // Makes the mistake when asked for the first chunk, and for the second. Death
  // tests are slow, so debug builds try only some ways.
  void ExpectMistake(const ReentrantStream::Mistake& mistake) {
    const std::vector<Step> all = WaysToCross();
#if PROTOZERO_DCHECK_IS_ON
    ExpectMistake({all[0]}, mistake, 0);
    ExpectMistake({all[1], all[4]}, mistake, 1);
#else
    ExpectMistake(all, mistake, 0);
    ExpectMistake(all, mistake, 1);
#endif
  }
};

TEST_F(ReentranceTest, WithFieldsOfTheOutermostMessage) {
  ExpectMistake([](ReentrantStream* s) { s->root()->AppendVarInt(5, 5); });
  ExpectMistake([](ReentrantStream* s) { s->root()->AppendTinyVarInt(5, 5); });
  ExpectMistake([](ReentrantStream* s) { s->root()->AppendFixed(5, 5.0); });
  ExpectMistake([](ReentrantStream* s) { s->root()->AppendString(5, "5"); });
  ExpectMistake([](ReentrantStream* s) {
    s->root()->AppendString(5, std::string(1000, 'x'));
  });
  ExpectMistake(
      [](ReentrantStream* s) { s->root()->AppendRawProtoBytes("555", 3); });
}

TEST_F(ReentranceTest, WithFieldsOfTheMessageThatIsWrittenTo) {
  const std::vector<Step> all = WaysToCross();
  const std::vector<Step> with_child{all[1], all[2], all[4], all[5]};
  ExpectMistake(with_child,
                [](ReentrantStream* s) { s->child()->AppendVarInt(5, 5); });
  ExpectMistake(with_child, [](ReentrantStream* s) {
    s->child()->AppendString(5, std::string(1000, 'x'));
  });
}

TEST_F(ReentranceTest, WithNestedMessages) {
  ExpectMistake([](ReentrantStream* s) {
    Message* child = s->root()->BeginNestedMessage<Message>(5);
    child->AppendVarInt(5, 5);
    child->BeginNestedMessage<Message>(5)->AppendString(5, "5");
  });
  ExpectMistake([](ReentrantStream* s) {
    s->root()->BeginNestedGroup<Message>(5)->AppendVarInt(5, 5);
  });
}

TEST_F(ReentranceTest, ByFinalizing) {
  ExpectMistake([](ReentrantStream* s) { s->root()->Finalize(); });
}

TEST_F(ReentranceTest, ByTakingBack) {
  const std::vector<Step> all = WaysToCross();
  ExpectMistake({all[1], all[2], all[4], all[5]}, [](ReentrantStream* s) {
    EXPECT_FALSE(s->root()->RollBackNestedMessage());
  });
}

TEST_F(ReentranceTest, ByBeginningTheMessageAgain) {
  ExpectMistake([](ReentrantStream* s) {
    s->Begin();
    s->BeginChild();
  });
}

TEST_F(ReentranceTest, ByBeginningAnotherMessage) {
  RootMessage<> other;
  ExpectMistake([&other](ReentrantStream* s) {
    other.Reset(s->writer());
    other.AppendVarInt(1, 1);
    other.BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
    other.Finalize();
  });
  ExpectMistake([&other](ReentrantStream* s) {
    other.Reset(s->writer());
    other.AppendVarInt(1, 1);
    other.BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
  });
}

TEST_F(ReentranceTest, WithBytesOfTheStream) {
  const std::string bytes(100, 'x');
  ExpectMistake([&bytes](ReentrantStream* s) {
    s->writer()->WriteBytes(reinterpret_cast<const uint8_t*>(bytes.data()),
                            bytes.size());
  });
  ExpectMistake([](ReentrantStream* s) {
    EXPECT_EQ(s->writer()->ReserveBytes(30), nullptr);
  });
  ExpectMistake([](ReentrantStream* s) { s->writer()->Extend(); });
}

TEST_F(ReentranceTest, ByResettingTheStream) {
  uint8_t buffer[64] = {};
  ExpectMistake([&buffer](ReentrantStream* s) {
    s->writer()->Reset({buffer, buffer + sizeof(buffer)});
  });
  EXPECT_EQ(Hex(buffer, sizeof(buffer)), Hex(std::string(64, '\0')));
}

// No message is open on the stream.
TEST_F(ReentranceTest, OfAStreamOfBytes) {
  const std::vector<Step> ways = {
      [](ReentrantStream* s) {
        for (int i = 0; i < 30; ++i)
          s->writer()->WriteByte(7);
      },
      [](ReentrantStream* s) {
        s->writer()->ReserveBytes(20);
        s->writer()->ReserveBytes(5);
      },
      [](ReentrantStream* s) {
        s->writer()->ReserveBytes(5);
        s->writer()->Extend();
      },
  };
  ExpectMistake(ways, [](ReentrantStream* s) { s->writer()->Extend(); });
  ExpectMistake(ways, [](ReentrantStream* s) {
    s->Begin();
    s->BeginChild();
    s->child()->AppendVarInt(1, 1);
  });
}

TEST_F(ReentranceTest, FromAnnotatePatch) {
  class Delegate : public ChunkedDelegate {
   public:
    Delegate() : ChunkedDelegate(24) {}
    uint8_t* AnnotatePatch(uint8_t* patch) override {
      message->AppendVarInt(1, 1);
      return patch;
    }
    RootMessage<>* message = nullptr;
  };
  const auto write = [] {
    Delegate delegate;
    ScatteredStreamWriter writer(&delegate);
    delegate.set_writer(&writer);
    RootMessage<> message(&writer);
    delegate.message = &message;
    Message* child = message.BeginNestedMessage<Message>(1);
    child->AppendString(1, std::string(30, 'x'));
    EXPECT_EQ(writer.status(), WriteStatus::kReentered);
    EXPECT_EQ(message.Finalize(), 0u);
    EXPECT_EQ(delegate.Complaints(), "");
  };
  EXPECT_MISTAKE(write(), "may look at the stream");
}

// A delegate is allowed to do this.
TEST(DelegateTest, MayLookAtTheStreamAndItsMessages) {
  ChunkedStream stream(size_t{24});
  RootMessage<> message(&stream.writer);
  Message* child = message.BeginNestedMessage<Message>(1);
  int calls = 0;
  stream.delegate.set_on_new_buffer([&] {
    ++calls;
    EXPECT_EQ(stream.writer.written(), 24u);
    EXPECT_EQ(stream.writer.bytes_available(), 0u);
    EXPECT_EQ(message.nested_message(), child);
    EXPECT_EQ(child->size_field(), stream.writer.cur_range().begin + 1);
    child->set_size_field(child->size_field());
    EXPECT_FALSE(child->is_finalized());
  });
  child->AppendString(1, std::string(30, 'x'));
  EXPECT_EQ(message.Finalize(), 37u);
  EXPECT_TRUE(stream.writer.ok());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace protozero
