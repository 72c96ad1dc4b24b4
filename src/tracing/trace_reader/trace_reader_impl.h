// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_TRACE_READER_IMPL_H_
#define SRC_TRACING_TRACE_READER_TRACE_READER_IMPL_H_

#include <stdint.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/field.h"
#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_reader/clock_table.h"
#include "src/tracing/trace_reader/details_pool.h"
#include "src/tracing/trace_reader/event_order.h"
#include "src/tracing/trace_reader/event_reader.h"
#include "src/tracing/trace_reader/path_table.h"
#include "src/tracing/trace_reader/sequence_state.h"
#include "src/tracing/trace_reader/slice_nesting.h"
#include "src/tracing/trace_reader/task_step_reader.h"
#include "src/tracing/trace_reader/text_table.h"
#include "src/tracing/trace_reader/track_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The first stage, which reads packets and connects the other stages:
//
//   packets --> SequenceState --> EventReader --> EventOrder --> SliceNesting
//                InternedTexts      |   \                            |
//                ClockTable         |    on_instant, on_counter      on_slice
//                TrackTable         legacy_event.h
//       |--> TaskStepReader --> on_task_step
//       '--> on_kernel_packet
class TraceReaderImpl final : private SliceSink {
 public:
  explicit TraceReaderImpl(TraceReader::Callbacks callbacks);

  bool Read(ConstBytes packets);
  void ReadAhead(ConstBytes packets);
  void set_read_ahead(std::function<void()> read_ahead);
  void ReleaseEvents();
  void ForEachOpenSlice(uint64_t now_ns,
                        const std::function<void(const Slice&)>& visit) const {
    nesting_.ForEachOpen(
        now_ns, [&](const NestedSlice& slice) { visit(SliceOf(slice)); });
  }
  void Finish();
  uint64_t end_ns() const;

  std::string error;

 private:
  friend class ::protozero::PROTOZERO_ABI_NAMESPACE::TraceReader;
  struct Packet;

  void OnPacket(ConstBytes bytes);
  // Reads fields that are rarer than events. Returns true for a snapshot.
  bool ReadMore(ConstBytes bytes,
                const Packet& packet,
                SequenceState* sequence);
  void OnKernelPacket(const Packet& packet, SequenceState* sequence);
  void ReadDescriptions(ConstBytes bytes);
  // Reads the field of a packet if it describes tracks or extensions.
  void ReadDescription(const Field& field);
  // Inflates |bytes|, and calls |read| with the packets. Returns false if they
  // cannot be inflated, or were inside of inflated packets.
  template <typename Function>
  bool ReadInflated(uint32_t field_id, ConstBytes bytes, Function read);
  void OnStats(ConstBytes bytes);
  void OnGap(const Packet& packet, SequenceState* sequence);
  void OnTime(uint64_t time_ns, SequenceState* sequence);
  void OnSlice(const NestedSlice& slice) override;
  void OnUnfinished(const NestedSlice& slice) override;
  void OnInstant(const NestedSlice& instant) override;
  Slice SliceOf(const NestedSlice& slice) const;
  SequenceState* SequenceOf(uint32_t id);

  const TraceReader::Callbacks callbacks_;
  TextTable texts_;
  TrackTable tracks_{&texts_};
  const TraceTracks public_tracks_{&tracks_};
  ClockTable clocks_;
  DetailsPool details_;
  PathTable paths_{callbacks_.max_paths};
  SliceNesting nesting_{&texts_, &details_, this,
                        callbacks_.max_paths != 0 ? &paths_ : nullptr};
  EventOrder order_{TraceReader::kMaxLateness, &nesting_};
  EventReader events_{{callbacks_, texts_, tracks_, clocks_, details_, order_}};
  TaskStepReader task_steps_{&callbacks_, &tracks_};
  std::unordered_map<uint32_t, SequenceState> sequences_;
  SequenceState* last_sequence_ = nullptr;
  bool is_inflated_ = false;
  bool has_read_ahead_ = false;

  std::map<uint32_t, Gaps> gaps_;
  std::map<uint32_t, uint64_t> packets_lost_;
  std::vector<LostStretch> lost_stretches_;
  uint64_t skipped_ = 0;
  uint64_t skipped_by_loss_ = 0;
  uint64_t unknown_losses_ = 0;
  bool has_stats_ = false;
  // The latest time of a clock snapshot, or of a packet without an event.
  uint64_t last_packet_ns_ = 0;
};

// Returns the name of a field of TracePacket with events that the reader does
// not read. Returns null for all other fields.
const char* NameOfUnread(uint32_t packet_field_id);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_TRACE_READER_IMPL_H_
