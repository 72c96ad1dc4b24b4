// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/chunk_reader.h"

#include <string.h>

#include <algorithm>

namespace protozero {

using ABI = SharedMemoryABI;

namespace {

void CopyHeader(const ABI::ChunkHeader& header,
                uint16_t packets,
                ChunkCopy* copy) {
  copy->writer_id = header.writer_id.load(std::memory_order_relaxed);
  copy->chunk_id = header.chunk_id.load(std::memory_order_relaxed);
  copy->num_packets = packets & ABI::kPacketCountMask;
  copy->continues_from_previous =
      (packets & ABI::kFirstPacketContinuesFromPrevChunk) != 0;
  copy->continues_on_next =
      (packets & ABI::kLastPacketContinuesOnNextChunk) != 0;
  copy->needs_patching = (packets & ABI::kChunkNeedsPatching) != 0;
}

}  // namespace

bool ChunkCopy::ApplyPatch(uint32_t offset, const uint8_t* data) {
  if (payload.size() < ABI::kPatchSize ||
      offset > payload.size() - ABI::kPatchSize) {
    return false;
  }
  memcpy(payload.data() + offset, data, ABI::kPatchSize);
  return true;
}

void CopyChunk(const ABI::Chunk& chunk, ChunkCopy* copy) {
  const ABI::ChunkHeader& header = *chunk.header();
  CopyHeader(header, header.packets.load(std::memory_order_acquire), copy);
  copy->payload.assign(chunk.payload_begin(), chunk.end());
}

bool ScrapeChunk(const ABI& abi,
                 size_t page_idx,
                 size_t chunk_idx,
                 ChunkCopy* copy) {
  if (page_idx >= abi.num_pages())
    return false;
  const uint32_t word = abi.GetPageWord(page_idx);
  const ABI::Chunk chunk = abi.GetChunkUnchecked(page_idx, word, chunk_idx);
  if (!chunk.is_valid() ||
      ABI::StateOf(word, chunk_idx) != ABI::kChunkBeingWritten) {
    return false;
  }
  const ABI::ChunkHeader& header = *chunk.header();
  const uint16_t packets = header.packets.load(std::memory_order_acquire);
  CopyHeader(header, packets, copy);
  if (copy->num_packets < 2)
    return false;
  --copy->num_packets;
  // Those are about the packet that is left out.
  copy->continues_on_next = false;
  copy->needs_patching = false;

  // Records are copied one by one, for what lies behind them is being written
  // to.
  copy->payload.clear();
  const uint8_t* pos = chunk.payload_begin();
  for (size_t i = 0; i < copy->num_packets; ++i) {
    uint8_t length_bytes[ABI::kPacketHeaderSize];
    size_t num_length_bytes = 0;
    do {
      if (pos == chunk.end())
        return false;
      length_bytes[num_length_bytes] = *pos++;
    } while ((length_bytes[num_length_bytes++] & 0x80) != 0 &&
             num_length_bytes < ABI::kPacketHeaderSize);
    uint32_t length;
    if (ReadRecordLength(length_bytes, length_bytes + num_length_bytes,
                         &length) == 0 ||
        length > static_cast<size_t>(chunk.end() - pos)) {
      return false;
    }
    copy->payload.insert(copy->payload.end(), length_bytes,
                         length_bytes + num_length_bytes);
    copy->payload.insert(copy->payload.end(), pos, pos + length);
    pos += length;
  }
  // The chunk may have become somebody else's in the meantime.
  return header.writer_id.load(std::memory_order_relaxed) == copy->writer_id &&
         header.chunk_id.load(std::memory_order_relaxed) == copy->chunk_id &&
         ABI::LayoutOf(abi.GetPageWord(page_idx)) == ABI::LayoutOf(word);
}

size_t ReadRecordLength(const uint8_t* begin,
                        const uint8_t* end,
                        uint32_t* length) {
  uint32_t value = 0;
  const size_t max_size = std::min<size_t>(static_cast<size_t>(end - begin),
                                           ABI::kPacketHeaderSize);
  for (size_t i = 0; i < max_size; ++i) {
    value |= (begin[i] & 0x7fu) << (7 * i);
    if ((begin[i] & 0x80) == 0) {
      *length = value;
      return i + 1;
    }
  }
  return 0;
}

}  // namespace protozero
