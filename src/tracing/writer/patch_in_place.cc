// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/writer/patch_in_place.h"

#include <string.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using ABI = SharedMemoryABI;

ABI::Chunk PatchInPlace(const ABI& abi,
                        ABI::ChunkState state,
                        const CommitDataRequest::ChunkToPatch& patches) {
  for (size_t page = 0; page < abi.num_pages(); ++page) {
    const uint32_t word = abi.GetPageWord(page);
    for (size_t i = 0; i < ABI::kMaxChunksPerPage; ++i) {
      const ABI::Chunk chunk = abi.GetChunkUnchecked(page, word, i);
      if (!chunk.is_valid() || ABI::StateOf(word, i) != state)
        continue;
      ABI::ChunkHeader& header = *chunk.header();
      const uint16_t packets = header.packets.load(std::memory_order_acquire);
      if ((packets & ABI::kChunkNeedsPatching) == 0 ||
          header.writer_id.load(std::memory_order_relaxed) !=
              patches.writer_id ||
          header.chunk_id.load(std::memory_order_relaxed) != patches.chunk_id) {
        continue;
      }
      for (size_t k = 0; k < patches.num_patches; ++k) {
        const CommitDataRequest::Patch& patch = patches.patches[k];
        if (patch.offset <= chunk.payload_size() - ABI::kPatchSize)
          memcpy(chunk.payload_begin() + patch.offset, patch.data,
                 ABI::kPatchSize);
      }
      if (!patches.has_more_patches) {
        header.packets.fetch_and(
            static_cast<uint16_t>(~ABI::kChunkNeedsPatching),
            std::memory_order_release);
      }
      return chunk;
    }
  }
  return ABI::Chunk();
}

PROTOZERO_ABI_END
}  // namespace protozero
