// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/testing/allocation_monitor.h"

#include <errno.h>
#include <stddef.h>

#include <new>

#include "test/testing/sanitizers.h"

namespace protozero::test {

namespace {

// The state of each thread. Plain thread-local variables of the program itself
// are reached without an allocation, which would be a surprise in malloc().
thread_local bool counting = false;
thread_local size_t allocations = 0;
thread_local bool nothrow_fails = false;
thread_local size_t nothrow_allowed = 0;

void CountAllocation() {
  if (counting)
    ++allocations;
}

}  // namespace

AllocationCounter::AllocationCounter() {
  allocations = 0;
  counting = true;
}
AllocationCounter::~AllocationCounter() {
  counting = false;
}
size_t AllocationCounter::count() const {
  return allocations;
}

bool NothrowAllocationsFail::IsSupported() {
  // ThreadSanitizer's operator new cannot be replaced.
  return !PROTOZERO_TEST_HAS_TSAN;
}

NothrowAllocationsFail::NothrowAllocationsFail(size_t allow) {
  nothrow_allowed = allow;
  nothrow_fails = true;
}
NothrowAllocationsFail::~NothrowAllocationsFail() {
  nothrow_fails = false;
}

}  // namespace protozero::test

#if !PROTOZERO_TEST_HAS_TSAN

namespace {

bool IsToFail() {
  using protozero::test::nothrow_allowed;
  if (!protozero::test::nothrow_fails)
    return false;
  if (nothrow_allowed == 0)
    return true;
  --nothrow_allowed;
  return false;
}

}  // namespace

// These are replaced because the default ones call the throwing ones.

void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return IsToFail() ? nullptr : ::operator new(size);
}

void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return IsToFail() ? nullptr : ::operator new[](size);
}

#endif

using protozero::test::CountAllocation;

extern "C" {

#if PROTOZERO_TEST_HAS_ASAN || PROTOZERO_TEST_HAS_TSAN

void __sanitizer_malloc_hook(const volatile void*, size_t) {
  CountAllocation();
}
void __sanitizer_free_hook(const volatile void*) {}

#else

// These are other names of glibc's malloc() and its siblings.
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) {
  CountAllocation();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  CountAllocation();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  CountAllocation();
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  CountAllocation();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** result, size_t alignment, size_t size) {
  *result = memalign(alignment, size);
  return *result ? 0 : ENOMEM;
}

#endif

}  // extern "C"
