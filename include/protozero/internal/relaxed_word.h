// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_RELAXED_WORD_H_
#define INCLUDE_PROTOZERO_INTERNAL_RELAXED_WORD_H_

#include <stdint.h>

#if !defined(__GNUC__) && !defined(__clang__)
#include <atomic>
#endif

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A number that threads share, and that orders nothing else between them: a
// std::atomic<uint32_t> with relaxed loads and stores. It avoids <atomic>
// because every file that writes messages includes this header, and <atomic>
// alone takes compilers as long as half of our headers.
class RelaxedWord {
 public:
#if defined(__GNUC__) || defined(__clang__)
  uint32_t Load() const { return __atomic_load_n(&word_, __ATOMIC_RELAXED); }
  void Store(uint32_t value) {
    __atomic_store_n(&word_, value, __ATOMIC_RELAXED);
  }

 private:
  uint32_t word_ = 0;
#else
  uint32_t Load() const { return word_.load(std::memory_order_relaxed); }
  void Store(uint32_t value) { word_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> word_{0};
#endif
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_RELAXED_WORD_H_
