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

// The steps of GetNewBuffer() and BorrowBytes().

inline void ScatteredHeapBuffer::Join(SliceHeader* slice) {
  while (slice->next != nullptr && slice->next->is_borrowed()) {
    SliceHeader* const rest = slice->next->next;
    slice->size =
        static_cast<size_t>(rest->begin() + rest->size - slice->begin());
    slice->next = rest->next;
  }
}

PROTOZERO_ALWAYS_INLINE void ScatteredHeapBuffer::LeaveSlice() {
  AdjustUsedSizeOfCurrentSlice();
  if (is_in_first_ && current_ == nullptr && first_ != nullptr) {
    // The writer leaves the first slice without a byte.
    current_ = first_;
    current_->unused_bytes = current_->size;
  }
  is_in_first_ = false;
}

PROTOZERO_ALWAYS_INLINE ScatteredHeapBuffer::SliceHeader*
ScatteredHeapBuffer::NextSlice() {
  SliceHeader** const link = current_ != nullptr ? &current_->next : &first_;
  if (*link == nullptr) {
    *link = NewSlice();
  } else {
    Join(*link);
  }
  return *link;
}

PROTOZERO_ALWAYS_INLINE void ScatteredHeapBuffer::EnterSlice(
    SliceHeader* slice) {
  current_ = slice;
  slice->unused_bytes = slice->size;
  written_before_slice_ = writer_ != nullptr ? writer_->written() : 0;
  if (slice == first_)
    first_range_ = {slice->begin(), slice->begin() + slice->size};
}

void ScatteredHeapBuffer::FreeSlices() noexcept {
  if (given_ != nullptr)
    Join(given_);
  SliceHeader* next = given_ != nullptr ? given_->next : first_;
  while (next != nullptr) {
    SliceHeader* const slice = next;
    Join(slice);
    next = slice->next;
    internal::DeallocateBuffer(allocator_, slice, kSliceOverhead + slice->size);
  }
}

ContiguousMemoryRange ScatteredHeapBuffer::GetNewBuffer() {
  LeaveSlice();
  SliceHeader* const slice = NextSlice();
  if (slice == nullptr)
    return ContiguousMemoryRange{};
  EnterSlice(slice);
  return {slice->begin(), slice->begin() + slice->size};
}

ContiguousMemoryRange ScatteredHeapBuffer::BorrowBytes(
    ContiguousMemoryRange bytes) {
  if (writer_ == nullptr)  // Then nothing says how much has been written.
    return ContiguousMemoryRange{};
  const auto padding = [](const SliceHeader* slice) {
    return (slice->unused_bytes - slice->size) % alignof(Split);
  };
  LeaveSlice();
  SliceHeader* slice = current_;
  if (slice == nullptr ||
      slice->unused_bytes < padding(slice) + sizeof(Split)) {
    slice = NextSlice();
    if (slice == nullptr || slice->size < sizeof(Split))
      return ContiguousMemoryRange{};
    EnterSlice(slice);
  }
  const size_t unused = slice->unused_bytes - padding(slice) - sizeof(Split);
  uint8_t* const end = slice->begin() + slice->size;
  auto* const split = new (end - unused - sizeof(Split))
      Split{{nullptr, bytes.size(), SliceHeader::kBorrowed},
            bytes,
            {slice->next, unused, unused}};
  split->borrowed.next = &split->rest;
  slice->next = &split->borrowed;
  slice->size -= slice->unused_bytes;
  slice->unused_bytes = 0;
  if (slice == first_)
    first_range_ = ContiguousMemoryRange{};
  current_ = &split->rest;
  written_before_slice_ = writer_->written() + bytes.size();
  return {end - unused, end};
}

void ScatteredHeapBuffer::JoinFirst() {
  if (first_ == nullptr)
    return;
  Join(first_);
  first_range_ = {first_->begin(), first_->begin() + first_->size};
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
    next->start_ = slice->used_range().begin;
    next->size_ = slice->size;
    next->unused_bytes_ = slice->is_borrowed() ? 0 : slice->unused_bytes;
    ++next;
  });
}

ContiguousMemoryRange* ScatteredHeapBuffer::DescribeRanges(
    ContiguousMemoryRange* next) const {
  ForEachSlice([&next](SliceHeader* slice) {
    *next = slice->used_range();
    if (next->size() != 0)
      ++next;
  });
  return next;
}

size_t ScatteredHeapBuffer::GetUsedSize() {
  AdjustUsedSizeOfCurrentSlice();
  size_t size = 0;
  ForEachSlice(
      [&size](SliceHeader* slice) { size += slice->used_range().size(); });
  return size;
}

void ScatteredHeapBuffer::CopyUsedBytes(uint8_t* dst) const {
  ForEachSlice([&dst](SliceHeader* slice) {
    const ContiguousMemoryRange range = slice->used_range();
    if (range.size() != 0)  // memcpy() may not be given null.
      memcpy(dst, range.begin, range.size());
    dst += range.size();
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
