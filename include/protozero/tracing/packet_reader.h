// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_PACKET_READER_H_
#define INCLUDE_PROTOZERO_TRACING_PACKET_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Reads packets out of shared memory while others write them, each as soon as
// it is complete: without a service, a system call, or a message from the
// writer, which only stores a count.
//
//   InPlaceEndpoint endpoint(memory, size, page_size);
//   SharedMemoryArbiter arbiter(memory, size, page_size, &endpoint);
//   auto writer = arbiter.CreateTraceWriter(1);
//   writer->NewTracePacket()->...
//
// and in another thread, or in another process:
//
//   PacketReader reader(SharedMemoryABI(memory, size, page_size));
//   PacketReader::Packet packet;
//   while (is_running) {
//     if (reader.TryNext(&packet))
//       Handle(packet.bytes);
//   }
//
// The reader takes the place of the service: chunks become free when they have
// been read, so that writers can go on. It puts packets together that are
// spread over several chunks. The packets of one writer come in their order;
// those of different writers come in turn. Writers need an InPlaceEndpoint.
//
// Nothing in the memory is trusted. Each word is loaded once; a packet is
// copied before anybody looks at it. Whatever a writer does costs its own
// packets only, and the chunks that it sits on. Empty packets are left out:
// writers fill chunks up with them.
//
// Costs, besides the copy, a load for each packet and up to three atomic
// operations for each chunk; a call that finds nothing looks at the header of
// each page, if it follows all writers or waits for a chunk. Allocates in the
// constructor, when a writer is seen for the first time, and for fragments, in
// memory that it keeps. One thread at a time. Several readers may share a
// buffer if each follows a writer of its own.
class PacketReader {
 public:
  struct Options {
    // The writer to follow; 0 for all of them.
    WriterID writer_id = 0;
    // A packet that is longer is lost. It bounds what a writer can make the
    // reader allocate.
    size_t max_packet_size = size_t{1} << 20;
    // How many writers are followed at the same time: those that have begun a
    // chunk. The chunks of others are left until then.
    size_t max_writers = 256;
  };

  struct Packet {
    // Valid until the reader is used again.
    ConstBytes bytes;
    WriterID writer_id = 0;
    // Something was lost between this packet and the one before of this writer,
    // and is counted below. (What the writer itself could not write is not:
    // that says the packet, in TraceWriter::kPreviousPacketDroppedFieldId.)
    bool previous_packet_dropped = false;
  };

  // What was read, and what was lost.
  struct Stats {
    uint64_t packets_read = 0;
    uint64_t chunks_read = 0;
    // Writers ran out of chunks in the middle of them.
    uint64_t packets_abandoned = 0;
    // Longer than Options::max_packet_size.
    uint64_t packets_too_long = 0;
    // Without their beginning, their end, or something in between. One whose
    // beginning is older than the reader is among them.
    uint64_t packets_torn = 0;
    // How often the chunk was not there that was to come next.
    uint64_t chunk_gaps = 0;
    // With something in them that is no record, or taken away while they were
    // read: neither does a TraceWriter do.
    uint64_t chunks_corrupt = 0;
  };

  // REQUIRES: the memory of |abi| outlives the reader.
  PacketReader(const SharedMemoryABI& abi, const Options& options);
  explicit PacketReader(const SharedMemoryABI& abi)
      : PacketReader(abi, Options()) {}
  // Leaves the chunks that are still being written. Whoever reads on will get
  // those of their packets again that have been read.
  ~PacketReader();

  PacketReader(const PacketReader&) = delete;
  PacketReader& operator=(const PacketReader&) = delete;

  // Gives the next packet, if there is one: if a packet was complete before the
  // call, one is found. Does not wait. Takes time in proportion to the number
  // of chunks at most, whatever is in them; if that is not enough, which takes
  // a writer that is up to something, what it finds is nothing.
  bool TryNext(Packet* packet);

  // Calls |on_packet|(const Packet&) for all packets there are, at most
  // |max_packets|: who writes meanwhile can make it go on forever. Returns how
  // many there were. |on_packet| must not use the reader.
  template <typename OnPacket>
  size_t ReadPackets(OnPacket&& on_packet, size_t max_packets = SIZE_MAX) {
    Packet packet;
    size_t num_packets = 0;
    while (num_packets < max_packets && TryNext(&packet)) {
      ++num_packets;
      on_packet(static_cast<const Packet&>(packet));
    }
    return num_packets;
  }

  const Stats& stats() const { return stats_; }

 private:
  using ABI = SharedMemoryABI;
  struct Writer;

  bool TryReadFromOpenChunks(Packet* packet);
  bool TryReadFrom(Writer* writer, Packet* packet);
  // Goes on with a record, which may be all of a packet or a part of it.
  // Returns whether there is a packet now.
  bool TakeRecord(Writer* writer,
                  ConstBytes record,
                  bool begins_packet,
                  bool ends_packet,
                  Packet* packet);
  void LosePacket(Writer* writer, uint64_t* reason);

  // Looks at all chunks, and opens those whose turn it is, until there is a
  // packet, or nothing new. If it |is_thorough|, all are looked at first.
  bool Search(bool is_thorough, Packet* packet);
  // Returns false if another look is needed.
  bool OpenOldestChunks();
  void LookAtPage(size_t page_idx);
  // Null if there are too many.
  Writer* FindOrAddWriter(WriterID writer_id);
  void OpenChunk(Writer* writer, const ABI::Chunk& chunk, ChunkID chunk_id);
  // Which is empty now, or of no use.
  void CloseChunk(Writer* writer, bool is_complete);

  const ABI abi_;
  const Options options_;
  Stats stats_;
  // For packets that are whole in their chunk.
  const std::unique_ptr<uint8_t[]> buffer_;

  std::vector<std::unique_ptr<Writer>> writers_;
  // Where in |writers_| it is, plus one, by id; 0 if it is not.
  std::vector<uint16_t> writer_index_;
  // Those that have an open chunk, and whose turn it is.
  std::vector<Writer*> open_;
  size_t next_open_ = 0;

  // Where chunks are looked for first: behind the one that was freed last.
  size_t first_page_ = 0;
  // There may be others than those that keep the reader busy.
  size_t chunks_closed_since_search_ = 0;
  uint64_t num_searches_ = 0;
  // None was found that could make way for another.
  bool is_full_ = false;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_PACKET_READER_H_
