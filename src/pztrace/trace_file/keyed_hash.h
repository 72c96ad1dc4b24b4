// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_KEYED_HASH_H_
#define SRC_PZTRACE_TRACE_FILE_KEYED_HASH_H_

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <string_view>

namespace pztrace {

// SipHash-2-4. Without the key, a guess of the text cannot be checked.
class KeyedHash {
 public:
  using Key = std::array<uint64_t, 2>;

  explicit KeyedHash(const Key& key) : key_(key) {}

  uint64_t operator()(std::string_view text) const {
    State state = {key_[0] ^ 0x736f6d6570736575, key_[1] ^ 0x646f72616e646f6d,
                   key_[0] ^ 0x6c7967656e657261, key_[1] ^ 0x7465646279746573};
    const size_t whole = text.size() - text.size() % 8;
    for (size_t i = 0; i < whole; i += 8)
      AddWord(WordOf(text.substr(i, 8)), &state);
    AddWord(WordOf(text.substr(whole)) | uint64_t{text.size()} << 56, &state);
    state[2] ^= 0xff;
    for (int i = 0; i < 4; ++i)
      Mix(&state);
    return state[0] ^ state[1] ^ state[2] ^ state[3];
  }

 private:
  using State = std::array<uint64_t, 4>;

  // Returns up to 8 bytes as a little-endian number.
  static uint64_t WordOf(std::string_view bytes) {
    uint64_t word = 0;
    for (size_t i = bytes.size(); i-- > 0;)
      word = word << 8 | static_cast<unsigned char>(bytes[i]);
    return word;
  }
  static uint64_t Rotate(uint64_t word, int bits) {
    return word << bits | word >> (64 - bits);
  }
  static void Mix(State* state) {
    auto& [a, b, c, d] = *state;
    a += b;
    c += d;
    b = Rotate(b, 13) ^ a;
    d = Rotate(d, 16) ^ c;
    a = Rotate(a, 32) + d;
    c += b;
    d = Rotate(d, 21) ^ a;
    b = Rotate(b, 17) ^ c;
    c = Rotate(c, 32);
  }
  static void AddWord(uint64_t word, State* state) {
    (*state)[3] ^= word;
    Mix(state);
    Mix(state);
    (*state)[0] ^= word;
  }

  const Key key_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_KEYED_HASH_H_
