// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EDIT_PACKET_SCANNER_H_
#define SRC_PZTRACE_EDIT_PACKET_SCANNER_H_

#include <stdint.h>

#include <optional>
#include <unordered_map>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/field.h"
#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_reader/clock_table.h"
#include "src/tracing/trace_reader/details_pool.h"
#include "src/tracing/trace_reader/event_order.h"
#include "src/tracing/trace_reader/event_reader.h"
#include "src/tracing/trace_reader/packet_header.h"
#include "src/tracing/trace_reader/sequence_state.h"
#include "src/tracing/trace_reader/text_table.h"
#include "src/tracing/trace_reader/track_table.h"

namespace pztrace {

// The texts and tracks of a trace. They keep their numbers when the trace is
// read once more.
struct TraceTables {
  protozero::internal::TextTable texts;
  protozero::internal::TrackTable tracks{&texts};
};

// The fields of a TracePacket.
struct ScannedPacket : protozero::internal::PacketHeader {
  enum class Content : uint8_t {
    kNone,  // Nothing, or only what changes the state of the sequence.
    kEvent,
    kClocks,
    kTrack,        // A TrackDescriptor.
    kThread,       // A ThreadDescriptor, which is state of the sequence.
    kDescription,  // A description of processes or extensions.
    kSession,      // A packet about the whole recording, as of its losses.
    kCompressed,   // Compressed packets.
    kOther,        // Everything else.
  };

  void SetEvent(const protozero::Field& field) { AddContent(field); }
  void AddState() { has_state = true; }
  void AddContent(const protozero::Field& field);

  protozero::ConstBytes bytes;  // The whole packet.
  protozero::ConstBytes content_bytes;
  uint32_t content_id = 0;  // The number of the field |content_bytes|.
  Content content = Content::kNone;
  // True for interned data, defaults, a ThreadDescriptor, and clocks of the
  // sequence.
  bool has_state = false;
  bool has_sequence_clocks = false;
  // True if it needs the state of its sequence, which is not known. Read() sets
  // this and |time_ns|.
  bool is_skipped = false;
  protozero::internal::SequenceState* sequence = nullptr;
  // The time of what it has, or of the clocks of its sequence, if it has one.
  std::optional<uint64_t> time_ns;
  // The time of its clock snapshot, if it has one.
  std::optional<uint64_t> snapshot_ns;
};

// Reads packets one by one, as TraceReader does, and says when and on which
// tracks their events are.
class PacketScanner final : private protozero::internal::EventSink {
 public:
  // REQUIRES: |tables| outlives it.
  explicit PacketScanner(TraceTables* tables);

  // Returns the fields of a packet. They are valid as long as its bytes.
  ScannedPacket Parse(protozero::ConstBytes bytes);
  // Changes the state of the sequence, and finds out the time. Call it for each
  // packet in the order of the file.
  void Read(ScannedPacket* packet);
  // Adds what the packet describes to the tables.
  void Describe(const ScannedPacket& packet);

  // An instant or a value of a counter.
  struct Moment {
    uint64_t track;
    const protozero::EventText* text;  // Null for a counter.
  };

  // Return the parts of slices in the last packet, and what it has besides.
  const std::vector<protozero::internal::TimedEvent>& events() const {
    return events_;
  }
  const std::vector<Moment>& moments() const { return moments_; }

  protozero::internal::ClockTable& clocks() { return clocks_; }
  // Return the times of the earliest and the latest event.
  uint64_t first_ns() const { return event_reader_.first_ns(); }
  uint64_t last_ns() const { return event_reader_.last_ns(); }

 private:
  void OnEvent(const protozero::internal::TimedEvent& event) override {
    events_.push_back(event);
  }
  protozero::TraceReader::Callbacks MakeCallbacks();
  // Reads what has no time of its own. Returns false if the packet has no more
  // than that.
  bool ReadState(ScannedPacket* packet);

  TraceTables* const tables_;
  const protozero::TraceReader::Callbacks callbacks_;
  protozero::internal::ClockTable clocks_;
  protozero::internal::DetailsPool details_;
  protozero::internal::EventOrder order_;
  protozero::internal::EventReader event_reader_;
  std::unordered_map<uint32_t, protozero::internal::SequenceState> sequences_;
  std::vector<protozero::internal::TimedEvent> events_;
  std::vector<Moment> moments_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EDIT_PACKET_SCANNER_H_
