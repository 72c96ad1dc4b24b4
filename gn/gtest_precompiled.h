// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// See config("gtest_precompiled"). Sources include what they use all the same.

#ifndef GN_GTEST_PRECOMPILED_H_
#define GN_GTEST_PRECOMPILED_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#endif  // GN_GTEST_PRECOMPILED_H_
