// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_WRITER_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_WRITER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "protozero/append_fields.h"
#include "protozero/constant_message.h"
#include "protozero/tracing/data_source_writers.h"
#include "protozero/tracing/internal/trace_clock.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/track_event_args.h"

#include "protozero/internal/macros.h"

// How events are written. What a call site always writes the same, its type and
// the ids of its category and name, is encoded once, eight bytes at most, and
// copied with each event. Ids are those of the process: they are given out when
// a site is reached first, and a sequence, which is what one thread writes to
// one session, has one bit for each site that says whether it knows them.

// A shared library that is linked with events has sites, threads, and sessions
// of its own. So it calls no other one's functions, though these have the same
// names.
#if defined(__GNUC__)
#define PROTOZERO_INTERNAL_HIDDEN __attribute__((visibility("hidden")))
#else
#define PROTOZERO_INTERNAL_HIDDEN
#endif

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal PROTOZERO_INTERNAL_HIDDEN {

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
           (PROTOZERO_LIKELY((mask & kNewSite) == 0) || Register());
  }
  // Gives it its ids. Returns whether a session wants it.
  PROTOZERO_COLD bool Register();

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

  // What has to be done before the next event: nothing, usually. Returns false
  // if that was lost; then the event is, too.
  PROTOZERO_ALWAYS_INLINE bool Prepare(TraceContext& context, uint64_t now) {
    const TraceWriter& writer = context.writer();
    const bool is_cleared = context.TakeIncrementalStateCleared();
    if (PROTOZERO_UNLIKELY(is_cleared || !writer.continues_chunk() ||
                           HasLost(context) ||
                           writer.chunk_id() - first_chunk >= max_chunks)) {
      return PrepareSlowPath(context, now, is_cleared);
    }
    return true;
  }
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
  void Describe(TraceContext& context, const Track& track);
  // The same for all tracks of an event, which |describe| describes. Returns
  // false if that was lost; then the event is, too.
  template <typename Function>
  bool DescribeAll(TraceContext& context, uint64_t now, Function describe) {
    describe();
    // If that has begun a chunk, or was lost, it may be time to begin anew.
    if (!Prepare(context, now))
      return false;
    describe();
    if (!HasLost(context))
      return true;
    context.writer().CountPacketNotBegun();
    return false;
  }
  bool IsDescribed(const Track& track) const {
    const uint64_t uuid = track.uuid();
    return tracks[uuid % kNumTracks] == uuid;
  }

  const SessionMask session;
  // What the session wants. Null for one of too many.
  std::shared_ptr<const CategoryRules> rules;
  // Bits of the extensions that a sequence of the session has described, and of
  // those that this one has.
  std::shared_ptr<std::atomic<uint32_t>> described_extensions;
  uint32_t own_extensions = 0;
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
  PROTOZERO_COLD bool PrepareSlowPath(TraceContext& context,
                                      uint64_t now,
                                      bool is_cleared);
  void WritePreamble(TraceContext& context, uint64_t now);
  void DescribeExtensions(TraceContext& context);
};

// What belongs to one thread.
struct TraceThread {
  explicit TraceThread(std::shared_ptr<DataSource> source)
      : writers(std::move(source)) {}
  TraceClock clock;
  DataSourceWriters writers;
  // The system's. Kept, because events on tracks of the thread need it.
  int64_t id = 0;
  // What it is called in the trace. Empty for the system's name.
  char name[64] = "";
};

// The calling thread's, once it has traced.
extern __thread TraceThread* t_trace_thread;
// Creates it. Null if that cannot be done now.
PROTOZERO_COLD TraceThread* CreateTraceThread();
// For a session that the thread has not written to yet. Null if it is none that
// events are wanted for, or there is no memory.
PROTOZERO_COLD TraceSequence* AddTraceSequence(TraceContext& context);
// Whether the rules of the sequence's session want it.
bool WantsCategory(const TraceSequence& sequence, std::string_view category);

// ---- Arguments, as they are passed on to the function that writes the event:
// few kinds of them, so that call sites share that function.

struct NoValue {};
// A key that is a literal, and one that is not.
template <typename T>
struct NamedValue {
  const char* key;
  T value;
};
template <typename T>
struct DynamicallyNamedValue {
  std::string_view key;
  T value;
};
struct PointerValue {
  uint64_t address;
};
// What is written by a function of its own: a range, or a function of users.
template <typename T>
struct ComplexValue {
  const T* value;
};
template <typename F>
struct EventFunction {
  F* function;
};
struct TrackArg {
  const Track* track;
};

// Writes what was passed on.
template <typename T>
void WritePassedValue(trace::DebugAnnotation* annotation, const T& value);
template <typename T>
void WritePassedValue(trace::DebugAnnotation* annotation,
                      const ComplexValue<T>& value);

template <typename T>
inline constexpr bool kIsSimpleArg = false;
template <typename T>
inline constexpr bool kIsSimpleArg<NamedValue<T>> = true;
template <typename T>
inline constexpr bool kIsSimpleArg<NamedValue<ComplexValue<T>>> = false;

}  // namespace internal PROTOZERO_INTERNAL_HIDDEN

namespace internal {

// The first fields of an event.
struct SiteFields {
  uint64_t bytes;
  uint32_t size;
};

template <>
struct Appendable<SiteFields> : std::true_type {
  using message_type = trace::TrackEvent;
  static constexpr SiteFields Pass(const SiteFields& fields) { return fields; }
};
template <>
struct ListField<trace::TrackEvent, SiteFields> {
  static constexpr bool kIsChecked = true;
};
template <>
struct ConstantEncoder<SiteFields> {
  static constexpr size_t kHeader = sizeof(uint64_t);
  static constexpr size_t kMinHeader = 0;
  static constexpr size_t kAhead = 0;
  static constexpr uint64_t BodySize(SiteFields) { return 0; }
  static constexpr uint64_t SizeBits(SiteFields) { return 0; }
  PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(SiteFields fields,
                                                 uint8_t* pos) {
    memcpy(pos, &fields.bytes, sizeof(fields.bytes));
    return pos + fields.size;
  }
  static void Append(Message& message, SiteFields fields) {
    message.AppendRawProtoBytes(&fields.bytes, fields.size);
  }
};

}  // namespace internal

namespace internal PROTOZERO_INTERNAL_HIDDEN {

// In front of the event of each packet that is as short as it can be.
inline constexpr auto kNeedsState = MakeConstantMessage<trace::TracePacket>([] {
  return FieldList(trace::TracePacket::kSequenceFlags(
      trace::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE));
});

using Annotation = trace::DebugAnnotation;
inline auto AnnotationOf(bool value) {
  return Annotation::kBoolValue(value);
}
inline auto AnnotationOf(int64_t value) {
  return Annotation::kIntValue(value);
}
inline auto AnnotationOf(uint64_t value) {
  return Annotation::kUintValue(value);
}
inline auto AnnotationOf(double value) {
  return Annotation::kDoubleValue(value);
}
inline auto AnnotationOf(std::string_view value) {
  return Annotation::kStringValue(value);
}
inline auto AnnotationOf(PointerValue value) {
  return Annotation::kPointerValue(value.address);
}

// What the writing of one event knows of it.
struct EventInProgress {
  TraceSite* site;
  std::string_view category;
  std::string_view name;
  // Of a site whose strings have to be said; the keys in their order.
  const char* const* keys;
  size_t num_keys;
};

// Begins the packet of an event that is not short: says what the sequence does
// not know, and returns the event, with its type, category, and name.
class EventBuilder {
 public:
  EventBuilder(TraceContext& context,
               TraceSequence& sequence,
               const EventInProgress& event,
               uint64_t now,
               uint64_t timestamp);
  EventBuilder(const EventBuilder&) = delete;
  EventBuilder& operator=(const EventBuilder&) = delete;

  trace::TrackEvent* event() const { return event_; }

  template <typename T>
  void Add(const NamedValue<T>& arg) {
    const size_t index = next_key_++;
    if (sequence_.filters_args)
      return;
    Annotation* const annotation = event_->add_debug_annotations();
    const uint16_t iid = index < kMaxKeysOfSite && is_interned_
                             ? site_.key_iids[index]
                             : uint16_t{0};
    if (iid != 0) {
      annotation->set_name_iid(iid);
    } else {
      annotation->set_name(std::string_view(arg.key));
    }
    WritePassedValue(annotation, arg.value);
  }
  template <typename T>
  void Add(const DynamicallyNamedValue<T>& arg) {
    if (sequence_.filters_args)
      return;
    Annotation* const annotation = event_->add_debug_annotations();
    annotation->set_name(arg.key);
    WritePassedValue(annotation, arg.value);
  }
  void Add(const TrackArg& arg) { event_->set_track_uuid(arg.track->uuid()); }
  void Add(const Flow& flow) { event_->add_flow_ids(flow.id()); }
  void Add(const TerminatingFlow& flow) {
    event_->add_terminating_flow_ids(flow.id());
  }
  void Add(const CorrelationId& id);
  void Add(const SourceLocation& location);
  void Add(const Timestamp&) {}
  template <typename F>
  void Add(const EventFunction<F>& arg) {
    (*arg.function)(event_);
  }

 private:
  const TraceSite& site_;
  const TraceSequence& sequence_;
  const bool is_interned_;
  size_t next_key_ = 0;
  MessageHandle<trace::TracePacket> packet_;
  trace::TrackEvent* event_;
};

template <typename T>
constexpr const char* KeyOf(const NamedValue<T>& arg) {
  return arg.key;
}
template <typename T>
constexpr const char* KeyOf(const T&) {
  return nullptr;
}
template <typename T>
constexpr uint64_t TimestampOf(const T&) {
  return 0;
}
inline uint64_t TimestampOf(const Timestamp& timestamp) {
  return timestamp.ns;
}
template <typename T>
void DescribeTrack(TraceContext&, TraceSequence&, const T&) {}
inline void DescribeTrack(TraceContext& context,
                          TraceSequence& sequence,
                          const TrackArg& arg) {
  sequence.Describe(context, *arg.track);
}

// Any event.
template <typename... Args>
PROTOZERO_NOINLINE void WriteLongEvent(TraceContext& context,
                                       TraceSequence& sequence,
                                       TraceSite* site,
                                       std::string_view category,
                                       std::string_view name,
                                       uint64_t now,
                                       const Args&... args) {
  const char* keys[sizeof...(Args) + 1] = {KeyOf(args)..., nullptr};
  size_t num_keys = 0;
  for (size_t i = 0; i < sizeof...(Args); ++i) {
    if (keys[i] != nullptr)
      keys[num_keys++] = keys[i];
  }
  if constexpr ((std::is_same<Args, TrackArg>::value || ...)) {
    if (!sequence.DescribeAll(context, now, [&] {
          (DescribeTrack(context, sequence, args), ...);
        })) {
      return;
    }
  }
  const EventInProgress event = {site, category, name, keys, num_keys};
  EventBuilder builder(context, sequence, event, now,
                       (uint64_t{0} | ... | TimestampOf(args)));
  (builder.Add(args), ...);
}

template <size_t... i, typename... Args>
PROTOZERO_ALWAYS_INLINE void WriteShortEvent(TraceWriter& writer,
                                             const TraceSite& site,
                                             uint64_t delta,
                                             std::index_sequence<i...>,
                                             const Args&... args) {
  writer.WriteTracePacket<trace::TracePacket>(
      trace::TracePacket::kTimestamp(delta), kNeedsState,
      trace::TracePacket::kTrackEvent(
          FieldList(SiteFields{site.bytes, site.num_bytes},
                    trace::TrackEvent::kDebugAnnotations(FieldList(
                        Annotation::kNameIid(uint64_t{site.key_iids[i]}),
                        AnnotationOf(args.value)))...)));
}

template <typename... Args>
PROTOZERO_ALWAYS_INLINE void WriteEvent(TraceContext& context,
                                        TraceSequence& sequence,
                                        TraceSite* site,
                                        std::string_view category,
                                        std::string_view name,
                                        uint64_t now,
                                        const Args&... args) {
  if (!sequence.Prepare(context, now))
    return;
  if constexpr ((kIsSimpleArg<Args> && ...) &&
                sizeof...(Args) <= kMaxKeysOfSite) {
    if (PROTOZERO_LIKELY(sequence.sites.Has(site->id) && name.empty() &&
                         category.data() == nullptr &&
                         (sizeof...(Args) == 0 || !sequence.filters_args))) {
      WriteShortEvent(context.writer(), *site, sequence.TakeDelta(now),
                      std::index_sequence_for<Args...>(), args...);
      return;
    }
  }
  WriteLongEvent(context, sequence, site, category, name, now, args...);
}

// Calls |function(context, sequence, now)| for each of |sessions| that the
// calling thread can write to. |category| is null unless it is known only at
// run time; then, sessions that do not want it are left out.
template <typename Function>
PROTOZERO_ALWAYS_INLINE void ForEachSequence(SessionMask sessions,
                                             std::string_view category,
                                             Function function) {
  TraceThread* thread = t_trace_thread;
  if (PROTOZERO_UNLIKELY(thread == nullptr)) {
    thread = CreateTraceThread();
    if (thread == nullptr)
      return;
  }
  uint64_t now = 0;
  thread->writers.Trace([&](TraceContext& context) {
    auto* sequence = static_cast<TraceSequence*>(context.state());
    if (PROTOZERO_UNLIKELY(sequence == nullptr)) {
      sequence = AddTraceSequence(context);
      if (sequence == nullptr)
        return;
    }
    if ((sessions & sequence->session) == 0)
      return;
    if (PROTOZERO_UNLIKELY(category.data() != nullptr) &&
        !WantsCategory(*sequence, category)) {
      return;
    }
    if (now == 0)
      now = thread->clock.NowNs();
    function(context, *sequence, now);
  });
}

// Writes an event to all sessions that want it. Returns which these were.
template <typename... Args>
PROTOZERO_NOINLINE SessionMask EmitEvent(TraceSite* site,
                                         std::string_view category,
                                         std::string_view name,
                                         SessionMask mask,
                                         Args... args) {
  SessionMask written = 0;
  ForEachSequence(
      mask, category,
      [&](TraceContext& context, TraceSequence& sequence, uint64_t now) {
        written |= sequence.session;
        WriteEvent(context, sequence, site, category, name, now, args...);
      });
  return written;
}

// The end of a slice that was written to |sessions|.
PROTOZERO_NOINLINE void EmitEnd(SessionMask sessions);
// A value of |track|.
PROTOZERO_NOINLINE void EmitCounter(TraceSite* site,
                                    std::string_view category,
                                    const CounterTrack& track,
                                    int64_t value);
PROTOZERO_NOINLINE void EmitCounter(TraceSite* site,
                                    std::string_view category,
                                    const CounterTrack& track,
                                    double value);

}  // namespace internal PROTOZERO_INTERNAL_HIDDEN
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/tracing/internal/track_event_values.h"  // IWYU pragma: export

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_WRITER_H_
