// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/fuzz/generated_types.h"

#include <vector>

namespace protozero::test {

TypedInput ParseTypedInput(const uint8_t* data, size_t size) {
  static const auto& cases =
      *new std::vector<DifferentialCase>(AllDifferentialCases());
  TypedInput input;
  if (size >= TypedInput::kHeaderSize) {
    const size_t index = data[0] + size_t{data[1]} * 256;
    input.test_case = &cases[index % cases.size()];
    input.bytes = ConstBytes(data + TypedInput::kHeaderSize,
                             size - TypedInput::kHeaderSize);
  }
  return input;
}

}  // namespace protozero::test
