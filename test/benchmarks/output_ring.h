// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_BENCHMARKS_OUTPUT_RING_H_
#define TEST_BENCHMARKS_OUTPUT_RING_H_

#include <stddef.h>
#include <stdint.h>

#include <utility>
#include <vector>

namespace protozero {
namespace bench {

// The memory that one message gets in most workloads. It is larger than any of
// their messages, because no row measures running out of it. See
// Workload::slot_size.
constexpr size_t kSlotSize = 512;

// The memory that encoders write to, slot after slot, and then from the start
// again.
class OutputRing {
 public:
  // A vector type of the compiler, so that gcc and clang read back at the same
  // speed. They may or may not vectorize a loop over integers.
  typedef uint64_t Word __attribute__((vector_size(16)));

  // REQUIRES: both are powers of two, 64 <= slot_size <= bytes.
  // The vector writes every byte, so no measured store is the first to touch
  // its page.
  OutputRing(size_t bytes, size_t slot_size)
      : lines_(bytes / sizeof(Line)), slot_size_(slot_size) {}

  // The addresses of the slots, which a loop keeps by value. A loop reads
  // values in memory again after each message, and the next message waits for
  // them.
  class Slots {
   public:
    Slots(uint8_t* begin, size_t slot_size, size_t count)
        : begin_(begin), slot_size_(slot_size), mask_(count - 1) {}
    uint8_t* At(size_t index) const {
      return begin_ + (index & mask_) * slot_size_;
    }

   private:
    uint8_t* const begin_;
    const size_t slot_size_;
    const size_t mask_;
  };
  Slots slots() {
    return {reinterpret_cast<uint8_t*>(lines_.data()), slot_size_,
            lines_.size() * sizeof(Line) / slot_size_};
  }
  uint8_t* At(size_t index) { return slots().At(index); }

  // Loads every byte of a slot of kSlotSize bytes. Not inlined, because many
  // places call it and it takes 300 bytes of code.
  __attribute__((noinline)) static void ReadBack(const uint8_t* slot) {
    const Word sum =
        ReadBack(reinterpret_cast<const Word*>(slot),
                 std::make_index_sequence<kSlotSize / sizeof(Word)>());
    // Uses |sum|, as far as the compiler knows.
    asm volatile("" : : "x"(sum) : "memory");
  }

 private:
  // Unrolled, because only clang would unroll a loop. With fewer instructions,
  // the processor does more of the next message at the same time.
  template <size_t... i>
  static Word ReadBack(const Word* words, std::index_sequence<i...>) {
    Word sum = {};
    ((sum ^= words[i]), ...);
    return sum;
  }

  struct alignas(64) Line {
    Word words[64 / sizeof(Word)];
  };

  std::vector<Line> lines_;
  const size_t slot_size_;
};

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_OUTPUT_RING_H_
