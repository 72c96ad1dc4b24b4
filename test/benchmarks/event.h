// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The inputs of the benchmarks: the values that a program has at hand when it
// writes an event. Every implementation gets the same ones, by pointer and from
// another translation unit, so that no compiler can fold them into constants.

#ifndef TEST_BENCHMARKS_EVENT_H_
#define TEST_BENCHMARKS_EVENT_H_

#include <stddef.h>
#include <stdint.h>

#include "test/benchmarks/input_cycle.h"

namespace protozero {
namespace bench {

// The string takes four whole 64-bit slots with its terminator, so that the
// speed-of-light encoder can copy words without reading past its end.
constexpr size_t kStringSize = 31;
constexpr size_t kStringSlots = (kStringSize + 1) / sizeof(uint64_t);

struct Event {
  int32_t number_int32;
  uint32_t number_uint32;
  int64_t number_int64;
  uint64_t number_uint64;
  const char* string;
  size_t string_size;
};

// A cycle of events. One encoded message may consume several consecutive events
// (a nested one takes one per level). For these, the first kOverlap events
// follow once more after the end of the cycle.
class EventCycle : public InputCycle<Event> {
 public:
  static constexpr size_t kOverlap = 64;

  // REQUIRES: size is a power of two.
  // With size 1, every varint of every event takes 5 bytes. The processor then
  // predicts all branches of an encoder, which makes the encoder look faster.
  // With a larger size, the bit lengths of the integers are uniform in 1..31
  // (32-bit fields) and 1..63 (64-bit fields), the same sequence in every
  // process.
  explicit EventCycle(size_t size);
};

// So long that a branch predictor cannot learn the whole cycle, as it learns
// 8192 events (Zen 4: this library's Simple takes 18 ns instead of 22 ns). So
// short that loading the events is not the limit.
constexpr size_t kRandomCycleSize = 32768;

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_EVENT_H_
