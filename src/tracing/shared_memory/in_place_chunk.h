// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SHARED_MEMORY_IN_PLACE_CHUNK_H_
#define SRC_TRACING_SHARED_MEMORY_IN_PLACE_CHUNK_H_

#include <stdint.h>

#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The messages between InPlaceEndpoint and PacketReader about a complete chunk,
// in bits of ChunkHeader::packets that have no other use. The writer's arbiter
// and the reader may be done with a chunk in either order. The chunk is free
// when both are.
enum InPlaceFlags : uint16_t {
  kChunkIsCommitted = 1 << 13,
  kChunkIsRead = 1 << 14,
};
static_assert(((kChunkIsCommitted | kChunkIsRead) &
               (SharedMemoryABI::kPacketCountMask |
                SharedMemoryABI::kFirstPacketContinuesFromPrevChunk |
                SharedMemoryABI::kLastPacketContinuesOnNextChunk |
                SharedMemoryABI::kChunkNeedsPatching)) == 0);

// Sets one of the flags. The second call frees the chunk, and returns false if
// that fails because the other side has tampered with it.
inline bool FinishChunkInPlace(const SharedMemoryABI& abi,
                               const SharedMemoryABI::Chunk& chunk,
                               InPlaceFlags flag) {
  const uint16_t before =
      chunk.header()->packets.fetch_or(flag, std::memory_order_acq_rel);
  if (((before | flag) & kChunkIsCommitted) == 0 ||
      ((before | flag) & kChunkIsRead) == 0) {
    return true;
  }
  const SharedMemoryABI::Chunk acquired =
      abi.TryAcquireChunkForReading(chunk.page_idx(), chunk.chunk_idx());
  return acquired.is_valid() && abi.ReleaseChunkAsFree(acquired);
}

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SHARED_MEMORY_IN_PLACE_CHUNK_H_
