// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The inputs of the workloads beside Simple and Nested, which event.h has. As
// there, every implementation gets the same ones, by pointer and from another
// translation unit. Their number is one that a branch predictor cannot learn by
// heart while they still come from a near cache.

#ifndef TEST_BENCHMARKS_INPUTS_H_
#define TEST_BENCHMARKS_INPUTS_H_

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <memory>

#include "test/benchmarks/input_cycle.h"

namespace protozero {
namespace bench {

struct VarintsInput {
  std::array<uint64_t, 8> values;
};

struct BytesInput {
  const char* data;
  size_t size;
};

// A value for each type of field. Strings are not terminated.
struct FifteenFields {
  int32_t number_int32;
  uint32_t number_uint32;
  int64_t number_int64;
  uint64_t number_uint64;
  int32_t number_sint32;
  int64_t number_sint64;
  uint32_t number_fixed32;
  uint64_t number_fixed64;
  int32_t number_sfixed32;
  int64_t number_sfixed64;
  float number_float;
  double number_double;
  bool flag;
  int weekday;  // of the schema's
  BytesInput string;
};
constexpr size_t kMaxFieldStringSize = 24;

struct ThirtyFieldsInput {
  FifteenFields a;
  FifteenFields b;
};

struct ChildInput {
  uint32_t id;
  uint64_t value;
};

// `count` children: the elements of a table, again and again, so that a message
// of any size takes its input from a near cache.
struct ChildrenInput {
  static constexpr size_t kTableSize = 1024;

  const ChildInput& At(size_t index) const {
    return table[index & (kTableSize - 1)];
  }

  const ChildInput* table;
  size_t count;
};
constexpr size_t kChildren = 1000;

// The size of a child of the inputs that MakeSizedChildren() makes, in every
// encoding.
constexpr size_t kSizedChildSize = 16;

struct PackedInput {
  const uint64_t* values;
  size_t count;
};
constexpr size_t kPackedElements = 1000;

// A number for each level.
constexpr size_t kDeepLevels = 50;
struct DeepInput {
  std::array<uint32_t, kDeepLevels> numbers;
};

// For implementations that write in pieces.
constexpr size_t kChunkSize = 4096;

constexpr size_t kRecords = 8;
constexpr size_t kRecordPayload = 1500;
struct RecordInput {
  uint32_t id;
  uint64_t time;
  BytesInput payload;
};
struct RecordsInput {
  std::array<RecordInput, kRecords> records;
};

// Each as long as any other, from 1 to 10 bytes.
std::unique_ptr<InputCycle<VarintsInput>> MakeRandomVarints();

// Times and durations of four events each, in nanoseconds on a clock that has
// been running for days. The times between events are spread over 128 ns to 8
// ms, an equal number to each power of two: 2 to 4 bytes, and 7 for the
// timestamps.
std::unique_ptr<InputCycle<VarintsInput>> MakeTimestamps();

// Random bytes, 0 to 300 of them.
std::unique_ptr<InputCycle<BytesInput>> MakeRandomBytes();

// Integers have random widths, half of them are negative; strings have 4 to 24
// characters.
std::unique_ptr<InputCycle<ThirtyFieldsInput>> MakeThirtyFields();

// kChildren children, integers of random widths.
std::unique_ptr<InputCycle<ChildrenInput>> MakeChildren();

// |count| children, each of which takes kSizedChildSize bytes.
std::unique_ptr<InputCycle<ChildrenInput>> MakeSizedChildren(size_t count);

// kPackedElements integers of random widths.
std::unique_ptr<InputCycle<PackedInput>> MakePacked();

std::unique_ptr<InputCycle<DeepInput>> MakeDeep();

std::unique_ptr<InputCycle<RecordsInput>> MakeRecords();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_INPUTS_H_
