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
#include "protozero/tracing/trace.h"
#include "protozero/tracing/track_event_args.h"

#include "protozero/internal/macros.h"

// What is known between events: by a call site, by what one thread writes to
// one session, and by the thread.
//
// What a call site always writes the same, its type and the ids of its category
// and name, is encoded once, eight bytes at most, and copied with each event.
// Ids are those of the process: they are given out when a site is reached
// first, and a sequence has one bit for each site that says whether its reader
// knows them.

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal PROTOZERO_HIDDEN {

// One bit for each session that wants the events of a site; the highest one for
// a site that has not been reached yet. Nobody wants those of 0.
using SessionMask = uint32_t;
inline constexpr SessionMask kNewSite = uint32_t{1} << 31;
inline constexpr size_t kMaxTraceSessions = 31;

// Sites, and different strings of each kind, that have ids. What is beyond is
// written in full, each time.
inline constexpr size_t kMaxInterned = 4096;
// A site of which there is nothing to be known, and one beyond kMaxInterned.
inline constexpr uint16_t kNoStringsSite = 0;
inline constexpr uint16_t kNotInternedSite = 1;
// Keys of one site that have ids.
inline constexpr size_t kMaxKeysOfSite = 8;

// A call site. Static, and initialized by the compiler.
struct TraceSite {
  constexpr TraceSite(trace::TrackEvent::Type type_of_events,
                      const char* category_text,
                      const char* name_text)
      : type(static_cast<uint8_t>(type_of_events)),
        category(category_text),
        name(name_text) {}

  // Whether there is a session that wants it. The rest is for the first time.
  PROTOZERO_ALWAYS_INLINE bool IsOn() {
    const SessionMask mask = enabled.load(std::memory_order_relaxed);
    return PROTOZERO_UNLIKELY(mask != 0) &&
           (PROTOZERO_LIKELY((mask & kNewSite) == 0) || Register() != 0);
  }
  // The same, but also true the first time: for an event of which nothing is
  // evaluated, so that Sessions() can find out without code at the call site.
  PROTOZERO_ALWAYS_INLINE bool MayBeOn() {
    return enabled.load(std::memory_order_relaxed) != 0;
  }
  // Those that want it.
  PROTOZERO_ALWAYS_INLINE SessionMask Sessions() {
    const SessionMask mask = enabled.load(std::memory_order_acquire);
    return PROTOZERO_LIKELY((mask & kNewSite) == 0) ? mask : Register();
  }
  // Gives it its ids. Returns which sessions want it; none if it was called by
  // a signal handler that has interrupted this function.
  PROTOZERO_COLD SessionMask Register();

  std::atomic<SessionMask> enabled{kNewSite};
  const uint8_t type;
  uint8_t num_bytes = 0;
  uint16_t id = kNotInternedSite;
  // Null for a DynamicCategory, and a DynamicString.
  const char* const category;
  const char* const name;
  // The first fields of its events.
  uint64_t bytes = 0;
  uint16_t category_iid = 0;
  uint16_t name_iid = 0;
  // By their order at the site; 0 for none. Set when its first event is
  // written.
  uint16_t key_iids[kMaxKeysOfSite] = {};
  TraceSite* next = nullptr;
};

// The site that |Maker| makes. See PROTOZERO_INTERNAL_TRACE_SITE.
template <typename Maker>
struct TraceSiteOf {
#if defined(__clang__)
  [[clang::require_constant_initialization]]
#endif
  static inline TraceSite site = Maker::Make();
};

// A set of ids.
class IdSet {
 public:
  bool Has(size_t id) const { return (words_[id / 64] >> (id % 64)) & 1; }
  // Returns whether it was not there.
  bool Add(size_t id) {
    const bool is_new = !Has(id);
    words_[id / 64] |= uint64_t{1} << (id % 64);
    return is_new;
  }
  void Clear() { memset(words_, 0, sizeof(words_)); }

 private:
  uint64_t words_[kMaxInterned / 64] = {};
};

class CategoryRules;

// What one thread writes to one session.
class TraceSequence final : public TraceContextState {
 public:
  explicit TraceSequence(SessionMask bit) : session(bit) {}

  // Returns whether nothing has to be done before the next event, as usual.
  PROTOZERO_ALWAYS_INLINE bool IsReady(TraceContext& context) const {
    const TraceWriter& writer = context.writer();
    // A writer that has lost a packet does not continue its chunk.
    return !context.is_incremental_state_cleared() &&
           writer.continues_chunk() &&
           writer.chunk_id() - first_chunk < max_chunks;
  }
  // Does what has to be done. Returns |now|, or the time if that is 0. Returns
  // 0 if there is no memory; then the event is lost, and counted as one packet,
  // whichever packet of the sequence it was that found no room.
  PROTOZERO_COLD uint64_t Prepare(TraceContext& context,
                                  TraceClock* clock,
                                  uint64_t now);
  // Whether a packet was lost since it began anew.
  bool HasLost(TraceContext& context) const {
    return context.writer().loss_generation() != loss_generation;
  }
  // The time since the last event.
  uint64_t TakeDelta(uint64_t now) {
    const uint64_t delta = now - last_ns;
    last_ns = now;
    return delta;
  }
  // Writes that |track| exists, if that has not been said; and its parents.
  // Loses one packet at most, and writes nothing once one is lost.
  void Describe(TraceContext& context, const Track& track);
  // The same for a thread of this process.
  void DescribeThread(TraceContext& context, int64_t tid);
  // Describes all tracks of an event by |describe|. Returns false if the event
  // is lost.
  template <typename Function>
  bool DescribeAll(TraceContext& context, uint64_t now, Function describe) {
    describe();
    // If that has begun a chunk, it may be time to begin anew.
    if (HasLost(context) ||
        (!IsReady(context) && Prepare(context, nullptr, now) == 0)) {
      return false;
    }
    describe();
    return !HasLost(context);
  }
  bool IsDescribed(const Track& track) const {
    const uint64_t uuid = track.uuid();
    return tracks[uuid % kNumTracks] == uuid;
  }

  const SessionMask session;
  // What the session wants. Null for one of too many.
  std::shared_ptr<const CategoryRules> rules;
  // Bits of the extensions that a sequence of the session has described since
  // the service last asked to clear incremental state. The upper half is how
  // often it had asked then.
  std::shared_ptr<std::atomic<uint64_t>> described_extensions;
  bool filters_args = false;
  bool filters_dynamic_names = false;
  // It begins anew after so many chunks: a buffer that is a ring forgets the
  // chunks in which things were said.
  ChunkID max_chunks = 16;
  ChunkID first_chunk = 0;
  // TraceWriter::loss_generation() when it began anew.
  uint32_t loss_generation = 0;
  uint64_t last_ns = 0;
  // What has been said since it began anew.
  IdSet sites;
  IdSet categories;
  IdSet names;
  IdSet keys;
  // Tracks, each at a place that depends on its number.
  static constexpr size_t kNumTracks = 64;
  uint64_t tracks[kNumTracks] = {};

 private:
  void WritePreamble(TraceContext& context, uint64_t now);
  void DescribeExtensions(TraceContext& context);
};

// The beginning of a slice on a thread's own track, for its end: the thread's
// id (22 bits, Linux's limit), the id of the slice's name (12 bits), and its
// time (30 bits). 0 if the beginning was not written.
using SliceToken = uint64_t;
inline constexpr int kSliceTimeBits = 30;
inline constexpr int kSliceThreadShift = 42;
static_assert(kMaxInterned <= size_t{1} << (kSliceThreadShift - kSliceTimeBits),
              "a token has room for any name's id");
inline constexpr SliceToken SliceTimeOf(uint64_t ns) {
  return ns & ((SliceToken{1} << kSliceTimeBits) - 1);
}

// The slices that a thread has begun last on its own track and not ended. An
// end closes the innermost slice of its track, so a slice that is not the last
// one here, or not here at all, has an end that says which slice it is for.
// Scopes may end in any order, and on other threads.
class OpenSlices {
 public:
  struct Slice {
    SliceToken token;
    // To which its beginning was written, or-ed with kInDoubt.
    SessionMask sessions;
  };
  // The reader may not know of it, or of others that have begun since. Bit 31
  // belongs to no session.
  static constexpr SessionMask kInDoubt = uint32_t{1} << 31;

  const Slice& last() const { return slices_[(num_ - 1) % kMaxSlices]; }
  void Add(SliceToken token, SessionMask sessions) {
    slices_[num_ % kMaxSlices] = {token, sessions};
    ++num_;
  }
  // The place of the slice keeps its content until the next Add().
  void RemoveLast() { --num_; }

  // Removes it, wherever it is. Returns its sessions; 0 if it is not here.
  SessionMask Remove(SliceToken token);
  // Has the ends of all slices say which slices they are for. |ended| is a
  // session that has ended, or 0.
  void Doubt(SessionMask ended);

 private:
  static constexpr uint32_t kMaxSlices = 64;
  // A slice that is in doubt has the complement of its token, so that it does
  // not compare equal. One that was removed has 0.
  Slice slices_[kMaxSlices] = {};
  uint32_t num_ = 0;
};

// What belongs to one thread.
struct TraceThread {
  explicit TraceThread(std::shared_ptr<DataSource> source)
      : writers(std::move(source)) {}
  TraceClock clock;
  DataSourceWriters writers;
  // The system's. Kept, because events on tracks of the thread need it.
  int64_t id = 0;
  OpenSlices open_slices;
  // What it is called in the trace. Empty for the system's name.
  char name[64] = "";
};

// An event that was written, or lost.
struct WrittenEvent {
  SessionMask sessions = 0;
  // 0 if it is lost in all of them.
  uint64_t ns = 0;
};

inline SliceToken TokenOf(const TraceThread& thread,
                          const TraceSite& site,
                          const WrittenEvent& event) {
  return static_cast<SliceToken>(thread.id) << kSliceThreadShift |
         SliceToken{site.name_iid} << kSliceTimeBits | SliceTimeOf(event.ns);
}

// Keeps account of a slice that has begun or ended on the thread's own track.
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

// The calling thread's, once it has traced.
extern __thread TraceThread* t_trace_thread;
// Creates it. Null if that cannot be done now.
PROTOZERO_COLD TraceThread* CreateTraceThread();
// For a session that the thread has not written to yet. Null if it is none that
// events are wanted for, or there is no memory.
PROTOZERO_COLD TraceSequence* AddTraceSequence(TraceContext& context);
// Whether the rules of the sequence's session want it.
bool WantsCategory(const TraceSequence& sequence, std::string_view category);

}  // namespace internal PROTOZERO_HIDDEN
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACE_SEQUENCE_H_
