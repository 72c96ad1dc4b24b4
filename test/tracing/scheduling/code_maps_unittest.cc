// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/code_maps.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "src/tracing/scheduling/elf_file.h"
#include "src/tracing/scheduling/process_files.h"
#include "src/tracing/scheduling/stack_table.h"

namespace protozero {
namespace internal {
namespace {

using RecordKind = KernelRecord::Kind;

KernelRecord MapOf(int32_t pid,
                   uint64_t address,
                   uint64_t size,
                   const char* path) {
  KernelRecord record;
  record.kind = RecordKind::kMap;
  record.subject_pid = pid;
  record.address = address;
  record.size = size;
  record.text = path;
  return record;
}

std::string PathAt(const CodeMaps& maps, int32_t pid, uint64_t address) {
  const CodeMaps::Map* const map = maps.Find(pid, address);
  return map == nullptr ? "" : map->path;
}

TEST(CodeMapsTest, LaterMapsReplaceEarlierOnes) {
  CodeMaps maps;
  maps.Add(MapOf(1, 0x1000, 0x1000, "//anon"));
  maps.Add(MapOf(1, 0x3000, 0x1000, "[vdso]"));
  EXPECT_EQ(PathAt(maps, 1, 0xfff), "");
  EXPECT_EQ(PathAt(maps, 1, 0x1fff), "//anon");
  EXPECT_EQ(PathAt(maps, 1, 0x2000), "");
  EXPECT_EQ(PathAt(maps, 1, 0x3000), "[vdso]");
  EXPECT_TRUE(maps.Find(1, 0x1000)->is_made_at_run_time());
  EXPECT_FALSE(maps.Find(1, 0x3000)->is_made_at_run_time());
  maps.Add(MapOf(1, 0x1800, 0x2000, "other"));
  EXPECT_EQ(PathAt(maps, 1, 0x1000), "");
  EXPECT_EQ(PathAt(maps, 1, 0x3000), "other");
  // Sizes that make no sense.
  maps.Add(MapOf(1, UINT64_MAX - 5, 100, "wraps"));
  maps.Add(MapOf(1, 0x9000, 0, "empty"));
  EXPECT_EQ(PathAt(maps, 1, UINT64_MAX - 1), "");
  EXPECT_EQ(PathAt(maps, 1, 0x9000), "");
}

TEST(CodeMapsTest, AChildHasItsParentsMapsUntilExec) {
  CodeMaps maps;
  maps.Add(MapOf(1, 0x1000, 0x1000, "a"));
  KernelRecord record;
  record.kind = RecordKind::kFork;
  record.pid = 1;
  record.subject_pid = 2;
  maps.Add(record);
  maps.Add(MapOf(1, 0x1000, 0x1000, "b"));
  EXPECT_EQ(PathAt(maps, 2, 0x1000), "a");
  record.kind = RecordKind::kExec;
  maps.Add(record);
  EXPECT_EQ(PathAt(maps, 2, 0x1000), "");
  EXPECT_EQ(PathAt(maps, 1, 0x1000), "b");
}

TEST(CodeMapsTest, FindsTheCodeOfThisProgram) {
  CodeMaps maps;
  maps.AddProcess(getpid());
  const auto address = reinterpret_cast<uintptr_t>(&PathAt);
  const CodeMaps::Map* const map = maps.Find(getpid(), address);
  ASSERT_NE(map, nullptr);
  EXPECT_NE(map->path.find("unittests"), std::string::npos) << map->path;
}

// A short program has ended when the recorder reads what it has mapped.
TEST(CodeMapsTest, KnowsTheFilesOfAProcessThatHasEnded) {
  const pid_t child = fork();
  if (child == 0)
    _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT),
            0);
  char program[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", program, sizeof(program) - 1), 0);
  const ElfFile file = ReadElfFile(program);
  ASSERT_FALSE(file.segments.empty());
  CodeMaps maps;
  const auto expect_known = [&](int32_t pid) {
    KernelRecord record = MapOf(pid, 0x1000000, 0x1000, program);
    record.file_offset = file.segments[0].file_offset;
    record.build_id = file.build_id;
    maps.Add(record);
    const CodeMaps::Map* const map = maps.Find(pid, 0x1000000);
    ASSERT_NE(map, nullptr);
    EXPECT_EQ(map->bias, file.BiasAt(record.file_offset));
    EXPECT_EQ(FileOf(pid, *map), program);
  };
  expect_known(child);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  expect_known(child);
}

// Returns how many stacks of the program lack frame pointers.
uint64_t BrokenAfter(const CodeMaps& maps, const std::vector<uint64_t>& stack) {
  StackTable stacks;
  stacks.Intern(maps, 1, stack);
  const auto broken = stacks.broken_in().find("program");
  return broken == stacks.broken_in().end() ? 0 : broken->second;
}

TEST(StackTableTest, StacksEndInTheLibraryThatCallsMain) {
  CodeMaps maps;
  maps.Add(MapOf(1, 0x1000, 0x1000, "program"));
  maps.Add(MapOf(1, 0x3000, 0x1000, "libc.so.6"));
  EXPECT_EQ(BrokenAfter(maps, {0x1010, 0x1020, 0x3010}), 0u);
  EXPECT_EQ(BrokenAfter(maps, {0x1010, 0x1020}), 1u);
}

TEST(StackTableTest, StacksOfAStaticProgramEndInIt) {
  CodeMaps maps;
  maps.Add(MapOf(1, 0x1000, 0x1000, "program"));
  maps.Add(MapOf(1, 0x5000, 0x1000, "[vdso]"));
  EXPECT_EQ(BrokenAfter(maps, {0x5010, 0x1010, 0x1020}), 0u);
  // Something has called it, too.
  EXPECT_EQ(BrokenAfter(maps, {0x1010}), 1u);
}

TEST(StackTableTest, DeepStacksAreNotBroken) {
  CodeMaps maps;
  maps.Add(MapOf(1, 0x1000, 0x1000, "program"));
  maps.Add(MapOf(1, 0x3000, 0x1000, "libc.so.6"));
  StackTable stacks;
  stacks.Intern(maps, 1, std::vector<uint64_t>(stacks.max_depth(), 0x1010));
  EXPECT_EQ(stacks.num_cut(), 1u);
  EXPECT_TRUE(stacks.broken_in().empty());
}

TEST(ElfFileTest, AnyBytesAreHarmless) {
  std::ifstream program("/proc/self/exe", std::ios::binary);
  std::string start(8192, '\0');
  program.read(start.data(), static_cast<std::streamsize>(start.size()));
  const ElfFile whole = ReadElfFile("/proc/self/exe");
  ASSERT_FALSE(whole.segments.empty());
  const ElfFile::Segment& code = whole.segments[0];
  EXPECT_EQ(whole.BiasAt(code.file_offset), code.address - code.file_offset);
  const std::string path = testing::TempDir() + "/elf_file_test";
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = start.substr(0, random() % start.size());
    for (unsigned changes = random() % 16; changes > 0 && !bytes.empty();
         --changes) {
      bytes[random() % std::min<size_t>(bytes.size(), 1200)] =
          static_cast<char>(random());
    }
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_LE(ReadElfFile(path).build_id.size(), 64u);
  }
  unlink(path.c_str());
}

}  // namespace
}  // namespace internal
}  // namespace protozero
