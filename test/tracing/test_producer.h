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
// says, and does nothing about it. Its arbiter commits through it.
class TestProducer : public TracingService::RemoteProducer,
                     public ProducerEndpoint {
 public:
  TestProducer() = default;
  ~TestProducer() override;

  // Connects with |info|, and registers a data source of that name.
  void Connect(TracingService* service,
               const std::string& data_source,
               TracingService::ProducerInfo info = {});
  // Acts as if its process died: from now on, nothing that its threads do
  // reaches the service. Any thread may call it.
  void Die();

  // REQUIRES: it is connected and lives.
  TracingService::ProducerConnection* connection() { return connection_.get(); }
  // REQUIRES: the service has set up tracing.
  SharedMemoryABI abi() const {
    return SharedMemoryABI(memory_->start(), memory_->size(), page_size_);
  }
  // Makes an arbiter with chunks of that layout. It commits to |endpoint|, or
  // to the service if that is null.
  SharedMemoryArbiter* MakeArbiter(
      SharedMemoryABI::PageLayout layout = SharedMemoryABI::kPageDiv4,
      ProducerEndpoint* endpoint = nullptr);

  // Returns the service's calls since the last one of this, a word for each,
  // such as "setup1 start1 flush3[1,2]:18 clear[1] stop1".
  std::string TakeCalls();
  // Returns the last buffer that it may write to.
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
  // The packet as it was written, without the fields that the service has
  // added.
  std::string bytes;
  int32_t uid = -1;
  int32_t pid = -1;
  uint32_t sequence_id = 0;
  bool previous_packet_dropped = false;
};

// Returns all that the service has of a session now.
std::string ReadTrace(TracingService* service, TracingSessionID session);
// Returns the packets of producers in a trace. Adds a failure to the test if it
// is no trace.
std::vector<TracedPacket> PacketsOfTrace(const std::string& trace);
// Returns the packets in a trace that the service itself has written.
std::vector<std::string> ServicePacketsOfTrace(const std::string& trace);

}  // namespace protozero::test

#endif  // TEST_TRACING_TEST_PRODUCER_H_
