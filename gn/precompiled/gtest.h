// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// See BUILD.gn. Sources include what they use all the same.

#ifndef GN_PRECOMPILED_GTEST_H_
#define GN_PRECOMPILED_GTEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#endif  // GN_PRECOMPILED_GTEST_H_
