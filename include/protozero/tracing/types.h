// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TYPES_H_
#define INCLUDE_PROTOZERO_TRACING_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The ids, policies and limits that producers, writers and the service share.

// The id of a writer within one producer: 1 to kMaxWriterID. 0 is no writer.
using WriterID = uint16_t;
inline constexpr WriterID kMaxWriterID = (1 << 15) - 1;
// The number of a chunk of one writer, from 0. It wraps around.
using ChunkID = uint32_t;
// The id of the service's buffer that a writer's packets are meant for.
using BufferID = uint16_t;

// The service counts these from 1 and never reuses one. 0 is none.
using ProducerID = uint32_t;
using TracingSessionID = uint64_t;
using DataSourceInstanceID = uint64_t;
using FlushRequestID = uint64_t;

// The reason for a flush, and the one who asked for it: a FlushReason, and a
// FlushInitiator shifted by kFlushInitiatorShift.
using FlushFlags = uint64_t;
enum FlushReason : uint64_t {
  kFlushReasonUnknown = 0,
  kFlushReasonPeriodic = 1,
  kFlushReasonTraceStop = 2,
  kFlushReasonTraceClone = 3,
  kFlushReasonExplicit = 4,
};
// The one who asked for a flush, in the bits from kFlushInitiatorShift on.
enum FlushInitiator : uint64_t {
  kFlushInitiatorUnknown = 0,
  kFlushInitiatorService = 1,
  kFlushInitiatorCommandLine = 2,
  kFlushInitiatorConsumer = 3,
};
// The bit at which a FlushInitiator begins in FlushFlags.
inline constexpr int kFlushInitiatorShift = 4;

// The behaviour of a writer when all chunks of the shared memory are in use.
enum class BufferExhaustedPolicy {
  // It loses packets, and counts them, until a chunk is free.
  kDrop,
  // It waits for a chunk, up to SharedMemoryArbiter::Options::stall_timeout_ms.
  // After that, it loses packets, as with kDrop.
  kStall,
};

// The behaviour of a service's buffer when it is full.
enum class BufferFillPolicy {
  // The oldest chunk makes room for the new one.
  kRingBuffer,
  // The new chunk is lost.
  kDiscard,
};

// The most that one producer, process or session may take of a service. The
// service refuses more.
struct TracingLimits {
  // Limits of producers.
  static constexpr size_t kMaxProducers = 1024;
  static constexpr size_t kMaxProducerNameSize = 1024;
  static constexpr size_t kMaxDataSourcesPerProducer = 256;
  static constexpr size_t kMaxDataSourceNameSize = 1024;
  // An instance beyond this is an unknown loss of its session's buffer.
  static constexpr size_t kMaxInstancesPerProducer = 4096;

  // Sizes of the memory that a producer shares with the service. The memory is
  // sparse: writers begin at its front, and take more only while the service
  // does not run, because other programs have its processor. 15 million events
  // a second, of 13 bytes each, fill the default in a sixth of a second. The C
  // SDK of Perfetto takes no more.
  static constexpr size_t kDefaultShmPageSize = 16 * 1024;
  static constexpr size_t kDefaultShmSize = 32 * 1024 * 1024;
  static constexpr size_t kMaxShmPageSize = 32 * 1024;
  static constexpr size_t kMaxShmSize = 32 * 1024 * 1024;
  // The sum over all producers of one process. A producer gets at most half of
  // the rest, or kReducedShmSize, and may not bring more memory of its own than
  // the rest.
  static constexpr size_t kMaxShmSizePerProcess = 64 * 1024 * 1024;
  static constexpr size_t kReducedShmSize = 256 * 1024;

  // Limits of sessions.
  static constexpr size_t kMaxSessions = 64;
  static constexpr size_t kMaxBuffersPerSession = 128;
  static constexpr size_t kMaxDataSourcesPerSession = 1024;
  // Larger packets are lost. In a smaller buffer the limit is its size.
  static constexpr size_t kMaxPacketSize = 64 * 1024 * 1024;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TYPES_H_
