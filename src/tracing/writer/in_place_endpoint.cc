// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/in_place_endpoint.h"

#include "src/tracing/shared_memory/in_place_chunk.h"
#include "src/tracing/writer/patch_in_place.h"

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
    PatchInPlace(abi_, ABI::kChunkComplete, request.chunks_to_patch[i]);
}

PROTOZERO_ABI_END
}  // namespace protozero
