// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/data_source_writers.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using internal::ClientLock;
using internal::ProducerIpcClient;

namespace {

// Field ids of include/protozero/tracing/trace.proto.
enum : uint32_t { kPacketExtensionDescriptor = 72, kExtensionSet = 1 };

// The part of a ring that may be of no use, because it refers to what the ring
// has overwritten. Producers that come later shrink the shares of earlier ones,
// which do not hear of that: ten have three times the ring together. On
// average, half of a sequence is of no use.
constexpr uint64_t kUselessPartOfRing = 256;

}  // namespace

uint32_t TraceContext::MaxChunksOfSequence() const {
  const uint64_t ring_bytes = instance_->config().ring_bytes;
  if (ring_bytes == 0)
    return kMaxChunksOfSequence;
  const ProducerIpcClient& connection = *instance_->connection_;
  const uint64_t chunks = ring_bytes / kUselessPartOfRing /
                          std::max(connection.num_writers(), 1u) /
                          connection.arbiter()->chunk_size();
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(chunks, 1, kMaxChunksOfSequence));
}

void TraceContext::DescribeExtensionsSlowPath(ConstBytes descriptor_set,
                                              uint32_t described_at,
                                              uint32_t clears) {
  std::atomic<uint32_t>& last = instance_->described_at_;
  // Only one of several threads describes the extensions.
  if (!last.compare_exchange_strong(described_at, clears,
                                    std::memory_order_relaxed)) {
    return;
  }
  const uint32_t losses = writer_->loss_generation();
  NewTracePacket()
      ->BeginNestedMessage<Message>(kPacketExtensionDescriptor)
      ->AppendBytes(kExtensionSet, descriptor_set.data, descriptor_set.size);
  // If that packet was lost, the next call tries again.
  if (writer_->loss_generation() != losses)
    last.store(described_at, std::memory_order_relaxed);
}

DataSourceWriters::DataSourceWriters(std::shared_ptr<DataSource> source)
    : source_(std::move(source)) {}

DataSourceWriters::~DataSourceWriters() {
  const Busy busy(&seen_state_, DataSource::kFollowing);
  for (TraceContext& context : contexts_) {
    if (!LeaveWriter(&context, busy.before()))
      RemoveContext(&context);
  }
}

bool DataSourceWriters::FollowSessions() {
  const uint32_t seen_state = seen_state_.load(std::memory_order_relaxed);
  if (seen_state == DataSource::kTracing) {
    for (TraceContext& context : contexts_)
      context.writer_->CountWhileBusy(1);
    return false;
  }
  if (seen_state == DataSource::kFollowing) {
    calls_while_following_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  Busy busy(&seen_state_, DataSource::kFollowing);
  const uint32_t state = source_->state_.load(std::memory_order_acquire);
  // A flush may be the reason for the change, so chunks are returned. Not those
  // of writers that come now: threads that have ended left them there.
  for (TraceContext& context : contexts_)
    context.writer_->ReturnChunk();
  FollowChanges();
  const uint32_t calls =
      calls_while_following_.exchange(0, std::memory_order_relaxed);
  if (calls != 0) {
    for (TraceContext& context : contexts_)
      context.writer_->CountWhileBusy(calls);
  }
  idle_state_ = contexts_.empty() ? state : DataSource::kNoState;
  busy.set_before(state);
  return true;
}

void DataSourceWriters::FollowChanges() {
  // The changes up to the state that was loaded before. A flush is none, so
  // that it needs no lock, which another thread might hold.
  const uint32_t changes =
      source_->instance_changes_.load(std::memory_order_relaxed);
  if (changes == changes_seen_)
    return;
  changes_seen_ = changes;
  RemoveStoppedSessions();
  while (AddStartedSession()) {
  }
}

void DataSourceWriters::RemoveStoppedSessions() {
  const auto end = contexts_.end();
  auto first_to_remove = end;
  {
    std::lock_guard<std::mutex> lock(ClientLock());
    const auto& instances = source_->instances_;
    first_to_remove = std::partition(
        contexts_.begin(), end, [&](const TraceContext& context) {
          return std::find(instances.begin(), instances.end(),
                           context.instance_) != instances.end();
        });
  }
  for (auto context = first_to_remove; context != end; ++context)
    RemoveContext(&*context);
  contexts_.erase(first_to_remove, end);
}

bool DataSourceWriters::AddStartedSession() {
  TraceContext context;
  {
    std::lock_guard<std::mutex> lock(ClientLock());
    for (const auto& instance : source_->instances_) {
      if (std::none_of(contexts_.begin(), contexts_.end(),
                       [&](const TraceContext& other) {
                         return other.instance_ == instance;
                       })) {
        context.instance_ = instance;
        break;
      }
    }
    if (context.instance_ == nullptr)
      return false;
    auto& spare = context.instance_->spare_writers_;
    if (!spare.empty()) {
      context.writer_ = std::move(spare.back());
      spare.pop_back();
    }
  }
  const DataSourceConfig& config = context.instance_->config();
  ProducerIpcClient& connection = *context.instance_->connection_;
  const bool is_reused = context.writer_ != nullptr;
  if (is_reused)
    connection.AddSpareWriters(UINT32_MAX);
  const bool has_room =
      RunsInMemory([&] { contexts_.reserve(contexts_.size() + 1); });
  if (!has_room) {
    context.writer_.reset();
  } else if (!is_reused) {
    context.writer_ = connection.arbiter()->CreateTraceWriter(
        config.target_buffer,
        source_->policy_.value_or(config.buffer_exhausted_policy));
  }
  const bool ok = context.writer_ != nullptr;
  if (ok)
    contexts_.push_back(std::move(context));
  // If there was no memory, this thread tries again when something changes, for
  // example at a flush. To try with each packet would cost too much.
  connection.set_lacks_writer(!ok);
  if (!ok) {
    changes_seen_ = UINT32_MAX;
    connection.ReportUnknownLoss(config.target_buffer);
  }
  return ok;
}

void DataSourceWriters::RemoveContext(TraceContext* context) {
  losses_.Add(context->writer_->losses());
  ProducerIpcClient& connection = *context->instance_->connection_;
  if (connection.is_abandoned())
    connection.Keep(std::move(context->writer_));
  context->writer_.reset();
}

bool DataSourceWriters::LeaveWriter(TraceContext* context,
                                    uint32_t seen_state) {
  DataSourceInstance& instance = *context->instance_;
  ProducerIpcClient& connection = *instance.connection_;
  TraceWriter& writer = *context->writer_;
  if (connection.is_abandoned() || !writer.PrepareForOtherThread())
    return false;
  std::unique_lock<std::mutex> lock(ClientLock());
  // A flush may have missed the chunk. And other threads need chunks, too.
  const size_t max_chunks = connection.arbiter()->num_chunks() / 16;
  if (instance.spare_writers_.size() >= max_chunks ||
      source_->state_.load(std::memory_order_relaxed) != seen_state) {
    lock.unlock();
    writer.ReturnChunk();
    lock.lock();
  }
  const auto& instances = source_->instances_;
  const bool is_left =
      std::find(instances.begin(), instances.end(), context->instance_) !=
          instances.end() &&
      RunsInMemory([&] { instance.spare_writers_.emplace_back(); });
  if (is_left) {
    instance.spare_writers_.back() = std::move(context->writer_);
    connection.AddSpareWriters(1);
  }
  return is_left;
}

void DataSourceWriters::Flush() {
  const Busy busy(&seen_state_, DataSource::kTracing);
  for (TraceContext& context : contexts_) {
    if (!context.instance_->connection_->is_abandoned())
      context.writer_->Flush();
  }
}

PacketLosses DataSourceWriters::losses() const {
  const Busy busy(&seen_state_, DataSource::kTracing);
  PacketLosses sum = losses_;
  for (const TraceContext& context : contexts_)
    sum.Add(context.writer_->losses());
  return sum;
}

PROTOZERO_ABI_END
}  // namespace protozero
