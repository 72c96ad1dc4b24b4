// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/step_kind.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace ninja_trace {

namespace {

TEST(StepKindTest, ExtensionTellsKind) {
  EXPECT_EQ(GuessStepKind("obj/src/a.o"), StepKind::kCompile);
  EXPECT_EQ(GuessStepKind("a.cc.obj"), StepKind::kCompile);
  EXPECT_EQ(GuessStepKind("obj/liba.a"), StepKind::kArchive);
  EXPECT_EQ(GuessStepKind("liba.so"), StepKind::kLink);
  EXPECT_EQ(GuessStepKind("liba.so.1.2.3"), StepKind::kLink);
  EXPECT_EQ(GuessStepKind("gen/a.pbzero.h"), StepKind::kGenerate);
  EXPECT_EQ(GuessStepKind("build.ninja"), StepKind::kGenerate);
  EXPECT_EQ(GuessStepKind("obj/a.stamp"), StepKind::kStamp);
  EXPECT_EQ(GuessStepKind("a.xyz"), StepKind::kOther);
  EXPECT_EQ(GuessStepKind("a."), StepKind::kOther);
  EXPECT_EQ(GuessStepKind("a.O"), StepKind::kOther);
}

TEST(StepKindTest, NameWithoutExtensionIsAProgram) {
  EXPECT_EQ(GuessStepKind("protozero_plugin"), StepKind::kLink);
  EXPECT_EQ(GuessStepKind("bin.d/program"), StepKind::kLink);
  EXPECT_EQ(GuessStepKind("bin/.o"), StepKind::kLink);
  EXPECT_EQ(GuessStepKind("directory.o/"), StepKind::kLink);
  EXPECT_EQ(GuessStepKind(""), StepKind::kLink);
}

TEST(StepKindTest, EachKindHasItsOwnName) {
  std::set<std::string> names;
  for (size_t i = 0; i < kStepKindCount; ++i)
    names.insert(StepKindName(static_cast<StepKind>(i)));
  EXPECT_EQ(names.size(), kStepKindCount);
}

}  // namespace

}  // namespace ninja_trace
