// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_FAILING_CALLS_H_
#define TEST_TESTING_FAILING_CALLS_H_

#include <stdint.h>

// Makes system calls fail, as if memory, descriptors, threads or permission ran
// out. In a program that links this, the system calls of its own objects go
// through here, but not those of shared libraries. failing_calls.cc lists them.
// A program that also links failing_allocations does the same with operator
// new, also for libraries. There are two limits: ThreadSanitizer's operator new
// cannot be replaced, and without exceptions only the one that takes
// std::nothrow can fail.

namespace protozero::test {

// Makes every call of the function of that name fail with |error|, in its scope
// and in all threads. The call returns -1 and sets errno, or returns the error,
// whichever is that function's way.
class CallsFail {
 public:
  CallsFail(const char* name, int error);
  ~CallsFail();
  CallsFail(const CallsFail&) = delete;
  CallsFail& operator=(const CallsFail&) = delete;

 private:
  const int index_;
};

// Makes the |first|-th call in its scope fail, counted from 1: only that one,
// or also all that follow. With kAllocationsFromThenOn, only allocations count
// and fail. Only calls in CodeUnderTest count. Each function fails with its
// usual error. One object at a time.
class NthCallFails {
 public:
  enum Which { kOnce, kFromThenOn, kAllocationsFromThenOn };
  NthCallFails(uint64_t first, Which which);
  ~NthCallFails();
  NthCallFails(const NthCallFails&) = delete;
  NthCallFails& operator=(const NthCallFails&) = delete;

  // Returns how many calls there were.
  uint64_t count() const;
  // Stops all failures from now on.
  void Stop();
};

// Makes this thread's calls count while it exists, and those of threads that it
// starts for ever.
class CodeUnderTest {
 public:
  CodeUnderTest();
  ~CodeUnderTest();
  CodeUnderTest(const CodeUnderTest&) = delete;
  CodeUnderTest& operator=(const CodeUnderTest&) = delete;
};

namespace internal {
// Returns whether an allocation has to fail now.
bool AllocationFails();
}  // namespace internal

}  // namespace protozero::test

#endif  // TEST_TESTING_FAILING_CALLS_H_
