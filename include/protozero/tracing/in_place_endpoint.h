// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_IN_PLACE_ENDPOINT_H_
#define INCLUDE_PROTOZERO_TRACING_IN_PLACE_ENDPOINT_H_

#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The endpoint of a SharedMemoryArbiter whose memory a PacketReader reads, in
// this process or another one. It sends nothing: the memory has all that the
// reader needs to know. A commit marks chunks there, and frees chunks that have
// been read already. If the size of a message becomes known after its chunk was
// finished, a commit stores it into the chunk; until then the header says that
// the chunk needs patching, and the reader waits.
//
// For that reason, a packet with such a message cannot be longer than all
// chunks together: it is lost when the last chunk is full.
//
// A chunk costs two atomic operations, and a chunk with patches also a look at
// all pages. The arbiter's Options::commit_batch_bytes decides how long chunks
// that have been read may wait until they are free. A service that knows
// nothing of this must not read the same memory.
class InPlaceEndpoint final : public ProducerEndpoint {
 public:
  // REQUIRES: |start|, |size| and |page_size| are the arbiter's.
  InPlaceEndpoint(void* start, size_t size, size_t page_size)
      : abi_(static_cast<uint8_t*>(start), size, page_size) {}

  // ProducerEndpoint:
  void CommitData(const CommitDataRequest& request) override;

 private:
  const SharedMemoryABI abi_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_IN_PLACE_ENDPOINT_H_
