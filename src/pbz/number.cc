// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/number.h"

#include <string.h>

#include <type_traits>

#include "src/program/text.h"

namespace pbz {

using protozero::proto_utils::ZigZagDecode;

Number NumberOf(SchemaType type, uint64_t bits) {
  switch (type) {
    case SchemaType::kDouble:
      return DoubleOf(bits);
    case SchemaType::kFloat:
      return FloatOf(bits);
    case SchemaType::kInt32:
    case SchemaType::kSfixed32:
    case SchemaType::kEnum:
      return int64_t{static_cast<int32_t>(bits)};
    case SchemaType::kInt64:
    case SchemaType::kSfixed64:
      return static_cast<int64_t>(bits);
    case SchemaType::kUint32:
    case SchemaType::kFixed32:
      return uint64_t{static_cast<uint32_t>(bits)};
    case SchemaType::kSint32:
      return int64_t{ZigZagDecode(static_cast<uint32_t>(bits))};
    case SchemaType::kSint64:
      return int64_t{ZigZagDecode(bits)};
    case SchemaType::kBool:
      return bits != 0;
    default:
      return bits;
  }
}

float FloatOf(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float value;
  static_assert(sizeof(value) == sizeof(low), "");
  memcpy(&value, &low, sizeof(value));
  return value;
}

double DoubleOf(uint64_t bits) {
  double value;
  static_assert(sizeof(value) == sizeof(bits), "");
  memcpy(&value, &bits, sizeof(value));
  return value;
}

void AppendNumber(const Number& number, std::string* out) {
  std::visit(
      [out](auto value) {
        using T = decltype(value);
        if constexpr (std::is_same_v<T, bool>)
          *out += value ? "true" : "false";
        else if constexpr (std::is_same_v<T, float>)
          program::AppendFloat(value, out);
        else if constexpr (std::is_same_v<T, double>)
          program::AppendDouble(value, out);
        else
          *out += std::to_string(value);
      },
      number);
}

}  // namespace pbz
