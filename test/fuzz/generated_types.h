// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_FUZZ_GENERATED_TYPES_H_
#define TEST_FUZZ_GENERATED_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/field.h"
#include "test/differential/differential_case.h"

namespace protozero::test {

// The input of fuzzers of generated decoders: two bytes that choose a type, and
// a message of that type.
struct TypedInput {
  static constexpr size_t kHeaderSize = 2;

  const DifferentialCase* test_case = nullptr;  // Null: the input is too short.
  ConstBytes bytes;
};

TypedInput ParseTypedInput(const uint8_t* data, size_t size);

}  // namespace protozero::test

#endif  // TEST_FUZZ_GENERATED_TYPES_H_
