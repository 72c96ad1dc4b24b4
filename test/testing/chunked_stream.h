// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_CHUNKED_STREAM_H_
#define TEST_TESTING_CHUNKED_STREAM_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

#include "protozero/scattered_stream_writer.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/hex.h"

namespace protozero::test {

// A ChunkedDelegate with its writer.
struct ChunkedStream {
  explicit ChunkedStream(
      std::vector<size_t> chunk_sizes,
      ChunkedDelegate::Patches patches = ChunkedDelegate::Patches::kInPlace,
      size_t max_chunks = SIZE_MAX)
      : delegate(chunk_sizes, patches, max_chunks), writer(&delegate) {
    delegate.set_writer(&writer);
  }
  explicit ChunkedStream(size_t chunk_size, size_t max_chunks = SIZE_MAX)
      : ChunkedStream(std::vector<size_t>{chunk_size},
                      ChunkedDelegate::Patches::kInPlace,
                      max_chunks) {}

  void Write(std::string_view hex) {
    const std::string bytes = FromHex(hex);
    writer.WriteBytes(reinterpret_cast<const uint8_t*>(bytes.data()),
                      bytes.size());
  }

  // Return the output as hex: all of it, and chunk by chunk.
  std::string Bytes() const { return Hex(delegate.Bytes()); }
  std::vector<std::string> Chunks() const {
    std::vector<std::string> chunks;
    for (const std::string& chunk : delegate.ChunkBytes())
      chunks.push_back(Hex(chunk));
    return chunks;
  }

  ChunkedDelegate delegate;
  ScatteredStreamWriter writer;
};

}  // namespace protozero::test

#endif  // TEST_TESTING_CHUNKED_STREAM_H_
