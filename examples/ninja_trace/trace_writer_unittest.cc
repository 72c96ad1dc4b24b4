// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/trace_writer.h"

#include <stdio.h>

#include <string>

#include "examples/ninja_trace/testing/temporary_file.h"
#include "examples/ninja_trace/testing/trace_checker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ninja_trace {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

BuildStep Step(std::vector<std::string> outputs) {
  BuildStep step;
  step.mtime = -1;
  step.command_hash = UINT64_MAX;
  step.outputs = std::move(outputs);
  return step;
}

TEST(TraceWriterTest, TraceWithoutStepsHasAProcess) {
  TemporaryFile file;
  TraceWriter writer(file.get(), "out/x");
  EXPECT_TRUE(writer.Finish());
  EXPECT_EQ(writer.packet_count(), 1u);
  const TraceChecker trace(file.ReadContent());
  EXPECT_THAT(trace.problems(), IsEmpty());
  EXPECT_EQ(trace.process_name(), "out/x");
  EXPECT_EQ(trace.packet_count(), 1u);
}

TEST(TraceWriterTest, StepsBecomeSlices) {
  TemporaryFile file;
  TraceWriter writer(file.get(), "out");
  writer.BeginBuild(3, 1000);
  writer.BeginStep(0, Step({"a.o"}), 1000);
  writer.BeginStep(1, Step({"gen/b.h", "gen/b.cc"}), 2000);
  writer.EndStep(0, 5000);
  BuildStep no_mtime = Step({"liba.a"});
  no_mtime.mtime = 0;
  writer.BeginStep(0, no_mtime, 5000);
  writer.EndStep(0, 5000);
  writer.EndStep(1, UINT64_MAX);
  writer.EndBuild(UINT64_MAX);
  ASSERT_TRUE(writer.Finish());

  const TraceChecker trace(file.ReadContent());
  EXPECT_THAT(trace.problems(), IsEmpty());
  EXPECT_EQ(trace.packet_count(), writer.packet_count());
  EXPECT_THAT(trace.track_names(), ElementsAre("slot 1", "slot 2"));
  ASSERT_EQ(trace.slices().size(), 4u);

  const Slice& build = trace.slices()[0];
  EXPECT_EQ(build.track, "out");
  EXPECT_EQ(build.name, "build 3");
  EXPECT_EQ(build.category, "build");
  EXPECT_EQ(build.begin, 1000u);
  EXPECT_EQ(build.end, UINT64_MAX);

  const Slice& compile = trace.slices()[1];
  EXPECT_EQ(compile.track, "slot 1");
  EXPECT_EQ(compile.name, "a.o");
  EXPECT_EQ(compile.category, "compile");
  EXPECT_EQ(compile.begin, 1000u);
  EXPECT_EQ(compile.end, 5000u);
  EXPECT_EQ(compile.command_hash, UINT64_MAX);
  EXPECT_EQ(compile.mtime, -1);
  EXPECT_THAT(compile.outputs, IsEmpty());

  const Slice& generate = trace.slices()[2];
  EXPECT_EQ(generate.track, "slot 2");
  EXPECT_EQ(generate.name, "gen/b.h");
  EXPECT_EQ(generate.category, "generate");
  EXPECT_EQ(generate.end, UINT64_MAX);
  EXPECT_THAT(generate.outputs, ElementsAre("gen/b.h", "gen/b.cc"));

  const Slice& archive = trace.slices()[3];
  EXPECT_EQ(archive.category, "archive");
  EXPECT_EQ(archive.begin, archive.end);
  EXPECT_EQ(archive.mtime, 0);
}

TEST(TraceWriterTest, BatchesTogetherAreOneTrace) {
  TemporaryFile file;
  TraceWriter writer(file.get(), "out");
  const uint64_t count = 20'000;
  long written = 0;
  for (uint64_t i = 0; i < count; ++i) {
    writer.BeginStep(0, Step({"obj/" + std::to_string(i) + ".o"}), i);
    writer.EndStep(0, i + 1);
    // A batch leaves the memory only when it is whole, and at once.
    const long batch = ftell(file.get()) - written;
    if (batch != 0) {
      EXPECT_GE(batch, long{TraceWriter::kBatchSize});
      EXPECT_LT(batch, long{TraceWriter::kBatchSize} + 1000);
    }
    written += batch;
  }
  EXPECT_GT(written, 10 * long{TraceWriter::kBatchSize});
  ASSERT_TRUE(writer.Finish());

  const TraceChecker trace(file.ReadContent());
  EXPECT_THAT(trace.problems(), IsEmpty());
  EXPECT_EQ(trace.packet_count(), writer.packet_count());
  ASSERT_EQ(trace.slices().size(), count);
  for (uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(trace.slices()[i].name, "obj/" + std::to_string(i) + ".o");
    EXPECT_EQ(trace.slices()[i].begin, i);
    EXPECT_EQ(trace.slices()[i].end, i + 1);
  }
}

TEST(TraceWriterTest, PacketMayBeLargerThanABatch) {
  TemporaryFile file;
  TraceWriter writer(file.get(), "out");
  const std::string long_name(3 * TraceWriter::kBatchSize, 'x');
  writer.BeginStep(0, Step({long_name, "b", long_name}), 1);
  writer.EndStep(0, 2);
  ASSERT_TRUE(writer.Finish());

  const TraceChecker trace(file.ReadContent());
  EXPECT_THAT(trace.problems(), IsEmpty());
  ASSERT_EQ(trace.slices().size(), 1u);
  EXPECT_EQ(trace.slices()[0].name, long_name);
  EXPECT_THAT(trace.slices()[0].outputs,
              ElementsAre(long_name, "b", long_name));
}

TEST(TraceWriterTest, NamesThatAreNotUtf8AreMadeSo) {
  TemporaryFile file;
  TraceWriter writer(file.get(), "out\xff");
  writer.BeginStep(0, Step({"a\x80.o", "b\xc3"}), 1);
  writer.EndStep(0, 2);
  ASSERT_TRUE(writer.Finish());

  const TraceChecker trace(file.ReadContent());
  EXPECT_THAT(trace.problems(), IsEmpty());
  EXPECT_EQ(trace.process_name(), "out\uFFFD");
  ASSERT_EQ(trace.slices().size(), 1u);
  EXPECT_EQ(trace.slices()[0].name, "a\uFFFD.o");
  EXPECT_THAT(trace.slices()[0].outputs, ElementsAre("a\uFFFD.o", "b\uFFFD"));
}

TEST(TraceWriterTest, FullDiskIsAnError) {
  FILE* full = fopen("/dev/full", "wb");
  ASSERT_NE(full, nullptr);
  TraceWriter writer(full, "out");
  for (uint64_t i = 0; i < 10'000; ++i) {
    writer.BeginStep(0, Step({"a.o"}), i);
    writer.EndStep(0, i);
  }
  EXPECT_FALSE(writer.Finish());
  EXPECT_EQ(writer.error(), "No space left on device");
  fclose(full);
}

TEST(TraceWriterTest, PacketBeyondTheFormatIsAnError) {
  // A message with 28 bits of size cannot hold that many names of 256 KiB.
  TemporaryFile file;
  TraceWriter writer(file.get(), "out");
  writer.BeginStep(
      0, Step(std::vector<std::string>(1025, std::string(256 * 1024, 'x'))), 1);
  writer.EndStep(0, 2);
  EXPECT_FALSE(writer.Finish());
  EXPECT_NE(writer.error(), "");
}

}  // namespace

}  // namespace ninja_trace
