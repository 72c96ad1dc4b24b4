// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_C_FAMILY_LITERALS_H_
#define SRC_PROTOC_PLUGIN_C_FAMILY_LITERALS_H_

#include <stdint.h>

#include <string>

#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// Functions that return C++ expressions for constants, of exactly the type and
// the value. They return an empty string for zero (positive zero, for floating
// point), and for no bytes, because callers have those anyway.

// Returns the expression for any number, zero included.
std::string NumberLiteral(int32_t value);

std::string IntegerLiteral(int32_t value);
std::string IntegerLiteral(int64_t value);
std::string IntegerLiteral(uint32_t value);
std::string IntegerLiteral(uint64_t value);
// Return an expression that needs <limits> for infinities and NaN.
std::string FloatLiteral(float value);
std::string FloatLiteral(double value);

// Returns a ConstChars, or a ConstBytes, of `runtime`: "::protozero::".
std::string BytesLiteral(const std::string& value,
                         bool is_bytes,
                         const std::string& runtime);

// Returns the default of a field; empty if it has none, too.
std::string DefaultLiteral(const Field& field, const std::string& runtime);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_C_FAMILY_LITERALS_H_
