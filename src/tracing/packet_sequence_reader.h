// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_PACKET_SEQUENCE_READER_H_
#define SRC_TRACING_PACKET_SEQUENCE_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "src/tracing/chunk_reader.h"

namespace protozero {

// Puts together the packets of one writer from the chunks that it committed, in
// the order of their ids. Whatever the chunks hold, the packets given out are
// whole records, as somebody committed them; a gap, a chunk that makes no
// sense, or a packet that was given up is counted, and the next packet says
// that something is missing. Holds no more than the chunks that wait for
// patches, and one packet. One thread.
class PacketSequenceReader {
 public:
  // |previous_packet_dropped|: something was lost between this packet and the
  // one before it.
  using OnPacket = std::function<void(std::string_view packet,
                                      bool previous_packet_dropped)>;

  static constexpr size_t kMaxPacketSize = 64 * 1024 * 1024;
  static constexpr size_t kMaxWaitingBytes = 64 * 1024 * 1024;

  // How often it happened.
  struct Stats {
    uint64_t packets = 0;
    // Something was missing in front of a chunk.
    uint64_t gaps = 0;
    // A fragment whose packet's beginning was lost.
    uint64_t orphans = 0;
    // The writer gave up a packet.
    uint64_t drop_markers = 0;
    // Something no writer of ours would write; the rest of the chunk is
    // ignored.
    uint64_t corrupt_chunks = 0;
    uint64_t oversized_packets = 0;
    uint64_t failed_patches = 0;
    // Chunks given up unpatched, because too many were waiting behind them.
    uint64_t unpatched_chunks = 0;
  };

  explicit PacketSequenceReader(OnPacket on_packet)
      : on_packet_(std::move(on_packet)) {}

  // Takes the next chunk; may call back.
  void AddChunk(ChunkCopy chunk);
  // Patches a chunk that waits for it, which becomes readable unless there are
  // |more| patches to come; may call back. Returns false if no such chunk is
  // waiting.
  bool AddPatch(ChunkID chunk_id, uint32_t offset, const uint8_t* data);
  bool FinishPatching(ChunkID chunk_id);

  const Stats& stats() const { return stats_; }
  size_t num_waiting_chunks() const { return waiting_.size(); }

 private:
  ChunkCopy* FindWaiting(ChunkID chunk_id);
  void ReadReadyChunks();
  void ReadChunk(const ChunkCopy& chunk);
  void ReadRecords(const ChunkCopy& chunk);
  void LosePartialPacket();
  void EmitPacket();

  const OnPacket on_packet_;
  // Behind the first one, which needs patching.
  std::deque<ChunkCopy> waiting_;
  size_t waiting_bytes_ = 0;
  bool has_read_a_chunk_ = false;
  ChunkID next_chunk_id_ = 0;
  // The packet that the last chunk did not end.
  bool is_partial_ = false;
  std::string packet_;
  bool lost_something_ = false;
  Stats stats_;
};

}  // namespace protozero

#endif  // SRC_TRACING_PACKET_SEQUENCE_READER_H_
