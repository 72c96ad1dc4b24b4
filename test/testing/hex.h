// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_HEX_H_
#define TEST_TESTING_HEX_H_

#include <stddef.h>
#include <stdint.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

// Shows bytes as text, so that a failed comparison can be read.

namespace protozero::test {

// Return two digits a byte, with a space between bytes: "08 96 01".
std::string Hex(std::string_view bytes);
std::string Hex(const void* data, size_t size);
std::string Hex(const std::vector<uint8_t>& bytes);

// Bytes to compare with others. They are written as hex only if a test fails.
struct AsHex {
  explicit AsHex(std::string_view b) : bytes(b) {}
  AsHex(const void* data, size_t size)
      : bytes(static_cast<const char*>(data), size) {}
  explicit AsHex(const std::vector<uint8_t>& b) : AsHex(b.data(), b.size()) {}

  friend bool operator==(AsHex a, AsHex b) { return a.bytes == b.bytes; }
  friend std::ostream& operator<<(std::ostream& out, AsHex hex) {
    return out << Hex(hex.bytes);
  }

  std::string_view bytes;
};

// Reverses Hex(). Spaces may stand anywhere between bytes.
std::string FromHex(std::string_view hex);

// Changes the header of a chunk in shared memory from this machine's order of
// bytes to that of little-endian ones, or back.
std::string WithLittleEndianHeader(std::string chunk);
// Shows a chunk as little-endian machines have it.
std::string HexOfChunk(const void* chunk, size_t size);

}  // namespace protozero::test

#endif  // TEST_TESTING_HEX_H_
