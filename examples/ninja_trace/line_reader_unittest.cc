// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/line_reader.h"

#include <string>
#include <string_view>

#include "examples/ninja_trace/testing/temporary_file.h"
#include "gtest/gtest.h"

namespace ninja_trace {

namespace {

using Result = LineReader::Result;

constexpr size_t kMax = LineReader::kMaxLineLength;

// Expects |reader| to return |result| and |text| for line |number|.
void ExpectLine(LineReader* reader,
                Result result,
                std::string_view text,
                uint64_t number) {
  std::string_view line;
  EXPECT_EQ(reader->Next(&line), result);
  if (result == Result::kLine || result == Result::kUnterminatedLine) {
    EXPECT_EQ(line, text);
  }
  EXPECT_EQ(reader->line_number(), number);
}

TEST(LineReaderTest, EmptyFileHasNoLine) {
  TemporaryFile file("");
  LineReader reader(file.get());
  ExpectLine(&reader, Result::kEndOfFile, "", 0);
  ExpectLine(&reader, Result::kEndOfFile, "", 0);
}

TEST(LineReaderTest, NewlineEndsLine) {
  TemporaryFile file("one\n\nthree\n");
  LineReader reader(file.get());
  ExpectLine(&reader, Result::kLine, "one", 1);
  ExpectLine(&reader, Result::kLine, "", 2);
  ExpectLine(&reader, Result::kLine, "three", 3);
  ExpectLine(&reader, Result::kEndOfFile, "", 3);
}

TEST(LineReaderTest, LastLineWithoutNewlineIsTold) {
  TemporaryFile file("one\ntw");
  LineReader reader(file.get());
  ExpectLine(&reader, Result::kLine, "one", 1);
  ExpectLine(&reader, Result::kUnterminatedLine, "tw", 2);
  ExpectLine(&reader, Result::kEndOfFile, "", 2);
}

TEST(LineReaderTest, NullCharactersAreOrdinary) {
  const std::string_view text("a\0b", 3);
  TemporaryFile file(std::string(text) + '\n');
  LineReader reader(file.get());
  ExpectLine(&reader, Result::kLine, text, 1);
}

TEST(LineReaderTest, LongestLineIsReturnedAndLongerOneIsNot) {
  const std::string longest(kMax, 'x');
  TemporaryFile file("a\n" + longest + "\n" + longest + "x\nb\n" + longest +
                     longest + longest + "\nc\n" + longest + "xx");
  LineReader reader(file.get());
  ExpectLine(&reader, Result::kLine, "a", 1);
  ExpectLine(&reader, Result::kLine, longest, 2);
  ExpectLine(&reader, Result::kTooLongLine, "", 3);
  ExpectLine(&reader, Result::kLine, "b", 4);
  ExpectLine(&reader, Result::kTooLongLine, "", 5);
  ExpectLine(&reader, Result::kLine, "c", 6);
  ExpectLine(&reader, Result::kTooLongLine, "", 7);
  ExpectLine(&reader, Result::kEndOfFile, "", 7);
}

TEST(LineReaderTest, LinesAreWholeWhereverTheBufferEnds) {
  // The length of these lines does not divide the buffer's.
  std::string content;
  const size_t count = 4 * kMax / 1000;
  for (size_t i = 0; i < count; ++i)
    content += std::string(999, static_cast<char>('a' + i % 26)) + '\n';
  TemporaryFile file(content);
  LineReader reader(file.get());
  for (size_t i = 0; i < count; ++i) {
    ExpectLine(&reader, Result::kLine,
               std::string(999, static_cast<char>('a' + i % 26)), i + 1);
  }
  ExpectLine(&reader, Result::kEndOfFile, "", count);
}

TEST(LineReaderTest, ReadErrorIsTold) {
  // A directory can be opened, but not read.
  FILE* file = fopen("/", "rb");
  ASSERT_NE(file, nullptr);
  LineReader reader(file);
  ExpectLine(&reader, Result::kReadError, "", 0);
  fclose(file);
}

}  // namespace

}  // namespace ninja_trace
