// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_FIELD_CHECKS_H_
#define INCLUDE_PROTOZERO_INTERNAL_FIELD_CHECKS_H_

#include <type_traits>

#include "protozero/internal/field_value.h"
#include "protozero/message.h"

#include "protozero/internal/macros.h"

// Checks of the arguments of AppendFields(), with advice for wrong ones.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The traits of an argument of AppendFields(): the message class that it
// belongs to, and the form in which it is passed on.
template <typename Value>
struct Appendable : std::false_type {};
template <typename Field, typename Value>
struct Appendable<FieldValue<Field, Value>> : std::true_type {
  using message_type = typename Field::message_type;
  static constexpr FieldValue<Field, Value> Pass(
      const FieldValue<Field, Value>& value) {
    return value;
  }
};

// Returns whether a field of class |Of| may be appended to a |T|: its own
// fields, those of the message that it extends, and all extensions of it.
template <typename T, typename Of>
constexpr bool AreFieldsOf() {
  if constexpr (std::is_same<T, Of>::value) {
    return true;
  } else {
    return std::is_base_of<Of, T>::value || std::is_base_of<T, Of>::value;
  }
}

template <typename T, typename Value>
constexpr bool CheckField() {
  if constexpr (Appendable<Value>::value) {
    static_assert(AreFieldsOf<T, typename Appendable<Value>::message_type>(),
                  "this field belongs to another message");
  } else {
    static_assert(kAlwaysFalse<Value>,
                  "write a field as AppendFields() takes it: Event::kId(7)");
  }
  return true;
}

// The same for all fields of a whole message.
template <typename T, typename... Values>
constexpr bool CheckMessage() {
  static_assert(
      std::is_base_of<Message, T>::value && !std::is_same<Message, T>::value,
      "a whole message takes fields of a generated message class");
  static_assert(sizeof...(Values) != 0, "no fields to append");
  return (CheckField<T, Values>() && ...);
}

// The same for a field in a FieldList.
template <typename T, typename Value>
struct ListField {
  static_assert(kAlwaysFalse<Value>,
                "write a field of a list as Event::kId(7)");
};
template <typename T, typename Field, typename Value>
struct ListField<T, FieldValue<Field, Value>> {
  static constexpr bool kIsChecked = CheckField<T, FieldValue<Field, Value>>();
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_FIELD_CHECKS_H_
