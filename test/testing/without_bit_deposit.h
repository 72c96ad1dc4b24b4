// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_WITHOUT_BIT_DEPOSIT_H_
#define TEST_TESTING_WITHOUT_BIT_DEPOSIT_H_

#include <stdint.h>

#include "protozero/internal/bit_deposit.h"

namespace protozero::test {

// A time in which the library runs what it runs on processors that do not have
// the instructions of "bit_deposit.h", or are slow at them: as long as the
// object lives. Streams live either within that time or outside of it.
class WithoutBitDeposit {
#if PROTOZERO_USE_BIT_DEPOSIT
 public:
  WithoutBitDeposit() : mask_(internal::kInlineEncodingMask) {
    internal::kInlineEncodingMask = 0;
  }
  ~WithoutBitDeposit() { internal::kInlineEncodingMask = mask_; }

 private:
  const uintptr_t mask_;
#else
 public:
  WithoutBitDeposit() {}  // Not `= default`: an object would be unused.
#endif
};

}  // namespace protozero::test

#endif  // TEST_TESTING_WITHOUT_BIT_DEPOSIT_H_
