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

// Reads packets from shared memory while threads or processes write them, each
// as soon as it is complete. It needs no service, no system call, and no
// message from the writer, which only stores a count.
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
// The reader takes the place of the service: it frees the chunks that it has
// read, so that writers can go on. It assembles packets that are spread over
// several chunks. Packets of one writer come in order; the reader takes turns
// between writers. Writers need an InPlaceEndpoint.
//
// The reader does not trust the memory. It loads each word once, and copies a
// packet before anything looks at it. A writer that misbehaves can spoil only
// its own packets and the chunks that it holds. The reader leaves out empty
// packets, which writers use to fill chunks up.
//
// Besides the copy, it costs a load for each packet and up to three atomic
// operations for each chunk. If the reader follows all writers, or waits for a
// chunk, a call that finds nothing looks at the header of each page. It
// allocates in the constructor, for each new writer, and for fragments, in
// memory that it keeps. One thread at a time. Several readers may share a
// buffer if each follows its own writer.
class PacketReader {
 public:
  // The packets to read, and limits.
  struct Options {
    // The writer to follow; 0 for all of them.
    WriterID writer_id = 0;
    // The longest packet. A longer one is lost. This limits how much a writer
    // can make the reader allocate.
    size_t max_packet_size = size_t{1} << 20;
    // The number of writers with a begun chunk that the reader follows at the
    // same time. It leaves the chunks of other writers until one of these is
    // done.
    size_t max_writers = 256;
  };

  // A packet that the reader gives out.
  struct Packet {
    // Valid until the reader is used again.
    ConstBytes bytes;
    // The packet's writer.
    WriterID writer_id = 0;
    // True if something was lost between this packet and the writer's packet
    // before it; Stats counts it. Losses of packets that the writer could not
    // write are not counted: the packet itself says so, in
    // TraceWriter::kPreviousPacketDroppedFieldId.
    bool previous_packet_dropped = false;
  };

  // Counts of what was read and lost.
  struct Stats {
    uint64_t packets_read = 0;
    uint64_t chunks_read = 0;
    // Packets that a writer gave up because it found no chunk.
    uint64_t packets_abandoned = 0;
    // Packets longer than Options::max_packet_size.
    uint64_t packets_too_long = 0;
    // Packets that lack their beginning, their end, or a part in between. A
    // packet that began before the reader was created counts here.
    uint64_t packets_torn = 0;
    // The number of times that the next chunk of a writer was missing.
    uint64_t chunk_gaps = 0;
    // Chunks with bytes that are no fragment, or that a writer took back while
    // they were read. A TraceWriter does neither.
    uint64_t chunks_corrupt = 0;
  };

  // REQUIRES: the memory of |abi| outlives the reader.
  PacketReader(const SharedMemoryABI& abi, const Options& options);
  explicit PacketReader(const SharedMemoryABI& abi)
      : PacketReader(abi, Options()) {}
  // Leaves chunks that are still being written. If another reader goes on, it
  // gets the packets in them again.
  ~PacketReader();

  PacketReader(const PacketReader&) = delete;
  PacketReader& operator=(const PacketReader&) = delete;

  // Gets the next packet, without waiting. If a packet was complete before the
  // call, the call finds one. Takes time in proportion to the number of chunks
  // at most, whatever they hold. Only a malicious writer can make that time too
  // short; then the call finds nothing.
  bool TryNext(Packet* packet);

  // Calls |on_packet|(const Packet&) for all packets there are, but not more
  // than |max_packets|: without this limit, a fast writer could make it go on
  // forever. Returns the number of packets. |on_packet| must not use the
  // reader.
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

  // Returns the sums since the reader was made.
  const Stats& stats() const { return stats_; }

 private:
  using ABI = SharedMemoryABI;
  struct Writer;

  bool TryReadFromOpenChunks(Packet* packet);
  bool TryReadFrom(Writer* writer, Packet* packet);
  // Goes on with a fragment. Returns whether a packet is complete now.
  bool TakeFragment(Writer* writer,
                    ConstBytes fragment,
                    bool begins_packet,
                    bool ends_packet,
                    Packet* packet);
  void LosePacket(Writer* writer, uint64_t* reason);

  // Looks at all chunks and opens the next one of each writer, until it finds a
  // packet or nothing new. With |is_thorough|, looks at all chunks first.
  bool Search(bool is_thorough, Packet* packet);
  // Returns false if it has to look again.
  bool OpenOldestChunks();
  void LookAtPage(size_t page_idx);
  // Returns null if there are too many writers.
  Writer* FindOrAddWriter(WriterID writer_id);
  void OpenChunk(Writer* writer, const ABI::Chunk& chunk, ChunkID chunk_id);
  // Closes a chunk that is empty now, or of no use.
  void CloseChunk(Writer* writer, bool is_complete);

  const ABI abi_;
  const Options options_;
  Stats stats_;
  // The place to which packets that are whole in one chunk are copied.
  const std::unique_ptr<uint8_t[]> buffer_;

  std::vector<std::unique_ptr<Writer>> writers_;
  // The index in |writers_| plus one of each writer id; 0 if it has none.
  std::vector<uint16_t> writer_index_;
  // The writers that have an open chunk and take turns.
  std::vector<Writer*> open_;
  size_t next_open_ = 0;

  // The page where the search for chunks begins, after the chunk that was
  // freed last.
  size_t first_page_ = 0;
  // A count, because other writers may have chunks, even if the open ones keep
  // the reader busy.
  size_t chunks_closed_since_search_ = 0;
  uint64_t num_searches_ = 0;
  // True if the reader has as many writers as it may have, and cannot drop one.
  bool is_full_ = false;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_PACKET_READER_H_
