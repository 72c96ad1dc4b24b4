// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/in_place_endpoint.h"

#include <string.h>

#include "src/tracing/shared_memory/in_place_chunk.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using ABI = SharedMemoryABI;

void InPlaceEndpoint::CommitData(const CommitDataRequest& request) {
  for (size_t i = 0; i < request.num_chunks_to_move; ++i) {
    const CommitDataRequest::ChunkToMove& move = request.chunks_to_move[i];
    if (move.page >= abi_.num_pages())
      continue;
    const ABI::Chunk chunk = abi_.GetChunkUnchecked(
        move.page, abi_.GetPageWord(move.page), move.chunk);
    if (chunk.is_valid())
      FinishChunkInPlace(abi_, chunk, kChunkIsCommitted);
  }
  for (size_t i = 0; i < request.num_chunks_to_patch; ++i)
    PatchChunk(request.chunks_to_patch[i]);
}

void InPlaceEndpoint::PatchChunk(
    const CommitDataRequest::ChunkToPatch& patches) const {
  for (size_t page = 0; page < abi_.num_pages(); ++page) {
    const uint32_t word = abi_.GetPageWord(page);
    for (size_t i = 0; i < ABI::kMaxChunksPerPage; ++i) {
      const ABI::Chunk chunk = abi_.GetChunkUnchecked(page, word, i);
      if (!chunk.is_valid() || ABI::StateOf(word, i) != ABI::kChunkComplete)
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
      return;
    }
  }
}

PROTOZERO_ABI_END
}  // namespace protozero
