// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_LITERALS_H_
#define SRC_PROTOC_PLUGIN_CPP_LITERALS_H_

#include <stdint.h>

#include <string>

#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// C++ expressions for constants: of the very type, and of the very value. An
// expression for zero (positive zero, for floating point), or for no bytes, is
// empty: a caller has that anyway.

// But this one is never empty.
std::string NumberLiteral(int32_t value);

std::string IntegerLiteral(int32_t value);
std::string IntegerLiteral(int64_t value);
std::string IntegerLiteral(uint32_t value);
std::string IntegerLiteral(uint64_t value);
// Infinities and NaN need <limits>.
std::string FloatLiteral(float value);
std::string FloatLiteral(double value);

// A ConstChars, or a ConstBytes, of `runtime`: "::protozero::".
std::string BytesLiteral(const std::string& value,
                         bool is_bytes,
                         const std::string& runtime);

// Empty also for a field without a default.
std::string DefaultLiteral(const Field& field, const std::string& runtime);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_LITERALS_H_
