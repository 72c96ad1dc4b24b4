// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_PERFETTO_MACROS_H_
#define INCLUDE_PROTOZERO_TRACING_PERFETTO_MACROS_H_

#include <stdint.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "protozero/tracing/track_event.h"  // IWYU pragma: export

#if defined(TRACE_EVENT) || defined(INCLUDE_PERFETTO_TRACING_TRACK_EVENT_H_)
#error "protozero/tracing/perfetto_macros.h replaces Perfetto's track_event.h"
#endif

#include "protozero/internal/macros.h"

// Trace events with the names of Perfetto's SDK, for code that was written for
// that SDK:
//
//   #include "protozero/tracing/perfetto_macros.h"
//
//   PERFETTO_DEFINE_CATEGORIES(
//       perfetto::Category("app").SetDescription("About it"));
//
//   void Load(uint64_t id, uint64_t start) {
//     TRACE_EVENT("app", "Load", "id", id);
//     TRACE_EVENT_INSTANT("app", "asked", perfetto::Track(id), start,
//                         [&](perfetto::EventContext context) {
//                           context.event()->set_correlation_id(id);
//                         });
//     TRACE_COUNTER("app", "loads", 1);
//   }
//
// Arguments have Perfetto's order: after the name, a track, then a timestamp,
// then the others. "protozero/tracing/track_event.h" says what an event does.
// Other files of the program may use Perfetto's SDK itself: here, the names in
// perfetto:: only stand for types of this library.

namespace protozero {
PROTOZERO_ABI_BEGIN

// Not in ::perfetto, where the linker would take the names for the SDK's.
namespace as_perfetto {

// The library's own types, whose names the classes below hide.
using TrackBase = PROTOZERO_INTERNAL_NS::Track;
using CounterTrackBase = PROTOZERO_INTERNAL_NS::CounterTrack;
using FlowBase = PROTOZERO_INTERNAL_NS::Flow;
using TerminatingFlowBase = PROTOZERO_INTERNAL_NS::TerminatingFlow;

// perfetto::Track.
class Track : public TrackBase {
 public:
  using TrackBase::TrackBase;
  // Make a track of an object's address, or one of all processes.
  static Track FromPointer(const void* pointer) {
    return Track(reinterpret_cast<uintptr_t>(pointer));
  }
  static constexpr Track Global(uint64_t id) { return Track(id, kNobody); }
};

// perfetto::NamedTrack.
class NamedTrack : public TrackBase {
 public:
  using TrackBase::TrackBase;
  // REQUIRES: the text outlives the track.
  constexpr explicit NamedTrack(DynamicString name, uint64_t id = 0)
      : TrackBase(name.text, id) {}
  static constexpr NamedTrack Global(std::string_view name, uint64_t id = 0) {
    return NamedTrack(name, id, kNobody);
  }
};

// The track of the process.
struct ProcessTrack {
  static constexpr TrackBase Current() { return TrackBase::Process(); }
};
// The track of the calling thread.
struct ThreadTrack {
  static constexpr TrackBase Current() { return TrackBase::Thread(); }
};

// perfetto::CounterTrack.
class CounterTrack : public CounterTrackBase {
 public:
  using CounterTrackBase::CounterTrackBase;
  // Makes a counter with the name of a unit, like set_unit_name().
  constexpr CounterTrack(std::string_view name, const char* unit_name)
      : CounterTrackBase(name) {
    set_unit_name(unit_name);
  }
};

// perfetto::Flow, whose functions make a protozero::Flow.
struct Flow {
  static FlowBase ProcessScoped(uint64_t id) { return FlowBase(id); }
  static FlowBase FromPointer(const void* pointer) {
    return FlowBase::FromPointer(pointer);
  }
  static FlowBase Global(uint64_t id) { return FlowBase::Global(id); }
};

// The same for the last event of a flow.
struct TerminatingFlow {
  static TerminatingFlowBase ProcessScoped(uint64_t id) {
    return TerminatingFlowBase(id);
  }
  static TerminatingFlowBase FromPointer(const void* pointer) {
    return TerminatingFlowBase(FlowBase::FromPointer(pointer));
  }
  static TerminatingFlowBase Global(uint64_t id) {
    return TerminatingFlowBase(FlowBase::Global(id));
  }
};

// The argument of functions that are arguments of events.
class EventContext {
 public:
  // Not explicit: the event itself is passed to such a function.
  EventContext(trace::TrackEvent* event) : event_(event) {}
  // Returns the event, any field of which may be set.
  trace::TrackEvent* event() const { return event_; }
  // Adds a value with a name, like an argument of the macros.
  template <typename T>
  void AddDebugAnnotation(std::string_view name, const T& value) const {
    auto* const annotation = event_->add_debug_annotations();
    annotation->set_name(name);
    internal::WriteAnnotation(annotation, value);
  }

 private:
  trace::TrackEvent* event_;
};

// The argument of functions that are values.
class TracedValue : public TraceValue {
 public:
  // Each function writes the value, and uses the object up.
  TracedValue(const TraceValue& value) : TraceValue(value) {}
  TraceDictionary WriteDictionary() && { return std::move(*this).Dictionary(); }
  TraceArray WriteArray() && { return std::move(*this).Array(); }
  void WriteInt64(int64_t value) && { std::move(*this).Set(value); }
  void WriteUInt64(uint64_t value) && { std::move(*this).Set(value); }
  void WriteDouble(double value) && { std::move(*this).Set(value); }
  void WriteBoolean(bool value) && { std::move(*this).Set(value); }
  void WriteString(std::string_view value) && { std::move(*this).Set(value); }
  void WritePointer(const void* value) && { std::move(*this).Set(value); }
};

// An argument of PERFETTO_DEFINE_CATEGORIES(). Texts are literals.
class Category {
 public:
  // Makes a category of that name, without description and tags.
  explicit Category(const char* name) : name_(name) {}
  // Accepts a list of categories, which needs no description.
  static Category Group(const char*) { return Category(nullptr); }
  // Set the description and the tags, for lists of categories.
  Category& SetDescription(const char* description) {
    description_ = description;
    return *this;
  }
  template <typename... Tags>
  Category& SetTags(const Tags&... tags) {
    ((tags_ += tags, tags_ += ' '), ...);
    return *this;
  }

 private:
  friend class Categories;
  const char* name_;
  const char* description_ = "";
  std::string tags_;
};

// The object that PERFETTO_DEFINE_CATEGORIES() defines. It registers its
// categories.
class Categories {
 public:
  // Allocates memory that is never freed.
  Categories(std::initializer_list<Category> categories) {
    for (const Category& category : categories) {
      if (category.name_ == nullptr)
        continue;
      // Events may use the tags when static objects are gone.
      const std::string* const tags = new std::string(category.tags_);
      new internal::TraceCategory(category.name_, category.description_,
                                  tags->c_str());
    }
  }
};

// perfetto::TrackEvent, of which programs call this before the first event.
struct TrackEvent {
  // Does nothing: a Producer or a LocalTrace offers the events.
  static bool Register() { return true; }
};

// True if an argument in a timestamp's place is a timestamp.
template <typename T>
inline constexpr bool kIsTimestamp =
    std::is_integral<T>::value &&
    !std::is_same<std::remove_cv_t<T>, bool>::value;

// Calls |emit| with the arguments in their order. Makes a Timestamp of a number
// that is the first argument or stands after a track.
template <typename Emit>
auto EmitOrdered(const Emit& emit) {
  return emit();
}
template <typename Emit, typename First>
auto EmitOrdered(const Emit& emit, First& first) {
  if constexpr (kIsTimestamp<First>) {
    Timestamp timestamp(static_cast<uint64_t>(first));
    return emit(timestamp);
  } else {
    return emit(first);
  }
}
template <typename Emit, typename First, typename Second, typename... Rest>
auto EmitOrdered(const Emit& emit,
                 First& first,
                 Second& second,
                 Rest&... rest) {
  if constexpr (kIsTimestamp<First>) {
    Timestamp timestamp(static_cast<uint64_t>(first));
    return emit(timestamp, second, rest...);
  } else if constexpr (std::is_base_of<TrackBase, First>::value &&
                       kIsTimestamp<Second>) {
    Timestamp timestamp(static_cast<uint64_t>(second));
    return emit(first, timestamp, rest...);
  } else {
    return emit(first, second, rest...);
  }
}

// Writes an event, for the macros below.
template <typename Category, typename Name, typename... Args>
auto Emit(internal::TraceSite* site,
          const Category& category,
          const Name& name,
          Args&&... args) {
  return EmitOrdered(
      [&](auto&... ordered) {
        return internal::Emit(site, category, name, ordered...);
      },
      args...);
}

// Emits an event that ends a slice.
template <typename Category, typename... Args>
void EmitUnnamed(internal::TraceSite* site,
                 const Category& category,
                 Args&&... args) {
  EmitOrdered(
      [&](auto&... ordered) {
        return internal::EmitUnnamed(site, category, ordered...);
      },
      args...);
}

// Emits a value of a counter.
template <typename Category, typename TrackOrName, typename T>
void EmitCounter(internal::TraceSite* site,
                 const Category& category,
                 const TrackOrName& track,
                 T value) {
  internal::EmitCounterOf(site, category, track, value);
}
template <typename Category, typename TrackOrName, typename T>
void EmitCounter(internal::TraceSite* site,
                 const Category& category,
                 const TrackOrName& track,
                 uint64_t timestamp,
                 T value) {
  const CounterTrackBase counter(track);
  internal::EmitUnnamed(
      site, category, counter, Timestamp(timestamp),
      [&](trace::TrackEvent* event) {
        // Large integers become doubles, as in internal::EmitCounterOf().
        if (std::is_floating_point<T>::value ||
            (std::is_unsigned<T>::value &&
             static_cast<uint64_t>(value) > UINT64_MAX / 2)) {
          event->set_double_counter_value(static_cast<double>(value));
        } else {
          event->set_counter_value(static_cast<int64_t>(value));
        }
      });
}

}  // namespace as_perfetto

PROTOZERO_ABI_END
}  // namespace protozero

namespace perfetto {

using PROTOZERO_INTERNAL_NS::DynamicCategory;
using PROTOZERO_INTERNAL_NS::DynamicString;
// Its text is written with each event, unless it is a literal.
using StaticString = PROTOZERO_INTERNAL_NS::DynamicString;
using PROTOZERO_INTERNAL_NS::as_perfetto::Category;
using PROTOZERO_INTERNAL_NS::as_perfetto::CounterTrack;
using PROTOZERO_INTERNAL_NS::as_perfetto::EventContext;
using PROTOZERO_INTERNAL_NS::as_perfetto::Flow;
using PROTOZERO_INTERNAL_NS::as_perfetto::NamedTrack;
using PROTOZERO_INTERNAL_NS::as_perfetto::ProcessTrack;
using PROTOZERO_INTERNAL_NS::as_perfetto::TerminatingFlow;
using PROTOZERO_INTERNAL_NS::as_perfetto::ThreadTrack;
using PROTOZERO_INTERNAL_NS::as_perfetto::TracedValue;
using PROTOZERO_INTERNAL_NS::as_perfetto::Track;
using PROTOZERO_INTERNAL_NS::as_perfetto::TrackEvent;

}  // namespace perfetto

#include "protozero/internal/undef_macros.h"

// Returns whether a session records the category.
#define TRACE_EVENT_CATEGORY_ENABLED(category) \
  PROTOZERO_TRACE_CATEGORY_ENABLED(category)

// Replaces Perfetto's storage; this library needs none.
#define PERFETTO_TRACK_EVENT_STATIC_STORAGE() static_assert(true, "")

#if !defined(PROTOZERO_NO_TRACE_EVENTS)

// Defines categories, once, in a namespace. Events can use other ones, too.
#define PERFETTO_DEFINE_CATEGORIES(...)                       \
  inline const PROTOZERO_INTERNAL_NS::as_perfetto::Categories \
      perfetto_categories {                                   \
    __VA_ARGS__                                               \
  }

// Record a slice until the end of the scope; the beginning and the end of one;
// a moment. They take the same arguments as PROTOZERO_TRACE_EVENT() and so on.
#define TRACE_EVENT(category, ...)                                          \
  PROTOZERO_INTERNAL_TRACE_SCOPED(PROTOZERO_INTERNAL_NS::as_perfetto::Emit, \
                                  category, __VA_ARGS__)
#define TRACE_EVENT_BEGIN(category, ...)                                   \
  PROTOZERO_INTERNAL_TRACE_NAMED(PROTOZERO_INTERNAL_NS::as_perfetto::Emit, \
                                 SLICE_BEGIN, category, __VA_ARGS__)
#define TRACE_EVENT_INSTANT(category, ...)                                 \
  PROTOZERO_INTERNAL_TRACE_NAMED(PROTOZERO_INTERNAL_NS::as_perfetto::Emit, \
                                 INSTANT, category, __VA_ARGS__)
#define TRACE_EVENT_END(...)    \
  PROTOZERO_INTERNAL_TRACE_END( \
      PROTOZERO_INTERNAL_NS::as_perfetto::EmitUnnamed, __VA_ARGS__)
// Takes a track or a name, an optional timestamp, and the value.
#define TRACE_COUNTER(category, ...) \
  PROTOZERO_INTERNAL_TRACE_COUNTER(  \
      PROTOZERO_INTERNAL_NS::as_perfetto::EmitCounter, category, __VA_ARGS__)

#else  // PROTOZERO_NO_TRACE_EVENTS

#define PERFETTO_DEFINE_CATEGORIES(...) static_assert(true, "")
#define TRACE_EVENT(...) static_cast<void>(0)
#define TRACE_EVENT_BEGIN(...) static_cast<void>(0)
#define TRACE_EVENT_INSTANT(...) static_cast<void>(0)
#define TRACE_EVENT_END(...) static_cast<void>(0)
#define TRACE_COUNTER(...) static_cast<void>(0)

#endif  // PROTOZERO_NO_TRACE_EVENTS

// Define categories in a namespace, for example of a library. Events need not
// be in that namespace.
#define PERFETTO_DEFINE_CATEGORIES_IN_NAMESPACE(ns, ...) \
  namespace ns {                                         \
  PERFETTO_DEFINE_CATEGORIES(__VA_ARGS__);               \
  }                                                      \
  static_assert(true, "")
#define PERFETTO_TRACK_EVENT_STATIC_STORAGE_IN_NAMESPACE(ns) \
  static_assert(true, "")
#define PERFETTO_USE_CATEGORIES_FROM_NAMESPACE(ns) static_assert(true, "")

#endif  // INCLUDE_PROTOZERO_TRACING_PERFETTO_MACROS_H_
