// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Each row commits full chunks of packets of 30 bytes, or of events. The
// packets stay in the shared memory from one commit to the next: the loop only
// fills in what the service has changed, the words of pages and the headers of
// chunks.

#include "test/benchmarks/service_rows.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/shared_memory.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/record/trace_drain.h"
#include "src/pztrace/trace_file/trace_output.h"

namespace protozero {
namespace bench {

namespace {

using ABI = SharedMemoryABI;

constexpr size_t kPageSize = 4096;

// A field of bytes.
constexpr uint8_t kPacket[30] = {0x0a, 28};
// An instant: a timestamp of two bytes, sequence flags, and an event with a
// type, a category and a name.
constexpr uint8_t kEvent[] = {0x40, 0xc8, 0x01, 0x68, 0x02, 0x5a, 0x06,
                              0x48, 0x03, 0x18, 0x01, 0x50, 0x01};

// The pages that a commit hands over, their layout, the chunks of each that are
// used, and their packets.
struct LongChunks {
  static constexpr size_t kPages = 4;
  static constexpr ABI::PageLayout kLayout = ABI::kPageDiv1;
  static constexpr size_t kChunks = 1;
  static constexpr uint16_t kPackets = 128;
  static constexpr ConstBytes kBytes{kPacket, sizeof(kPacket)};
};
struct ShortChunks {
  static constexpr size_t kPages = 4;
  static constexpr ABI::PageLayout kLayout = ABI::kPageDiv14;
  static constexpr size_t kChunks = 8;
  static constexpr uint16_t kPackets = 8;
  static constexpr ConstBytes kBytes{kPacket, sizeof(kPacket)};
};
struct EventChunks {
  // The pages whose packets are a batch of the trace.
  static constexpr size_t kPages = 16;
  static constexpr ABI::PageLayout kLayout = ABI::kPageDiv1;
  static constexpr size_t kChunks = 1;
  static constexpr uint16_t kPackets = 256;
  static constexpr ConstBytes kBytes{kEvent, sizeof(kEvent)};
};

class PageMemory final : public SharedMemory {
 public:
  explicit PageMemory(size_t size)
      : size_(size), pages_(new Page[size / kPageSize]()) {}
  uint8_t* start() const override { return pages_[0].bytes; }
  size_t size() const override { return size_; }

 private:
  struct alignas(kPageSize) Page {
    uint8_t bytes[kPageSize];
  };
  const size_t size_;
  const std::unique_ptr<Page[]> pages_;
};

// A service, and a producer that has memory for one commit.
class Collection final : private TracingService::RemoteProducer {
 public:
  Collection(size_t num_pages, size_t buffer_size) {
    TracingService::ProducerInfo info;
    info.name = "producer";
    info.shm_page_size_hint = kPageSize;
    info.shm_size_hint = num_pages * kPageSize;
    connection_ = service_.ConnectProducer(this, std::move(info));
    DataSourceDescriptor source;
    source.name = "source";
    connection_->RegisterDataSource(source);
    TraceConfig config;
    config.buffers.push_back({buffer_size, BufferFillPolicy::kRingBuffer});
    config.data_sources.resize(1);
    config.data_sources[0].config.name = source.name;
    session_ = service_.StartTracing(config, nullptr, nullptr);
    drain_.emplace(&service_, session_, &file_, /*period_ms=*/0);
  }

  template <typename Chunks>
  void WritePackets() {
    abi_ = ABI(memory_->start(), memory_->size(), kPageSize);
    for (uint32_t page = 0; page < Chunks::kPages; ++page) {
      for (uint32_t i = 0; i < Chunks::kChunks; ++i) {
        uint8_t* pos = abi_.GetChunkUnchecked(page, Word<Chunks>(), i).begin();
        headers_.push_back(reinterpret_cast<ABI::ChunkHeader*>(pos));
        pos += sizeof(ABI::ChunkHeader);
        for (size_t k = 0; k < Chunks::kPackets; ++k) {
          *pos++ = static_cast<uint8_t>(Chunks::kBytes.size);
          memcpy(pos, Chunks::kBytes.data, Chunks::kBytes.size);
          pos += Chunks::kBytes.size;
        }
        moves_.push_back({page, i, target_buffer_});
      }
    }
  }

  // Fills in what a commit has changed.
  template <typename Chunks>
  inline void FillIn() {
    for (ABI::ChunkHeader* header : headers_) {
      header->chunk_id.store(next_chunk_id_++, std::memory_order_relaxed);
      header->writer_id.store(1, std::memory_order_relaxed);
      header->packets.store(Chunks::kPackets, std::memory_order_relaxed);
    }
    for (size_t page = 0; page < Chunks::kPages; ++page) {
      reinterpret_cast<ABI::PageHeader*>(abi_.start() + page * kPageSize)
          ->header_bitmap.store(Word<Chunks>(), std::memory_order_release);
    }
  }

  void Commit() {
    connection_->CommitData({moves_.data(), moves_.size(), nullptr, 0});
  }
  void Read() {
    service_.ReadPackets(session_, [](const uint8_t*, size_t) { return true; });
  }
  bool OpenFile() { return file_.Open("/dev/null", {}) && file_.Begin(); }
  void WriteToFile() { drain_->ReadAll(); }

  TraceBufferStats Stats() { return service_.GetStats(session_).buffers[0]; }

 private:
  // Returns the word of a page with complete chunks.
  template <typename Chunks>
  static constexpr uint32_t Word() {
    uint32_t word = Chunks::kLayout << ABI::kLayoutShift;
    for (size_t i = 0; i < Chunks::kChunks; ++i)
      word |= uint32_t{ABI::kChunkComplete} << (ABI::kChunkStateBits * i);
    return word;
  }

  // TracingService::RemoteProducer:
  std::unique_ptr<SharedMemory> SetupTracing(size_t size, size_t) override {
    auto memory = std::make_unique<PageMemory>(size);
    memory_ = memory.get();
    return memory;
  }
  void SetupDataSource(DataSourceInstanceID,
                       const DataSourceConfig& config) override {
    target_buffer_ = config.target_buffer;
  }
  void StartDataSource(DataSourceInstanceID, const DataSourceConfig&) override {
  }
  void StopDataSource(DataSourceInstanceID) override {}
  void Flush(FlushRequestID,
             const std::vector<DataSourceInstanceID>&,
             FlushFlags) override {}
  void ClearIncrementalState(
      const std::vector<DataSourceInstanceID>&) override {}

  TracingService service_;
  std::unique_ptr<TracingService::ProducerConnection> connection_;
  TracingSessionID session_ = 0;
  pztrace::TraceOutput file_;
  std::optional<pztrace::TraceDrain> drain_;
  const SharedMemory* memory_ = nullptr;
  BufferID target_buffer_ = 0;
  ABI abi_;
  std::vector<ABI::ChunkHeader*> headers_;
  std::vector<CommitDataRequest::ChunkToMove> moves_;
  ChunkID next_chunk_id_ = 0;
};

enum class Kind { kEmpty, kCopy, kOverwrite, kRead, kRecord };

// tools/measure_instructions counts the function of this name.
template <Kind kKind>
__attribute__((noinline)) void EncodeOutOfLine(Collection* collection) {
  if (kKind != Kind::kEmpty)
    collection->Commit();
  if (kKind == Kind::kRead)
    collection->Read();
  if (kKind == Kind::kRecord)
    collection->WriteToFile();
  asm volatile("" : : : "memory");
}

template <Kind kKind, typename Chunks>
__attribute__((noinline)) void CommitMany(Collection* collection,
                                          size_t count) {
  for (size_t i = 0; i < count; ++i) {
    collection->FillIn<Chunks>();
    EncodeOutOfLine<kKind>(collection);
  }
}

// Collects the whole commits of |count| packets.
template <Kind kKind, typename Chunks>
bool Collect(size_t count) {
  constexpr size_t kPackets =
      Chunks::kPages * Chunks::kChunks * Chunks::kPackets;
  constexpr size_t kWarmUp = 64;
  const size_t num_commits = count / kPackets;
  // Has room for all packets, and for what a buffer needs besides, or for half
  // of the commits that come before.
  const size_t size =
      Chunks::kPages * kPageSize *
      (kKind == Kind::kCopy ? 2 * (kWarmUp + num_commits) : kWarmUp / 2);
  Collection collection(Chunks::kPages, size);
  collection.WritePackets<Chunks>();
  if (kKind == Kind::kRecord && !collection.OpenFile())
    return false;
  CommitMany<kKind, Chunks>(&collection, kWarmUp);
  CommitMany<kKind, Chunks>(&collection, num_commits);
  const TraceBufferStats stats = collection.Stats();
  const uint64_t packets = (kWarmUp + num_commits) * kPackets;
  return kKind == Kind::kEmpty ||
         (stats.packets_written == packets &&
          stats.packets_read ==
              (kKind == Kind::kRead || kKind == Kind::kRecord ? packets : 0) &&
          (stats.lost.total() != 0) == (kKind == Kind::kOverwrite));
}

}  // namespace

std::vector<EventRow> AllServiceRows() {
  return {
      {"Service_Empty", &Collect<Kind::kEmpty, LongChunks>},
      {"Service_Copy128", &Collect<Kind::kCopy, LongChunks>},
      {"Service_Copy8", &Collect<Kind::kCopy, ShortChunks>},
      {"Service_Overwrite128", &Collect<Kind::kOverwrite, LongChunks>},
      {"Service_Overwrite8", &Collect<Kind::kOverwrite, ShortChunks>},
      {"Service_Read128", &Collect<Kind::kRead, LongChunks>},
      {"Service_Read8", &Collect<Kind::kRead, ShortChunks>},
      {"Service_CopyEvents", &Collect<Kind::kCopy, EventChunks>},
      {"Service_ReadEvents", &Collect<Kind::kRead, EventChunks>},
      {"Service_RecordEvents", &Collect<Kind::kRecord, EventChunks>},
      {"Service_Record128", &Collect<Kind::kRecord, LongChunks>},
  };
}

}  // namespace bench
}  // namespace protozero
