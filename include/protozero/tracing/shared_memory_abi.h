// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_ABI_H_
#define INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_ABI_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <atomic>

#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The layout of a buffer that one producer and the service share, and the
// transitions that each side may make. Binary-compatible with version 1 of
// Perfetto's protocol.
//
// The buffer is a row of equal pages. A producer partitions a page into equal
// chunks when it first uses it; the page loses its partition when its last
// chunk is freed. One writer, that is one thread, writes a chunk at a time; the
// service reads it:
//
//   page (4, 8, 16, 32 or 64 KiB)
//   +--------+-------------+-------------+-------------+--------+
//   | header | chunk 0     | chunk 1     | chunk 2 ... | unused |
//   +--------+-------------+-------------+-------------+--------+
//   0        8             8 + size      8 + 2 * size
//
//   page header (8 bytes)
//   31 30  28 27 26                  3  2  1  0
//   +-+------+-----+----- ... -----+-----+-----+ +----------------------+
//   |0|layout|  13 | chunk states  |  1  |  0  | | 32 bits, reserved: 0 |
//   +-+------+-----+----- ... -----+-----+-----+ +----------------------+
//
//   chunk
//   +----------+-----------+---------+---------------------------------------+
//   | chunk id | writer id | packets | payload: as many fragments as packets |
//   +----------+-----------+---------+---------------------------------------+
//   0          4           6         8
//
//   the "packets" word                       a fragment
//   15    13     12        11       10  9    0  +-------------+-------------+
//   +-------+---------+----------+----+-------+ | length,     | a packet,   |
//   |0  0  0| needs   | contin-  |cont|       | | varint of   | or a part   |
//   |       | patching| ues on   |inu-| count | | 1 to 4 bytes| of one      |
//   |       |         | next     |es  |       | +-------------+-------------+
//   +-------+---------+----------+----+-------+
//
// A packet that does not fit continues as the first fragment of the writer's
// next chunk. The length kPacketSizeDropPacket says that the packet ends here
// and is lost. The bytes after the fragments have no meaning, except for what
// a TraceWriter leaves there: see kNoPacketBegunSize.
//
// The life of a chunk; each arrow is a compare-and-swap of the whole word:
//
//            1                   2
//   Free ---------> BeingWritten ---------> Complete
//    ^                                         |
//    |       4                   3             |
//    +------------- BeingRead <----------------+
//
//   1  producer  TryAcquireChunkForWriting()
//   2  producer  ReleaseChunkAsComplete()
//   3  service   TryAcquireChunkForReading()
//   4  service   ReleaseChunkAsFree()
//
// Without a service, a writer takes arrows 3 and 4 itself, from its oldest
// finished chunk, which it overwrites then: see TakeOldestChunk(). If a chunk
// turns out not to be the oldest, ReleaseChunkUnread() takes arrow 3 back.
//
// A reader trusts nothing in the memory: it loads a word once, checks it, and
// acts on it. If the word makes no sense, the call fails.
//
// Objects of this class are views: they own nothing and can be copied. Any
// thread may call any function, for any chunk, at any time.
class SharedMemoryABI {
 public:
  // Sizes in bytes. Multiples of 4 KiB between them are pages, too: see
  // IsValidPageSize().
  static constexpr size_t kMinPageSize = 4 * 1024;
  static constexpr size_t kMaxPageSize = 64 * 1024;

  // The state of a chunk, two bits of its page's word. The transitions are
  // above.
  enum ChunkState : uint32_t {
    kChunkFree = 0,
    kChunkBeingWritten = 1,
    kChunkBeingRead = 2,
    kChunkComplete = 3,
  };
  // A chunk's bits in a page's word, once shifted to its low end.
  static constexpr uint32_t kChunkStateMask = 3;
  static constexpr uint32_t kChunkStateBits = 2;

  // The number of chunks of a page, in bits 28 to 30 of its word.
  enum PageLayout : uint32_t {
    kPageNotPartitioned = 0,
    kPageDiv1 = 1,
    kPageDiv2 = 2,
    kPageDiv4 = 3,
    kPageDiv7 = 4,
    kPageDiv14 = 5,
    kPageDivReserved1 = 6,
    kPageDivReserved2 = 7,
  };
  // Limits and masks of a page's word and of its layout.
  static constexpr size_t kNumPageLayouts = 8;
  static constexpr uint32_t kLayoutShift = 28;
  static constexpr uint32_t kLayoutMask = 7u << kLayoutShift;
  static constexpr uint32_t kAllChunksMask = (1u << kLayoutShift) - 1;
  static constexpr size_t kMaxChunksPerPage = 14;
  static constexpr uint32_t kNumChunksForLayout[kNumPageLayouts] = {
      0, 1, 2, 4, 7, 14, 0, 0};

  // The beginning of each page: its word, and four bytes that the protocol does
  // not use. CompleteRingChunk() does.
  struct PageHeader {
    std::atomic<uint32_t> header_bitmap;
    std::atomic<uint32_t> reserved;
  };

  // Flags in ChunkHeader::packets, above the count.
  enum Flags : uint16_t {
    kFirstPacketContinuesFromPrevChunk = 1 << 10,
    kLastPacketContinuesOnNextChunk = 1 << 11,
    // The service does not read the chunk until its patches have come.
    kChunkNeedsPatching = 1 << 12,
  };
  // The bits of ChunkHeader::packets that count.
  static constexpr uint16_t kPacketCountMask = (1 << 10) - 1;

  // Every field is atomic, for a service that looks at chunks while they are
  // being written ("scrapes" them).
  struct ChunkHeader {
    std::atomic<uint32_t> chunk_id;
    std::atomic<uint16_t> writer_id;
    // The number of packets, fragments included, and flags. A writer increments
    // it before it writes a packet: all packets but the last are complete.
    std::atomic<uint16_t> packets;
  };

  // The most packets that a chunk can have.
  static constexpr size_t kMaxPacketsPerChunk = kPacketCountMask;

  // Lengths of fragments are varints of up to four bytes, in any encoding.
  static constexpr size_t kPacketHeaderSize = 4;
  // A value in place of a length. It says that the packet is lost.
  static constexpr uint32_t kPacketSizeDropPacket = (1 << 28) - 1;

  // The count of a chunk that is being written includes a packet that may not
  // have begun. If the writer has died, the second byte after the complete
  // fragments tells whether it had begun. A TraceWriter leaves two zeros there;
  // a packet has a tag there, after a length of one byte, or a part of a length
  // of four bytes, which are never 0.
  //
  //   complete fragments | 0 | 0 |        no packet has begun
  //   complete fragments | . | tag | ...  a packet has begun, and is lost
  static constexpr size_t kNoPacketBegunSize = 2;
  static void WriteNoPacketBegun(uint8_t* fragments_end) {
    memset(fragments_end, 0, kNoPacketBegunSize);
  }

  // The size of a patch, which overwrites four bytes of a chunk's payload.
  static constexpr size_t kPatchSize = 4;
  static constexpr size_t kMaxPatchesPerChunk = 1024;

  // Returns a chunk's size with its header. 0 for a layout without chunks.
  static constexpr size_t ChunkSize(size_t page_size, PageLayout layout) {
    const size_t num_chunks = kNumChunksForLayout[layout];
    return num_chunks == 0
               ? 0
               : (page_size - sizeof(PageHeader)) / num_chunks / 4 * 4;
  }
  // Returns true from kMinPageSize to kMaxPageSize, in steps of 4 KiB.
  static constexpr bool IsValidPageSize(size_t page_size) {
    return page_size >= kMinPageSize && page_size <= kMaxPageSize &&
           page_size % kMinPageSize == 0;
  }

  // Returns the layout in a page's word, which may be a reserved value.
  static constexpr PageLayout LayoutOf(uint32_t page_word) {
    return static_cast<PageLayout>((page_word & kLayoutMask) >> kLayoutShift);
  }
  // Returns the state of a chunk in that word.
  static constexpr ChunkState StateOf(uint32_t page_word, size_t chunk_idx) {
    return static_cast<ChunkState>(
        (page_word >> (kChunkStateBits * chunk_idx)) & kChunkStateMask);
  }

  // A chunk that the caller has acquired. It is a plain value: after a call of
  // a Release function, the caller must not use it any more.
  class Chunk {
   public:
    // Makes no chunk, or that of the given page and place in it.
    Chunk() = default;
    Chunk(uint8_t* begin, size_t size, size_t page_idx, size_t chunk_idx)
        : begin_(begin),
          size_(static_cast<uint32_t>(size)),
          page_idx_(static_cast<uint32_t>(page_idx)),
          chunk_idx_(static_cast<uint8_t>(chunk_idx)) {}

    // Returns false if no chunk could be acquired.
    bool is_valid() const { return begin_ != nullptr; }
    // Return the bounds of its memory, the header included.
    uint8_t* begin() const { return begin_; }
    uint8_t* end() const { return begin_ + size_; }
    // Returns its size with the header.
    size_t size() const { return size_; }
    // Return the memory after the header.
    uint8_t* payload_begin() const { return begin_ + sizeof(ChunkHeader); }
    size_t payload_size() const { return size_ - sizeof(ChunkHeader); }
    ChunkHeader* header() const {
      return reinterpret_cast<ChunkHeader*>(begin_);
    }
    size_t page_idx() const { return page_idx_; }
    size_t chunk_idx() const { return chunk_idx_; }

   private:
    uint8_t* begin_ = nullptr;
    uint32_t size_ = 0;
    uint32_t page_idx_ = 0;
    uint8_t chunk_idx_ = 0;
  };

  // Makes a view without pages.
  SharedMemoryABI() = default;
  // Makes a view of a buffer, which is all zero if it was never used. If |size|
  // is no multiple of the page size, it is rounded down. REQUIRES: |start| is
  // aligned to 8 bytes; IsValidPageSize(page_size).
  SharedMemoryABI(uint8_t* start, size_t size, size_t page_size);

  // Return the memory that the constructor was given; whole pages only.
  uint8_t* start() const { return start_; }
  size_t page_size() const { return page_size_; }
  size_t num_pages() const { return num_pages_; }

  // Returns a snapshot of a page's word. REQUIRES: page_idx < num_pages().
  uint32_t GetPageWord(
      size_t page_idx,
      std::memory_order order = std::memory_order_acquire) const {
    return page_header(page_idx)->header_bitmap.load(order);
  }
  // Returns the word after it. REQUIRES: page_idx < num_pages().
  std::atomic<uint32_t>& reserved_word(size_t page_idx) const {
    return page_header(page_idx)->reserved;
  }

  // Functions for the producer. All of them return an invalid chunk, or false,
  // if the page is in another state. REQUIRES, for all: page_idx < num_pages().

  // The front of the buffer, where writers begin to look for chunks. They go on
  // from there, page by page, so what they use at a time is in one piece.
  static constexpr size_t kFrontSize = 2 * 1024 * 1024;

  // Partitions a page that is not partitioned.
  bool TryPartitionPage(size_t page_idx, PageLayout layout) const;
  // Acquires the first free chunk of a page partitioned as |layout|. The caller
  // fills in its header: see InitChunkForWriting().
  Chunk TryAcquireChunkForWriting(size_t page_idx, PageLayout layout) const;
  // Partitions a page that is not partitioned as kPageDiv1, and acquires its
  // chunk, in one step.
  Chunk TryAcquirePage(size_t page_idx) const {
    uint32_t expected = 0;
    // This acquires what the service wrote before it freed the page.
    return page_header(page_idx)->header_bitmap.compare_exchange_strong(
               expected, WholePage(kChunkBeingWritten),
               std::memory_order_acquire, std::memory_order_relaxed)
               ? Chunk(start_ + page_idx * page_size_ + sizeof(PageHeader),
                       chunk_sizes_[kPageDiv1], page_idx, 0)
               : Chunk();
  }
  // Gives back a page of TryAcquirePage() whose chunk has not begun. Storing
  // zero in its word would also do.
  void ReturnPage(size_t page_idx) const;
  // Sets the chunk's owner. |packets| are its first count and flags.
  static void InitChunkForWriting(const Chunk& chunk,
                                  WriterID writer_id,
                                  ChunkID chunk_id,
                                  uint16_t packets) {
    ChunkHeader* const header = chunk.header();
    // A process may be killed between any two of these stores, and the service
    // may scrape its chunk then. A reader that sees the writer's id also sees
    // the chunk's id.
    header->chunk_id.store(chunk_id, std::memory_order_relaxed);
    header->writer_id.store(writer_id, std::memory_order_release);
    // A reader that sees packets also sees which writer wrote them.
    header->packets.store(packets, std::memory_order_release);
  }
  // Publishes the chunk.
  bool ReleaseChunkAsComplete(const Chunk& chunk) const {
    uint32_t expected = WholePage(kChunkBeingWritten);
    return (chunk.size() == chunk_sizes_[kPageDiv1] &&
            page_header(chunk.page_idx())
                ->header_bitmap.compare_exchange_strong(
                    expected, WholePage(kChunkComplete),
                    std::memory_order_release, std::memory_order_relaxed)) ||
           ChangeState(chunk, kChunkBeingWritten, kChunkComplete);
  }

  // Functions for the service. They fail if a chunk's index is out of range.

  // Acquires a complete chunk.
  Chunk TryAcquireChunkForReading(size_t page_idx, size_t chunk_idx) const;
  // Empties the chunk's header and frees it. If it was the page's last chunk,
  // the page loses its partition, too. Fails if the producer has tampered with
  // the page; then the producer has lost the page.
  bool ReleaseChunkAsFree(const Chunk& chunk) const;
  // Gives back a chunk that was acquired for reading, complete as it was.
  bool ReleaseChunkUnread(const Chunk& chunk) const;
  // Returns a chunk to look at without acquiring it, whatever its state is.
  // Invalid if |page_word|, a snapshot, has no such chunk.
  Chunk GetChunkUnchecked(size_t page_idx,
                          uint32_t page_word,
                          size_t chunk_idx) const;

 private:
  // Returns the word of a page with one chunk.
  static constexpr uint32_t WholePage(ChunkState state) {
    return uint32_t{kPageDiv1} << kLayoutShift | state;
  }
  PageHeader* page_header(size_t page_idx) const {
    return reinterpret_cast<PageHeader*>(start_ + page_idx * page_size_);
  }
  // Changes the state of |chunk| to |to|. Fails unless it is |from|.
  bool ChangeState(const Chunk& chunk, ChunkState from, ChunkState to) const;

  uint8_t* start_ = nullptr;
  size_t page_size_ = kMinPageSize;
  size_t num_pages_ = 0;
  // ChunkSize() of each layout. They are stored because a division costs as
  // much as a transition.
  uint32_t chunk_sizes_[kNumPageLayouts] = {};
};

// Other processes rely on these.
static_assert(sizeof(SharedMemoryABI::PageHeader) == 8);
static_assert(offsetof(SharedMemoryABI::PageHeader, header_bitmap) == 0);
static_assert(sizeof(SharedMemoryABI::ChunkHeader) == 8);
static_assert(offsetof(SharedMemoryABI::ChunkHeader, chunk_id) == 0);
static_assert(offsetof(SharedMemoryABI::ChunkHeader, writer_id) == 4);
static_assert(offsetof(SharedMemoryABI::ChunkHeader, packets) == 6);
static_assert(std::atomic<uint32_t>::is_always_lock_free &&
                  std::atomic<uint16_t>::is_always_lock_free,
              "a lock would not be shared with another process");
static_assert(SharedMemoryABI::kMaxChunksPerPage *
                      SharedMemoryABI::kChunkStateBits ==
                  SharedMemoryABI::kLayoutShift,
              "the states of all chunks, then the layout");
static_assert(SharedMemoryABI::kPacketCountMask == 1023 &&
                  (SharedMemoryABI::kPacketCountMask &
                   SharedMemoryABI::kFirstPacketContinuesFromPrevChunk) == 0,
              "the flags stand above the count");
static_assert(
    SharedMemoryABI::ChunkSize(4096, SharedMemoryABI::kPageDiv1) == 4088 &&
    SharedMemoryABI::ChunkSize(4096, SharedMemoryABI::kPageDiv7) == 584 &&
    SharedMemoryABI::ChunkSize(32768, SharedMemoryABI::kPageDiv14) == 2340);

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_ABI_H_
