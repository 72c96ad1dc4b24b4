// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/shared_memory/chunk_reader.h"

#include <string.h>

#include <algorithm>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using ABI = SharedMemoryABI;

namespace {

void SetPackets(uint16_t packets, bool is_complete, ChunkCopy* copy) {
  copy->is_complete = is_complete;
  copy->num_packets = packets & ABI::kPacketCountMask;
  copy->continues_from_previous =
      (packets & ABI::kFirstPacketContinuesFromPrevChunk) != 0;
  copy->continues_on_next =
      (packets & ABI::kLastPacketContinuesOnNextChunk) != 0;
  copy->needs_patching = (packets & ABI::kChunkNeedsPatching) != 0;
  if (!is_complete) {
    // The last packet may be in any state, and these flags are about it.
    if (copy->num_packets != 0)
      --copy->num_packets;
    copy->continues_on_next = false;
    copy->needs_patching = false;
  }
}

void CopyHeader(const ABI::ChunkHeader& header,
                bool is_complete,
                ChunkCopy* copy) {
  SetPackets(header.packets.load(std::memory_order_acquire), is_complete, copy);
  copy->writer_id = header.writer_id.load(std::memory_order_acquire);
  copy->chunk_id = header.chunk_id.load(std::memory_order_relaxed);
}

void CopyPayload(const ABI::Chunk& chunk, ChunkCopy* copy) {
  copy->payload.resize(chunk.payload_size());
  CopyBytes(chunk.payload_begin(), chunk.payload_size(), copy->payload.data());
}

// Copies one fragment after the other, because the writer may be writing after
// them. Sets |end| to the offset after them.
bool CopyFragments(const ABI::Chunk& chunk, ChunkCopy* copy, size_t* end) {
  std::vector<uint8_t>& payload = copy->payload;
  payload.clear();
  const ConstBytes bytes(chunk.payload_begin(), chunk.payload_size());
  size_t offset = 0;
  for (size_t i = 0; i < copy->num_packets; ++i) {
    const uint8_t* const begin = bytes.data + offset;
    ConstBytes fragment;
    if (ReadFragment(bytes, &offset, &fragment) != FragmentKind::kPacket)
      return false;
    // Writes the length that was read. The chunk may have another one by now.
    size_t length = fragment.size;
    for (const uint8_t* pos = begin + 1; pos < fragment.data; ++pos) {
      payload.push_back(static_cast<uint8_t>(length | 0x80));
      length >>= 7;
    }
    payload.push_back(static_cast<uint8_t>(length));
    const size_t size = payload.size();
    payload.resize(size + fragment.size);
    CopyBytes(fragment.data, fragment.size, payload.data() + size);
  }
  *end = offset;
  return true;
}

// Returns whether a packet begins at |offset|, after the complete packets.
OpenPacket FindOpenPacket(const ABI::Chunk& chunk,
                          const ChunkCopy& copy,
                          size_t offset) {
  const bool continues = copy.num_packets == 0 && copy.continues_from_previous;
  const size_t tag = offset + ABI::kNoPacketBegunSize - 1;
  return !continues && tag < chunk.payload_size() &&
                 internal::LoadRelaxed<uint8_t>(chunk.payload_begin() + tag) !=
                     0
             ? OpenPacket::kOne
             : OpenPacket::kNone;
}

}  // namespace

void CopyBytes(const uint8_t* begin, size_t size, uint8_t* copy) {
  const auto copy_one = [&](auto word) {
    word = internal::LoadRelaxed<decltype(word)>(begin);
    memcpy(copy, &word, sizeof(word));
    begin += sizeof(word);
    copy += sizeof(word);
    size -= sizeof(word);
  };
  // A word is loaded at once only if its address is a multiple of its size.
  const auto is_at_odd = [&](auto word) {
    return size >= sizeof(word) &&
           (reinterpret_cast<uintptr_t>(begin) & sizeof(word)) != 0;
  };
  if (is_at_odd(uint8_t{}))
    copy_one(uint8_t{});
  if (is_at_odd(uint16_t{}))
    copy_one(uint16_t{});
  if (is_at_odd(uint32_t{}))
    copy_one(uint32_t{});
  while (size >= sizeof(uint64_t))
    copy_one(uint64_t{});
  if (size >= sizeof(uint32_t))
    copy_one(uint32_t{});
  if (size >= sizeof(uint16_t))
    copy_one(uint16_t{});
  if (size != 0)
    copy_one(uint8_t{});
}

void CopySharedChunk(const ABI::Chunk& chunk, ChunkCopy* copy) {
  copy->is_scraped = false;
  copy->open_packet = OpenPacket::kUnknown;
  CopyHeader(*chunk.header(), true, copy);
  CopyPayload(chunk, copy);
}

bool CopySentChunk(ConstBytes bytes, bool is_complete, ChunkCopy* copy) {
  if (bytes.size < sizeof(ABI::ChunkHeader) || bytes.size > ABI::kMaxPageSize)
    return false;
  uint16_t packets;
  memcpy(&copy->chunk_id, bytes.data + offsetof(ABI::ChunkHeader, chunk_id),
         sizeof(copy->chunk_id));
  memcpy(&copy->writer_id, bytes.data + offsetof(ABI::ChunkHeader, writer_id),
         sizeof(copy->writer_id));
  memcpy(&packets, bytes.data + offsetof(ABI::ChunkHeader, packets),
         sizeof(packets));
  SetPackets(packets, is_complete, copy);
  copy->is_scraped = false;
  copy->open_packet = OpenPacket::kUnknown;
  copy->payload.assign(bytes.data + sizeof(ABI::ChunkHeader),
                       bytes.data + bytes.size);
  return true;
}

bool ScrapeChunk(const ABI& abi,
                 size_t page_idx,
                 size_t chunk_idx,
                 WriterState writer,
                 ChunkCopy* copy) {
  if (page_idx >= abi.num_pages())
    return false;
  const uint32_t word = abi.GetPageWord(page_idx);
  const ABI::Chunk chunk = abi.GetChunkUnchecked(page_idx, word, chunk_idx);
  if (!chunk.is_valid())
    return false;
  const ABI::ChunkHeader& header = *chunk.header();
  copy->is_scraped = true;
  copy->open_packet = OpenPacket::kUnknown;
  size_t end;
  switch (ABI::StateOf(word, chunk_idx)) {
    case ABI::kChunkFree:
    case ABI::kChunkBeingRead:
      return false;
    case ABI::kChunkComplete:
      CopyHeader(header, true, copy);
      CopyPayload(chunk, copy);
      break;
    case ABI::kChunkBeingWritten:
      CopyHeader(header, false, copy);
      if (!CopyFragments(chunk, copy, &end))
        return false;
      // A live writer would be writing to the bytes that this reads.
      if (writer == WriterState::kGoneAndMarked)
        copy->open_packet = FindOpenPacket(chunk, *copy, end);
      else if (copy->num_packets == 0 && writer == WriterState::kAlive)
        return false;
      break;
  }
  // Another writer may have acquired the chunk in the meantime.
  return header.writer_id.load(std::memory_order_relaxed) == copy->writer_id &&
         header.chunk_id.load(std::memory_order_relaxed) == copy->chunk_id &&
         ABI::LayoutOf(abi.GetPageWord(page_idx)) == ABI::LayoutOf(word);
}

size_t ReadFragmentLength(const uint8_t* begin,
                          const uint8_t* end,
                          uint32_t* length) {
  uint32_t value = 0;
  const size_t max_size = std::min<size_t>(static_cast<size_t>(end - begin),
                                           ABI::kPacketHeaderSize);
  for (size_t i = 0; i < max_size; ++i) {
    const uint8_t byte = internal::LoadRelaxed<uint8_t>(begin + i);
    value |= (byte & 0x7fu) << (7 * i);
    if ((byte & 0x80) == 0) {
      *length = value;
      return i + 1;
    }
  }
  return 0;
}

FragmentKind ReadFragmentSlowPath(ConstBytes payload,
                                  size_t* offset,
                                  ConstBytes* fragment) {
  const uint8_t* const begin = payload.data + *offset;
  const uint8_t* const end = payload.data + payload.size;
  uint32_t length;
  const size_t length_size = ReadFragmentLength(begin, end, &length);
  if (length_size == 0)
    return FragmentKind::kCorrupt;
  if (length == ABI::kPacketSizeDropPacket) {
    *offset += length_size;
    return FragmentKind::kDropMarker;
  }
  if (length > static_cast<size_t>(end - begin) - length_size)
    return FragmentKind::kCorrupt;
  *fragment = ConstBytes(begin + length_size, length);
  *offset += length_size + length;
  return FragmentKind::kPacket;
}

PROTOZERO_ABI_END
}  // namespace protozero
