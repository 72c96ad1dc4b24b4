// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_BUFFER_ALLOCATOR_H_
#define INCLUDE_PROTOZERO_BUFFER_ALLOCATOR_H_

#include <stddef.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Where ScatteredHeapBuffer and HeapBuffered get their memory, for those who
// know better than the heap. Implement it for memory of your own:
//
//   class PoolAllocator final : public protozero::BufferAllocator {
//    public:
//     void* Allocate(size_t size) override { return pool_->TryTake(size); }
//     void Deallocate(void* memory, size_t) override { pool_->Return(memory); }
//    ...
//   };
//
// There is one in pmr_buffer_allocator.h for std::pmr. The interface is not
// that one, because it must be able to say, without exceptions, that there is
// no more memory: a message that gets none is lost, and says so; see
// WriteStatus. The program goes on.
class PROTOZERO_EXPORT BufferAllocator {
 public:
  PROTOZERO_COLD virtual ~BufferAllocator();

  // Returns |size| bytes, aligned for any type, or null if they are not to be
  // had. Must not throw.
  virtual void* Allocate(size_t size) = 0;
  // Takes back what Allocate() has returned for |size|. Must not throw.
  virtual void Deallocate(void* memory, size_t size) = 0;
};

// Keeps what is given back, for whoever wants as much again: the second message
// and all that follow are written to the memory of the first.
//
//   protozero::RecyclingBufferAllocator allocator;  // One for each thread.
//   for (...) {
//     protozero::HeapBuffered<MyEvent> event(256, 4096, &allocator);
//     ...
//   }
//
// Where one HeapBuffered can live as long as the loop, its Reset() does the
// same. This is for messages that are handed on, or begin where another one
// ends, as in chains of callbacks.
//
// Looks at what it keeps, block by block: for few sizes, and few buffers at a
// time. One thread at a time.
class PROTOZERO_EXPORT RecyclingBufferAllocator final : public BufferAllocator {
 public:
  // How much is kept, unless the constructor says otherwise.
  static constexpr size_t kDefaultMaxKeptBytes = 64 * 1024;

  // What would be more than |max_kept_bytes| together is not kept. |upstream|
  // is where memory comes from, the heap if null. REQUIRES: it outlives this.
  PROTOZERO_COLD explicit RecyclingBufferAllocator(
      size_t max_kept_bytes = kDefaultMaxKeptBytes,
      BufferAllocator* upstream = nullptr);
  // Gives back what it has kept. REQUIRES: the buffers are gone.
  PROTOZERO_COLD ~RecyclingBufferAllocator() override;

  RecyclingBufferAllocator(const RecyclingBufferAllocator&) = delete;
  RecyclingBufferAllocator& operator=(const RecyclingBufferAllocator&) = delete;

  PROTOZERO_COLD void* Allocate(size_t size) override;
  PROTOZERO_COLD void Deallocate(void* memory, size_t size) override;

  // How much it keeps now, for buffers to come.
  size_t kept_bytes() const { return kept_bytes_; }

 private:
  // At the beginning of a block that is kept.
  struct KeptBlock {
    KeptBlock* next;
    size_t size;
  };

  const size_t max_kept_bytes_;
  BufferAllocator* const upstream_;
  size_t kept_bytes_ = 0;
  // The one that was given back last comes first: it is in the cache.
  KeptBlock* kept_blocks_ = nullptr;
};

namespace internal {

// Of |allocator|, or of the heap if it is null.
PROTOZERO_COLD void* AllocateBuffer(BufferAllocator* allocator, size_t size);
PROTOZERO_COLD void DeallocateBuffer(BufferAllocator* allocator,
                                     void* memory,
                                     size_t size) noexcept;

}  // namespace internal

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_BUFFER_ALLOCATOR_H_
