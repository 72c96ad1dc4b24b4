// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_SCATTERED_HEAP_BUFFER_H_
#define INCLUDE_PROTOZERO_SCATTERED_HEAP_BUFFER_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "protozero/buffer_allocator.h"
#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/growth.h"
#include "protozero/internal/message_inline.h"
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
  explicit ScatteredHeapBuffer(size_t initial_slice_size_bytes = 128,
                               size_t maximum_slice_size_bytes = 128 * 1024,
                               BufferAllocator* allocator = nullptr)
      : maximum_slice_size_bytes_(internal::Larger(
            maximum_slice_size_bytes,
            internal::Larger(initial_slice_size_bytes, kPatchSize))),
        allocator_(allocator),
        next_slice_size_(
            internal::Larger(initial_slice_size_bytes, kPatchSize)) {}
  ~ScatteredHeapBuffer() override {
    if (PROTOZERO_UNLIKELY(first_ != given_ ||
                           (given_ != nullptr && given_->next != nullptr))) {
      FreeSlices();
    }
  }

  ScatteredHeapBuffer(const ScatteredHeapBuffer&) = delete;
  ScatteredHeapBuffer& operator=(const ScatteredHeapBuffer&) = delete;

  // Allocates; returns an invalid range if there is no memory.
  PROTOZERO_COLD ContiguousMemoryRange GetNewBuffer() override;
  // Makes |bytes| a range of its own, which nothing copies, writes to or
  // frees. Splits the current slice, or the next one if that has more room.
  // Takes nothing if a slice has no room for a Split, or if there is no memory.
  PROTOZERO_COLD ContiguousMemoryRange
  BorrowBytes(ContiguousMemoryRange bytes) override;

  // Returns whether there is no slice in use: nothing has been written.
  bool empty() const { return current_ == nullptr && !HasBegunInFirst(); }

  // Returns the slices in use, oldest first, and borrowed bytes between their
  // parts. The used size of the last one is as AdjustUsedSizeOfCurrentSlice()
  // has set it. Valid until the next call. Allocates if there are more slices
  // than ever before.
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

  // Returns the used parts of slices, unless empty, and the borrowed bytes.
  std::vector<ContiguousMemoryRange> GetRanges() {
    AdjustUsedSizeOfCurrentSlice();
    std::vector<ContiguousMemoryRange> ranges(CountSlices());
    const ContiguousMemoryRange* const end = DescribeRanges(ranges.data());
    ranges.resize(static_cast<size_t>(end - ranges.data()));
    return ranges;
  }

  // Returns all bytes in one piece.
  std::vector<uint8_t> StitchSlices() {
    std::vector<uint8_t> stitched;
    AppendTo(&stitched);
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

  // Returns the number of bytes in slices, used or not, and of borrowed ones.
  PROTOZERO_COLD size_t GetTotalSize() const;

  // Empties the buffer. Its slices are kept for reuse, in their order, so that
  // writing no more than before does not allocate again.
  void Reset() {
    current_ = nullptr;
    is_in_first_ = false;
  }

 private:
  template <typename T>
  friend class HeapBuffered;

  // The header in front of a slice's bytes.
  struct SliceHeader {
    // The |unused_bytes| of a header that stands for borrowed bytes.
    static constexpr size_t kBorrowed = SIZE_MAX;

    bool is_borrowed() const { return unused_bytes == kBorrowed; }
    // REQUIRES: !is_borrowed().
    uint8_t* begin() { return reinterpret_cast<uint8_t*>(this + 1); }
    ContiguousMemoryRange used_range() {
      if (PROTOZERO_UNLIKELY(is_borrowed()))
        return reinterpret_cast<Split*>(this)->bytes;
      return {begin(), begin() + (size - unused_bytes)};
    }

    SliceHeader* next;
    size_t size;
    size_t unused_bytes;
  };
  static_assert(sizeof(SliceHeader) == kSliceOverhead);

  // The place in a slice where it is split, so that borrowed bytes are between
  // its two parts. It is in the slice's own memory, so nothing is allocated:
  //
  //   | header | written | Split: borrowed, bytes, rest | free |
  //       '--- next ---------------^      '--next--^
  //
  // Before the slice is used again, it gets all its memory back.
  struct Split {
    SliceHeader borrowed;
    ContiguousMemoryRange bytes;
    // The header of the second part, whose bytes follow.
    SliceHeader rest;
  };

  // Calls |function(SliceHeader*)| for each slice in use, oldest first.
  template <typename Function>
  void ForEachSlice(const Function& function) const {
    if (current_ == nullptr)
      return;
    for (SliceHeader* slice = first_;; slice = slice->next) {
      function(slice);
      if (slice == current_)
        return;
    }
  }

  // The functions that HeapBuffered calls so that its messages begin in the
  // first slice, instead of asking for one.

  // Makes |memory|, which is not the buffer's, the first slice, with its bytes
  // in |range|. The next slice has |next_size|.
  void GiveFirstSlice(void* memory,
                      ContiguousMemoryRange range,
                      size_t next_size) {
    const size_t size = range.size();
    first_ = given_ = new (memory) SliceHeader{nullptr, size, size};
    first_range_ = range;
    next_slice_size_ = internal::Larger(
        size, internal::Smaller(maximum_slice_size_bytes_, next_size));
    is_in_first_ = true;
  }
  // Gives |first_range_| back to a buffer whose first slice has been split.
  // REQUIRES: the message has been finalized.
  PROTOZERO_COLD void JoinFirst();
  // Empties the buffer, whose writer has entered |first_range_| when it had
  // |written| bytes.
  void ResetToFirst(uint64_t written) {
    current_ = nullptr;
    is_in_first_ = true;
    written_before_slice_ = written;
  }
  // Returns whether the writer entered the first slice without asking for it,
  // and has written something since.
  bool HasBegunInFirst() const {
    return is_in_first_ && first_ != nullptr &&
           std::as_const(*writer_).written() != written_before_slice_;
  }

  // Appends all bytes to a string or vector, which has amortized cost. Throws
  // what the container throws, and has changed nothing then.
  template <typename Bytes>
  void AppendTo(Bytes* bytes) {
    const size_t size = bytes->size() + GetUsedSize();
    if (size > bytes->capacity())
      bytes->reserve(internal::Larger(size, 2 * bytes->capacity()));
    ForEachSlice([bytes](SliceHeader* slice) {
      using Element = typename Bytes::value_type;
      const ContiguousMemoryRange range = slice->used_range();
      const auto* const begin = reinterpret_cast<const Element*>(range.begin);
      bytes->insert(bytes->end(), begin, begin + range.size());
    });
  }

  // Settles what has been written to the slice that the writer leaves.
  inline void LeaveSlice();
  // Returns the slice after the current one, which may be new; null if there is
  // no memory.
  inline SliceHeader* NextSlice();
  inline void EnterSlice(SliceHeader* slice);
  PROTOZERO_COLD SliceHeader* NewSlice();
  // Gives a slice back the memory that it had before it was split.
  inline static void Join(SliceHeader* slice);
  PROTOZERO_COLD size_t CountSlices() const;
  // Write descriptions of all CountSlices() slices. The second one leaves out
  // empty ranges, and returns the end.
  PROTOZERO_COLD void DescribeSlices(Slice* next) const;
  PROTOZERO_COLD ContiguousMemoryRange* DescribeRanges(
      ContiguousMemoryRange* next) const;
  PROTOZERO_COLD size_t GetUsedSize();
  // Copies all bytes. REQUIRES: nothing has been written since GetUsedSize(),
  // and |dst| has the size that it returned.
  PROTOZERO_COLD void CopyUsedBytes(uint8_t* dst) const;

  PROTOZERO_COLD void FreeSlices() noexcept;

  const size_t maximum_slice_size_bytes_;
  BufferAllocator* const allocator_;
  size_t next_slice_size_;
  ScatteredStreamWriter* writer_ = nullptr;
  // The number of bytes that the writer had written when it got the last slice.
  uint64_t written_before_slice_ = 0;
  // All slices. The slices up to |current_| are in use; it is null if none is.
  SliceHeader* first_ = nullptr;
  SliceHeader* current_ = nullptr;
  // The bytes of the first slice; an invalid range if there is none, or if it
  // has been split, so that HeapBuffered takes its slow paths.
  ContiguousMemoryRange first_range_ = {nullptr, nullptr};
  // The first slice if its memory is not the buffer's, otherwise null.
  SliceHeader* given_ = nullptr;
  // True from ResetToFirst() until the writer asks for a slice. The first slice
  // is in use then if HasBegunInFirst(), which |current_| need not say yet.
  bool is_in_first_ = false;
  // The vector that slices() has returned.
  mutable std::vector<Slice> slices_;
};

// A message of type T of any size:
//
//   protozero::HeapBuffered<MyEvent> event;
//   event->set_timestamp(now);
//   std::string bytes = event.SerializeAsString();
//
// Its first bytes are in the object itself, so that a message of up to
// kFirstSliceSize bytes takes no memory of the heap but its string's. If there
// is no memory, status() is kOutOfBuffer until Reset(): all writes are dropped,
// and the message serializes to nothing.
template <typename T = Message>
class HeapBuffered {
 public:
  // The size of the slice in the object.
  static constexpr size_t kFirstSliceSize = 1024;

  // Uses slices of 4 KiB, and then larger ones up to 64 KiB, after the first.
  HeapBuffered()
      : HeapBuffered(kFirstSliceSize, 4 * 1024, 64 * 1024, nullptr) {}
  // Takes the sizes of the slices, and their allocator, as ScatteredHeapBuffer
  // does. The first slice is in the object if it has at most kFirstSliceSize
  // bytes and there is no allocator.
  HeapBuffered(size_t initial_size_bytes,
               size_t maximum_size_bytes,
               BufferAllocator* allocator = nullptr)
      : HeapBuffered(initial_size_bytes,
                     2 * initial_size_bytes,
                     maximum_size_bytes,
                     allocator) {}

  // Not copyable: there may be pointers into it.
  HeapBuffered(const HeapBuffered&) = delete;
  HeapBuffered& operator=(const HeapBuffered&) = delete;

  // Return the message. Reset() begins it again, at the same address.
  T* get() { return &message_; }
  T* operator->() { return &message_; }

  // Returns true before the first field.
  bool empty() const { return buffer_.empty(); }

  // Return the stream's status, see ScatteredStreamWriter::status().
  WriteStatus status() const { return writer_.status(); }
  bool ok() const { return writer_.ok(); }

  // All of these finalize the message, and return nothing unless ok(). A string
  // or vector throws if there is no memory for it; the message stays as it is.
  std::vector<uint8_t> SerializeAsArray() {
    const ContiguousMemoryRange whole = FinalizeInFirst();
    if (PROTOZERO_LIKELY(whole.is_valid()))
      return std::vector<uint8_t>(whole.begin, whole.end);
    return ok() ? buffer_.StitchSlices() : std::vector<uint8_t>();
  }
  PROTOZERO_HOT std::string SerializeAsString() {
    const ContiguousMemoryRange whole = FinalizeInFirst();
    if (PROTOZERO_LIKELY(whole.is_valid()))
      return std::string(AsChars(whole), whole.size());
    return SerializeSlicesAsString();
  }
  std::pair<std::unique_ptr<uint8_t[]>, size_t> SerializeAsUniquePtr() {
    if (!FinalizeAndCheck())
      return {nullptr, 0};
    return buffer_.StitchAsUniquePtr();
  }

  // Finalizes the message and appends it to |output|, whose memory grows as for
  // other calls that append. Returns false and leaves |output| as it is unless
  // ok(), if it would be larger than a string can be, or if there is no memory
  // for it. In code that is compiled without exceptions, a lack of memory for a
  // string ends the program.
  bool AppendToString(std::string* output) {
    const ContiguousMemoryRange whole = FinalizeInFirst();
    if (PROTOZERO_UNLIKELY(!whole.is_valid()))
      return AppendSlicesToString(output);
    return internal::HasMemoryFor(
        [&] { output->append(AsChars(whole), whole.size()); });
  }
  // Clears |output|, which keeps its memory, then appends the message: a
  // string that is used again needs an allocation only for a message that is
  // larger than all before it. If it returns false, |output| is empty.
  bool SerializeToString(std::string* output) {
    output->clear();
    return AppendToString(output);
  }

  // Return the message where it lies, valid until Reset(). GetRanges() has no
  // empty range; borrowed bytes are a range of their own.
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
    if (PROTOZERO_UNLIKELY(!message_.is_finalized()) ||
        PROTOZERO_UNLIKELY(
            !message_.MayResetAtOnce(&writer_, buffer_.first_range_))) {
      return ResetSlowPath();
    }
    message_.ResetAtOnce(&writer_, buffer_.first_range_);
    buffer_.ResetToFirst(writer_.written_previously());
  }

 private:
  // Takes the size of the second slice, too, for the case that the first is in
  // the object.
  HeapBuffered(size_t first_size,
               size_t second_size,
               size_t maximum_size,
               BufferAllocator* allocator)
      : buffer_(first_size, maximum_size, allocator),
        writer_(&buffer_, InObject(first_size, allocator)),
        message_(&writer_) {
    buffer_.set_writer(&writer_);
    const ContiguousMemoryRange first = writer_.cur_range();
    if (PROTOZERO_LIKELY(first.is_valid()))
      buffer_.GiveFirstSlice(first_slice_, first, second_size);
  }

  // Returns the memory of the first slice, if that is in the object.
  ContiguousMemoryRange InObject(size_t size,
                                 const BufferAllocator* allocator) {
    size = internal::Larger(size, ScatteredHeapBuffer::kPatchSize);
    if (size > kFirstSliceSize || allocator != nullptr)
      return ContiguousMemoryRange{};
    uint8_t* const begin = &first_slice_[ScatteredHeapBuffer::kSliceOverhead];
    return {begin, begin + size};
  }

  bool FinalizeAndCheck() {
    message_.PROTOZERO_RUNTIME::Message::Finalize();
    return writer_.ok();
  }
  // Finalizes the message. Returns it if all of it is in the first slice,
  // otherwise an invalid range, also unless ok().
  ContiguousMemoryRange FinalizeInFirst() {
    uint8_t* const begin = buffer_.first_range_.begin;
    uint8_t* const end = internal::MessageInline::FinalizeIn(&message_, begin);
    if (PROTOZERO_LIKELY(end != nullptr))
      return {begin, end};
    return FinalizeInFirstSlowPath();
  }
  // Finalizes any message; the usual reason to come here is an open child.
  PROTOZERO_NOINLINE ContiguousMemoryRange FinalizeInFirstSlowPath() {
    uint8_t* const begin = buffer_.first_range_.begin;
    if (!FinalizeAndCheck() || writer_.cur_range().begin != begin)
      return ContiguousMemoryRange{};
    return {begin, writer_.write_ptr()};
  }
  PROTOZERO_COLD void ResetSlowPath() {
    message_.PROTOZERO_RUNTIME::Message::Finalize();
    buffer_.JoinFirst();
    message_.Reset(&writer_, buffer_.first_range_);
    buffer_.ResetToFirst(writer_.written_previously());
  }
  // Do the work of the functions above for a message in several slices, or in
  // the error state.
  PROTOZERO_COLD std::string SerializeSlicesAsString() {
    std::string result;
    if (ok())
      buffer_.AppendTo(&result);
    return result;
  }
  PROTOZERO_COLD bool AppendSlicesToString(std::string* output) {
    return ok() && internal::HasMemoryFor([&] { buffer_.AppendTo(output); });
  }

  static const char* AsChars(ContiguousMemoryRange range) {
    return reinterpret_cast<const char*>(range.begin);
  }

  ScatteredHeapBuffer buffer_;
  ScatteredStreamWriter writer_;
  RootMessage<T> message_;
  alignas(void*) uint8_t
      first_slice_[ScatteredHeapBuffer::kSliceOverhead + kFirstSliceSize];
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_SCATTERED_HEAP_BUFFER_H_
