// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/delimited_writer.h"

#include <stdint.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/static_buffer.h"

namespace protozero {
namespace {

// Appends all pieces to a string, and counts its calls.
struct StringSink {
  bool operator()(const ContiguousMemoryRange* pieces, size_t count) const {
    ++*calls;
    for (size_t i = 0; i < count; ++i)
      out->append(reinterpret_cast<const char*>(pieces[i].begin),
                  pieces[i].size());
    return out->size() < limit;
  }
  std::string* out;
  int* calls;
  size_t limit = SIZE_MAX;
};

// Splits a stream by hand. Returns "malformed" as its last message if it is.
std::vector<std::string> Split(const std::string& stream) {
  std::vector<std::string> messages;
  for (size_t i = 0; i < stream.size();) {
    uint64_t size = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(stream[i++]);
      size |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80 || i == stream.size())
        break;
    }
    if (size > stream.size() - i) {
      messages.push_back("malformed");
      break;
    }
    messages.push_back(stream.substr(i, size));
    i += size;
  }
  return messages;
}

TEST(DelimitedWriterTest, EachMessageFollowsItsSize) {
  std::string stream;
  int calls = 0;
  DelimitedWriter writer(StringSink{&stream, &calls});
  HeapBuffered<Message> message;
  message->AppendVarInt(1, 150);
  EXPECT_TRUE(writer.Write(&message));
  message.Reset();
  EXPECT_TRUE(writer.Write(&message));  // Empty.
  const StackBuffered<Message, 8> none;
  EXPECT_TRUE(writer.Write(none.data(), 0));
  EXPECT_TRUE(writer.Write("\x08\x01", 2));
  EXPECT_EQ(stream, std::string("\x03\x08\x96\x01\0\0\x02\x08\x01", 9));
  EXPECT_EQ(calls, 4);
}

TEST(DelimitedWriterTest, SizesOfEachLengthInPiecesOfEachSize) {
  for (const size_t slice : {4u, 128u, 4096u}) {
    std::string stream;
    int calls = 0;
    DelimitedWriter writer(StringSink{&stream, &calls});
    std::vector<std::string> expected;
    for (const size_t size : {1u, 125u, 126u, 16000u, 16400u, 100000u}) {
      HeapBuffered<Message> message(slice, slice);
      const std::string bytes(size, 'x');
      message->AppendBytes(1, bytes.data(), bytes.size());
      expected.push_back(message.SerializeAsString());
      EXPECT_TRUE(writer.Write(&message));
    }
    EXPECT_EQ(Split(stream), expected);
  }
}

TEST(DelimitedWriterTest, MessageThatIsNotWholeIsLeftOut) {
  // The second slice lacks memory.
  class OneSlice : public BufferAllocator {
   public:
    void* Allocate(size_t size) override {
      if (is_taken_)
        return nullptr;
      is_taken_ = true;
      return malloc(size);
    }
    void Deallocate(void* memory, size_t) override { free(memory); }

   private:
    bool is_taken_ = false;
  };
  std::string stream;
  int calls = 0;
  DelimitedWriter writer(StringSink{&stream, &calls});
  OneSlice allocator;
  HeapBuffered<Message> message(16, 16, &allocator);
  for (int i = 0; i < 20; ++i)
    message->AppendVarInt(1, i);
  ASSERT_FALSE(message.ok());
  EXPECT_FALSE(writer.Write(&message));
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(writer.ok());
  EXPECT_TRUE(writer.Write("a", 1));
  EXPECT_EQ(stream, "\1a");
}

TEST(DelimitedWriterTest, SinkThatHasFailedIsNotCalledAgain) {
  std::string stream;
  int calls = 0;
  DelimitedWriter writer(StringSink{&stream, &calls, 4});
  EXPECT_TRUE(writer.Write("ab", 2));
  EXPECT_FALSE(writer.Write("cd", 2));
  EXPECT_FALSE(writer.ok());
  EXPECT_FALSE(writer.Write("ef", 2));
  EXPECT_EQ(calls, 2);
}

TEST(DelimitedWriterTest, MessageThatNoReaderTakesIsRefused) {
  if (sizeof(size_t) < 8)
    GTEST_SKIP() << "no message is so large here";
  std::string stream;
  int calls = 0;
  DelimitedWriter writer(StringSink{&stream, &calls});
  // Not read.
  EXPECT_FALSE(writer.Write("", size_t{1} << 31));
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(writer.ok());
}

}  // namespace
}  // namespace protozero
