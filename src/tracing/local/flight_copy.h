// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_LOCAL_FLIGHT_COPY_H_
#define SRC_TRACING_LOCAL_FLIGHT_COPY_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The beginning of a page of a ring, which says what chunk there is.
struct FlightPageStart {
  uint32_t word;
  uint32_t completed_at;
  uint32_t chunk_id;
  uint16_t writer_id;
  uint16_t packets;
};
static_assert(sizeof(FlightPageStart) ==
              sizeof(SharedMemoryABI::PageHeader) +
                  sizeof(SharedMemoryABI::ChunkHeader));
static_assert(offsetof(FlightPageStart, writer_id) ==
              sizeof(SharedMemoryABI::PageHeader) +
                  offsetof(SharedMemoryABI::ChunkHeader, writer_id));
static_assert(offsetof(FlightPageStart, packets) ==
              sizeof(SharedMemoryABI::PageHeader) +
                  offsetof(SharedMemoryABI::ChunkHeader, packets));

// Returns whether the packets that |before| announces were still there when
// |after| was read: no writer has begun to overwrite them. Ids never come back.
inline bool HasKeptPackets(const FlightPageStart& before,
                           const FlightPageStart& after) {
  using ABI = SharedMemoryABI;
  const auto is_written = [](const FlightPageStart& start) {
    return ABI::StateOf(start.word, 0) == ABI::kChunkBeingWritten;
  };
  return before.chunk_id == after.chunk_id &&
         before.writer_id == after.writer_id &&
         (before.packets & ABI::kPacketCountMask) <=
             (after.packets & ABI::kPacketCountMask) &&
         (is_written(before) || !is_written(after));
}

// Copies a page that writers of another process may change meanwhile. If they
// overwrite its chunk, the copy has none. |read(offset, size, data)| reads a
// part of the page, and returns false on failure; then this does, too.
template <typename Read>
bool CopyFlightPage(Read read, size_t page_size, uint8_t* copy) {
  constexpr size_t kStart = sizeof(FlightPageStart);
  FlightPageStart before;
  FlightPageStart after;
  if (!read(0, kStart, copy) ||
      !read(kStart, page_size - kStart, copy + kStart) ||
      !read(0, kStart, reinterpret_cast<uint8_t*>(&after))) {
    return false;
  }
  memcpy(&before, copy, kStart);
  if (!HasKeptPackets(before, after))
    memset(copy, 0, kStart);
  return true;
}

// Copies a page that writers of this process may change meanwhile. The copy has
// the packets that were finished; none if they were overwritten. Writers leave
// a complete chunk alone while it is copied.
void CopyLivePage(const SharedMemoryABI& abi, size_t index, uint8_t* copy);

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_LOCAL_FLIGHT_COPY_H_
