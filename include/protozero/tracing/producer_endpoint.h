// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_PRODUCER_ENDPOINT_H_
#define INCLUDE_PROTOZERO_TRACING_PRODUCER_ENDPOINT_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// What a producer asks of the service, in this order: move complete chunks out
// of the shared memory; patch chunks that this request or an earlier one moved;
// take note of what writers have lost; take note that the producer has flushed.
// Valid during the call that it is passed to.
struct CommitDataRequest {
  struct ChunkToMove {
    uint32_t page;
    uint32_t chunk;
    BufferID target_buffer;
    // If not null, the chunk itself with its header. It is not in the shared
    // memory, and |page| and |chunk| have no meaning.
    const uint8_t* data = nullptr;
    size_t data_size = 0;
    // The chunk is not complete. The producer will move it again with more in
    // it.
    bool is_incomplete = false;
  };
  // Four bytes of a chunk that were not known when it was committed.
  struct Patch {
    // Counted from the first byte of the chunk's payload.
    uint32_t offset;
    // What is to be there.
    uint8_t data[SharedMemoryABI::kPatchSize];
  };
  // Patches of one chunk. The service can read the chunk after them, unless
  // there are more to come.
  struct ChunkToPatch {
    BufferID target_buffer;
    WriterID writer_id;
    ChunkID chunk_id;
    const Patch* patches;
    size_t num_patches;
    bool has_more_patches = false;
  };
  // The packets that a writer has lost for |reason| since its last report.
  // LossReason::kUnknown with no packets: nobody knows how many are missing.
  struct WriterLosses {
    BufferID target_buffer;
    // 0 if the writer has no id.
    WriterID writer_id;
    LossReason reason;
    uint64_t packets;
    // How many of |packets| began in a chunk that was moved.
    uint64_t begun;
    uint64_t bytes;
  };

  // What to commit. REQUIRES: the arrays live during the call.
  const ChunkToMove* chunks_to_move;
  size_t num_chunks_to_move;
  const ChunkToPatch* chunks_to_patch;
  size_t num_chunks_to_patch;

  // If not 0, the producer has committed everything for this flush and those
  // before it, with this request at the latest.
  uint64_t flush_request_id = 0;

  // What writers have lost since the last request.
  const WriterLosses* losses = nullptr;
  size_t num_losses = 0;
};

// The service, as a SharedMemoryArbiter sees it: a connection to another
// process, or the service itself.
class ProducerEndpoint {
 public:
  virtual ~ProducerEndpoint() = default;

  // Any thread that finds that it is time calls this, perhaps in the middle of
  // a packet, but one thread at a time. Requests take effect in the order of
  // the calls. Must not use the arbiter or its writers.
  virtual void CommitData(const CommitDataRequest& request) = 0;

  // Says which buffer a writer writes to, for a service that looks at chunks
  // before they are committed. Any thread, at any time.
  virtual void RegisterTraceWriter(WriterID /*writer_id*/,
                                   BufferID /*target_buffer*/) {}
  // The writer has committed everything before.
  virtual void UnregisterTraceWriter(WriterID /*writer_id*/) {}
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_PRODUCER_ENDPOINT_H_
