// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/interop/tree.h"

#include <exception>
#include <iostream>

namespace protozero::test {

std::string Hexadecimal(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    digits.push_back(kDigits[byte >> 4]);
    digits.push_back(kDigits[byte & 15]);
  }
  return digits;
}

std::string FromHexadecimal(const Json& tree) {
  const std::string digits = tree.get<std::string>();
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    uint8_t byte;
    const std::string pair = digits.substr(i, 2);
    const auto [end, error] =
        std::from_chars(pair.data(), pair.data() + pair.size(), byte, 16);
    if (error != std::errc() || end != pair.data() + 2)
      throw std::runtime_error("not hexadecimal: " + pair);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

int Serve(const std::function<Json(const Json& request)>& answer) {
  for (std::string line; std::getline(std::cin, line);) {
    Json result;
    try {
      result = answer(Json::parse(line));
    } catch (const std::exception& error) {
      result = Json{{"error", error.what()}};
    }
    // Strings that are not UTF-8 must compare as different, and not stop us.
    std::cout << result.dump(-1, ' ', true, Json::error_handler_t::replace)
              << '\n';
  }
  std::cout.flush();
  return std::cout.good() ? 0 : 1;
}

}  // namespace protozero::test
