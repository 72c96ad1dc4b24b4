// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_EVENT_READER_H_
#define SRC_TRACING_TRACE_READER_EVENT_READER_H_

#include <stdint.h>

#include <map>
#include <optional>
#include <string>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_reader/clock_table.h"
#include "src/tracing/trace_reader/details_pool.h"
#include "src/tracing/trace_reader/event_order.h"
#include "src/tracing/trace_reader/read_event.h"
#include "src/tracing/trace_reader/sequence_state.h"
#include "src/tracing/trace_reader/text_table.h"
#include "src/tracing/trace_reader/track_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Makes events of TrackEvent messages: parts of slices for the EventOrder,
// instants and counter values for the user.
class EventReader final : private ReadEventSink {
 public:
  explicit EventReader(const EventParts& parts) : parts_(parts) {}

  // Reads a TrackEvent. |time_ns| is the time of its packet, which is not the
  // event's in older traces; SequenceState sets |is_related|. |ended_duration|
  // is TracePacket.ended_slice_duration. Returns the time.
  uint64_t Read(ConstBytes event,
                uint64_t time_ns,
                bool is_related,
                std::optional<uint32_t> ended_duration,
                SequenceState* sequence);
  // Says that packets of the sequence are missing: its slices may have ended.
  void AddLoss(SequenceState* sequence);

  // Leaves out values of threads' counters that events of older traces have:
  // such an event is no value of a counter.
  void SkipThreadCounters() { skips_thread_counters_ = true; }

  // Counts something that the reader does not read, for the user.
  void AddUnread(const std::string& what) override { ++unread_[what]; }

  // Return the times of the earliest and the latest event.
  uint64_t first_ns() const { return first_ns_; }
  uint64_t last_ns() const { return last_ns_; }
  uint64_t unrelated() const {
    return parts_.clocks.has_trace_clock() ? unrelated_ : 0;
  }
  const std::map<std::string, uint64_t>& unread() const { return unread_; }

 private:
  struct Fields;

  // ReadEventSink:
  void AddBegin(const ReadEvent& event) override;
  void AddEnd(const ReadEvent& event,
              std::optional<uint32_t> duration) override;
  void AddComplete(const ReadEvent& event, uint64_t duration_ns) override;
  void AddToOpenSlice(const ReadEvent& event) override;
  void AddToNextSlice(const ReadEvent& event) override;
  void AddInstant(const ReadEvent& event) override;
  void AddCounter(const ReadEvent& event, double value) override;

  void AddState(const ReadEvent& event);
  static Fields ReadFields(ConstBytes event);
  TextId TextOf(const Fields& fields,
                ConstBytes event,
                SequenceState* sequence);
  uint64_t LegacyTime(const Fields& fields, SequenceState* sequence);
  TrackIndex TrackOf(const Fields& fields, SequenceState* sequence);
  // Adds values of the counters that each thread has, of older traces.
  void AddThreadCounters(const ReadEvent& event);
  void AddExtraCounters(const ReadEvent& event);
  void FormatDetails(const ReadEvent& event, EventDetails* details);
  DetailsId KeepDetails(const ReadEvent& event);
  void AddDetails(const ReadEvent& event, TimedEvent::Kind kind);
  void Add(const ReadEvent& event,
           TimedEvent::Kind kind,
           uint64_t time_ns,
           uint32_t text_or_duration,
           DetailsId details);

  const EventParts parts_;
  EventDetails scratch_;
  uint64_t first_ns_ = UINT64_MAX;
  uint64_t last_ns_ = 0;
  uint64_t unrelated_ = 0;
  uint32_t num_epochs_ = 0;
  bool skips_thread_counters_ = false;
  std::map<std::string, uint64_t> unread_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_EVENT_READER_H_
