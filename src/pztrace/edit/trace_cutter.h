// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EDIT_TRACE_CUTTER_H_
#define SRC_PZTRACE_EDIT_TRACE_CUTTER_H_

#include <stdint.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_reader.h"
#include "src/pztrace/edit/packet_scanner.h"
#include "src/pztrace/edit/sequence_repeater.h"
#include "src/pztrace/edit/wanted_slices.h"

namespace pztrace {

// Cuts a piece out of a trace: the packets with the events of a time. The piece
// is a trace that can be read by itself. It has, in the order of the trace:
//
// - the packets with events of that time, unchanged, and what their sequences
//   have between them;
// - the beginnings of slices that are open when the time begins, unchanged, at
//   their own times;
// - before either, the state of the sequence so far, see SequenceRepeater;
// - the descriptions of the tracks of these events, once for each change;
// - the packets about the whole recording, unchanged: clocks of the machine
//   until the end of that time, configuration, losses;
// - a snapshot of the trace's clock at the end of that time, if the trace goes
//   on: what is open lasts until then.
//
// So the events of pieces that follow each other are the events of the whole.
// Only a slice that is open at a cut is in both: it has no end in the first
// piece. Events that a reader of the whole cannot understand are left out.
//
// The trace is read three times. Memory depends on the number of tracks, of
// different texts, of sequences and of open slices, not on the length.
class TraceCutter {
 public:
  struct Options {
    // The time of the piece, since the first event of the trace. |to_ns| is no
    // part of it.
    uint64_t from_ns = 0;
    uint64_t to_ns = UINT64_MAX;
    // Return whether events of a category, and those of a process, are wanted.
    // Events without a category are, as are counters: only their process
    // matters. Null if all are wanted.
    std::function<bool(std::string_view category)> wants_category = {};
    std::function<bool(const protozero::TrackInfo& process)> wants_process = {};
  };

  static constexpr int kNumReadings = 3;

  explicit TraceCutter(Options options);

  // Reads a part of the trace: |packets| are fields of a Trace. The last
  // reading appends packets to |piece|. Returns false if they are not whole.
  bool Read(protozero::ConstBytes packets, std::string* piece);
  // Ends a reading. Call it after the last packet. The last reading may append
  // to |piece|.
  void EndReading(std::string* piece = nullptr);

  // Returns the processes of the trace. REQUIRES: a reading has ended.
  std::vector<protozero::TrackInfo> Processes() const;
  // Returns whether the piece has events. REQUIRES: the second reading has
  // ended.
  bool has_events() const { return has_events_; }
  // Counts the packets that are compressed, which cannot be cut.
  uint64_t num_compressed() const { return num_compressed_; }

 private:
  using TrackIndex = protozero::internal::TrackIndex;

  struct Sequence {
    // True if the last event, or the last clocks, were in the piece's time, and
    // the thread is wanted.
    bool is_inside = false;
    SequenceRepeater repeater;
  };

  // Reads a packet. |field| is the whole field of the trace.
  void ReadPacket(protozero::ConstBytes bytes,
                  std::string_view field,
                  std::string* piece);
  void BeginSecondReading();

  bool IsInTime(uint64_t time_ns) const {
    return time_ns >= from_ns_ && time_ns < to_ns_;
  }
  bool WantsText(const protozero::EventText& text);
  bool WantsTrack(TrackIndex track);
  bool WantsSlice(TrackIndex track, uint32_t text);
  bool BeginsWanted(const protozero::internal::TimedEvent& event);
  bool WantsMoment(const PacketScanner::Moment& moment);

  void FindUses(const ScannedPacket& packet);
  void Use(TrackIndex track);
  void UseParents();
  bool IsUsed(TrackIndex track) const {
    return track < is_used_.size() && is_used_[track];
  }

  void Cut(ScannedPacket packet, std::string_view field, std::string* piece);
  bool IsKept(const ScannedPacket& packet, bool is_inside);
  bool IsEventKept(const ScannedPacket& packet);
  void SayEnd(std::string* piece);
  // Returns whether |packet| describes something that the piece needs, and that
  // it does not say yet.
  bool IsNewDescription(const ScannedPacket& packet, bool is_kept);

  const Options options_;
  int reading_ = 0;
  TraceTables tables_;
  std::unique_ptr<PacketScanner> scanner_;  // A new one for each reading.
  uint64_t num_compressed_ = 0;

  // The time of the piece, known after the first reading. |from_ns_| is 0 if
  // the piece begins with the trace.
  uint64_t from_ns_ = 0;
  uint64_t to_ns_ = UINT64_MAX;

  std::unordered_map<const protozero::EventText*, bool> wanted_texts_;
  std::vector<std::optional<bool>> wanted_tracks_;  // The index is the track.

  // The open slices and the tracks of the piece, known after the second
  // reading.
  std::unique_ptr<WantedSlices> slices_;
  std::vector<bool> is_used_;  // The index is the track.
  bool has_events_ = false;
  uint32_t num_packets_ = 0;  // The packets with events that were read.

  // The state of the third reading.
  uint64_t end_ns_ = 0;  // The end of the trace so far.
  bool has_clocks_ = false;
  std::unordered_map<uint32_t, Sequence> sequences_;
  std::unordered_map<TrackIndex, size_t> said_tracks_;  // Hashes.
  std::unordered_set<size_t> said_descriptions_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EDIT_TRACE_CUTTER_H_
