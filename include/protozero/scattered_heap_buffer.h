// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_SCATTERED_HEAP_BUFFER_H_
#define INCLUDE_PROTOZERO_SCATTERED_HEAP_BUFFER_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protozero/compiler.h"
#include "protozero/contiguous_memory_range.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"

namespace protozero {

// Serialization into heap memory that grows slice by slice; nothing is moved
// when it grows. One thread at a time.

class ScatteredHeapBuffer : public ScatteredStreamWriter::Delegate {
 public:
  // One allocation, filled from its start.
  class Slice {
   public:
    Slice() = default;
    // On failure to allocate, the slice is of size 0.
    explicit Slice(size_t size);

    Slice(Slice&&) noexcept = default;
    Slice& operator=(Slice&&) noexcept = default;

    ContiguousMemoryRange GetTotalRange() const {
      return {buffer_.get(), buffer_.get() + size_};
    }
    ContiguousMemoryRange GetUsedRange() const {
      return {buffer_.get(), buffer_.get() + (size_ - unused_bytes_)};
    }

    uint8_t* start() const { return buffer_.get(); }
    size_t size() const { return size_; }
    size_t unused_bytes() const { return unused_bytes_; }
    // REQUIRES: unused_bytes <= size().
    void set_unused_bytes(size_t unused_bytes);
    // Makes all of it unused again.
    void Clear() { unused_bytes_ = size_; }

   private:
    std::unique_ptr<uint8_t[]> buffer_;
    size_t size_ = 0;
    size_t unused_bytes_ = 0;
  };

  // The first slice is of |initial_slice_size_bytes|, each further one twice
  // as large as the one before, up to |maximum_slice_size_bytes|. Allocates
  // nothing before the first write. Sizes below kPatchSize count as that.
  explicit ScatteredHeapBuffer(size_t initial_slice_size_bytes = 128,
                               size_t maximum_slice_size_bytes = 128 * 1024);
  PROTOZERO_COLD ~ScatteredHeapBuffer() override;

  // Allocates; returns an invalid range if there is no memory.
  PROTOZERO_COLD ContiguousMemoryRange GetNewBuffer() override;

  // The slices in use, oldest first. How much of the last one is used is
  // settled by AdjustUsedSizeOfCurrentSlice().
  const std::vector<Slice>& slices() const { return slices_; }

  // Does that, then returns slices().
  PROTOZERO_COLD const std::vector<Slice>& GetSlices();

  // The used part of each slice.
  PROTOZERO_COLD std::vector<ContiguousMemoryRange> GetRanges();

  // All bytes in one piece.
  PROTOZERO_COLD std::vector<uint8_t> StitchSlices();
  // As above; the second is the number of bytes.
  PROTOZERO_COLD std::pair<std::unique_ptr<uint8_t[]>, size_t>
  StitchAsUniquePtr();

  // The stream that writes to this buffer. REQUIRES: |writer| outlives the
  // calls of any other function here.
  void set_writer(ScatteredStreamWriter* writer) { writer_ = writer; }

  // Takes over from the writer how far the last slice is filled.
  PROTOZERO_COLD void AdjustUsedSizeOfCurrentSlice();

  // Bytes in all slices, used or not.
  size_t GetTotalSize() const;

  // Empties the buffer. Its slices are kept for reuse, in their order, so that
  // writing no more than before does not allocate again.
  PROTOZERO_COLD void Reset();

 private:
  PROTOZERO_COLD size_t GetUsedSize();
  // REQUIRES: nothing has been written since GetUsedSize(), whose size |dst|
  // has.
  PROTOZERO_COLD void CopyUsedBytes(uint8_t* dst) const;

  const size_t initial_slice_size_bytes_;
  const size_t maximum_slice_size_bytes_;
  size_t next_slice_size_;
  ScatteredStreamWriter* writer_ = nullptr;
  // What the writer had written when it got the last slice.
  uint64_t written_before_slice_ = 0;
  std::vector<Slice> slices_;
  // Emptied by Reset(), the next one to use last.
  std::vector<Slice> spare_slices_;
};

// A message of type T that is written to the heap:
//
//   protozero::HeapBuffered<MyEvent> event;
//   event->set_timestamp(now);
//   std::string bytes = event.SerializeAsString();
template <typename T = Message>
class HeapBuffered {
 public:
  HeapBuffered() : HeapBuffered(4096, 4096) {}
  // The sizes of the slices, as for ScatteredHeapBuffer.
  HeapBuffered(size_t initial_size_bytes, size_t maximum_size_bytes)
      : buffer_(initial_size_bytes, maximum_size_bytes), writer_(&buffer_) {
    buffer_.set_writer(&writer_);
    message_.Reset(&writer_);
  }

  // There may be pointers into it.
  HeapBuffered(const HeapBuffered&) = delete;
  HeapBuffered& operator=(const HeapBuffered&) = delete;

  T* get() { return &message_; }
  T* operator->() { return &message_; }

  bool empty() const { return buffer_.slices().empty(); }

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
  // The message where it lies, valid until Reset().
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
    message_.::protozero::Message::Finalize();
    buffer_.Reset();
    writer_.Reset(ContiguousMemoryRange{});
    message_.Reset(&writer_);
  }

 private:
  bool FinalizeAndCheck() {
    message_.::protozero::Message::Finalize();
    return writer_.ok();
  }

  ScatteredHeapBuffer buffer_;
  ScatteredStreamWriter writer_;
  RootMessage<T> message_;
};

}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_SCATTERED_HEAP_BUFFER_H_
