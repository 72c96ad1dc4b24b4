// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_FAILING_CALLS_H_
#define TEST_TESTING_FAILING_CALLS_H_

// Has calls of the system fail, as they do when memory, descriptors, threads or
// permission run out. A program that links this takes the system calls of its
// own objects, though not those of shared libraries, through here: see
// failing_calls.cc for which ones.

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

}  // namespace protozero::test

#endif  // TEST_TESTING_FAILING_CALLS_H_
