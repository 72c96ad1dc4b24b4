// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_EXPECT_MISTAKE_H_
#define TEST_TESTING_EXPECT_MISTAKE_H_

#include <gtest/gtest.h>

#include "protozero/config.h"

// Expects that a caller's mistake stops a debug build, with |advice| (a regular
// expression) on stderr. In a release build the statement runs and must be
// harmless: the expectations after it hold in both.
#if PROTOZERO_DCHECK_IS_ON
#define EXPECT_MISTAKE(statement, advice) EXPECT_DEATH(statement, advice)
#else
#define EXPECT_MISTAKE(statement, advice) \
  do {                                    \
    static_cast<void>(advice);            \
    statement;                            \
  } while (false)
#endif

#endif  // TEST_TESTING_EXPECT_MISTAKE_H_
