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
#include "protozero/tracing/internal/trace_sequence.h"
#include "protozero/tracing/internal/track_event_values.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/track_event_args.h"

#include "protozero/internal/macros.h"

// The writing of events. An event is written in place if the reader knows its
// strings and its arguments are simple. Otherwise an EventBuilder writes it.

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal PROTOZERO_HIDDEN {

// The texts of an event that its site does not have.
struct NoTexts {
  std::string_view category() const { return {}; }
  std::string_view name() const { return {}; }
};
struct DynamicNameText {
  std::string_view category() const { return {}; }
  std::string_view name() const { return text; }
  std::string_view text;
};
struct DynamicTexts {
  std::string_view category() const { return category_text; }
  std::string_view name() const { return name_text; }
  std::string_view category_text;
  std::string_view name_text;
};

template <typename T>
inline constexpr bool kIsSimpleArg = false;
template <typename T>
inline constexpr bool kIsSimpleArg<NamedValue<T>> = true;
template <typename T>
inline constexpr bool kIsSimpleArg<NamedValue<ComplexValue<T>>> = false;

}  // namespace internal PROTOZERO_HIDDEN

namespace internal PROTOZERO_HIDDEN {

// The field before the event in each short packet.
inline constexpr auto kNeedsState = MakeConstantMessage<trace::TracePacket>([] {
  return FieldList(trace::TracePacket::kSequenceFlags(
      trace::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE));
});

// The properties of the event that is being written.
struct EventInProgress {
  TraceSite* site;
  std::string_view category;
  std::string_view name;
  // The keys in their order, for a site whose strings have to be written.
  const char* const* keys;
  size_t num_keys;
};

// Begins the packet of an event that is not short: writes what the sequence
// does not know, and returns the event, with its type, category, and name.
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
                             ? g_key_fields[site_.id][index].iid()
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
// The absence of a time. All bits are set, so that and-ing all arguments' times
// gives the event's time.
constexpr uint64_t kNoTimestamp = UINT64_MAX;
template <typename T>
constexpr uint64_t TimestampOf(const T&) {
  return kNoTimestamp;
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

// Writes any event.
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
                       (kNoTimestamp & ... & TimestampOf(args)));
  (builder.Add(args), ...);
}

template <typename Make>
PROTOZERO_ALWAYS_INLINE LazyEvent<Make> MakeLazy(Make make) {
  return {make};
}

// Returns the fields of an event of the site, without the time.
template <size_t... i, typename... Args>
PROTOZERO_ALWAYS_INLINE auto FieldsOf(const TraceSite& site,
                                      std::index_sequence<i...>,
                                      const Args&... args) {
  return EventOf(site,
                 AnnotationField<decltype(AnnotationOf(args.value))>{
                     &g_key_fields[site.id][i], AnnotationOf(args.value)}...);
}

template <typename... Args>
PROTOZERO_ALWAYS_INLINE void WriteEvent(TraceContext& context,
                                        TraceSequence& sequence,
                                        TraceSite* site,
                                        std::string_view category,
                                        std::string_view name,
                                        uint64_t now,
                                        const Args&... args) {
  if constexpr ((kIsSimpleArg<Args> && ...) &&
                sizeof...(Args) <= kMaxKeysOfSite) {
    if (PROTOZERO_LIKELY(sequence.sites.Has(site->id) && name.empty() &&
                         category.data() == nullptr &&
                         (sizeof...(Args) == 0 || !sequence.filters_args)) &&
        ReadyWriter::TryWriteTo(
            &context.writer(), &sequence, now,
            FieldsOf(*site, std::index_sequence_for<Args...>(), args...))) {
      return;
    }
  }
  WriteLongEvent(context, sequence, site, category, name, now, args...);
}

// With -fvisibility-inlines-hidden, gcc does not know that a lambda of a hidden
// inline function is hidden, and warns of its captures. The lambda's functions
// are inline, and therefore hidden.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
#endif

// Calls |function(context, sequence, now)| for each of |sessions| that the
// calling thread can write to. Returns these, and those in which it loses the
// event, because nothing can be written. |category| is null unless it is known
// only at run time. If it is, sessions that do not want it are left out.
// |writers| and their |ready_writer| are the thread's, for sequences of the
// kind that |add| adds.
template <typename Function>
PROTOZERO_ALWAYS_INLINE SessionMask
ForEachSequenceOf(TraceThread* thread,
                  DataSourceWriters* writers,
                  ReadyWriter* ready_writer,
                  TraceSequence* (*add)(TraceContext&),
                  SessionMask sessions,
                  std::string_view category,
                  Function function) {
  SessionMask reached = 0;
  uint64_t now = 0;
  writers->TraceInline([&](TraceContext& context) PROTOZERO_INLINE_LAMBDA {
    ready_writer->Stop();
    auto* sequence = static_cast<TraceSequence*>(context.state());
    if (PROTOZERO_UNLIKELY(sequence == nullptr)) {
      sequence = add(context);
      if (sequence == nullptr)
        return;
    }
    if ((sessions & sequence->session) == 0)
      return;
    if (PROTOZERO_UNLIKELY(category.data() != nullptr) &&
        !WantsCategory(*sequence, category)) {
      return;
    }
    reached |= sequence->session;
    if (PROTOZERO_UNLIKELY(!sequence->IsReady(context))) {
      // While nothing can be written, the thread tries nothing else, and
      // does not read the clock. The sequence starts over when there is
      // memory.
      if (context.writer().LoseNextPacketIfExhausted())
        return;
      now = sequence->Prepare(context, &thread->clock, now);
      if (now == 0)
        return;
    } else if (now == 0) {
      now = thread->clock.NowNs();
    }
    function(context, *sequence, now);
  });
  ready_writer->Update(writers);
  return reached;
}

// Calls |function| for the calling thread's sequences of events.
template <typename Function>
PROTOZERO_ALWAYS_INLINE SessionMask ForEachSequence(SessionMask sessions,
                                                    std::string_view category,
                                                    Function function) {
  TraceThread* thread = t_trace_thread;
  if (PROTOZERO_UNLIKELY(thread == nullptr)) {
    thread = CreateTraceThread();
    if (thread == nullptr)
      return 0;
  }
  return ForEachSequenceOf(thread, &thread->writers, &thread->ready_writer,
                           &AddTraceSequence, sessions, category, function);
}

// Writes an event to all sessions that want it. Calls |on_written| with the
// thread and the event if there is any session.
template <typename OnWritten, typename Texts, typename... Args>
PROTOZERO_ALWAYS_INLINE void WriteToSessions(OnWritten on_written,
                                             TraceSite* site,
                                             const Texts& texts,
                                             const Args&... args) {
  const SessionMask sessions = site->Sessions();
  if (PROTOZERO_UNLIKELY(sessions == 0))
    return;
  WrittenEvent event;
  event.sessions = ForEachSequence(
      sessions, texts.category(),
      [&](TraceContext& context, TraceSequence& sequence, uint64_t now)
          PROTOZERO_INLINE_LAMBDA {
            event.ns = now;
            WriteEvent(context, sequence, site, texts.category(), texts.name(),
                       now, args...);
          });
  if (event.sessions == 0)
    return;
  const uint64_t timestamp = (kNoTimestamp & ... & TimestampOf(args));
  if (timestamp != kNoTimestamp)
    event.ns = timestamp;
  on_written(t_trace_thread, event);
}

// Writes an event on the thread's own track.
template <typename Texts, typename... Args>
PROTOZERO_ALWAYS_INLINE SliceToken WriteOnThread(TraceSite* site,
                                                 const Texts& texts,
                                                 const Args&... args) {
  SliceToken token = 0;
  WriteToSessions(
      [&](TraceThread* thread, const WrittenEvent& event) {
        token = CountSlice(thread, *site, event);
      },
      site, texts, args...);
  return token;
}

// The beginning of a slice that may be on a track of its own. Its end needs it.
struct SliceOnTrack {
  SliceToken token = 0;
  // The track; 0 for the thread's own.
  uint64_t track_uuid = 0;
  SessionMask sessions = 0;
};
SliceOnTrack CountSliceOnTrack(TraceThread* thread,
                               const TraceSite& site,
                               const WrittenEvent& event,
                               const Track& track);

inline const Track* TrackOf(const TrackArg& arg) {
  return arg.track;
}
template <typename T>
constexpr const Track* TrackOf(const T&) {
  return nullptr;
}

template <typename Texts, typename... Args>
PROTOZERO_NOINLINE auto EmitEvent(TraceSite* site, Texts texts, Args... args) {
  if constexpr ((std::is_same<Args, TrackArg>::value || ...)) {
    SliceOnTrack slice;
    WriteToSessions(
        [&](TraceThread* thread, const WrittenEvent& event) {
          // The last track counts, as in the event.
          const Track* track = nullptr;
          ((track = TrackOf(args) != nullptr ? TrackOf(args) : track), ...);
          slice = CountSliceOnTrack(thread, *site, event, *track);
        },
        site, texts, args...);
    return slice;
  } else {
    return WriteOnThread(site, texts, args...);
  }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

// Writes most events. Keys and values are not pairs here, because
// only numbers and pointers are passed in registers wherever they stand.
template <typename T>
struct KeyOfValue {
  using Type = const char*;
};
template <typename... T>
PROTOZERO_NOINLINE SliceToken
EmitSimpleEventToAll(TraceSite* site,
                     typename KeyOfValue<T>::Type... keys,
                     T... values) noexcept {
  return WriteOnThread(site, NoTexts(), NamedValue<T>{keys, values}...);
}
template <typename... T>
PROTOZERO_NOINLINE SliceToken
EmitSimpleEvent(TraceSite* site,
                typename KeyOfValue<T>::Type... keys,
                T... values) noexcept {
  TraceThread* const thread = t_trace_thread;
  if constexpr (sizeof...(T) <= kMaxKeysOfSite) {
    if (PROTOZERO_LIKELY(thread != nullptr)) {
      WrittenEvent event;
      event.sessions = site->enabled.load(std::memory_order_acquire);
      event.ns = thread->ready_writer.TryWrite(
          thread->writers, &thread->clock, event.sessions,
          [site](const TraceSequence& sequence)
              PROTOZERO_INLINE_LAMBDA { return sequence.sites.Has(site->id); },
          MakeLazy([&]() PROTOZERO_INLINE_LAMBDA {
            return FieldsOf(*site, std::index_sequence_for<T...>(),
                            NamedValue<T>{nullptr, values}...);
          }));
      if (PROTOZERO_LIKELY(event.ns != 0))
        return CountSlice(thread, *site, event);
    }
  }
  return EmitSimpleEventToAll<T...>(site, keys..., values...);
}

// Write the end of a slice, on any thread.
PROTOZERO_NOINLINE void EmitEnd(SliceToken token) noexcept;
PROTOZERO_NOINLINE void EmitEndOnTrack(SliceToken token,
                                       uint64_t track_uuid,
                                       SessionMask sessions) noexcept;
// Write a value of the counter that the site names.
PROTOZERO_NOINLINE void EmitNamedCounter(TraceSite* site,
                                         int64_t value) noexcept;
PROTOZERO_NOINLINE void EmitNamedCounter(TraceSite* site,
                                         double value) noexcept;
// Write a value of |track|.
PROTOZERO_NOINLINE void EmitCounter(TraceSite* site,
                                    std::string_view category,
                                    const CounterTrack& track,
                                    int64_t value);
PROTOZERO_NOINLINE void EmitCounter(TraceSite* site,
                                    std::string_view category,
                                    const CounterTrack& track,
                                    double value);

}  // namespace internal PROTOZERO_HIDDEN
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_WRITER_H_
