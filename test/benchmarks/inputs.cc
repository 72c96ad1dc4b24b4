// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/inputs.h"

#include <string.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test/benchmarks/random.h"

namespace protozero {
namespace bench {

namespace {

// Inputs that point to bytes share these, which stay in the first-level cache.
constexpr size_t kPoolSize = 4096;

using Pool = std::shared_ptr<const std::string>;

// Makes a pool of random bytes from `low` to `high`.
Pool MakePool(uint64_t low, uint64_t high) {
  std::mt19937_64 random(kRandomSeed);
  std::string pool(kPoolSize, '\0');
  for (char& byte : pool)
    byte = static_cast<char>(RandomBetween(random, low, high));
  return std::make_shared<const std::string>(std::move(pool));
}

// Returns `size` bytes from a random place in the pool.
BytesInput BytesFrom(const Pool& pool, size_t size, std::mt19937_64& random) {
  return {pool->data() + RandomBetween(random, 0, kPoolSize - size), size};
}

// Calls `make(random)` for each of `size` inputs.
template <typename T, typename Make>
std::unique_ptr<InputCycle<T>> MakeCycle(
    size_t size,
    Make make,
    std::shared_ptr<const void> storage = nullptr) {
  std::mt19937_64 random(kRandomSeed);
  std::vector<T> inputs;
  inputs.reserve(size);
  for (size_t i = 0; i < size; ++i)
    inputs.push_back(make(random));
  return std::make_unique<InputCycle<T>>(std::move(inputs), size,
                                         std::move(storage));
}

uint64_t RandomNumber(std::mt19937_64& random) {
  return RandomWithUniformBitLength(random, 64);
}

uint32_t RandomNumber32(std::mt19937_64& random) {
  return static_cast<uint32_t>(RandomWithUniformBitLength(random, 32));
}

int64_t RandomSigned(std::mt19937_64& random) {
  const int64_t value =
      static_cast<int64_t>(RandomWithUniformBitLength(random, 63));
  return (random() & 1) == 0 ? value : -value;
}

int32_t RandomSigned32(std::mt19937_64& random) {
  const int32_t value =
      static_cast<int32_t>(RandomWithUniformBitLength(random, 31));
  return (random() & 1) == 0 ? value : -value;
}

FifteenFields MakeFifteenFields(std::mt19937_64& random, const Pool& pool) {
  constexpr int kWeekdays[] = {0, 3, 6};
  FifteenFields fields = {};
  fields.number_int32 = RandomSigned32(random);
  fields.number_uint32 = RandomNumber32(random);
  fields.number_int64 = RandomSigned(random);
  fields.number_uint64 = RandomNumber(random);
  fields.number_sint32 = RandomSigned32(random);
  fields.number_sint64 = RandomSigned(random);
  fields.number_fixed32 = RandomNumber32(random);
  fields.number_fixed64 = RandomNumber(random);
  fields.number_sfixed32 = RandomSigned32(random);
  fields.number_sfixed64 = RandomSigned(random);
  fields.number_float = static_cast<float>(RandomSigned32(random)) / 8;
  fields.number_double = static_cast<double>(RandomSigned(random)) / 8;
  fields.flag = (random() & 1) != 0;
  fields.weekday = kWeekdays[RandomBetween(random, 0, 2)];
  fields.string =
      BytesFrom(pool, RandomBetween(random, 4, kMaxFieldStringSize), random);
  return fields;
}

// Makes `tables` inputs with a table of children each.
template <typename MakeChild>
std::unique_ptr<InputCycle<ChildrenInput>>
MakeChildTables(size_t tables, size_t count, MakeChild make_child) {
  std::mt19937_64 child_random(kRandomSeed);
  std::vector<ChildInput> children(tables * ChildrenInput::kTableSize);
  for (ChildInput& child : children)
    child = make_child(child_random);
  auto storage =
      std::make_shared<const std::vector<ChildInput>>(std::move(children));
  const ChildInput* next = storage->data();
  return MakeCycle<ChildrenInput>(
      tables,
      [next, count](std::mt19937_64&) mutable {
        const ChildInput* table = next;
        next += ChildrenInput::kTableSize;
        return ChildrenInput{table, count};
      },
      storage);
}

}  // namespace

std::unique_ptr<InputCycle<VarintsInput>> MakeRandomVarints() {
  return MakeCycle<VarintsInput>(16384, [](std::mt19937_64& random) {
    VarintsInput input;
    for (uint64_t& value : input.values) {
      // A varint of n bytes holds 7n - 6 to 7n bits; one of 10 bytes holds 64
      // at most.
      const uint64_t size = RandomBetween(random, 1, 10);
      const uint64_t most_bits = size == 10 ? 64 : 7 * size;
      value = RandomOfBitLength(random,
                                RandomBetween(random, 7 * size - 6, most_bits));
    }
    return input;
  });
}

std::unique_ptr<InputCycle<VarintsInput>> MakeTimestamps() {
  uint64_t now = 261'000ull * 1'000'000'000;  // three days after boot
  return MakeCycle<VarintsInput>(16384, [now](std::mt19937_64& random) mutable {
    VarintsInput input;
    for (size_t i = 0; i < input.values.size(); i += 2) {
      const uint64_t delta =
          RandomOfBitLength(random, RandomBetween(random, 8, 23));
      now += delta;
      input.values[i] = now;
      input.values[i + 1] = delta;
    }
    return input;
  });
}

std::unique_ptr<InputCycle<BytesInput>> MakeRandomBytes() {
  const Pool pool = MakePool(0, 255);
  return MakeCycle<BytesInput>(
      32768,
      [pool](std::mt19937_64& random) {
        return BytesFrom(pool, RandomBetween(random, 0, 300), random);
      },
      pool);
}

std::unique_ptr<InputCycle<ThirtyFieldsInput>> MakeThirtyFields() {
  const Pool pool = MakePool('a', 'z');
  return MakeCycle<ThirtyFieldsInput>(
      4096,
      [pool](std::mt19937_64& random) {
        ThirtyFieldsInput input;
        input.a = MakeFifteenFields(random, pool);
        input.b = MakeFifteenFields(random, pool);
        return input;
      },
      pool);
}

std::unique_ptr<InputCycle<ChildrenInput>> MakeChildren() {
  return MakeChildTables(16, kChildren, [](std::mt19937_64& random) {
    return ChildInput{RandomNumber32(random), RandomNumber(random)};
  });
}

std::unique_ptr<InputCycle<ChildrenInput>> MakeSizedChildren(size_t count) {
  // Tag and size of the child, a tag and five bytes, a tag and seven bytes.
  static_assert(kSizedChildSize == 2 + 1 + 5 + 1 + 7, "as made here");
  return MakeChildTables(16, count, [](std::mt19937_64& random) {
    const uint64_t id =
        RandomOfBitLength(random, RandomBetween(random, 29, 32));
    const uint64_t value =
        RandomOfBitLength(random, RandomBetween(random, 43, 49));
    return ChildInput{static_cast<uint32_t>(id), value};
  });
}

std::unique_ptr<InputCycle<PackedInput>> MakePacked() {
  constexpr size_t kArrays = 16;
  std::mt19937_64 random(kRandomSeed);
  std::vector<uint64_t> values(kArrays * kPackedElements);
  for (uint64_t& value : values)
    value = RandomNumber(random);
  auto storage =
      std::make_shared<const std::vector<uint64_t>>(std::move(values));
  const uint64_t* next = storage->data();
  return MakeCycle<PackedInput>(
      kArrays,
      [next](std::mt19937_64&) mutable {
        const uint64_t* array = next;
        next += kPackedElements;
        return PackedInput{array, kPackedElements};
      },
      storage);
}

std::unique_ptr<InputCycle<DeepInput>> MakeDeep() {
  return MakeCycle<DeepInput>(1024, [](std::mt19937_64& random) {
    DeepInput input;
    for (uint32_t& number : input.numbers)
      number = RandomNumber32(random);
    return input;
  });
}

std::unique_ptr<InputCycle<RecordsInput>> MakeRecords() {
  const Pool pool = MakePool(0, 255);
  uint64_t now = 1'000'000'000;
  return MakeCycle<RecordsInput>(
      64,
      [pool, now](std::mt19937_64& random) mutable {
        RecordsInput input;
        for (RecordInput& record : input.records) {
          now += RandomWithUniformBitLength(random, 20);
          record = {RandomNumber32(random), now,
                    BytesFrom(pool, kRecordPayload, random)};
        }
        return input;
      },
      pool);
}

std::unique_ptr<InputCycle<ReplyInput>> MakeReply(size_t size) {
  constexpr size_t kEventSize = 4 * (1 + 5) + 2 + 1 + kStringSize;
  constexpr uint32_t kId = 0x1abc'def0;
  constexpr uint64_t kValue = 0x1abc'def1;
  constexpr size_t kNameSize = kItemSize - 2 - 2 * (1 + 5) - 2;
  struct Storage {
    std::string text;
    ItemInput item;
  };
  auto storage = std::make_shared<Storage>();
  storage->text.assign(kStringSize + kItemSize, 'x');
  storage->item = {kId, kValue, {storage->text.data(), kNameSize}};
  ReplyInput input = {*EventCycle(1).At(0), &storage->item,
                      (size - kEventSize) / kItemSize, size};
  input.event.string = storage->text.data();
  input.event.string_size = kStringSize + (size - kEventSize) % kItemSize;
  constexpr size_t kReplies = 4;
  return std::make_unique<InputCycle<ReplyInput>>(
      std::vector<ReplyInput>(kReplies, input), kReplies, storage);
}

}  // namespace bench
}  // namespace protozero
