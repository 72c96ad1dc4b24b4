// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/compiler.h"

#include <gtest/gtest.h>

#include "test/testing/expect_mistake.h"

#include "protozero/internal/macros.h"

namespace protozero {
namespace {

TEST(DcheckTest, SaysWhereWhatAndWhatToDo) {
  const int answer = 41;
  EXPECT_MISTAKE(PROTOZERO_DCHECK(answer == 42, "ask again"),
                 "compiler_unittest.cc:[0-9]+: protozero: expected answer == "
                 "42: ask again");
}

TEST(DcheckTest, TrueConditionsDoNothing) {
  PROTOZERO_DCHECK(true, "never printed");
}

TEST(DcheckTest, TheConditionIsEvaluatedOnlyWhereItIsChecked) {
  int evaluations = 0;
  PROTOZERO_DCHECK(++evaluations > 0, "never printed");
  EXPECT_EQ(evaluations, PROTOZERO_DCHECK_IS_ON);
}

TEST(DcheckTest, IsASingleStatement) {
  if (true)
    PROTOZERO_DCHECK(true, "never printed");
  else
    FAIL() << "the check swallowed the else";
}

}  // namespace
}  // namespace protozero
