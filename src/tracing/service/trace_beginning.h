// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_TRACE_BEGINNING_H_
#define SRC_TRACING_SERVICE_TRACE_BEGINNING_H_

#include <stdint.h>

#include <vector>

#include "protozero/const_bytes.h"
#include "src/tracing/service/trace_buffer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// Begins a trace in the middle of a recording: leaves out the events before
// that, and keeps what later ones refer to. A packet is from before the
// beginning if it is older, or if the trace before this one has it.
//
//   the writer's packets   C i e e i e e|e e i e      C clears the state and
//   has the trace              C i     i    |E e i e        clocks, i is
//   interned
//                                                       data with an event
//
// The timestamps of a writer's clock may be differences. So the first packet
// after some that were left out, E, has the sum of their differences.
//
// Packets of writers that do not report losses, which are those of other
// libraries, stay as they are: values of their counters may be differences,
// too.
class TraceBeginning {
 public:
  // |time_ns| is a time on the trace's clock, 0 if no packet is too old.
  explicit TraceBeginning(uint64_t time_ns) : time_ns_(time_ns) {}

  // Sets |left| to what the trace has of a packet; it is valid until the next
  // call. Returns false if that is nothing. Throws std::bad_alloc, and has
  // changed nothing then. REQUIRES: the packet is valid, and has a beginning.
  bool Cut(const TraceBuffer::Packet& packet, ConstBytes* left);

 private:
  bool IsBefore(const TraceBuffer::Packet& packet, uint64_t packet_ns) const;
  // Sets |bytes_| to the wanted fields of a packet.
  void CopyFields(ConstBytes packet, bool (*is_wanted)(uint32_t field_id));

  const uint64_t time_ns_;
  std::vector<uint8_t> bytes_;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_TRACE_BEGINNING_H_
