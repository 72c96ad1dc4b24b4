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

// What a producer asks the service to do: first to move chunks, all of them
// complete, out of the shared memory, then to patch chunks that were moved by
// this request or an earlier one, then to take note of what writers have lost,
// and that it has flushed. Valid during the call it is passed to.
struct CommitDataRequest {
  struct ChunkToMove {
    uint32_t page;
    uint32_t chunk;
    BufferID target_buffer;
    // If not null, the chunk itself, header included: it is not in the shared
    // memory, and the two numbers say nothing.
    const uint8_t* data = nullptr;
    size_t data_size = 0;
    // It is not complete: more of it will be moved later.
    bool is_incomplete = false;
  };
  struct Patch {
    // From the first byte of the chunk's payload.
    uint32_t offset;
    uint8_t data[SharedMemoryABI::kPatchSize];
  };
  // Patches of one chunk, which becomes readable with them, unless there are
  // more to come.
  struct ChunkToPatch {
    BufferID target_buffer;
    WriterID writer_id;
    ChunkID chunk_id;
    const Patch* patches;
    size_t num_patches;
    bool has_more_patches = false;
  };
  // What a writer has lost for |reason| since that was reported last.
  struct WriterLosses {
    BufferID target_buffer;
    // 0 if it has no id.
    WriterID writer_id;
    LossReason reason;
    uint64_t packets;
    // Those of |packets| whose beginning was in a chunk that was moved.
    uint64_t begun;
    uint64_t bytes;
  };

  const ChunkToMove* chunks_to_move;
  size_t num_chunks_to_move;
  const ChunkToPatch* chunks_to_patch;
  size_t num_chunks_to_patch;

  // If not 0: everything that this flush, and those before it, were to commit
  // has been committed, with this request at the latest.
  uint64_t flush_request_id = 0;

  const WriterLosses* losses = nullptr;
  size_t num_losses = 0;
};

// The service, as a SharedMemoryArbiter sees it: a connection to another
// process, or the service itself.
class ProducerEndpoint {
 public:
  virtual ~ProducerEndpoint() = default;

  // Called by whichever thread finds that it is time, in the middle of a
  // packet for example, but by one at a time. Requests take effect in the
  // order of the calls. Must not use the arbiter or its writers.
  virtual void CommitData(const CommitDataRequest& request) = 0;

  // A service that looks at chunks before they are committed wants to know to
  // whom they belong. Called by any thread, at any time.
  virtual void RegisterTraceWriter(WriterID /*writer_id*/,
                                   BufferID /*target_buffer*/) {}
  // Everything of this writer has been committed before.
  virtual void UnregisterTraceWriter(WriterID /*writer_id*/) {}
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_PRODUCER_ENDPOINT_H_
