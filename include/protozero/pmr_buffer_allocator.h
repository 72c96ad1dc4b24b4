// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_PMR_BUFFER_ALLOCATOR_H_
#define INCLUDE_PROTOZERO_PMR_BUFFER_ALLOCATOR_H_

#include <stddef.h>

#include <memory_resource>

#include "protozero/buffer_allocator.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// An allocator that gives buffers memory from a std::pmr::memory_resource:
//
//   std::pmr::unsynchronized_pool_resource pool;
//   protozero::PmrBufferAllocator allocator(&pool);
//   protozero::HeapBuffered<MyEvent> event(256, 4096, &allocator);
//
// A resource that has no memory throws. The allocator catches any exception and
// treats it like any lack of memory: the message is lost, see WriteStatus. Code
// that is compiled without exceptions cannot catch it; there, the resource must
// have enough memory.
//
// It may be used by as many threads at a time as the resource.
class PmrBufferAllocator final : public BufferAllocator {
 public:
  // REQUIRES: |resource| is not null, and outlives this.
  explicit PmrBufferAllocator(std::pmr::memory_resource* resource)
      : resource_(resource) {}

  void* Allocate(size_t size) override {
#if defined(__cpp_exceptions)
    try {
      return resource_->allocate(size);
    } catch (...) {
      return nullptr;
    }
#else
    return resource_->allocate(size);
#endif
  }
  void Deallocate(void* memory, size_t size) override {
    resource_->deallocate(memory, size);
  }

 private:
  std::pmr::memory_resource* const resource_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_PMR_BUFFER_ALLOCATOR_H_
