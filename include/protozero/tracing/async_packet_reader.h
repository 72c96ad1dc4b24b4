// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_ASYNC_PACKET_READER_H_
#define INCLUDE_PROTOZERO_TRACING_ASYNC_PACKET_READER_H_

// This header needs C++20. Without coroutines, it declares nothing.
#if defined(__cpp_impl_coroutine)

#include <coroutine>
#include <utility>

#include "protozero/internal/compiler.h"
#include "protozero/tracing/packet_reader.h"
#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A PacketReader that a coroutine waits for:
//
//   Task HandlePackets(AsyncPacketReader& reader) {
//     while (const PacketReader::Packet* packet = co_await reader.Next())
//       Handle(packet->bytes);
//   }
//
//   AsyncPacketReader reader(abi);
//   Task task = HandlePackets(reader);
//   while (is_running)
//     reader.Poll();
//   reader.Close();
//
// Task is any coroutine type, of yours or of a library. There is no executor:
// Poll() looks for a packet and resumes the coroutine on the caller's thread
// and stack. If there is a packet already, the coroutine gets it without being
// suspended. A coroutine that only reads, from a writer that never pauses,
// therefore never lets go of the thread.
//
// Allocates as PacketReader does: nothing for a packet, and nothing for
// waiting. One thread at a time, which includes the coroutine's use of the
// reader and the destruction of its frame.
//
// Reader and coroutine may end in either order. If a waiting coroutine is
// destroyed, the reader forgets it. If the reader is destroyed first, nothing
// resumes the coroutine any more, and its owner has to destroy it.
class AsyncPacketReader {
 public:
  class [[nodiscard]] Awaiter {
   public:
    explicit Awaiter(AsyncPacketReader* reader) : reader_(reader) {}
    ~Awaiter() {
      if (reader_ != nullptr && reader_->waiting_ == this)
        reader_->waiting_ = nullptr;
    }
    // Not copyable: the reader has a pointer to it.
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;

    bool await_ready() {
      PROTOZERO_DCHECK(reader_->waiting_ == nullptr,
                       "one coroutine at a time waits for a reader");
      // If another coroutine waits already, this one gets null.
      if (reader_->waiting_ != nullptr)
        reader_ = nullptr;
      return reader_ == nullptr || reader_->is_closed_ ||
             reader_->reader_.TryNext(&reader_->packet_);
    }
    void await_suspend(std::coroutine_handle<> coroutine) {
      coroutine_ = coroutine;
      reader_->waiting_ = this;
    }
    const PacketReader::Packet* await_resume() const {
      return reader_ != nullptr && !reader_->is_closed_ ? &reader_->packet_
                                                        : nullptr;
    }

   private:
    friend class AsyncPacketReader;

    // The reader; null when it is gone.
    AsyncPacketReader* reader_;
    std::coroutine_handle<> coroutine_;
  };

  // Takes the same as PacketReader's constructor.
  explicit AsyncPacketReader(
      const SharedMemoryABI& abi,
      const PacketReader::Options& options = PacketReader::Options())
      : reader_(abi, options) {}
  ~AsyncPacketReader() {
    if (waiting_ != nullptr)
      waiting_->reader_ = nullptr;
  }

  AsyncPacketReader(const AsyncPacketReader&) = delete;
  AsyncPacketReader& operator=(const AsyncPacketReader&) = delete;

  // Returns the next packet, as a pointer that is valid until the reader is
  // used again, or null after Close(). REQUIRES: awaited at once, by one
  // coroutine at a time.
  Awaiter Next() { return Awaiter(this); }

  // Resumes the waiting coroutine if there is a packet for it, and returns
  // whether it did. After that, the coroutine may have destroyed the reader.
  // REQUIRES: not called by the coroutine.
  bool Poll() {
    if (waiting_ == nullptr || !reader_.TryNext(&packet_))
      return false;
    Resume();
    return true;
  }

  // Resumes the waiting coroutine without a packet. From now on, Next() gives
  // none. The coroutine may have destroyed the reader.
  void Close() {
    is_closed_ = true;
    if (waiting_ != nullptr)
      Resume();
  }

  const PacketReader::Stats& stats() const { return reader_.stats(); }

 private:
  // Resumes the coroutine, which may destroy the reader: touches no member
  // after that.
  void Resume() { std::exchange(waiting_, nullptr)->coroutine_.resume(); }

  PacketReader reader_;
  PacketReader::Packet packet_;
  Awaiter* waiting_ = nullptr;
  bool is_closed_ = false;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // defined(__cpp_impl_coroutine)

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_ASYNC_PACKET_READER_H_
