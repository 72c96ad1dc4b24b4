// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_APPEND_FIELDS_H_
#define INCLUDE_PROTOZERO_APPEND_FIELDS_H_

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "protozero/field.h"
#include "protozero/internal/fields_appender.h"
#include "protozero/internal/value_pack.h"
#include "protozero/message.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The fields of a message, in their order, as the value of a field of its type.
template <typename... Values>
struct FieldList {
  constexpr explicit FieldList(const Values&... v) : values{{v}...} {}
  internal::ValuePack<Values...> values;
};

// Appends several fields at once:
//
//   AppendFields(event, Event::kId(id), Event::kName(name),
//                Event::kTimestamp(now));
//
// writes the same bytes as event->set_id(id), event->set_name(name) and so on
// in that order, but asks only once whether there is room for all of them, and
// keeps the cursor in a register throughout. It takes any fields of numbers,
// bools, enums, strings and bytes, in any order, any of them more than once.
// Fields of other messages do not compile; extensions of the message do. It
// also takes constants of "protozero/constant_message.h", and nested messages,
// as lists of their fields:
//
//   AppendFields(event, Event::kId(id),
//                Event::kSource(protozero::FieldList(
//                    Source::kFile(file), Source::kLine(line))));
//
// The nested messages are sealed then.
//
// Where there is no room (at the end of a chunk, while a child of the message
// is open, after an error), AppendFields() appends the fields one by one, by
// calls. Everything said about setters holds here as well.
//
// REQUIRES: strings and bytes do not overlap the current chunk.
template <typename T, typename... Values>
PROTOZERO_ALWAYS_INLINE void AppendFields(T* message, const Values&... values) {
  static_assert(
      std::is_base_of<Message, T>::value && !std::is_same<Message, T>::value,
      "AppendFields() takes a pointer to a generated message class");
  static_assert(sizeof...(values) != 0, "no fields to append");
  if constexpr ((internal::CheckField<T, Values>() && ...)) {
    internal::FieldsAppender::Append(
        *message, internal::Appendable<Values>::Pass(values)...);
  }
}

// Writes a whole message of class T:
//
//   protozero::AppendMessage<Event>(&writer, Event::kId(id),
//                                   Event::kName(name));
//
// appends the same bytes as a RootMessage that is reset to the stream, gets the
// fields by AppendFields(), and is finalized. But where there is room for all
// of it, no message object is made. Returns the message's size in bytes, which
// the stream does not contain; 0 in the error state, see
// ScatteredStreamWriter::status().
//
// Closes a message that is still open on the writer for good: its bytes stay as
// they are. REQUIRES: the same as AppendFields().
template <typename T, typename... Values>
PROTOZERO_ALWAYS_INLINE uint32_t AppendMessage(ScatteredStreamWriter* writer,
                                               const Values&... values) {
  if constexpr (internal::CheckMessage<T, Values...>()) {
    return internal::FieldsAppender::AppendMessage<T>(
        *writer, internal::Appendable<Values>::Pass(values)...);
  }
}

// The same for a message in a buffer of its own, without a stream:
//
//   const size_t size = protozero::EncodeMessage<Event>(
//       packet, sizeof(packet), Event::kId(id), Event::kName(name));
//
// Returns the message's size; 0 if it does not fit into the |size| bytes at
// |begin|, or is longer than proto_utils::kMaxRootMessageLength, or has a field
// longer than kMaxMessageLength. May overwrite all of the buffer, whatever the
// message's size. REQUIRES: the same as AppendFields().
template <typename T, typename... Values>
PROTOZERO_ALWAYS_INLINE size_t EncodeMessage(uint8_t* begin,
                                             size_t size,
                                             const Values&... values) {
  if constexpr (internal::CheckMessage<T, Values...>()) {
    return internal::FieldsAppender::EncodeMessage<T>(
        begin, size, internal::Appendable<Values>::Pass(values)...);
  }
}

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_APPEND_FIELDS_H_
