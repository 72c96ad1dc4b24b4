// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_FUZZ_CHECK_H_
#define TEST_FUZZ_CHECK_H_

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

namespace protozero::test {

// Ends the fuzzer, and says |what| is wrong, unless |condition| holds.
inline void Check(bool condition, const char* what) {
  if (condition)
    return;
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
  abort();
}

}  // namespace protozero::test

#endif  // TEST_FUZZ_CHECK_H_
