// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_SHARED_VALUE_H_
#define TEST_WORKLOADS_SHARED_VALUE_H_

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <new>
#include <type_traits>

namespace protozero::workloads {

// Memory in which the service's process leaves what it has found in the trace.
// The fields that have no initializer are zero, and take no memory before they
// are used.
template <typename T>
class SharedValue {
 public:
  static_assert(std::is_trivially_destructible<T>::value);

  SharedValue() {
    void* const memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      perror("mmap");
      exit(1);
    }
    value_ = new (memory) T;
  }
  ~SharedValue() { munmap(value_, sizeof(T)); }
  SharedValue(const SharedValue&) = delete;
  SharedValue& operator=(const SharedValue&) = delete;

  T* get() const { return value_; }

 private:
  T* value_;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_SHARED_VALUE_H_
