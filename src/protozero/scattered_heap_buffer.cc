// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_heap_buffer.h"

#include <string.h>

#include <algorithm>
#include <new>

#include "protozero/internal/compiler.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

ScatteredHeapBuffer::Slice::Slice(size_t size)
    : owned_(new(std::nothrow) uint8_t[size]),
      start_(owned_.get()),
      size_(start_ != nullptr ? size : 0),
      unused_bytes_(size_) {}

void ScatteredHeapBuffer::Slice::set_unused_bytes(size_t unused_bytes) {
  PROTOZERO_DCHECK(unused_bytes <= size_, "a slice has no more than its size");
  unused_bytes_ = std::min(unused_bytes, size_);
}

void ScatteredHeapBuffer::FreeSlices() noexcept {
  SliceHeader* next = given_ != nullptr ? given_->next : first_;
  while (next != nullptr) {
    SliceHeader* const slice = next;
    next = slice->next;
    internal::DeallocateBuffer(allocator_, slice, kSliceOverhead + slice->size);
  }
}

ContiguousMemoryRange ScatteredHeapBuffer::GetNewBuffer() {
  AdjustUsedSizeOfCurrentSlice();
  if (is_in_first_ && current_ == nullptr && first_ != nullptr) {
    // The writer leaves the first slice without a byte.
    current_ = first_;
    current_->unused_bytes = current_->size;
  }
  is_in_first_ = false;
  SliceHeader** const link = current_ != nullptr ? &current_->next : &first_;
  if (*link == nullptr) {
    *link = NewSlice();
    if (*link == nullptr)
      return ContiguousMemoryRange{};
  }
  current_ = *link;
  current_->unused_bytes = current_->size;
  written_before_slice_ = writer_ != nullptr ? writer_->written() : 0;
  const ContiguousMemoryRange range = {current_->begin(),
                                       current_->begin() + current_->size};
  if (current_ == first_)
    first_range_ = range;
  return range;
}

ScatteredHeapBuffer::SliceHeader* ScatteredHeapBuffer::NewSlice() {
  const size_t size = next_slice_size_;
  if (size > SIZE_MAX - kSliceOverhead)
    return nullptr;
  void* const memory =
      internal::AllocateBuffer(allocator_, kSliceOverhead + size);
  if (memory == nullptr)
    return nullptr;
  next_slice_size_ = std::min(maximum_slice_size_bytes_, size * 2);
  return new (memory) SliceHeader{nullptr, size, size};
}

size_t ScatteredHeapBuffer::CountSlices() const {
  size_t count = 0;
  ForEachSlice([&count](SliceHeader*) { ++count; });
  return count;
}

void ScatteredHeapBuffer::DescribeSlices(Slice* next) const {
  ForEachSlice([&next](SliceHeader* slice) {
    next->start_ = slice->begin();
    next->size_ = slice->size;
    next->unused_bytes_ = slice->unused_bytes;
    ++next;
  });
}

void ScatteredHeapBuffer::DescribeRanges(ContiguousMemoryRange* next) const {
  ForEachSlice([&next](SliceHeader* slice) {
    *next++ = {slice->begin(), slice->begin() + slice->used_bytes()};
  });
}

size_t ScatteredHeapBuffer::GetUsedSize() {
  AdjustUsedSizeOfCurrentSlice();
  size_t size = 0;
  ForEachSlice([&size](SliceHeader* slice) { size += slice->used_bytes(); });
  return size;
}

void ScatteredHeapBuffer::CopyUsedBytes(uint8_t* dst) const {
  ForEachSlice([&dst](SliceHeader* slice) {
    if (slice->used_bytes() != 0)  // memcpy() may not be given null.
      memcpy(dst, slice->begin(), slice->used_bytes());
    dst += slice->used_bytes();
  });
}

void ScatteredHeapBuffer::AdjustUsedSizeOfCurrentSlice() {
  if (writer_ == nullptr)
    return;
  if (HasBegunInFirst())
    current_ = first_;
  if (current_ == nullptr)
    return;
  // Computed from written() rather than the write pointer, because the writer
  // may have left the slice already. written() includes the dropped bytes.
  const uint64_t written = writer_->written() - written_before_slice_;
  current_->unused_bytes = internal::ToSize(
      current_->size - std::min<uint64_t>(written, current_->size));
}

size_t ScatteredHeapBuffer::GetTotalSize() const {
  size_t size = 0;
  ForEachSlice([&size](SliceHeader* slice) { size += slice->size; });
  return size;
}

PROTOZERO_ABI_END
}  // namespace protozero
