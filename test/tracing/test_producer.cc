// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/tracing/test_producer.h"

#include <utility>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "src/tracing/ipc/process_barrier.h"
#include "src/tracing/service/service_packets.h"

namespace protozero::test {

namespace {

// The memory of a producer. The service has it as long as it is connected, and
// the producer as long as it writes.
class SharedMapping : public protozero::SharedMemory {
 public:
  explicit SharedMapping(std::shared_ptr<protozero::SharedMemory> memory)
      : memory_(std::move(memory)) {}
  uint8_t* start() const override { return memory_->start(); }
  size_t size() const override { return memory_->size(); }

 private:
  const std::shared_ptr<protozero::SharedMemory> memory_;
};

std::string ListOf(const std::vector<DataSourceInstanceID>& instances) {
  std::string list;
  for (const DataSourceInstanceID id : instances)
    list += (list.empty() ? "" : ",") + std::to_string(id);
  return "[" + list + "]";
}

// Calls |use| with each packet.
template <typename Use>
void ForEachPacket(const std::string& trace, Use use) {
  ProtoDecoder decoder(trace);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    ASSERT_EQ(field.id(), 1u);
    use(field.as_bytes());
  }
  ASSERT_EQ(decoder.status(), DecodeStatus::kOk);
}

}  // namespace

TestProducer::~TestProducer() {
  Die();
}

void TestProducer::Connect(TracingService* service,
                           const std::string& data_source,
                           TracingService::ProducerInfo info) {
  connection_ = service->ConnectProducer(this, std::move(info));
  ASSERT_NE(connection_, nullptr);
  DataSourceDescriptor descriptor;
  descriptor.name = data_source;
  connection_->RegisterDataSource(descriptor);
}

void TestProducer::Die() {
  std::lock_guard<std::mutex> lock(connection_lock_);
  connection_.reset();
}

void TestProducer::CommitData(const CommitDataRequest& request) {
  std::lock_guard<std::mutex> lock(connection_lock_);
  if (connection_ != nullptr)
    return connection_->CommitData(request);
  // The chunks become free, so that the producer's threads end instead of
  // waiting for some.
  for (size_t i = 0; i < request.num_chunks_to_move; ++i) {
    const CommitDataRequest::ChunkToMove& move = request.chunks_to_move[i];
    const SharedMemoryABI::Chunk chunk =
        abi().TryAcquireChunkForReading(move.page, move.chunk);
    if (chunk.is_valid())
      abi().ReleaseChunkAsFree(chunk);
  }
}

void TestProducer::RegisterTraceWriter(WriterID writer_id, BufferID buffer) {
  std::lock_guard<std::mutex> lock(connection_lock_);
  if (connection_ != nullptr)
    connection_->RegisterTraceWriter(writer_id, buffer);
}

void TestProducer::UnregisterTraceWriter(WriterID writer_id) {
  std::lock_guard<std::mutex> lock(connection_lock_);
  if (connection_ != nullptr)
    connection_->UnregisterTraceWriter(writer_id);
}

SharedMemoryArbiter* TestProducer::MakeArbiter(
    SharedMemoryABI::PageLayout layout,
    ProducerEndpoint* endpoint) {
  SharedMemoryArbiter::Options options;
  options.page_layout = layout;
  // No test reaches this time, however slow the machine is.
  options.stall_timeout_ms = 600 * 1000;
  options.process_barrier = GetProcessBarrier();
  arbiter_ = std::make_unique<SharedMemoryArbiter>(
      memory_->start(), memory_->size(), page_size_,
      endpoint != nullptr ? endpoint : this, options);
  return arbiter_.get();
}

std::string TestProducer::TakeCalls() {
  std::string calls;
  calls.swap(calls_);
  return calls.empty() ? "" : calls.substr(1);
}

void TestProducer::AcknowledgeFlush(FlushRequestID id) {
  CommitDataRequest request{};
  request.flush_request_id = id;
  CommitData(request);
}

std::unique_ptr<protozero::SharedMemory> TestProducer::SetupTracing(
    size_t size,
    size_t page_size) {
  Note("memory" + std::to_string(size) + "/" + std::to_string(page_size));
  memory_ = std::make_shared<SharedMemory>(size);
  page_size_ = page_size;
  return std::make_unique<SharedMapping>(memory_);
}

void TestProducer::SetupDataSource(DataSourceInstanceID instance_id,
                                   const DataSourceConfig& config) {
  Note("setup" + std::to_string(instance_id));
  last_config_ = config;
}

void TestProducer::StartDataSource(DataSourceInstanceID instance_id,
                                   const DataSourceConfig&) {
  Note("start" + std::to_string(instance_id));
}

void TestProducer::StopDataSource(DataSourceInstanceID instance_id) {
  Note("stop" + std::to_string(instance_id));
}

void TestProducer::Flush(FlushRequestID request_id,
                         const std::vector<DataSourceInstanceID>& instances,
                         FlushFlags flags) {
  Note("flush" + std::to_string(request_id) + ListOf(instances) + ":" +
       std::to_string(flags));
  last_flush_ = request_id;
}

void TestProducer::ClearIncrementalState(
    const std::vector<DataSourceInstanceID>& instances) {
  Note("clear" + ListOf(instances));
}

std::string ReadTrace(TracingService* service, TracingSessionID session) {
  std::string trace;
  EXPECT_TRUE(
      service->ReadPackets(session, [&](const uint8_t* data, size_t size) {
        trace.append(reinterpret_cast<const char*>(data), size);
        return true;
      }));
  return trace;
}

std::vector<TracedPacket> PacketsOfTrace(const std::string& trace) {
  std::vector<TracedPacket> packets;
  ForEachPacket(trace, [&packets](ConstBytes bytes) {
    TracedPacket packet;
    ProtoDecoder decoder(bytes);
    bool is_ours = false;
    size_t offset = 0;
    for (Field field = decoder.ReadField(); field;
         field = decoder.ReadField()) {
      // Only the service writes this field, and it is the first of the
      // service's.
      if (field.id() == 3) {
        is_ours = true;
        packet.bytes.assign(reinterpret_cast<const char*>(bytes.data), offset);
        packet.uid = field.as_int32();
      } else if (is_ours && field.id() == 10) {
        packet.sequence_id = field.as_uint32();
      } else if (is_ours && field.id() == 79) {
        packet.pid = field.as_int32();
      } else if (is_ours && field.id() == 42) {
        packet.previous_packet_dropped = field.as_bool();
      } else {
        EXPECT_FALSE(is_ours) << field.id();
      }
      offset = decoder.read_offset();
    }
    if (is_ours) {
      EXPECT_GT(packet.sequence_id, service::kServiceSequenceID);
      packets.push_back(std::move(packet));
    }
  });
  return packets;
}

std::vector<std::string> ServicePacketsOfTrace(const std::string& trace) {
  std::vector<std::string> packets;
  ForEachPacket(trace, [&packets](ConstBytes bytes) {
    if (ProtoDecoder(bytes).FindField(10).as_uint32() ==
        service::kServiceSequenceID)
      packets.push_back(bytes.ToStdString());
  });
  return packets;
}

}  // namespace protozero::test
