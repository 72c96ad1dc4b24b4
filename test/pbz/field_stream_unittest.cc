// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/field_stream.h"

#include <sys/resource.h>

#include <string>

#include "gtest/gtest.h"
#include "test/pbz/testing.h"

namespace pbz {

namespace {

// Returns the runs of a file, with a bar between them.
std::string Runs(const std::string& bytes, size_t block_size) {
  const ScopedFile file = FileOf(bytes);
  FieldStream stream(file.get(), block_size);
  FieldStream::Run run;
  std::string result;
  uint64_t offset = 0;
  while (stream.Next(&run)) {
    EXPECT_EQ(run.offset, offset);
    offset += run.size;
    result.append(reinterpret_cast<const char*>(run.data), run.size);
    result += '|';
  }
  EXPECT_EQ(stream.error(), "");
  EXPECT_FALSE(stream.Next(&run));
  result += std::to_string(stream.SkipRest());
  return result;
}

TEST(FieldStreamTest, CutsWhereFieldsEnd) {
  const std::string bytes = Bytes("0801 1202 6162 0802 1d00000000");
  EXPECT_EQ(Runs(bytes, 100), bytes + "|0");
  EXPECT_EQ(Runs(bytes, 4), Bytes("0801") + '|' + Bytes("12026162") + '|' +
                                Bytes("0802") + '|' + Bytes("1d00000000") +
                                "|0");
  EXPECT_EQ(Runs("", 4), "0");
}

TEST(FieldStreamTest, EveryBlockSizeGivesAllBytes) {
  std::string bytes;
  for (char size = 0; size < 60; ++size)
    bytes += Bytes("12") + size + std::string(static_cast<size_t>(size), 'x');
  bytes += Bytes("0b 0801 12026162 1b 1c 0c");  // Groups.
  for (size_t block_size = 1; block_size < bytes.size() + 2; ++block_size) {
    std::string runs = Runs(bytes, block_size);
    ASSERT_EQ(runs.back(), '0') << block_size;
    runs.pop_back();
    std::string joined;
    for (const char c : runs) {
      if (c != '|')
        joined += c;
    }
    ASSERT_EQ(joined, bytes) << block_size;
  }
}

TEST(FieldStreamTest, EveryBlockSizeGivesAllMessages) {
  std::string bytes;
  for (size_t size = 0; size < 150; ++size) {
    bytes += size < 128 ? std::string(1, static_cast<char>(size))
                        : std::string(1, static_cast<char>(size)) + '\1';
    bytes += std::string(size, 'x');
  }
  for (size_t block_size = 1; block_size < 400; ++block_size) {
    const ScopedFile file = FileOf(bytes);
    FieldStream stream(file.get(), block_size, Framing::kDelimited);
    bool is_whole = true;
    EXPECT_EQ(stream.Peek(&is_whole).size, block_size);
    EXPECT_FALSE(is_whole);
    FieldStream::Run run;
    uint64_t offset = 0;
    for (size_t size = 0; size < 150; ++size) {
      ASSERT_TRUE(stream.Next(&run));
      ASSERT_EQ(run.size, size);
      ASSERT_EQ(run.size_size, size < 128 ? 1u : 2u);
      ASSERT_EQ(run.malformed, nullptr);
      ASSERT_EQ(run.offset, offset + run.size_size);
      offset = run.offset + size;
    }
    EXPECT_FALSE(stream.Next(&run));
    EXPECT_EQ(stream.SkipRest(), 0u);
  }
}

TEST(FieldStreamTest, EndsWithWhatIsTruncated) {
  EXPECT_EQ(Runs(Bytes("0801 12056162"), 4),
            Bytes("0801") + '|' + Bytes("12056162") + "|0");
  EXPECT_EQ(Runs(Bytes("0801 0b0801"), 100),
            Bytes("0801") + '|' + Bytes("0b0801") + "|0");
}

TEST(FieldStreamTest, EndsWithWhatIsMalformed) {
  // Field id 0 comes after one field.
  const std::string rest(100, 'x');
  EXPECT_EQ(Runs(Bytes("0801 00") + rest, 4),
            Bytes("0801") + '|' + Bytes("00") + "x|99");
}

// The reader must not trust a size of 2^62.
TEST(FieldStreamTest, MemoryFollowsTheBytesThatAreThere) {
  const std::string bytes =
      Bytes("12 ffffffffffffffff3f") + std::string(9, 'x');
  rusage before;
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(Runs(bytes, 4), bytes + "|0");
  rusage after;
  getrusage(RUSAGE_SELF, &after);
  // In KiB, and the most there was.
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32 << 10);
}

TEST(FieldStreamTest, RestartsWhereItBegan) {
  const ScopedFile file = FileOf(Bytes("0801 0802 0803"));
  fseek(file.get(), 2, SEEK_SET);
  FieldStream stream(file.get(), 2);
  FieldStream::Run run;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream.Next(&run));
    EXPECT_EQ(run.offset, 0u);
    EXPECT_EQ(run.data[1], 2);
    while (stream.Next(&run)) {
    }
    EXPECT_TRUE(stream.Restart());
  }
}

TEST(FieldStreamTest, ReportsErrorsOfTheSystem) {
  const ScopedFile file(fopen("/", "rb"), fclose);
  ASSERT_TRUE(file);
  FieldStream stream(file.get());
  FieldStream::Run run;
  EXPECT_FALSE(stream.Next(&run));
  EXPECT_EQ(stream.error(), "Is a directory");
}

}  // namespace

}  // namespace pbz
