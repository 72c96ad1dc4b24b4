// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Lets the service read memory that a producer may write anything to, and
// answer any request. The input is a list of the producer's actions, see Do().
// After any input, the service gives out a trace of valid packets, keeps within
// its limits, and loses no packet of another producer.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/service/service_packets.h"
#include "test/fuzz/check.h"
#include "test/fuzz/fuzz_input.h"
#include "test/fuzz/shared_memory_writer.h"
#include "test/tracing/fake_service.h"

namespace {

using protozero::BufferFillPolicy;
using protozero::BufferID;
using protozero::CommitDataRequest;
using protozero::ConstBytes;
using protozero::DataSourceConfig;
using protozero::DataSourceInstanceID;
using protozero::Field;
using protozero::FlushFlags;
using protozero::FlushRequestID;
using protozero::ProtoDecoder;
using protozero::TraceConfig;
using protozero::TracingService;
using protozero::WriterID;
using protozero::test::Check;
using protozero::test::FuzzInput;
using protozero::test::SharedMemoryWriter;
using ABI = protozero::SharedMemoryABI;

constexpr size_t kPageSize = 4096;
constexpr size_t kNumPages = 4;
constexpr size_t kBufferSize = 8192;
constexpr int32_t kFuzzerUid = 1;
constexpr int32_t kOtherUid = 2;

// A producer that acknowledges nothing by itself.
class FuzzedProducer : public TracingService::RemoteProducer {
 public:
  void Connect(TracingService* service, int32_t uid, const char* data_source) {
    TracingService::ProducerInfo info;
    info.uid = uid;
    info.shm_page_size_hint = kPageSize;
    info.shm_size_hint = kNumPages * kPageSize;
    info.scraping_mode = TracingService::ScrapingMode::kEnabled;
    memory = nullptr;
    connection = service->ConnectProducer(this, std::move(info));
    connection->RegisterDataSource({data_source});
  }

  std::unique_ptr<protozero::SharedMemory> SetupTracing(size_t size,
                                                        size_t) override {
    auto owned = std::make_unique<protozero::test::SharedMemory>(size);
    memory = owned->start();
    return owned;
  }
  void SetupDataSource(DataSourceInstanceID,
                       const DataSourceConfig& config) override {
    buffer = config.target_buffer;
  }
  void StartDataSource(DataSourceInstanceID, const DataSourceConfig&) override {
  }
  void StopDataSource(DataSourceInstanceID) override {}
  void Flush(FlushRequestID,
             const std::vector<DataSourceInstanceID>&,
             FlushFlags) override {}
  void ClearIncrementalState(
      const std::vector<DataSourceInstanceID>&) override {}

  // The service's end of the memory, or null if it is not tracing.
  uint8_t* memory = nullptr;
  BufferID buffer = 0;
  std::unique_ptr<TracingService::ProducerConnection> connection;
};

class Run {
 public:
  Run(BufferFillPolicy policy) : service_([this] { return now_; }) {
    TraceConfig config;
    config.buffers = {{kBufferSize, policy},
                      {1 << 20, BufferFillPolicy::kDiscard}};
    config.data_sources.resize(2);
    config.data_sources[0].config.name = "fuzzer";
    config.data_sources[1].config.name = "other";
    config.data_sources[1].config.target_buffer = 1;
    config.flush_period_ms = 20;
    config.flush_timeout_ms = 10;
    session_ = service_.StartTracing(config, nullptr, nullptr);
    fuzzer_.Connect(&service_, kFuzzerUid, "fuzzer");
    other_.Connect(&service_, kOtherUid, "other");
    arbiter_ = std::make_unique<protozero::SharedMemoryArbiter>(
        other_.memory, kNumPages * kPageSize, kPageSize,
        other_.connection.get());
    writer_ = arbiter_->CreateTraceWriter(other_.buffer);
  }

  void Do(FuzzInput* input) {
    TracingService::ProducerConnection* const connection =
        fuzzer_.connection.get();
    switch (input->Byte() % 16) {
      case 0:
        shared_memory().WriteAnywhere(input);
        break;
      case 1:
        shared_memory().WritePageWord(input);
        break;
      case 2:
      case 3:  // Writes a chunk and commits it, as writers do.
        WriteChunk(input, ABI::kChunkComplete);
        break;
      case 4:  // Writes an unfinished chunk.
        WriteChunk(input, ABI::kChunkBeingWritten);
        break;
      case 5: {  // Commits anything.
        std::vector<CommitDataRequest::ChunkToMove> moves(input->Byte() % 8);
        for (CommitDataRequest::ChunkToMove& move : moves) {
          const uint32_t where = input->Byte();
          move.page = where >> 4;
          move.chunk = where & 15;
          move.target_buffer = AnyBuffer(input);
        }
        connection->CommitData({moves.data(), moves.size(), nullptr, 0});
        break;
      }
      case 6: {  // Patches.
        std::vector<CommitDataRequest::Patch> patches(input->Byte() % 8);
        CommitDataRequest::ChunkToPatch chunk{
            AnyBuffer(input), AnyWriter(input), input->Byte(), nullptr, 0};
        chunk.has_more_patches = input->Byte() % 2 != 0;
        for (CommitDataRequest::Patch& patch : patches) {
          const uint32_t offset = input->Byte();
          patch.offset = offset == 255 ? input->Word() : offset;
          const uint32_t data = input->Word();
          memcpy(patch.data, &data, sizeof(data));
        }
        chunk.patches = patches.data();
        chunk.num_patches = patches.size();
        connection->CommitData({nullptr, 0, &chunk, 1});
        break;
      }
      case 7: {  // Commits a chunk that is not in its memory.
        CommitDataRequest::ChunkToMove move{};
        move.target_buffer = fuzzer_.buffer;
        move.is_incomplete = input->Byte() % 2 != 0;
        const std::vector<uint8_t> bytes = input->Bytes(input->Byte());
        move.data = bytes.data();
        move.data_size = bytes.size();
        connection->CommitData({&move, 1, nullptr, 0});
        break;
      }
      case 8: {
        const WriterID writer_id = AnyWriter(input);
        connection->RegisterTraceWriter(writer_id, AnyBuffer(input));
        break;
      }
      case 9:
        connection->UnregisterTraceWriter(AnyWriter(input));
        break;
      case 10:
        service_.Flush(session_, 0, 0, nullptr);
        break;
      case 11: {
        CommitDataRequest request{};
        request.flush_request_id = input->Byte();
        connection->CommitData(request);
        break;
      }
      case 12:
        Read();
        break;
      case 13:
        now_ += input->Byte();
        service_.RunDue();
        break;
      case 14:
        switch (input->Byte() % 4) {
          case 0:
            connection->UnregisterDataSource("fuzzer");
            break;
          case 1:
            connection->RegisterDataSource({"fuzzer"});
            break;
          case 2:
            connection->NotifyDataSourceStopped(input->Byte());
            break;
          case 3:  // The producer dies and connects again.
            fuzzer_.connection.reset();
            fuzzer_.Connect(&service_, kFuzzerUid, "fuzzer");
            break;
        }
        break;
      case 15:
        writer_->NewTracePacket()->AppendVarInt(1, ++num_written_);
        if (input->Byte() % 2 != 0)
          writer_->Flush();
        break;
    }
  }

  void Finish() {
    writer_.reset();
    arbiter_.reset();
    service_.StopTracing(session_);
    now_ += 10;
    service_.RunDue();
    Check(service_.GetState(session_) == TracingService::kStopped,
          "the session does not stop");
    Read();
    Check(num_read_ == num_written_, "the other producer has lost packets");
    const protozero::TraceStats stats = service_.GetStats(session_);
    for (const protozero::TraceBufferStats& buffer : stats.buffers) {
      Check(
          buffer.bytes_written >= buffer.bytes_read + buffer.bytes_overwritten,
          "more was read than written");
    }
  }

 private:
  BufferID AnyBuffer(FuzzInput* input) {
    const uint32_t choice = input->Byte();
    return choice < 250    ? fuzzer_.buffer
           : choice == 250 ? other_.buffer
                           : input->HalfWord();
  }
  WriterID AnyWriter(FuzzInput* input) {
    const uint32_t choice = input->Byte();
    return choice == 255 ? input->HalfWord()
                         : static_cast<WriterID>(choice % 8);
  }

  SharedMemoryWriter shared_memory() {
    return SharedMemoryWriter(fuzzer_.memory, kNumPages, kPageSize);
  }

  void WriteChunk(FuzzInput* input, ABI::ChunkState state) {
    const WriterID writer_id = AnyWriter(input);
    CommitDataRequest::ChunkToMove move =
        shared_memory().WriteChunk(input, writer_id, state);
    if (fuzzer_.memory == nullptr || state != ABI::kChunkComplete)
      return;
    move.target_buffer = fuzzer_.buffer;
    fuzzer_.connection->CommitData({&move, 1, nullptr, 0});
  }

  void Read() {
    std::string trace;
    service_.ReadPackets(session_, [&trace](const uint8_t* data, size_t size) {
      trace.append(reinterpret_cast<const char*>(data), size);
      return true;
    });
    ProtoDecoder decoder(trace);
    for (Field field = decoder.ReadField(); field;
         field = decoder.ReadField()) {
      Check(field.id() == 1, "not a trace");
      CheckPacket(field.as_bytes());
    }
    Check(decoder.status() == protozero::DecodeStatus::kOk, "no trace");
    const protozero::TraceStats stats = service_.GetStats(session_);
    const protozero::TraceBufferStats& buffer = stats.buffers[0];
    Check(buffer.bytes_written - buffer.bytes_read - buffer.bytes_overwritten <=
              kBufferSize,
          "the buffer has grown");
  }

  void CheckPacket(ConstBytes bytes) {
    ProtoDecoder packet(bytes);
    size_t size = 0;
    for (Field field = packet.ReadField(); field.valid() && field.id() != 3;
         field = packet.ReadField()) {
      size = packet.read_offset();
    }
    ProtoDecoder trusted(bytes.data + size, bytes.size - size);
    const uint32_t sequence_id = trusted.FindField(10).as_uint32();
    if (sequence_id == 0) {
      // The packet is one of the service's own, which have no uid.
      Check(packet.FindField(10).as_uint32() ==
                protozero::service::kServiceSequenceID,
            "a packet is not stamped");
      return;
    }
    Check(sequence_id > protozero::service::kServiceSequenceID,
          "a forged packet");
    Check(size != 0 &&
              protozero::service::IsValidPacket(ConstBytes(bytes.data, size)),
          "an invalid packet");
    const int32_t uid = trusted.FindField(3).as_int32();
    if (uid == kFuzzerUid)
      return;
    Check(uid == kOtherUid, "a packet of nobody");
    Check(packet.FindField(1).as_uint32() == ++num_read_ &&
              !packet.FindField(42).valid(),
          "the other producer has lost a packet");
  }

  uint64_t now_ = 0;
  TracingService service_;
  protozero::TracingSessionID session_;
  FuzzedProducer fuzzer_;
  FuzzedProducer other_;
  std::unique_ptr<protozero::SharedMemoryArbiter> arbiter_;
  std::unique_ptr<protozero::TraceWriter> writer_;
  uint32_t num_written_ = 0;
  uint32_t num_read_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput input(data, size);
  Run run(input.Byte() % 2 == 0 ? BufferFillPolicy::kRingBuffer
                                : BufferFillPolicy::kDiscard);
  while (!input.is_at_end())
    run.Do(&input);
  run.Finish();
  return 0;
}
