// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/buffer_allocator.h"

#include <new>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal {

void* AllocateBuffer(BufferAllocator* allocator, size_t size) {
  return allocator != nullptr ? allocator->Allocate(size)
                              : ::operator new(size, std::nothrow);
}

void DeallocateBuffer(BufferAllocator* allocator,
                      void* memory,
                      size_t size) noexcept {
  if (allocator != nullptr)
    allocator->Deallocate(memory, size);
  else
    ::operator delete(memory);
}

}  // namespace internal

BufferAllocator::~BufferAllocator() = default;

RecyclingBufferAllocator::RecyclingBufferAllocator(size_t max_kept_bytes,
                                                   BufferAllocator* upstream)
    : max_kept_bytes_(max_kept_bytes), upstream_(upstream) {}

RecyclingBufferAllocator::~RecyclingBufferAllocator() {
  while (kept_blocks_ != nullptr) {
    KeptBlock* const block = kept_blocks_;
    kept_blocks_ = block->next;
    internal::DeallocateBuffer(upstream_, block, block->size);
  }
}

void* RecyclingBufferAllocator::Allocate(size_t size) {
  for (KeptBlock** link = &kept_blocks_; *link != nullptr;
       link = &(*link)->next) {
    KeptBlock* const block = *link;
    if (block->size == size) {
      *link = block->next;
      kept_bytes_ -= size;
      return block;
    }
  }
  return internal::AllocateBuffer(upstream_, size);
}

void RecyclingBufferAllocator::Deallocate(void* memory, size_t size) {
  if (size < sizeof(KeptBlock) || size > max_kept_bytes_ - kept_bytes_) {
    internal::DeallocateBuffer(upstream_, memory, size);
    return;
  }
  kept_blocks_ = new (memory) KeptBlock{kept_blocks_, size};
  kept_bytes_ += size;
}

PROTOZERO_ABI_END
}  // namespace protozero
