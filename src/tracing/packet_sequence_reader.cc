// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/packet_sequence_reader.h"

#include <utility>

namespace protozero {

using ABI = SharedMemoryABI;

void PacketSequenceReader::AddChunk(ChunkCopy chunk) {
  waiting_bytes_ += chunk.payload.size();
  waiting_.push_back(std::move(chunk));
  while (waiting_bytes_ > kMaxWaitingBytes && waiting_.front().needs_patching) {
    ++stats_.unpatched_chunks;
    // A message in it has no size: none of its packets can be told from it.
    LosePartialPacket();
    lost_something_ = true;
    has_read_a_chunk_ = false;
    waiting_bytes_ -= waiting_.front().payload.size();
    waiting_.pop_front();
    ReadReadyChunks();
  }
  ReadReadyChunks();
}

bool PacketSequenceReader::AddPatch(ChunkID chunk_id,
                                    uint32_t offset,
                                    const uint8_t* data) {
  ChunkCopy* const chunk = FindWaiting(chunk_id);
  const bool ok = chunk != nullptr && chunk->ApplyPatch(offset, data);
  stats_.failed_patches += !ok;
  return ok;
}

bool PacketSequenceReader::FinishPatching(ChunkID chunk_id) {
  ChunkCopy* const chunk = FindWaiting(chunk_id);
  if (chunk == nullptr)
    return false;
  chunk->needs_patching = false;
  ReadReadyChunks();
  return true;
}

ChunkCopy* PacketSequenceReader::FindWaiting(ChunkID chunk_id) {
  for (ChunkCopy& chunk : waiting_) {
    if (chunk.chunk_id == chunk_id && chunk.needs_patching)
      return &chunk;
  }
  return nullptr;
}

void PacketSequenceReader::ReadReadyChunks() {
  while (!waiting_.empty() && !waiting_.front().needs_patching) {
    ReadChunk(waiting_.front());
    waiting_bytes_ -= waiting_.front().payload.size();
    waiting_.pop_front();
  }
}

void PacketSequenceReader::ReadChunk(const ChunkCopy& chunk) {
  if (has_read_a_chunk_ && chunk.chunk_id != next_chunk_id_) {
    ++stats_.gaps;
    LosePartialPacket();
    lost_something_ = true;
  }
  has_read_a_chunk_ = true;
  next_chunk_id_ = chunk.chunk_id + 1;
  if (is_partial_ && !chunk.continues_from_previous) {
    ++stats_.gaps;
    LosePartialPacket();
  }
  ReadRecords(chunk);
}

void PacketSequenceReader::ReadRecords(const ChunkCopy& chunk) {
  const uint8_t* pos = chunk.payload.data();
  const uint8_t* const end = pos + chunk.payload.size();
  for (uint16_t i = 0; i < chunk.num_packets; ++i) {
    uint32_t length;
    const size_t length_size = ReadRecordLength(pos, end, &length);
    const bool is_drop_marker =
        length_size != 0 && length == ABI::kPacketSizeDropPacket;
    if (is_drop_marker || length_size == 0 ||
        length > static_cast<size_t>(end - pos) - length_size) {
      ++(is_drop_marker ? stats_.drop_markers : stats_.corrupt_chunks);
      LosePartialPacket();
      lost_something_ = true;
      return;
    }
    pos += length_size;
    const char* const record = reinterpret_cast<const char*>(pos);
    pos += length;

    const bool continues = i == 0 && chunk.continues_from_previous;
    const bool is_continued =
        i + 1 == chunk.num_packets && chunk.continues_on_next;
    if (continues && !is_partial_) {
      // If the beginning was lost, so is the rest.
      ++stats_.orphans;
      lost_something_ = true;
      continue;
    }
    if (length > kMaxPacketSize - packet_.size()) {
      ++stats_.oversized_packets;
      LosePartialPacket();
      lost_something_ = true;
      continue;
    }
    packet_.append(record, length);
    is_partial_ = is_continued;
    if (!is_continued)
      EmitPacket();
  }
}

void PacketSequenceReader::LosePartialPacket() {
  lost_something_ = lost_something_ || is_partial_;
  is_partial_ = false;
  packet_.clear();
}

void PacketSequenceReader::EmitPacket() {
  // The empty ones stand for nothing.
  if (!packet_.empty()) {
    ++stats_.packets;
    on_packet_(packet_, lost_something_);
    lost_something_ = false;
  }
  packet_.clear();
}

}  // namespace protozero
