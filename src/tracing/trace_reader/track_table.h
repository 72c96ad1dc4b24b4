// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_TRACK_TABLE_H_
#define SRC_TRACING_TRACE_READER_TRACK_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/internal/compiler.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_reader/id_map.h"
#include "src/tracing/trace_reader/name_arena.h"
#include "src/tracing/trace_reader/process_table.h"
#include "src/tracing/trace_reader/text_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The number of a track. The trace's first mention of each gives the order.
using TrackIndex = uint32_t;

// The names of the counters that each thread has.
inline constexpr std::string_view kThreadTime = "thread_time";
inline constexpr std::string_view kThreadInstructions =
    "thread_instruction_count";

// The descriptions of tracks, threads and processes. A track takes 32 bytes
// besides its entry in the map.
class TrackTable {
 public:
  explicit TrackTable(TextTable* texts) : texts_(texts) {}

  // Sets the writer of the packet that is read next. It decides which process
  // and thread that packet means, see ProcessTable.
  void SetWriter(const PacketWriter& writer);
  const PacketWriter& writer() const { return writer_; }

  // Returns the index of the track that a packet calls |uuid|. The track need
  // not be described.
  TrackIndex IndexOf(uint64_t uuid) {
    if (PROTOZERO_UNLIKELY(renamed_ != nullptr)) {
      const auto renamed = renamed_->find(uuid);
      if (renamed != renamed_->end())
        return renamed->second;
    }
    return IndexOfNumber(uuid);
  }
  // Returns the number of the track that a packet calls |uuid|, see uuid().
  uint64_t NumberOf(uint64_t uuid) const {
    if (renamed_ == nullptr)
      return uuid;
    const auto renamed = renamed_->find(uuid);
    return renamed != renamed_->end() ? tracks_[renamed->second].uuid : uuid;
  }
  // Returns the index of the track with that number.
  TrackIndex IndexOfNumber(uint64_t number);
  // Returns the track of a sequence's events that have none.
  TrackIndex IndexOfSequence(uint32_t sequence);
  // Returns the track of a thread, which need not be described.
  TrackIndex IndexOfThread(int32_t pid, int64_t tid);
  // Returns a track that the reader makes, below |parent|. |id| distinguishes
  // such tracks. The first name stays.
  TrackIndex IndexOfMade(uint64_t id, StringId name, uint64_t parent);
  // Returns the number of a track, which no other one has.
  uint64_t uuid(TrackIndex track) const {
    last_asked_ = track;
    return tracks_[track].uuid;
  }
  // Returns the uuid that packets have for it: several programs may use one
  // uuid for threads and processes of their own.
  uint64_t SaidUuid(TrackIndex track) const {
    const auto said = said_uuids_.find(track);
    return said != said_uuids_.end() ? said->second : uuid(track);
  }

  // Read packets: a TrackDescriptor, a ProcessTree, and the descriptors of
  // older traces, which stand outside of tracks.
  void Describe(ConstBytes track_descriptor);
  void AddProcessTree(ConstBytes process_tree);
  // Says that the trace also has the kernel's process tree, which names the
  // processes and threads of PID namespaces. A ProcessTree after it only gives
  // their ids.
  void SetHasKernelTree() { has_kernel_tree_ = true; }
  void AddProcess(ConstBytes process_descriptor);
  TrackIndex AddThread(ConstBytes thread_descriptor);
  // Do the same without packets. An empty name changes nothing.
  void AddProcess(int32_t pid, std::string_view name);
  void AddThread(int32_t pid, int64_t tid, std::string_view name);
  // Makes the track a counter, unless it is one.
  void SetCounter(TrackIndex track);
  // Returns the track of the thread that the track is, or is below of; nothing
  // if it is of no thread.
  std::optional<TrackIndex> ThreadTrackOf(TrackIndex track) const;

  // Return whether a counter's values are differences, and their factor.
  bool is_incremental(TrackIndex track) const {
    return tracks_[track].is_incremental;
  }
  double multiplier(TrackIndex track) const;

  std::optional<TrackInfo> Find(uint64_t uuid) const;
  std::vector<uint64_t> PathTo(uint64_t uuid) const;
  std::vector<uint64_t> All() const;
  uint64_t version() const { return num_changes_; }

 private:
  enum class Kind : uint8_t { kOther, kProcess, kThread, kCounter };

  struct Track {
    uint64_t uuid = 0;
    uint64_t parent = 0;
    uint32_t name = NameArena::kNone;
    int32_t order = 0;
    uint32_t more = 0;  // An index of processes_ or counters_.
    Kind kind = Kind::kOther;
    bool is_described = false;
    bool is_incremental = false;
    TrackInfo::Merging merging = TrackInfo::Merging::kByName;
  };
  static_assert(sizeof(Track) == 32, "many are kept");
  // Facts that the descriptors of few tracks have.
  struct Rarity {
    StringId description = TextTable::kEmpty;
    int32_t child_ordering = 0;
    bool has_order = false;
    bool is_state = false;
  };
  struct Counter {
    StringId unit = TextTable::kEmpty;
    double multiplier = 1;
  };

  // Gives the track a number of its own for the writer, whose packets call it
  // |uuid|.
  TrackIndex Rename(uint64_t uuid);
  // Returns the thread that a packet means by its ids.
  uint32_t FindThread(int32_t pid, int64_t tid);
  // Returns whether a track that the packet describes as a process or thread
  // is one of another program.
  bool IsOfOther(const trace::TrackDescriptor::Decoder& said,
                 TrackIndex track) const;
  // Returns the track that a TrackDescriptor describes, and sets |*parent| to
  // the number of its parent.
  TrackIndex FindDescribed(const trace::TrackDescriptor::Decoder& said,
                           uint64_t* parent);
  // Returns the process of the writer's own thread; kNone for no known one.
  uint32_t OwnProcess(int32_t pid);
  uint32_t ProcessOfThread(const ProcessTable::Thread& thread,
                           uint64_t parent) const;
  void DescribeThread(const trace::TrackDescriptor::Decoder& said,
                      Track* track);
  void DescribeProcess(const trace::TrackDescriptor::Decoder& said,
                       Track* track);
  void DescribeCounter(ConstBytes counter_descriptor, Track* track);
  // Read the labels and the name of a ProcessDescriptor.
  void ReadLabels(const trace::ProcessDescriptor::Decoder& said,
                  uint32_t process);
  void ReadProcessName(const trace::ProcessDescriptor::Decoder& said,
                       uint32_t process);
  Counter& CounterOf(Track* track);
  void ReadMerging(const trace::TrackDescriptor::Decoder& said,
                   TrackIndex index);
  void ReadRarity(const trace::TrackDescriptor::Decoder& said,
                  TrackIndex index);
  void AddRarity(const Rarity& rarity, TrackInfo* info) const;
  // Make a track for a process or thread without one.
  void MakeProcessTrack(uint32_t process);
  TrackIndex MakeThreadTrack(uint32_t thread);
  const Track* FindTrack(uint64_t uuid) const;
  uint64_t ParentOf(const Track& track) const;
  // Returns a number that no track has yet.
  uint64_t UnusedUuid(uint64_t seed);
  // Returns the track's index; IdMap::kNone if there is none. |guess| may be
  // the index of any track.
  TrackIndex FindIndex(uint64_t uuid, TrackIndex guess) const {
    if (guess < tracks_.size() && tracks_[guess].uuid == uuid)
      return guess;
    return indexes_.Find(uuid, [this](uint32_t i) { return tracks_[i].uuid; });
  }

  // The index of a recently used track.
  struct Recent {
    uint64_t uuid = 0;
    TrackIndex index = IdMap::kNone;
  };

  TextTable* const texts_;
  NameArena names_;
  uint64_t num_changes_ = 0;
  bool has_kernel_tree_ = false;
  IndexTable indexes_;  // By uuid.
  std::array<Recent, 1024> recent_ = {};
  TrackIndex last_used_ = 0;           // The last track that was not recent.
  mutable TrackIndex last_asked_ = 0;  // The last argument of uuid().
  IdMap sequence_indexes_;
  IdMap made_indexes_;
  std::deque<Track> tracks_;
  ProcessTable processes_{texts_};
  std::deque<Counter> counters_;
  std::unordered_map<TrackIndex, Rarity> rarities_;
  std::unordered_map<TrackIndex, StringId> merge_keys_;  // Few tracks have one.
  // By process. Few have some.
  std::unordered_map<uint32_t, std::vector<StringId>> labels_;

  // The tracks of each writer that another one has called by the same uuid.
  using Renamed = std::unordered_map<uint64_t, TrackIndex>;
  PacketWriter writer_;
  Renamed* renamed_ = nullptr;  // That of writer_; null without any.
  std::unordered_map<uint64_t, Renamed> renamed_of_writers_;
  std::unordered_map<TrackIndex, uint64_t> said_uuids_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_TRACK_TABLE_H_
