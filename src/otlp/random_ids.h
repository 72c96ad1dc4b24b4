// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_RANDOM_IDS_H_
#define SRC_OTLP_RANDOM_IDS_H_

#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {

// A thread's source of random numbers: xoshiro256++, whose period is so long
// that threads and programs do not meet in it. The kernel seeds it, once a
// thread, and again in the child of a fork().
struct RandomState {
  uint64_t words[4];
};

// Initialized here, so that no function looks if it is.
inline thread_local RandomState random_state = {};

// Fills the state from the kernel.
void SeedRandom();

inline uint64_t RotateLeft(uint64_t word, int bits) {
  return word << bits | word >> (64 - bits);
}

// Returns a random number that is not 0.
PROTOZERO_ALWAYS_INLINE uint64_t RandomNumber() {
  uint64_t* const s = random_state.words;
  for (;;) {
    // Zeros are the one state that a seeded generator never has.
    if (PROTOZERO_UNLIKELY((s[0] | s[1] | s[2] | s[3]) == 0))
      SeedRandom();
    const uint64_t result = RotateLeft(s[0] + s[3], 23) + s[0];
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = RotateLeft(s[3], 45);
    if (PROTOZERO_LIKELY(result != 0))
      return result;
  }
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_RANDOM_IDS_H_
