// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_ALLOCATION_MONITOR_H_
#define TEST_TESTING_ALLOCATION_MONITOR_H_

#include <stddef.h>

// Watches malloc() and operator new in a program that links this, with every
// library in it. Sanitizers have an allocator of their own, which is watched
// through their hooks.

namespace protozero::test {

// Counts the allocations of this thread in its scope. Scopes do not nest.
class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  size_t count() const;
};

// Makes `new (std::nothrow)` return null in its scope, after |allow| calls.
// REQUIRES: IsSupported(), which is false with ThreadSanitizer.
class NothrowAllocationsFail {
 public:
  static bool IsSupported();
  explicit NothrowAllocationsFail(size_t allow = 0);
  ~NothrowAllocationsFail();
  NothrowAllocationsFail(const NothrowAllocationsFail&) = delete;
  NothrowAllocationsFail& operator=(const NothrowAllocationsFail&) = delete;
};

}  // namespace protozero::test

#endif  // TEST_TESTING_ALLOCATION_MONITOR_H_
