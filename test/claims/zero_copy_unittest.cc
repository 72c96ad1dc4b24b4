// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The claim: setters encode straight into the delegate's chunk. The tests look
// at the chunk after every setter: all its bytes are there, and nothing else
// changed.

#include <stdint.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/packed_repeated_fields.h"
#include "protozero/root_message.h"
#include "test/claims/claims.pbzero.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using claims::pbzero::Everything;
using test::ChunkedDelegate;
using test::ChunkedStream;
using test::FromHex;
using test::Hex;

// A setter and the bytes that it must leave behind.
struct Step {
  const char* hex;
  std::function<void(Everything*)> set;
};

const std::vector<Step>& Steps() {
  static const auto* const steps = new std::vector<Step>{
      {"09 00 00 00 00 00 00 f0 3f",
       [](Everything* m) { m->set_double_value(1.0); }},
      {"15 00 00 80 bf", [](Everything* m) { m->set_float_value(-1.0f); }},
      {"18 ff ff ff ff ff ff ff ff ff 01",
       [](Everything* m) { m->set_int32_value(-1); }},
      {"20 80 80 80 80 80 80 80 80 80 01",
       [](Everything* m) { m->set_int64_value(INT64_MIN); }},
      {"28 ac 02", [](Everything* m) { m->set_uint32_value(300); }},
      {"30 80 80 80 80 80 80 80 80 01",
       [](Everything* m) { m->set_uint64_value(uint64_t{1} << 56); }},
      {"38 03", [](Everything* m) { m->set_sint32_value(-2); }},
      {"40 04", [](Everything* m) { m->set_sint64_value(2); }},
      {"4d 04 03 02 01",
       [](Everything* m) { m->set_fixed32_value(0x01020304); }},
      {"51 08 07 06 05 04 03 02 01",
       [](Everything* m) { m->set_fixed64_value(0x0102030405060708); }},
      {"5d ff ff ff ff", [](Everything* m) { m->set_sfixed32_value(-1); }},
      {"61 fe ff ff ff ff ff ff ff",
       [](Everything* m) { m->set_sfixed64_value(-2); }},
      {"68 01", [](Everything* m) { m->set_bool_value(true); }},
      {"72 03 61 62 63", [](Everything* m) { m->set_string_value("abc"); }},
      {"7a 02 00 ff",
       [](Everything* m) {
         m->set_bytes_value(std::string_view("\x00\xff", 2));
       }},
      {"80 01 ff ff ff ff ff ff ff ff ff 01",
       [](Everything* m) { m->set_direction(claims::pbzero::WEST); }},
      {"88 01 07", [](Everything* m) { m->add_numbers(7); }},
      {"92 01 03 01 ac 02",
       [](Everything* m) {
         PackedVarInt packed;
         packed.Append(1);
         packed.Append(300);
         m->set_packed_numbers(packed);
       }},
      {"9a 01 02 01 02",
       [](Everything* m) {
         PackedSignedVarInt packed;
         packed.Append(-1);
         packed.Append(1);
         m->set_packed_signed_numbers(packed);
       }},
      // A map entry is open until the next setter: four bytes for its size.
      {"aa 01 00 00 00 00", [](Everything* m) { m->add_counts(); }},
  };
  return *steps;
}

std::string Filler(size_t size) {
  return std::string(size, static_cast<char>(ChunkedDelegate::kUnwritten));
}

TEST(ZeroCopyTest, BytesAreInTheChunkAsSoonAsTheSetterReturns) {
  for (const Step& step : Steps()) {
    constexpr size_t kChunkSize = 100;
    ChunkedStream stream(kChunkSize);
    RootMessage<Everything> message;
    message.Reset(&stream.writer);
    // Writes it twice, so that the second one is not at the chunk's beginning.
    const std::string bytes = FromHex(step.hex);
    for (size_t i = 0; i < 2; ++i) {
      if (i == 1 && message.nested_message() != nullptr)
        break;
      step.set(&message);
      std::string expected;
      for (size_t j = 0; j <= i; ++j)
        expected += bytes;
      EXPECT_EQ(stream.delegate.num_chunks(), 1u);
      EXPECT_EQ(stream.writer.written(), expected.size());
      EXPECT_EQ(Hex(stream.delegate.CurrentChunk().substr(0, expected.size())),
                Hex(expected));
    }
  }
}

TEST(ZeroCopyTest, ChunksThatAreFullHoldTheirBytesForGood) {
  // In chunks of every size, all bytes up to the cursor are in place at once.
  for (size_t chunk_size = 4; chunk_size <= 64; ++chunk_size) {
    ChunkedStream stream(chunk_size);
    RootMessage<Everything> message;
    message.Reset(&stream.writer);
    std::string expected;
    for (const Step& step : Steps()) {
      step.set(&message);
      expected += FromHex(step.hex);
      ASSERT_EQ(stream.Bytes(), Hex(expected)) << chunk_size;
    }
    EXPECT_EQ(stream.delegate.Complaints(), "");
  }
}

TEST(ZeroCopyTest, FieldsOfNestedMessagesAreInTheChunkWhileTheyAreOpen) {
  ChunkedStream stream(64);
  RootMessage<Everything> message;
  message.Reset(&stream.writer);
  Everything* child = message.set_child();
  child->set_bool_value(true);
  // The number of bytes reserved for a size depends on the processor, too.
  const std::string open = "b2 01 00 (00 00 00 )?68 01 ";
  EXPECT_THAT(Hex(stream.delegate.CurrentChunk()),
              testing::MatchesRegex(open + ".*"));
  child->set_child()->set_bool_value(true);
  EXPECT_THAT(Hex(stream.delegate.CurrentChunk()),
              testing::MatchesRegex(open + open + ".*"));
  message.Finalize();
  EXPECT_EQ(Hex(stream.delegate.CurrentChunk().substr(0, 10)),
            "b2 01 07 68 01 b2 01 02 68 01");
}

TEST(ZeroCopyTest, ALongStringIsInTheChunkAtOnce) {
  // The string is larger than any sensible intermediate buffer.
  constexpr size_t kSize = 1 << 20;
  ChunkedStream stream(2 * kSize);
  RootMessage<Everything> message;
  message.Reset(&stream.writer);
  const std::string string(kSize, 'x');
  message.set_string_value(string);
  EXPECT_EQ(stream.writer.written(), 4 + kSize);
  const std::string chunk = stream.delegate.CurrentChunk();
  EXPECT_TRUE(chunk.substr(4, kSize) == string);
  EXPECT_TRUE(chunk.substr(4 + kSize) == Filler(chunk.size() - 4 - kSize));
}

}  // namespace
}  // namespace protozero
