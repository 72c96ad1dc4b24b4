// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SHARED_MEMORY_CHUNK_READER_H_
#define SRC_TRACING_SHARED_MEMORY_CHUNK_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

enum class OpenPacket : uint8_t {
  kNone,
  // It will never be complete.
  kOne,
  // Perhaps there is one.
  kUnknown,
};

// What a chunk held when it was copied. Nothing in it has been checked but that
// it is in bounds: another process wrote it.
struct ChunkCopy {
  ChunkID chunk_id = 0;
  WriterID writer_id = 0;
  // The records to expect, at most SharedMemoryABI::kMaxPacketsPerChunk.
  uint16_t num_packets = 0;
  bool continues_from_previous = false;
  bool continues_on_next = false;
  bool needs_patching = false;
  // If not, the writer was still at it: there will be more packets, and what
  // comes after them is not known yet.
  bool is_complete = false;
  // It was not committed: chunks before it may have been overlooked.
  bool is_scraped = false;
  // If it is not complete, whether a packet had begun behind those that are.
  OpenPacket open_packet = OpenPacket::kUnknown;
  std::vector<uint8_t> payload;
};

// Copies out of memory that its owner may go on writing to while it is read:
// each byte is loaded once, no length is believed. |copy|'s memory is reused.

// REQUIRES: |chunk| was acquired by TryAcquireChunkForReading().
void CopyChunk(const SharedMemoryABI::Chunk& chunk, ChunkCopy* copy);

// The same, of a chunk that is in |bytes|. Returns false if they are no chunk.
bool CopyChunk(ConstBytes bytes, bool is_complete, ChunkCopy* copy);

// What a chunk's writer may be doing.
enum class WriterState : uint8_t {
  // Anything.
  kAlive,
  // Nothing any more.
  kGone,
  // The same; it has left SharedMemoryABI::kNoPacketBegunSize bytes where they
  // are due.
  kGoneAndMarked,
};

// Copies a chunk that has not been committed. If its writer may be writing to
// it, what can be trusted: the packets before the last one, which may be
// incomplete. Changes nothing. Returns false if there is no such chunk, if it
// is in no state to be read, or if there is no complete packet in it and its
// writer may still write one.
bool ScrapeChunk(const SharedMemoryABI& abi,
                 size_t page_idx,
                 size_t chunk_idx,
                 WriterState writer,
                 ChunkCopy* copy);

// Copies |size| bytes, and touches no others: their neighbours may be written.
void CopyBytes(const uint8_t* begin, size_t size, uint8_t* copy);

// The two that follow read the bytes of lengths, each once, and nothing else:
// |payload| may be a copy, or the chunk itself.

// The length in front of a record at |begin|. Returns how many bytes it takes;
// 0 if there is none of up to kPacketHeaderSize bytes before |end|.
size_t ReadRecordLength(const uint8_t* begin,
                        const uint8_t* end,
                        uint32_t* length);

enum class RecordKind {
  kPacket,
  // The writer gave up the packet. Nothing of interest follows in the chunk.
  kDropMarker,
  // No record begins here.
  kCorrupt,
};

// Reads the record at |offset|, which becomes that of the next one.
RecordKind ReadRecord(ConstBytes payload, size_t* offset, ConstBytes* record);

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SHARED_MEMORY_CHUNK_READER_H_
