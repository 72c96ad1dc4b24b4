// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Random numbers for inputs. The standard fixes the generators of <random>, but
// not its distributions: with those, two standard libraries would measure
// different inputs.

#ifndef TEST_BENCHMARKS_RANDOM_H_
#define TEST_BENCHMARKS_RANDOM_H_

#include <stdint.h>

#include <random>

namespace protozero {
namespace bench {

// The seed of all inputs, the same in every process.
constexpr uint64_t kRandomSeed = 20261121;

// Returns a number that is uniform in [low, high].
inline uint64_t RandomBetween(std::mt19937_64& random,
                              uint64_t low,
                              uint64_t high) {
  return low + random() % (high - low + 1);
}

// Returns a value of exactly this length. REQUIRES: bit_length is 1 to 64.
inline uint64_t RandomOfBitLength(std::mt19937_64& random,
                                  uint64_t bit_length) {
  const uint64_t top_bit = uint64_t{1} << (bit_length - 1);
  return top_bit | (random() & (top_bit - 1));
}

inline uint64_t RandomWithUniformBitLength(std::mt19937_64& random,
                                           uint64_t max) {
  return RandomOfBitLength(random, RandomBetween(random, 1, max));
}

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_RANDOM_H_
