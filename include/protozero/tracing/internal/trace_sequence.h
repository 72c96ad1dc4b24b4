// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACE_SEQUENCE_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACE_SEQUENCE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "protozero/tracing/data_source_writers.h"
#include "protozero/tracing/internal/trace_clock.h"
#include "protozero/tracing/internal/trace_site.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/track_event_args.h"

#include "protozero/internal/macros.h"

// The state that is kept between events by a thread's sequence in a session,
// and by the thread. A sequence has one bit for each site that says whether its
// reader knows the ids of the site's strings.

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal PROTOZERO_HIDDEN {

// A set of ids.
class IdSet {
 public:
  bool Has(uint64_t id) const { return (words_[id / 64] >> (id % 64)) & 1; }
  // Adds an id. Returns whether it was new.
  bool Add(uint64_t id) {
    const bool is_new = !Has(id);
    words_[id / 64] |= uint64_t{1} << (id % 64);
    return is_new;
  }
  void Clear() { memset(words_, 0, sizeof(words_)); }

 private:
  uint64_t words_[kMaxInterned / 64] = {};
};

class CategoryRules;

class TraceSequence;

// The difference between a sequence of another kind and one of events. Programs
// link only the kinds that they use.
class SequenceKind {
 public:
  virtual ~SequenceKind() = default;
  // Forgets what the reader knows. Returns the sequence's default track.
  virtual uint64_t Begin(trace::InternedData* data, uint64_t thread_uuid) = 0;
  // Writes what belongs to the beginning of the sequence, after the packets
  // that describe process and thread. Loses one packet at most.
  virtual void WriteBeginning(TraceContext& context,
                              TraceSequence& sequence,
                              uint64_t thread_uuid) = 0;
};

// The state of one thread's packets in one session.
class TraceSequence final : public TraceContextState {
 public:
  explicit TraceSequence(SessionMask bit) : session(bit) {}

  // Returns whether nothing has to be done before the next event, which is
  // usual.
  PROTOZERO_ALWAYS_INLINE bool IsReady(TraceContext& context) const {
    const TraceWriter& writer = context.writer();
    // After a loss, a writer does not continue its chunk.
    return !context.is_incremental_state_cleared() &&
           writer.continues_chunk() &&
           writer.chunk_id() - first_chunk < max_chunks;
  }
  // Does what has to be done. Returns |now|, or the time if that is 0. Returns
  // 0 if there is no memory. Then the event is lost, and counted as one packet,
  // whichever packet of the sequence found no room.
  PROTOZERO_COLD uint64_t Prepare(TraceContext& context,
                                  TraceClock* clock,
                                  uint64_t now);
  // Returns the chunk with which the sequence starts over.
  ChunkID end_chunk() const { return first_chunk + max_chunks; }
  // Returns whether a packet was lost since the sequence started over.
  bool HasLost(TraceContext& context) const {
    return context.writer().loss_generation() != loss_generation;
  }
  // Returns the time since the last event, and makes |now| the last one.
  uint64_t TakeDelta(uint64_t now) {
    const uint64_t delta = now - last_ns;
    last_ns = now;
    return delta;
  }
  // Describes |track| and its parents, unless that has been done. Loses one
  // packet at most, and writes nothing once one is lost.
  void Describe(TraceContext& context, const Track& track);
  // Describes the track of a thread of this process.
  void DescribeThread(TraceContext& context, int64_t tid);
  // Describes all tracks of an event by |describe|. Returns false if the event
  // is lost.
  template <typename Function>
  bool DescribeAll(TraceContext& context, uint64_t now, Function describe) {
    describe();
    // If |describe| has begun a chunk, the sequence may have to start over.
    if (HasLost(context) ||
        (!IsReady(context) && Prepare(context, nullptr, now) == 0)) {
      return false;
    }
    describe();
    return !HasLost(context);
  }
  bool IsDescribed(uint64_t uuid) const {
    return tracks[uuid % kNumTracks] == uuid;
  }

  const SessionMask session;
  // The categories that the session wants. Null beyond kMaxTraceSessions.
  std::shared_ptr<const CategoryRules> rules;
  // Bits of the extensions that a sequence of the session has described since
  // the service last asked to clear incremental state. The upper half is the
  // number of times that it had asked then.
  std::shared_ptr<std::atomic<uint64_t>> described_extensions;
  bool filters_args = false;
  bool filters_dynamic_names = false;
  // The number of chunks after which the sequence starts over: a ring buffer
  // forgets the chunks with the descriptions. See
  // TraceContext::MaxChunksOfSequence().
  ChunkID max_chunks = TraceContext::kMaxChunksOfSequence;
  ChunkID first_chunk = 0;
  // The value of TraceWriter::loss_generation() when it started over.
  uint32_t loss_generation = 0;
  // An event reads this line and, in a program of more than 448 sites, another
  // one of |sites|.
  alignas(64) uint64_t last_ns = 0;
  // The ids that were written since it started over.
  IdSet sites;
  IdSet categories;
  IdSet names;
  IdSet keys;
  // Null for a sequence of events.
  std::unique_ptr<SequenceKind> kind;
  // Described tracks, each at an index that depends on its number.
  static constexpr size_t kNumTracks = 64;
  uint64_t tracks[kNumTracks] = {};

 private:
  void WritePreamble(TraceContext& context, uint64_t now);
  void DescribeExtensions(TraceContext& context);
};

// The beginning of a slice on a thread's own track, which its end needs: the
// thread's id (22 bits, Linux's limit), the id of the slice's name (12 bits),
// and its time (30 bits). 0 if the beginning was not written.
using SliceToken = uint64_t;
inline constexpr int kSliceTimeBits = 30;
inline constexpr int kSliceThreadShift = 42;
static_assert(kMaxInterned <= size_t{1} << (kSliceThreadShift - kSliceTimeBits),
              "a token has room for any name's id");
inline constexpr SliceToken SliceTimeOf(uint64_t ns) {
  return ns & ((SliceToken{1} << kSliceTimeBits) - 1);
}

// The slices that a thread has begun last on its own track and not ended. An
// end closes the innermost slice of its track. So if a slice is not the last
// one here, or not here at all, its end says which slice it is for. Scopes may
// end in any order, and on other threads.
class OpenSlices {
 public:
  struct Slice {
    SliceToken token;
    // The sessions that have its beginning, or-ed with kInDoubt.
    SessionMask sessions;
  };
  // The flag of a slice that the reader may not know, or after which it may
  // not know others. Bit 31 belongs to no session.
  static constexpr SessionMask kInDoubt = uint32_t{1} << 31;

  const Slice& last() const { return slices_[(num_ - 1) % kMaxSlices]; }
  void Add(SliceToken token, SessionMask sessions) {
    slices_[num_ % kMaxSlices] = {token, sessions};
    ++num_;
  }
  // Removes the last slice. Its entry keeps its content until the next Add().
  void RemoveLast() { --num_; }

  // Removes a slice at any place. Returns its sessions; 0 if it is not here.
  SessionMask Remove(SliceToken token);
  // Makes the ends of all slices say which slices they are for. |ended| is a
  // session that has ended, or 0.
  void Doubt(SessionMask ended);

 private:
  static constexpr uint32_t kMaxSlices = 64;
  // The number of them comes first, so that it shares a line with the outermost
  // ones.
  alignas(64) uint32_t num_ = 0;
  // The last slices. A slice in doubt has the complement of its token, so that
  // it does not compare equal. A removed slice has 0.
  Slice slices_[kMaxSlices] = {};
};

// The writer of a thread that writes to one session only. It is ready if the
// last event has found that the next one has nothing to do before it. That
// holds as long as the writer stays in its chunk, and the data source's state
// stays. Then an event takes three quarters of the instructions of one that has
// to look at all sessions. Its thread's signal handlers may use it at any time.
class ReadyWriter {
 public:
  // A time that no event has.
  static constexpr uint64_t kLost = 1;

  // Finds out whether the next event can be written by TryWrite().
  void Update(DataSourceWriters* writers);
  // Makes TryWrite() fail until the next Update().
  void Stop() {
    state_ = DataSource::kNoState;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  // Writes an event that consists of |values| and its time to |sessions|, if
  // that is the writer's session, and |knows(sequence)| says that its reader
  // knows what the values refer to. Returns the event's time. If the writer
  // still has no memory, counts the event as lost, and returns kLost, which
  // costs less than to write it. Returns 0 if the event has to be written in
  // another way.
  template <typename Knows, typename... Values>
  PROTOZERO_ALWAYS_INLINE uint64_t TryWrite(const DataSourceWriters& writers,
                                            TraceClock* clock,
                                            SessionMask sessions,
                                            Knows knows,
                                            const Values&... values) {
    // This is false in a signal handler that has interrupted a writer.
    if (PROTOZERO_UNLIKELY(
            state_ != writers.seen_state_.load(std::memory_order_relaxed))) {
      return 0;
    }
    // A signal handler that comes from here on only counts its event as lost.
    const DataSourceWriters::Busy busy(&writers.seen_state_,
                                       DataSource::kTracing);
    if (PROTOZERO_UNLIKELY(
            state_ != writers.source_->state_.load(std::memory_order_relaxed) ||
            session_ != sessions)) {
      return 0;
    }
    TraceWriter* const writer = writer_;
    TraceSequence* const sequence = sequence_;
    if (PROTOZERO_UNLIKELY(
            !writer->TryEnterReadyAs(TraceWriter::PacketState::kBusy))) {
      if (writer->LoseNextPacketIfExhausted())
        return kLost;
      if (!writer->TryEnterNearEnd(sequence->end_chunk(), kAhead<Values...>))
        return 0;
    }
    if (PROTOZERO_UNLIKELY(!knows(*sequence))) {
      writer->LeaveAs(TraceWriter::PacketState::kReady);
      return 0;
    }
    const uint64_t now = clock->NowOnLineNs();
    if (PROTOZERO_UNLIKELY(!TryEncode(writer, sequence, now, values...)))
      return 0;
    clock->SetLastNs(now);
    return now;
  }

  // Writes it to one of several sessions. Returns false if it has to be written
  // in another way. REQUIRES: the reader knows what the values refer to.
  template <typename... Values>
  PROTOZERO_ALWAYS_INLINE static bool TryWriteTo(TraceWriter* writer,
                                                 TraceSequence* sequence,
                                                 uint64_t now,
                                                 const Values&... values) {
    return (PROTOZERO_LIKELY(
                writer->TryEnterReadyAs(TraceWriter::PacketState::kBusy)) ||
            writer->TryEnterNearEnd(sequence->end_chunk(),
                                    kAhead<Values...>)) &&
           TryEncode(writer, sequence, now, values...);
  }

 private:
  // The room that an event needs before its time, without its texts.
  template <typename... Values>
  static constexpr size_t kAhead =
      FieldsAppender::Encoders<decltype(Appendable<Values>::Pass(
                                   std::declval<const Values&>()))...,
                               EventTime>::kAhead;

  template <typename... Values>
  PROTOZERO_ALWAYS_INLINE static bool TryEncode(TraceWriter* writer,
                                                TraceSequence* sequence,
                                                uint64_t now,
                                                const Values&... values) {
    // If the clock has gone back, this is a large number.
    const uint64_t delta = now - sequence->last_ns;
    if (PROTOZERO_UNLIKELY(
            delta > EventTime::kMaxDelta ||
            !writer->TryEncodePacketHere<true>(
                Appendable<Values>::Pass(values)..., EventTime{delta}))) {
      // The chunk may have too little room for this event, or it is long.
      writer->LeaveAs(TraceWriter::PacketState::kNearEnd);
      return false;
    }
    sequence->last_ns = now;
    return true;
  }

  // The data source's state for which the rest holds.
  uint32_t state_ = DataSource::kNoState;
  SessionMask session_ = 0;
  TraceWriter* writer_ = nullptr;
  TraceSequence* sequence_ = nullptr;
};

// The part of a thread's state that tasks need.
class ThreadTasksBase {
 public:
  virtual ~ThreadTasksBase() = default;
};

// The state of one thread.
struct TraceThread {
  explicit TraceThread(std::shared_ptr<DataSource> source)
      : writers(std::move(source)) {}
  // An event reads the first line, and the beginning of the second one.
  alignas(64) TraceClock clock;
  ReadyWriter ready_writer;
  // The system's id. It is kept for events on tracks of the thread.
  int64_t id = 0;
  DataSourceWriters writers;
  OpenSlices open_slices;
  // The thread's name in the trace. Empty for the system's name.
  char name[64] = "";
  // The system's name at the thread's first event of its newest session.
  char system_name[16] = "";
  // A copy of the process's name, and the number of times that it had changed.
  char process_name[64] = "";
  uint32_t process_name_changes = 0;
  // Null until the thread has traced a step of a task.
  std::unique_ptr<ThreadTasksBase> tasks;
};

// An event that was written, or lost.
struct WrittenEvent {
  SessionMask sessions = 0;
  // The time; 0 if the event is lost in all sessions.
  uint64_t ns = 0;
};

inline SliceToken TokenOf(const TraceThread& thread,
                          const TraceSite& site,
                          const WrittenEvent& event) {
  return static_cast<SliceToken>(thread.id) << kSliceThreadShift |
         SliceToken{site.name_iid} << kSliceTimeBits | SliceTimeOf(event.ns);
}

// Counts a slice that has begun or ended on the thread's own track.
PROTOZERO_ALWAYS_INLINE SliceToken CountSlice(TraceThread* thread,
                                              const TraceSite& site,
                                              const WrittenEvent& event) {
  if (site.type != trace::TrackEvent::TYPE_SLICE_BEGIN) {
    if (site.type == trace::TrackEvent::TYPE_SLICE_END)
      thread->open_slices.RemoveLast();
    return 0;
  }
  const SliceToken token = TokenOf(*thread, site, event);
  thread->open_slices.Add(token, event.sessions);
  return token;
}

// The calling thread's state; null until it has traced.
extern __thread TraceThread* t_trace_thread;
// Creates that state. Returns null if that cannot be done now.
PROTOZERO_COLD TraceThread* CreateTraceThread();
// Add a sequence for a session that the thread has not written to yet: one of
// events, or of the kind that the caller sets. Return null if the session wants
// no events, or if there is no memory.
PROTOZERO_COLD TraceSequence* AddTraceSequence(TraceContext& context);
PROTOZERO_COLD TraceSequence* AddSequenceOfKind(TraceContext& context);
// Returns whether the rules of the sequence's session want the category.
bool WantsCategory(const TraceSequence& sequence, std::string_view category);

}  // namespace internal PROTOZERO_HIDDEN
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACE_SEQUENCE_H_
