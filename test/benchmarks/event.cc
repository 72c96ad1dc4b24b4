// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/event.h"

#include <random>
#include <vector>

#include "test/benchmarks/random.h"

namespace protozero {
namespace bench {

namespace {

// Aligned, so that its address does not depend on chance: glibc's strcpy(),
// which SpeedOfLight calls, is different for a string in the second half of 128
// bytes.
struct alignas(128) String {
  char bytes[kStringSize + 1];
};
constexpr String kString = {"a string of thirty-one letters."};
static_assert(kString.bytes[kStringSize - 1] != '\0', "see kStringSize");

// A 5-byte varint holds 29 to 35 bits.
constexpr uint64_t kFiveByteVarint = 0x1abc'def0;
static_assert(kFiveByteVarint >> 28 != 0 && kFiveByteVarint >> 31 == 0,
              "takes five bytes and is positive as an int32");

std::vector<Event> MakeEvents(size_t size) {
  std::vector<Event> events;
  events.reserve(size + EventCycle::kOverlap);
  std::mt19937_64 random(kRandomSeed);
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
    event.string = kString.bytes;
    event.string_size = kStringSize;
    events.push_back(event);
  }
  for (size_t i = 0; i < EventCycle::kOverlap; ++i)
    events.push_back(events[i]);
  return events;
}

}  // namespace

EventCycle::EventCycle(size_t size) : InputCycle(MakeEvents(size), size) {}

}  // namespace bench
}  // namespace protozero
