// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/flight_copy.h"

#include <string.h>

#include <atomic>

#include "protozero/const_bytes.h"
#include "src/tracing/shared_memory/chunk_reader.h"

#include "protozero/internal/macros.h"

#if defined(__has_feature)
#define PROTOZERO_HAS_TSAN __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define PROTOZERO_HAS_TSAN 1
#else
#define PROTOZERO_HAS_TSAN 0
#endif

#if PROTOZERO_HAS_TSAN
// Functions of ThreadSanitizer.
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace protozero {
PROTOZERO_ABI_BEGIN

using ABI = SharedMemoryABI;

namespace {

// Tells ThreadSanitizer not to report what the calling thread reads while this
// exists. A thread that is short of pages overwrites this one with plain stores
// while it is copied: to make them atomic would make each event slower. The
// copy is by atomic loads, and a copy that has raced is thrown away. The tool
// sees the race, but not that.
class ExpectedRaces {
 public:
#if PROTOZERO_HAS_TSAN
  ExpectedRaces() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~ExpectedRaces() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#else
  ExpectedRaces() {}
#endif
  ExpectedRaces(const ExpectedRaces&) = delete;
  ExpectedRaces& operator=(const ExpectedRaces&) = delete;
};

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
// finished. The bytes after them may change meanwhile, and are left out.
void CopyPageInUse(const ABI& abi, size_t index, uint8_t* copy) {
  const ExpectedRaces expected_races;
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
