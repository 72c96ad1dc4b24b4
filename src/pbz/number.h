// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_NUMBER_H_
#define SRC_PBZ_NUMBER_H_

#include <stdint.h>

#include <string>
#include <variant>

#include "src/pbz/schema.h"

namespace pbz {

// The number of a field. That of an enum is an int64_t.
using Number = std::variant<bool, int64_t, uint64_t, float, double>;

// Returns the number of a field of |type|. |bits| are the value of the varint
// or the bytes of the fixed-size number.
Number NumberOf(SchemaType type, uint64_t bits);

float FloatOf(uint64_t bits);
double DoubleOf(uint64_t bits);

// Appends the number in the form of text format.
void AppendNumber(const Number& number, std::string* out);

}  // namespace pbz

#endif  // SRC_PBZ_NUMBER_H_
