// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The inputs of all workloads but Simple and Nested, which are in event.h. As
// there, every implementation gets the same ones, by pointer and from another
// translation unit. There are so many that a branch predictor cannot learn them
// all, and so few that they come from a near cache.

#ifndef TEST_BENCHMARKS_INPUTS_H_
#define TEST_BENCHMARKS_INPUTS_H_

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <memory>

#include "test/benchmarks/event.h"
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
  int weekday;  // a value of the schema's enum
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

// `count` children. They are the elements of a table, which is repeated, so
// that a message of any size takes its input from a near cache.
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

// The size of a piece, for implementations that write in pieces.
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

struct ItemInput {
  uint32_t id;
  uint64_t value;
  BytesInput name;
};

// An event and |count| times the same item: a message of |size| bytes.
struct ReplyInput {
  Event event;
  const ItemInput* item;
  size_t count;
  size_t size;
};
// The size of an item, with its tag and size, in every encoding.
constexpr size_t kItemSize = 43;
// The sizes that messages in a string have, and the largest of them.
constexpr std::array<size_t, 4> kReplySizes = {58, 276, 4096, 200'000};
constexpr size_t kLargestReply = kReplySizes.back();

// Makes varints of 1 to 10 bytes. All lengths are equally likely.
std::unique_ptr<InputCycle<VarintsInput>> MakeRandomVarints();

// Makes times and durations of four events each, in nanoseconds on a clock that
// has been running for days. The times between events are spread over 128 ns to
// 8 ms, with equally many for each power of two. They take 2 to 4 bytes, and
// the timestamps take 7.
std::unique_ptr<InputCycle<VarintsInput>> MakeTimestamps();

// Makes inputs of 0 to 300 random bytes.
std::unique_ptr<InputCycle<BytesInput>> MakeRandomBytes();

// Makes integers of random widths, half of them negative, and strings of 4 to
// 24 characters.
std::unique_ptr<InputCycle<ThirtyFieldsInput>> MakeThirtyFields();

// Makes kChildren children with integers of random widths.
std::unique_ptr<InputCycle<ChildrenInput>> MakeChildren();

// Makes |count| children, each of which takes kSizedChildSize bytes.
std::unique_ptr<InputCycle<ChildrenInput>> MakeSizedChildren(size_t count);

// Makes kPackedElements integers of random widths.
std::unique_ptr<InputCycle<PackedInput>> MakePacked();

std::unique_ptr<InputCycle<DeepInput>> MakeDeep();

std::unique_ptr<InputCycle<RecordsInput>> MakeRecords();

// Makes an event and so many items that the message has |size| bytes: the
// event's string is up to kItemSize bytes longer than usual. REQUIRES: size is
// at least 58.
std::unique_ptr<InputCycle<ReplyInput>> MakeReply(size_t size);

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_INPUTS_H_
