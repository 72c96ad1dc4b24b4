// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_INTEROP_TREE_H_
#define TEST_INTEROP_TREE_H_

#include <stdint.h>
#include <string.h>

#include <charconv>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <nlohmann/json.hpp>

// The common part of run.py's C++ programs: trees, which schema.py describes,
// and the input of these programs.

namespace protozero::test {

using Json = nlohmann::json;

std::string Hexadecimal(std::string_view bytes);
// Returns the bytes. Throws if |tree| is not hexadecimal.
std::string FromHexadecimal(const Json& tree);

template <typename T>
Json NumberTree(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> bits;
    memcpy(&bits, &value, sizeof(bits));
    std::string big_endian;
    for (size_t i = sizeof(bits); i-- > 0;)
      big_endian.push_back(static_cast<char>(bits >> (8 * i) & 0xff));
    return Hexadecimal(big_endian);
  } else {
    return std::to_string(value);
  }
}

template <typename T>
T ParseNumber(const Json& tree) {
  const std::string text = tree.get<std::string>();
  T value;
  std::from_chars_result result;
  if constexpr (std::is_floating_point_v<T>) {
    std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> bits;
    result = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
    memcpy(&value, &bits, sizeof(value));
  } else {
    result = std::from_chars(text.data(), text.data() + text.size(), value);
  }
  if (result.ec != std::errc() || result.ptr != text.data() + text.size())
    throw std::runtime_error("not a number in range: " + text);
  return value;
}

// Calls |answer| with each line of the standard input, which is JSON, and
// prints the result as a line. An exception becomes {"error": "..."}. Returns
// the exit code of the program.
int Serve(const std::function<Json(const Json& request)>& answer);

}  // namespace protozero::test

#endif  // TEST_INTEROP_TREE_H_
