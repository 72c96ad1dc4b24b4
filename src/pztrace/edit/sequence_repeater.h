// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EDIT_SEQUENCE_REPEATER_H_
#define SRC_PZTRACE_EDIT_SEQUENCE_REPEATER_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace.h"
#include "src/pztrace/edit/packet_scanner.h"

namespace pztrace {

// Repeats the interned data, defaults and clocks that a cut piece depends on,
// from packets that it leaves out. The packets that stay are unchanged:
//
//   the sequence   C i e e i e e e e i e C e e     C clears the state and has
//   stays                  . . e e e . .   e e       clocks and defaults,
//   the piece           S      e e e     S e e     i is interned data, e an
//                                                    event, S repeats it
//
// - SEQ_INCREMENTAL_STATE_CLEARED, if that has been since, or else what has
//   been interned since; the defaults, if they have changed.
// - A snapshot of each clock of the sequence. The timestamps of an incremental
//   clock are differences. So the snapshot has the value that the clock had
//   before the packet that stays. Later, a packet without an event and with the
//   difference is enough.
// - The ThreadDescriptor of older traces, or the TrackDescriptor of a thread if
//   events are on no other track, with the time that they count from.
// - The sums of counters whose values are differences, as events.
//
// Packets that follow each other need nothing between them.
class SequenceRepeater {
 public:
  // The piece that repeated packets go to.
  struct Piece {
    const TraceTables& tables;
    const std::vector<bool>& is_used;  // By track. Other counters have no sums.
    uint32_t trace_clock;
    std::string* bytes;
  };

  // Remembers the state before |packet|. Call it before PacketScanner::Read().
  void Begin(const ScannedPacket& packet);
  // Appends what readers of the piece need before |packet|. Call it after
  // Read(), if the packet goes into the piece.
  void Say(const ScannedPacket& packet, const Piece& piece);
  // Appends that packets are missing before |packet|, which is left out.
  void SayLoss(const ScannedPacket& packet, const Piece& piece);
  // Adds what |packet| defines.
  void End(const ScannedPacket& packet,
           protozero::internal::ClockTable* trace_clocks,
           bool is_kept);

 private:
  using Sums = std::vector<protozero::internal::SequenceState::Sum>;

  struct Clock {
    uint32_t id;
    protozero::internal::TraceClockState* state;
    bool is_said = false;
    uint64_t said_ticks = 0;
    uint64_t ticks_before = 0;

    bool is_owed() const {
      return !is_said ||
             (state->is_incremental() && ticks_before != said_ticks);
    }
  };

  void ForgetSaid();
  void SayState(const ScannedPacket& packet, bool clears, const Piece& piece);
  void SayClocks(const ScannedPacket& packet, const Piece& piece);
  void SayThread(const ScannedPacket& packet, const Piece& piece);
  void SaySums(const ScannedPacket& packet, const Piece& piece);
  void AddState(const ScannedPacket& packet);
  void AddThreadOfTrack(const ScannedPacket& packet, bool is_kept);
  void AddClocks(const ScannedPacket& packet,
                 protozero::internal::ClockTable* trace_clocks,
                 bool is_kept);
  void MarkSaid(const ScannedPacket& packet);

  // The fields of the sequence's InternedData since it was cleared, and its
  // last TracePacketDefaults and ThreadDescriptor, with the TrackDescriptor
  // around that.
  std::string interned_;
  std::string defaults_;
  std::string thread_;
  std::string track_;
  std::vector<Clock> clocks_;
  uint32_t generation_ = 0;  // Counts how often it was cleared.

  // The part of it that readers of the piece know.
  uint32_t said_generation_ = 0;
  size_t said_interned_ = 0;
  bool has_said_defaults_ = false;
  bool has_said_thread_ = false;
  protozero::internal::SequenceState::References said_references_;
  std::vector<double> said_sums_;
  // True if readers of the piece have forgotten the state, because of a loss.
  bool has_said_loss_ = false;

  // The state before the packet.
  bool was_valid_ = false;
  protozero::internal::SequenceState::References references_before_;
  uint64_t last_ns_before_ = 0;
  Sums sums_before_;
};

// Appends the fields that say who has written |packet|.
void AppendWriter(const ScannedPacket& packet,
                  protozero::trace::TracePacket* said);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EDIT_SEQUENCE_REPEATER_H_
