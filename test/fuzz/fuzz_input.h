// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_FUZZ_FUZZ_INPUT_H_
#define TEST_FUZZ_FUZZ_INPUT_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <vector>

namespace protozero::test {

// The input. Behind its end, it has zeros.
class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool is_at_end() const { return size_ == 0; }
  uint32_t Byte() { return Number<uint8_t>(); }
  uint32_t Word() { return Number<uint32_t>(); }
  uint16_t HalfWord() { return Number<uint16_t>(); }
  std::vector<uint8_t> Bytes(size_t size) {
    size = std::min(size, size_);
    std::vector<uint8_t> bytes(data_, data_ + size);
    data_ += size;
    size_ -= size;
    return bytes;
  }

 private:
  template <typename T>
  T Number() {
    T number = 0;
    const size_t size = std::min(sizeof(T), size_);
    if (size != 0)
      memcpy(&number, data_, size);
    data_ += size;
    size_ -= size;
    return number;
  }

  const uint8_t* data_;
  size_t size_;
};

}  // namespace protozero::test

#endif  // TEST_FUZZ_FUZZ_INPUT_H_
