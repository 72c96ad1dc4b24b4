// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_DECODER_SCHEMA_H_
#define INCLUDE_PROTOZERO_DECODER_SCHEMA_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/compiler.h"
#include "protozero/proto_utils.h"

// Which fields a typed decoder knows, made by the compiler from their ids. Each
// has a slot: its rank among the ids. The ids that a schema begins with, from 1
// on without a gap, are their own index; the others are found in a hash table,
// whose size depends on how many they are and not on how large.

namespace protozero::internal {

struct DecoderSchema {
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  // The slot of a field, or kNoSlot.
  PROTOZERO_ALWAYS_INLINE uint32_t SlotOf(uint32_t id) const {
    const uint32_t index = id - 1;
    if (PROTOZERO_LIKELY(index < dense_count))
      return index;
    return SlotOfSparse(id);
  }

  PROTOZERO_ALWAYS_INLINE uint32_t SlotOfSparse(uint32_t id) const {
    for (uint32_t i = HashOf(id, hash_shift);; ++i) {
      const Entry& entry = entries[i];
      if (entry.id == id || entry.id == 0)
        return entry.slot;
    }
  }

  // Fibonacci hashing: the upper bits of the product are the well mixed ones.
  static constexpr uint32_t HashOf(uint32_t id, uint32_t shift) {
    return (id * 0x9e3779b1u) >> shift;
  }

  struct Entry {
    uint32_t id = 0;  // Free.
    uint32_t slot = kNoSlot;
  };

  uint32_t count;        // of all fields
  uint32_t dense_count;  // ids 1 to this have the slots 0 to this - 1
  uint32_t hash_shift;
  // Indexed by hash; what is taken, one further on. The last entry is free.
  const Entry* entries;
};

constexpr bool AreAscendingFieldIds(const uint32_t* ids, size_t count) {
  uint32_t previous = 0;
  for (size_t i = 0; i < count; ++i) {
    if (ids[i] <= previous || ids[i] > proto_utils::kMaxFieldId)
      return false;
    previous = ids[i];
  }
  return true;
}

constexpr uint32_t CountDenseIds(const uint32_t* ids, size_t count) {
  uint32_t dense = 0;
  while (dense < count && ids[dense] == dense + 1)
    ++dense;
  return dense;
}

// At least twice as many places as there are ids.
constexpr uint32_t HashShiftFor(size_t sparse_count) {
  uint32_t shift = 31;
  while ((size_t{1} << (32 - shift)) < 2 * sparse_count)
    --shift;
  return shift;
}

template <uint32_t hash_shift, size_t sparse_count>
struct SparseIds {
  constexpr SparseIds(const uint32_t* ids, uint32_t first_slot) {
    for (uint32_t i = 0; i < sparse_count; ++i) {
      uint32_t place = DecoderSchema::HashOf(ids[i], hash_shift);
      while (entries[place].id != 0)
        ++place;
      entries[place].id = ids[i];
      entries[place].slot = first_slot + i;
    }
  }

  // So many behind the table that none has to be looked for at its beginning.
  DecoderSchema::Entry
      entries[(size_t{1} << (32 - hash_shift)) + sparse_count + 1] = {};
};

template <uint32_t... field_ids>
struct SchemaOf {
  static constexpr size_t kCount = sizeof...(field_ids);
  static constexpr uint32_t kIds[kCount + 1] = {field_ids..., 0};
  static_assert(AreAscendingFieldIds(kIds, kCount),
                "field ids must be ascending, from 1 to 536870911");
  static constexpr uint32_t kDense = CountDenseIds(kIds, kCount);
  static constexpr uint32_t kShift = HashShiftFor(kCount - kDense);
  static constexpr SparseIds<kShift, kCount - kDense> kSparse{kIds + kDense,
                                                              kDense};
  static constexpr DecoderSchema kSchema{kCount, kDense, kShift,
                                         kSparse.entries};
};

// Of the ids 1 to |max_id|.
template <uint32_t max_id>
struct DenseSchema {
  static constexpr DecoderSchema::Entry kNone[2] = {};
  static constexpr DecoderSchema kSchema{max_id, max_id, 31, kNone};
};

}  // namespace protozero::internal

#endif  // INCLUDE_PROTOZERO_DECODER_SCHEMA_H_
