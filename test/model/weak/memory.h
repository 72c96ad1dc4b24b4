// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_MODEL_WEAK_MEMORY_H_
#define TEST_MODEL_WEAK_MEMORY_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "test/model/weak/exploration.h"

namespace protozero::weak {

// The memory model of C++20, without loads of values that are stored later
// ("load buffering" and values out of thin air), as RC11 has it.
//
// A location keeps all stores, in their modification order. A thread knows, of
// each location, the store up to which it has seen the order; a load may return
// that one or any after it. A store with release order carries what its thread
// knows; a load with acquire order that returns it learns that. A vector clock
// of the same kind finds plain accesses that nothing orders: data races.
//
// Memory itself has, of each location, the value that is last in its order.
class Memory {
 public:
  static constexpr size_t kMaxLocations = 160;

  // The knowledge of a thread.
  struct Knowledge {
    // The index in Location::stores.
    std::array<uint8_t, kMaxLocations> seen = {};
    // The number of events of each thread.
    std::array<uint16_t, kMaxThreads> clock = {};
  };

  explicit Memory(Exploration* exploration) : exploration_(exploration) {}

  // Looks after this memory, too.
  void AddRegion(uintptr_t begin, size_t size);
  bool Contains(uintptr_t address) const { return IndexOf(address) < size_; }
  // Forgets all accesses.
  void Reset();
  // Starts |thread| with what thread 0 knows, or has thread 0 learn all.
  void Fork(int thread);
  void JoinAll();

  // Return null, or what is wrong with a plain access.
  const char* Read(int thread, uintptr_t address, size_t size);
  const char* Write(int thread, uintptr_t address, size_t size);

  // Atomic accesses. They return null, or what is wrong.
  const char* Load(int thread,
                   uintptr_t address,
                   size_t size,
                   std::memory_order order,
                   uint64_t* value);
  const char* Store(int thread,
                    uintptr_t address,
                    size_t size,
                    std::memory_order order,
                    uint64_t value);
  // Stores |function|(value), unless |expected| is not null and not the value.
  // Then it loads with |failure_order|. Sets |value| to the one before.
  template <typename Function>
  const char* Modify(int thread,
                     uintptr_t address,
                     size_t size,
                     std::memory_order order,
                     std::memory_order failure_order,
                     const uint64_t* expected,
                     Function function,
                     uint64_t* value) {
    const char* error = CheckAtomic(thread, address, size, true);
    Location& location = LocationAt(address, size);
    const size_t source = PickModified(thread, location, expected, order);
    *value = location.stores[source].value;
    if (expected != nullptr && *value != *expected) {
      Learn(thread, location, source, failure_order);
      return error;
    }
    Learn(thread, location, source, order);
    AddStore(thread, &location, location.stores[source].rank + 1, order,
             function(*value), static_cast<int>(source));
    return error;
  }
  void Fence(int thread, std::memory_order order);
  // Executes a sequentially consistent fence on all threads.
  void BarrierOnAll(int num_threads);

  // Has |thread| learn what the last holder of a mutex knew, and leave it
  // there.
  void Lock(int thread, uintptr_t mutex);
  void Unlock(int thread, uintptr_t mutex);

  // Bytes that are loaded in pieces of any size. If they |may_race|, those that
  // are loaded and stored at the same time become shared, which is found out as
  // executions go by.
  void DeclareBytes(uintptr_t address, size_t size, bool may_race) {
    byte_ranges_.push_back({address, size, may_race});
  }
  bool IsBytes(uintptr_t address) const;
  bool HasShared(uintptr_t address, size_t size) const;
  // Returns whether a byte became shared since the last call: then all that
  // was explored before is void.
  bool TakeNewShared() { return std::exchange(has_new_shared_, false); }
  // Loads declared bytes. Locations do not have to be of that size.
  const char* LoadBytes(int thread,
                        uintptr_t address,
                        size_t size,
                        std::memory_order order,
                        uint64_t* value);
  // Announces that |thread| now writes to shared bytes; then takes the values.
  void BeginSharedWrite(int thread, uintptr_t address, size_t size);
  void EndSharedWrite(int thread);

 private:
  struct Store_ {
    uint64_t value;
    // Its place in the modification order.
    size_t rank;
    // The index of the store that it has read from and follows, or -1.
    int source;
    // The knowledge that an acquire load gets.
    Knowledge message;
  };
  struct Location {
    size_t index;
    uintptr_t address;
    size_t size;
    std::vector<Store_> stores;
    // A plain write has changed it.
    bool is_overwritten = false;
  };
  struct Thread {
    Knowledge current;
    // The part that an acquire fence adds, and that of the last release fence.
    Knowledge acquirable;
    Knowledge released;
  };
  // The last accesses to a byte, by the clocks of the threads.
  struct Byte {
    uint32_t execution;
    uint8_t writer;
    uint16_t write;
    std::array<uint16_t, kMaxThreads> reads;
    std::array<uint16_t, kMaxThreads> atomic_loads;
    std::array<uint16_t, kMaxThreads> atomic_stores;
  };
  struct Range {
    uintptr_t begin;
    size_t size;
    bool may_race;
  };

  // Returns the number of a byte in all regions; |size_| if it is in none.
  size_t IndexOf(uintptr_t address) const {
    size_t offset = 0;
    for (const Range& region : regions_) {
      if (address - region.begin < region.size)
        return offset + (address - region.begin);
      offset += region.size;
    }
    return size_;
  }
  Byte& ByteAt(uintptr_t address);
  const Range* FindBytes(uintptr_t address) const;
  // Makes a byte shared. Returns false if it may not be.
  bool Share(uintptr_t address);
  bool IsAfter(int thread,
               const std::array<uint16_t, kMaxThreads>& clocks) const;
  const char* CheckAtomic(int thread,
                          uintptr_t address,
                          size_t size,
                          bool is_store);
  Location& LocationAt(uintptr_t address, size_t size);
  size_t Rank(size_t location, uint8_t store) const {
    return locations_[location].stores[store].rank;
  }
  void Join(const Knowledge& other, Knowledge* knowledge) const;
  void JoinSeen(const Knowledge& other, Knowledge* knowledge) const;
  // Picks the store that a load returns.
  size_t PickLoaded(int thread,
                    const Location& location,
                    std::memory_order order);
  size_t PickModified(int thread,
                      const Location& location,
                      const uint64_t* expected,
                      std::memory_order order);
  bool IsModified(const Location& location, size_t store) const;
  void See(Location* location, size_t store, Knowledge* knowledge) const;
  void Learn(int thread,
             Location& location,
             size_t store,
             std::memory_order order);
  void AddStore(int thread,
                Location* location,
                size_t rank,
                std::memory_order order,
                uint64_t value,
                int source);

  Exploration* const exploration_;
  std::vector<Range> regions_;
  size_t size_ = 0;
  uint32_t execution_ = 0;
  // Zero until it is used, so that most of it takes no memory.
  struct Freed {
    void operator()(Byte* bytes) const { free(bytes); }
  };
  std::unique_ptr<Byte[], Freed> bytes_;
  std::vector<Location> locations_;
  std::map<uintptr_t, size_t> index_;
  std::array<Thread, kMaxThreads> threads_;
  // The view of sequentially consistent operations, in their order.
  Knowledge consistent_;
  std::map<uintptr_t, Knowledge> mutexes_;
  std::vector<Range> byte_ranges_;
  std::map<uintptr_t, bool> shared_;
  bool has_new_shared_ = false;
  Range written_[kMaxThreads] = {};
};

}  // namespace protozero::weak

#endif  // TEST_MODEL_WEAK_MEMORY_H_
