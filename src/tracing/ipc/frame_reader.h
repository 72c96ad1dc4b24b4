// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_FRAME_READER_H_
#define SRC_TRACING_IPC_FRAME_READER_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/const_bytes.h"
#include "protozero/contiguous_memory_range.h"
#include "src/tracing/ipc/byte_buffer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A frame on the socket:
//
//   0                    4
//   +--------------------+------------------------------+
//   | length of payload, | payload: an IPCFrame message |
//   | little-endian      |                              |
//   +--------------------+------------------------------+
//
// A length of 0 is allowed, and has no meaning.
inline constexpr size_t kFrameHeaderSize = 4;
inline constexpr size_t kMaxFrameSize = 128 * 1024;
inline constexpr size_t kMaxFramePayloadSize = kMaxFrameSize - kFrameHeaderSize;

// Writes a header of kFrameHeaderSize bytes.
inline void WriteFrameHeader(size_t payload_size, uint8_t* header) {
  for (size_t i = 0; i < kFrameHeaderSize; ++i)
    header[i] = static_cast<uint8_t>(payload_size >> (8 * i));
}

// Finds the frames in a stream of bytes, however the stream is cut into pieces.
// The peer is not trusted: after sending that much, it can make this hold one
// frame of the greatest size, and no more. One thread at a time.
class FrameReader {
 public:
  // Returns the place for the next bytes of the stream. It is empty only if
  // there is no memory; then the stream is broken. Frames that were given out
  // become invalid. REQUIRES: NextFrame() has returned false.
  ContiguousMemoryRange BeginReceive();
  // Says that |size| bytes of the stream have been written there.
  void EndReceive(size_t size);

  // Takes the next frame that is complete and not empty. Returns false if there
  // is none, or if the stream is broken.
  bool NextFrame(ConstBytes* payload);
  // Returns whether NextFrame() has something to do.
  bool HasFrame() const;

  // Returns whether a length was out of range, or there was no memory for
  // bytes. Then nothing more can be read.
  bool is_broken() const { return is_broken_; }

 private:
  static constexpr size_t kMinReceiveSize = 4096;

  // Returns the payload's size of the frame at |begin_|. REQUIRES: its header
  // is there.
  size_t PayloadSize() const;

  ByteBuffer buffer_;
  // The bytes that were received and not given out: [begin_, end_).
  size_t begin_ = 0;
  size_t end_ = 0;
  bool is_broken_ = false;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_FRAME_READER_H_
