// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/writer/ring_endpoint.h"

#include "src/tracing/writer/patch_in_place.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

void RingEndpoint::CommitData(const CommitDataRequest& request) {
  for (size_t i = 0; i < request.num_chunks_to_patch; ++i) {
    const CommitDataRequest::ChunkToPatch& patches = request.chunks_to_patch[i];
    const SharedMemoryABI::Chunk chunk =
        PatchInPlace(abi_, SharedMemoryABI::kChunkBeingWritten, patches);
    if (chunk.is_valid() && !patches.has_more_patches)
      CompleteRingChunk(abi_, *ring_, chunk);
  }
  for (size_t i = 0; i < request.num_losses; ++i) {
    const CommitDataRequest::WriterLosses& losses = request.losses[i];
    losses_->packets[static_cast<size_t>(losses.reason)].fetch_add(
        losses.packets, std::memory_order_relaxed);
    losses_->bytes.fetch_add(losses.bytes, std::memory_order_relaxed);
  }
}

PROTOZERO_ABI_END
}  // namespace protozero
