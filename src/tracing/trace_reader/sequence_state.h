// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_SEQUENCE_STATE_H_
#define SRC_TRACING_TRACE_READER_SEQUENCE_STATE_H_

#include <stdint.h>

#include <memory>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/trace_reader/clock_table.h"
#include "src/tracing/trace_reader/id_map.h"
#include "src/tracing/trace_reader/interned_data.h"
#include "src/tracing/trace_reader/task_sequence.h"
#include "src/tracing/trace_reader/track_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The state of a sequence: its interned texts, defaults and clocks, and its
// last times. A writer, or a loss, makes it start over.
class SequenceState {
 public:
  static constexpr TrackIndex kNoTrack = UINT32_MAX;

  SequenceState(uint32_t number, TextTable* text_table)
      : id(number), texts(text_table) {}

  // Forgets all descriptions, because the sequence writes them again.
  void Clear();
  // Reads a TracePacketDefaults.
  void SetDefaults(ConstBytes defaults, TrackTable* tracks);
  // Reads a ThreadDescriptor, which older traces have in place of default
  // tracks. Adds it to |tracks| unless it |is_known| there.
  void SetThread(ConstBytes thread_descriptor,
                 bool is_known,
                 TrackTable* tracks);
  // Reads a TrackDescriptor that |tracks| has: that of a thread is one of the
  // sequence's thread, too. Values that it leaves out stay.
  void SetThreadOfTrack(ConstBytes track_descriptor, TrackTable* tracks);

  // Finds the default track again: a description may have shown that the
  // sequence means another track by its uuid than another program.
  void FindDefaultTrack(TrackTable* tracks) {
    default_track =
        default_uuid != 0 ? tracks->IndexOf(default_uuid) : kNoTrack;
    ChooseTrack();
  }

  // Returns the track of events that name none.
  TrackIndex OwnTrack(TrackTable* tracks) {
    if (track == kNoTrack)
      track = tracks->IndexOfSequence(id);
    return track;
  }
  // Converts a time of the packets' clock; |clock_id| of 0 is the default one.
  // Sets |*is_related| to false if nothing relates that clock.
  uint64_t ToTraceTime(uint64_t timestamp,
                       uint32_t clock_id,
                       ClockTable* clocks,
                       bool* is_related);
  // Adds to an incremental counter. Returns the sum.
  double AddToCounter(TrackIndex counter, double value);
  // Returns the sums of the incremental counters, in the order of their first
  // values.
  struct Sum {
    TrackIndex counter;
    double value;
  };
  const std::vector<Sum>& sums() const { return sums_; }

  const uint32_t id;
  bool is_valid = false;
  InternedTexts texts;
  std::unique_ptr<TaskSequence> tasks;  // Null without steps of tasks.

  // The defaults of packets.
  uint32_t clock_id = 0;
  TrackIndex default_track = kNoTrack;
  uint64_t default_uuid = 0;  // That of |default_track|, if there is one.
  std::vector<uint64_t> extra_counters;
  std::vector<uint64_t> extra_double_counters;
  // The content of the sequence's last ThreadDescriptor, if it has one.
  TrackIndex thread_track = kNoTrack;
  int32_t pid = 0;
  int64_t tid = 0;  // 0 in traces that number threads from 0.
  bool has_thread() const { return thread_track != kNoTrack; }
  // The last values of the clock and of the thread's counters that are written
  // as differences.
  struct References {
    int64_t time_us = 0;
    int64_t thread_time_us = 0;
    int64_t instructions = 0;
    bool operator==(const References& other) const {
      return time_us == other.time_us &&
             thread_time_us == other.thread_time_us &&
             instructions == other.instructions;
    }
  } references;
  // The track of events that name none: one of those above, or one that the
  // reader makes.
  TrackIndex track = kNoTrack;

  // Members that stay when the sequence starts over.
  uint32_t epoch = 0;  // A number that changes with each loss.
  bool has_begun = false;
  bool has_gap = false;
  bool is_in_gap = false;
  bool lacks_steps = false;  // True if steps of tasks are lost since the last.
  // The event before, if it was the beginning of a slice.
  TrackIndex last_begin_track = kNoTrack;
  uint64_t last_begin_ns = 0;
  uint64_t num_gaps = 0;
  uint64_t num_clears = 0;
  uint64_t last_ns = 0;      // The time of its last event.
  uint64_t last_own_ns = 0;  // The same for its own track, since a loss.

 private:
  void SetReferences(const trace::ThreadDescriptor::Decoder& thread);
  void ChooseTrack() {
    track = default_track != kNoTrack ? default_track : thread_track;
  }

  // The clock that was used last.
  uint32_t known_clock_id_ = 0;
  uint32_t known_generation_ = UINT32_MAX;
  TraceClockState* known_clock_ = nullptr;

  IdMap sum_indexes_;
  std::vector<Sum> sums_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_SEQUENCE_STATE_H_
