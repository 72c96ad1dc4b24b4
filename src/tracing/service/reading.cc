// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/service_impl.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/tracing/shared_memory/out_of_memory.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// How much of a trace is put together under the lock before it is given out.
constexpr size_t kReadBatchSize = 256 * 1024;

}  // namespace

TraceStats TracingService::Impl::GetStats(const Session& session) {
  TraceStats stats;
  for (const auto& it : producers_) {
    const ProducerState& producer = it.second;
    TraceProducerStats entry;
    entry.producer_id = producer.id;
    entry.name = producer.info.name;
    entry.pid = producer.info.pid;
    entry.shm_size = producer.memory == nullptr ? 0 : producer.memory->size();
    entry.shm_page_size = producer.page_size;
    entry.data_sources = static_cast<uint32_t>(producer.data_sources.size());
    stats.producers.push_back(std::move(entry));
    stats.data_sources_registered +=
        static_cast<uint32_t>(producer.data_sources.size());
  }
  for (const BufferID id : session.buffer_ids) {
    const TraceBuffer& buffer = FindBuffer(id)->buffer;
    stats.buffers.push_back(buffer.stats());
    const size_t first = stats.writers.size();
    buffer.AppendWriterStats(&stats.writers);
    for (size_t i = first; i < stats.writers.size(); ++i)
      stats.writers[i].buffer_id = id;
  }
  if (stats.writers.size() > TraceStats::kMaxWriters) {
    const auto end = stats.writers.begin() + TraceStats::kMaxWriters;
    std::nth_element(stats.writers.begin(), end, stats.writers.end(),
                     [](const TraceWriterStats& a, const TraceWriterStats& b) {
                       return a.bytes_written > b.bytes_written;
                     });
    stats.writers_left_out = stats.writers.size() - TraceStats::kMaxWriters;
    stats.writers.resize(TraceStats::kMaxWriters);
  }
  std::stable_sort(stats.writers.begin(), stats.writers.end(),
                   [](const TraceWriterStats& a, const TraceWriterStats& b) {
                     return std::make_pair(a.producer_id, a.writer_id) <
                            std::make_pair(b.producer_id, b.writer_id);
                   });
  stats.producers_seen = last_producer_id_;
  stats.tracing_sessions = static_cast<uint32_t>(sessions_.size());
  stats.chunks_discarded = chunks_discarded_;
  stats.patches_discarded = patches_discarded_;
  stats.producers_without_memory = session.producers_without_memory;
  stats.data_source_instances = session.data_source_instances;
  stats.names_offered.assign(session.names_offered.begin(),
                             session.names_offered.end());
  stats.invalid_packets = session.invalid_packets;
  stats.flushes_requested = session.flushes_requested;
  stats.flushes_succeeded = session.flushes_succeeded;
  stats.flushes_failed = session.flushes_failed;
  stats.final_flush_succeeded = session.final_flush_succeeded;
  return stats;
}

uint64_t TracingService::Impl::BytesRead(const Session& session) {
  uint64_t bytes = 0;
  for (const BufferID id : session.buffer_ids)
    bytes += FindBuffer(id)->buffer.bytes_read();
  return bytes;
}

uint64_t TracingService::Impl::BytesReadWhenEmpty(const Session& session) {
  uint64_t bytes = BytesRead(session);
  for (const BufferID id : session.buffer_ids)
    bytes += FindBuffer(id)->buffer.used_bytes();
  return bytes;
}

bool TracingService::Impl::ReadBatch(Session* session,
                                     std::vector<uint8_t>* trace,
                                     bool* has_more) {
  *has_more = false;
  trace->insert(trace->end(), session->header.begin(), session->header.end());
  std::vector<uint8_t>().swap(session->header);
  const bool is_final = session->state == kStopped;
  for (const BufferID id : session->buffer_ids) {
    TraceBuffer& buffer = FindBuffer(id)->buffer;
    if (buffer.ReadPackets(
            kReadBatchSize, is_final,
            [session, trace, &buffer](const TraceBuffer::Packet& packet) {
              if (!IsValidPacket(packet.bytes)) {
                ++session->invalid_packets;
                return false;
              }
              if (!packet.producer.reports_losses &&
                  SaysPreviousPacketDropped(packet.bytes)) {
                buffer.ReportUnknownLoss();
              }
              if (*packet.sequence_id == 0)
                *packet.sequence_id = session->next_sequence_id++;
              const size_t size = trace->size();
              if (RunsInMemory([&] { AppendPacket(packet, trace); }))
                return true;
              trace->resize(size);
              *packet.why_lost = LossReason::kOutOfMemory;
              return false;
            })) {
      *has_more = true;
      return true;
    }
  }
  if (is_final && !session->has_trailer)
    session->has_trailer = AppendTraceTrailer(GetStats(*session), trace);
  return session->has_trailer || !is_final;
}

bool TracingService::Impl::ReadPackets(TracingSessionID session_id,
                                       const TraceSink& sink) {
  std::vector<uint8_t> trace;
  // So that this ends, even if somebody writes faster than it reads.
  std::optional<uint64_t> limit;
  bool has_memory = true;
  for (bool has_more = true; has_more && has_memory;) {
    trace.clear();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      Session* const session = FindSession(session_id);
      if (session == nullptr)
        return false;
      if (!limit.has_value())
        limit = BytesReadWhenEmpty(*session);
      has_memory = false;
      RunsInMemory([&] {
        // Before packets are taken out of the buffer: those for which it does
        // not suffice are lost if there is no more.
        trace.reserve(kReadBatchSize);
        has_memory = ReadBatch(session, &trace, &has_more);
      });
      if (session->state != kStopped && BytesRead(*session) >= *limit)
        has_more = false;
    }
    if (!trace.empty() && !sink(trace.data(), trace.size()))
      return false;
  }
  return has_memory;
}

void TracingService::Impl::WriteSession(TracingSessionID session_id) {
  std::lock_guard<std::mutex> read_lock(read_mutex_);
  Consumer* consumer;
  bool is_last;
  bool is_complete;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Session* const session = FindSession(session_id);
    if (session == nullptr)
      return;
    consumer = session->consumer;
    is_last = session->state == kStopped;
    is_complete = !session->has_failed_to_write;
    if (is_last)
      session->next_write = kNever;
  }
  // If it can not be written, it is not read.
  if (is_complete) {
    is_complete = false;
    RunsInMemory([&] {
      is_complete =
          ReadPackets(session_id, [&](const uint8_t* data, size_t size) {
            return consumer == nullptr ||
                   consumer->OnTraceData(session_id, data, size);
          });
    });
  }
  std::lock_guard<std::mutex> lock(mutex_);
  Session* const session = FindSession(session_id);
  if (session == nullptr)
    return;
  if (!is_complete && !session->has_failed_to_write) {
    session->has_failed_to_write = true;
    StopTracing(session);
  }
  if (is_last)
    consumer->OnTraceWritten(session_id, is_complete);
}

PROTOZERO_ABI_END
}  // namespace protozero
