// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_FUZZ_SHARED_MEMORY_WRITER_H_
#define TEST_FUZZ_SHARED_MEMORY_WRITER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "test/fuzz/fuzz_input.h"

namespace protozero::test {

// A writer that writes to shared memory as the input says. Without memory, it
// consumes the same amount of the input.
class SharedMemoryWriter {
 public:
  using ABI = SharedMemoryABI;

  SharedMemoryWriter(uint8_t* memory, size_t num_pages, size_t page_size)
      : memory_(memory), num_pages_(num_pages), page_size_(page_size) {}

  // Overwrites any part of the memory.
  void WriteAnywhere(FuzzInput* input) {
    const size_t size = num_pages_ * page_size_;
    const size_t offset = input->HalfWord() % size;
    const std::vector<uint8_t> bytes = input->Bytes(input->Byte());
    if (memory_ == nullptr)
      return;
    std::copy_n(bytes.data(), std::min(bytes.size(), size - offset),
                memory_ + offset);
  }

  // Overwrites a page's word.
  void WritePageWord(FuzzInput* input) {
    const size_t page = input->Byte() % num_pages_;
    SetPageWord(page, input->Word());
  }

  // Writes a chunk, as writers do, and leaves it in |state|. Returns that
  // chunk.
  CommitDataRequest::ChunkToMove WriteChunk(FuzzInput* input,
                                            WriterID writer_id,
                                            ABI::ChunkState state) {
    const uint32_t where = input->Byte();
    const size_t page = where % num_pages_;
    const auto layout =
        static_cast<ABI::PageLayout>(ABI::kPageDiv1 + where / num_pages_ % 5);
    const size_t index = input->Byte() % ABI::kNumChunksForLayout[layout];
    const uint32_t chunk_id = input->Byte();
    const uint16_t packets = input->HalfWord();
    const std::vector<uint8_t> payload = input->Bytes(input->HalfWord());
    CommitDataRequest::ChunkToMove written{};
    written.page = static_cast<uint32_t>(page);
    written.chunk = static_cast<uint32_t>(index);
    if (memory_ == nullptr)
      return written;
    const ABI abi(memory_, num_pages_ * page_size_, page_size_);
    // The other chunks of the page stay unchanged if it is divided in the same
    // way.
    const uint32_t before = abi.GetPageWord(page);
    const uint32_t shift = static_cast<uint32_t>(ABI::kChunkStateBits * index);
    const uint32_t others =
        ABI::LayoutOf(before) == layout
            ? before & ABI::kAllChunksMask & ~(ABI::kChunkStateMask << shift)
            : 0;
    const uint32_t word = static_cast<uint32_t>(layout) << ABI::kLayoutShift |
                          others | static_cast<uint32_t>(state) << shift;
    SetPageWord(page, word);
    const ABI::Chunk chunk = abi.GetChunkUnchecked(page, word, index);
    ABI::InitChunkForWriting(chunk, writer_id, chunk_id, packets);
    std::copy_n(payload.data(), std::min(payload.size(), chunk.payload_size()),
                chunk.payload_begin());
    return written;
  }

 private:
  void SetPageWord(size_t page, uint32_t word) {
    if (memory_ != nullptr)
      memcpy(memory_ + page * page_size_, &word, sizeof(word));
  }

  uint8_t* const memory_;
  const size_t num_pages_;
  const size_t page_size_;
};

}  // namespace protozero::test

#endif  // TEST_FUZZ_SHARED_MEMORY_WRITER_H_
