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

// A request of a producer. The service handles it in this order: it moves
// complete chunks out of the shared memory; patches chunks that this request or
// an earlier one moved; notes the losses of writers; notes that the producer
// has flushed. Valid during the call that it is passed to.
struct CommitDataRequest {
  struct ChunkToMove {
    uint32_t page;
    uint32_t chunk;
    BufferID target_buffer;
    // If not null, the chunk itself with its header. Then it is not in the
    // shared memory, and |page| and |chunk| have no meaning.
    const uint8_t* data = nullptr;
    size_t data_size = 0;
    // True if the chunk is not complete. The producer will move it again with
    // more data in it.
    bool is_incomplete = false;
  };
  // Four bytes of a chunk that were not known when it was committed.
  struct Patch {
    // The place, counted from the first byte of the chunk's payload.
    uint32_t offset;
    // The bytes to write there.
    uint8_t data[SharedMemoryABI::kPatchSize];
  };
  // Patches of one chunk. Once they are applied, the service can read the
  // chunk, unless |has_more_patches|.
  struct ChunkToPatch {
    BufferID target_buffer;
    WriterID writer_id;
    ChunkID chunk_id;
    const Patch* patches;
    size_t num_patches;
    bool has_more_patches = false;
  };
  // The packets that a writer has lost for |reason| since its last report.
  // LossReason::kUnknown with no packets: it is unknown how many are missing.
  struct WriterLosses {
    BufferID target_buffer;
    // 0 if the writer has no id.
    WriterID writer_id;
    LossReason reason;
    uint64_t packets;
    // The number of |packets| that began in a chunk that was moved.
    uint64_t begun;
    uint64_t bytes;
  };

  // The content of the commit. REQUIRES: the arrays live during the call.
  const ChunkToMove* chunks_to_move;
  size_t num_chunks_to_move;
  const ChunkToPatch* chunks_to_patch;
  size_t num_chunks_to_patch;

  // If not 0, the id of a flush. For this flush and those before it, the
  // producer has committed everything with this request at the latest.
  uint64_t flush_request_id = 0;

  // The losses of writers since the last request.
  const WriterLosses* losses = nullptr;
  size_t num_losses = 0;
};

// The service, as a SharedMemoryArbiter sees it: a connection to another
// process, or the service itself.
class ProducerEndpoint {
 public:
  virtual ~ProducerEndpoint() = default;

  // Commits. Any thread that finds that it is time calls this, perhaps in the
  // middle of a packet, but one thread at a time. Requests take effect in the
  // order of the calls. Must not use the arbiter or its writers.
  virtual void CommitData(const CommitDataRequest& request) = 0;

  // Says which buffer a writer writes to, for a service that looks at chunks
  // before they are committed. Any thread, at any time.
  virtual void RegisterTraceWriter(WriterID /*writer_id*/,
                                   BufferID /*target_buffer*/) {}
  // Says that a writer has ended. It has committed everything before.
  virtual void UnregisterTraceWriter(WriterID /*writer_id*/) {}

  // Ends the wait of the owner's thread; see SharedMemoryArbiter::BeginWait().
  // Any thread, and perhaps a signal handler: must be async-signal-safe.
  virtual void WakeOwner() {}
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_PRODUCER_ENDPOINT_H_
