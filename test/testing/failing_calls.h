// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_FAILING_CALLS_H_
#define TEST_TESTING_FAILING_CALLS_H_

#include <stdint.h>

// Has calls of the system fail, as they do when memory, descriptors, threads or
// permission run out. A program that links this takes the system calls of its
// own objects, though not those of shared libraries, through here;
// failing_calls.cc lists them. One that links failing_allocations, too, does
// the same with operator new, of libraries as well: but not with
// ThreadSanitizer, whose own cannot be replaced, and without exceptions only
// with the one that takes std::nothrow.

namespace protozero::test {

// In its scope, every call of the function of that name fails with |error|, in
// all threads: it returns -1 and sets errno, or returns the error, as that
// function does.
class CallsFail {
 public:
  CallsFail(const char* name, int error);
  ~CallsFail();
  CallsFail(const CallsFail&) = delete;
  CallsFail& operator=(const CallsFail&) = delete;

 private:
  const int index_;
};

// In its scope, the |first|-th call fails, from 1, and no other one does, or
// all that follow do, too; or only allocations count. Calls count that are made
// in CodeUnderTest, each function with an error that it usually has. One at a
// time.
class NthCallFails {
 public:
  enum Which { kOnce, kFromThenOn, kAllocationsFromThenOn };
  NthCallFails(uint64_t first, Which which);
  ~NthCallFails();
  NthCallFails(const NthCallFails&) = delete;
  NthCallFails& operator=(const NthCallFails&) = delete;

  // How many calls there were.
  uint64_t count() const;
  // From now on, none fails.
  void Stop();
};

// This thread's calls count, and for ever those of threads that it starts.
class CodeUnderTest {
 public:
  CodeUnderTest();
  ~CodeUnderTest();
  CodeUnderTest(const CodeUnderTest&) = delete;
  CodeUnderTest& operator=(const CodeUnderTest&) = delete;
};

namespace internal {
// Whether an allocation is to fail now.
bool AllocationFails();
}  // namespace internal

}  // namespace protozero::test

#endif  // TEST_TESTING_FAILING_CALLS_H_
