// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_C_CHUNKS_H_
#define TEST_TESTING_C_CHUNKS_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protozero/c/pbz_writer.h"

namespace protozero::test {

// Chunks of these sizes for C. The last size is repeated. ChunkedStream is the
// same for C++.
struct CChunks {
  explicit CChunks(std::vector<size_t> chunk_sizes)
      : sizes(std::move(chunk_sizes)) {
    delegate.next_chunk = [](void* context, size_t used) {
      return static_cast<CChunks*>(context)->Next(used);
    };
    delegate.annotate_patch = nullptr;
    delegate.context = this;
    pbz_writer_init(&writer, &delegate);
  }
  CChunks(const CChunks&) = delete;
  CChunks& operator=(const CChunks&) = delete;

  pbz_chunk Next(size_t used) {
    if (!chunks.empty())
      chunks.back().second = used;
    const size_t size = sizes[std::min(chunks.size(), sizes.size() - 1)];
    chunks.emplace_back(std::make_unique<uint8_t[]>(size), 0);
    uint8_t* const begin = chunks.back().first.get();
    return {begin, begin + size};
  }

  // Returns the output so far. REQUIRES: no message is open.
  std::string Bytes() {
    if (!chunks.empty())
      chunks.back().second = static_cast<size_t>(writer.pos - writer.begin);
    std::string bytes;
    for (const auto& [begin, used] : chunks)
      bytes.append(reinterpret_cast<const char*>(begin.get()), used);
    return bytes;
  }

  const std::vector<size_t> sizes;
  std::vector<std::pair<std::unique_ptr<uint8_t[]>, size_t>> chunks;
  pbz_delegate delegate;
  pbz_writer writer;
};

}  // namespace protozero::test

#endif  // TEST_TESTING_C_CHUNKS_H_
