// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_FIELD_VALUE_H_
#define INCLUDE_PROTOZERO_INTERNAL_FIELD_VALUE_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>
#include <type_traits>

#include "protozero/const_bytes.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A field together with a value for it. Each field constant of a generated
// class makes them from the arguments that the field's setter takes:
//
//   Event::kId(7)                  // FieldValue<FieldMetadata_Id, int32_t>
//   Event::kName("compositor")
//   Event::kName(pointer, size)
//   Event::kWeekday(Weekday::MONDAY)
//
// and AppendFields() takes them. Arguments are converted as by a call of the
// setter, with the same warnings about narrowing; a value of another kind does
// not compile. Strings and bytes are not copied: they must outlive the value.
//
// It is a literal type, so constant arguments make a constant expression.
template <typename Field, typename Value>
struct FieldValue {
  Value value;
};

// See "protozero/constant_message.h".
template <size_t width>
struct Hole;
template <typename... Values>
struct FieldList;
template <typename T, size_t N>
class ConstantMessage;
template <typename T, size_t N, typename... Holes>
class MessageStencil;

namespace internal {

template <typename T, size_t N>
struct ConstantRef;
template <typename T, size_t N, typename... Holes>
struct FilledStencil;

template <typename>
inline constexpr bool kAlwaysFalse = false;

// The call operators of field constants, one class for each kind of field:
//
//   Of()   from any argument to a FieldValue, or to the advice what to use
//          instead
//
// A call instantiates them. If they were bases of the constants' classes,
// compiling a generated header would take twice as long.

template <typename Field, typename T>
struct NumberNotation {
  template <size_t width>
  static constexpr FieldValue<Field, Hole<width>> Of(Hole<width>) {
    return {};
  }

  template <typename... Other>
  static constexpr FieldValue<Field, T> Of(const Other&...) {
    static_assert(!std::is_enum<T>::value || kAlwaysFalse<T>,
                  "this field is an enum: give it a value of its enum type");
    static_assert(std::is_enum<T>::value || kAlwaysFalse<T>,
                  "this field is a number or a bool: give it one");
    return {T{}};
  }
};

// Element and Range are char and ConstChars, or uint8_t and ConstBytes.
template <typename Field, typename Element, typename Range>
struct BytesNotation {
  // The type that keeps arguments other than a string_view. (A pointer to
  // uint8_t cannot become one to char in a constant expression.)
  using Kept = std::conditional_t<std::is_same<Element, char>::value,
                                  std::string_view,
                                  Range>;

  template <typename Pointer, typename Size>
  static constexpr FieldValue<Field, Kept> Of(const Pointer& data,
                                              const Size& size) {
    if constexpr (std::is_convertible<const Pointer&, const Element*>::value &&
                  std::is_integral<Size>::value) {
      return {Kept(data, static_cast<size_t>(size))};
    } else {
      return Advise();
    }
  }
  template <typename Other>
  static constexpr FieldValue<Field, Kept> Of(const Other& value) {
    if constexpr (std::is_convertible<const Other&, Range>::value) {
      const Range range = value;
      return {Kept(range.data, range.size)};
    } else {
      return Advise();
    }
  }
  template <typename... Other>
  static constexpr FieldValue<Field, Kept> Of(const Other&...) {
    return Advise();
  }

 private:
  // A template, so that the compiler gives the advice only when this is called.
  template <typename T = Field>
  static constexpr FieldValue<Field, Kept> Advise() {
    static_assert(!std::is_same<Element, char>::value || kAlwaysFalse<T>,
                  "this field is a string: give it a string, a string_view, or "
                  "a pointer and a size");
    static_assert(std::is_same<Element, char>::value || kAlwaysFalse<T>,
                  "this field is bytes: give it a container of uint8_t, a "
                  "string_view, or a pointer and a size");
    return {Kept()};
  }
};

template <typename Field>
struct SetterNotation {
  template <typename... Values>
  static constexpr FieldValue<Field, int> Of(const Values&...) {
    static_assert(kAlwaysFalse<Field>,
                  "this field is packed, or a group: use its setter, which "
                  "takes a packed buffer, such as PackedVarInt");
    return {0};
  }
};

template <typename Field>
struct MessageNotation {
  template <typename... Values>
  static constexpr FieldValue<Field, FieldList<Values...>> Of(
      const FieldList<Values...>& fields) {
    return {fields};
  }
  template <typename T, size_t N>
  static constexpr FieldValue<Field, ConstantRef<T, N>> Of(
      const ConstantMessage<T, N>& message) {
    return {ConstantRef<T, N>{message.data()}};
  }
  template <typename T, size_t N>
  static constexpr FieldValue<Field, ConstantRef<T, N>> Of(
      const ConstantMessage<T, N>&& message) {
    static_assert(kAlwaysFalse<T>,
                  "this constant is gone before it is used: keep it in a "
                  "static constexpr variable");
    return {ConstantRef<T, N>{message.data()}};
  }
  template <typename T, size_t N, typename... Holes>
  static constexpr FieldValue<Field, FilledStencil<T, N, Holes...>> Of(
      const FilledStencil<T, N, Holes...>& message) {
    return {message};
  }
  template <typename T, size_t N, typename... Holes>
  static constexpr FieldValue<Field, ConstantRef<T, N>> Of(
      const MessageStencil<T, N, Holes...>&) {
    static_assert(kAlwaysFalse<T>,
                  "this stencil has holes: call it with values for them");
    return {};
  }

  template <typename... Values>
  static constexpr FieldValue<Field, int> Of(const Values&...) {
    static_assert(kAlwaysFalse<Field>,
                  "this field is a message: begin it with its setter, or give "
                  "it a ConstantMessage");
    return {0};
  }
};

// True if a |From| converts to the |Value| that a field's setter takes.
// Converting a pointer to a bool does not count, since it is never intended.
template <typename Value, typename From>
inline constexpr bool kTakes =
    std::is_convertible<From, Value>::value &&
    !(std::is_same<Value, bool>::value &&
      (std::is_pointer<std::decay_t<From>>::value ||
       std::is_member_pointer<std::decay_t<From>>::value));

// Has a |type| unless |Values| is one type that kTakes accepts.
template <typename Value, typename... Values>
struct EnableUnlessTaken : std::enable_if<!((sizeof...(Values) == 1) && ... &&
                                            kTakes<Value, Values>)> {};

}  // namespace internal

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_FIELD_VALUE_H_
