// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/ninja_log.h"

#include <stdint.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "examples/ninja_trace/line_reader.h"
#include "examples/ninja_trace/testing/temporary_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ninja_trace {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParseLogHeaderTest, VersionsFiveToSevenAreAccepted) {
  EXPECT_EQ(ParseLogHeader("# ninja log v5"), nullptr);
  EXPECT_EQ(ParseLogHeader("# ninja log v6"), nullptr);
  EXPECT_EQ(ParseLogHeader("# ninja log v7"), nullptr);
  EXPECT_EQ(ParseLogHeader("# ninja log v5\r"), nullptr);
}

TEST(ParseLogHeaderTest, OtherVersionsAreRefused) {
  for (const char* line : {"# ninja log v4", "# ninja log v8", "# ninja log v0",
                           "# ninja log v-5", "# ninja log v2147483647"}) {
    EXPECT_STREQ(ParseLogHeader(line),
                 "this version of the log is not supported; 5 to 7 are")
        << line;
  }
  for (const char* line :
       {"# ninja log v", "# ninja log v5 ", "# ninja log vfive",
        "# ninja log v 5", "# ninja log v4294967301"}) {
    EXPECT_STREQ(ParseLogHeader(line), "the version of the log is not a number")
        << line;
  }
}

TEST(ParseLogHeaderTest, OtherFilesAreRefused) {
  for (const char* line :
       {"", "#", "ninja log v5", " # ninja log v5", "#!/bin/sh",
        "\x7f"
        "ELF"}) {
    EXPECT_STREQ(ParseLogHeader(line),
                 "not a ninja log: it does not begin with '# ninja log v'")
        << line;
  }
}

TEST(ParseLogEntryTest, FieldsAreRead) {
  LogEntry entry;
  EXPECT_EQ(ParseLogEntry("1\t26\t1783021919000000001\tobj/a b.o\t1c846d92B3"
                          "caa7cd",
                          &entry),
            nullptr);
  EXPECT_EQ(entry.start_ms, 1u);
  EXPECT_EQ(entry.end_ms, 26u);
  EXPECT_EQ(entry.mtime, 1783021919000000001);
  EXPECT_EQ(entry.output, "obj/a b.o");
  EXPECT_EQ(entry.command_hash, 0x1c846d92b3caa7cdu);
}

TEST(ParseLogEntryTest, ExtremeValuesAreRead) {
  LogEntry entry;
  EXPECT_EQ(ParseLogEntry("0\t0\t0\tx\t0", &entry), nullptr);
  EXPECT_EQ(entry.end_ms, 0u);
  EXPECT_EQ(entry.mtime, 0);
  EXPECT_EQ(entry.command_hash, 0u);

  EXPECT_EQ(ParseLogEntry("2147483647\t2147483647\t-9223372036854775808\tx\t"
                          "ffffffffffffffff\r",
                          &entry),
            nullptr);
  EXPECT_EQ(entry.start_ms, 2147483647u);
  EXPECT_EQ(entry.mtime, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(entry.command_hash, UINT64_MAX);
}

TEST(ParseLogEntryTest, DamagedLinesAreRefusedWithTheReason) {
  const struct {
    std::string_view line;
    const char* reason;
  } cases[] = {
      {"", "fewer than five fields"},
      {"1\t2\t3\tx", "fewer than five fields"},
      {"1 2 3 x 4", "fewer than five fields"},
      {"1\t2\t3\tx\t4\t5", "more than five fields"},
      {"\t2\t3\tx\t4", "the start time is not a number of milliseconds"},
      {"-1\t2\t3\tx\t4", "the start time is not a number of milliseconds"},
      {"1.5\t2\t3\tx\t4", "the start time is not a number of milliseconds"},
      {"2147483648\t2147483649\t3\tx\t4",
       "the start time is not a number of milliseconds"},
      {"99999999999999999999\t2\t3\tx\t4",
       "the start time is not a number of milliseconds"},
      {"1\t2x\t3\tx\t4", "the end time is not a number of milliseconds"},
      {"1\t2147483648\t3\tx\t4",
       "the end time is not a number of milliseconds"},
      {"1\t0\t3\tx\t4", "the end time is before the start time"},
      {"1\t2\t\tx\t4", "the mtime is not a number"},
      {"1\t2\t9223372036854775808\tx\t4", "the mtime is not a number"},
      {"1\t2\t3\t\t4", "the output has no name"},
      {std::string_view("1\t2\t3\tx\0y\t4", 11),
       "the name of the output contains a null character"},
      {"1\t2\t3\tx\t",
       "the command hash is not a hexadecimal number of up to 64 bits"},
      {"1\t2\t3\tx\t0x4",
       "the command hash is not a hexadecimal number of up to 64 bits"},
      {"1\t2\t3\tx\t12345678901234567",
       "the command hash is not a hexadecimal number of up to 64 bits"},
  };
  for (const auto& test_case : cases) {
    LogEntry entry;
    EXPECT_STREQ(ParseLogEntry(test_case.line, &entry), test_case.reason)
        << test_case.line;
  }
}

// The result of ReadNinjaLog() for a file.
struct ReadResult {
  bool is_log;
  std::vector<std::string> reports;
  // The first outputs of all steps, in the order of the log.
  std::vector<std::string> outputs;
};

ReadResult Read(std::string_view content) {
  TemporaryFile file(content);
  BuildHistory history(BuildHistory::Keep::kAllBuilds);
  ReadResult result;
  result.is_log = ReadNinjaLog(
      file.get(),
      [&](uint64_t line, std::string_view reason) {
        result.reports.push_back(std::to_string(line) + ": " +
                                 std::string(reason));
      },
      &history);
  for (const Build& build : history.TakeBuilds()) {
    for (const BuildStep& step : build.steps)
      result.outputs.push_back(step.outputs.front());
  }
  return result;
}

TEST(ReadNinjaLogTest, EntriesAreReadAndCommentsAreNot) {
  const ReadResult result = Read(
      "# ninja log v6\n"
      "1\t2\t0\ta\t1\n"
      "# a comment\n"
      "\n"
      "1\t3\t0\tb\t2\n");
  EXPECT_TRUE(result.is_log);
  EXPECT_THAT(result.reports, IsEmpty());
  EXPECT_THAT(result.outputs, ElementsAre("a", "b"));
}

TEST(ReadNinjaLogTest, DamagedLinesAreReportedAndPassedOver) {
  const ReadResult result = Read(
      "# ninja log v5\n"
      "1\t2\t0\ta\t1\n"
      "garbage\n"
      "1\t3\t0\tb\t2\n" +
      std::string(LineReader::kMaxLineLength + 1, 'x') +
      "\n"
      "1\t4\t0\tc\t3\n"
      "1\t5\t0\tcut off\t4");
  EXPECT_TRUE(result.is_log);
  EXPECT_THAT(
      result.reports,
      ElementsAre("3: fewer than five fields", "5: the line is too long",
                  "7: the file ends in the middle of this line"));
  EXPECT_THAT(result.outputs, ElementsAre("a", "b", "c"));
}

TEST(ReadNinjaLogTest, LogWithoutEntriesIsALog) {
  const ReadResult result = Read("# ninja log v7\n");
  EXPECT_TRUE(result.is_log);
  EXPECT_THAT(result.reports, IsEmpty());
  EXPECT_THAT(result.outputs, IsEmpty());
}

TEST(ReadNinjaLogTest, OtherFilesAreRefused) {
  ReadResult result = Read("");
  EXPECT_FALSE(result.is_log);
  EXPECT_THAT(result.reports, ElementsAre("1: the file is empty"));

  result = Read("1\t2\t0\ta\t1\n");
  EXPECT_FALSE(result.is_log);
  EXPECT_THAT(
      result.reports,
      ElementsAre(
          "1: not a ninja log: it does not begin with '# ninja log v'"));

  result = Read("# ninja log v4\n1\t2\t0\ta\t1\n");
  EXPECT_FALSE(result.is_log);
  EXPECT_THAT(
      result.reports,
      ElementsAre("1: this version of the log is not supported; 5 to 7 are"));

  result = Read("# ninja log v5");
  EXPECT_FALSE(result.is_log);
  EXPECT_THAT(result.reports,
              ElementsAre("1: the file ends in the middle of this line"));
}

TEST(ReadNinjaLogTest, AnotherHeaderStartsAnotherBuild) {
  TemporaryFile file(
      "# ninja log v5\n"
      "1\t2\t0\ta\t1\n"
      "# ninja log v5\n"
      "1\t2\t0\tb\t1\n"
      "# ninja log v9\n");
  BuildHistory history(BuildHistory::Keep::kAllBuilds);
  std::vector<uint64_t> reported_lines;
  EXPECT_TRUE(ReadNinjaLog(
      file.get(),
      [&](uint64_t line, std::string_view) { reported_lines.push_back(line); },
      &history));
  EXPECT_THAT(reported_lines, ElementsAre(5u));
  EXPECT_EQ(history.TakeBuilds().size(), 2u);
}

TEST(ReadNinjaLogTest, FileThatCannotBeReadIsReported) {
  FILE* file = fopen("/", "rb");
  ASSERT_NE(file, nullptr);
  BuildHistory history(BuildHistory::Keep::kLastBuild);
  std::string reason;
  EXPECT_FALSE(ReadNinjaLog(
      file, [&](uint64_t, std::string_view r) { reason = r; }, &history));
  EXPECT_EQ(reason, "Is a directory");
  fclose(file);
}

}  // namespace

}  // namespace ninja_trace
