// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Hot code, and compiled with its flags: see BUILD.gn.

#include "test/benchmarks/shm_rows.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

#include "protozero/append_fields.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/tracing/shared_memory.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "protozero/tracing/tracing_service.h"
#include "test/benchmarks/perfetto_trace.pbzero.h"

namespace protozero {
namespace bench {

namespace {

using ABI = SharedMemoryABI;
using perfetto::protos::pbzero_in_place::TracePacket;
using perfetto::protos::pbzero_in_place::TrackEvent;

// The packet of the published figures: a timestamp, sequence flags, and a
// nested event with a type, a track id of 64 bits, and the ids of a category
// and of a name. It takes 29 bytes. The clock is not read.
struct SliceBegin {
  using Packet = TracePacket;
  static constexpr size_t kSize = 29;

  [[gnu::always_inline]] inline void WriteTo(TracePacket* packet) {
    packet->set_timestamp(timestamp_);
    packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    TrackEvent* const event = packet->set_track_event();
    event->set_type(TrackEvent::TYPE_SLICE_BEGIN);
    event->set_track_uuid(track_uuid_);
    event->add_category_iids(1 + (timestamp_ & 7));
    event->set_name_iid(1 + (timestamp_ & 63));
    timestamp_ += 1001;
  }

  // Two weeks after boot, in nanoseconds: eight bytes as a varint.
  uint64_t timestamp_ = uint64_t{1209600} * 1000 * 1000 * 1000;
  uint64_t track_uuid_ = 0x4e6f776865726521;
};

// The same bytes by one call.
struct FusedSliceBegin : SliceBegin {
  [[gnu::always_inline]] inline void WriteTo(TracePacket* packet) {
    With([packet](auto... fields) { AppendFields(packet, fields...); });
  }
  [[gnu::always_inline]] inline void WriteBy(TraceWriter* writer) {
    With([writer](auto... fields) {
      writer->WriteTracePacket<TracePacket>(fields...);
    });
  }

 private:
  template <typename Function>
  [[gnu::always_inline]] inline void With(Function write) {
    write(TracePacket::kTimestamp(timestamp_),
          TracePacket::kSequenceFlags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE),
          TracePacket::kTrackEvent(
              FieldList(TrackEvent::kType(TrackEvent::TYPE_SLICE_BEGIN),
                        TrackEvent::kTrackUuid(track_uuid_),
                        TrackEvent::kCategoryIids(1 + (timestamp_ & 7)),
                        TrackEvent::kNameIid(1 + (timestamp_ & 63)))));
    timestamp_ += 1001;
  }
};

// Parts of the packet, to measure their costs.
struct EmptyPacket {
  using Packet = TracePacket;
  static constexpr size_t kSize = 0;
  [[gnu::always_inline]] inline void WriteTo(TracePacket*) {}
};

struct TimestampOnly {
  using Packet = TracePacket;
  static constexpr size_t kSize = 9;
  [[gnu::always_inline]] inline void WriteTo(TracePacket* packet) {
    packet->set_timestamp(timestamp_);
    timestamp_ += 1001;
  }
  uint64_t timestamp_ = SliceBegin().timestamp_;
};

// A packet of several cache lines.
struct LongPacket {
  using Packet = Message;
  static constexpr size_t kFields = 28;
  static constexpr size_t kSize = kFields * 9;
  [[gnu::always_inline]] inline void WriteTo(Message* packet) {
    for (size_t i = 0; i < kFields; ++i)
      packet->AppendFixed(2, uint64_t{i});
  }
};

// A packet longer than a chunk, with each field in |kDepth| nested messages:
// each time that the packet continues in another chunk, so many sizes have to
// be patched.
template <int kDepth>
struct Crossing {
  using Packet = Message;
  static constexpr size_t kFields = 80;
  static constexpr size_t kSize = kFields * 9 + kDepth * 5;
  [[gnu::always_inline]] inline void WriteTo(Message* packet) {
    Message* message = packet;
    for (int depth = 0; depth < kDepth; ++depth)
      message = message->BeginNestedMessage<Message>(1);
    for (size_t i = 0; i < kFields; ++i)
      message->AppendFixed(2, uint64_t{i});
  }
};

// Only the payload, packet after packet into a buffer of 4 KiB that is used
// again when it is full. The other rows are compared with this one.
template <typename Payload>
class FlatThread final : public ShmThread,
                         private ScatteredStreamWriter::Delegate {
 public:
  FlatThread() : stream_(this) { stream_.Reset(GetNewBuffer()); }

  void WritePackets(size_t count) override {
    for (size_t i = 0; i < count; ++i) {
      if (stream_.bytes_available() < kRoom)
        stream_.Reset(GetNewBuffer());
      packet_.Reset(&stream_);
      payload_.WriteTo(&packet_);
      packet_.Finalize();
    }
  }
  size_t packet_size() const override { return Payload::kSize; }

 private:
  // No packet is larger, so no packet is split.
  static constexpr size_t kRoom = std::max<size_t>(64, Payload::kSize);

  ContiguousMemoryRange GetNewBuffer() override {
    return {buffer_, buffer_ + sizeof(buffer_)};
  }

  Payload payload_;
  ScatteredStreamWriter stream_;
  RootMessage<typename Payload::Packet> packet_;
  alignas(64) uint8_t buffer_[4096];
};

template <typename Payload>
class FlatSession final : public ShmSession {
 public:
  std::unique_ptr<ShmThread> NewThread() override {
    return std::make_unique<FlatThread<Payload>>();
  }
  std::string Check(uint64_t) override { return ""; }
};

struct ShmOptions {
  size_t size = 256 * 1024;
  size_t page_size = 4096;
  ABI::PageLayout layout = ABI::kPageDiv1;
  // True if each chunk has only one packet.
  bool chunk_per_packet = false;
  BufferExhaustedPolicy policy = BufferExhaustedPolicy::kDrop;
};

// The service, as far as it affects the producer's time.
class BasicService : public ProducerEndpoint {
 public:
  explicit BasicService(const ABI& abi) : abi_(abi) {}

  // Returns when all chunks are free. REQUIRES: no thread commits any more.
  virtual void Stop() = 0;

  // Returns the number of chunks in a wrong state. REQUIRES: Stop() was called.
  size_t num_errors() const { return num_errors_; }

 protected:
  // Acquires the chunk, calls |read| with it, and frees it.
  template <typename Read>
  void Move(const CommitDataRequest::ChunkToMove& move, Read read) {
    const ABI::Chunk chunk =
        abi_.TryAcquireChunkForReading(move.page, move.chunk);
    if (chunk.is_valid())
      read(chunk);
    if (!chunk.is_valid() || !abi_.ReleaseChunkAsFree(chunk))
      ++num_errors_;
  }

 private:
  const ABI abi_;
  size_t num_errors_ = 0;
};

// A service that acquires and frees committed chunks at once, on the thread
// that commits. So all of the memory stays in that processor's cache.
class InlineService final : public BasicService {
 public:
  using BasicService::BasicService;

  void CommitData(const CommitDataRequest& request) override {
    for (size_t i = 0; i < request.num_chunks_to_move; ++i)
      Move(request.chunks_to_move[i], [](const ABI::Chunk&) {});
  }
  void Stop() override {}
};

// A service that does the same on a thread of its own, which first copies the
// chunks, as a trace buffer does. So the memory that a writer gets comes from
// another processor's cache, as with a service in another process.
class ThreadedService final : public BasicService {
 public:
  explicit ThreadedService(const ABI& abi)
      : BasicService(abi), thread_([this] { Run(); }) {}
  ~ThreadedService() override { Stop(); }

  void CommitData(const CommitDataRequest& request) override {
    std::lock_guard<std::mutex> lock(lock_);
    committed_.insert(committed_.end(), request.chunks_to_move,
                      request.chunks_to_move + request.num_chunks_to_move);
  }
  void Stop() override {
    if (!thread_.joinable())
      return;
    stops_.store(true, std::memory_order_release);
    thread_.join();
  }

 private:
  void Run() {
    std::vector<CommitDataRequest::ChunkToMove> chunks;
    for (;;) {
      // The code below finds chunks that are committed before the flag is set.
      const bool stops = stops_.load(std::memory_order_acquire);
      chunks.clear();
      {
        std::lock_guard<std::mutex> lock(lock_);
        chunks.swap(committed_);
      }
      for (const CommitDataRequest::ChunkToMove& move : chunks)
        Move(move, [this](const ABI::Chunk& chunk) { Copy(chunk); });
      if (chunks.empty()) {
        if (stops)
          return;
        std::this_thread::yield();
      }
    }
  }

  void Copy(const ABI::Chunk& chunk) {
    const size_t size =
        static_cast<size_t>(chunk.end() - chunk.payload_begin());
    copy_.resize(size);
    memcpy(copy_.data(), chunk.payload_begin(), size);
  }

  std::vector<uint8_t> copy_;
  std::atomic<bool> stops_{false};
  std::mutex lock_;
  std::vector<CommitDataRequest::ChunkToMove> committed_;
  std::thread thread_;
};

template <typename Payload>
class WriterThread final : public ShmThread {
 public:
  WriterThread(std::unique_ptr<TraceWriter> writer,
               bool chunk_per_packet,
               std::atomic<uint64_t>* packets_lost)
      : writer_(std::move(writer)),
        chunk_per_packet_(chunk_per_packet),
        packets_lost_(packets_lost) {}
  ~WriterThread() override {
    packets_lost_->fetch_add(writer_->packets_lost());
  }

  void WritePackets(size_t count) override {
    for (size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same<Payload, FusedSliceBegin>::value) {
        payload_.WriteBy(writer_.get());
      } else {
        auto packet = writer_->NewTracePacket<typename Payload::Packet>();
        payload_.WriteTo(packet.get());
      }
      if (chunk_per_packet_)
        writer_->ReturnChunk();
    }
  }
  size_t packet_size() const override { return Payload::kSize; }

 private:
  Payload payload_;
  const std::unique_ptr<TraceWriter> writer_;
  const bool chunk_per_packet_;
  std::atomic<uint64_t>* const packets_lost_;
};

// Memory of whole pages that no other process shares.
class PageMemory final : public SharedMemory {
 public:
  explicit PageMemory(size_t size)
      : size_(size), pages_(new Page[size / sizeof(Page)]()) {}
  uint8_t* start() const override { return pages_[0].bytes; }
  size_t size() const override { return size_; }

 private:
  struct alignas(ABI::kMinPageSize) Page {
    uint8_t bytes[ABI::kMinPageSize];
  };
  const size_t size_;
  const std::unique_ptr<Page[]> pages_;
};

// The common part of sessions whose threads have writers.
template <typename Payload>
class WriterSession : public ShmSession {
 public:
  std::unique_ptr<ShmThread> NewThread() override {
    return std::make_unique<WriterThread<Payload>>(
        arbiter_->CreateTraceWriter(target_buffer_, options_.policy),
        options_.chunk_per_packet, &packets_lost_);
  }

  std::string Check(uint64_t) override {
    return packets_lost_ == 0 ? "" : "packets were lost";
  }

 protected:
  explicit WriterSession(const ShmOptions& options) : options_(options) {}

  void StartArbiter(const SharedMemory& memory,
                    ProducerEndpoint* endpoint,
                    BufferID target_buffer) {
    SharedMemoryArbiter::Options arbiter_options;
    arbiter_options.page_layout = options_.layout;
    target_buffer_ = target_buffer;
    arbiter_ = std::make_unique<SharedMemoryArbiter>(
        memory.start(), memory.size(), options_.page_size, endpoint,
        arbiter_options);
  }
  // Commits the remaining chunks.
  void StopArbiter() { arbiter_.reset(); }

  const ShmOptions options_;

 private:
  std::atomic<uint64_t> packets_lost_{0};
  BufferID target_buffer_ = 0;
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
};

// A session up to the service: it measures only the producer's part.
template <typename Payload, typename Service>
class ProducerSession final : public WriterSession<Payload> {
 public:
  explicit ProducerSession(const ShmOptions& options)
      : WriterSession<Payload>(options),
        memory_(options.size),
        service_(ABI(memory_.start(), memory_.size(), options.page_size)) {
    this->StartArbiter(memory_, &service_, 1);
  }
  ~ProducerSession() override { this->StopArbiter(); }

  std::string Check(uint64_t packets) override {
    this->StopArbiter();
    service_.Stop();
    if (service_.num_errors() != 0)
      return "chunks were not as the service expects them";
    return WriterSession<Payload>::Check(packets);
  }

 private:
  const PageMemory memory_;
  Service service_;
};

// The whole way: to the service, which assembles, checks and stamps packets,
// and to the reader of the trace. The thread that commits does all of it, so
// that no part can fall behind, and no data are left out.
class EndToEndSession final : public WriterSession<SliceBegin>,
                              private TracingService::RemoteProducer,
                              private ProducerEndpoint {
 public:
  explicit EndToEndSession(const ShmOptions& options)
      : WriterSession<SliceBegin>(options) {
    TracingService::ProducerInfo info;
    info.name = "producer";
    info.shm_page_size_hint = options.page_size;
    info.shm_size_hint = options.size;
    connection_ = service_.ConnectProducer(this, std::move(info));
    DataSourceDescriptor source;
    source.name = "source";
    connection_->RegisterDataSource(source);
    TraceConfig config;
    config.buffers.resize(1);
    config.buffers[0].size_bytes = 16 * 1024 * 1024;
    config.data_sources.resize(1);
    config.data_sources[0].config.name = source.name;
    session_ = service_.StartTracing(config, nullptr, &error_);
    if (session_ != 0)
      StartArbiter(*memory_, this, target_buffer_);
  }
  ~EndToEndSession() override { StopArbiter(); }

  std::string Check(uint64_t packets) override {
    StopArbiter();
    Read();
    uint64_t packets_read = 0;
    for (const TraceWriterStats& writer : service_.GetStats(session_).writers) {
      packets_read += writer.packets_read;
      if (writer.losses != 0)
        return "the service has lost packets";
    }
    if (packets_read != packets)
      return "the trace has another number of packets";
    if (bytes_read_ < packets * SliceBegin::kSize)
      return "the trace is too short";
    return WriterSession<SliceBegin>::Check(packets);
  }

 private:
  // ProducerEndpoint:
  void CommitData(const CommitDataRequest& request) override {
    connection_->CommitData(request);
    Read();
  }
  void RegisterTraceWriter(WriterID writer_id, BufferID buffer) override {
    connection_->RegisterTraceWriter(writer_id, buffer);
  }
  void UnregisterTraceWriter(WriterID writer_id) override {
    connection_->UnregisterTraceWriter(writer_id);
  }

  void Read() {
    service_.ReadPackets(session_, [this](const uint8_t*, size_t size) {
      bytes_read_ += size;
      return true;
    });
  }

  // TracingService::RemoteProducer. The service has one end of the memory,
  // which lives as long as the connection.
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
  std::string error_;
  const SharedMemory* memory_ = nullptr;
  BufferID target_buffer_ = 0;
  uint64_t bytes_read_ = 0;
};

template <typename Payload, typename Service = InlineService>
ShmRow WriterRow(const std::string& name,
                 const ShmOptions& options,
                 int threads = 1) {
  return {name, threads, [options] {
            return std::make_unique<ProducerSession<Payload, Service>>(options);
          }};
}

ShmRow EndToEndRow(const std::string& name,
                   const ShmOptions& options,
                   int threads) {
  return {name, threads,
          [options] { return std::make_unique<EndToEndSession>(options); }};
}

template <typename Payload>
ShmRow FlatRow(const std::string& name) {
  return {name, 1, [] { return std::make_unique<FlatSession<Payload>>(); }};
}

template <typename Payload, typename Service = InlineService>
void AddPageRows(const std::string& prefix,
                 ShmOptions options,
                 std::vector<ShmRow>* rows) {
  for (const size_t kilobytes : {4u, 8u, 16u, 32u}) {
    options.page_size = kilobytes * 1024;
    rows->push_back(WriterRow<Payload, Service>(
        prefix + "Page" + std::to_string(kilobytes) + "K", options));
  }
}

}  // namespace

std::vector<ShmRow> AllShmRows() {
  ShmOptions options;
  std::vector<ShmRow> rows;
  rows.push_back(FlatRow<SliceBegin>("Packet_Flat"));
  AddPageRows<SliceBegin>("Packet_", options, &rows);
  rows.push_back(FlatRow<FusedSliceBegin>("Packet_FusedFlat"));
  AddPageRows<FusedSliceBegin>("Packet_Fused", options, &rows);
  rows.push_back(FlatRow<LongPacket>("Long_Flat"));
  AddPageRows<LongPacket>("Long_", options, &rows);

  // There is enough memory for both threads. But one has to wait if the other
  // loses the processor in the middle of a commit.
  options.size = 4 * 1024 * 1024;
  options.policy = BufferExhaustedPolicy::kStall;
  for (const size_t kilobytes : {4u, 8u, 16u, 32u}) {
    options.page_size = kilobytes * 1024;
    const std::string suffix = "Page" + std::to_string(kilobytes) + "K";
    rows.push_back(WriterRow<SliceBegin>("Threads_1x" + suffix, options));
    rows.push_back(WriterRow<SliceBegin>("Threads_2x" + suffix, options, 2));
  }

  // The memory is larger than a first-level cache, so that the service never
  // copies again what it copied just before. The service keeps up with a
  // writer, or the writer waits for it.
  options.size = 1024 * 1024;
  AddPageRows<SliceBegin, ThreadedService>("Drained_", options, &rows);
  AddPageRows<FusedSliceBegin, ThreadedService>("Drained_Fused", options,
                                                &rows);
  AddPageRows<LongPacket, ThreadedService>("Long_Drained", options, &rows);

  for (const size_t kilobytes : {4u, 8u, 16u, 32u}) {
    options.page_size = kilobytes * 1024;
    const std::string suffix = "Page" + std::to_string(kilobytes) + "K";
    rows.push_back(EndToEndRow("EndToEnd_1x" + suffix, options, 1));
    rows.push_back(EndToEndRow("EndToEnd_2x" + suffix, options, 2));
  }

  options = ShmOptions();
  rows.push_back(FlatRow<EmptyPacket>("Empty_Flat"));
  rows.push_back(WriterRow<EmptyPacket>("Empty_Page4K", options));
  rows.push_back(FlatRow<TimestampOnly>("Timestamp_Flat"));
  rows.push_back(WriterRow<TimestampOnly>("Timestamp_Page4K", options));

  options.chunk_per_packet = true;
  AddPageRows<SliceBegin>("ChunkPerPacket_", options, &rows);

  // Chunks have 584 bytes, and the packets are longer.
  options = ShmOptions();
  options.layout = ABI::kPageDiv7;
  rows.push_back(WriterRow<Crossing<0>>("Crossing_Patches0", options));
  rows.push_back(WriterRow<Crossing<1>>("Crossing_Patches1", options));
  rows.push_back(WriterRow<Crossing<9>>("Crossing_Patches9", options));
  // So few chunks that none is held back: the writer sends patches.
  options.size = 4096;
  rows.push_back(WriterRow<Crossing<0>>("CrossingFewChunks_Patches0", options));
  rows.push_back(WriterRow<Crossing<1>>("CrossingFewChunks_Patches1", options));
  rows.push_back(WriterRow<Crossing<9>>("CrossingFewChunks_Patches9", options));
  return rows;
}

}  // namespace bench
}  // namespace protozero
