// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp_http/gzip.h"

#include <limits>
#include <new>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

Gzip::~Gzip() {
  if (is_begun_)
    deflateEnd(&stream_);
}

ConstBytes Gzip::Compress(const uint8_t* data, size_t size) {
  // With 16 more, the format is that of gzip.
  constexpr int kWindowBits = MAX_WBITS + 16;
  constexpr int kMemoryLevel = 8;  // zlib's own choice.
  if (size > std::numeric_limits<uInt>::max())
    return {};
  if (is_begun_) {
    deflateReset(&stream_);
  } else if (deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kWindowBits,
                          kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  is_begun_ = true;
  const size_t bound = deflateBound(&stream_, static_cast<uLong>(size));
  if (bound > capacity_) {
    capacity_ = 0;
    buffer_.reset(new (std::nothrow) uint8_t[bound]);
    if (buffer_ == nullptr)
      return {};
    capacity_ = bound;
  }
  stream_.next_in = const_cast<Bytef*>(data);
  stream_.avail_in = static_cast<uInt>(size);
  stream_.next_out = buffer_.get();
  stream_.avail_out =
      static_cast<uInt>(capacity_ < std::numeric_limits<uInt>::max()
                            ? capacity_
                            : std::numeric_limits<uInt>::max());
  if (deflate(&stream_, Z_FINISH) != Z_STREAM_END)
    return {};
  return {buffer_.get(), stream_.total_out};
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
