// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/testing/hex.h"

#include <stdlib.h>

namespace protozero::test {

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (!hex.empty())
      hex += ' ';
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string Hex(const void* data, size_t size) {
  return Hex(std::string_view(static_cast<const char*>(data), size));
}

std::string Hex(const std::vector<uint8_t>& bytes) {
  return Hex(bytes.data(), bytes.size());
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size();) {
    if (hex[i] == ' ') {
      ++i;
      continue;
    }
    const char digits[] = {hex[i], hex[i + 1], '\0'};
    bytes += static_cast<char>(strtol(digits, nullptr, 16));
    i += 2;
  }
  return bytes;
}

}  // namespace protozero::test
