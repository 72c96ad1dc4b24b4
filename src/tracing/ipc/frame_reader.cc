// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/frame_reader.h"

#include <string.h>

#include <algorithm>

#include "protozero/internal/compiler.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

ContiguousMemoryRange FrameReader::BeginReceive() {
  // Moves the rest, which is less than a frame, to the front.
  if (begin_ != 0 && begin_ != end_)
    memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  // The buffer grows by as much as has come. So only a large frame makes it
  // large, not the announcement of one.
  if (buffer_.size() - end_ < kMinReceiveSize) {
    const size_t size = std::min(2 * end_, kMaxFrameSize) + kMinReceiveSize;
    if (size > buffer_.size() && !buffer_.Resize(size)) {
      is_broken_ = true;
      return ContiguousMemoryRange{};
    }
  }
  return {buffer_.data() + end_, buffer_.data() + buffer_.size()};
}

void FrameReader::EndReceive(size_t size) {
  PROTOZERO_DCHECK(size <= buffer_.size() - end_, "there is no room for it");
  end_ += size;
}

size_t FrameReader::PayloadSize() const {
  size_t size = 0;
  for (size_t i = 0; i < kFrameHeaderSize; ++i)
    size |= size_t{buffer_.data()[begin_ + i]} << (8 * i);
  return size;
}

bool FrameReader::HasFrame() const {
  if (is_broken_ || end_ - begin_ < kFrameHeaderSize)
    return false;
  const size_t size = PayloadSize();
  return size > kMaxFramePayloadSize ||
         end_ - begin_ - kFrameHeaderSize >= size;
}

bool FrameReader::NextFrame(ConstBytes* payload) {
  while (HasFrame()) {
    const size_t size = PayloadSize();
    if (size > kMaxFramePayloadSize) {
      is_broken_ = true;
      break;
    }
    const uint8_t* const begin = buffer_.data() + begin_ + kFrameHeaderSize;
    begin_ += kFrameHeaderSize + size;
    if (size != 0) {
      *payload = ConstBytes(begin, size);
      return true;
    }
  }
  return false;
}

PROTOZERO_ABI_END
}  // namespace protozero
