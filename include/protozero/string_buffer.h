// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_STRING_BUFFER_H_
#define INCLUDE_PROTOZERO_STRING_BUFFER_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/growing_buffer.h"
#include "protozero/internal/growth.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/write_status.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Serialization straight into a std::string or a std::vector<uint8_t>, which
// grows: one copy less than HeapBuffered::SerializeAsString().
//
// A container without room gets 480 bytes of it at first, and grows to at least
// twice its size whenever it is full. It keeps the room that it has, so a
// container that is used again needs an allocation only for a message that is
// larger than all before it. Containers set room to zero before it is written
// to, so a short message takes less time with SerializeToString(). The size
// of a nested message takes four bytes if the container had to grow in it. One
// thread at a time.

// A message of type T that is appended to a container of bytes:
//
//   std::string bytes;
//   protozero::StringBuffered<MyEvent> event(&bytes);
//   event->set_timestamp(now);
//   event.Finalize();
//
// The container's content is unspecified until Finalize(). If there is no
// memory, status() is kOutOfBuffer, all writes are dropped, and the container
// gets the content back that it had before the message. In code that is
// compiled without exceptions, a lack of memory for a container ends the
// program.
template <typename T, typename Bytes>
class ContainerBuffered {
 public:
  // Begins a message at the end of |output|. REQUIRES: |output| is not used
  // before Finalize(), or before this object is gone.
  explicit ContainerBuffered(Bytes* output)
      : output_(output),
        buffer_(output, &Grow, &writer_),
        writer_(&buffer_, buffer_.Begin(output->size(), 0)),
        message_(&writer_) {}
  // Takes a message that was not finalized out of the container.
  ~ContainerBuffered() {
    if (PROTOZERO_UNLIKELY(is_open_))
      output_->resize(buffer_.begin());
  }

  // Not copyable: there may be pointers into it.
  ContainerBuffered(const ContainerBuffered&) = delete;
  ContainerBuffered& operator=(const ContainerBuffered&) = delete;

  // Return the message.
  T* get() { return &message_; }
  T* operator->() { return &message_; }

  // Seals the message, makes the container end with it, and returns the
  // message's size in bytes; 0 for an empty message and unless ok(). The second
  // and later calls only return it.
  size_t Finalize() {
    const size_t size = message_.PROTOZERO_RUNTIME::Message::Finalize();
    if (is_open_) {
      is_open_ = false;
      output_->resize(PROTOZERO_LIKELY(ok()) ? buffer_.End() : buffer_.begin());
    }
    return size;
  }

  // Begins another message at the end of the container. A message that was not
  // finalized is taken out of it before.
  void Reset() {
    if (PROTOZERO_UNLIKELY(is_open_)) {
      message_.PROTOZERO_RUNTIME::Message::Finalize();
      output_->resize(buffer_.begin());
    }
    is_open_ = true;
    message_.Reset(&writer_, buffer_.Begin(output_->size(), writer_.written()));
  }

  // Return the stream's status, see ScatteredStreamWriter::status().
  WriteStatus status() const { return writer_.status(); }
  bool ok() const { return writer_.ok(); }

 private:
  // See GrowingBuffer::Grow.
  static ContiguousMemoryRange Grow(void* container, size_t used) {
    auto* const bytes = static_cast<Bytes*>(container);
    // Less room than this is not worth a chunk.
    constexpr size_t kMinChunk = 64;
    // For a short message, more room would be set to zero for nothing.
    constexpr size_t kChunkInRoom = 2000;
    constexpr size_t kMinGrowth = 480;
    size_t size = bytes->capacity();
    if (size - used >= kMinChunk) {
      size =
          internal::Smaller(size, used + internal::Larger(used, kChunkInRoom));
    } else {
      size = internal::Smaller(used + internal::Larger(used, kMinGrowth),
                               bytes->max_size());
    }
    if (size < used + kMinChunk ||
        !internal::HasMemoryFor([=] { bytes->resize(size); })) {
      return ContiguousMemoryRange{};
    }
    auto* const begin = reinterpret_cast<uint8_t*>(bytes->data());
    return {begin, begin + size};
  }

  Bytes* const output_;
  internal::GrowingBuffer buffer_;
  ScatteredStreamWriter writer_;
  bool is_open_ = true;
  RootMessage<T> message_;
};

// Messages that are appended to a string.
template <typename T = Message>
using StringBuffered = ContainerBuffered<T, std::string>;
// Messages that are appended to a vector of bytes.
template <typename T = Message>
using VectorBuffered = ContainerBuffered<T, std::vector<uint8_t>>;

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_STRING_BUFFER_H_
