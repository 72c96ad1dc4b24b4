// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/stats_collector.h"

#include <stddef.h>

#include <algorithm>
#include <tuple>

#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

namespace {

// Keeps the writers with the most bytes, sorted by producer and writer.
void LimitWriters(TraceStats* stats) {
  auto& writers = stats->writers;
  if (writers.size() > TraceStats::kMaxWriters) {
    const auto end = writers.begin() + TraceStats::kMaxWriters;
    std::nth_element(writers.begin(), end, writers.end(),
                     [](const TraceWriterStats& a, const TraceWriterStats& b) {
                       return a.bytes_written > b.bytes_written;
                     });
    stats->writers_left_out = writers.size() - TraceStats::kMaxWriters;
    writers.resize(TraceStats::kMaxWriters);
  }
  std::sort(writers.begin(), writers.end(),
            [](const TraceWriterStats& a, const TraceWriterStats& b) {
              return std::tie(a.producer_id, a.writer_id, a.buffer_id,
                              a.sequence_id) <
                     std::tie(b.producer_id, b.writer_id, b.buffer_id,
                              b.sequence_id);
            });
}

// Returns whether the session waits for the producer.
bool IsAwaited(const Session& session, const ProducerRecord& producer) {
  for (const FlushRequestID id : producer.flushes.pending) {
    if (session.flushes.pending.count(id) != 0)
      return true;
  }
  const auto& instances = session.data_sources.instances;
  const auto first = instances.lower_bound({producer.id, 0});
  return session.state == TracingService::kStopping &&
         !session.flushes.has_final && first != instances.end() &&
         first->first == producer.id;
}

}  // namespace

TraceStats StatsCollector::Collect(const Session& session) const {
  TraceStats stats;
  stats.silent_producers = producers_->gone_silent();
  uint32_t num_only_triggering = 0;
  for (const auto& it : *producers_) {
    const ProducerRecord& producer = it.second;
    if (producer.is_silent())
      stats.silent_producers.Add(producer.info.name, producer.info.pid);
    num_only_triggering += producer.only_triggers();
    TraceProducerStats entry;
    entry.producer_id = producer.id;
    entry.name = producer.info.name;
    entry.pid = producer.info.pid;
    entry.shm_size = producer.shm.size();
    entry.shm_page_size = producer.shm.page_size;
    entry.data_sources =
        static_cast<uint32_t>(producer.data_sources.registered.size());
    entry.is_awaited = IsAwaited(session, producer);
    stats.data_sources_registered += entry.data_sources;
    stats.producers.push_back(std::move(entry));
  }
  for (const BufferID id : session.buffer_ids) {
    const TraceBuffer& buffer = buffers_->Get(id);
    stats.buffers.push_back(buffer.stats());
    const size_t first = stats.writers.size();
    buffer.AppendWriterStats(&stats.writers);
    for (size_t i = first; i < stats.writers.size(); ++i)
      stats.writers[i].buffer_id = id;
  }
  LimitWriters(&stats);
  stats.producers_seen = producers_->num_seen() - num_only_triggering;
  stats.tracing_sessions = static_cast<uint32_t>(sessions_->size());
  stats.chunks_discarded = chunks_->chunks_discarded();
  stats.patches_discarded = chunks_->patches_discarded();
  const SessionDataSources& sources = session.data_sources;
  stats.producers_without_memory = sources.producers_without_memory;
  stats.data_source_instances = sources.num_instances;
  stats.names_offered.assign(sources.names_offered.begin(),
                             sources.names_offered.end());
  stats.ring_ms_kept = session.ring_ms_kept;
  stats.invalid_packets = session.output.invalid_packets;
  stats.flushes_requested = session.flushes.requested;
  stats.flushes_succeeded = session.flushes.succeeded;
  stats.flushes_failed = session.flushes.failed;
  stats.final_flush_succeeded = session.flushes.final_succeeded;
  return stats;
}

}  // namespace service

void TraceStats::SilentProducers::Add(std::string name, int32_t pid) {
  ++number;
  if (named.size() < kMaxNamed)
    RunsInMemory([&] { named.emplace_back(std::move(name), pid); });
}

PROTOZERO_ABI_END
}  // namespace protozero
