// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/growing_buffer.h"

#include <string.h>

#include <new>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

ContiguousMemoryRange GrowingBuffer::GetNewBuffer() {
  CopySizes();
  return has_failed_ ? ContiguousMemoryRange{} : ChunkFrom(UsedSize());
}

uint8_t* GrowingBuffer::AnnotatePatch(uint8_t* patch_addr) {
  const auto offset = reinterpret_cast<uintptr_t>(patch_addr) -
                      reinterpret_cast<uintptr_t>(bytes_.begin);
  // Memory of another owner stays where it is.
  if (offset >= bytes_.size())
    return patch_addr;
  CopySizes();
  if (top_->count == kPlaces) {
    auto* const block = new (std::nothrow) Block;
    if (block == nullptr) {
      has_failed_ = true;
      return nullptr;
    }
    block->below = top_;
    block->count = 0;
    top_ = block;
  }
  Patch* const patch = &top_->patches[top_->count++];
  patch->offset = offset;
  memset(patch->bytes, 0, kPatchSize);
  return patch->bytes;
}

void GrowingBuffer::CopySizes() noexcept {
  for (;;) {
    while (top_->count != 0) {
      const Patch& patch = top_->patches[top_->count - 1];
      if (patch.bytes[0] == 0)
        return;
      memcpy(bytes_.begin + patch.offset, patch.bytes, kPatchSize);
      --top_->count;
    }
    if (top_ == &bottom_)
      return;
    Block* const block = top_;
    top_ = block->below;
    delete block;
  }
}

void GrowingBuffer::FreeBlocks() noexcept {
  while (top_ != &bottom_) {
    Block* const block = top_;
    top_ = block->below;
    delete block;
  }
  bottom_.count = 0;
  has_failed_ = false;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
