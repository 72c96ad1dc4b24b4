// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TRACK_EVENT_H_
#define INCLUDE_PROTOZERO_TRACING_TRACK_EVENT_H_

#include <stdint.h>

#include <memory>
#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/tracing/data_source.h"
#include "protozero/tracing/internal/track_event_writer.h"  // IWYU pragma: export
#include "protozero/tracing/trace.h"             // IWYU pragma: export
#include "protozero/tracing/track_event_args.h"  // IWYU pragma: export

#include "protozero/internal/macros.h"

// Events of a program, for a timeline: slices, instants, counters.
//
//   void Load(const std::string& path) {
//     PROTOZERO_TRACE_EVENT("app", "Load", "path", path);  // To the end.
//     ...
//     PROTOZERO_TRACE_EVENT_INSTANT("app", "cache miss");
//     PROTOZERO_TRACE_COUNTER("app", "bytes loaded", path.size());
//   }
//
// A category and a name, which are literals, and then any number of
// - "key", value. Values are numbers, bools, enums, strings, pointers, ranges,
//   maps, and functions that take a TraceValue. The key is a literal.
// - a Track, a Flow, a TerminatingFlow, a CorrelationId, a SourceLocation, a
//   Timestamp, of "protozero/tracing/track_event_args.h".
// - a function that takes a trace::TrackEvent*, and may write any of its
//   fields, and those of its extensions.
// What is not a literal is a DynamicCategory or a DynamicString. A category may
// be a list, "app,net": one that is wanted is enough.
//
// Nothing of it is evaluated unless a session wants the category. Then, an
// event is a load, a test, and a branch. Who records, and which categories, is
// up to sessions: a LocalTrace in the program, or a service that the program is
// connected to:
//
//   static auto& producer = *new protozero::Producer({});
//   producer.RegisterDataSource(protozero::TrackEventDataSource());
//
// An event that is recorded takes no lock, and allocates nothing once its
// thread has traced in that session. In a signal handler: REQUIRES that this is
// so; an event that interrupts another one is lost, and counted, as
// LossReason::kWriterBusy. No cancellation point of pthread_cancel() is in an
// event, but those of functions that are its arguments. REQUIRES: the thread is
// not cancelled asynchronously. Events before main() and after it, in threads
// that end, and in children of fork() with sessions of their own, are like
// others.
//
// Where PROTOZERO_NO_TRACE_EVENTS is defined, the macros stand for nothing, and
// leave nothing behind.

namespace protozero {
PROTOZERO_ABI_BEGIN

// The data source of all events of the program, "track_event", which sessions
// configure by a TrackEventConfig. Never gone. Any thread.
std::shared_ptr<DataSource> TrackEventDataSource();

// What the calling thread, and the process, are called in traces; up to 63
// characters. If this is not called, as by the system.
void SetTraceThreadName(std::string_view name);
void SetTraceProcessName(std::string_view name);

// Has each session's trace say what extensions of TrackEvent are called, and of
// which types they are, for readers that do not know them. |descriptor_set| is
// a FileDescriptorSet in its encoding; the bytes have to stay where they are.
// Events take no longer by it. Call it before they are traced; up to 32 times.
void DescribeTraceExtensions(ConstBytes descriptor_set);

// The same for a class that the plugin has made, with the option descriptors.
//
//   protozero::DescribeTraceExtensions<QueryEvent>();
template <typename Extensions>
void DescribeTraceExtensions() {
  DescribeTraceExtensions(Extensions::DescriptorSet());
}

// CLOCK_BOOTTIME in nanoseconds, which the timestamps of events are, too.
uint64_t TraceTimeNs();

namespace internal {

// See PROTOZERO_TRACE_CATEGORY().
struct TraceCategory {
  TraceCategory(const char* name, const char* description, const char* tags);
  const std::string_view name;
  const std::string_view description;
  const std::string_view tags;
  TraceCategory* next = nullptr;
};

}  // namespace internal

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#if !defined(PROTOZERO_NO_TRACE_EVENTS)

// A slice from here to the end of the scope.
//
//   PROTOZERO_TRACE_EVENT("app", "Load");
//   PROTOZERO_TRACE_EVENT("app", "Load", "path", path, "size", size);
//
// It ends where it has begun: on the track that it was given, or that of the
// thread that has begun it, wherever the scope ends. Scopes of coroutines may
// end in any order, and on any thread.
#define PROTOZERO_TRACE_EVENT(category, ...)                             \
  PROTOZERO_INTERNAL_TRACE_SCOPED(::protozero::internal::Emit, category, \
                                  __VA_ARGS__)

// The beginning of a slice, and the end of the last one that has begun on the
// track. The end takes no name.
#define PROTOZERO_TRACE_EVENT_BEGIN(category, ...)                         \
  PROTOZERO_INTERNAL_TRACE_NAMED(::protozero::internal::Emit, SLICE_BEGIN, \
                                 category, __VA_ARGS__)
#define PROTOZERO_TRACE_EVENT_END(...) \
  PROTOZERO_INTERNAL_TRACE_END(::protozero::internal::EmitUnnamed, __VA_ARGS__)

// Something that takes no time.
#define PROTOZERO_TRACE_EVENT_INSTANT(category, ...)                   \
  PROTOZERO_INTERNAL_TRACE_NAMED(::protozero::internal::Emit, INSTANT, \
                                 category, __VA_ARGS__)

// A value, from now on: of a CounterTrack, or of the process's counter of that
// name.
#define PROTOZERO_TRACE_COUNTER(category, track, value)                  \
  PROTOZERO_INTERNAL_TRACE_COUNTER(::protozero::internal::EmitCounterOf, \
                                   category, (track), (value))

// Whether a session wants the category, a literal.
#define PROTOZERO_TRACE_CATEGORY_ENABLED(category)                    \
  ([] {                                                               \
    PROTOZERO_INTERNAL_TRACE_SITE(trace_site, INSTANT, category, ""); \
    return trace_site.IsOn();                                         \
  }())

// Says what a category is about, in a namespace. |tags| are separated by
// spaces. Sessions choose by them, too; those with "slow" or "debug" are off
// unless a session asks for them.
#define PROTOZERO_TRACE_CATEGORY(category, description, tags)                  \
  static const ::protozero::internal::TraceCategory PROTOZERO_INTERNAL_CONCAT( \
      trace_category_, __COUNTER__)(category, description, tags)

// ---- For the macros above.

// In the condition itself, for compilers forget what is said of a result.
#if defined(__GNUC__)
#define PROTOZERO_INTERNAL_SELDOM(x) __builtin_expect((x), false)
#else
#define PROTOZERO_INTERNAL_SELDOM(x) (x)
#endif
#if defined(__clang__)
#define PROTOZERO_INTERNAL_CONSTINIT [[clang::require_constant_initialization]]
#elif defined(__GNUC__)
#define PROTOZERO_INTERNAL_CONSTINIT __constinit
#else
#define PROTOZERO_INTERNAL_CONSTINIT
#endif
#define PROTOZERO_INTERNAL_CONCAT2(a, b) a##b
#define PROTOZERO_INTERNAL_CONCAT(a, b) PROTOZERO_INTERNAL_CONCAT2(a, b)
#define PROTOZERO_INTERNAL_FIRST(first, ...) first
// Of a conditional, what is not taken need not be a constant.
#define PROTOZERO_INTERNAL_TEXT(text)                \
  (::protozero::internal::kIsLiteral<decltype(text)> \
       ? ::protozero::internal::StaticText(text)     \
       : nullptr)
// Whether an event has nothing that is evaluated: literals, and no argument
// behind them. An argument may have a lambda, which C++17 does not allow in
// decltype(), so the second one is looked at as a text.
#define PROTOZERO_INTERNAL_STRINGIZE(...) #__VA_ARGS__
#define PROTOZERO_INTERNAL_TEXT_OF_SECOND(first, second, ...) \
  PROTOZERO_INTERNAL_STRINGIZE(second)
#define PROTOZERO_INTERNAL_IS_FIXED(category, ...)                      \
  (::protozero::internal::kIsLiteral<decltype(category)> &&             \
   ::protozero::internal::kIsLiteral<decltype(PROTOZERO_INTERNAL_FIRST( \
       __VA_ARGS__, 0))> &&                                             \
   PROTOZERO_INTERNAL_TEXT_OF_SECOND(__VA_ARGS__, ;, 0)[0] == ';')
#define PROTOZERO_INTERNAL_TRACE_IS_ON(site, category, ...) \
  (PROTOZERO_INTERNAL_IS_FIXED(category, __VA_ARGS__)       \
       ? PROTOZERO_INTERNAL_SELDOM((site).MayBeOn())        \
       : (site).IsOn())
// A site in an inline function is one for each shared library, as the functions
// are that it is given to. For gcc, a static variable is as hidden as its type.
// For clang it is as hidden as the function, so there it is a member of a
// hidden template.
#if defined(__clang__)
#define PROTOZERO_INTERNAL_TRACE_SITE(variable, event_type, category, ...) \
  static constexpr const char* PROTOZERO_INTERNAL_CONCAT(variable,         \
                                                         _texts)[] = {     \
      PROTOZERO_INTERNAL_TEXT(category),                                   \
      PROTOZERO_INTERNAL_TEXT(PROTOZERO_INTERNAL_FIRST(__VA_ARGS__, 0))};  \
  struct PROTOZERO_INTERNAL_CONCAT(variable, _maker) {                     \
    static constexpr ::protozero::internal::TraceSite Make() {             \
      return ::protozero::internal::TraceSite(                             \
          ::protozero::trace::TrackEvent::TYPE_##event_type,               \
          PROTOZERO_INTERNAL_CONCAT(variable, _texts)[0],                  \
          PROTOZERO_INTERNAL_CONCAT(variable, _texts)[1]);                 \
    }                                                                      \
  };                                                                       \
  static constexpr ::protozero::internal::TraceSite& variable =            \
      ::protozero::internal::TraceSiteOf<PROTOZERO_INTERNAL_CONCAT(        \
          variable, _maker)>::site
#else
#define PROTOZERO_INTERNAL_TRACE_SITE(variable, type, category, ...)   \
  PROTOZERO_INTERNAL_CONSTINIT static ::protozero::internal::TraceSite \
      variable(                                                        \
          ::protozero::trace::TrackEvent::TYPE_##type,                 \
          PROTOZERO_INTERNAL_TEXT(category),                           \
          PROTOZERO_INTERNAL_TEXT(PROTOZERO_INTERNAL_FIRST(__VA_ARGS__, 0)))
#endif
// Defines |pointer|, to a site. The site has the same name everywhere, in a
// scope of its own: in an inline function of a header, the name is a symbol,
// which has to mean the same in all files. |pointer| is __COUNTER__'s, so that
// events may be on one line, and within each other.
#define PROTOZERO_INTERNAL_TRACE_SITE_AT(pointer, ...)         \
  void* pointer;                                               \
  {                                                            \
    PROTOZERO_INTERNAL_TRACE_SITE(trace_site_of, __VA_ARGS__); \
    pointer = &trace_site_of;                                  \
  }
#define PROTOZERO_INTERNAL_SITE(id) PROTOZERO_INTERNAL_CONCAT(trace_site_, id)
// |pointer| has no type, for it is in the frame of a coroutine, and gcc warns
// of a frame that is less hidden than the types in it.
#define PROTOZERO_INTERNAL_SITE_OF(id) \
  static_cast<::protozero::internal::TraceSite*>(PROTOZERO_INTERNAL_SITE(id))
#define PROTOZERO_INTERNAL_SLICE(id) PROTOZERO_INTERNAL_CONCAT(trace_slice_, id)
// |emit| is the function that writes the event.
#define PROTOZERO_INTERNAL_TRACE_SCOPED(...) \
  PROTOZERO_INTERNAL_TRACE_SCOPED_ID(__COUNTER__, __VA_ARGS__)
#define PROTOZERO_INTERNAL_TRACE_SCOPED_ID(id, emit, category, ...)          \
  PROTOZERO_INTERNAL_TRACE_SITE_AT(PROTOZERO_INTERNAL_SITE(id), SLICE_BEGIN, \
                                   category, __VA_ARGS__)                    \
  ::protozero::internal::ScopedTraceSlice PROTOZERO_INTERNAL_SLICE(id);      \
  if (PROTOZERO_INTERNAL_TRACE_IS_ON(*PROTOZERO_INTERNAL_SITE_OF(id),        \
                                     category, __VA_ARGS__))                 \
  PROTOZERO_INTERNAL_SLICE(id).HasBegun(                                     \
      emit(PROTOZERO_INTERNAL_SITE_OF(id), category, __VA_ARGS__))
#define PROTOZERO_INTERNAL_TRACE_NAMED(...) \
  PROTOZERO_INTERNAL_TRACE_NAMED_ID(__COUNTER__, __VA_ARGS__)
#define PROTOZERO_INTERNAL_TRACE_NAMED_ID(id, emit, type, category, ...) \
  do {                                                                   \
    PROTOZERO_INTERNAL_TRACE_SITE_AT(PROTOZERO_INTERNAL_SITE(id), type,  \
                                     category, __VA_ARGS__)              \
    if (PROTOZERO_INTERNAL_TRACE_IS_ON(*PROTOZERO_INTERNAL_SITE_OF(id),  \
                                       category, __VA_ARGS__))           \
      emit(PROTOZERO_INTERNAL_SITE_OF(id), category, __VA_ARGS__);       \
  } while (0)
#define PROTOZERO_INTERNAL_TRACE_END(...) \
  PROTOZERO_INTERNAL_TRACE_END_ID(__COUNTER__, __VA_ARGS__)
#define PROTOZERO_INTERNAL_TRACE_END_ID(id, emit, ...)                         \
  do {                                                                         \
    PROTOZERO_INTERNAL_TRACE_SITE_AT(PROTOZERO_INTERNAL_SITE(id), SLICE_END,   \
                                     PROTOZERO_INTERNAL_FIRST(__VA_ARGS__, 0), \
                                     "")                                       \
    if (PROTOZERO_INTERNAL_TRACE_IS_ON(*PROTOZERO_INTERNAL_SITE_OF(id), "",    \
                                       __VA_ARGS__))                           \
      emit(PROTOZERO_INTERNAL_SITE_OF(id), __VA_ARGS__);                       \
  } while (0)
#define PROTOZERO_INTERNAL_TRACE_COUNTER(...) \
  PROTOZERO_INTERNAL_TRACE_COUNTER_ID(__COUNTER__, __VA_ARGS__)
#define PROTOZERO_INTERNAL_TRACE_COUNTER_ID(id, emit, category, ...)       \
  do {                                                                     \
    PROTOZERO_INTERNAL_TRACE_SITE_AT(PROTOZERO_INTERNAL_SITE(id), COUNTER, \
                                     category, "")                         \
    if (PROTOZERO_INTERNAL_SITE_OF(id)->IsOn())                            \
      emit(PROTOZERO_INTERNAL_SITE_OF(id), category, __VA_ARGS__);         \
  } while (0)

#else  // PROTOZERO_NO_TRACE_EVENTS

#define PROTOZERO_TRACE_EVENT(...) static_cast<void>(0)
#define PROTOZERO_TRACE_EVENT_BEGIN(...) static_cast<void>(0)
#define PROTOZERO_TRACE_EVENT_END(...) static_cast<void>(0)
#define PROTOZERO_TRACE_EVENT_INSTANT(...) static_cast<void>(0)
#define PROTOZERO_TRACE_COUNTER(...) static_cast<void>(0)
#define PROTOZERO_TRACE_CATEGORY_ENABLED(category) false
#define PROTOZERO_TRACE_CATEGORY(category, description, tags) \
  static_assert(true, "")

#endif  // PROTOZERO_NO_TRACE_EVENTS

#endif  // INCLUDE_PROTOZERO_TRACING_TRACK_EVENT_H_
