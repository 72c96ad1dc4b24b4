// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_MESSAGE_H_
#define INCLUDE_PROTOZERO_MESSAGE_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/message_state.h"
#include "protozero/message_arena.h"
#include "protozero/proto_utils.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal {

class FieldsAppender;
struct MessageInline;
struct MessageNesting;
struct MessageRuntime;
struct MessageSteps;
struct OpenMessages;

// Appends the tag and the size of a length-delimited field; the caller then
// appends its |size| bytes. Returns false if |message| takes no such field, or
// if the size is too large: then the stream is in the error state.
inline bool AppendBytesHeader(Message* message,
                              uint32_t field_id,
                              uint64_t size);

}  // namespace internal

// The base of all generated message classes: appends fields to a stream.
//
// The stream is the row of chunks of memory that the bytes go to. A message is
// open from its beginning until it is sealed, which writes its size. A child is
// a message that is the value of a field of another one, its parent. The leaf
// is the innermost open message:
//
//   the root message opens, a field   | a |               the root is the leaf
//   a child opens, gets a field       | a | ? | b |       the child is the leaf
//   the root gets another field       | a | 1 | b | c |   the child is sealed
//
// Every setter of a generated class encodes its argument straight into the
// stream's current chunk: one bounds test against the field's largest size, a
// constant tag, the value. The message keeps no values, so a field can be
// neither read back nor changed, and setting it twice writes it twice.
// Subclasses add no state.
//
// Nested messages. BeginNestedMessage() returns a child that stays open until
// its parent is written to, begins another child, or is finalized; then the
// child is sealed and must not be used any more. The size of a child stands in
// front of its fields and is not known before it is sealed. The child reserves
// one byte for it, which is enough for most children. A longer child is moved
// down by three bytes, to have four for its size; all four are used, whatever
// the size:
//
//   begun, written   | tag | 00 | field | field | ...          "narrow"
//   sealed           | tag | 16 | field | field | ...          size 22
//   or               | tag | 96 81 80 00 | field | field | ... size 150
//
// A child is widened before it is sealed if it grows beyond kMaxNarrowSize, so
// that few bytes have to be moved, or if its chunk is left. The size can be
// written to those four bytes later, or to the place that
// ScatteredStreamWriter::Delegate::AnnotatePatch() returns. Where the arena
// expects a long child, the child begins widened. A widened child that turns
// out to be short, and is still whole within the current chunk, is moved back
// up.
//
//   widened          | tag | 00 00 00 00 | field | field | ...
//
// A group is a child between two tags instead. It has no size, so nothing is
// moved and nothing is patched later; its end tag is written with the next use
// of its parent.
//
//   sealed           | start tag | field | field | ... | end tag |
//
// Only one message of a tree is written to at any time, the leaf. It holds the
// stream's cursor. The cursor of every other open message lies past all limits,
// and stays there when the message is sealed; a leaf that is sealed gets a
// limit before all addresses. So one test finds out both whether a field fits
// and whether this message is the leaf. Sealing a child, widening, the next
// chunk and every error share the slow path behind that one branch.
// "internal/message_state.h" draws all states and transitions.
//
// A stream has at most one open root message: Reset() closes the one that is
// open there. Perfetto's protozero lets several root messages append in turns;
// their bytes mix, and no parser can read them. Here, writing to the closed one
// is a caller's mistake.
//
// The stream holds the errors: see ScatteredStreamWriter::status().
//
// Writing to a sealed or closed message is a caller's mistake. Where the
// library has debug checks, it stops the program: for a nested message of an
// earlier use of its root message, until MessageArena::kMinQuarantine others
// have begun; for all others, always. In release builds the write is dropped,
// unless another message has begun at the same depth since, in this use of the
// root message or a later one. That message has the same address: it gets the
// field, and its open child, if any, is sealed.
//
// One thread at a time may use a message. Release builds allocate only beyond
// MessageArena::kInlineMessages levels of nesting; debug builds, beyond
// MessageArena::kMinQuarantine nested messages. Users declare a RootMessage,
// HeapBuffered, StaticBuffered or StackBuffered of a generated class rather
// than a Message.
class PROTOZERO_EXPORT Message {
 public:
  // Trivial, so that slots of the arena become messages without running any
  // code.
  Message() = default;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  // Begins a root message on |writer|. Closes a message that is still open on
  // the writer for good: its bytes stay as they are. REQUIRES: neither pointer
  // is null; both outlive the message's last use; a message that RootMessage
  // does not own is finalized, or reset, before its memory goes away.
  PROTOZERO_ALWAYS_INLINE void Reset(ScatteredStreamWriter* writer,
                                     MessageArena* arena);

  // Seals this message and the ones nested in it, and writes their sizes.
  // Returns this message's size in bytes; 0 in the error state. The second and
  // later calls only return it. A message with a size field may have
  // kMaxMessageLength bytes, 256 MiB; a root message without one, and a group,
  // kMaxRootMessageLength, 2 GiB. More is the error kMessageTooLong.
  PROTOZERO_ALWAYS_INLINE uint32_t Finalize();

  // Returns whether Finalize() has been called since Reset().
  bool is_finalized() const {
    return (state_.flags & internal::MessageState::kFinalized) != 0;
  }

  // Returns the address to which Finalize() writes the size: four bytes. Null
  // if it does not, which is the default for root messages, and for groups. A
  // size field that directly precedes the message may shrink to one byte, as
  // described above. The next write to any message of the tree invalidates it,
  // like every position in the chunk. Widens the open messages, so that the
  // bytes are there.
  uint8_t* size_field() noexcept;
  // Returns the address that the size field will have when the open messages
  // have been widened. Changes nothing: other fields are at that address until
  // then.
  uint8_t* size_field() const noexcept;
  // Sets the address to which Finalize() writes the size. REQUIRES:
  // |size_field| is not among the bytes that the message counts, see
  // ScatteredStreamWriter; otherwise the message ends with the error
  // kAmbiguousSize.
  void set_size_field(uint8_t* size_field) noexcept;

  // Takes back the child that was begun last, with all that is nested in it:
  // the stream continues as if the child had never begun. Returns false and
  // changes nothing if there is no open child, if the child's chunk has been
  // left, or if an error has occurred. A child that was taken back must not be
  // used any more, as if it were sealed.
  bool RollBackNestedMessage() noexcept;

  // Returns the child that was begun last and has not been sealed by this
  // message.
  Message* nested_message() noexcept {
    return write_ptr_ == internal::LentCursor() ? nested_ : nullptr;
  }

  // Returns the stream that the message goes to.
  const ScatteredStreamWriter* stream_writer() const { return writer_; }

  // Appenders. REQUIRES: |field_id| is 1 to 536,870,911. Any other id stops
  // debug builds; in release builds the field is not written, and a child drops
  // its fields. If |field_id| is a compile-time constant, as in generated code,
  // the tag is one, too, and nothing is checked.

  // Appends an int32, int64, uint32, uint64, bool or enum field. Negative
  // values of any width take ten bytes.
  template <typename T>
  PROTOZERO_ALWAYS_INLINE void AppendVarInt(uint32_t field_id, T value);

  // Appends a sint32 or sint64 field.
  template <typename T>
  PROTOZERO_ALWAYS_INLINE void AppendSignedVarInt(uint32_t field_id, T value) {
    AppendVarInt(field_id, proto_utils::ZigZagEncode(value));
  }

  // Appends a varint that is known to be short. REQUIRES: 0 <= value < 128.
  PROTOZERO_ALWAYS_INLINE void AppendTinyVarInt(uint32_t field_id,
                                                int32_t value);

  // Appends a fixed32, fixed64, sfixed32, sfixed64, float or double field.
  template <typename T>
  PROTOZERO_ALWAYS_INLINE void AppendFixed(uint32_t field_id, T value);

  // The same, one function for each schema type, for generated code: compilers
  // find a function in less time than the arguments of a template. An enum is
  // an int32.
  PROTOZERO_ALWAYS_INLINE void AppendInt32(uint32_t field_id, int32_t value) {
    AppendVarInt(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendInt64(uint32_t field_id, int64_t value) {
    AppendVarInt(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendUint32(uint32_t field_id, uint32_t value) {
    AppendVarInt(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendUint64(uint32_t field_id, uint64_t value) {
    AppendVarInt(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendSint32(uint32_t field_id, int32_t value) {
    AppendSignedVarInt(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendSint64(uint32_t field_id, int64_t value) {
    AppendSignedVarInt(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendBool(uint32_t field_id, bool value) {
    AppendTinyVarInt(field_id, value ? 1 : 0);
  }
  PROTOZERO_ALWAYS_INLINE void AppendFixed32(uint32_t field_id,
                                             uint32_t value) {
    AppendFixed(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendFixed64(uint32_t field_id,
                                             uint64_t value) {
    AppendFixed(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendSfixed32(uint32_t field_id,
                                              int32_t value) {
    AppendFixed(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendSfixed64(uint32_t field_id,
                                              int64_t value) {
    AppendFixed(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendFloat(uint32_t field_id, float value) {
    AppendFixed(field_id, value);
  }
  PROTOZERO_ALWAYS_INLINE void AppendDouble(uint32_t field_id, double value) {
    AppendFixed(field_id, value);
  }

  // Appends a string or bytes field, without a terminating null.
  PROTOZERO_ALWAYS_INLINE void AppendString(uint32_t field_id,
                                            std::string_view str) {
    AppendBytes(field_id, str.data(), str.size());
  }

  // Appends a length-delimited field: string, bytes, packed or encoded
  // elsewhere. A |size| beyond proto_utils::kMaxMessageLength is the error
  // kMessageTooLong. REQUIRES: |src| does not overlap the current chunk.
  PROTOZERO_ALWAYS_INLINE void AppendBytes(uint32_t field_id,
                                           const void* src,
                                           size_t size);

  // Appends a length-delimited field that is the concatenation of |num_ranges|
  // |ranges|. Returns their size in bytes, whether or not there was room.
  size_t AppendScatteredBytes(uint32_t field_id,
                              ContiguousMemoryRange* ranges,
                              size_t num_ranges) noexcept;

  // Appends a length-delimited field whose bytes HeapBuffered does not copy:
  // they become a range of their own in GetRanges(). Other buffers copy them,
  // as does a HeapBuffered with slices of fewer than 64 bytes. REQUIRES: |src|
  // stays valid, with the same bytes, as long as the message's bytes are used.
  void AppendBorrowedBytes(uint32_t field_id,
                           const void* src,
                           size_t size) noexcept;

  // Appends fields that are encoded already, tags included. Does not check that
  // they belong to this message.
  void AppendRawProtoBytes(const void* data, size_t size) noexcept;

  // Begins a message-typed field. See the class comment for the life of the
  // returned message; it belongs to this message's arena. Never null: in the
  // error state it is a message that drops its fields.
  template <typename T>
  PROTOZERO_ALWAYS_INLINE T* BeginNestedMessage(uint32_t field_id);

  // The same for a field that is a group.
  template <typename T>
  T* BeginNestedGroup(uint32_t field_id);

 private:
  friend class MessageArena;
  friend class internal::FieldsAppender;
  friend struct internal::MessageInline;
  friend struct internal::MessageNesting;
  friend struct internal::MessageRuntime;
  friend struct internal::MessageSteps;
  friend struct internal::OpenMessages;

  // Makes the message that drops all its fields.
  constexpr explicit Message(internal::MessageState state)
      : write_ptr_(nullptr),
        fast_limit_(0),
        writer_(nullptr),
        base_(nullptr),
        size_field_(nullptr),
        nested_(nullptr),
        state_(state) {}

  // The cursor, while this message holds it; LentCursor() while a child is
  // open, or was sealed together with this message; ReturnedCursor() while the
  // writer has taken it from this message.
  uint8_t* write_ptr_;
  // The address below which kFastRoom bytes can be written. They end within the
  // current chunk, with kWidening bytes to spare for each open narrow message,
  // and at the kMaxNarrowSize-th byte of each such message at the latest. 0 if
  // the message was sealed as the leaf, or the writer is in the error state.
  uintptr_t fast_limit_;
  ScatteredStreamWriter* writer_;
  // This message's first byte in the current chunk. In a frozen message: a
  // pointer to the frozen message around it, see
  // ScatteredStreamWriter::frozen_.
  uint8_t* base_;
  union {
    // Unset while the message is narrow, has no size, or is sealed.
    uint8_t* size_field_;
    // The end tag of a group.
    uint32_t end_tag_;
  };
  // The child while the cursor is lent; null while the writer has the cursor of
  // this message; otherwise unset.
  Message* nested_;
  internal::MessageState state_;
};

static_assert(sizeof(Message) == MessageArena::kMessageSize,
              "the arena's slots hold one message each");

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/message_inline.h"

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_MESSAGE_H_
