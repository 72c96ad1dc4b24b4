// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_SERVICE_PACKETS_H_
#define SRC_TRACING_SERVICE_SERVICE_PACKETS_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_stats.h"
#include "src/tracing/service/trace_buffer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// Functions for packets as records of a Trace: tag, length, packet.

// The sequence of the service's own packets. The sequences of writers follow.
inline constexpr uint32_t kServiceSequenceID = 1;

// Returns whether a producer may write such a packet: its fields are
// well-formed, and none is the service's. Readers of a field check what is
// inside of it.
bool IsValidPacket(ConstBytes packet);

// Returns whether the packet's writer says that it lost something before.
bool SaysPreviousPacketDropped(ConstBytes packet);

// Returns whether a packet can be understood, if |*lacks_state| says that
// packets to which it may refer were overwritten. If it clears its writer's
// state, sets that to false: then later packets can be understood, too.
bool HasState(ConstBytes packet, bool* lacks_state);

// The fields that the service adds to packets: what it knows of their writers.
// Encodes them when another writer's packets begin.
class TrustedFields {
 public:
  explicit TrustedFields(bool stamps_pid) : stamps_pid_(stamps_pid) {}

  // Returns the fields of a packet, until the next call. REQUIRES: the packet
  // has a sequence id.
  ConstBytes Of(const TraceBuffer::Packet& packet);

  // Appends the first packets of a run as AppendPacket() does, up to one that
  // is empty, not valid, or large, or says that the writer has lost something.
  // Throws std::bad_alloc, and has appended nothing then.
  TraceBuffer::RunPart AppendTo(const TraceBuffer::Run& run,
                                std::vector<uint8_t>* trace);

 private:
  // The size of previous_packet_dropped: a tag of two bytes, and 1.
  static constexpr size_t kDroppedSize = 3;
  // The largest size: that of a uid of 11 bytes, a sequence id of 6 and a
  // process id of 12, and of the above.
  static constexpr size_t kMaxSize = 11 + 6 + 12 + kDroppedSize;

  // The most bytes that a packet of a run gets besides its fragment: a tag, a
  // byte more of its length, and these fields.
  static constexpr size_t kMaxAdded = 2 + kMaxSize;

  struct RunCursor;

  void Encode(const TraceBuffer::ProducerIdentity& producer,
              uint32_t sequence_id);
  // Writes packets of a run as records, up to one that is not short or has rare
  // fields, or up to near the end of the run or the records.
  RunCursor WriteShortPackets(RunCursor cursor,
                              const uint8_t* end,
                              const uint8_t* records_end) const;
  // Writes the next packet. Returns false if AppendTo() ends there.
  bool WriteAnyPacket(const TraceBuffer::Run& run,
                      const uint8_t* records_end,
                      RunCursor* cursor) const;

  const bool stamps_pid_;
  // The sequence of |bytes_|; 0 if there is none.
  uint32_t sequence_id_ = 0;
  // The size without previous_packet_dropped, which comes last.
  size_t size_ = 0;
  uint8_t bytes_[kMaxSize] = {};
};

// Appends a packet as it is, and its trusted fields. REQUIRES: it is valid.
void AppendPacket(ConstBytes packet,
                  ConstBytes trusted,
                  std::vector<uint8_t>* trace);

// The values of the clocks at one moment, in nanoseconds.
struct ClockReadings {
  uint64_t realtime = 0;
  uint64_t monotonic = 0;
  // A value that is 0 if there is no such clock.
  uint64_t boottime = 0;
};

ClockReadings ReadClocks();
// Reads them for a trace that has |earlier|, all 0 for none. The distances of
// the clocks stay as they were unless they have drifted, so that what lies
// between two readings does not move a part of the trace.
ClockReadings ReadClocksAfter(const ClockReadings& earlier);
// Returns whether the clocks have drifted apart so much in between that
// timestamps after |later| need |later|.
bool HaveDrifted(const ClockReadings& earlier, const ClockReadings& later);

// These functions return false, or throw std::bad_alloc, if there is no memory,
// and have appended nothing then.
// Appends the beginning of a trace, with |raw_config| if it is not empty.
bool AppendTraceHeader(const ClockReadings& clocks,
                       const std::string& raw_config,
                       std::vector<uint8_t>* trace);
bool AppendClockSnapshot(const ClockReadings& clocks,
                         std::vector<uint8_t>* trace);
// Appends the end of a trace.
bool AppendTraceTrailer(const ClockReadings& clocks,
                        const TraceStats& stats,
                        std::vector<uint8_t>* trace);

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_SERVICE_PACKETS_H_
