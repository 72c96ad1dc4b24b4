// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/model/weak/memory.h"

#include <string.h>

#include <algorithm>
#include <utility>

namespace protozero::weak {

namespace {

bool HasAcquire(std::memory_order order) {
  return order == std::memory_order_acquire ||
         order == std::memory_order_consume ||
         order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool HasRelease(std::memory_order order) {
  return order == std::memory_order_release ||
         order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

uint64_t ReadMemory(uintptr_t address, size_t size) {
  uint64_t value = 0;
  memcpy(&value, reinterpret_cast<const void*>(address), size);
  return value;
}
void WriteMemory(uintptr_t address, size_t size, uint64_t value) {
  memcpy(reinterpret_cast<void*>(address), &value, size);
}

constexpr const char* kPlainRace = "data race between plain accesses";
constexpr const char* kAtomicRace =
    "data race between a plain and an atomic access";

}  // namespace

void Memory::AddRegion(uintptr_t begin, size_t size) {
  regions_.push_back({begin, size, false});
  size_ += size;
  bytes_.reset(static_cast<Byte*>(calloc(size_, sizeof(Byte))));
}

void Memory::Reset() {
  ++execution_;
  locations_.clear();
  index_.clear();
  threads_ = {};
  for (size_t i = 0; i < kMaxThreads; ++i)
    threads_[i].current.clock[i] = 1;
  consistent_ = {};
  mutexes_.clear();
  byte_ranges_.clear();
  for (Range& range : written_)
    range = {};
}

void Memory::Fork(int thread) {
  Thread& own = threads_[static_cast<size_t>(thread)];
  own = threads_[0];
  own.current.clock[static_cast<size_t>(thread)] = 1;
  // It is not known yet what thread 0 does from now on.
  ++threads_[0].current.clock[0];
}

void Memory::JoinAll() {
  for (const Thread& thread : threads_)
    Join(thread.current, &threads_[0].current);
}

Memory::Byte& Memory::ByteAt(uintptr_t address) {
  Byte& byte = bytes_[IndexOf(address)];
  if (byte.execution != execution_) {
    byte = {};
    byte.execution = execution_;
  }
  return byte;
}

bool Memory::IsAfter(int thread,
                     const std::array<uint16_t, kMaxThreads>& clocks) const {
  const auto& clock = threads_[static_cast<size_t>(thread)].current.clock;
  for (size_t i = 0; i < kMaxThreads; ++i) {
    if (clocks[i] > clock[i] && static_cast<int>(i) != thread)
      return false;
  }
  return true;
}

const char* Memory::Read(int thread, uintptr_t address, size_t size) {
  const size_t own = static_cast<size_t>(thread);
  const auto& clock = threads_[own].current.clock;
  for (size_t i = 0; i < size; ++i) {
    Byte& byte = ByteAt(address + i);
    if (byte.write > clock[byte.writer])
      return kPlainRace;
    if (!IsAfter(thread, byte.atomic_stores))
      return kAtomicRace;
    byte.reads[own] = clock[own];
  }
  return nullptr;
}

const char* Memory::Write(int thread, uintptr_t address, size_t size) {
  const size_t own = static_cast<size_t>(thread);
  const auto& clock = threads_[own].current.clock;
  for (size_t i = 0; i < size; ++i) {
    Byte& byte = ByteAt(address + i);
    if (byte.write > clock[byte.writer] || !IsAfter(thread, byte.reads))
      return kPlainRace;
    if (!IsAfter(thread, byte.atomic_stores))
      return kAtomicRace;
    if (!IsAfter(thread, byte.atomic_loads)) {
      if (!Share(address + i))
        return kAtomicRace;
    }
    byte.writer = static_cast<uint8_t>(thread);
    byte.write = clock[own];
  }
  for (Location& location : locations_) {
    if (location.address < address + size &&
        address < location.address + location.size &&
        !HasShared(location.address, 1)) {
      location.is_overwritten = true;
    }
  }
  return nullptr;
}

const char* Memory::CheckAtomic(int thread,
                                uintptr_t address,
                                size_t size,
                                bool is_store) {
  const size_t own = static_cast<size_t>(thread);
  const auto& clock = threads_[own].current.clock;
  for (size_t i = 0; i < size; ++i) {
    Byte& byte = ByteAt(address + i);
    if (byte.write > clock[byte.writer] ||
        (is_store && !IsAfter(thread, byte.reads))) {
      if (is_store || !Share(address + i))
        return kAtomicRace;
    }
    (is_store ? byte.atomic_stores : byte.atomic_loads)[own] = clock[own];
  }
  return nullptr;
}

Memory::Location& Memory::LocationAt(uintptr_t address, size_t size) {
  const auto [found, is_new] = index_.emplace(address, locations_.size());
  if (is_new) {
    locations_.push_back({locations_.size(), address, size, {}});
    if (locations_.size() > kMaxLocations)
      abort();
  }
  Location& location = locations_[found->second];
  if (is_new || location.is_overwritten) {
    // A plain write has put the value there. A thread that comes here has seen
    // it: otherwise the two would be a data race.
    location.is_overwritten = false;
    location.stores.push_back({ReadMemory(address, location.size),
                               location.stores.size(), -1, Knowledge()});
    const size_t store = location.stores.size() - 1;
    for (Thread& thread : threads_) {
      thread.current.seen[location.index] = static_cast<uint8_t>(store);
      thread.acquirable.seen[location.index] = static_cast<uint8_t>(store);
      thread.released.seen[location.index] = static_cast<uint8_t>(store);
    }
    consistent_.seen[location.index] = static_cast<uint8_t>(store);
    location.stores[store].message.seen[location.index] =
        static_cast<uint8_t>(store);
  }
  return location;
}

void Memory::JoinSeen(const Knowledge& other, Knowledge* knowledge) const {
  for (size_t i = 0; i < locations_.size(); ++i) {
    if (Rank(i, knowledge->seen[i]) < Rank(i, other.seen[i]))
      knowledge->seen[i] = other.seen[i];
  }
}

void Memory::Join(const Knowledge& other, Knowledge* knowledge) const {
  JoinSeen(other, knowledge);
  for (size_t i = 0; i < kMaxThreads; ++i)
    knowledge->clock[i] = std::max(knowledge->clock[i], other.clock[i]);
}

void Memory::See(Location* location, size_t store, Knowledge* knowledge) const {
  uint8_t& seen = knowledge->seen[location->index];
  if (location->stores[seen].rank < location->stores[store].rank)
    seen = static_cast<uint8_t>(store);
}

bool Memory::IsModified(const Location& location, size_t store) const {
  return std::any_of(location.stores.begin(), location.stores.end(),
                     [&](const Store_& other) {
                       return other.source == static_cast<int>(store);
                     });
}

size_t Memory::PickLoaded(int thread,
                          const Location& location,
                          std::memory_order order) {
  const size_t own = static_cast<size_t>(thread);
  size_t first =
      Rank(location.index, threads_[own].current.seen[location.index]);
  if (order == std::memory_order_seq_cst) {
    first =
        std::max(first, Rank(location.index, consistent_.seen[location.index]));
  }
  const size_t count = location.stores.size();
  const size_t rank = count - 1 -
                      static_cast<size_t>(exploration_->PickResult(
                          static_cast<int>(count - first)));
  for (size_t i = 0; i < count; ++i) {
    if (location.stores[i].rank == rank)
      return i;
  }
  abort();
}

size_t Memory::PickModified(int thread,
                            const Location& location,
                            const uint64_t* expected,
                            std::memory_order order) {
  const size_t own = static_cast<size_t>(thread);
  size_t first =
      Rank(location.index, threads_[own].current.seen[location.index]);
  if (order == std::memory_order_seq_cst) {
    first =
        std::max(first, Rank(location.index, consistent_.seen[location.index]));
  }
  // No store comes between the one that is read and the one that is written.
  std::vector<size_t> candidates;
  for (size_t i = location.stores.size(); i-- > 0;) {
    const Store_& store = location.stores[i];
    const bool succeeds = expected == nullptr || store.value == *expected;
    if (store.rank >= first && (!succeeds || !IsModified(location, i)))
      candidates.push_back(i);
  }
  return candidates[static_cast<size_t>(
      exploration_->PickResult(static_cast<int>(candidates.size())))];
}

void Memory::Learn(int thread,
                   Location& location,
                   size_t store,
                   std::memory_order order) {
  Thread& own = threads_[static_cast<size_t>(thread)];
  See(&location, store, &own.current);
  if (order == std::memory_order_seq_cst)
    See(&location, store, &consistent_);
  const Knowledge& message = location.stores[store].message;
  Join(message, HasAcquire(order) ? &own.current : &own.acquirable);
  if (!HasAcquire(order))
    See(&location, store, &own.acquirable);
}

void Memory::AddStore(int thread,
                      Location* location,
                      size_t rank,
                      std::memory_order order,
                      uint64_t value,
                      int source) {
  if (location->stores.size() == UINT8_MAX)
    abort();
  Thread& own = threads_[static_cast<size_t>(thread)];
  for (Store_& store : location->stores) {
    if (store.rank >= rank)
      ++store.rank;
  }
  const size_t index = location->stores.size();
  location->stores.push_back({value, rank, source, Knowledge()});
  Store_& store = location->stores.back();
  See(location, index, &own.current);
  if (order == std::memory_order_seq_cst)
    See(location, index, &consistent_);
  store.message = HasRelease(order) ? own.current : own.released;
  // A release sequence goes on.
  if (source >= 0) {
    const Knowledge before =
        location->stores[static_cast<size_t>(source)].message;
    Join(before, &store.message);
  }
  store.message.seen[location->index] = static_cast<uint8_t>(index);
  // Whatever the thread does from now on is not known with this store.
  ++own.current.clock[static_cast<size_t>(thread)];
  if (rank == index)
    WriteMemory(location->address, location->size, value);
}

const char* Memory::Load(int thread,
                         uintptr_t address,
                         size_t size,
                         std::memory_order order,
                         uint64_t* value) {
  const char* const error = CheckAtomic(thread, address, size, false);
  Location& location = LocationAt(address, size);
  const size_t store = PickLoaded(thread, location, order);
  Learn(thread, location, store, order);
  *value = location.stores[store].value;
  return error;
}

const char* Memory::Store(int thread,
                          uintptr_t address,
                          size_t size,
                          std::memory_order order,
                          uint64_t value) {
  const char* const error = CheckAtomic(thread, address, size, true);
  Location& location = LocationAt(address, size);
  const size_t own = static_cast<size_t>(thread);
  size_t first =
      Rank(location.index, threads_[own].current.seen[location.index]);
  if (order == std::memory_order_seq_cst) {
    first =
        std::max(first, Rank(location.index, consistent_.seen[location.index]));
  }
  // It may come in front of any store that does not have to follow another.
  std::vector<size_t> ranks = {location.stores.size()};
  for (size_t rank = location.stores.size(); --rank > first;) {
    const bool is_bound = std::any_of(
        location.stores.begin(), location.stores.end(),
        [&](const Store_& s) { return s.rank == rank && s.source >= 0; });
    if (!is_bound)
      ranks.push_back(rank);
  }
  AddStore(thread, &location,
           ranks[static_cast<size_t>(
               exploration_->PickResult(static_cast<int>(ranks.size())))],
           order, value, -1);
  return error;
}

void Memory::Fence(int thread, std::memory_order order) {
  Thread& own = threads_[static_cast<size_t>(thread)];
  if (HasAcquire(order))
    Join(own.acquirable, &own.current);
  if (order == std::memory_order_seq_cst) {
    JoinSeen(consistent_, &own.current);
    JoinSeen(own.current, &consistent_);
  }
  if (HasRelease(order)) {
    own.released = own.current;
    ++own.current.clock[static_cast<size_t>(thread)];
  }
}

void Memory::BarrierOnAll(int num_threads) {
  // Twice: what any thread knows before it, all know after it.
  for (int i = 0; i < 2 * num_threads; ++i)
    Fence(1 + i % num_threads, std::memory_order_seq_cst);
}

void Memory::Lock(int thread, uintptr_t mutex) {
  Join(mutexes_[mutex], &threads_[static_cast<size_t>(thread)].current);
}

void Memory::Unlock(int thread, uintptr_t mutex) {
  Knowledge& own = threads_[static_cast<size_t>(thread)].current;
  mutexes_[mutex] = own;
  ++own.clock[static_cast<size_t>(thread)];
}

const Memory::Range* Memory::FindBytes(uintptr_t address) const {
  for (const Range& range : byte_ranges_) {
    if (address - range.begin < range.size)
      return &range;
  }
  return nullptr;
}

bool Memory::IsBytes(uintptr_t address) const {
  return FindBytes(address) != nullptr;
}

bool Memory::Share(uintptr_t address) {
  const Range* const range = FindBytes(address);
  if (range == nullptr || !range->may_race)
    return false;
  has_new_shared_ |= shared_.emplace(address, true).second;
  return true;
}

bool Memory::HasShared(uintptr_t address, size_t size) const {
  const auto found = shared_.lower_bound(address);
  return found != shared_.end() && found->first < address + size;
}

const char* Memory::LoadBytes(int thread,
                              uintptr_t address,
                              size_t size,
                              std::memory_order order,
                              uint64_t* value) {
  *value = ReadMemory(address, size);
  const char* error = nullptr;
  for (size_t i = 0; i < size;) {
    const uintptr_t part = address + i;
    const auto found = index_.find(part);
    if (found == index_.end() && !HasShared(part, 1)) {
      if (const char* part_error = CheckAtomic(thread, part, 1, false))
        error = part_error;
      ++i;
      continue;
    }
    const size_t part_size =
        found == index_.end() ? 1 : locations_[found->second].size;
    uint64_t part_value = 0;
    if (const char* part_error =
            Load(thread, part, part_size, order, &part_value)) {
      error = part_error;
    }
    memcpy(reinterpret_cast<uint8_t*>(value) + i, &part_value,
           std::min(part_size, size - i));
    i += part_size;
  }
  return error;
}

void Memory::BeginSharedWrite(int thread, uintptr_t address, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (HasShared(address + i, 1))
      LocationAt(address + i, 1);
  }
  written_[static_cast<size_t>(thread)] = {address, size, true};
}

void Memory::EndSharedWrite(int thread) {
  const Range range =
      std::exchange(written_[static_cast<size_t>(thread)], Range{});
  for (size_t i = 0; i < range.size; ++i) {
    if (!HasShared(range.begin + i, 1))
      continue;
    Location& location = LocationAt(range.begin + i, 1);
    AddStore(thread, &location, location.stores.size(),
             std::memory_order_relaxed, ReadMemory(range.begin + i, 1), -1);
  }
}

}  // namespace protozero::weak
