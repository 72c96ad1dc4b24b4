// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_STATIC_BUFFER_H_
#define INCLUDE_PROTOZERO_STATIC_BUFFER_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/compiler.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Serialization into one buffer of a fixed size, for messages whose size is
// bounded. No allocation. One thread at a time.

// A delegate that hands out its one buffer, once.
class StaticBufferDelegate : public ScatteredStreamWriter::Delegate {
 public:
  // REQUIRES: |buffer| holds |size| bytes and outlives the delegate.
  StaticBufferDelegate(uint8_t* buffer, size_t size)
      : range_{buffer, buffer + size} {}

  ContiguousMemoryRange GetNewBuffer() override {
    if (handed_out_)
      return ContiguousMemoryRange{};
    handed_out_ = true;
    return range_;
  }

  // Returns the whole buffer.
  ContiguousMemoryRange range() const { return range_; }

 private:
  const ContiguousMemoryRange range_;
  bool handed_out_ = false;
};

namespace internal {

// A writer without a destructor. Its messages are destroyed before it, so the
// destructor would have nothing to do; compilers do not see that.
union UndestroyedWriter {
  explicit UndestroyedWriter(ContiguousMemoryRange range)
      : writer(nullptr, range) {}
  ~UndestroyedWriter() {}

  ScatteredStreamWriter writer;
};

}  // namespace internal

// A message of type T that is written to a buffer of the caller's:
//
//   uint8_t buffer[256];
//   protozero::StaticBuffered<MyEvent> event(buffer, sizeof(buffer));
//   event->set_timestamp(now);
//   Send(buffer, event.Finalize());
//
// When the buffer is too small, Finalize() returns 0, ok() is false, and
// bytes_needed() tells a size that would have been enough.
template <typename T>
class StaticBuffered {
 public:
  // REQUIRES: |buffer| holds |size| bytes and outlives the message.
  StaticBuffered(void* buffer, size_t size)
      : StaticBuffered(buffer, size, RootMessage<T>::size_hint_.Load()) {}

  // Not copyable: there may be pointers into it.
  StaticBuffered(const StaticBuffered&) = delete;
  StaticBuffered& operator=(const StaticBuffered&) = delete;

  // Return the message.
  T* get() { return &message_; }
  T* operator->() { return &message_; }

  // Seals the message and returns its size in bytes, from the buffer's first
  // byte on; 0 for an empty message, and when the buffer was too small.
  size_t Finalize() { return message_.PROTOZERO_RUNTIME::Message::Finalize(); }

  // Return the stream's status, see ScatteredStreamWriter::status().
  WriteStatus status() const { return writer_.writer.status(); }
  bool ok() const { return writer_.writer.ok(); }

  // Returns the number of bytes written so far while ok(). After an error,
  // returns a buffer size with which the same message fits, at most three bytes
  // too many per nested message.
  size_t bytes_needed() const {
    return PROTOZERO_RUNTIME::internal::ToSize(writer_.writer.written());
  }

 private:
  // The caller loads the |hint| before anything is stored: compilers do not
  // leave out a store in front of an atomic load, even if another store
  // follows.
  StaticBuffered(void* buffer, size_t size, MessageArena::SizeHint hint)
      : writer_({static_cast<uint8_t*>(buffer),
                 static_cast<uint8_t*>(buffer) + size}),
        message_(&writer_.writer, hint) {}

  internal::UndestroyedWriter writer_;
  RootMessage<T> message_;
};

// A StaticBuffered with its own N bytes, typically on the stack.
template <typename T, size_t N>
class StackBuffered : public StaticBuffered<T> {
 public:
  // Takes the buffer's address, which is allowed before its lifetime begins.
  StackBuffered() : StaticBuffered<T>(&bytes_[0], N) {}

  // Returns the buffer. Finalize() returns the number of its bytes that count.
  const uint8_t* data() const { return &bytes_[0]; }

 private:
  uint8_t bytes_[N];
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_STATIC_BUFFER_H_
