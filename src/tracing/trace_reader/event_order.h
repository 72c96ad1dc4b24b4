// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_EVENT_ORDER_H_
#define SRC_TRACING_TRACE_READER_EVENT_ORDER_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <vector>

#include "src/tracing/trace_reader/id_map.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A part of a slice on a track, in as few bytes as possible.
struct TimedEvent {
  enum Kind : uint32_t {
    kBegin,
    kEnd,          // Ends the innermost slice, or that of |text|.
    kExactEnd,     // Ends the slice that began |duration| ns before, mod 2^30.
    kState,        // Ends the state before, and begins one if it has a text.
    kLoss,         // Marks a loss on the sequence: |epoch| is over.
    kDetails,      // Adds details to the innermost slice.
    kNextDetails,  // Adds details to the slice that begins next.
    kInstant,
  };
  static constexpr uint32_t kNoText = UINT32_MAX;
  static constexpr uint32_t kEpochMask = (uint32_t{1} << 28) - 1;
  static constexpr uint32_t kKindMask = 7;

  uint64_t time_ns;
  uint32_t track;  // A TrackIndex.
  union {
    uint32_t text;  // A TextId, or kNoText.
    uint32_t duration;
  };
  uint32_t details;  // A DetailsId.
  // The value of SequenceState::epoch.
  uint32_t epoch : 28;
  uint32_t kind : 3;
  // True for an end after its beginning in the file, but before it in time.
  uint32_t is_early : 1;
};
static_assert(sizeof(TimedEvent) == 24, "many are kept");

// Takes the events of each track in the order of their times.
class EventSink {
 public:
  virtual void OnEvent(const TimedEvent& event) = 0;

 protected:
  ~EventSink() = default;
};

// Puts the events of each track into the order of their times; those of the
// same time stay in the order of the file. It keeps two blocks of events:
//
//   file   ...|  older block  |  newer block  |
//             <- |capacity| -> <- ... up to ->
//
// When the newer block is full, the events of the older one go to the sink.
// Events of the newer one go with them if they are earlier than an event of
// their track in the older one. So an event finds its place unless a later one
// of its track is more than |capacity| events before it in the file.
//
// Most events are in order already, and need no sorting. A track takes 16
// bytes.
class EventOrder {
 public:
  EventOrder(size_t capacity, EventSink* sink)
      : capacity_(capacity), sink_(sink) {}

  void Add(const TimedEvent& event) {
    if (event.track >= tracks_.size()) {
      tracks_.resize(size_t{event.track} + 1);
      is_unsorted_.resize(size_t{event.track} + 1);
    }
    TrackOrder& track = tracks_[event.track];
    if (event.time_ns >= track.last_ns)
      track.last_ns = event.time_ns;
    else
      OnDisorder(event);
    newer_.push_back(event);
    if (newer_.size() >= capacity_)
      Release();
  }
  // Gives the older block of the events to the sink, and begins another one.
  void Release();
  // Gives all events to the sink.
  void Finish();

  bool is_empty() const { return older_.empty() && newer_.empty(); }

  // Returns how many events came after the sink had got a later one of their
  // track.
  uint64_t late() const { return late_; }

 private:
  struct TrackOrder {
    uint64_t last_ns = 0;      // The latest event of the track.
    uint64_t released_ns = 0;  // The latest event that the sink has.
  };
  // A track with events that wait to be sorted.
  struct UnsortedTrack {
    uint32_t track;
    uint64_t cut_ns;   // The sink gets the earlier events.
    uint64_t last_ns;  // The latest event that stays.
  };

  void OnDisorder(const TimedEvent& event);
  void Give(const TimedEvent& event);
  void GiveUnsorted();
  // Returns the index in unsorted_, or IdMap::kNone.
  uint32_t UnsortedOf(uint32_t track) const {
    return is_unsorted_[track] ? unsorted_indexes_.Find(track) : IdMap::kNone;
  }
  void AddUnsorted(uint32_t track);

  const size_t capacity_;
  EventSink* const sink_;
  std::vector<TimedEvent> older_;
  std::vector<TimedEvent> newer_;
  std::deque<TrackOrder> tracks_;
  std::vector<bool> is_unsorted_;  // The index is the track.
  IdMap unsorted_indexes_;
  std::vector<UnsortedTrack> unsorted_;
  std::vector<TimedEvent> sorted_;
  std::vector<uint32_t> places_;  // Indexes of sorted_, in order.
  uint64_t late_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_EVENT_ORDER_H_
