// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_TEST_PRODUCER_H_
#define TEST_TRACING_TEST_PRODUCER_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/tracing_service.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {

// A producer in the process of its service. It notes down what the service
// says, and does nothing about it. Its arbiter commits by way of it.
class TestProducer : public TracingService::RemoteProducer,
                     public ProducerEndpoint {
 public:
  TestProducer() = default;
  ~TestProducer() override;

  // Connects as |info| says, and registers a data source of that name.
  void Connect(TracingService* service,
               const std::string& data_source,
               TracingService::ProducerInfo info = {});
  // As if its process died: nothing of what its threads do, then or later,
  // reaches the service any more. Any thread.
  void Die();

  // REQUIRES: it is connected and lives.
  TracingService::ProducerConnection* connection() { return connection_.get(); }
  // REQUIRES: the service has set up tracing.
  SharedMemoryABI abi() const {
    return SharedMemoryABI(memory_->start(), memory_->size(), page_size_);
  }
  // Of chunks of that layout, which commits to the service.
  SharedMemoryArbiter* MakeArbiter(
      SharedMemoryABI::PageLayout layout = SharedMemoryABI::kPageDiv4,
      ProducerEndpoint* endpoint = nullptr);

  // What it was told since the last call, a word for each, such as
  // "setup1 start1 flush3[1,2]:18 clear[1] stop1".
  std::string TakeCalls();
  // The last buffer that it may write to.
  BufferID buffer() const { return last_config_.target_buffer; }
  const DataSourceConfig& last_config() const { return last_config_; }
  FlushRequestID last_flush() const { return last_flush_; }

  void AcknowledgeFlush(FlushRequestID id);

  // TracingService::RemoteProducer:
  std::unique_ptr<protozero::SharedMemory> SetupTracing(
      size_t size,
      size_t page_size) override;
  void SetupDataSource(DataSourceInstanceID instance_id,
                       const DataSourceConfig& config) override;
  void StartDataSource(DataSourceInstanceID instance_id,
                       const DataSourceConfig& config) override;
  void StopDataSource(DataSourceInstanceID instance_id) override;
  void Flush(FlushRequestID request_id,
             const std::vector<DataSourceInstanceID>& instances,
             FlushFlags flags) override;
  void ClearIncrementalState(
      const std::vector<DataSourceInstanceID>& instances) override;

  // ProducerEndpoint:
  void CommitData(const CommitDataRequest& request) override;
  void RegisterTraceWriter(WriterID writer_id, BufferID buffer) override;
  void UnregisterTraceWriter(WriterID writer_id) override;

 private:
  void Note(const std::string& call) { calls_ += " " + call; }

  std::shared_ptr<protozero::SharedMemory> memory_;
  size_t page_size_ = 0;
  std::string calls_;
  DataSourceConfig last_config_;
  FlushRequestID last_flush_ = 0;
  std::mutex connection_lock_;
  std::unique_ptr<TracingService::ProducerConnection> connection_;
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
};

// A packet of a trace.
struct TracedPacket {
  // As it was written, without what the service has added.
  std::string bytes;
  int32_t uid = -1;
  int32_t pid = -1;
  uint32_t sequence_id = 0;
  bool previous_packet_dropped = false;
};

// All that a session has to say now.
std::string ReadTrace(TracingService* service, TracingSessionID session);
// The packets of producers in it. Adds a failure to the test if it is no trace.
std::vector<TracedPacket> PacketsOfTrace(const std::string& trace);
// What the service itself has written to it.
std::vector<std::string> ServicePacketsOfTrace(const std::string& trace);

}  // namespace protozero::test

#endif  // TEST_TRACING_TEST_PRODUCER_H_
