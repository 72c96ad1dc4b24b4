// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/tracing/fake_service.h"

#include <stdlib.h>

#include <utility>

namespace protozero::test {

namespace {

constexpr size_t kAlignment = SharedMemoryABI::kMinPageSize;

}  // namespace

SharedMemory::SharedMemory(size_t size)
    : size_(size),
      memory_(static_cast<uint8_t*>(calloc(size + kAlignment, 1)), &free) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(memory_.get());
  start_ = memory_.get() + (kAlignment - address % kAlignment);
}

CopiedRequest::CopiedRequest(const CommitDataRequest& request)
    : moves_(request.chunks_to_move,
             request.chunks_to_move + request.num_chunks_to_move),
      flush_request_id_(request.flush_request_id),
      losses_(request.losses, request.losses + request.num_losses) {
  for (size_t i = 0; i < request.num_chunks_to_patch; ++i) {
    const CommitDataRequest::ChunkToPatch& chunk = request.chunks_to_patch[i];
    patches_.push_back(
        {chunk, {chunk.patches, chunk.patches + chunk.num_patches}});
  }
}

CommitDataRequest CopiedRequest::Get() {
  chunks_to_patch_.clear();
  for (const ChunkPatches& patches : patches_) {
    chunks_to_patch_.push_back(patches.chunk);
    chunks_to_patch_.back().patches = patches.patches.data();
  }
  return {moves_.data(),           moves_.size(),     chunks_to_patch_.data(),
          chunks_to_patch_.size(), flush_request_id_, losses_.data(),
          losses_.size()};
}

bool FakeService::DrainOne() {
  // The lock is held throughout, so requests take effect one after the other.
  std::lock_guard<std::mutex> drain_lock(drain_lock_);
  CopiedRequest request;
  {
    std::lock_guard<std::mutex> lock(queue_lock_);
    if (queue_.empty())
      return false;
    request = std::move(queue_.front());
    queue_.pop_front();
  }
  DrainRequest(request.Get());
  return true;
}

void FakeService::DrainAll() {
  while (DrainOne()) {
  }
}

void FakeService::CommitData(const CommitDataRequest& request) {
  {
    std::lock_guard<std::mutex> lock(queue_lock_);
    ++num_requests_;
    queue_.emplace_back(request);
  }
  if (drains_on_commit_)
    DrainAll();
}

void FakeService::RegisterTraceWriter(WriterID writer_id, BufferID buffer) {
  std::lock_guard<std::mutex> lock(queue_lock_);
  registered_writers_[writer_id] = buffer;
}

void FakeService::UnregisterTraceWriter(WriterID writer_id) {
  std::lock_guard<std::mutex> lock(queue_lock_);
  registered_writers_.erase(writer_id);
}

std::vector<std::string> FakeService::PacketsOf(WriterID writer_id) const {
  std::vector<std::string> packets;
  const auto sequence = sequences_.find(writer_id);
  if (sequence != sequences_.end()) {
    for (const Packet& packet : sequence->second->packets)
      packets.push_back(packet.bytes);
  }
  return packets;
}

std::map<WriterID, BufferID> FakeService::registered_writers() const {
  std::lock_guard<std::mutex> lock(queue_lock_);
  return registered_writers_;
}

size_t FakeService::num_requests() const {
  std::lock_guard<std::mutex> lock(queue_lock_);
  return num_requests_;
}

size_t FakeService::num_chunks_of(WriterID writer_id) const {
  std::lock_guard<std::mutex> lock(drain_lock_);
  size_t count = 0;
  for (const ChunkCopy& chunk : chunks_)
    count += chunk.writer_id == writer_id;
  return count;
}

void FakeService::DrainRequest(const CommitDataRequest& request) {
  for (size_t i = 0; i < request.num_chunks_to_move; ++i) {
    const CommitDataRequest::ChunkToMove& move = request.chunks_to_move[i];
    const SharedMemoryABI::Chunk chunk =
        abi_.TryAcquireChunkForReading(move.page, move.chunk);
    if (!chunk.is_valid()) {
      Complain("a chunk was committed that is not complete");
      continue;
    }
    ChunkCopy copy;
    CopySharedChunk(chunk, &copy);
    if (!abi_.ReleaseChunkAsFree(chunk))
      Complain("a chunk changed its state while it was read");
    BufferOf(copy.writer_id, move.target_buffer).AddChunk({}, copy);
    chunks_.push_back(std::move(copy));
  }
  for (size_t i = 0; i < request.num_chunks_to_patch; ++i) {
    const CommitDataRequest::ChunkToPatch& chunk = request.chunks_to_patch[i];
    num_patches_ += chunk.num_patches;
    const auto sequence = sequences_.find(chunk.writer_id);
    if (sequence == sequences_.end()) {
      Complain("a patch came before its chunk");
      continue;
    }
    service::TraceBuffer& buffer = sequence->second->buffer;
    buffer.PatchChunk(0, chunk);
    if (buffer.stats().patches_failed != 0)
      Complain("a patch is for no chunk that waits for it");
  }
  for (size_t i = 0; i < request.num_losses; ++i) {
    const CommitDataRequest::WriterLosses& losses = request.losses[i];
    BufferOf(losses.writer_id, losses.target_buffer).ReportLosses({}, losses);
  }
  for (const auto& sequence : sequences_) {
    std::vector<Packet>& packets = sequence.second->packets;
    sequence.second->buffer.ReadPackets(
        SIZE_MAX, false,
        [&packets](const service::TraceBuffer::Packet& packet) {
          packets.push_back(
              {packet.bytes.ToStdString(), packet.previous_packet_dropped});
          return true;
        });
    if (sequence.second->buffer.stats().abi_violations != 0)
      Complain("a chunk does not hold what it says");
  }
}

service::TraceBuffer& FakeService::BufferOf(WriterID writer_id,
                                            BufferID target) {
  std::unique_ptr<Sequence>& sequence = sequences_[writer_id];
  if (sequence == nullptr)
    sequence = std::make_unique<Sequence>(target);
  return sequence->buffer;
}

void FakeService::Complain(const std::string& complaint) {
  complaints_ += complaint + "\n";
}

}  // namespace protozero::test
