// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/packed_repeated_fields.h"

#include <new>

namespace protozero {

PackedBufferBase::~PackedBufferBase() {
  delete[] heap_;
}

bool PackedBufferBase::Grow() {
  const size_t used = size();
  const size_t capacity = capacity_ * 2;
  uint8_t* heap = new (std::nothrow) uint8_t[capacity];
  if (heap == nullptr) {
    ok_ = false;
    return false;
  }
  memcpy(heap, storage(), used);
  delete[] heap_;
  heap_ = heap;
  capacity_ = capacity;
  write_ptr_ = heap + used;
  return true;
}

}  // namespace protozero
