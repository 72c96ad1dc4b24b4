// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_FIELD_VALUE_H_
#define INCLUDE_PROTOZERO_FIELD_VALUE_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>
#include <type_traits>

#include "protozero/field.h"

namespace protozero {

// A field together with a value for it. Each field constant of a generated
// class makes them, from what the field's setter takes:
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
// A literal type: makes constant expressions from constant expressions.
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

// Whether a parameter of type |To| takes a |From|. That any pointer can be
// taken for a bool is never what was meant.
template <typename From, typename To>
inline constexpr bool kTakes =
    std::is_convertible<From, To>::value &&
    !(std::is_same<To, bool>::value &&
      (std::is_pointer<std::decay_t<From>>::value ||
       std::is_member_pointer<std::decay_t<From>>::value));

// The call operators of field constants, by kind of field. The ones that are
// not templates leave conversions, and warnings about them, to the caller; the
// templates are for everything that cannot be converted.

template <typename Field, typename T>
struct NumberNotation {
  constexpr FieldValue<Field, T> operator()(T value) const { return {value}; }

  template <typename Other,
            typename = std::enable_if_t<!kTakes<const Other&, T>>>
  constexpr FieldValue<Field, T> operator()(const Other&) const {
    static_assert(!std::is_enum<T>::value || kAlwaysFalse<Other>,
                  "this field is an enum: give it a value of its enum type");
    static_assert(std::is_enum<T>::value || kAlwaysFalse<Other>,
                  "this field is a number or a bool: give it one");
    return {T{}};
  }

  template <size_t width>
  constexpr FieldValue<Field, Hole<width>> operator()(Hole<width>) const {
    return {};
  }
};

// Element and Range are char and ConstChars, or uint8_t and ConstBytes.
template <typename Field, typename Element, typename Range>
struct BytesNotation {
  // What the value is kept as. (A pointer to uint8_t cannot become one to char
  // in a constant expression.)
  using Value = std::conditional_t<std::is_same<Element, char>::value,
                                   std::string_view,
                                   Range>;

  constexpr FieldValue<Field, Value> operator()(const Element* data,
                                                size_t size) const {
    return {Value(data, size)};
  }
  constexpr FieldValue<Field, Value> operator()(Range value) const {
    return {Value(value.data, value.size)};
  }
  constexpr FieldValue<Field, std::string_view> operator()(
      std::string_view value) const {
    return {value};
  }

  template <typename Other,
            typename = std::enable_if_t<
                !std::is_convertible<const Other&, std::string_view>::value &&
                !std::is_convertible<const Other&, Range>::value>>
  constexpr FieldValue<Field, Value> operator()(const Other&) const {
    static_assert(!std::is_same<Element, char>::value || kAlwaysFalse<Other>,
                  "this field is a string: give it a string, a string_view, or "
                  "a pointer and a size");
    static_assert(std::is_same<Element, char>::value || kAlwaysFalse<Other>,
                  "this field is bytes: give it a container of uint8_t, a "
                  "string_view, or a pointer and a size");
    return {Value()};
  }
};

template <typename Field>
struct PackedNotation {
  template <typename... Values>
  constexpr FieldValue<Field, int> operator()(const Values&...) const {
    static_assert(kAlwaysFalse<Field>,
                  "this field is packed: fill a packed buffer, such as "
                  "PackedVarInt, and give it to the setter");
    return {0};
  }
};

template <typename Field>
struct MessageNotation {
  template <typename... Values>
  constexpr FieldValue<Field, FieldList<Values...>> operator()(
      const FieldList<Values...>& fields) const {
    return {fields};
  }
  template <typename T, size_t N>
  constexpr FieldValue<Field, ConstantRef<T, N>> operator()(
      const ConstantMessage<T, N>& message) const {
    return {ConstantRef<T, N>{message.data()}};
  }
  template <typename T, size_t N>
  constexpr FieldValue<Field, ConstantRef<T, N>> operator()(
      const ConstantMessage<T, N>&& message) const {
    static_assert(kAlwaysFalse<T>,
                  "this constant is gone before it is used: keep it in a "
                  "static constexpr variable");
    return {ConstantRef<T, N>{message.data()}};
  }
  template <typename T, size_t N, typename... Holes>
  constexpr FieldValue<Field, FilledStencil<T, N, Holes...>> operator()(
      const FilledStencil<T, N, Holes...>& message) const {
    return {message};
  }
  template <typename T, size_t N, typename... Holes>
  constexpr FieldValue<Field, ConstantRef<T, N>> operator()(
      const MessageStencil<T, N, Holes...>&) const {
    static_assert(kAlwaysFalse<T>,
                  "this stencil has holes: call it with values for them");
    return {};
  }

  template <typename... Values>
  constexpr FieldValue<Field, int> operator()(const Values&...) const {
    static_assert(kAlwaysFalse<Field>,
                  "this field is a message: begin it with its setter, or give "
                  "it a ConstantMessage");
    return {0};
  }
};

template <typename Field>
struct GroupNotation {
  template <typename... Values>
  constexpr FieldValue<Field, int> operator()(const Values&...) const {
    static_assert(kAlwaysFalse<Field>,
                  "this field is a group: begin it with its setter");
    return {0};
  }
};

}  // namespace internal

}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_FIELD_VALUE_H_
