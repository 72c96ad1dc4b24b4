// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_READ_EVENT_H_
#define SRC_TRACING_TRACE_READER_READ_EVENT_H_

#include <stdint.h>

#include <optional>
#include <string>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_reader/clock_table.h"
#include "src/tracing/trace_reader/details_pool.h"
#include "src/tracing/trace_reader/event_order.h"
#include "src/tracing/trace_reader/sequence_state.h"
#include "src/tracing/trace_reader/text_table.h"
#include "src/tracing/trace_reader/track_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The fields that all kinds of events have.
struct ReadEvent {
  ConstBytes bytes;  // A TrackEvent.
  SequenceState* sequence = nullptr;
  uint64_t time_ns = 0;
  TrackIndex track = 0;
  TextId text = 0;
  bool has_text = false;
  bool has_flows = false;
  bool has_args = false;
  bool has_other_args = false;  // True for more than debug annotations.
  // A flow besides those of the fields of |bytes|.
  std::optional<EventFlow> flow = {};
};

// The parts of the reader that events need.
struct EventParts {
  const TraceReader::Callbacks& callbacks;
  TextTable& texts;
  TrackTable& tracks;
  ClockTable& clocks;
  DetailsPool& details;
  EventOrder& order;
};

// Takes events of each kind.
class ReadEventSink {
 public:
  virtual void AddBegin(const ReadEvent& event) = 0;
  // |duration| is TracePacket.ended_slice_duration.
  virtual void AddEnd(const ReadEvent& event,
                      std::optional<uint32_t> duration) = 0;
  virtual void AddComplete(const ReadEvent& event, uint64_t duration_ns) = 0;
  // Add flows and arguments to the open slice, or to the next one.
  virtual void AddToOpenSlice(const ReadEvent& event) = 0;
  virtual void AddToNextSlice(const ReadEvent& event) = 0;
  virtual void AddInstant(const ReadEvent& event) = 0;
  virtual void AddCounter(const ReadEvent& event, double value) = 0;
  // Counts something that the reader does not read.
  virtual void AddUnread(const std::string& what) = 0;

 protected:
  ~ReadEventSink() = default;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_READ_EVENT_H_
