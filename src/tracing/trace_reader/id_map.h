// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_ID_MAP_H_
#define SRC_TRACING_TRACE_READER_ID_MAP_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "protozero/internal/compiler.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Returns a hash, of which a table uses some last bits. A trace can be made so
// that keys collide, but only by someone who knows this library's address.
inline uint64_t HashOfId(uint64_t key) {
  static const char kSeed = 0;
  key ^= reinterpret_cast<uintptr_t>(&kSeed);
  key = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15;
  key = (key ^ (key >> 29)) * 0xbf58476d1ce4e5b9;
  return key ^ (key >> 32);
}

// A hash table from numbers of any kind to small ones. An entry takes 12 bytes.
// Once the table has grown, at least three in eight entries are in use.
class IdMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Returns the value of |key|; kNone if it is not there.
  uint32_t Find(uint64_t key) const {
    if (keys_.empty())
      return kNone;
    for (size_t i = PlaceOf(key);; i = (i + 1) & mask()) {
      if (values_[i] == kNone || keys_[i] == key)
        return values_[i];
    }
  }

  // Returns the value of |key|. Adds |value| if it is not there. |value| is not
  // kNone.
  uint32_t Insert(uint64_t key, uint32_t value) {
    if (4 * (size_ + 1) > 3 * keys_.size())
      Grow();
    size_t i = PlaceOf(key);
    for (; values_[i] != kNone; i = (i + 1) & mask()) {
      if (keys_[i] == key)
        return values_[i];
    }
    keys_[i] = key;
    values_[i] = value;
    ++size_;
    return value;
  }

  // Makes |value| that of |key|. |value| is not kNone.
  void Set(uint64_t key, uint32_t value) {
    if (Insert(key, value) == value)
      return;
    size_t i = PlaceOf(key);
    while (keys_[i] != key)
      i = (i + 1) & mask();
    values_[i] = value;
  }

  void Clear() { *this = IdMap(); }

 private:
  size_t mask() const { return keys_.size() - 1; }

  size_t PlaceOf(uint64_t key) const { return ToSize(HashOfId(key) & mask()); }

  void Grow() {
    IdMap larger;
    const size_t places = keys_.empty() ? 8 : 2 * keys_.size();
    larger.keys_.resize(places);
    larger.values_.resize(places, kNone);
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (values_[i] != kNone)
        larger.Insert(keys_[i], values_[i]);
    }
    *this = static_cast<IdMap&&>(larger);
  }

  std::vector<uint64_t> keys_;
  std::vector<uint32_t> values_;
  size_t size_ = 0;
};

// A hash table of the numbers 0, 1, 2 and so on. Its user has the keys, and
// says which key a number has: so an entry takes 5 bytes.
class IndexTable {
 public:
  // Returns the number with that key; IdMap::kNone if there is none.
  template <typename KeyOf>
  uint32_t Find(uint64_t key, KeyOf key_of) const {
    if (indexes_.empty())
      return IdMap::kNone;
    const uint64_t hash = HashOfId(key);
    for (size_t i = ToSize(hash & mask()); marks_[i] != 0;
         i = (i + 1) & mask()) {
      if (marks_[i] == MarkOf(hash) && key_of(indexes_[i]) == key)
        return indexes_[i];
    }
    return IdMap::kNone;
  }

  // Adds the next number. REQUIRES: Find() finds none with its key.
  template <typename KeyOf>
  void Add(KeyOf key_of) {
    if (4 * (size_ + 1) > 3 * indexes_.size()) {
      const size_t places = indexes_.empty() ? 8 : 2 * indexes_.size();
      indexes_.assign(places, 0);
      marks_.assign(places, 0);
      for (uint32_t i = 0; i < size_; ++i)
        Put(i, key_of(i));
    }
    Put(size_, key_of(size_));
    ++size_;
  }

 private:
  size_t mask() const { return indexes_.size() - 1; }

  void Put(uint32_t index, uint64_t key) {
    const uint64_t hash = HashOfId(key);
    size_t i = ToSize(hash & mask());
    while (marks_[i] != 0)
      i = (i + 1) & mask();
    indexes_[i] = index;
    marks_[i] = MarkOf(hash);
  }
  // Returns bits that differ for most keys at one place. 0 means no key.
  static uint8_t MarkOf(uint64_t hash) {
    return static_cast<uint8_t>(hash >> 56 | 1);
  }

  std::vector<uint32_t> indexes_;
  std::vector<uint8_t> marks_;
  uint32_t size_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_ID_MAP_H_
