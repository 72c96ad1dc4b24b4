// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SHARED_MEMORY_CHUNK_READER_H_
#define SRC_TRACING_SHARED_MEMORY_CHUNK_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal {

// Loads a word that another process may be writing at this moment. That is no
// error: the value may be any. Only an atomic load is defined for this, and it
// keeps the compiler from loading twice.
template <typename T>
T LoadRelaxed(const uint8_t* address) {
  static_assert(std::atomic<T>::is_always_lock_free);
  return reinterpret_cast<const std::atomic<T>*>(address)->load(
      std::memory_order_relaxed);
}

}  // namespace internal

enum class OpenPacket : uint8_t {
  kNone,
  // There is one packet, and it will never be complete.
  kOne,
  // There may be one.
  kUnknown,
};

// A copy of a chunk. Another process wrote the chunk. The only check so far is
// that it is in bounds.
struct ChunkCopy {
  ChunkID chunk_id = 0;
  WriterID writer_id = 0;
  // The number of fragments to expect, at most
  // SharedMemoryABI::kMaxPacketsPerChunk.
  uint16_t num_packets = 0;
  bool continues_from_previous = false;
  bool continues_on_next = false;
  bool needs_patching = false;
  // If false, the writer was still writing: more packets will come, and it is
  // unknown what comes after them.
  bool is_complete = false;
  // True if the chunk was not committed, so the scraper may have missed chunks
  // before it.
  bool is_scraped = false;
  // For a chunk that is not complete: says whether a packet had begun after
  // the complete ones.
  OpenPacket open_packet = OpenPacket::kUnknown;
  // The time when it was copied, if the service needs that.
  uint64_t time_ms = 0;
  std::vector<uint8_t> payload;
};

// The next functions copy from memory that its owner may be writing. They load
// each byte once, and trust no length. They reuse the memory of |copy|.

// Copies a chunk of the shared memory. REQUIRES: TryAcquireChunkForReading()
// has acquired |chunk|.
void CopySharedChunk(const SharedMemoryABI::Chunk& chunk, ChunkCopy* copy);

// Copies a chunk that a commit has sent as |bytes|. Returns false if they are
// not a chunk.
bool CopySentChunk(ConstBytes bytes, bool is_complete, ChunkCopy* copy);

// The possible activity of the chunk's writer.
enum class WriterState : uint8_t {
  // It may be writing.
  kAlive,
  // It writes no more.
  kGone,
  // It writes no more, and has left the mark of
  // SharedMemoryABI::kNoPacketBegunSize bytes.
  kGoneAndMarked,
};

// Copies a chunk that has not been committed. If its writer may be writing to
// it, copies only the packets before the last one, which may be incomplete.
// Does not change the chunk. Returns false if there is no such chunk, if its
// state does not allow reading, or if it has no complete packet and its writer
// may still write one.
bool ScrapeChunk(const SharedMemoryABI& abi,
                 size_t page_idx,
                 size_t chunk_idx,
                 WriterState writer,
                 ChunkCopy* copy);

// Copies |size| bytes and touches no others, because a writer may be writing
// those.
void CopyBytes(const uint8_t* begin, size_t size, uint8_t* copy);

// The next three functions read the bytes of lengths, and no others. |payload|
// may be a copy, or the chunk itself.

// Reads the length in front of a fragment at |begin|, each byte once. Returns
// how many bytes the length takes; 0 if there is no length of up to
// kPacketHeaderSize bytes before |end|.
size_t ReadFragmentLength(const uint8_t* begin,
                          const uint8_t* end,
                          uint32_t* length);

enum class FragmentKind {
  kPacket,
  // The writer has given up the packet. The chunk has no more fragments.
  kDropMarker,
  // No fragment begins here.
  kCorrupt,
};

// Read the fragment at |offset|, and move |offset| to the next one.
FragmentKind ReadFragmentSlowPath(ConstBytes payload,
                                  size_t* offset,
                                  ConstBytes* fragment);
inline FragmentKind ReadFragment(ConstBytes payload,
                                 size_t* offset,
                                 ConstBytes* fragment) {
  // Most fragments have a length of one byte.
  const size_t available = payload.size - *offset;
  if (available != 0) {
    const uint8_t* const begin = payload.data + *offset;
    const size_t length = internal::LoadRelaxed<uint8_t>(begin);
    if (length < 0x80 && length < available) {
      *fragment = ConstBytes(begin + 1, length);
      *offset += 1 + length;
      return FragmentKind::kPacket;
    }
  }
  // Looks at the length again, and trusts only that. With the addresses of
  // copies, compilers keep the caller's variables in registers.
  size_t offset_copy = *offset;
  ConstBytes fragment_copy = *fragment;
  const FragmentKind kind =
      ReadFragmentSlowPath(payload, &offset_copy, &fragment_copy);
  *offset = offset_copy;
  *fragment = fragment_copy;
  return kind;
}

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SHARED_MEMORY_CHUNK_READER_H_
