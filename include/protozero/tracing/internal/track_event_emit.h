// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_EMIT_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_EMIT_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>
#include <type_traits>

#include "protozero/tracing/internal/trace_site.h"
#include "protozero/tracing/internal/track_event_values.h"
#include "protozero/tracing/internal/track_event_writer.h"
#include "protozero/tracing/track_event_args.h"

#include "protozero/internal/macros.h"

// The steps from the arguments of a macro to EmitEvent().

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal PROTOZERO_HIDDEN {

template <typename T>
inline constexpr bool kIsLiteral = false;
template <size_t N>
inline constexpr bool kIsLiteral<const char (&)[N]> = true;
template <size_t N>
inline constexpr bool kIsLiteral<const char[N]> = true;
// True if an event's name or category is known at compile time: a literal, or
// null, which is no name.
template <typename T>
inline constexpr bool kIsStaticText =
    kIsLiteral<T> || std::is_same<T, decltype(nullptr)>::value;

// Passes a single argument that is no key.
template <typename T>
PROTOZERO_ALWAYS_INLINE auto PassArg(T& arg) {
  using Arg = Bare<T>;
  if constexpr (std::is_base_of<Track, Arg>::value) {
    return TrackArg{&arg};
  } else if constexpr (std::is_same<Arg, Flow>::value ||
                       std::is_same<Arg, TerminatingFlow>::value ||
                       std::is_same<Arg, CorrelationId>::value ||
                       std::is_same<Arg, SourceLocation>::value ||
                       std::is_same<Arg, Timestamp>::value) {
    return arg;
  } else {
    static_assert(std::is_invocable<T&, trace::TrackEvent*>::value,
                  "an event takes \"key\", value; a Track; a Flow; a "
                  "CorrelationId; a SourceLocation; a Timestamp; or a function "
                  "that takes a trace::TrackEvent*. A key that is no literal "
                  "is a DynamicString");
    return EventFunction<T>{&arg};
  }
}

// Moves the first of |left| arguments, in the form in which it is passed on,
// after the others, until there is none left.
template <size_t left>
struct ArgsPasser {
  template <typename Texts, typename First, typename... Rest>
  PROTOZERO_ALWAYS_INLINE static auto Emit(TraceSite* site,
                                           const Texts& texts,
                                           First&& first,
                                           Rest&&... rest) {
    if constexpr (left == 0) {
      if constexpr (std::is_same<Texts, NoTexts>::value &&
                    kIsSimpleArg<Bare<First>> &&
                    (kIsSimpleArg<Bare<Rest>> && ...)) {
        return EmitSimpleEvent<Bare<decltype(first.value)>,
                               Bare<decltype(rest.value)>...>(
            site, first.key, rest.key..., first.value, rest.value...);
      } else {
        return EmitEvent(site, texts, Bare<First>(first), Bare<Rest>(rest)...);
      }
    } else if constexpr (kIsLiteral<std::remove_reference_t<First>> ||
                         std::is_same<Bare<First>, DynamicString>::value) {
      static_assert(left >= 2, "the last key has no value");
      return EmitNamed(site, texts, first, rest...);
    } else {
      return ArgsPasser<left - 1>::Emit(site, texts, rest..., PassArg(first));
    }
  }

 private:
  template <typename Texts, typename Key, typename Value, typename... Rest>
  PROTOZERO_ALWAYS_INLINE static auto EmitNamed(TraceSite* site,
                                                const Texts& texts,
                                                Key& key,
                                                Value& value,
                                                Rest&... rest) {
    const auto passed = PassValue<Bare<Value>>(value);
    using Passed = std::remove_const_t<decltype(passed)>;
    if constexpr (std::is_same<Bare<Key>, DynamicString>::value) {
      return ArgsPasser<left - 2>::Emit(
          site, texts, rest...,
          DynamicallyNamedValue<Passed>{key.text, passed});
    } else {
      return ArgsPasser<left - 2>::Emit(site, texts, rest...,
                                        NamedValue<Passed>{key, passed});
    }
  }
};

// The functions that the macros call. |Text| is a literal, whose text the site
// has, or a DynamicString or DynamicCategory, which is passed on.
template <typename T>
inline constexpr bool kIsDynamic = std::is_same<T, DynamicString>::value ||
                                   std::is_same<T, DynamicCategory>::value;
template <typename T>
constexpr std::string_view TextOf(const T& text) {
  if constexpr (kIsDynamic<T>) {
    return text.text.data() != nullptr ? text.text : std::string_view("");
  } else {
    return std::string_view();
  }
}
template <typename Category, typename Name>
constexpr auto TextsOf(const Category& category, const Name& name) {
  if constexpr (kIsDynamic<Category>) {
    return DynamicTexts{TextOf(category), TextOf(name)};
  } else if constexpr (kIsDynamic<Name>) {
    return DynamicNameText{TextOf(name)};
  } else {
    return NoTexts();
  }
}

template <typename Texts, typename... Args>
PROTOZERO_ALWAYS_INLINE auto EmitWithTexts(TraceSite* site,
                                           const Texts& texts,
                                           Args&... args) {
  if constexpr (sizeof...(Args) != 0) {
    return ArgsPasser<sizeof...(Args)>::Emit(site, texts, args...);
  } else if constexpr (std::is_same<Texts, NoTexts>::value) {
    return EmitSimpleEvent<>(site);
  } else {
    return EmitEvent(site, texts);
  }
}

template <typename Category, typename... Args>
PROTOZERO_ALWAYS_INLINE auto EmitUnnamed(TraceSite* site,
                                         const Category& category,
                                         Args&&... args) {
  return EmitWithTexts(site, TextsOf(category, ""), args...);
}

template <typename Category, typename Name, typename... Args>
PROTOZERO_ALWAYS_INLINE auto Emit(TraceSite* site,
                                  const Category& category,
                                  const Name& name,
                                  Args&&... args) {
  return EmitWithTexts(site, TextsOf(category, name), args...);
}

// Returns the text of a literal, for a TraceSite. Returns null for a text that
// is known only at run time.
template <size_t N>
constexpr const char* StaticText(const char (&text)[N]) {
  return text;
}
constexpr const char* StaticText(decltype(nullptr)) {
  return "";
}
template <typename T>
constexpr const char* StaticText(const T&) {
  static_assert(std::is_same<T, DynamicString>::value ||
                    std::is_same<T, DynamicCategory>::value ||
                    std::is_base_of<Track, T>::value,
                "a name or category that is no literal is a DynamicString or "
                "DynamicCategory");
  return nullptr;
}

}  // namespace internal PROTOZERO_HIDDEN

// This is not hidden: it is in the frames of users' coroutines, and gcc warns
// if a frame is less hidden than its content.
namespace internal {

// A slice that ends with its scope, on the track on which it has begun.
class ScopedTraceSlice {
 public:
  PROTOZERO_ALWAYS_INLINE ScopedTraceSlice() {
#if defined(__GNUC__)
    // If gcc knew that this is 0, it would compile the scope twice.
    asm("" : "+r"(token_));
#endif
  }
  PROTOZERO_ALWAYS_INLINE ~ScopedTraceSlice() {
    if (PROTOZERO_UNLIKELY(token_ != 0)) {
      if (track_uuid_ != 0) {
        EmitEndOnTrack(token_, track_uuid_, sessions_);
      } else {
        EmitEnd(token_);
      }
    }
  }
  ScopedTraceSlice(const ScopedTraceSlice&) = delete;
  ScopedTraceSlice& operator=(const ScopedTraceSlice&) = delete;

  // Keeps the event that was its beginning.
  PROTOZERO_ALWAYS_INLINE void HasBegun(SliceToken token) { token_ = token; }
  PROTOZERO_ALWAYS_INLINE void HasBegun(const SliceOnTrack& slice) {
    token_ = slice.token;
    track_uuid_ = slice.track_uuid;
    sessions_ = slice.sessions;
  }

 private:
  SliceToken token_ = 0;
  // The compiler sees that these are 0 if the event has no track.
  uint64_t track_uuid_ = 0;
  SessionMask sessions_ = 0;
};

}  // namespace internal

namespace internal PROTOZERO_HIDDEN {

template <typename Category, typename TrackOrName, typename T>
PROTOZERO_ALWAYS_INLINE void EmitCounterOf(TraceSite* site,
                                           const Category& category,
                                           const TrackOrName& track,
                                           T value) {
  static_assert(std::is_arithmetic<T>::value, "a counter's value is a number");
  using Number =
      std::conditional_t<std::is_floating_point<T>::value, double, int64_t>;
  if constexpr (std::is_same<T, unsigned long>::value ||
                std::is_same<T, unsigned long long>::value) {
    // The format's integers end at 2^63, so larger ones are doubles.
    if (PROTOZERO_UNLIKELY(value > UINT64_MAX / 2)) {
      return EmitCounterOf(site, category, track, static_cast<double>(value));
    }
  }
  if constexpr (kIsLiteral<const TrackOrName> && !kIsDynamic<Category>) {
    EmitNamedCounter(site, static_cast<Number>(value));
  } else if constexpr (std::is_same<TrackOrName, CounterTrack>::value) {
    EmitCounter(site, TextOf(category), track, static_cast<Number>(value));
  } else {
    EmitCounter(site, TextOf(category), CounterTrack(track),
                static_cast<Number>(value));
  }
}

}  // namespace internal PROTOZERO_HIDDEN
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_EMIT_H_
