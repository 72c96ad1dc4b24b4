// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_GROWING_BUFFER_H_
#define INCLUDE_PROTOZERO_INTERNAL_GROWING_BUFFER_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/contiguous_memory_range.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A delegate whose chunks are the free rest of a container. The container
// moves when it grows, and what has been written moves along:
//
//   | before | message ........ | chunk      |         full
//   | before | message ..................... | chunk                      |
//
// An open message would write its size to where it was. So it gets a place here
// instead, and the size is copied later. Messages are sealed from the innermost
// one outward: the places are a stack. Allocates memory only for more than
// kPlaces messages that are open at the end of a chunk.
class PROTOZERO_EXPORT GrowingBuffer final
    : public ScatteredStreamWriter::Delegate {
 public:
  // Makes |container|, of which |used| bytes count, longer by a chunk. Returns
  // all its bytes, at least |used| + kPatchSize; an invalid range if there is
  // no memory.
  using Grow = ContiguousMemoryRange (*)(void* container, size_t used);

  // REQUIRES: all of them outlive the buffer.
  GrowingBuffer(void* container, Grow grow, ScatteredStreamWriter* writer)
      : container_(container), grow_(grow), writer_(writer) {
    bottom_.below = nullptr;
    bottom_.count = 0;
  }
  ~GrowingBuffer() override {
    if (PROTOZERO_UNLIKELY(top_ != &bottom_))
      FreeBlocks();
  }

  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;

  // Begins a message after the |size| bytes of the container. Returns its
  // first chunk; an invalid range if there is no memory.
  ContiguousMemoryRange Begin(size_t size, uint64_t written) {
    begin_ = size;
    written_before_ = written;
    if (PROTOZERO_UNLIKELY(has_patches()))
      FreeBlocks();
    return ChunkFrom(size);
  }
  // Returns the container's size before the message.
  size_t begin() const { return begin_; }
  // Completes the message, which has been finalized. Returns the size of the
  // container with it.
  size_t End() {
    if (PROTOZERO_UNLIKELY(has_patches()))
      CopySizes();
    return UsedSize();
  }

  PROTOZERO_COLD ContiguousMemoryRange GetNewBuffer() override;
  PROTOZERO_COLD uint8_t* AnnotatePatch(uint8_t* patch_addr) override;

 private:
  // The place of a size that is not known yet.
  struct Patch {
    uint8_t bytes[kPatchSize];
    // The offset in the container.
    size_t offset;
  };
  static constexpr size_t kPlaces = 16;
  struct Block {
    Block* below;
    size_t count;
    Patch patches[kPlaces];
  };

  bool has_patches() const { return top_->count != 0 || has_failed_; }
  size_t UsedSize() const {
    return begin_ + ToSize(writer_->written() - written_before_);
  }
  ContiguousMemoryRange ChunkFrom(size_t used) {
    const ContiguousMemoryRange bytes = grow_(container_, used);
    if (PROTOZERO_UNLIKELY(!bytes.is_valid()))
      return ContiguousMemoryRange{};
    bytes_ = bytes;
    return {bytes.begin + used, bytes.end};
  }
  // Copies the sizes at the top of the stack that are known by now.
  PROTOZERO_COLD void CopySizes() noexcept;
  PROTOZERO_COLD void FreeBlocks() noexcept;

  void* const container_;
  const Grow grow_;
  ScatteredStreamWriter* const writer_;
  // All bytes of the container, with the chunk at their end.
  ContiguousMemoryRange bytes_ = {nullptr, nullptr};
  size_t begin_ = 0;
  // The number of bytes that the writer had written before the message.
  uint64_t written_before_ = 0;
  // True if there was no memory for the place of a size.
  bool has_failed_ = false;
  Block* top_ = &bottom_;
  // Only |count| patches are set.
  Block bottom_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_GROWING_BUFFER_H_
