// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/waking_tracepoint.h"

#include <errno.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace {

using protozero::internal::ReadWakingTracepoint;
using protozero::internal::WakingTracepoint;

// A folder in which files stand as in tracefs.
class FakeTracefs {
 public:
  FakeTracefs()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("tracefs" + std::to_string(getpid()))) {
    std::filesystem::create_directories(Files());
  }
  ~FakeTracefs() { std::filesystem::remove_all(folder_); }
  void Write(const char* file, const std::string& text) const {
    std::ofstream(Files() / file) << text;
  }
  std::string folder() const { return folder_.string(); }

 private:
  std::filesystem::path Files() const {
    return folder_ / "events" / "sched" / "sched_waking";
  }
  const std::filesystem::path folder_;
};

constexpr char kFormat[] =
    "name: sched_waking\nID: 311\nformat:\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t pid;\toffset:28;\tsize:4;\tsigned:1;\n"
    "print fmt: \"pid=%d\", REC->pid\n";

TEST(WakingTracepointTest, TheFormatSaysWhereTheThreadIs) {
  const FakeTracefs files;
  files.Write("id", "311\n");
  files.Write("format", kFormat);
  const std::optional<WakingTracepoint> found =
      ReadWakingTracepoint(files.folder());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, 311u);
  EXPECT_EQ(found->woken_offset, 28u);
}

TEST(WakingTracepointTest, OtherFilesAreRefused) {
  const FakeTracefs files;
  EXPECT_FALSE(ReadWakingTracepoint(files.folder()));
  EXPECT_EQ(errno, ENOENT);
  files.Write("id", "311\n");
  files.Write("format", "\tfield:pid_t pid;\toffset:28;\tsize:8;\n");
  EXPECT_FALSE(ReadWakingTracepoint(files.folder()));
  EXPECT_EQ(errno, 0);
  files.Write("id", "none\n");
  files.Write("format", kFormat);
  EXPECT_FALSE(ReadWakingTracepoint(files.folder()));
}

}  // namespace
