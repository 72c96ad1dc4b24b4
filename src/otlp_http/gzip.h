// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_HTTP_GZIP_H_
#define SRC_OTLP_HTTP_GZIP_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>

#include <zlib.h>

#include "protozero/const_bytes.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// Compresses one batch after another, with the same memory.
class Gzip {
 public:
  Gzip() = default;
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip();

  // Returns the bytes compressed, in memory of this until the next call; empty
  // if memory is short.
  ConstBytes Compress(const uint8_t* data, size_t size);

 private:
  z_stream stream_{};
  bool is_begun_ = false;
  std::unique_ptr<uint8_t[]> buffer_;
  size_t capacity_ = 0;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_HTTP_GZIP_H_
