// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TIMELINE_READER_H_
#define SRC_PZTRACE_TIMELINE_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace.h"
#include "src/pbz/schema.h"
#include "src/pztrace/annotation_json.h"
#include "src/pztrace/slice_stack.h"

namespace pztrace {

struct Slice {
  // Stays where it is as long as the reader. |text_id| counts from 0, one for
  // each different text.
  const EventText* text;
  uint32_t text_id;
  // How many slices of the track it is within.
  uint32_t depth;
  uint64_t track;  // The key in TimelineReader::tracks().
  uint64_t begin_ns;
  uint64_t duration_ns;
  // Without the slices within it, of the same track.
  uint64_t self_ns;
  // Of its beginning and its end. Only in the callback, and if they are read.
  const EventDetails* details;
};

struct Instant {
  const EventText* text;
  uint64_t track;
  uint64_t time_ns;
  const EventDetails* details;  // As a slice has it.
};

struct CounterValue {
  uint64_t track;
  uint64_t time_ns;
  double value;
};

// What a trace says of a track. That of a process has its |pid|, that of a
// thread |pid| and |tid|; the others are 0.
struct TrackInfo {
  uint64_t parent = 0;
  std::string name;
  int32_t pid = 0;
  int64_t tid = 0;
  int32_t order = 0;  // Among its siblings.
  bool is_counter = false;
  bool is_incremental = false;
  std::string unit;  // "ns", "bytes", or as the program says.
  double multiplier = 1;
};

// The time from the last event before a loss to the first one behind it.
struct LostStretch {
  uint64_t track;  // The thread's, as a slice has it.
  uint64_t begin_ns;
  uint64_t end_ns;
};

// Where packets of a sequence are missing.
struct Gaps {
  uint64_t track = 0;  // The thread's, if the sequence has said it.
  int32_t pid = 0;     // 0 if it is not known.
  uint64_t places = 0;
};

// Finds the events of a trace, packet by packet. Bytes may be anything: what is
// malformed is not there.
//
// The slices of a thread's own track come from one sequence, and in order; they
// take memory for the open ones only. Those of another track may come from
// several sequences, which follow each other in the file in any order, so they
// are kept until Finish() has sorted them by time.
class TimelineReader {
 public:
  // Those that are empty are not called. In any order.
  struct Callbacks {
    std::function<void(const Slice&)> on_slice;
    std::function<void(const Instant&)> on_instant;
    std::function<void(const CounterValue&)> on_counter;
    // To read the details takes time.
    bool reads_details = false;
  };

  explicit TimelineReader(Callbacks callbacks)
      : callbacks_(std::move(callbacks)),
        on_end_([this](const OpenSlice& slice, uint64_t end_ns) {
          OnEnd(slice, end_ns);
        }) {}
  TimelineReader(const TimelineReader&) = delete;
  TimelineReader& operator=(const TimelineReader&) = delete;

  // The message TrackEvent, with the extensions that details have to show.
  // Null, as at first: none. Has to be there in Read().
  void set_event_type(const pbz::MessageType* type) { event_type_ = type; }

  // |packets| are fields of a Trace. Returns false if they are not whole.
  bool Read(protozero::ConstBytes packets);
  // After the last packet.
  void Finish();

  // By number. A track without one is there as the number of its sequence.
  const std::map<uint64_t, TrackInfo>& tracks() const { return infos_; }

  // What the real-time clock, in nanoseconds since 1970, showed more than the
  // clock of the trace. Null if the trace has not said it yet.
  std::optional<int64_t> realtime_offset_ns() const { return realtime_offset_; }

  // Slices without an end. A loss ends all slices that are open on the thread:
  // these are counted in |lost_ends|, too. The others had not ended.
  uint64_t unfinished() const { return unfinished_; }
  uint64_t lost_ends() const { return lost_ends_; }
  // Ends without a beginning.
  uint64_t unbegun() const { return unbegun_; }
  // Packets that refer to others that are not there: lost ones, which are
  // counted in |skipped_by_loss|, too, or ones from before the recording.
  uint64_t skipped() const { return skipped_; }
  uint64_t skipped_by_loss() const { return skipped_by_loss_; }

  // The time of the earliest event.
  uint64_t first_ns() const { return first_ns_; }
  // In the order of the file.
  const std::vector<LostStretch>& lost_stretches() const {
    return lost_stretches_;
  }
  // By sequence, those that have any.
  const std::map<uint32_t, Gaps>& gaps() const { return gaps_; }
  // What the service says to have lost, by the number of the LossReason.
  // Several services may have written to one file.
  const std::map<uint32_t, uint64_t>& packets_lost() const {
    return packets_lost_;
  }
  // Places where the service does not know how many packets are lost.
  uint64_t unknown_losses() const { return unknown_losses_; }
  // The trace has statistics of a service.
  bool has_stats() const { return has_stats_; }

 private:
  using TrackEvent = protozero::trace::TrackEvent;
  using TracePacket = protozero::trace::TracePacket;

  using TextId = uint32_t;

  struct Clock {
    uint64_t ticks = 0;
    uint64_t ns_per_tick = 1;
    bool is_incremental = false;
  };

  // What a sequence has told the reader since it began anew.
  struct Sequence {
    bool is_valid = false;
    std::map<uint64_t, std::string> categories;
    std::map<uint64_t, std::string> names;
    AnnotationStrings annotations;
    std::map<uint32_t, Clock> clocks;
    uint32_t clock_id = 0;
    uint32_t id = 0;
    bool has_begun = false;  // Before it began anew.
    // Also from before: the time of the last event, and losses.
    uint64_t last_ns = 0;
    bool has_gap = false;
    bool is_in_gap = false;
    uint64_t track = 0;
    SliceStack stack;                 // Of that track.
    std::map<uint64_t, double> sums;  // Of counters that are incremental.

    uint64_t own_track() const { return track != 0 ? track : id; }
  };

  // The beginning or the end of a slice.
  struct Event {
    bool is_begin;
    TextId text_id;
    SliceEnd what;
  };

  // The sequence whose own track one is, and ends of its slices by others that
  // were in front of their beginnings.
  struct Owner {
    uint32_t sequence;
    // By the last bits of when the slice has begun.
    std::unordered_multimap<uint64_t, SliceEnd> ends;
  };

  void OnPacket(protozero::ConstBytes bytes);
  void OnInterned(protozero::ConstBytes bytes, Sequence* sequence);
  void OnClocks(protozero::ConstBytes bytes, Sequence* sequence);
  void OnTrack(protozero::ConstBytes bytes);
  void OnStats(protozero::ConstBytes bytes);
  void OnGap(const TracePacket::Decoder& packet, const Sequence& sequence);
  void OnTime(uint64_t time_ns, Sequence* sequence);
  void OnEvent(protozero::ConstBytes bytes,
               uint64_t time_ns,
               std::optional<uint32_t> ended_duration,
               Sequence* sequence);
  void OnBegin(OpenSlice slice, bool is_own_track, Sequence* sequence);
  void OnEnd(SliceEnd end,
             uint64_t track,
             bool is_own_track,
             Sequence* sequence);
  void OnCounter(const TrackEvent::Decoder& event,
                 uint64_t track,
                 uint64_t time_ns,
                 Sequence* sequence);
  static uint64_t TimeNs(const TracePacket::Decoder& packet,
                         Sequence* sequence);
  TextId TextOf(const TrackEvent::Decoder& event, const Sequence& sequence);
  EventDetails DetailsOf(protozero::ConstBytes bytes,
                         const TrackEvent::Decoder& event,
                         const Sequence& sequence) const;
  // Calls on_slice.
  void OnEnd(const OpenSlice& slice, uint64_t end_ns);
  void AddWaitingEnd(SliceEnd end, Owner* owner);
  void SetTrack(uint64_t track, Sequence* sequence);
  void End(const SliceEnd& end, SliceStack* stack);
  void Drop(SliceStack* stack);

  const Callbacks callbacks_;
  const SliceStack::OnEnd on_end_;
  const pbz::MessageType* event_type_ = nullptr;
  std::unordered_map<uint32_t, Sequence> sequences_;
  std::unordered_map<uint64_t, std::vector<Event>> tracks_;
  std::unordered_map<uint64_t, Owner> owners_;  // By track.
  size_t num_waiting_ends_ = 0;
  std::map<uint64_t, TrackInfo> infos_;
  std::map<std::pair<std::string, std::string>, TextId> text_ids_;
  std::deque<EventText> texts_;
  std::map<uint32_t, Gaps> gaps_;
  std::map<uint32_t, uint64_t> packets_lost_;
  std::optional<int64_t> realtime_offset_;
  uint64_t unfinished_ = 0;
  uint64_t lost_ends_ = 0;
  uint64_t unbegun_ = 0;
  uint64_t skipped_ = 0;
  uint64_t skipped_by_loss_ = 0;
  uint64_t unknown_losses_ = 0;
  bool has_stats_ = false;
  uint64_t first_ns_ = UINT64_MAX;
  std::vector<LostStretch> lost_stretches_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TIMELINE_READER_H_
