// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_LOCAL_FLIGHT_READER_H_
#define SRC_TRACING_LOCAL_FLIGHT_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_stats.h"
#include "src/tracing/reader/ring_reader.h"
#include "src/tracing/service/service_packets.h"
#include "src/tracing/writer/flight_header.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Makes a trace of the file of a FlightRecorder: clocks, all packets that were
// finished and not overwritten, and the statistics. The file is not trusted.
class FlightReader {
 public:
  // Takes a part of the trace. Returns false to stop.
  using Write = std::function<bool(const uint8_t* data, size_t size)>;

  // Returns the size of a file with this |header| of FlightHeader::kSize bytes,
  // aligned to 8 bytes. Returns 0 if it is none, with the reason in |error|.
  static size_t SizeOf(const uint8_t* header, std::string* error);
  // Takes the bytes of a file, which outlive this. Returns false if they are
  // none, with the reason in |error|. REQUIRES: aligned to 8 bytes.
  bool Open(ConstBytes file, std::string* error);

  // Pass the trace to |write|: its beginning, the packets, and its end. Return
  // false if |write| has, or if there is no memory; may also throw
  // std::bad_alloc. REQUIRES: Open() has returned true. A trace of several
  // files has one beginning and one end.
  bool WriteBegin(const Write& write) const;
  // Sets the process of the packets to |uid| and |pid|, and numbers their
  // sequences from |*last_sequence_id| on, which it sets to the last one. Call
  // it once.
  bool WritePackets(uint32_t uid,
                    int32_t pid,
                    uint32_t* last_sequence_id,
                    const Write& write);
  // The trace ends when the recording did, or now if it goes on. If that is
  // unknown, because the process was killed, it ends with its last event.
  bool WriteEnd(const TraceStats& stats,
                bool goes_on,
                const Write& write) const;
  // Does all of this for one file.
  bool ReadTrace(const Write& write);

  // Returns what WritePackets() has found: packets by what became of them.
  const TraceBufferStats& stats() const { return stats_; }
  // Return the process of the file, as the file says.
  uint32_t uid() const { return header()->uid; }
  int32_t pid() const { return header()->pid; }
  // Returns the size of programs' files, if the file is that of a folder's
  // recorder; 0 if it does not say.
  uint64_t program_size() const;

 private:
  const FlightHeader* header() const {
    return reinterpret_cast<const FlightHeader*>(file_.data);
  }
  // Returns the clocks in the header.
  service::ClockReadings clocks() const {
    return {header()->realtime_ns, header()->monotonic_ns,
            header()->boottime_ns};
  }
  // Returns the clocks at the end; those in the header if they are unknown.
  service::ClockReadings end_clocks() const;
  void CountLosses(const RingReader::Stats& stats);

  ConstBytes file_;
  SharedMemoryABI abi_;
  TraceBufferStats stats_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_LOCAL_FLIGHT_READER_H_
