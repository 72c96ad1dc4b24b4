// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/packet_reader.h"

#include <algorithm>
#include <utility>

#include "src/tracing/shared_memory/chunk_reader.h"
#include "src/tracing/shared_memory/in_place_chunk.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// The number of pages between two looks at the open chunks.
constexpr size_t kPagesBetweenLooks = 4;

// A search begins again with each chunk that is done, because the next chunk is
// usually near. This limit keeps a writer from making a search go on forever.
constexpr size_t kMaxLooksPerPage = 16;

}  // namespace

struct PacketReader::Writer {
  enum PacketState : uint8_t {
    // The next fragment begins a packet.
    kNone,
    // The next fragment continues the packet in |fragments|.
    kBegun,
    // The next fragment continues a packet that is lost.
    kLost,
  };

  // Returns how far |chunk_id| is ahead, even if ids wrap around on the way.
  int32_t DistanceTo(ChunkID chunk_id) const {
    return static_cast<int32_t>(chunk_id - next_chunk_id);
  }

  WriterID id = 0;
  // True if nothing has been read of the writer yet. Then |next_chunk_id| is
  // the id of any of its chunks.
  bool is_new = true;
  PacketState packet_state = kNone;
  // True if the next packet has to say that something was lost.
  bool has_lost = false;
  // True if the reader has seen a chunk of the writer, but not the next one.
  bool misses_chunk = false;
  ChunkID next_chunk_id = 0;

  // The open chunk, if there is one, and the index and offset of its next
  // fragment.
  ABI::Chunk chunk;
  uint16_t num_read = 0;
  size_t offset = 0;

  // The oldest chunk that the search with this number has seen.
  uint64_t search = 0;
  ABI::Chunk oldest_chunk;
  ChunkID oldest_chunk_id = 0;

  std::vector<uint8_t> fragments;
};

PacketReader::PacketReader(const SharedMemoryABI& abi, const Options& options)
    : abi_(abi), options_(options), buffer_(new uint8_t[abi.page_size()]) {}

PacketReader::~PacketReader() = default;

bool PacketReader::TryNext(Packet* packet) {
  const bool is_thorough =
      options_.writer_id == 0 && chunks_closed_since_search_ > abi_.num_pages();
  if (!is_thorough) {
    if (TryReadFromOpenChunks(packet))
      return true;
    // If the reader follows one writer, and that writer has an open chunk, no
    // other chunk matters.
    if (options_.writer_id != 0 && !open_.empty())
      return false;
  }
  return Search(is_thorough, packet);
}

bool PacketReader::TryReadFromOpenChunks(Packet* packet) {
  // Closing a writer's chunk removes the writer from |open_|.
  for (size_t i = open_.size(); i > 0 && !open_.empty(); --i) {
    if (next_open_ >= open_.size())
      next_open_ = 0;
    if (TryReadFrom(open_[next_open_++], packet))
      return true;
  }
  return false;
}

bool PacketReader::TryReadFrom(Writer* writer, Packet* packet) {
  const ABI::Chunk chunk = writer->chunk;
  const std::atomic<uint16_t>& header = chunk.header()->packets;
  for (;;) {
    uint16_t packets = header.load(std::memory_order_acquire);
    bool is_last = false;
    if (writer->num_read + 1 >= (packets & ABI::kPacketCountMask)) {
      // While the chunk is being written, its last fragment may be incomplete.
      const uint32_t word = abi_.GetPageWord(chunk.page_idx());
      const ABI::ChunkState state =
          abi_.GetChunkUnchecked(chunk.page_idx(), word, chunk.chunk_idx())
                      .size() == chunk.size()
              ? ABI::StateOf(word, chunk.chunk_idx())
              : ABI::kChunkFree;
      if (state == ABI::kChunkBeingWritten)
        return false;
      if (state != ABI::kChunkComplete) {
        LosePacket(writer, &stats_.chunks_corrupt);
        CloseChunk(writer, false);
        return false;
      }
      packets = header.load(std::memory_order_acquire);
      const uint16_t num_packets = packets & ABI::kPacketCountMask;
      is_last = writer->num_read + 1 >= num_packets;
      // The arbiter that patches the chunk relies on this.
      if (is_last && (packets & ABI::kChunkNeedsPatching) != 0)
        return false;
      if (writer->num_read >= num_packets) {
        CloseChunk(writer, true);
        return false;
      }
    }

    const bool begins_packet =
        writer->num_read != 0 ||
        (packets & ABI::kFirstPacketContinuesFromPrevChunk) == 0;
    const bool ends_packet =
        !is_last || (packets & ABI::kLastPacketContinuesOnNextChunk) == 0;
    ConstBytes fragment;
    bool has_packet = false;
    switch (
        ReadFragment(ConstBytes(chunk.payload_begin(), chunk.payload_size()),
                     &writer->offset, &fragment)) {
      case FragmentKind::kPacket:
        ++writer->num_read;
        has_packet =
            TakeFragment(writer, fragment, begins_packet, ends_packet, packet);
        break;
      case FragmentKind::kDropMarker:
        if (begins_packet && writer->packet_state == Writer::kBegun)
          LosePacket(writer, &stats_.packets_torn);
        if (begins_packet || writer->packet_state != Writer::kLost)
          LosePacket(writer, &stats_.packets_abandoned);
        // The next fragment, in another chunk, begins a packet.
        writer->packet_state = Writer::kNone;
        writer->num_read = ABI::kMaxPacketsPerChunk;
        break;
      case FragmentKind::kCorrupt:
        LosePacket(writer, &stats_.chunks_corrupt);
        writer->num_read = ABI::kMaxPacketsPerChunk;
        break;
    }
    if (is_last) {
      // The chunk is closed at once, because a writer may be waiting for it.
      CloseChunk(writer, true);
      return has_packet;
    }
    if (has_packet)
      return true;
  }
}

bool PacketReader::TakeFragment(Writer* writer,
                                ConstBytes fragment,
                                bool begins_packet,
                                bool ends_packet,
                                Packet* packet) {
  ConstBytes bytes;
  if (begins_packet) {
    if (writer->packet_state == Writer::kBegun)
      LosePacket(writer, &stats_.packets_torn);
    writer->fragments.clear();
    writer->packet_state = Writer::kBegun;
  } else if (writer->packet_state == Writer::kNone) {
    LosePacket(writer, &stats_.packets_torn);
  }
  if (writer->packet_state == Writer::kBegun) {
    std::vector<uint8_t>& fragments = writer->fragments;
    const size_t size = fragments.size();
    if (fragment.size > options_.max_packet_size - size) {
      LosePacket(writer, &stats_.packets_too_long);
    } else if (begins_packet && ends_packet) {
      CopyBytes(fragment.data, fragment.size, buffer_.get());
      bytes = ConstBytes(buffer_.get(), fragment.size);
    } else {
      fragments.reserve(std::min(options_.max_packet_size, abi_.page_size()));
      fragments.resize(size + fragment.size);
      CopyBytes(fragment.data, fragment.size, fragments.data() + size);
      if (ends_packet)
        bytes = fragments;
    }
  }
  if (ends_packet)
    writer->packet_state = Writer::kNone;
  if (bytes.size == 0)
    return false;
  ++stats_.packets_read;
  packet->bytes = bytes;
  packet->writer_id = writer->id;
  packet->previous_packet_dropped = std::exchange(writer->has_lost, false);
  return true;
}

void PacketReader::LosePacket(Writer* writer, uint64_t* reason) {
  ++*reason;
  writer->has_lost = true;
  writer->packet_state = Writer::kLost;
}

bool PacketReader::Search(bool is_thorough, Packet* packet) {
  const size_t num_pages = abi_.num_pages();
  size_t looks_left = kMaxLooksPerPage * num_pages;
  for (;;) {
    ++num_searches_;
    is_full_ = false;
    const uint64_t chunks_read = stats_.chunks_read;
    size_t page = first_page_;
    for (size_t i = 0; i < num_pages && stats_.chunks_read == chunks_read;
         ++i) {
      if (looks_left-- == 0)
        return false;
      const size_t num_open = open_.size();
      LookAtPage(page);
      page = page + 1 == num_pages ? 0 : page + 1;
      if (!is_thorough &&
          (open_.size() != num_open || i % kPagesBetweenLooks == 0) &&
          TryReadFromOpenChunks(packet)) {
        return true;
      }
    }
    // If a chunk was read, the search may have passed the next one already.
    if (stats_.chunks_read != chunks_read)
      continue;
    chunks_closed_since_search_ = 0;
    is_thorough = false;
    const bool is_complete = OpenOldestChunks();
    if (TryReadFromOpenChunks(packet))
      return true;
    if (is_complete && stats_.chunks_read == chunks_read)
      return false;
  }
}

bool PacketReader::OpenOldestChunks() {
  bool is_complete = true;
  for (const std::unique_ptr<Writer>& writer : writers_) {
    if (writer->search != num_searches_ || writer->chunk.is_valid())
      continue;
    if (!writer->misses_chunk) {
      // The search has seen a later chunk of the writer. If chunks before that
      // one exist, they were there by then, but the search may have passed
      // their place. So it searches once more.
      writer->misses_chunk = true;
      is_complete = false;
      continue;
    }
    if (!writer->is_new) {
      if (writer->packet_state == Writer::kBegun)
        LosePacket(writer.get(), &stats_.packets_torn);
      ++stats_.chunk_gaps;
      writer->has_lost = true;
    }
    OpenChunk(writer.get(), writer->oldest_chunk, writer->oldest_chunk_id);
  }
  return is_complete;
}

void PacketReader::LookAtPage(size_t page_idx) {
  const uint32_t word = abi_.GetPageWord(page_idx);
  const size_t num_chunks = ABI::kNumChunksForLayout[ABI::LayoutOf(word)];
  for (size_t i = 0; i < num_chunks; ++i) {
    const ABI::ChunkState state = ABI::StateOf(word, i);
    if (state != ABI::kChunkBeingWritten && state != ABI::kChunkComplete)
      continue;
    const ABI::Chunk chunk = abi_.GetChunkUnchecked(page_idx, word, i);
    const ABI::ChunkHeader& header = *chunk.header();
    // Skips a chunk without packets, which has no owner yet. Skips also a chunk
    // that was read and waits for its commit, or was freed by that since |word|
    // was loaded.
    const uint16_t packets = header.packets.load(std::memory_order_acquire);
    if (state == ABI::kChunkBeingWritten
            ? (packets & ABI::kPacketCountMask) == 0
            : packets == 0 || (packets & kChunkIsRead) != 0) {
      continue;
    }
    const WriterID writer_id = header.writer_id.load(std::memory_order_relaxed);
    const ChunkID chunk_id = header.chunk_id.load(std::memory_order_relaxed);
    if (options_.writer_id != 0 && writer_id != options_.writer_id)
      continue;
    if (writer_id == 0 || writer_id > kMaxWriterID) {
      if (state == ABI::kChunkComplete) {
        ++stats_.chunks_corrupt;
        FinishChunkInPlace(abi_, chunk, kChunkIsRead);
      }
      continue;
    }
    Writer* const writer = FindOrAddWriter(writer_id);
    if (writer == nullptr || writer->chunk.is_valid())
      continue;
    if (!writer->is_new && chunk_id == writer->next_chunk_id) {
      OpenChunk(writer, chunk, chunk_id);
      continue;
    }
    const bool is_first = writer->search != num_searches_;
    writer->search = num_searches_;
    if (writer->is_new && is_first)
      writer->next_chunk_id = chunk_id;
    if (is_first || writer->DistanceTo(chunk_id) <
                        writer->DistanceTo(writer->oldest_chunk_id)) {
      writer->oldest_chunk = chunk;
      writer->oldest_chunk_id = chunk_id;
    }
  }
}

PacketReader::Writer* PacketReader::FindOrAddWriter(WriterID writer_id) {
  if (writer_id >= writer_index_.size())
    writer_index_.resize(writer_id + size_t{1});
  uint16_t& index = writer_index_[writer_id];
  if (index != 0)
    return writers_[index - 1u].get();
  if (writers_.size() < std::min<size_t>(options_.max_writers, kMaxWriterID)) {
    writers_.push_back(std::make_unique<Writer>());
    index = static_cast<uint16_t>(writers_.size());
  } else {
    // Replaces a writer without anything to remember: everything that it still
    // writes is in chunks that a search will see.
    for (size_t i = 0; i < writers_.size() && index == 0 && !is_full_; ++i) {
      const Writer& writer = *writers_[i];
      if (writer.chunk.is_valid() || writer.has_lost ||
          writer.packet_state != Writer::kNone ||
          writer.search == num_searches_) {
        continue;
      }
      writer_index_[writer.id] = 0;
      index = static_cast<uint16_t>(i + 1);
    }
    if (index == 0) {
      is_full_ = true;
      return nullptr;
    }
    *writers_[index - 1u] = Writer();
  }
  Writer* const writer = writers_[index - 1u].get();
  writer->id = writer_id;
  return writer;
}

void PacketReader::OpenChunk(Writer* writer,
                             const ABI::Chunk& chunk,
                             ChunkID chunk_id) {
  writer->is_new = false;
  writer->misses_chunk = false;
  writer->next_chunk_id = chunk_id + 1;
  writer->chunk = chunk;
  writer->num_read = 0;
  writer->offset = 0;
  open_.push_back(writer);
}

void PacketReader::CloseChunk(Writer* writer, bool is_complete) {
  const ABI::Chunk chunk = writer->chunk;
  writer->chunk = ABI::Chunk();
  open_.erase(std::find(open_.begin(), open_.end(), writer));
  first_page_ = chunk.page_idx();
  ++chunks_closed_since_search_;
  ++stats_.chunks_read;
  if (is_complete && !FinishChunkInPlace(abi_, chunk, kChunkIsRead))
    ++stats_.chunks_corrupt;
}

PROTOZERO_ABI_END
}  // namespace protozero
