// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TRACE_STATS_H_
#define INCLUDE_PROTOZERO_TRACING_TRACE_STATS_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The fate of the chunks that producers committed to one buffer of a session.
// Names are those of Perfetto's TraceStats.BufferStats.
struct TraceBufferStats {
  uint64_t buffer_size = 0;
  // Bytes of chunks: their headers, and their payload as far as it is used.
  uint64_t bytes_written = 0;
  uint64_t bytes_overwritten = 0;
  uint64_t bytes_read = 0;
  uint64_t chunks_written = 0;
  // Chunks that replaced a copy that was taken before they were complete.
  uint64_t chunks_rewritten = 0;
  // The fate of the other chunks, and of patches.
  uint64_t chunks_overwritten = 0;
  uint64_t chunks_discarded = 0;
  uint64_t chunks_read = 0;
  uint64_t chunks_committed_out_of_order = 0;
  uint64_t write_wrap_count = 0;
  uint64_t patches_succeeded = 0;
  uint64_t patches_failed = 0;
  // Packets of several chunks: assembled, or torn.
  uint64_t readaheads_succeeded = 0;
  uint64_t readaheads_failed = 0;
  // The number of protocol violations by writers.
  uint64_t abi_violations = 0;

  // The ledger of all writers, including those that have ended. When the
  // session has stopped and everything has been read, packets_begun is
  // packets_read + lost.total(), and stays so. Before that, the difference is
  // in the buffer.
  //
  // |packets_written| counts packets whose beginning is in a chunk that came;
  // |packets_begun| adds the packets that writers lost before that.
  uint64_t packets_written = 0;
  uint64_t packets_begun = 0;
  // Packets that were given out.
  uint64_t packets_read = 0;
  // Packets that will not be given out, by reason.
  PacketLosses lost;
  // Places where it is unknown how many packets are missing, or whether one is:
  // a chunk that never came or makes no sense, a thread without memory for a
  // writer, a data source that has refused the session, losses of writers that
  // do not report them, or a thread that was in the middle of a packet when the
  // session ended and does not let the service scrape (see Producer::Options).
  uint64_t unknown_losses = 0;
  // Writers that have written to the buffer.
  uint64_t writers_seen = 0;
  // Returns how many packets writers lost before the service had all of them.
  uint64_t trace_writer_packet_loss() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < kNumWriterLossReasons; ++i)
      PacketLosses::Increase(&sum, lost.packets[i]);
    return sum;
  }
};

// The same for one writer, as far as it is known.
struct TraceWriterStats {
  ProducerID producer_id = 0;
  WriterID writer_id = 0;
  BufferID buffer_id = 0;
  // The sequence id in the packets; 0 if none has been read yet.
  uint32_t sequence_id = 0;
  // The same as in TraceBufferStats.
  uint64_t chunks_written = 0;
  uint64_t chunks_overwritten = 0;
  uint64_t chunks_discarded = 0;
  uint64_t bytes_written = 0;
  // The same as in TraceBufferStats.
  uint64_t packets_written = 0;
  uint64_t packets_begun = 0;
  uint64_t packets_read = 0;
  PacketLosses lost;
  uint64_t patches_succeeded = 0;
  uint64_t patches_failed = 0;
  // Places where something is missing between packets that were given out. The
  // packet after each place says so.
  uint64_t losses = 0;
};

// A connected producer: its ids and name, the sizes of its memory in bytes, and
// the number of data sources that it offers.
struct TraceProducerStats {
  ProducerID producer_id = 0;
  std::string name;
  int32_t pid = 0;
  size_t shm_size = 0;
  size_t shm_page_size = 0;
  uint32_t data_sources = 0;
  // True if the session waits for its answer to a flush, or for the end of one
  // of its data sources.
  bool is_awaited = false;
};

// The packets that a session has recorded and lost, as
// TracingService::GetStats() returns them.
struct TraceStats {
  // The most elements of |names_offered| and |writers|.
  static constexpr size_t kMaxNamesOffered = 16;
  static constexpr size_t kMaxWriters = 1024;

  // The producers that are connected now.
  std::vector<TraceProducerStats> producers;
  // One for each buffer of the TraceConfig.
  std::vector<TraceBufferStats> buffers;
  // The writers, sorted by producer and writer. Of the writers that have ended,
  // only the last ones; at most kMaxWriters, those with the most bytes.
  // |buffers| has the sums of all writers.
  std::vector<TraceWriterStats> writers;
  // The number of writers that |writers| does not have.
  size_t writers_left_out = 0;

  // Producers that have connected since the service began, and have never had a
  // writer in any session.
  struct SilentProducers {
    // The most producers that are named.
    static constexpr size_t kMaxNamed = 16;
    // Adds one more. If there is no memory, it has no name.
    void Add(std::string name, int32_t pid);

    // The number of all silent producers.
    uint32_t number = 0;
    // The names and process ids of the first of them.
    std::vector<std::pair<std::string, int32_t>> named;
  };
  // The silent producers of this service.
  SilentProducers silent_producers;

  // The milliseconds before the end for which a ring has all packets, if it was
  // too small for TraceConfig::ring_ms; otherwise 0.
  uint32_t ring_ms_kept = 0;

  // Counts of the whole service: the producers since it began, but for those
  // that have only activated triggers, and the data sources and sessions of
  // now.
  uint32_t producers_seen = 0;
  uint32_t data_sources_registered = 0;
  uint32_t tracing_sessions = 0;
  // Producers that had a data source of the session, but no memory to share.
  uint32_t producers_without_memory = 0;
  // For each data source of the TraceConfig, how often a producer was asked for
  // it; and the names that producers have offered to the session, sorted, at
  // most kMaxNamesOffered.
  std::vector<uint32_t> data_source_instances;
  std::vector<std::string> names_offered;
  // Chunks and patches for buffers that do not exist, or that their producer
  // may not write to.
  uint64_t chunks_discarded = 0;
  uint64_t patches_discarded = 0;
  // Packets that are malformed, or have a field that only the service may
  // write.
  uint64_t invalid_packets = 0;
  // Flushes of the session, and how they ended.
  uint64_t flushes_requested = 0;
  uint64_t flushes_succeeded = 0;
  uint64_t flushes_failed = 0;
  // True if the flush before the end succeeded. Has no meaning before that.
  bool final_flush_succeeded = false;

  // Return sums over all buffers.
  uint64_t packets_begun() const {
    uint64_t sum = 0;
    for (const TraceBufferStats& buffer : buffers)
      PacketLosses::Increase(&sum, buffer.packets_begun);
    return sum;
  }
  uint64_t packets_read() const {
    uint64_t sum = 0;
    for (const TraceBufferStats& buffer : buffers)
      sum += buffer.packets_read;
    return sum;
  }
  PacketLosses lost() const {
    PacketLosses sum;
    for (const TraceBufferStats& buffer : buffers)
      sum.Add(buffer.lost);
    return sum;
  }
  uint64_t writers_seen() const {
    uint64_t sum = 0;
    for (const TraceBufferStats& buffer : buffers)
      sum += buffer.writers_seen;
    return sum;
  }
  // Returns the number of places where it is unknown how much is missing,
  // including chunks for buffers that do not exist.
  uint64_t unknown_losses() const {
    uint64_t sum = chunks_discarded;
    for (const TraceBufferStats& buffer : buffers)
      sum += buffer.unknown_losses;
    return sum;
  }
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACE_STATS_H_
