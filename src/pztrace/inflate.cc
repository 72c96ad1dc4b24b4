// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/inflate.h"

#include <stdint.h>
#include <zlib.h>

#include <algorithm>

namespace pztrace {

bool CanInflate() {
  return true;
}

bool Inflate(protozero::ConstBytes bytes,
             size_t max_size,
             std::string* content) {
  constexpr size_t kStep = size_t{64} << 10;
  z_stream stream = {};
  if (bytes.size > UINT32_MAX || inflateInit(&stream) != Z_OK)
    return false;
  // The cast is safe: zlib does not write to its input.
  stream.next_in = const_cast<uint8_t*>(bytes.data);
  stream.avail_in = static_cast<uInt>(bytes.size);
  const size_t begin = content->size();
  int result = Z_OK;
  while (result == Z_OK) {
    const size_t size = content->size();
    const size_t step = std::min(kStep, max_size - (size - begin));
    content->resize(size + step);
    stream.next_out = reinterpret_cast<uint8_t*>(&(*content)[size]);
    stream.avail_out = static_cast<uInt>(step);
    // With no room left, the result is Z_BUF_ERROR unless the end comes next.
    result = inflate(&stream, Z_NO_FLUSH);
    content->resize(size + step - stream.avail_out);
  }
  inflateEnd(&stream);
  return result == Z_STREAM_END;
}

}  // namespace pztrace
