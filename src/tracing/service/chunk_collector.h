// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_CHUNK_COLLECTOR_H_
#define SRC_TRACING_SERVICE_CHUNK_COLLECTOR_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/types.h"
#include "src/tracing/service/buffer_table.h"
#include "src/tracing/service/producer_record.h"
#include "src/tracing/shared_memory/chunk_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// Brings the chunks of producers to the buffers of sessions: chunks that a
// producer commits, and chunks that it has not committed yet ("scraping"). If
// the producer may not write to a chunk's buffer, counts the chunk and drops
// it. When a session has stopped, its account is closed: chunks that come for
// it later are dropped, because they were written later or are accounted for.
class ChunkCollector {
 public:
  ChunkCollector(const TracingService::Clock* clock, BufferTable* buffers)
      : clock_(clock), buffers_(buffers) {}

  // Reserves memory, so that copying a chunk of such pages never lacks it.
  // Throws std::bad_alloc.
  void ReserveForChunks(size_t page_size) { chunk_.payload.reserve(page_size); }

  void RegisterTraceWriter(ProducerRecord* producer,
                           WriterID writer_id,
                           BufferID target_buffer);
  void UnregisterTraceWriter(ProducerRecord* producer, WriterID writer_id);

  // Moves chunks, applies patches and counts losses. Costs the size of the
  // request, and the chunks that it moves, which are at most the producer's
  // memory. REQUIRES: the producer has memory.
  void Commit(ProducerRecord* producer, const CommitDataRequest& request);

  enum class ScrapeMode {
    // The rest of the chunks will come.
    kForNow,
    // The session ends, and the producer has not answered. A writer may not
    // have announced itself, because the producer could not send that. If there
    // is only one buffer, the writer counts as one of that buffer. If there are
    // several, an unknown number of packets is lost.
    kLastChance,
    // The same, and incomplete packets are lost. If the producer did not agree
    // to scraping, all packets are lost.
    kProducerIsGone,
  };
  // Copies what the producer has not committed yet, and leaves it there. Copies
  // for |session_buffers| or, if that is null, for all buffers that the
  // producer may write to. Returns a number that grows with everything that
  // writers do.
  uint64_t Scrape(ProducerRecord* producer,
                  const std::vector<BufferID>* session_buffers,
                  ScrapeMode mode);

  // Says that packets of the producer may be missing in all of its buffers.
  void ReportUnknownLoss(const ProducerRecord& producer);

  // Return the counts for buffers that the producer may not write to.
  uint64_t chunks_discarded() const { return chunks_discarded_; }
  uint64_t patches_discarded() const { return patches_discarded_; }

 private:
  // Returns the buffer that this writer may write to. Null if it may not.
  TraceBuffer* BufferForWriter(const ProducerRecord& producer,
                               WriterID writer_id,
                               BufferID target_buffer);
  // Returns null if the producer may not write to the buffer.
  TraceBuffer* BufferForProducer(const ProducerRecord& producer, BufferID id);
  // Returns whether the buffer's session has stopped. REQUIRES: the buffer
  // exists.
  bool IsTooLate(BufferID id) const;
  // Returns whether complete chunks, which are about to be committed, can wait
  // for that: there may be more of them than the rest of the buffer takes.
  bool WouldFill(BufferID id) const;
  // Handles data for such a buffer: they may be older than the session's end if
  // a producer did not answer the last flush.
  void OnTooLate(BufferID id);
  void MoveChunk(ProducerRecord* producer,
                 const CommitDataRequest::ChunkToMove& move);
  // Stores |chunk_|. |was_scraped| if the session's end has taken into account
  // what it had by then.
  void StoreChunk(const ProducerRecord& producer,
                  BufferID target_buffer,
                  bool was_scraped);

  const TracingService::Clock* const clock_;
  BufferTable* const buffers_;

  // The place to which a chunk is copied before anything looks at it.
  ChunkCopy chunk_;
  uint64_t chunks_discarded_ = 0;
  uint64_t patches_discarded_ = 0;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_CHUNK_COLLECTOR_H_
