// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_BYTE_BUFFER_H_
#define SRC_TRACING_IPC_BYTE_BUFFER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A row of bytes, like a std::vector of them. But if growing fails, it says so
// and does not end the program. New bytes have no value.
class ByteBuffer {
 public:
  uint8_t* data() { return bytes_.get(); }
  const uint8_t* data() const { return bytes_.get(); }
  size_t size() const { return size_; }

  // Makes room. Returns false, and changes nothing, if there is no memory.
  bool Reserve(size_t capacity) {
    if (capacity <= capacity_)
      return true;
    std::unique_ptr<uint8_t[]> bytes(new (std::nothrow) uint8_t[capacity]);
    if (bytes == nullptr)
      return false;
    if (size_ != 0)
      memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
    return true;
  }
  bool Resize(size_t size) {
    if (size > capacity_ && !Reserve(std::max(size, 2 * capacity_)))
      return false;
    size_ = size;
    return true;
  }
  // Removes bytes from the front. REQUIRES: |count| <= size().
  void EraseFront(size_t count) {
    size_ -= count;
    if (size_ != 0)
      memmove(bytes_.get(), bytes_.get() + count, size_);
  }

 private:
  std::unique_ptr<uint8_t[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_BYTE_BUFFER_H_
