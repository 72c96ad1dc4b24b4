// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_FAKE_SERVICE_H_
#define TEST_TRACING_FAKE_SERVICE_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/shared_memory/chunk_reader.h"

namespace protozero::test {

// The page size of most tests' memory.
inline constexpr size_t kPageSize = 4096;

// Memory that a producer and a service can share: aligned, all zero.
class SharedMemory : public protozero::SharedMemory {
 public:
  explicit SharedMemory(size_t size);
  uint8_t* start() const override { return start_; }
  size_t size() const override { return size_; }

 private:
  const size_t size_;
  // Large memory takes time only where it is used.
  std::unique_ptr<uint8_t[], void (*)(void*)> memory_;
  uint8_t* start_;
};

// A copy of a request, which outlives the call.
class CopiedRequest {
 public:
  CopiedRequest() = default;
  explicit CopiedRequest(const CommitDataRequest& request);

  // Returns a request that is valid as long as this.
  CommitDataRequest Get();

 private:
  struct ChunkPatches {
    CommitDataRequest::ChunkToPatch chunk;
    std::vector<CommitDataRequest::Patch> patches;
  };

  std::vector<CommitDataRequest::ChunkToMove> moves_;
  std::vector<ChunkPatches> patches_;
  std::vector<CommitDataRequest::ChunkToPatch> chunks_to_patch_;
  uint64_t flush_request_id_ = 0;
  std::vector<CommitDataRequest::WriterLosses> losses_;
};

// A service that keeps the requests, each whole, until it is told to drain.
class FakeService : public ProducerEndpoint {
 public:
  struct Packet {
    std::string bytes;
    bool previous_packet_dropped;
  };
  // The packets of a writer. They are in a buffer of its own until they are
  // complete.
  struct Sequence {
    explicit Sequence(BufferID target)
        : target_buffer(target), buffer(SIZE_MAX, BufferFillPolicy::kDiscard) {}
    BufferID target_buffer;
    std::vector<Packet> packets;
    service::TraceBuffer buffer;
  };

  FakeService(const SharedMemory& memory, size_t page_size)
      : abi_(memory.start(), memory.size(), page_size) {}

  // Makes each commit from now on drain at once, by the thread that makes it.
  void DrainOnCommit() { drains_on_commit_ = true; }

  // Drains the oldest request; returns false if there is none. Any thread may
  // call it; CommitData() may go on at the same time.
  bool DrainOne();
  void DrainAll();

  // ProducerEndpoint:
  void CommitData(const CommitDataRequest& request) override;
  void WakeOwner() override { ++num_wakeups_; }
  void RegisterTraceWriter(WriterID writer_id, BufferID buffer) override;
  void UnregisterTraceWriter(WriterID writer_id) override;

  // Return what has been drained, by writer. REQUIRES, for these: no thread
  // drains.
  const std::map<WriterID, std::unique_ptr<Sequence>>& sequences() const {
    return sequences_;
  }
  std::vector<std::string> PacketsOf(WriterID writer_id) const;
  const std::vector<ChunkCopy>& chunks() const { return chunks_; }
  size_t num_patches() const { return num_patches_; }
  // Returns the producer's mistakes, or an empty string.
  const std::string& complaints() const { return complaints_; }

  std::map<WriterID, BufferID> registered_writers() const;
  size_t num_requests() const;
  size_t num_wakeups() const { return num_wakeups_; }
  // Returns how many chunks of that writer have been drained. Any thread may
  // call it.
  size_t num_chunks_of(WriterID writer_id) const;

 private:
  void DrainRequest(const CommitDataRequest& request);
  service::TraceBuffer& BufferOf(WriterID writer_id, BufferID target);
  void Complain(const std::string& complaint);

  const SharedMemoryABI abi_;
  bool drains_on_commit_ = false;
  std::atomic<size_t> num_wakeups_{0};

  mutable std::mutex queue_lock_;
  std::deque<CopiedRequest> queue_;
  size_t num_requests_ = 0;
  std::map<WriterID, BufferID> registered_writers_;

  mutable std::mutex drain_lock_;
  std::map<WriterID, std::unique_ptr<Sequence>> sequences_;
  std::vector<ChunkCopy> chunks_;
  size_t num_patches_ = 0;
  std::string complaints_;
};

}  // namespace protozero::test

#endif  // TEST_TRACING_FAKE_SERVICE_H_
