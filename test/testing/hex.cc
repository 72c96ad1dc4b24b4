// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/testing/hex.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

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

std::string WithLittleEndianHeader(std::string chunk) {
  const uint16_t one = 1;
  if (memcmp(&one, "\1", 1) != 0) {
    const auto begin = chunk.begin();
    std::reverse(begin, begin + 4);
    std::reverse(begin + 4, begin + 6);
    std::reverse(begin + 6, begin + 8);
  }
  return chunk;
}

std::string HexOfChunk(const void* chunk, size_t size) {
  return Hex(WithLittleEndianHeader(
      std::string(static_cast<const char*>(chunk), size)));
}

}  // namespace protozero::test
