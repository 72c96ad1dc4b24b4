// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/event.h"

#include <string.h>

#include <random>

namespace protozero {
namespace bench {

namespace {

constexpr char kString[] = "a string of thirty-one letters.";
static_assert(sizeof(kString) == kStringSize + 1, "see kStringSize");

// A 5-byte varint holds 29 to 35 bits.
constexpr uint64_t kFiveByteVarint = 0x1abc'def0;
static_assert(kFiveByteVarint >> 28 != 0 && kFiveByteVarint >> 31 == 0,
              "takes five bytes and is positive as an int32");

// The generator is fixed by the standard, the distributions of <random> are
// not: with those, two standard libraries would measure different inputs.
uint64_t RandomWithUniformBitLength(std::mt19937_64& random, uint64_t max) {
  const uint64_t bit_length = random() % max + 1;
  const uint64_t top_bit = uint64_t{1} << (bit_length - 1);
  return top_bit | (random() & (top_bit - 1));
}

}  // namespace

EventCycle::EventCycle(size_t size)
    : mask_(size - 1), string_(new char[sizeof(kString)]) {
  memcpy(string_.get(), kString, sizeof(kString));
  events_.reserve(size + kOverlap);
  std::mt19937_64 random(20261121);
  for (size_t i = 0; i < size; ++i) {
    Event event = {};
    if (size == 1) {
      event.number_int32 = static_cast<int32_t>(kFiveByteVarint);
      event.number_uint32 = static_cast<uint32_t>(kFiveByteVarint + 1);
      event.number_int64 = static_cast<int64_t>(kFiveByteVarint + 2);
      event.number_uint64 = kFiveByteVarint + 3;
    } else {
      event.number_int32 =
          static_cast<int32_t>(RandomWithUniformBitLength(random, 31));
      event.number_uint32 =
          static_cast<uint32_t>(RandomWithUniformBitLength(random, 31));
      event.number_int64 =
          static_cast<int64_t>(RandomWithUniformBitLength(random, 63));
      event.number_uint64 = RandomWithUniformBitLength(random, 63);
    }
    event.string = string_.get();
    event.string_size = kStringSize;
    events_.push_back(event);
  }
  for (size_t i = 0; i < kOverlap; ++i)
    events_.push_back(events_[i]);
}

}  // namespace bench
}  // namespace protozero
