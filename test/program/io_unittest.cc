// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/program/io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

namespace program {
namespace {

ino_t NumberOf(int fd) {
  struct stat status = {};
  fstat(fd, &status);
  return status.st_ino;
}

class InputTest : public testing::Test {
 protected:
  void TearDown() override { unlink(path_.c_str()); }

  int Create() const {
    return open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }

  const std::string path_ =
      testing::TempDir() + "input_test." + std::to_string(getpid());
};

TEST_F(InputTest, IsKnownByAnyName) {
  const int fd = Create();
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(IsInput(fd));
  NoteInput(path_);
  EXPECT_TRUE(IsInput(fd));
  const std::string link = path_ + ".link";
  ASSERT_EQ(::link(path_.c_str(), link.c_str()), 0);
  const int other = open(link.c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_TRUE(IsInput(other));
  close(other);
  close(fd);
  unlink(link.c_str());
}

TEST_F(InputTest, AFileThatIsGoneIsNone) {
  // Most file systems soon give its number to another file.
  bool is_same = false;
  for (int i = 0; i < 100 && !is_same; ++i) {
    const int fd = Create();
    ASSERT_GE(fd, 0);
    NoteInput(path_);
    const ino_t number = NumberOf(fd);
    close(fd);
    unlink(path_.c_str());
    const std::string name = path_ + ".other";
    const int other = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(other, 0);
    is_same = NumberOf(other) == number;
    EXPECT_FALSE(IsInput(other));
    close(other);
    unlink(name.c_str());
  }
}

}  // namespace
}  // namespace program
