// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/traced_workers/work.h"

#include <string.h>

#include <algorithm>
#include <array>
#include <vector>

namespace traced_workers {

namespace {

// The compressed form is a sequence of
//
//   | n (1 to 127)      | n bytes                          | literals
//   | 128 + n (n < 128) | distance, 2 bytes, little-endian | n + 4 bytes
//
// The n + 4 bytes are a copy of the text at that distance before.
constexpr size_t kMaxLiterals = 127;
constexpr size_t kMinMatch = 4;
constexpr size_t kMaxMatch = kMinMatch + 127;
constexpr size_t kMaxDistance = 65535;

uint32_t HashAt(std::string_view text, size_t pos) {
  uint32_t word;
  memcpy(&word, text.data() + pos, sizeof(word));
  return word * 2654435761u >> 20;
}

}  // namespace

std::string MakeText(uint64_t seed, size_t size) {
  static constexpr std::string_view kWords[] = {
      "a",     "tracing", "service",  "that",  "reads",  "what",  "threads",
      "write", "without", "waiting",  "for",   "each",   "other", "and",
      "loses", "nothing", "whatever", "comes", "chunk",  "by",    "chunk,",
      "page",  "after",   "page.",    "patch", "packet", "into",  "memory"};
  std::string text;
  text.reserve(size + 16);
  uint64_t state = seed * 2 + 1;
  while (text.size() < size) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += kWords[(state >> 33) % std::size(kWords)];
    text += ' ';
  }
  text.resize(size);
  return text;
}

std::string Compress(std::string_view text) {
  std::string out;
  // The last place of four bytes with that hash, plus 1; 0 for none.
  std::vector<size_t> last_seen(1 << 12);
  size_t literals = 0;  // The first literal that has not been written.
  const auto flush_literals = [&](size_t end) {
    while (literals < end) {
      const size_t count = std::min(kMaxLiterals, end - literals);
      out += static_cast<char>(count);
      out += text.substr(literals, count);
      literals += count;
    }
  };
  size_t pos = 0;
  while (pos + kMinMatch <= text.size()) {
    size_t& seen = last_seen[HashAt(text, pos)];
    const size_t candidate = seen;
    seen = pos + 1;
    size_t length = 0;
    if (candidate != 0 && pos - (candidate - 1) <= kMaxDistance) {
      const size_t limit = std::min(kMaxMatch, text.size() - pos);
      while (length < limit &&
             text[candidate - 1 + length] == text[pos + length])
        ++length;
    }
    if (length < kMinMatch) {
      ++pos;
      continue;
    }
    flush_literals(pos);
    const size_t distance = pos - (candidate - 1);
    out += static_cast<char>(0x80 | (length - kMinMatch));
    out += static_cast<char>(distance & 0xff);
    out += static_cast<char>(distance >> 8);
    pos += length;
    literals = pos;
  }
  flush_literals(text.size());
  return out;
}

std::string Decompress(std::string_view compressed) {
  std::string text;
  for (size_t pos = 0; pos < compressed.size();) {
    const uint8_t head = static_cast<uint8_t>(compressed[pos++]);
    if (head < 0x80) {
      if (head > compressed.size() - pos)
        return "";
      text += compressed.substr(pos, head);
      pos += head;
      continue;
    }
    if (compressed.size() - pos < 2)
      return "";
    const size_t distance =
        static_cast<uint8_t>(compressed[pos]) |
        static_cast<size_t>(static_cast<uint8_t>(compressed[pos + 1])) << 8;
    pos += 2;
    if (distance == 0 || distance > text.size())
      return "";
    // The source may overlap with the copy.
    for (size_t i = (head & 0x7f) + kMinMatch; i > 0; --i)
      text += text[text.size() - distance];
  }
  return text;
}

size_t CountPrimes(size_t limit) {
  std::vector<bool> is_composite(limit);
  size_t count = 0;
  for (size_t number = 2; number < limit; ++number) {
    if (is_composite[number])
      continue;
    ++count;
    for (size_t multiple = 2 * number; multiple < limit; multiple += number)
      is_composite[multiple] = true;
  }
  return count;
}

}  // namespace traced_workers
