// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_LOSS_REASON_H_
#define INCLUDE_PROTOZERO_TRACING_LOSS_REASON_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The reason why a packet that was begun is not in the trace. Each lost packet
// has one reason. The numbers are part of the protocol; see WriterLosses in
// producer_port.proto.
enum class LossReason : uint8_t {
  // No one reported a reason: the producer died before it could, or its writers
  // do not report losses.
  kUnknown = 0,

  // Reasons of a writer that could not write the packet.
  //
  // The shared memory was full, and the policy is kDrop.
  kMemoryFull = 1,
  // The shared memory was full, the policy is kStall, and the time to wait was
  // over.
  kStallTimedOut = 2,
  // The packet exceeds a limit of Message or TracingLimits::kMaxPacketSize, or
  // has more than PatchPool::kNumPatches messages open where it goes on in
  // another chunk.
  kTooLarge = 3,
  // Other writers had all ids.
  kNoWriterID = 4,
  // The packet was begun while its writer was busy, for example by a signal
  // handler that interrupted the writer.
  kWriterBusy = 5,

  // Reasons of a service that received the beginning of the packet, but could
  // not give the packet out.
  //
  // The buffer was full. The packet's chunk made room for another one
  // (kRingBuffer), or found no room (kDiscard).
  kOverwritten = 6,
  kDiscarded = 7,
  // The rest of the packet never came: the process or the session ended in the
  // middle of it.
  kIncomplete = 8,
  // The packet is malformed, or has a field that only the service may write.
  kInvalid = 9,
  // The service had no memory for the packet or one of its chunks.
  kOutOfMemory = 10,
  // The trace's owner took no more of it: its disk was full, for example.
  kNotWritten = 11,
};

// The number of reasons, including kUnknown.
inline constexpr size_t kNumLossReasons = 12;
// The number of reasons of writers, which come first. The others are the
// service's.
inline constexpr size_t kNumWriterLossReasons = 6;

// Returns a few words in lower case, for the end of a sentence. Never null.
const char* LossReasonToString(LossReason reason);

// Lost packets by reason. Sums do not overflow but stop at UINT64_MAX, so that
// untrusted numbers can be added.
struct PacketLosses {
  uint64_t packets[kNumLossReasons] = {};
  // The bytes that were written of lost packets, as far as that is known.
  uint64_t bytes = 0;

  // Adds more losses.
  void Add(LossReason reason, uint64_t num_packets, uint64_t num_bytes = 0) {
    Increase(&packets[static_cast<size_t>(reason)], num_packets);
    Increase(&bytes, num_bytes);
  }
  void Add(const PacketLosses& other) {
    for (size_t i = 0; i < kNumLossReasons; ++i)
      Increase(&packets[i], other.packets[i]);
    Increase(&bytes, other.bytes);
  }
  // Return the packets that were lost for one reason, and for any.
  uint64_t of(LossReason reason) const {
    return packets[static_cast<size_t>(reason)];
  }
  uint64_t total() const {
    uint64_t sum = 0;
    for (const uint64_t number : packets)
      Increase(&sum, number);
    return sum;
  }

  // Adds |number| to |sum|, which does not exceed UINT64_MAX.
  static void Increase(uint64_t* sum, uint64_t number) {
    *sum = number > UINT64_MAX - *sum ? UINT64_MAX : *sum + number;
  }
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_LOSS_REASON_H_
