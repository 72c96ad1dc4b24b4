// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_RANDOM_IDS_H_
#define SRC_OTLP_RANDOM_IDS_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {

// A thread's source of random numbers: the state of xoshiro256++, whose period
// is so long that threads and programs do not meet in it. The kernel seeds it,
// once a thread, and again in the child of a fork().
struct RandomState {
  uint64_t words[4];
};

// Initialized here, so that no function looks if it is.
inline thread_local RandomState random_state = {};

// Fills the state from the kernel.
PROTOZERO_COLD void SeedRandom() noexcept;

// One word tells: a generator that comes to a zero there, once in 2^64 steps,
// is seeded again.
PROTOZERO_ALWAYS_INLINE bool IsRandomSeeded() {
  return random_state.words[0] != 0;
}

inline uint64_t RotateLeft(uint64_t word, int bits) {
  return word << bits | word >> (64 - bits);
}

// Fills |words| with random numbers; the last two are not 0.
// REQUIRES: IsRandomSeeded(). One step of the state makes up to three of them:
// each from two words of it, as the generator has one.
template <size_t kCount>
PROTOZERO_ALWAYS_INLINE void MakeRandom(uint64_t (&words)[kCount]) {
  static_assert(kCount <= 3, "more would depend on each other");
  // In registers meanwhile.
  RandomState state = random_state;
  uint64_t* const s = state.words;
  for (size_t i = 0; i < kCount; ++i) {
    words[i] = RotateLeft(s[i] + s[3], 23) + s[i];
    if (i + 2 >= kCount)
      words[i] += words[i] == 0;
  }
  const uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = RotateLeft(s[3], 45);
  random_state = state;
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_RANDOM_IDS_H_
