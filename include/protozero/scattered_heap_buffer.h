// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_SCATTERED_HEAP_BUFFER_H_
#define INCLUDE_PROTOZERO_SCATTERED_HEAP_BUFFER_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protozero/buffer_allocator.h"
#include "protozero/contiguous_memory_range.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A buffer in heap memory that grows slice by slice; it moves nothing when it
// grows. One thread at a time may use it.
//
// Until a message is complete, only slices are allocated. So a message that
// fits the first slice takes one allocation; none if the buffer has been reset,
// or if its BufferAllocator has kept memory of another buffer.
class PROTOZERO_EXPORT ScatteredHeapBuffer
    : public ScatteredStreamWriter::Delegate {
 public:
  // The number of bytes that the allocation of a slice takes beside the slice.
  static constexpr size_t kSliceOverhead = 3 * sizeof(size_t);

  // A part of the buffer, filled from its start.
  class PROTOZERO_EXPORT Slice {
   public:
    Slice() = default;
    // Makes a slice with its own memory; its size is 0 if there is no memory.
    PROTOZERO_COLD explicit Slice(size_t size);

    Slice(Slice&&) noexcept = default;
    Slice& operator=(Slice&&) noexcept = default;

    // Return all of its memory, and the part that has been written to.
    ContiguousMemoryRange GetTotalRange() const {
      return {start_, start_ + size_};
    }
    ContiguousMemoryRange GetUsedRange() const {
      return {start_, start_ + (size_ - unused_bytes_)};
    }

    // Return its first byte, its size, and the number of free bytes at its end.
    uint8_t* start() const { return start_; }
    size_t size() const { return size_; }
    size_t unused_bytes() const { return unused_bytes_; }
    // REQUIRES: unused_bytes <= size().
    PROTOZERO_COLD void set_unused_bytes(size_t unused_bytes);
    // Makes all of it unused again.
    void Clear() { unused_bytes_ = size_; }

   private:
    friend class ScatteredHeapBuffer;
    Slice(uint8_t* start, size_t size, size_t unused_bytes)
        : start_(start), size_(size), unused_bytes_(unused_bytes) {}

    // The slice's own memory; null if the memory is the buffer's.
    std::unique_ptr<uint8_t[]> owned_;
    uint8_t* start_ = nullptr;
    size_t size_ = 0;
    size_t unused_bytes_ = 0;
  };

  // The first slice has |initial_slice_size_bytes|, each further one is twice
  // as large as the one before, up to |maximum_slice_size_bytes|. Sizes below
  // kPatchSize count as kPatchSize. Allocates nothing before the first write.
  // Slices come from |allocator|, which is asked for kSliceOverhead bytes more
  // than a slice's size; from the heap if it is null. REQUIRES: |allocator|
  // outlives the buffer.
  PROTOZERO_COLD explicit ScatteredHeapBuffer(
      size_t initial_slice_size_bytes = 128,
      size_t maximum_slice_size_bytes = 128 * 1024,
      BufferAllocator* allocator = nullptr);
  PROTOZERO_COLD ~ScatteredHeapBuffer() override;

  ScatteredHeapBuffer(const ScatteredHeapBuffer&) = delete;
  ScatteredHeapBuffer& operator=(const ScatteredHeapBuffer&) = delete;

  // Allocates; returns an invalid range if there is no memory.
  PROTOZERO_COLD ContiguousMemoryRange GetNewBuffer() override;

  // Returns whether there is no slice in use: nothing has been written.
  bool empty() const { return current_ == nullptr; }

  // Returns the slices in use, oldest first. The used size of the last one is
  // as AdjustUsedSizeOfCurrentSlice() has set it. Valid until the next call.
  // Allocates if there are more slices than ever before.
  const std::vector<Slice>& slices() const {
    slices_.resize(CountSlices());
    DescribeSlices(slices_.data());
    return slices_;
  }

  // Calls AdjustUsedSizeOfCurrentSlice(), then returns slices().
  const std::vector<Slice>& GetSlices() {
    AdjustUsedSizeOfCurrentSlice();
    return slices();
  }

  // Returns the used part of each slice.
  std::vector<ContiguousMemoryRange> GetRanges() {
    AdjustUsedSizeOfCurrentSlice();
    std::vector<ContiguousMemoryRange> ranges(CountSlices());
    DescribeRanges(ranges.data());
    return ranges;
  }

  // Returns all bytes in one piece.
  std::vector<uint8_t> StitchSlices() {
    std::vector<uint8_t> stitched(GetUsedSize());
    CopyUsedBytes(stitched.data());
    return stitched;
  }
  // Returns all bytes in one piece, and their number.
  std::pair<std::unique_ptr<uint8_t[]>, size_t> StitchAsUniquePtr() {
    const size_t size = GetUsedSize();
    std::unique_ptr<uint8_t[]> stitched(new uint8_t[size]);
    CopyUsedBytes(stitched.get());
    return {std::move(stitched), size};
  }

  // Sets the stream that writes to this buffer. REQUIRES: |writer| outlives the
  // calls of any other function here.
  void set_writer(ScatteredStreamWriter* writer) { writer_ = writer; }

  // Sets the used size of the last slice to that of the writer.
  PROTOZERO_COLD void AdjustUsedSizeOfCurrentSlice();

  // Returns the number of bytes in all slices, used or not.
  PROTOZERO_COLD size_t GetTotalSize() const;

  // Empties the buffer. Its slices are kept for reuse, in their order, so that
  // writing no more than before does not allocate again.
  void Reset() { current_ = nullptr; }

 private:
  // The header in front of a slice's bytes.
  struct SliceHeader {
    uint8_t* begin() { return reinterpret_cast<uint8_t*>(this + 1); }
    size_t used_bytes() const { return size - unused_bytes; }

    SliceHeader* next;
    size_t size;
    size_t unused_bytes;
  };
  static_assert(sizeof(SliceHeader) == kSliceOverhead);

  // Calls |function(SliceHeader*)| for each slice in use, oldest first.
  template <typename Function>
  void ForEachSlice(const Function& function) const;
  // Returns null if there is no memory.
  PROTOZERO_COLD SliceHeader* NewSlice();
  PROTOZERO_COLD size_t CountSlices() const;
  // Write descriptions of all CountSlices() slices.
  PROTOZERO_COLD void DescribeSlices(Slice* next) const;
  PROTOZERO_COLD void DescribeRanges(ContiguousMemoryRange* next) const;
  PROTOZERO_COLD size_t GetUsedSize();
  // Copies all bytes. REQUIRES: nothing has been written since GetUsedSize(),
  // and |dst| has the size that it returned.
  PROTOZERO_COLD void CopyUsedBytes(uint8_t* dst) const;

  const size_t initial_slice_size_bytes_;
  const size_t maximum_slice_size_bytes_;
  BufferAllocator* const allocator_;
  size_t next_slice_size_;
  ScatteredStreamWriter* writer_ = nullptr;
  // The number of bytes that the writer had written when it got the last slice.
  uint64_t written_before_slice_ = 0;
  // All slices. The slices up to |current_| are in use; it is null if none is.
  SliceHeader* first_ = nullptr;
  SliceHeader* current_ = nullptr;
  // The vector that slices() has returned.
  mutable std::vector<Slice> slices_;
};

// A message of type T that is written to the heap:
//
//   protozero::HeapBuffered<MyEvent> event;
//   event->set_timestamp(now);
//   std::string bytes = event.SerializeAsString();
//
// If there is no memory, status() is kOutOfBuffer until Reset(): all writes are
// dropped, and the message serializes to nothing.
template <typename T = Message>
class HeapBuffered {
 public:
  // Uses slices of 4 KiB.
  HeapBuffered() : HeapBuffered(4096, 4096) {}
  // Takes the sizes of the slices, and their allocator, as ScatteredHeapBuffer
  // does.
  HeapBuffered(size_t initial_size_bytes,
               size_t maximum_size_bytes,
               BufferAllocator* allocator = nullptr)
      : buffer_(initial_size_bytes, maximum_size_bytes, allocator),
        writer_(&buffer_) {
    buffer_.set_writer(&writer_);
    message_.Reset(&writer_);
  }

  // Not copyable: there may be pointers into it.
  HeapBuffered(const HeapBuffered&) = delete;
  HeapBuffered& operator=(const HeapBuffered&) = delete;

  // Return the message. Reset() begins it anew, at the same address.
  T* get() { return &message_; }
  T* operator->() { return &message_; }

  // Returns true before the first field.
  bool empty() const { return buffer_.empty(); }

  // Return the stream's status, see ScatteredStreamWriter::status().
  WriteStatus status() const { return writer_.status(); }
  bool ok() const { return writer_.ok(); }

  // All of these finalize the message, and return nothing unless ok().
  std::vector<uint8_t> SerializeAsArray() {
    return FinalizeAndCheck() ? buffer_.StitchSlices() : std::vector<uint8_t>();
  }
  std::string SerializeAsString() {
    std::string result;
    for (const ContiguousMemoryRange& range : GetRanges()) {
      if (range.size() != 0)
        result.append(reinterpret_cast<const char*>(range.begin), range.size());
    }
    return result;
  }
  std::pair<std::unique_ptr<uint8_t[]>, size_t> SerializeAsUniquePtr() {
    if (!FinalizeAndCheck())
      return {nullptr, 0};
    return buffer_.StitchAsUniquePtr();
  }
  // Return the message where it lies, valid until Reset().
  std::vector<ContiguousMemoryRange> GetRanges() {
    if (!FinalizeAndCheck())
      return {};
    return buffer_.GetRanges();
  }
  const std::vector<ScatteredHeapBuffer::Slice>& GetSlices() {
    if (!FinalizeAndCheck())
      buffer_.Reset();
    return buffer_.GetSlices();
  }

  // Begins a new message in the same memory.
  void Reset() {
    message_.PROTOZERO_RUNTIME::Message::Finalize();
    buffer_.Reset();
    writer_.Reset(ContiguousMemoryRange{});
    message_.Reset(&writer_);
  }

 private:
  bool FinalizeAndCheck() {
    message_.PROTOZERO_RUNTIME::Message::Finalize();
    return writer_.ok();
  }

  ScatteredHeapBuffer buffer_;
  ScatteredStreamWriter writer_;
  RootMessage<T> message_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_SCATTERED_HEAP_BUFFER_H_
