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
// A length of 0 is allowed and means nothing.
inline constexpr size_t kFrameHeaderSize = 4;
inline constexpr size_t kMaxFrameSize = 128 * 1024;
inline constexpr size_t kMaxFramePayloadSize = kMaxFrameSize - kFrameHeaderSize;

// |header| has kFrameHeaderSize bytes.
inline void WriteFrameHeader(size_t payload_size, uint8_t* header) {
  for (size_t i = 0; i < kFrameHeaderSize; ++i)
    header[i] = static_cast<uint8_t>(payload_size >> (8 * i));
}

// Finds the frames in a stream of bytes, however it was cut into pieces. The
// peer is not trusted: it can make this hold one frame of the greatest size,
// once it has sent as much, and no more. One thread.
class FrameReader {
 public:
  // Where the next bytes of the stream go; empty only if there is no memory,
  // and then the stream is broken. Frames that were given out are invalid from
  // here on, all of them must have been taken.
  ContiguousMemoryRange BeginReceive();
  // So many of them have been written.
  void EndReceive(size_t size);

  // Takes the next frame that is complete and not empty. Returns false if there
  // is none, or if the stream is broken.
  bool NextFrame(ConstBytes* payload);
  // Whether it has something to do, without more of the stream.
  bool HasFrame() const;

  // A length is out of range, or bytes had no place: nothing that follows can
  // be told apart.
  bool is_broken() const { return is_broken_; }

 private:
  static constexpr size_t kMinReceiveSize = 4096;

  // Of the frame at |begin_|. REQUIRES: its header is there.
  size_t PayloadSize() const;

  ByteBuffer buffer_;
  // What has been received and not been given out: [begin_, end_).
  size_t begin_ = 0;
  size_t end_ = 0;
  bool is_broken_ = false;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_FRAME_READER_H_
