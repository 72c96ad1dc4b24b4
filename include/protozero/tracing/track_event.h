// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TRACK_EVENT_H_
#define INCLUDE_PROTOZERO_TRACING_TRACK_EVENT_H_

#include <stdint.h>

#include <memory>
#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/tracing/data_source.h"
#include "protozero/tracing/internal/track_event_emit.h"  // IWYU pragma: export
#include "protozero/tracing/trace.h"                      // IWYU pragma: export
#include "protozero/tracing/track_event_args.h"           // IWYU pragma: export

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
// An event takes a category and a name, which are literals, and any number of
// - "key", value. Values are numbers, bools, enums, strings, pointers, ranges,
//   maps, and functions that take a TraceValue. The key is a literal.
// - a Track, a Flow, a TerminatingFlow, a CorrelationId, a SourceLocation, a
//   Timestamp, of "protozero/tracing/track_event_args.h".
// - a function that takes a trace::TrackEvent*, and may write any of its
//   fields, and those of its extensions.
// Texts that are not literals are a DynamicCategory or a DynamicString. A
// category may be a list, "app,net": the event is recorded if one of them is
// wanted.
//
// A session is one recording. The packets that one thread writes in it are a
// sequence: names and the clock's start are written once in each. The life of
// an event:
//
//   macro --> packet of the thread's sequence --> the session's --> file
//             in a chunk of shared memory         buffer
//             '--- this program -------------'    '--- service ------'
//
// An event that no session wants evaluates nothing: it is a load, a test, and a
// branch. Sessions choose the categories to record. A session is a LocalTrace
// in the program, or one of a service that the program is connected to:
//
//   static auto& producer = *new protozero::Producer({});
//   producer.RegisterDataSource(protozero::TrackEventDataSource());
//
// An event that is recorded takes no lock, and allocates nothing once its
// thread has traced in that session. REQUIRES, in a signal handler: the thread
// has done so. An event that interrupts another one is lost, and counted as
// LossReason::kWriterBusy. An event has no cancellation point of
// pthread_cancel(), unless functions that are its arguments have one. REQUIRES:
// the thread is not cancelled asynchronously. Events may come before main() and
// after it, in threads that end, and in children of fork() with sessions of
// their own.
//
// If PROTOZERO_NO_TRACE_EVENTS is defined, the macros do nothing, and add no
// code.

namespace protozero {
PROTOZERO_ABI_BEGIN

// Returns the data source of all events of the program, "track_event", which
// sessions configure by a TrackEventConfig. It lives forever. Any thread.
std::shared_ptr<DataSource> TrackEventDataSource();

// Set the name of the calling thread, and of the process, in traces, up to 63
// characters. The default is the system's name for it, for a thread the name
// that it has at its first event of a session: to ask again, the thread would
// have to call the system in the middle of its work.
void SetTraceThreadName(std::string_view name);
void SetTraceProcessName(std::string_view name);

// Makes the trace of each session describe the names and types of extensions of
// TrackEvent, for readers that do not know them. |descriptor_set| is an encoded
// FileDescriptorSet; its bytes must live forever. Events get no slower. Call it
// before such events are traced; up to 32 times.
void DescribeTraceExtensions(ConstBytes descriptor_set);

// Describes those of a class that was generated with the option descriptors.
//
//   protozero::DescribeTraceExtensions<QueryEvent>();
template <typename Extensions>
void DescribeTraceExtensions() {
  DescribeTraceExtensions(Extensions::DescriptorSet());
}

// Returns CLOCK_BOOTTIME in nanoseconds, the time of all events' timestamps.
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

// Our namespace, also where `protozero` is that of another library.
#if defined(PROTOZERO_NAMESPACE)
#define PROTOZERO_INTERNAL_NS ::PROTOZERO_NAMESPACE
#else
#define PROTOZERO_INTERNAL_NS ::protozero
#endif

#if !defined(PROTOZERO_NO_TRACE_EVENTS)

// Records a slice from here to the end of the scope.
//
//   PROTOZERO_TRACE_EVENT("app", "Load");
//   PROTOZERO_TRACE_EVENT("app", "Load", "path", path, "size", size);
//
// The slice ends on the track on which it has begun: the given one, or that of
// the thread that has begun it, even if the scope ends on another thread.
// Scopes of coroutines may end in any order, and on any thread.
#define PROTOZERO_TRACE_EVENT(category, ...)                             \
  PROTOZERO_INTERNAL_TRACE_SCOPED(PROTOZERO_INTERNAL_NS::internal::Emit, \
                                  category, __VA_ARGS__)

// Record the beginning of a slice, and the end of the last slice that has begun
// on the track. The end takes no name.
#define PROTOZERO_TRACE_EVENT_BEGIN(category, ...)                      \
  PROTOZERO_INTERNAL_TRACE_NAMED(PROTOZERO_INTERNAL_NS::internal::Emit, \
                                 SLICE_BEGIN, category, __VA_ARGS__)
#define PROTOZERO_TRACE_EVENT_END(...)                                       \
  PROTOZERO_INTERNAL_TRACE_END(PROTOZERO_INTERNAL_NS::internal::EmitUnnamed, \
                               __VA_ARGS__)

// Records something that takes no time.
#define PROTOZERO_TRACE_EVENT_INSTANT(category, ...)                    \
  PROTOZERO_INTERNAL_TRACE_NAMED(PROTOZERO_INTERNAL_NS::internal::Emit, \
                                 INSTANT, category, __VA_ARGS__)

// Records a value that holds from now on: of a CounterTrack, or of the
// process's counter of that name.
#define PROTOZERO_TRACE_COUNTER(category, track, value)                  \
  PROTOZERO_INTERNAL_TRACE_COUNTER(                                      \
      PROTOZERO_INTERNAL_NS::internal::EmitCounterOf, category, (track), \
      (value))

// Returns whether a session wants the category, a literal.
#define PROTOZERO_TRACE_CATEGORY_ENABLED(category)                    \
  ([] {                                                               \
    PROTOZERO_INTERNAL_TRACE_SITE(trace_site, INSTANT, category, ""); \
    return trace_site.IsOn();                                         \
  }())

// Describes a category; used in a namespace. |tags| are separated by spaces.
// Sessions select by tags, too; categories with "slow" or "debug" are off
// unless a session asks for them.
#define PROTOZERO_TRACE_CATEGORY(category, description, tags)       \
  static const PROTOZERO_INTERNAL_NS::internal::TraceCategory       \
  PROTOZERO_INTERNAL_CONCAT(trace_category_, __COUNTER__)(category, \
                                                          description, tags)

// ---- Helpers of the macros above.

// Must be in the condition itself: compilers forget the hint of a result.
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
// Is a constant even if |text| is none: the branch that is not taken need not
// be.
#define PROTOZERO_INTERNAL_TEXT(text)                             \
  (PROTOZERO_INTERNAL_NS::internal::kIsStaticText<decltype(text)> \
       ? PROTOZERO_INTERNAL_NS::internal::StaticText(text)        \
       : nullptr)
// True if nothing of an event is evaluated: it has literals, and no argument
// after them. An argument may have a lambda, which C++17 does not allow in
// decltype(), so the macro looks at the second argument's text.
#define PROTOZERO_INTERNAL_STRINGIZE(...) #__VA_ARGS__
#define PROTOZERO_INTERNAL_TEXT_OF_SECOND(first, second, ...) \
  PROTOZERO_INTERNAL_STRINGIZE(second)
#define PROTOZERO_INTERNAL_IS_FIXED(category, ...)                    \
  (PROTOZERO_INTERNAL_NS::internal::kIsLiteral<decltype(category)> && \
   PROTOZERO_INTERNAL_NS::internal::kIsLiteral<                       \
       decltype(PROTOZERO_INTERNAL_FIRST(__VA_ARGS__, 0))> &&         \
   PROTOZERO_INTERNAL_TEXT_OF_SECOND(__VA_ARGS__, ;, 0)[0] == ';')
#define PROTOZERO_INTERNAL_TRACE_IS_ON(site, category, ...) \
  (PROTOZERO_INTERNAL_IS_FIXED(category, __VA_ARGS__)       \
       ? PROTOZERO_INTERNAL_SELDOM((site).MayBeOn())        \
       : (site).IsOn())
// Defines a site. Each shared library has its own site for an event in an
// inline function, and its own functions that take the site. For gcc, a static
// variable is as hidden as its type. For clang it is as hidden as the function,
// so there it is a member of a hidden template. Without an alignment in the
// code, gcc would align the 40 bytes at 32.
#if defined(__clang__)
#define PROTOZERO_INTERNAL_TRACE_SITE(variable, event_type, category, ...)    \
  static constexpr const char* PROTOZERO_INTERNAL_CONCAT(variable,            \
                                                         _texts)[] = {        \
      PROTOZERO_INTERNAL_TEXT(category),                                      \
      PROTOZERO_INTERNAL_TEXT(PROTOZERO_INTERNAL_FIRST(__VA_ARGS__, 0))};     \
  struct PROTOZERO_INTERNAL_CONCAT(variable, _maker) {                        \
    static constexpr PROTOZERO_INTERNAL_NS::internal::TraceSite Make() {      \
      return PROTOZERO_INTERNAL_NS::internal::TraceSite(                      \
          PROTOZERO_INTERNAL_NS::trace::TrackEvent::TYPE_##event_type,        \
          PROTOZERO_INTERNAL_CONCAT(variable, _texts)[0],                     \
          PROTOZERO_INTERNAL_CONCAT(variable, _texts)[1]);                    \
    }                                                                         \
  };                                                                          \
  static constexpr PROTOZERO_INTERNAL_NS::internal::TraceSite& variable =     \
      PROTOZERO_INTERNAL_NS::internal::TraceSiteOf<PROTOZERO_INTERNAL_CONCAT( \
          variable, _maker)>::site
#else
#define PROTOZERO_INTERNAL_TRACE_SITE(variable, type, category, ...)        \
  alignas(PROTOZERO_INTERNAL_NS::internal::TraceSite)                       \
      PROTOZERO_INTERNAL_CONSTINIT static PROTOZERO_INTERNAL_NS::internal:: \
          TraceSite                                                         \
          variable(PROTOZERO_INTERNAL_NS::trace::TrackEvent::TYPE_##type,   \
                   PROTOZERO_INTERNAL_TEXT(category),                       \
                   PROTOZERO_INTERNAL_TEXT(                                 \
                       PROTOZERO_INTERNAL_FIRST(__VA_ARGS__, 0)))
#endif
// Defines |pointer| to a site. The site has the same name everywhere, in a
// scope of its own: in an inline function of a header, the name is a symbol,
// which has to mean the same in all files. The name of |pointer| has a number
// from __COUNTER__, so that a line, or an event, may contain several events.
#define PROTOZERO_INTERNAL_TRACE_SITE_AT(pointer, ...)         \
  void* pointer;                                               \
  {                                                            \
    PROTOZERO_INTERNAL_TRACE_SITE(trace_site_of, __VA_ARGS__); \
    pointer = &trace_site_of;                                  \
  }
#define PROTOZERO_INTERNAL_SITE(id) PROTOZERO_INTERNAL_CONCAT(trace_site_, id)
// |pointer| has no type: it is in the frame of a coroutine, and gcc warns if a
// frame is less hidden than the types in it.
#define PROTOZERO_INTERNAL_SITE_OF(id)                      \
  static_cast<PROTOZERO_INTERNAL_NS::internal::TraceSite*>( \
      PROTOZERO_INTERNAL_SITE(id))
#define PROTOZERO_INTERNAL_SLICE(id) PROTOZERO_INTERNAL_CONCAT(trace_slice_, id)
// Writes the event with the function |emit|.
#define PROTOZERO_INTERNAL_TRACE_SCOPED(...) \
  PROTOZERO_INTERNAL_TRACE_SCOPED_ID(__COUNTER__, __VA_ARGS__)
#define PROTOZERO_INTERNAL_TRACE_SCOPED_ID(id, emit, category, ...)           \
  PROTOZERO_INTERNAL_TRACE_SITE_AT(PROTOZERO_INTERNAL_SITE(id), SLICE_BEGIN,  \
                                   category, __VA_ARGS__)                     \
  PROTOZERO_INTERNAL_NS::internal::ScopedTraceSlice PROTOZERO_INTERNAL_SLICE( \
      id);                                                                    \
  if (PROTOZERO_INTERNAL_TRACE_IS_ON(*PROTOZERO_INTERNAL_SITE_OF(id),         \
                                     category, __VA_ARGS__))                  \
  PROTOZERO_INTERNAL_SLICE(id).HasBegun(                                      \
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
                                     category, __VA_ARGS__)                \
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
