// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/packed_repeated_fields.h"

#include <new>

#include "varint_slow_path.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

PackedBufferBase::~PackedBufferBase() {
  delete[] heap_;
}

bool PackedBufferBase::Grow() {
  const size_t used = size();
  const size_t capacity = (used + room()) * 2;
  uint8_t* heap = new (std::nothrow) uint8_t[capacity];
  if (heap == nullptr) {
    ok_ = false;
    return false;
  }
  memcpy(heap, storage(), used);
  delete[] heap_;
  heap_ = heap;
  SetStorage(capacity);
  write_ptr_ += used;
  return true;
}

void PackedBufferBase::AppendVarIntSlowPath(uint64_t bits) {
  if (PROTOZERO_UNLIKELY(!Reserve(proto_utils::kMaxVarIntEncodedSize)))
    return;
  // There is room now. A zero limit means that inline code is not for this
  // processor.
  write_ptr_ = PROTOZERO_LIKELY(fast_limit_ != 0)
                   ? proto_utils::internal::WriteVarIntInline(bits, write_ptr_)
                   : internal::WriteVarIntSlowPath(bits, write_ptr_);
}

PROTOZERO_ABI_END
}  // namespace protozero
