// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_IN_PLACE_ENDPOINT_H_
#define INCLUDE_PROTOZERO_TRACING_IN_PLACE_ENDPOINT_H_

#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// For a SharedMemoryArbiter whose memory is read by a PacketReader, in this
// process or another one: nothing is sent, all that the reader needs to know
// stands in the memory. A commit marks chunks there, which are free when they
// have been read, too. What comes too late for a chunk, the sizes of messages
// in a packet that goes on elsewhere, is stored in the chunk where it is: the
// reader waits as long as its header says that it needs patching.
//
// That is also why a packet with such a message can not be longer than all
// chunks are together: it is lost when the last one is full.
//
// Costs two atomic operations a chunk, and for the patches of a chunk a look at
// all pages. Options::commit_batch_bytes of the arbiter says how long chunks
// that have been read may have to wait. A service that knows nothing of this
// must not read the same memory.
class InPlaceEndpoint final : public ProducerEndpoint {
 public:
  // REQUIRES: |start|, |size| and |page_size| are the arbiter's.
  InPlaceEndpoint(void* start, size_t size, size_t page_size)
      : abi_(static_cast<uint8_t*>(start), size, page_size) {}

  // ProducerEndpoint:
  void CommitData(const CommitDataRequest& request) override;

 private:
  void PatchChunk(const CommitDataRequest::ChunkToPatch& patches) const;

  const SharedMemoryABI abi_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_IN_PLACE_ENDPOINT_H_
