// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/flight_copy.h"

#include <string.h>

#include <atomic>

#include "protozero/const_bytes.h"
#include "src/tracing/shared_memory/chunk_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using ABI = SharedMemoryABI;

namespace {

FlightPageStart ReadPageStart(const ABI& abi, size_t index) {
  FlightPageStart start = {};
  start.word = abi.GetPageWord(index);
  const ABI::Chunk chunk = abi.GetChunkUnchecked(index, start.word, 0);
  if (!chunk.is_valid())
    return start;
  const ABI::ChunkHeader& header = *chunk.header();
  start.chunk_id = header.chunk_id.load(std::memory_order_relaxed);
  start.writer_id = header.writer_id.load(std::memory_order_relaxed);
  // The ids come first: if they are the same later, the packets and the bytes
  // that were loaded between belong to that chunk, and to none before it.
  std::atomic_thread_fence(std::memory_order_acquire);
  start.packets = header.packets.load(std::memory_order_acquire);
  return start;
}

// Copies a page whose chunk a thread is writing to: the packets that are
// finished. The bytes behind them may change meanwhile, and are left out.
void CopyPageInUse(const ABI& abi, size_t index, uint8_t* copy) {
  memset(copy, 0, abi.page_size());
  const FlightPageStart before = ReadPageStart(abi, index);
  if (ABI::StateOf(before.word, 0) != ABI::kChunkBeingWritten)
    return;
  const ConstBytes payload(
      abi.start() + index * abi.page_size() + sizeof(before),
      abi.page_size() - sizeof(before));
  size_t end = 0;
  // The last packet is the one that the thread writes now, or next.
  for (int i = 1; i < (before.packets & ABI::kPacketCountMask); ++i) {
    ConstBytes fragment;
    if (ReadFragment(payload, &end, &fragment) != FragmentKind::kPacket)
      return;
  }
  CopyBytes(payload.data, end, copy + sizeof(before));
  // Loads the bytes before it looks again.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (HasKeptPackets(before, ReadPageStart(abi, index)))
    memcpy(copy, &before, sizeof(before));
}

}  // namespace

void CopyLivePage(const ABI& abi, size_t index, uint8_t* copy) {
  // Threads leave the chunk alone meanwhile.
  const ABI::Chunk chunk = abi.TryAcquireChunkForReading(index, 0);
  if (!chunk.is_valid())
    return CopyPageInUse(abi, index, copy);
  CopyBytes(abi.start() + index * abi.page_size(), abi.page_size(), copy);
  abi.ReleaseChunkUnread(chunk);
}

PROTOZERO_ABI_END
}  // namespace protozero
