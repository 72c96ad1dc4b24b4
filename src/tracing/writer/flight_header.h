// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_WRITER_FLIGHT_HEADER_H_
#define SRC_TRACING_WRITER_FLIGHT_HEADER_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/writer/ring_endpoint.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The beginning of a file that a flight recorder writes. Behind it is a ring of
// chunks: see TakeOldestChunk().
//
//   0        FlightHeader::kSize
//   +--------+--------+--------+-----+--------+
//   | header | page 0 | page 1 | ... | page N |
//   +--------+--------+--------+-----+--------+
//
// Numbers are in the byte order of the machine. The fields before
// |losses| stay as they are from the moment when the file gets its name.
// |magic| is written last.
struct FlightHeader {
  static constexpr size_t kSize = 4096;
  static constexpr char kMagic[8] = {'P', 'Z', 'F', 'L', 'I', 'G', 'H', 'T'};
  static constexpr uint32_t kByteOrder = 0x01020304;
  static constexpr uint32_t kVersion = 1;

  char magic[8];
  uint32_t byte_order;
  uint32_t version;
  uint32_t header_size;
  uint32_t page_size;
  // 0 in a file that is only a header.
  uint32_t num_pages;
  // The process that writes, and its user.
  int32_t pid;
  uint32_t uid;
  // In the file of a folder's recorder: the pages of a program's file, which
  // have |page_size|. A program may write anything to its own header.
  uint32_t program_pages;
  // The clocks when the file was made, in nanoseconds. 0 if there is no such
  // clock.
  uint64_t realtime_ns;
  uint64_t monotonic_ns;
  uint64_t boottime_ns;

  RingLosses losses;
  // A cache line of its own, because it changes with each chunk.
  uint64_t unused;
  RingState ring;

  // The clocks when the recording ended, or was copied; in the file of a
  // folder's recorder, when a program ended last. 0 if that has not happened.
  // |end_realtime_ns| is written last.
  std::atomic<uint64_t> end_monotonic_ns;
  std::atomic<uint64_t> end_boottime_ns;
  std::atomic<uint64_t> end_realtime_ns;
};

// Returns the packets that threads have overwritten, or could not write.
inline PacketLosses LossesOf(const FlightHeader& header) {
  PacketLosses losses;
  for (size_t i = 0; i < kNumWriterLossReasons; ++i) {
    losses.Add(static_cast<LossReason>(i),
               header.losses.packets[i].load(std::memory_order_relaxed));
  }
  losses.Add(LossReason::kOverwritten,
             header.ring.packets_overwritten.load(std::memory_order_relaxed));
  losses.bytes = header.losses.bytes.load(std::memory_order_relaxed);
  return losses;
}

static_assert(sizeof(FlightHeader) <= FlightHeader::kSize);
static_assert(FlightHeader::kSize % SharedMemoryABI::kMinPageSize == 0);
static_assert(offsetof(FlightHeader, pid) == 28);
static_assert(offsetof(FlightHeader, realtime_ns) == 40);
static_assert(offsetof(FlightHeader, losses) == 64);
static_assert(offsetof(FlightHeader, ring) == 128);
static_assert(offsetof(FlightHeader, end_monotonic_ns) == 144);

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_WRITER_FLIGHT_HEADER_H_
