// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_READER_RING_READER_H_
#define SRC_TRACING_READER_RING_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/shared_memory/chunk_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Reads the packets in a ring of chunks (see TakeOldestChunk()) whose writers
// are gone: all that were finished and not overwritten, none in part. The
// memory is not trusted.
class RingReader {
 public:
  struct Packet {
    // Valid during the call that gives it out. Never empty.
    ConstBytes bytes;
    WriterID writer_id = 0;
    // True if something is missing between this packet and the writer's packet
    // before it, or between the writer's first packet and this one.
    bool previous_packet_dropped = false;
  };

  // Counts of what was read and lost.
  struct Stats {
    uint64_t chunks_read = 0;
    uint64_t packets_read = 0;
    // Packets in the middle of which their writers have ended.
    uint64_t packets_unfinished = 0;
    // Packets that their writers have given up.
    uint64_t packets_abandoned = 0;
    // Packets that began in a chunk that is there, and of which a part is
    // missing: it was overwritten or, if the writer has ended between two
    // chunks, was never written. RingState::packets_overwritten has the others.
    uint64_t packets_torn = 0;
    // Packets of more than TracingLimits::kMaxPacketSize.
    uint64_t packets_too_large = 0;
    // Chunks with bytes that are no fragment.
    uint64_t chunks_corrupt = 0;
  };

  // REQUIRES: the memory of |abi| has no writer any more, or it is a copy whose
  // pages CopyFlightPage() has made; it outlives this.
  explicit RingReader(const SharedMemoryABI& abi) : abi_(abi) {}
  ~RingReader();

  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  // Gives out all packets: those of one writer after those of another, each in
  // the order in which they were begun. Allocates no more than the memory has
  // bytes, or twice a packet's limit, and the size of a chunk. May throw
  // std::bad_alloc. Call it once.
  void ReadPackets(const std::function<void(const Packet&)>& on_packet);

  const Stats& stats() const { return stats_; }

 private:
  using ABI = SharedMemoryABI;
  struct Chunk;

  // Returns the chunks that may have packets, sorted by writer and id.
  std::vector<Chunk> FindChunks() const;
  // Copies a chunk. Returns false if there is nothing to read in it.
  bool CopyChunk(const Chunk& chunk);
  void BeginWriter(WriterID writer_id);
  void EndWriter();
  // Reads |copy_|.
  void ReadChunk(const std::function<void(const Packet&)>& on_packet);
  // Goes on with a fragment. Sets |packet_.bytes| if a packet is complete.
  void TakeFragment(ConstBytes fragment, bool begins_packet, bool ends_packet);
  void LosePacket(uint64_t* reason);

  enum class PacketState : uint8_t {
    // The next fragment begins a packet.
    kNone,
    // The next fragment continues the packet in |fragments_|.
    kBegun,
    // The next fragment continues a packet that is lost.
    kLost,
  };

  const ABI abi_;
  Stats stats_;
  ChunkCopy copy_;

  // The state of the writer whose chunks are read now.
  Packet packet_;
  PacketState packet_state_ = PacketState::kNone;
  // True until a chunk of the writer was read; and the id of its next one.
  bool is_first_chunk_ = true;
  ChunkID next_chunk_id_ = 0;
  // True if the writer was in the chunk before.
  bool was_incomplete_ = false;
  std::vector<uint8_t> fragments_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_READER_RING_READER_H_
