// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_BUFFER_ALLOCATOR_H_
#define INCLUDE_PROTOZERO_BUFFER_ALLOCATOR_H_

#include <stddef.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The source of memory for ScatteredHeapBuffer and HeapBuffered, if it is not
// the heap. Implement it for memory of your own:
//
//   class PoolAllocator final : public protozero::BufferAllocator {
//    public:
//     void* Allocate(size_t size) override { return pool_->TryTake(size); }
//     void Deallocate(void* memory, size_t) override { pool_->Return(memory); }
//    ...
//   };
//
// "pmr_buffer_allocator.h" has one for std::pmr. The interface differs from
// std::pmr's, because it must be able to say, without exceptions, that there is
// no more memory. A message that gets none is lost, and reports it, see
// WriteStatus; the program goes on.
class PROTOZERO_EXPORT BufferAllocator {
 public:
  PROTOZERO_COLD virtual ~BufferAllocator();

  // Returns |size| bytes, aligned for any type, or null if there is no memory.
  // Must not throw.
  virtual void* Allocate(size_t size) = 0;
  // Takes back memory that Allocate() has returned for |size|. Must not throw.
  virtual void Deallocate(void* memory, size_t size) = 0;
};

// An allocator that keeps the memory that is given back, for later requests of
// the same size: the second message and all later ones use the memory of the
// first.
//
//   protozero::RecyclingBufferAllocator allocator;  // One for each thread.
//   for (...) {
//     protozero::HeapBuffered<MyEvent> event(256, 4096, &allocator);
//     ...
//   }
//
// If one HeapBuffered can live as long as the loop, its Reset() saves as much.
// This class is for messages that are handed on, or begin where another one
// ends, as in chains of callbacks.
//
// It searches the blocks that it keeps one by one, so it suits few sizes, and
// few buffers at a time. One thread at a time may use it.
class PROTOZERO_EXPORT RecyclingBufferAllocator final : public BufferAllocator {
 public:
  // The number of bytes that are kept at most, unless the constructor says
  // otherwise.
  static constexpr size_t kDefaultMaxKeptBytes = 64 * 1024;

  // Keeps at most |max_kept_bytes| together. Gets memory from |upstream|, or
  // from the heap if it is null. REQUIRES: |upstream| outlives this.
  PROTOZERO_COLD explicit RecyclingBufferAllocator(
      size_t max_kept_bytes = kDefaultMaxKeptBytes,
      BufferAllocator* upstream = nullptr);
  // Gives back the memory that it has kept. REQUIRES: the buffers are gone.
  PROTOZERO_COLD ~RecyclingBufferAllocator() override;

  RecyclingBufferAllocator(const RecyclingBufferAllocator&) = delete;
  RecyclingBufferAllocator& operator=(const RecyclingBufferAllocator&) = delete;

  PROTOZERO_COLD void* Allocate(size_t size) override;
  PROTOZERO_COLD void Deallocate(void* memory, size_t size) override;

  // Returns the number of bytes that it keeps now for later buffers.
  size_t kept_bytes() const { return kept_bytes_; }

 private:
  // The header at the beginning of a block that is kept.
  struct KeptBlock {
    KeptBlock* next;
    size_t size;
  };

  const size_t max_kept_bytes_;
  BufferAllocator* const upstream_;
  size_t kept_bytes_ = 0;
  // The list of kept blocks. The block that was given back last comes first: it
  // is in the cache.
  KeptBlock* kept_blocks_ = nullptr;
};

namespace internal {

// Call |allocator|, or the heap if it is null.
PROTOZERO_COLD void* AllocateBuffer(BufferAllocator* allocator, size_t size);
PROTOZERO_COLD void DeallocateBuffer(BufferAllocator* allocator,
                                     void* memory,
                                     size_t size) noexcept;

}  // namespace internal

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_BUFFER_ALLOCATOR_H_
