// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_NUMBER_H_
#define SRC_PBZ_NUMBER_H_

#include <stdint.h>

#include <string>
#include <variant>

#include "src/pbz/schema.h"

namespace pbz {

// A number of a field. That of an enum is an int64_t.
using Number = std::variant<bool, int64_t, uint64_t, float, double>;

// The number of a field of |type| that has |bits| on the wire, which are the
// value of a varint or the bytes of a fixed-size number.
Number NumberOf(SchemaType type, uint64_t bits);

float FloatOf(uint64_t bits);
double DoubleOf(uint64_t bits);

// Appends it as text format has it.
void AppendNumber(const Number& number, std::string* out);

}  // namespace pbz

#endif  // SRC_PBZ_NUMBER_H_
