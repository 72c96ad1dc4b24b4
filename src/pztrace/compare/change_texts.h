// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_COMPARE_CHANGE_TEXTS_H_
#define SRC_PZTRACE_COMPARE_CHANGE_TEXTS_H_

#include <string>

#include "src/pztrace/compare/run_table.h"

namespace pztrace {

// A change as people read it. Texts that it does not have are empty.
struct ChangeTexts {
  std::string before;      // "3.40 us"
  std::string after;       // "3.74 us"
  std::string difference;  // "+340 ns"
  std::string percent;     // "+10.0 %"
  std::string interval;    // "+8.5 % to +11.2 %"
};

ChangeTexts TextsOf(RunColumn column, const Change& change);

}  // namespace pztrace

#endif  // SRC_PZTRACE_COMPARE_CHANGE_TEXTS_H_
