// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_heap_buffer.h"

#include <string.h>

#include <algorithm>
#include <new>

#include "protozero/compiler.h"

namespace protozero {

ScatteredHeapBuffer::Slice::Slice(size_t size)
    : buffer_(new(std::nothrow) uint8_t[size]),
      size_(buffer_ ? size : 0),
      unused_bytes_(size_) {}

void ScatteredHeapBuffer::Slice::set_unused_bytes(size_t unused_bytes) {
  PROTOZERO_DCHECK(unused_bytes <= size_, "a slice has no more than its size");
  unused_bytes_ = std::min(unused_bytes, size_);
}

ScatteredHeapBuffer::ScatteredHeapBuffer(size_t initial_slice_size_bytes,
                                         size_t maximum_slice_size_bytes)
    : initial_slice_size_bytes_(std::max(initial_slice_size_bytes, kPatchSize)),
      maximum_slice_size_bytes_(
          std::max(maximum_slice_size_bytes, initial_slice_size_bytes_)),
      next_slice_size_(initial_slice_size_bytes_) {}

ScatteredHeapBuffer::~ScatteredHeapBuffer() = default;

ContiguousMemoryRange ScatteredHeapBuffer::GetNewBuffer() {
  AdjustUsedSizeOfCurrentSlice();
  written_before_slice_ = writer_ != nullptr ? writer_->written() : 0;
  if (!spare_slices_.empty()) {
    slices_.push_back(std::move(spare_slices_.back()));
    spare_slices_.pop_back();
    return slices_.back().GetTotalRange();
  }
  Slice slice(next_slice_size_);
  if (slice.size() == 0)
    return ContiguousMemoryRange{};
  next_slice_size_ = std::min(maximum_slice_size_bytes_, next_slice_size_ * 2);
  slices_.push_back(std::move(slice));
  return slices_.back().GetTotalRange();
}

const std::vector<ScatteredHeapBuffer::Slice>&
ScatteredHeapBuffer::GetSlices() {
  AdjustUsedSizeOfCurrentSlice();
  return slices_;
}

std::vector<ContiguousMemoryRange> ScatteredHeapBuffer::GetRanges() {
  const std::vector<Slice>& slices = GetSlices();
  std::vector<ContiguousMemoryRange> ranges(slices.size());
  for (size_t i = 0; i < slices.size(); ++i)
    ranges[i] = slices[i].GetUsedRange();
  return ranges;
}

std::vector<uint8_t> ScatteredHeapBuffer::StitchSlices() {
  std::vector<uint8_t> bytes(GetUsedSize());
  CopyUsedBytes(bytes.data());
  return bytes;
}

std::pair<std::unique_ptr<uint8_t[]>, size_t>
ScatteredHeapBuffer::StitchAsUniquePtr() {
  const size_t size = GetUsedSize();
  std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);
  CopyUsedBytes(bytes.get());
  return {std::move(bytes), size};
}

size_t ScatteredHeapBuffer::GetUsedSize() {
  size_t size = 0;
  for (const Slice& slice : GetSlices())
    size += slice.GetUsedRange().size();
  return size;
}

void ScatteredHeapBuffer::CopyUsedBytes(uint8_t* dst) const {
  for (const Slice& slice : slices_) {
    const ContiguousMemoryRange range = slice.GetUsedRange();
    if (range.size() != 0)  // memcpy() may not be given null.
      memcpy(dst, range.begin, range.size());
    dst += range.size();
  }
}

void ScatteredHeapBuffer::AdjustUsedSizeOfCurrentSlice() {
  if (slices_.empty() || writer_ == nullptr)
    return;
  // Counted rather than taken from the write pointer: the writer may have left
  // the slice already. What it had to drop is counted, too.
  const uint64_t written = writer_->written() - written_before_slice_;
  Slice& slice = slices_.back();
  slice.set_unused_bytes(static_cast<size_t>(
      slice.size() - std::min<uint64_t>(written, slice.size())));
}

size_t ScatteredHeapBuffer::GetTotalSize() const {
  size_t size = 0;
  for (const Slice& slice : slices_)
    size += slice.size();
  return size;
}

void ScatteredHeapBuffer::Reset() {
  while (!slices_.empty()) {
    slices_.back().Clear();
    spare_slices_.push_back(std::move(slices_.back()));
    slices_.pop_back();
  }
}

}  // namespace protozero
