// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_DECODER_SCHEMA_H_
#define INCLUDE_PROTOZERO_INTERNAL_DECODER_SCHEMA_H_

#include <stddef.h>
#include <stdint.h>

#include <utility>

#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

// The fields that a typed decoder knows. The compiler makes this from their
// ids. Each field has a slot: its rank among the ids. Small ids index a table;
// large ids are in a hash table, whose size depends on the number of ids and
// not on their values.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

struct DecoderSchema {
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  // Returns the slot of a field, or kNoSlot.
  PROTOZERO_ALWAYS_INLINE uint32_t SlotOf(uint32_t id) const {
    if (PROTOZERO_LIKELY(id < direct_size))
      return uint32_t{direct_slots[id]} - 1;
    return SlotOfSparse(id);
  }

  PROTOZERO_ALWAYS_INLINE uint32_t SlotOfSparse(uint32_t id) const {
    for (uint32_t i = HashOf(id, hash_shift);; ++i) {
      const Entry& entry = entries[i];
      if (entry.id == id || entry.id == 0)
        return entry.slot;
    }
  }

  // Hashes by Fibonacci hashing: the upper bits of the product are well mixed.
  static constexpr uint32_t HashOf(uint32_t id, uint32_t shift) {
    return (id * 0x9e3779b1u) >> shift;
  }

  struct Entry {
    uint32_t id = 0;  // The entry is free.
    uint32_t slot = kNoSlot;
  };

  uint32_t count;  // The number of all fields.
  // The table of small ids. An element is one more than the id's slot; 0 if the
  // id has none.
  uint32_t direct_size;
  const uint16_t* direct_slots;
  // The hash table of large ids. If an entry is taken, the id goes to the next
  // free one. The last entry is free.
  uint32_t hash_shift;
  const Entry* entries;
};
static_assert(uint32_t{0} - 1 == DecoderSchema::kNoSlot, "see SlotOf()");

constexpr bool AreAscendingFieldIds(const uint32_t* ids, size_t count) {
  uint32_t previous = 0;
  for (size_t i = 0; i < count; ++i) {
    if (ids[i] <= previous || ids[i] > proto_utils::kMaxFieldId)
      return false;
    previous = ids[i];
  }
  return true;
}

// Returns the number of ids that are small. The bound keeps tables in
// proportion to the number of fields.
constexpr uint32_t CountSmallIds(const uint32_t* ids, size_t count) {
  uint32_t num_small = 0;
  while (num_small < count && ids[num_small] <= 64 + 8 * count)
    ++num_small;
  return num_small;
}

template <size_t size>
struct DirectSlots {
  constexpr DirectSlots(const uint32_t* ids, size_t count) {
    for (size_t i = 0; i < count; ++i)
      slots[ids[i]] = static_cast<uint16_t>(i + 1);
  }
  uint16_t slots[size] = {};
};

// Returns the shift for a table with at least twice as many places as ids.
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

  // Enough places after the table that no search wraps to its beginning.
  DecoderSchema::Entry
      entries[(size_t{1} << (32 - hash_shift)) + sparse_count + 1] = {};
};

template <uint32_t... field_ids>
struct SchemaOf {
  static constexpr size_t kCount = sizeof...(field_ids);
  static constexpr uint32_t kIds[kCount + 1] = {field_ids..., 0};
  static_assert(AreAscendingFieldIds(kIds, kCount),
                "field ids must be ascending, from 1 to 536870911");
  static_assert(kCount < UINT16_MAX, "see DecoderSchema::direct_slots");
  static constexpr uint32_t kSmall = CountSmallIds(kIds, kCount);
  static constexpr uint32_t kDirectSize =
      kSmall == 0 ? 1 : kIds[kSmall - 1] + 1;
  static constexpr uint32_t kShift = HashShiftFor(kCount - kSmall);
  static constexpr DirectSlots<kDirectSize> kDirect{kIds, kSmall};
  static constexpr SparseIds<kShift, kCount - kSmall> kSparse{kIds + kSmall,
                                                              kSmall};
  static constexpr DecoderSchema kSchema{kCount, kDirectSize, kDirect.slots,
                                         kShift, kSparse.entries};
};

// The ids in ascending order, each once.
template <size_t size>
struct SortedIds {
  explicit constexpr SortedIds(const uint32_t* unsorted) {
    for (size_t i = 0; i < size; ++i) {
      size_t place = count;
      while (place > 0 && ids[place - 1] > unsorted[i])
        --place;
      if (place > 0 && ids[place - 1] == unsorted[i])
        continue;
      for (size_t j = count++; j > place; --j)
        ids[j] = ids[j - 1];
      ids[place] = unsorted[i];
    }
  }
  uint32_t ids[size + 1] = {};
  size_t count = 0;
};

// The SchemaOf ids that may be in any order.
template <uint32_t... field_ids>
struct UnsortedSchemaOf {
  static constexpr uint32_t kUnsorted[] = {field_ids..., 0};
  static constexpr SortedIds<sizeof...(field_ids)> kSorted{kUnsorted};

  template <size_t... indexes>
  static SchemaOf<kSorted.ids[indexes]...> Sort(
      std::index_sequence<indexes...>);
  using Schema = decltype(Sort(std::make_index_sequence<kSorted.count>()));
};

template <size_t size>
struct IdentitySlots {
  constexpr IdentitySlots() {
    for (size_t id = 0; id < size; ++id)
      by_id[id] = static_cast<uint16_t>(id);
  }
  uint16_t by_id[size] = {};
};

// The schema of the ids 1 to |max_id|.
template <uint32_t max_id>
struct DenseSchema {
  static_assert(0 < max_id && max_id < UINT16_MAX,
                "for larger ids there is MessageDecoder");
  static constexpr IdentitySlots<max_id + 1> kSlots{};
  static constexpr SparseIds<31, 0> kNone{nullptr, 0};
  static constexpr DecoderSchema kSchema{max_id, max_id + 1, kSlots.by_id, 31,
                                         kNone.entries};
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_DECODER_SCHEMA_H_
