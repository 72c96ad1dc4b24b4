// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_FLAGS_H_
#define TEST_TESTING_FLAGS_H_

#include <stdint.h>

#include <string_view>

namespace protozero::test {

// Returns the value of --name=value on the test's command line, or
// |default_value|. Programs need main_with_flags.cc among their sources for it.
uint64_t Flag(std::string_view name, uint64_t default_value);

}  // namespace protozero::test

#endif  // TEST_TESTING_FLAGS_H_
