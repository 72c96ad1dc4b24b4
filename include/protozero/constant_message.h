// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_CONSTANT_MESSAGE_H_
#define INCLUDE_PROTOZERO_CONSTANT_MESSAGE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

#include "protozero/append_fields.h"
#include "protozero/internal/constant_fields.h"  // IWYU pragma: export
#include "protozero/internal/field_value.h"
#include "protozero/internal/value_pack.h"
#include "protozero/message.h"
#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

// Messages that the compiler encodes. A message that an instrumentation point
// always writes with the same values, say, a source location, is encoded once,
// when the program is compiled, and appended by one copy:
//
//   constexpr auto kHere = protozero::MakeConstantMessage<Location>([] {
//     return protozero::FieldList(Location::kFile("main.cc"),
//                                 Location::kLine(42));
//   });
//
//   AppendFields(event, Event::kId(id), Event::kSource(kHere));
//
// A field can be left open, as a hole of fixed width. Then the constant becomes
// a stencil, which is called with the values for the holes:
//
//   constexpr auto kSample = protozero::MakeConstantMessage<Event>([] {
//     return protozero::FieldList(Event::kType(Type::SAMPLE),
//                                 Event::kTimestamp(protozero::Hole()),
//                                 Event::kValue(protozero::Hole()));
//   });
//
//   AppendFields(event, kSample(now, value));
//
// Constants have to be static (or in a namespace): appending reads them where
// they are.

namespace protozero {
PROTOZERO_ABI_BEGIN

// An encoded message of class T. Sizes and numbers are as short as they can be.
//
// It can be appended in two ways: as the value of a field of type T, whose tag
// and size are constants then, too; or field by field, to a message that is a
// T.
//
//   AppendFields(event, Event::kSource(kHere), Event::kSource(kThere));
//   AppendFields(location, kHere);
//
// Other code can write it, too, by data() and size().
template <typename T, size_t N>
class ConstantMessage {
 public:
  // Return the encoded fields, without a tag and size for the whole.
  constexpr const uint8_t* data() const { return bytes_; }
  static constexpr size_t size() { return N; }

  // For MakeConstantMessage().
  uint8_t bytes_[N != 0 ? N : 1];
};

// A ConstantMessage with holes. Calling it with one value for each hole, in the
// order of the fields and of the fields' types, makes a message without holes,
// which can be appended like a ConstantMessage. That takes one copy, and one or
// two stores a hole.
template <typename T, size_t N, typename... Holes>
class MessageStencil {
 public:
  // Fills the holes. REQUIRES: the stencil outlives the returned message.
  constexpr internal::FilledStencil<T, N, Holes...> operator()(
      typename Holes::Value... values) const& {
    return {this, {{values}...}};
  }
  // Deleted: such a stencil is gone before it is used. Keep it in a static
  // constexpr variable.
  void operator()(typename Holes::Value...) const&& = delete;

  // Return the bytes. A hole is as many zeros as it is wide.
  constexpr const uint8_t* data() const { return bytes_; }
  static constexpr size_t size() { return N; }

  // For MakeConstantMessage().
  uint8_t bytes_[N];
  size_t offsets_[sizeof...(Holes)];
};

namespace internal {

template <typename T, size_t N, typename... Holes>
struct FilledStencil {
  const MessageStencil<T, N, Holes...>* stencil;
  ValuePack<typename Holes::Value...> values;

  // REQUIRES: N writable bytes at |pos|.
  template <bool inlined>
  PROTOZERO_ALWAYS_INLINE void Store(uint8_t* pos) const {
    memcpy(pos, stencil->bytes_, N);
    Fill<inlined>(pos, std::index_sequence_for<Holes...>());
  }

 private:
  template <bool inlined, size_t... i>
  PROTOZERO_ALWAYS_INLINE void Fill(uint8_t* pos,
                                    std::index_sequence<i...>) const {
    (Holes::template Fill<inlined>(Get<i>(values), pos + stencil->offsets_[i]),
     ...);
  }
};

template <typename T, size_t N, typename Holes>
struct ConstantResult;
template <typename T, size_t N>
struct ConstantResult<T, N, TypeList<>> {
  using type = ConstantMessage<T, N>;
};
template <typename T, size_t N, typename... Holes>
struct ConstantResult<T, N, TypeList<Holes...>> {
  using type = MessageStencil<T, N, Holes...>;
};

}  // namespace internal

// Encodes the FieldList of constant expressions that |fields| returns, at
// compile time. Returns a ConstantMessage; a MessageStencil if there are holes.
// Values of message fields are other constants, or FieldLists of the nested
// message's fields:
//
//   constexpr auto kEvent = protozero::MakeConstantMessage<Event>([] {
//     return protozero::FieldList(
//         Event::kId(1), Event::kSource(kHere),
//         Event::kSource(protozero::FieldList(Location::kLine(7))));
//   });
//
// |fields| is a function without captures rather than a list, because a value
// that it returns can determine the size of an array; an argument cannot.
template <typename T, typename Function>
constexpr auto MakeConstantMessage(Function fields) {
  static_assert(
      std::is_base_of<Message, T>::value && !std::is_same<Message, T>::value,
      "MakeConstantMessage<T>() makes messages of a generated class T");
  static_assert(std::is_empty<Function>::value,
                "MakeConstantMessage() takes a lambda without captures");
  constexpr auto kFields = fields();
  using Holes =
      typename internal::ConstantFields<T,
                                        std::decay_t<decltype(kFields)>>::Holes;
  constexpr size_t kSize = internal::ConstantSize(kFields);
  typename internal::ConstantResult<T, kSize, Holes>::type result{};
  internal::ConstantSink sink;
  sink.bytes = result.bytes_;
  if constexpr (!std::is_same<Holes, internal::TypeList<>>::value)
    sink.offsets = result.offsets_;
  internal::EncodeConstant(kFields, &sink);
  return result;
}

namespace internal {

// The treatment of constants in AppendFields().

template <typename T, size_t N>
struct Appendable<ConstantMessage<T, N>> : std::true_type {
  using message_type = T;
  static constexpr ConstantRef<T, N> Pass(
      const ConstantMessage<T, N>& message) {
    return {message.data()};
  }
};
template <typename T, size_t N, typename... Holes>
struct Appendable<FilledStencil<T, N, Holes...>> : std::true_type {
  using message_type = T;
  static constexpr FilledStencil<T, N, Holes...> Pass(
      const FilledStencil<T, N, Holes...>& message) {
    return message;
  }
};
template <typename T, size_t N, typename... Holes>
struct Appendable<MessageStencil<T, N, Holes...>> : std::true_type {
  static_assert(kAlwaysFalse<T>,
                "this stencil has holes: call it with values for them");
  using message_type = T;
  static constexpr ConstantRef<T, N> Pass(
      const MessageStencil<T, N, Holes...>& message) {
    return {message.data()};
  }
};

// The fields of a constant, without tag and size.

template <typename T, size_t N>
struct ConstantEncoder<ConstantRef<T, N>> {
  static constexpr size_t kHeader = 0;
  static constexpr size_t kMinHeader = 0;
  static constexpr size_t kAhead = 0;
  static constexpr uint64_t BodySize(ConstantRef<T, N>) { return N; }
  static constexpr uint64_t SizeBits(ConstantRef<T, N>) { return 0; }
  PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(ConstantRef<T, N> message,
                                                 uint8_t* pos) {
    memcpy(pos, message.data, N);
    return pos + N;
  }
  static void Append(Message& message, ConstantRef<T, N> constant) {
    message.AppendRawProtoBytes(constant.data, N);
  }
};

template <typename T, size_t N, typename... Holes>
struct ConstantEncoder<FilledStencil<T, N, Holes...>> {
  using Filled = FilledStencil<T, N, Holes...>;
  static constexpr size_t kHeader = 0;
  static constexpr size_t kMinHeader = 0;
  static constexpr size_t kAhead = 0;
  static constexpr uint64_t BodySize(const Filled&) { return N; }
  static constexpr uint64_t SizeBits(const Filled&) { return 0; }
  PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(const Filled& filled,
                                                 uint8_t* pos) {
    filled.template Store<true>(pos);
    return pos + N;
  }
  // Fills the holes in a copy: in the stream, chunks may tear the bytes apart.
  static void Append(Message& message, const Filled& filled) {
    uint8_t bytes[N];
    filled.template Store<false>(bytes);
    message.AppendRawProtoBytes(bytes, N);
  }
};

// A field whose value is a constant: with tag and size.
template <typename Field, typename Value, typename Of, size_t N>
struct ConstantFieldEncoder {
  static_assert(AreFieldsOf<typename Field::cpp_field_type, Of>(),
                "this constant is a message of another class than the field");
  static_assert(N <= proto_utils::kMaxMessageLength, "");

  struct HeaderBytes {
    uint8_t bytes[proto_utils::kMaxTagEncodedSize +
                  proto_utils::kMessageLengthFieldSize];
    size_t size;
  };
  static constexpr HeaderBytes MakeHeader() {
    HeaderBytes header{};
    ConstantSink sink;
    sink.bytes = header.bytes;
    sink.Tag(TagOf<Field>());
    sink.VarInt(N);
    header.size = sink.size;
    return header;
  }
  static constexpr HeaderBytes kHeaderBytes = MakeHeader();

  static constexpr size_t kHeader = kHeaderBytes.size;
  static constexpr size_t kMinHeader = kHeader;
  static constexpr size_t kAhead = 0;
  static constexpr uint64_t BodySize(const FieldValue<Field, Value>&) {
    return N;
  }
  static constexpr uint64_t SizeBits(const FieldValue<Field, Value>&) {
    return 0;
  }
  PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(
      const FieldValue<Field, Value>& field,
      uint8_t* pos) {
    memcpy(pos, kHeaderBytes.bytes, kHeader);
    return ConstantEncoder<Value>::Encode(field.value, pos + kHeader);
  }
  static void Append(Message& message, const FieldValue<Field, Value>& field) {
    message.AppendRawProtoBytes(kHeaderBytes.bytes, kHeader);
    ConstantEncoder<Value>::Append(message, field.value);
  }
};

template <typename Field, typename T, size_t N>
struct ConstantEncoder<FieldValue<Field, ConstantRef<T, N>>>
    : ConstantFieldEncoder<Field, ConstantRef<T, N>, T, N> {};

template <typename Field, typename T, size_t N, typename... Holes>
struct ConstantEncoder<FieldValue<Field, FilledStencil<T, N, Holes...>>>
    : ConstantFieldEncoder<Field, FilledStencil<T, N, Holes...>, T, N> {};

}  // namespace internal

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_CONSTANT_MESSAGE_H_
