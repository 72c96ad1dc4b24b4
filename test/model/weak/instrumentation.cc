// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The functions that code compiled with -fsanitize=thread calls. The compiler
// puts such a call before each plain access to memory, and in place of each
// atomic one; the program is linked without ThreadSanitizer. So what is checked
// is the code of the library as it stands.

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cstdlib>
#include <new>

#include "test/model/weak/checker_impl.h"

namespace {

using protozero::weak::Checker;

#define PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))

uintptr_t AddressOf(const volatile void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

void OnRead(const volatile void* address, size_t size) {
  if (Checker* const checker = Checker::Current()) {
    const Checker::AtWork at_work;
    checker->OnRead(AddressOf(address), size);
  }
}

void OnWrite(const volatile void* address, size_t size) {
  if (Checker* const checker = Checker::Current()) {
    const Checker::AtWork at_work;
    checker->OnWrite(AddressOf(address), size);
  }
}

template <typename T>
T OnLoad(uintptr_t pc, const volatile T* address, int order) {
  if (Checker* const checker = Checker::Current()) {
    const Checker::AtWork at_work;
    return static_cast<T>(
        checker->OnLoad(pc, AddressOf(address), sizeof(T), order));
  }
  return __atomic_load_n(address, __ATOMIC_SEQ_CST);
}

template <typename T>
void OnStore(uintptr_t pc, volatile T* address, T value, int order) {
  if (Checker* const checker = Checker::Current()) {
    const Checker::AtWork at_work;
    checker->OnStore(pc, AddressOf(address), sizeof(T), order, value);
    return;
  }
  __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
}

template <typename T, typename Function>
T OnModify(uintptr_t pc,
           const char* operation,
           volatile T* address,
           int order,
           Function function) {
  if (Checker* const checker = Checker::Current()) {
    const Checker::AtWork at_work;
    return static_cast<T>(checker->OnModify(
        pc, operation, AddressOf(address), sizeof(T), order, -1, nullptr,
        [&](uint64_t value) {
          return uint64_t{static_cast<T>(function(static_cast<T>(value)))};
        }));
  }
  T before = *address;
  while (!__atomic_compare_exchange_n(address, &before,
                                      static_cast<T>(function(before)), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return before;
}

template <typename T>
T OnCompareExchange(uintptr_t pc,
                    volatile T* address,
                    T expected,
                    T value,
                    int order,
                    int failure_order) {
  if (Checker* const checker = Checker::Current()) {
    const Checker::AtWork at_work;
    const uint64_t wide = expected;
    return static_cast<T>(checker->OnModify(
        pc, "compare_exchange", AddressOf(address), sizeof(T), order,
        failure_order, &wide, [&](uint64_t) { return uint64_t{value}; }));
  }
  __atomic_compare_exchange_n(address, &expected, value, false,
                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}

}  // namespace

#define PLAIN(size)                            \
  void __tsan_read##size(void* p) {            \
    OnRead(p, size);                           \
  }                                            \
  void __tsan_write##size(void* p) {           \
    OnWrite(p, size);                          \
  }                                            \
  void __tsan_unaligned_read##size(void* p) {  \
    OnRead(p, size);                           \
  }                                            \
  void __tsan_unaligned_write##size(void* p) { \
    OnWrite(p, size);                          \
  }

#define MODIFY(bits, type, name, result)                                   \
  type __tsan_atomic##bits##_##name(volatile type* p, type v, int order) { \
    return OnModify(PC, #name, p, order, [v](type x) {                     \
      static_cast<void>(x);                                                \
      return static_cast<type>(result);                                    \
    });                                                                    \
  }

#define ATOMIC(bits, type)                                                     \
  type __tsan_atomic##bits##_load(const volatile type* p, int order) {         \
    return OnLoad(PC, p, order);                                               \
  }                                                                            \
  void __tsan_atomic##bits##_store(volatile type* p, type v, int order) {      \
    OnStore(PC, p, v, order);                                                  \
  }                                                                            \
  MODIFY(bits, type, exchange, v)                                              \
  MODIFY(bits, type, fetch_add, x + v)                                         \
  MODIFY(bits, type, fetch_sub, x - v)                                         \
  MODIFY(bits, type, fetch_and, x& v)                                          \
  MODIFY(bits, type, fetch_or, x | v)                                          \
  MODIFY(bits, type, fetch_xor, x ^ v)                                         \
  type __tsan_atomic##bits##_compare_exchange_val(                             \
      volatile type* p, type expected, type v, int order, int failure_order) { \
    return OnCompareExchange(PC, p, expected, v, order, failure_order);        \
  }                                                                            \
  int __tsan_atomic##bits##_compare_exchange_strong(                           \
      volatile type* p, type* expected, type v, int order,                     \
      int failure_order) {                                                     \
    const type before =                                                        \
        OnCompareExchange(PC, p, *expected, v, order, failure_order);          \
    return before == *expected || (*expected = before, false);                 \
  }                                                                            \
  int __tsan_atomic##bits##_compare_exchange_weak(                             \
      volatile type* p, type* expected, type v, int order,                     \
      int failure_order) {                                                     \
    const type before =                                                        \
        OnCompareExchange(PC, p, *expected, v, order, failure_order);          \
    return before == *expected || (*expected = before, false);                 \
  }

extern "C" {

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_init() {}
void AnnotateIgnoreReadsBegin(const char*, int) {}
void AnnotateIgnoreReadsEnd(const char*, int) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** p, void*) {
  OnWrite(p, sizeof(*p));
}
void __tsan_vptr_read(void** p) {
  OnRead(p, sizeof(*p));
}
void __tsan_read_range(void* p, size_t size) {
  OnRead(p, size);
}
void __tsan_write_range(void* p, size_t size) {
  OnWrite(p, size);
}
void* __tsan_memcpy(void* to, const void* from, size_t size) {
  OnRead(from, size);
  OnWrite(to, size);
  return memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, size_t size) {
  OnRead(from, size);
  OnWrite(to, size);
  return memmove(to, from, size);
}
void* __tsan_memset(void* to, int value, size_t size) {
  OnWrite(to, size);
  return memset(to, value, size);
}

void __tsan_atomic_thread_fence(int order) {
  if (Checker* const checker = Checker::Current()) {
    const Checker::AtWork at_work;
    checker->OnFence(PC, order);
  }
}
void __tsan_atomic_signal_fence(int) {}

// The library's mutexes. Outside of scenarios, the program has one thread.
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (Checker* const checker = Checker::Current()) {
    const Checker::AtWork at_work;
    checker->OnLock(AddressOf(mutex));
  }
  return 0;
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  Checker* const checker = Checker::Current();
  if (checker == nullptr)
    return 0;
  const Checker::AtWork at_work;
  return checker->OnTryLock(AddressOf(mutex)) ? 0 : EBUSY;
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  if (Checker* const checker = Checker::Current()) {
    const Checker::AtWork at_work;
    checker->OnUnlock(AddressOf(mutex));
  }
  return 0;
}

// Executions would register their functions again and again.
int pthread_atfork(void (*)(), void (*)(), void (*)()) noexcept {
  return 0;
}

// Executions have to repeat, so time stands still.
int clock_gettime(clockid_t, timespec* time) noexcept {
  *time = {1, 0};
  return 0;
}

}  // extern "C"

void* operator new(size_t size) {
  if (Checker* const checker = Checker::Current())
    return checker->Allocate(size);
  void* const memory = malloc(size == 0 ? 1 : size);
  if (memory == nullptr)
    abort();
  return memory;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return operator new(size);
}
void* operator new[](size_t size) {
  return operator new(size);
}
void* operator new(size_t size, std::align_val_t) {
  return operator new(size);
}
void* operator new(size_t size,
                   std::align_val_t,
                   const std::nothrow_t&) noexcept {
  return operator new(size);
}
void operator delete(void* memory) noexcept {
  if (!Checker::IsAllocated(memory))
    free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  operator delete(memory);
}
void operator delete[](void* memory) noexcept {
  operator delete(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  operator delete(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  operator delete(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  operator delete(memory);
}
