// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_VALUES_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_VALUES_H_

#include <stddef.h>
#include <stdint.h>

#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "protozero/append_fields.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/track_event_args.h"

#include "protozero/internal/macros.h"

// The conversion of values of any type to the few kinds that are passed on, and
// to what is written.

namespace protozero {
PROTOZERO_ABI_BEGIN

class TraceValue;

namespace internal PROTOZERO_HIDDEN {

// ---- Arguments in the form that the function that writes the event takes.
// They have few kinds, so that call sites share that function.

template <typename T>
using Bare = std::remove_cv_t<std::remove_reference_t<T>>;
// A value whose key is a literal, and one whose key is not.
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
// A string whose length is found where the event is written, which needs less
// code than at each call site.
struct StringPointer {
  const char* text;
  std::string_view view() const { return text != nullptr ? text : "NULL"; }
};
// A value that has a function of its own to write it: a range, or a function of
// users.
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
inline auto AnnotationOf(StringPointer value) {
  return Annotation::kStringValue(value.view());
}
inline auto AnnotationOf(PointerValue value) {
  return Annotation::kPointerValue(value.address);
}

template <typename T, typename = void>
inline constexpr bool kIsRange = false;
template <typename T>
inline constexpr bool
    kIsRange<T,
             std::void_t<decltype(std::begin(std::declval<const T&>())),
                         decltype(std::end(std::declval<const T&>()))>> = true;
template <typename T>
inline constexpr bool kIsPair = false;
template <typename A, typename B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;

template <typename T>
PROTOZERO_ALWAYS_INLINE auto PassValue(const T& value) {
  if constexpr (std::is_same<T, bool>::value) {
    return value;
  } else if constexpr (std::is_null_pointer<T>::value) {
    return PointerValue{0};
  } else if constexpr (std::is_enum<T>::value) {
    return PassValue(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_floating_point<T>::value) {
    return static_cast<double>(value);
  } else if constexpr (std::is_integral<T>::value) {
    if constexpr (std::is_signed<T>::value) {
      return static_cast<int64_t>(value);
    } else {
      return static_cast<uint64_t>(value);
    }
  } else if constexpr (std::is_same<T, DynamicString>::value) {
    return value.text;
  } else if constexpr (std::is_convertible<const T&, const char*>::value) {
    return StringPointer{value};
  } else if constexpr (std::is_convertible<const T&, std::string_view>::value) {
    return static_cast<std::string_view>(value);
  } else if constexpr (std::is_pointer<T>::value) {
    return PointerValue{reinterpret_cast<uintptr_t>(value)};
  } else {
    static_assert(
        kIsRange<T> || std::is_invocable<const T&, TraceValue>::value,
        "a value is a number, a bool, an enum, a string, a pointer, a range of "
        "such, or a function that takes a TraceValue");
    return ComplexValue<T>{&value};
  }
}

template <typename T>
void WriteAnnotation(Annotation* annotation, const T& value);

}  // namespace internal PROTOZERO_HIDDEN

class TraceDictionary;
class TraceArray;

// The argument of functions that are values of events:
//
//   PROTOZERO_TRACE_EVENT("app", "load", "file", [&](TraceValue value) {
//     auto file = std::move(value).Dictionary();
//     file.Add("name", name);
//     file.Add("sizes", sizes);  // A std::vector<int>, say.
//   });
//
// Values may be of all types that events take. An open dictionary or array ends
// when something beside it is begun, as nested messages do.
class TraceValue {
 public:
  explicit TraceValue(trace::DebugAnnotation* annotation)
      : annotation_(annotation) {}
  template <typename T>
  void Set(const T& value) && {
    internal::WriteAnnotation(annotation_, value);
  }
  TraceDictionary Dictionary() &&;
  TraceArray Array() &&;

 private:
  trace::DebugAnnotation* annotation_;
};

class TraceDictionary {
 public:
  explicit TraceDictionary(trace::DebugAnnotation* annotation)
      : annotation_(annotation) {}
  template <typename T>
  void Add(std::string_view key, const T& value) {
    auto* const entry = annotation_->add_dict_entries();
    entry->set_name(key);
    internal::WriteAnnotation(entry, value);
  }

 private:
  trace::DebugAnnotation* annotation_;
};

class TraceArray {
 public:
  explicit TraceArray(trace::DebugAnnotation* annotation)
      : annotation_(annotation) {}
  template <typename T>
  void Append(const T& value) {
    internal::WriteAnnotation(annotation_->add_array_values(), value);
  }

 private:
  trace::DebugAnnotation* annotation_;
};

inline TraceDictionary TraceValue::Dictionary() && {
  return TraceDictionary(annotation_);
}
inline TraceArray TraceValue::Array() && {
  return TraceArray(annotation_);
}

namespace internal PROTOZERO_HIDDEN {

// The text of a map's key.
class MapKey {
 public:
  explicit MapKey(bool value) : text_(value ? "true" : "false") {}
  explicit MapKey(int64_t value)
      : text_(Decimal(value < 0 ? 0 - static_cast<uint64_t>(value)
                                : static_cast<uint64_t>(value),
                      value < 0)) {}
  explicit MapKey(uint64_t value) : text_(Decimal(value, false)) {}
  explicit MapKey(StringPointer value) : text_(value.view()) {}
  explicit MapKey(std::string_view value) : text_(value) {}
  MapKey(const MapKey&) = delete;
  MapKey& operator=(const MapKey&) = delete;

  std::string_view text() const { return text_; }

 private:
  std::string_view Decimal(uint64_t value, bool is_negative) {
    char* const end = digits_ + sizeof(digits_);
    char* pos = end;
    do {
      *--pos = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    if (is_negative)
      *--pos = '-';
    return std::string_view(pos, static_cast<size_t>(end - pos));
  }

  // The digits of a number: a sign and 20 digits.
  char digits_[21];
  std::string_view text_;
};

template <typename T>
void WriteComplexValue(Annotation* annotation, const T& value) {
  if constexpr (std::is_invocable<const T&, TraceValue>::value) {
    value(TraceValue(annotation));
  } else {
    TraceArray array(annotation);
    TraceDictionary dictionary(annotation);
    for (const auto& element : value) {
      if constexpr (kIsPair<Bare<decltype(element)>>) {
        const auto key = PassValue(element.first);
        static_assert(std::is_constructible<MapKey, decltype(key)>::value &&
                          !std::is_same<decltype(key), const double>::value,
                      "the key of a map is a string, an integer, an enum, or a "
                      "bool");
        dictionary.Add(MapKey(key).text(), element.second);
      } else {
        array.Append(element);
      }
    }
  }
}

template <typename T>
void WriteAnnotation(Annotation* annotation, const T& value) {
  const auto passed = PassValue(value);
  if constexpr (std::is_same<decltype(passed), const ComplexValue<T>>::value) {
    WriteComplexValue(annotation, value);
  } else {
    AppendFields(annotation, AnnotationOf(passed));
  }
}

// Writes a value in its passed form.
template <typename T>
void WritePassedValue(Annotation* annotation, const T& value) {
  AppendFields(annotation, AnnotationOf(value));
}
template <typename T>
void WritePassedValue(Annotation* annotation, const ComplexValue<T>& value) {
  WriteComplexValue(annotation, *value.value);
}

}  // namespace internal PROTOZERO_HIDDEN
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_VALUES_H_
