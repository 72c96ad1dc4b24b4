// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stddef.h>
#include <stdlib.h>

#include <new>

#include "test/testing/failing_calls.h"
#include "test/testing/sanitizers.h"

#if !PROTOZERO_TEST_HAS_TSAN

void* operator new(size_t size) {
#if defined(__cpp_exceptions)
  if (protozero::test::internal::AllocationFails())
    throw std::bad_alloc();
#endif
  void* const memory = malloc(size != 0 ? size : 1);
  if (memory == nullptr)
    abort();
  return memory;
}

void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return protozero::test::internal::AllocationFails()
             ? nullptr
             : malloc(size != 0 ? size : 1);
}

void* operator new(size_t size, std::align_val_t alignment) {
#if defined(__cpp_exceptions)
  if (protozero::test::internal::AllocationFails())
    throw std::bad_alloc();
#endif
  void* const memory = aligned_alloc(static_cast<size_t>(alignment), size);
  if (memory == nullptr)
    abort();
  return memory;
}

void* operator new(size_t size,
                   std::align_val_t alignment,
                   const std::nothrow_t&) noexcept {
  return protozero::test::internal::AllocationFails()
             ? nullptr
             : aligned_alloc(static_cast<size_t>(alignment), size);
}

void* operator new[](size_t size) {
  return operator new(size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return operator new(size, std::nothrow);
}
void operator delete(void* memory) noexcept {
  free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  free(memory);
}
void operator delete(void* memory,
                     std::align_val_t,
                     const std::nothrow_t&) noexcept {
  free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  free(memory);
}
void operator delete[](void* memory) noexcept {
  free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  free(memory);
}

#endif
