// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_WRITER_RING_ENDPOINT_H_
#define SRC_TRACING_WRITER_RING_ENDPOINT_H_

#include <stdint.h>

#include <atomic>

#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/shared_memory/chunk_ring.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The sums of all packets that writers of a ring could not write, by
// LossReason. It may be in memory that other processes read.
struct RingLosses {
  std::atomic<uint64_t> packets[kNumWriterLossReasons];
  std::atomic<uint64_t> bytes;
};

// The endpoint of a SharedMemoryArbiter with Options::ring. It sends
// nothing: all that a reader needs is in the memory. Completes chunks that have
// been waiting for patches, and counts losses.
class RingEndpoint final : public ProducerEndpoint {
 public:
  // REQUIRES: |ring| is the arbiter's; it, |losses|, and the memory of
  // |abi| outlive this.
  RingEndpoint(const SharedMemoryABI& abi,
               const RingState* ring,
               RingLosses* losses)
      : abi_(abi), ring_(ring), losses_(losses) {}

  // ProducerEndpoint:
  void CommitData(const CommitDataRequest& request) override;

 private:
  const SharedMemoryABI abi_;
  const RingState* const ring_;
  RingLosses* const losses_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_WRITER_RING_ENDPOINT_H_
