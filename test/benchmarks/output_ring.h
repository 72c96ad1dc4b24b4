// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_BENCHMARKS_OUTPUT_RING_H_
#define TEST_BENCHMARKS_OUTPUT_RING_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

namespace protozero {
namespace bench {

// The memory that one message gets. Larger than any message of any workload:
// there is no row about running out of it.
constexpr size_t kSlotSize = 512;

// The memory that encoders write to, slot after slot, again and again.
class OutputRing {
 public:
  // A vector type of the compiler's, and not a loop over integers that it may
  // or may not vectorize: gcc and clang must read back at the same speed.
  typedef uint64_t Word __attribute__((vector_size(16)));

  struct alignas(64) Slot {
    uint8_t* begin() { return reinterpret_cast<uint8_t*>(words); }

    // Loads every byte.
    Word ReadBack() const {
      Word sum = {};
      for (const Word& word : words)
        sum ^= word;
      return sum;
    }

    Word words[kSlotSize / sizeof(Word)];
  };
  static_assert(sizeof(Slot) == kSlotSize, "slots follow each other");

  // REQUIRES: `bytes` is a power of two and a multiple of kSlotSize.
  // The vector writes every slot, so no measured store is the first to touch
  // its page.
  explicit OutputRing(size_t bytes)
      : slots_(bytes / kSlotSize), mask_(slots_.size() - 1) {}

  Slot* At(size_t index) { return &slots_[index & mask_]; }

 private:
  std::vector<Slot> slots_;
  size_t mask_;
};

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_OUTPUT_RING_H_
