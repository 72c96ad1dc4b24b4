// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/reader/ring_reader.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

struct RingReader::Chunk {
  WriterID writer_id;
  ChunkID id;
  uint32_t page;
  ABI::ChunkState state;
};

RingReader::~RingReader() = default;

void RingReader::ReadPackets(
    const std::function<void(const Packet&)>& on_packet) {
  packet_.writer_id = 0;
  for (const Chunk& chunk : FindChunks()) {
    if (!CopyChunk(chunk))
      continue;
    if (chunk.writer_id != packet_.writer_id) {
      EndWriter();
      BeginWriter(chunk.writer_id);
    }
    ++stats_.chunks_read;
    ReadChunk(on_packet);
  }
  EndWriter();
}

std::vector<RingReader::Chunk> RingReader::FindChunks() const {
  std::vector<Chunk> chunks;
  for (size_t page = 0; page < abi_.num_pages(); ++page) {
    const uint32_t word = abi_.GetPageWord(page);
    const ABI::Chunk chunk = abi_.GetChunkUnchecked(page, word, 0);
    const ABI::ChunkState state = ABI::StateOf(word, 0);
    if (ABI::LayoutOf(word) != ABI::kPageDiv1 || state == ABI::kChunkFree)
      continue;
    const ABI::ChunkHeader& header = *chunk.header();
    const uint16_t packets = header.packets.load(std::memory_order_relaxed);
    const WriterID writer_id = header.writer_id.load(std::memory_order_relaxed);
    // A chunk that was taken, and has no packet yet, has no owner.
    if ((packets & ABI::kPacketCountMask) == 0 || writer_id == 0 ||
        writer_id > kMaxWriterID) {
      continue;
    }
    chunks.push_back({writer_id,
                      header.chunk_id.load(std::memory_order_relaxed),
                      static_cast<uint32_t>(page), state});
  }
  std::sort(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) {
    return std::tie(a.writer_id, a.id) < std::tie(b.writer_id, b.id);
  });
  // Ids may have wrapped around. Then the oldest one is after a large gap.
  for (auto begin = chunks.begin(); begin != chunks.end();) {
    const auto end = std::find_if(begin, chunks.end(), [&](const Chunk& chunk) {
      return chunk.writer_id != begin->writer_id;
    });
    constexpr ChunkID kLargeGap = ChunkID{1} << 31;
    const auto oldest = std::adjacent_find(
        begin, end,
        [](const Chunk& a, const Chunk& b) { return b.id - a.id > kLargeGap; });
    if (oldest != end)
      std::rotate(begin, oldest + 1, end);
    begin = end;
  }
  return chunks;
}

bool RingReader::CopyChunk(const Chunk& chunk) {
  if (chunk.state != ABI::kChunkBeingRead) {
    return ScrapeChunk(abi_, chunk.page, 0, WriterState::kGoneAndMarked,
                       &copy_);
  }
  // A writer was about to overwrite it. Until its header says that there are no
  // packets, all of them are there.
  CopySharedChunk(
      abi_.GetChunkUnchecked(chunk.page, abi_.GetPageWord(chunk.page), 0),
      &copy_);
  return true;
}

void RingReader::BeginWriter(WriterID writer_id) {
  packet_.writer_id = writer_id;
  packet_.previous_packet_dropped = false;
  packet_state_ = PacketState::kNone;
  is_first_chunk_ = true;
  was_incomplete_ = false;
}

void RingReader::EndWriter() {
  if (packet_state_ == PacketState::kBegun)
    LosePacket(&stats_.packets_torn);
}

void RingReader::ReadChunk(
    const std::function<void(const Packet&)>& on_packet) {
  // A writer's first chunk has the id 0.
  if (copy_.chunk_id != (is_first_chunk_ ? 0 : next_chunk_id_)) {
    if (packet_state_ == PacketState::kBegun)
      LosePacket(&stats_.packets_torn);
    packet_.previous_packet_dropped = true;
    packet_state_ = PacketState::kNone;
  }
  // It may have got packets after it was copied, while the writer was running.
  if (was_incomplete_)
    packet_.previous_packet_dropped = true;
  was_incomplete_ = !copy_.is_complete;
  is_first_chunk_ = false;
  next_chunk_id_ = copy_.chunk_id + 1;
  size_t offset = 0;
  for (size_t i = 0; i < copy_.num_packets; ++i) {
    const bool begins_packet = i != 0 || !copy_.continues_from_previous;
    const bool ends_packet =
        i + 1u != copy_.num_packets || !copy_.continues_on_next;
    ConstBytes fragment;
    switch (ReadFragment(copy_.payload, &offset, &fragment)) {
      case FragmentKind::kPacket:
        TakeFragment(fragment, begins_packet, ends_packet);
        break;
      case FragmentKind::kDropMarker:
        if (begins_packet && packet_state_ == PacketState::kBegun)
          LosePacket(&stats_.packets_torn);
        if (begins_packet || packet_state_ != PacketState::kLost)
          LosePacket(&stats_.packets_abandoned);
        packet_state_ = PacketState::kNone;
        return;
      case FragmentKind::kCorrupt:
        LosePacket(&stats_.chunks_corrupt);
        return;
    }
    if (packet_.bytes.size == 0)
      continue;
    ++stats_.packets_read;
    on_packet(packet_);
    packet_.previous_packet_dropped = false;
    packet_.bytes = ConstBytes();
  }
  // Its rest, in the writer's next chunk, may be complete nevertheless.
  const bool goes_on_here = !copy_.is_complete && copy_.num_packets == 0 &&
                            copy_.continues_from_previous &&
                            packet_state_ == PacketState::kBegun;
  if (copy_.open_packet == OpenPacket::kOne || goes_on_here)
    LosePacket(&stats_.packets_unfinished);
}

void RingReader::TakeFragment(ConstBytes fragment,
                              bool begins_packet,
                              bool ends_packet) {
  if (begins_packet) {
    if (packet_state_ == PacketState::kBegun)
      LosePacket(&stats_.packets_torn);
    packet_state_ = PacketState::kBegun;
    fragments_.clear();
  } else if (packet_state_ == PacketState::kNone) {
    packet_.previous_packet_dropped = true;
    packet_state_ = PacketState::kLost;
  }
  if (packet_state_ == PacketState::kBegun &&
      fragment.size > TracingLimits::kMaxPacketSize - fragments_.size()) {
    LosePacket(&stats_.packets_too_large);
  }
  if (packet_state_ == PacketState::kBegun) {
    if (begins_packet && ends_packet) {
      packet_.bytes = fragment;
    } else {
      fragments_.insert(fragments_.end(), fragment.data,
                        fragment.data + fragment.size);
      if (ends_packet)
        packet_.bytes = fragments_;
    }
  }
  if (ends_packet)
    packet_state_ = PacketState::kNone;
}

void RingReader::LosePacket(uint64_t* reason) {
  ++*reason;
  packet_.previous_packet_dropped = true;
  packet_state_ = PacketState::kLost;
}

PROTOZERO_ABI_END
}  // namespace protozero
