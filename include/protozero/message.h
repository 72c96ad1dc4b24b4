// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_MESSAGE_H_
#define INCLUDE_PROTOZERO_MESSAGE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <string_view>
#include <type_traits>

#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/compiler.h"
#include "protozero/message_arena.h"
#include "protozero/proto_utils.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal {

class FieldsAppender;

// Appends the tag and the size of a length-delimited field of |size| bytes,
// which are to follow. Returns false if they are too many, then |message| is
// in the error state, or if it takes no such field.
inline bool AppendBytesHeader(Message* message,
                              uint32_t field_id,
                              uint64_t size);

// Makes room for a size of kMessageLengthFieldSize bytes instead of the one
// that is there in front of |begin|, and writes |size|. Returns the end of the
// |size| bytes, which move.
PROTOZERO_COLD PROTOZERO_EXPORT uint8_t* WidenSizeUnsafe(uint8_t* begin,
                                                         size_t size) noexcept;

}  // namespace internal

// The base of all generated message classes: appends fields to a stream.
//
// Every setter of a generated class encodes its argument straight into the
// stream's current chunk: one bounds test against the field's largest size, a
// constant tag, the value. Nothing is kept, so nothing can be read back or
// changed, and setting a field twice writes it twice. Subclasses add no state.
//
// Nested messages. BeginNestedMessage() returns a child that stays open until
// its parent is written to, begins another child, or is finalized; then the
// child is sealed and must not be used any more. The size of a child stands in
// front of its fields and is not known before it is sealed. One byte is kept
// free for it, which is enough for most; a longer child is moved down by three
// bytes to make that four, which it fills to their full width:
//
//   begun, written   | tag | 00 | field | field | ...          "narrow"
//   sealed           | tag | 16 | field | field | ...          size 22
//   or               | tag | 96 81 80 00 | field | field | ... size 150
//
// A child is widened before it is sealed when it grows beyond kMaxNarrowSize,
// so that little has to be moved, or before its chunk is left: the size can be
// written to those four bytes later, or elsewhere, which is for
// ScatteredStreamWriter::Delegate::AnnotatePatch() to say. Where the arena
// expects a long child, it is begun that way. A widened child that turns out to
// be short, and is still whole within the current chunk, is moved back up.
//
//   widened          | tag | 00 00 00 00 | field | field | ...
//
// A group is a child between two tags instead. It has no size, so that nothing
// is moved and nothing is left to be patched; its end is written with the next
// use of its parent.
//
//   sealed           | start tag | field | field | ... | end tag |
//
// Only one message of a tree is written to at any time, the leaf. It holds the
// stream's cursor; every other open message is told that the cursor is past
// all limits, and so it remains when it is sealed; a leaf that is sealed gets a
// limit that lies before everything. So the test whether a field fits is also
// the test whether this message is the leaf, and sealing a child, widening, the
// next chunk and every error share the slow path behind that one branch.
//
// Nor is there more than one root message on a stream: Reset() closes the one
// that is open there. Perfetto's protozero lets several append in turns, and
// counts the fields of each. Their bytes lie among each other then, and nobody
// can read any of them; so here, that is a caller's mistake.
//
// Errors are the stream's: see ScatteredStreamWriter::status().
//
// Writing to a sealed or closed message is a caller's mistake. It stops the
// program where the library has debug checks. For a nested message of an
// earlier use of its root message, they hold until
// MessageArena::kMinQuarantine others have begun; for all others, always. In
// release builds the write is dropped, unless another message has begun at the
// same depth since, in this use of the root message or a later one. That has
// the same address: it gets the field, and the child that it may have is
// sealed.
//
// One thread at a time. No allocation up to MessageArena::kInlineMessages
// levels of nesting; in debug builds, MessageArena::kMinQuarantine nested
// messages. Users declare a RootMessage, HeapBuffered, StaticBuffered or
// StackBuffered of a generated class rather than a Message.
class PROTOZERO_EXPORT Message {
 public:
  // Trivial: slots of the arena become messages without running any code.
  Message() = default;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  // Begins a root message on |writer|. A message that is still open on the
  // writer is closed for good, as it stands.
  // REQUIRES: neither pointer is null; both outlive the message's last use; a
  // message that RootMessage does not own is finalized, or reset, before its
  // memory goes away.
  PROTOZERO_ALWAYS_INLINE void Reset(ScatteredStreamWriter* writer,
                                     MessageArena* arena) {
    PROTOZERO_DCHECK(writer != nullptr && arena != nullptr,
                     "a message needs a stream and memory for its children");
    // A new writer is known to have had none.
    if (PROTOZERO_UNLIKELY(writer->root_ != nullptr &&
                           writer->has_open_root())) {
      writer->AbandonRoot();
    }
    Attach(writer, arena);
  }

  // Seals this message and the ones nested in it, and writes their sizes.
  // Returns this message's size in bytes; 0 in the error state. The second and
  // later calls only return it. What has a size field may be of
  // kMaxMessageLength bytes, 256 MiB; a root message without one, and a group,
  // of kMaxRootMessageLength, 2 GiB. More is the error kMessageTooLong.
  PROTOZERO_ALWAYS_INLINE uint32_t Finalize() {
#if PROTOZERO_INLINE_SETTERS
    uint8_t* const end = write_ptr_;
    if (PROTOZERO_UNLIKELY(!IsShortEnough(end)) ||
        PROTOZERO_UNLIKELY(state_.flags != kRootWithoutSize)) {
      SpillCursor(end);
      return SealNestedAnd(kFinalize);
    }
    return SealWholeRoot(end);
#else
    return FinalizeOutOfLine();
#endif
  }

  bool is_finalized() const { return (state_.flags & kFinalized) != 0; }

  // Where Finalize() writes the size: four bytes. Null means nowhere, which is
  // the default for root messages. A size field that directly precedes the
  // message may shrink to one byte, as described above. Invalidated, like every
  // position in the chunk, by the next write to any message of the tree.
  // Groups have none.
  uint8_t* size_field() const {
    if (PROTOZERO_UNLIKELY(is_narrow()))
      writer_->WidenOpenMessages();
    return (state_.flags & (kFinalized | kHasNoSize)) ? nullptr : size_field_;
  }
  // REQUIRES: |size_field| is not among the bytes that the message counts, see
  // ScatteredStreamWriter; otherwise the message ends with the error
  // kAmbiguousSize.
  PROTOZERO_COLD void set_size_field(uint8_t* size_field) noexcept;

  // Takes back the child that was begun last, with all that is nested in it:
  // the stream continues where it would if the child had never begun. Returns
  // false and changes nothing if there is no open child, or if it is out of
  // reach: when its chunk has been left, or an error has occurred. A child that
  // was taken back must not be used any more, as if it were sealed.
  PROTOZERO_COLD bool RollBackNestedMessage() noexcept;

  // The child that was begun last and has not been sealed by this message.
  Message* nested_message() noexcept { return HasNested() ? nested_ : nullptr; }

  const ScatteredStreamWriter* stream_writer() const { return writer_; }

  // Appenders. REQUIRES: |field_id| is 1 to 536,870,911. Another one stops
  // debug builds; in release builds the field is not written, and a child drops
  // what it is given. Where |field_id| is a compile-time constant, as in
  // generated code, so is the tag, and nothing is checked.

  // int32, int64, uint32, uint64, bool and enum fields. Negative values of any
  // width take ten bytes.
  template <typename T>
  PROTOZERO_ALWAYS_INLINE void AppendVarInt(uint32_t field_id, T value) {
    if (!IsFieldId(field_id))
      return;
    const EncodedTag tag =
        EncodeTag(field_id, proto_utils::ProtoWireType::kVarInt);
#if PROTOZERO_INLINE_SETTERS
    AppendVarIntInPlace(tag, value);
#else
    // Extended by the callee where that makes the call shorter.
    if constexpr (std::is_signed<T>::value && sizeof(T) <= sizeof(int32_t)) {
      AppendInt32OutOfLine(tag, value);
    } else {
      AppendVarIntOutOfLine(
          tag, proto_utils::ExtendValueForVarIntSerialization(value));
    }
#endif
  }

  // sint32 and sint64 fields.
  template <typename T>
  PROTOZERO_ALWAYS_INLINE void AppendSignedVarInt(uint32_t field_id, T value) {
    AppendVarInt(field_id, proto_utils::ZigZagEncode(value));
  }

  // A varint that is known to be short. REQUIRES: 0 <= value < 128.
  PROTOZERO_ALWAYS_INLINE void AppendTinyVarInt(uint32_t field_id,
                                                int32_t value) {
    PROTOZERO_DCHECK(0 <= value && value < 0x80,
                     "AppendVarInt() takes any value");
    if (!IsFieldId(field_id))
      return;
    const EncodedTag tag =
        EncodeTag(field_id, proto_utils::ProtoWireType::kVarInt);
    const uint64_t bits = static_cast<uint64_t>(value) & 0x7f;
#if PROTOZERO_INLINE_SETTERS
    AppendTinyVarIntInPlace(tag, bits);
#else
    AppendVarIntOutOfLine(tag, bits);
#endif
  }

  // fixed32, fixed64, sfixed32, sfixed64, float and double fields.
  template <typename T>
  PROTOZERO_ALWAYS_INLINE void AppendFixed(uint32_t field_id, T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "fixed32 or fixed64");
    static_assert(std::is_arithmetic<T>::value, "fixed fields hold numbers");
    if (!IsFieldId(field_id))
      return;
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    Bits bits;
    memcpy(&bits, &value, sizeof(bits));
    const EncodedTag tag = EncodeTag(
        field_id, sizeof(T) == 8 ? proto_utils::ProtoWireType::kFixed64
                                 : proto_utils::ProtoWireType::kFixed32);
#if PROTOZERO_INLINE_SETTERS
    AppendFixedInPlace(tag, bits);
#else
    AppendFixedOutOfLine(tag, bits);
#endif
  }

  // The same by schema types, an enum being an int32: for generated code, which
  // has a call for each field. Compilers find a function in less time than the
  // arguments of a template.
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

  // A string or bytes field. A terminating null is not written.
  PROTOZERO_ALWAYS_INLINE void AppendString(uint32_t field_id,
                                            std::string_view str) {
    AppendBytes(field_id, str.data(), str.size());
  }

  // A length-delimited field: string, bytes, packed or encoded elsewhere. A
  // |size| beyond proto_utils::kMaxMessageLength is the error
  // kMessageTooLong. REQUIRES: |src| does not overlap the current chunk.
  PROTOZERO_ALWAYS_INLINE void AppendBytes(uint32_t field_id,
                                           const void* src,
                                           size_t size) {
    if (!IsFieldId(field_id))
      return;
    AppendEncodedBytes(
        EncodeTag(field_id, proto_utils::ProtoWireType::kLengthDelimited), src,
        size);
  }

  // A length-delimited field that is the concatenation of |num_ranges|
  // |ranges|. Returns the bytes in them, whether or not there was room.
  size_t AppendScatteredBytes(uint32_t field_id,
                              ContiguousMemoryRange* ranges,
                              size_t num_ranges) {
    return AppendScattered(field_id, ranges, num_ranges);
  }

  // Fields that are encoded already, tags included. Whether they belong to
  // this message is not checked.
  void AppendRawProtoBytes(const void* data, size_t size) noexcept;

  // Begins a message-typed field. See the class comment for the life of the
  // returned message; it belongs to this message's arena. Never null: in the
  // error state it is a message that drops what it is given.
  template <typename T>
  PROTOZERO_ALWAYS_INLINE T* BeginNestedMessage(uint32_t field_id) {
    if (!IsFieldId(field_id))
      return As<T>(DroppingMessage());
    const EncodedTag tag =
        EncodeTag(field_id, proto_utils::ProtoWireType::kLengthDelimited);
#if PROTOZERO_INLINE_SETTERS
    const NewChild begun = BeginNestedInPlace(tag);
    // By the caller, who has it in a register for the child's first field.
    begun.child->write_ptr_ = begun.write_ptr;
    return As<T>(begun.child);
#else
    return As<T>(BeginNested(tag));
#endif
  }

  // The same for a field that is a group.
  template <typename T>
  T* BeginNestedGroup(uint32_t field_id) {
    if (!IsFieldId(field_id))
      return As<T>(DroppingMessage());
    return As<T>(BeginGroup(
        EncodeTag(field_id, proto_utils::ProtoWireType::kStartGroup),
        proto_utils::MakeTag(field_id, proto_utils::ProtoWireType::kEndGroup)));
  }

 private:
  friend class ScatteredStreamWriter;
  friend class MessageArena;
  friend class MessageHandleBase;
  friend class internal::FieldsAppender;
  friend bool internal::AppendBytesHeader(Message* message,
                                          uint32_t field_id,
                                          uint64_t size);
  template <typename T>
  friend class RootMessage;

  using EncodedTag = proto_utils::internal::EncodedTag;

  enum Flags : uint8_t {
    // None of those below.
    kNested = 0,
    // No more fields: sealed, abandoned, or not begun yet.
    kFinalized = 1 << 0,
    // The stream has changed chunks since the message began; or it is in the
    // error state, and the message is the leaf.
    kCrossedChunk = 1 << 1,
    // Stands in for a message that could not be allocated.
    kDropsEverything = 1 << 2,
    // One byte is reserved for the size, right in front of the message. Then
    // the message is whole within the current chunk, there is no error, and if
    // it is the leaf, it holds the cursor.
    kNarrow = 1 << 3,
    // It has no parent.
    kRoot = 1 << 4,
    // It has tags instead of a size. Stays when the group is sealed, for the
    // parent writes the end tag.
    kGroup = 1 << 5,
    // Four bytes right in front of it were reserved for its size; it has not
    // been told to put that elsewhere. Whole within the current chunk if there
    // is no other flag.
    kWide = 1 << 6,
    // Its size is not written: there is no size_field_.
    kHasNoSize = 1 << 7,

    kRootWithoutSize = kRoot | kHasNoSize,
  };

  // One store to begin a message.
  struct State {
    uint8_t flags;
    // Of the tag that precedes a nested message and its size in the current
    // chunk; 0 if it is not, or not whole, in this chunk. Of a root message,
    // which has none: some of RootBits.
    uint8_t tag_size;
    // Tells this use of the object from an earlier one, in debug builds.
    uint16_t epoch;
    // The message's bytes in earlier chunks; once finalized, all of them.
    uint32_t size;
  };

  static constexpr EncodedTag EncodeTag(uint32_t field_id,
                                        proto_utils::ProtoWireType type) {
    return proto_utils::internal::EncodeTag(field_id, type);
  }

  // For what is known at run time only: of constants, nothing is left of it.
  PROTOZERO_ALWAYS_INLINE static bool IsFieldId(uint32_t field_id) {
    const bool is_field_id = proto_utils::internal::IsFieldId(field_id);
    PROTOZERO_DCHECK(is_field_id, "field ids are 1 to 536870911");
    return PROTOZERO_LIKELY(is_field_id);
  }

  template <typename T>
  static T* As(Message* message) {
    static_assert(std::is_base_of<Message, T>::value,
                  "T must be a generated message class");
    static_assert(sizeof(T) == sizeof(Message),
                  "message classes must not have state of their own");
    static_assert(std::is_trivially_default_constructible<T>::value &&
                      std::is_trivially_destructible<T>::value,
                  "messages are made and forgotten without running code");
    return static_cast<T*>(message);
  }

  // Whether a child is open, or was sealed together with this message.
  bool HasNested() const {
    return write_ptr_ == ScatteredStreamWriter::Nowhere();
  }

  bool is_narrow() const { return (state_.flags & kNarrow) != 0; }
  bool is_group() const { return (state_.flags & kGroup) != 0; }

  // Whether this is a root message that nothing was appended to, which has the
  // cursor.
  bool IsRootWithoutField() const {
    return (state_.flags & kRoot) != 0 && !has_raw_bytes() &&
           state_.size == 0 && write_ptr_ == base_;
  }
  // What is known of a root message.
  enum RootBits : uint8_t {
    // It may count what was written to the stream.
    kHasRawBytes = 1 << 0,
    // A message is frozen: ScatteredStreamWriter::frozen_ is set.
    kHasFrozen = 1 << 1,
    // Any that was nested in it is in quarantine: see MessageArena.
    kHasQuarantined = 1 << 2,
  };
  bool has_raw_bytes() const {
    return (state_.flags & kRoot) != 0 && (state_.tag_size & kHasRawBytes) != 0;
  }
  void NoteRawBytes() {
    if (state_.flags & kRoot)
      state_.tag_size |= kHasRawBytes;
  }
  // REQUIRES, for both: it is a root message.
  bool has_frozen() const { return (state_.tag_size & kHasFrozen) != 0; }
  void NoteFrozen(bool has_frozen) {
    state_.tag_size = static_cast<uint8_t>(
        has_frozen ? state_.tag_size | kHasFrozen
                   : state_.tag_size & ~unsigned{kHasFrozen});
  }
  // Leaves out of the message what the writer has written so far. REQUIRES: it
  // is a root message without a field, and the writer has the cursor.
  void BeginAtWriter() noexcept;
  // The same, because bytes of the message are next. REQUIRES: the writer took
  // the cursor before that.
  PROTOZERO_COLD void BeginFirstField() noexcept;
  // What is written to the stream from here on belongs to the message.
  PROTOZERO_COLD void ExpectRawFields() noexcept;
  // Whether |size_field| may be among the bytes that this message counts.
  PROTOZERO_COLD bool MayCountSizeField(
      const uint8_t* size_field) const noexcept;

  // Null: to nowhere.
  void MoveSizeFieldTo(uint8_t* size_field) {
    size_field_ = size_field;
    state_.flags =
        static_cast<uint8_t>((state_.flags & ~unsigned{kHasNoSize | kWide}) |
                             (size_field == nullptr ? kHasNoSize : kNested));
  }

  // By how much a message moves when its size field is widened.
  static constexpr size_t kWidening = proto_utils::kMessageLengthFieldSize - 1;
  // How large a message may be while one byte is reserved for its size: so that
  // nearly all are sealed before, and moving one takes little of the time that
  // writing it took.
  static constexpr size_t kMaxNarrowSize = 512;

  // The fast limit of a narrow message at |base| within one whose is |limit|.
  static uintptr_t NarrowLimit(uintptr_t limit, const uint8_t* base) {
    constexpr size_t kReach =
        kMaxNarrowSize - (ScatteredStreamWriter::kFastRoom - 2);
    const uintptr_t reach = reinterpret_cast<uintptr_t>(base) + kReach;
    limit -= kWidening;
    return limit < reach ? limit : reach;
  }

  // Whether kFastRoom bytes can be written without asking anybody: true only
  // for the message that holds the cursor. Integers are compared, and the limit
  // lies before the chunk's end: no pointer beyond a buffer is ever formed.
  bool HasFastRoom() const { return HasFastRoom(write_ptr_); }
  bool HasFastRoom(const uint8_t* pos) const {
    return reinterpret_cast<uintptr_t>(pos) < fast_limit_;
  }

  // What a setter in place does before it calls the function that encodes any
  // value: it stores the cursor once more, at |pos|, where it is. So each
  // setter stores it on either way, and what the one before has stored, nobody
  // reads: compilers leave that out, and keep the cursor in a register from the
  // first setter of a row to the last. They must not know that this store
  // changes nothing.
  PROTOZERO_ALWAYS_INLINE void SpillCursor(uint8_t* pos);

  // The rest of the current chunk; none after an error.
  // REQUIRES: this message holds the cursor.
  size_t room() const { return writer_->RoomAt(write_ptr_); }

  PROTOZERO_ALWAYS_INLINE void AppendEncodedBytes(EncodedTag tag,
                                                  const void* src,
                                                  size_t size) {
#if PROTOZERO_INLINE_SETTERS
    AppendBytesInPlace(tag, src, size);
#else
    AppendBytesOutOfLine(tag, src, size);
#endif
  }
  PROTOZERO_ALWAYS_INLINE void AppendBytesInPlace(EncodedTag tag,
                                                  const void* src,
                                                  size_t size);
  void AppendBytesOutOfLine(EncodedTag tag,
                            const void* src,
                            size_t size) noexcept;
  // For any size, with or without room. Returns the cursor.
  PROTOZERO_NOINLINE uint8_t* AppendLongBytes(EncodedTag tag,
                                              const void* src,
                                              size_t size) noexcept;
  // As internal::AppendBytesHeader().
  PROTOZERO_NOINLINE bool AppendBytesHeader(EncodedTag tag,
                                            uint64_t size) noexcept;
  PROTOZERO_COLD size_t AppendScattered(uint32_t field_id,
                                        const ContiguousMemoryRange* ranges,
                                        size_t num_ranges) noexcept;
  // A child and its cursor, which is not in it yet.
  struct NewChild {
    Message* child;
    uint8_t* write_ptr;
  };
  Message* BeginNested(EncodedTag tag) noexcept;
  PROTOZERO_ALWAYS_INLINE NewChild BeginNestedInPlace(EncodedTag tag);
  PROTOZERO_NOINLINE NewChild BeginNestedAtCursor(EncodedTag tag) noexcept;
  // The same where a child is open, as it is for all but the first of a row, or
  // the arena has something to say.
  PROTOZERO_NOINLINE NewChild BeginNextNested(EncodedTag tag) noexcept;
  // Whether a child can be begun at |pos|, which is the cursor unless a child
  // is open: one that is likely to be short, or one that is expected to be
  // long.
  PROTOZERO_ALWAYS_INLINE bool MayBeginShort(const uint8_t* pos) const;
  PROTOZERO_ALWAYS_INLINE bool MayBeginLong(const uint8_t* pos) const;
  // REQUIRES: the same.
  PROTOZERO_ALWAYS_INLINE NewChild BeginShortNested(EncodedTag tag,
                                                    uint8_t* pos);
  PROTOZERO_ALWAYS_INLINE NewChild BeginLongNested(EncodedTag tag,
                                                   uint8_t* pos);

#if PROTOZERO_INLINE_SETTERS
  // The setters of numbers.
  template <typename T>
  PROTOZERO_ALWAYS_INLINE void AppendVarIntInPlace(EncodedTag tag, T value);
  PROTOZERO_ALWAYS_INLINE void AppendTinyVarIntInPlace(EncodedTag tag,
                                                       uint64_t bits);
  template <typename Bits>
  PROTOZERO_ALWAYS_INLINE void AppendFixedInPlace(EncodedTag tag, Bits bits);
#endif

  // For any value, with or without room.
  PROTOZERO_NOINLINE void AppendVarIntOutOfLine(EncodedTag tag,
                                                uint64_t value) noexcept;
  void AppendInt32OutOfLine(EncodedTag tag, int32_t value) noexcept;
  template <typename Bits>
  void AppendFixedOutOfLine(EncodedTag tag, Bits bits) noexcept;

  PROTOZERO_COLD void AppendVarIntSlowPath(EncodedTag tag,
                                           uint64_t value) noexcept;
  PROTOZERO_COLD void AppendFixedSlowPath(EncodedTag tag,
                                          uint64_t bits,
                                          size_t size) noexcept;
  PROTOZERO_COLD NewChild BeginNestedSlowPath(EncodedTag tag) noexcept;
  PROTOZERO_COLD Message* BeginGroup(EncodedTag tag, uint32_t end_tag) noexcept;
  // Begins a group or, with a size field of its full width, another child:
  // wherever they may be in the chunk. REQUIRES: this message holds the cursor.
  PROTOZERO_COLD Message* BeginAnywhere(EncodedTag tag, Flags flags) noexcept;
  // What stands in for a child that there is no memory for, or that is begun in
  // a message that takes none.
  PROTOZERO_COLD Message* InsteadOfChild() noexcept;
  // One that drops everything, the same for all.
  PROTOZERO_COLD static Message* DroppingMessage() noexcept;

  // Whether it is the leaf, takes fields and has the cursor.
  bool HasCursor() const {
    return PROTOZERO_LIKELY(!is_finalized()) &&
           reinterpret_cast<uintptr_t>(write_ptr_) <
               reinterpret_cast<uintptr_t>(ScatteredStreamWriter::Nowhere());
  }
  // Makes this message the leaf and gives it the cursor. Returns false if this
  // message takes no more fields.
  PROTOZERO_COLD bool TakeCursor() noexcept;
  // The same, from the writer. REQUIRES: the writer has it.
  PROTOZERO_COLD bool TakeCursorBack() noexcept;
  // TakeCursor(), and has |size| more bytes accounted for in the open messages'
  // size fields.
  PROTOZERO_NOINLINE bool TakeCursorFor(size_t size) noexcept;
  PROTOZERO_COLD void Fail(WriteStatus status, size_t lost_bytes) noexcept;
  // Seals the chain of open descendants and takes the cursor from the last,
  // then does what is left to do. REQUIRES: there is one, or that is
  // kFinalize.
  enum AfterNested : bool { kContinue, kFinalize };
  PROTOZERO_NOINLINE uint32_t SealNestedAnd(AfterNested next) noexcept;
  // The same, for all that is not as expected. Where |child| is not null, it
  // and those before it in the arena are left, and it is long.
  PROTOZERO_COLD uint32_t SealAnyNestedAnd(AfterNested next,
                                           Message* child,
                                           uint8_t* end) noexcept;
  // Seals them while they are long, and whole in this chunk. Returns false if
  // any is left.
  bool SealLong(Message* child, uint8_t* end) noexcept;
  // One by one and whatever they are.
  PROTOZERO_COLD void SealAnyNested() noexcept;
  PROTOZERO_COLD void AppendEndTag(uint32_t end_tag) noexcept;
  // SealNestedAnd(kContinue) for a chain of one message, narrow and short,
  // where another begins right after it. Returns false, having done nothing,
  // for any other.
  bool SealShortNested() noexcept;
  // Deletes |child|, and all that is nested in it; or puts them in quarantine.
  void DeleteNested(MessageArena* arena, Message* child) noexcept;
  // The same. REQUIRES: !arena->IsScattered().
  void DeleteInlineNested(MessageArena* arena, Message* child) noexcept;
  // Called before another message begins in this one out of line, as each does
  // that replaces one in quarantine. REQUIRES: this message holds the cursor.
  void ReplaceNested() noexcept;
  // Where the library has debug checks: of a message that was replaced, whether
  // that was by |next|, or by one before it in the same parent.
  PROTOZERO_COLD bool IsReplacedBy(const Message* next) const noexcept;
  // Continues at |end|, after the chain has been sealed.
  void LetGoOfNested(uint8_t* end) noexcept;
  // The same. REQUIRES: !arena->IsScattered().
  void LetGoOfInlineNested(MessageArena* arena,
                           Message* child,
                           uint8_t* end) noexcept;
  uint64_t SizeAt(const uint8_t* end) const {
    return state_.size + static_cast<uint64_t>(end - base_);
  }
  // Gives a narrow message, which ends at |end|, a size field of full width,
  // all zero. Returns the end.
  PROTOZERO_COLD uint8_t* Widen(uint8_t* end) noexcept;
  // Ends this message before |end|, writes its size, and returns where the
  // stream continues.
  PROTOZERO_COLD uint8_t* SealAt(uint8_t* end) noexcept;
  // How long a message with |flags| may be.
  PROTOZERO_COLD static size_t MaxLength(uint8_t flags) noexcept;
  // Whether a message of |size| bytes in this chunk is long, and whole behind a
  // size field of full width. REQUIRES: there is no error.
  bool IsWideAndLong(size_t size) const;
  // Writes the size of a message that is narrow, and short.
  void WriteShortSize(size_t size) const;
  // Write the size of a message that is wide, or as above, and mark it sealed.
  void SealWide(size_t size);
  void SealShort(size_t size);
  // Seals it, but for the setters: see StopSetters(). Keeps the epoch, and
  // |group_flag|, which is kGroup or none.
  void MarkSealed(uint64_t size, uint8_t group_flag = 0) noexcept;
  // What seals a leaf, too. The setters of the others have been stopped by the
  // cursor since they have a child, and remain so.
  void StopSetters() { fast_limit_ = 0; }
  // Ends this message and its open descendants without writing any size.
  PROTOZERO_COLD void CloseChain() noexcept;
  // The same, and deletes the descendants.
  PROTOZERO_COLD void CloseRoot() noexcept;
  void StopAfterError() {
    StopSetters();
    state_.flags |= kCrossedChunk;
  }
  // What a new use of a message starts with.
  static State NewState(Flags flags, uint32_t tag_size) {
    return {flags, static_cast<uint8_t>(tag_size),
            PROTOZERO_DCHECK_IS_ON ? NextEpoch() : uint16_t{0}, 0};
  }
  void SetState(State state) {
    static_assert(sizeof(State) == sizeof(uint64_t), "one store");
    memcpy(&state_, &state, sizeof(state));
  }
  // Begins a root message. REQUIRES: none is open on |writer|.
  PROTOZERO_ALWAYS_INLINE void Attach(ScatteredStreamWriter* writer,
                                      MessageArena* arena) {
    writer_ = writer;
    writer->root_ = this;
    writer->arena_ = arena;
    AttachAgain(writer);
  }
  // The same. REQUIRES: IsRootOf(writer, arena).
  PROTOZERO_ALWAYS_INLINE void AttachAgain(ScatteredStreamWriter* writer) {
    write_ptr_ = writer->write_ptr_;
    fast_limit_ = writer->fast_limit_;
    base_ = writer->write_ptr_;
    SetState(NewState(kRootWithoutSize, 0));
    writer->write_ptr_ = ScatteredStreamWriter::Nowhere();
  }
  // Whether this message was the last to begin on |writer|, and that was the
  // last writer that it began on. REQUIRES: nobody else uses |arena|. So
  // whoever used it last on |writer| was at this address; and if it was an
  // object before this one, this one has not begun on |writer|.
  bool IsRootOf(const ScatteredStreamWriter* writer,
                const MessageArena* arena) const {
    return PROTOZERO_LIKELY(writer_ == writer) &&
           PROTOZERO_LIKELY(writer->arena_ == arena);
  }
  // Abandon() and Reset(writer, arena).
  PROTOZERO_ALWAYS_INLINE void ResetRoot(ScatteredStreamWriter* writer,
                                         MessageArena* arena) {
    PROTOZERO_DCHECK(writer != nullptr, "a message needs a stream");
    if (PROTOZERO_UNLIKELY(!IsRootOf(writer, arena)) ||
        PROTOZERO_UNLIKELY(writer->has_open_root())) {
      return ResetRootSlowPath(writer, arena);
    }
    AttachAgain(writer);
  }
  PROTOZERO_COLD void ResetRootSlowPath(ScatteredStreamWriter* writer,
                                        MessageArena* arena) noexcept {
    // Lets go of the arena, too, which sealed messages have done.
    Abandon();
    writer->AbandonRoot();
    Attach(writer, arena);
  }
  // Abandon(), writer->Reset(range) and Reset(writer, arena).
  PROTOZERO_ALWAYS_INLINE void ResetIn(ScatteredStreamWriter* writer,
                                       ContiguousMemoryRange range,
                                       MessageArena* arena) {
    PROTOZERO_DCHECK(!ScatteredStreamWriter::IsReversed(range),
                     ScatteredStreamWriter::kReversedAdvice);
    if (PROTOZERO_UNLIKELY(!IsRootOf(writer, arena) ||
                           !writer->MayEnterAtOnce(range))) {
      return ResetInSlowPath(writer, range, arena);
    }
    writer->EnterAtOnce(range);
    AttachAgain(writer);
  }
  PROTOZERO_COLD void ResetInSlowPath(ScatteredStreamWriter* writer,
                                      ContiguousMemoryRange range,
                                      MessageArena* arena) noexcept {
    Abandon();
    writer->AbandonRoot();
    writer->ResetSlowPath(range);
    Attach(writer, arena);
  }
  // Zero if the library was built without debug checks, whatever its users are.
  static uint16_t NextEpoch() noexcept;
  // Whether this message is a root message without a size field that holds the
  // cursor, |end|, and is whole within the current chunk: where there is no
  // other flag, there is no error. A cursor that is not there is far away, but
  // where addresses are short.
  bool IsWholeRoot(const uint8_t* end) const {
    return IsShortEnough(end) && state_.flags == kRootWithoutSize;
  }
  bool IsShortEnough(const uint8_t* end) const {
    const uintptr_t size =
        reinterpret_cast<uintptr_t>(end) - reinterpret_cast<uintptr_t>(base_);
    return (sizeof(uintptr_t) >= sizeof(uint64_t) || HasFastRoom(end)) &&
           size <= proto_utils::kMaxRootMessageLength;
  }
  // Finalize() of such a message.
  uint32_t SealWholeRoot(uint8_t* end) {
    const size_t size = static_cast<size_t>(end - base_);
    writer_->write_ptr_ = end;
    // Not a limit of 0, as StopSetters() would have it: so what stored the
    // cursor before this, in place, did it for nobody.
    write_ptr_ = ScatteredStreamWriter::WithWriter();
    state_.size = static_cast<uint32_t>(size);
    // Last, for whoever asks next to know it.
    state_.flags = kFinalized;
    return static_cast<uint32_t>(size);
  }
  PROTOZERO_NOINLINE uint32_t FinalizeOutOfLine() noexcept;
  PROTOZERO_COLD uint32_t FinalizeSlowPath() noexcept;
  // Writes over chunk boundaries. REQUIRES: this message holds the cursor.
  PROTOZERO_COLD void WriteScattered(const uint8_t* src, size_t size) noexcept;

  // The two directions of moving the cursor between the writer and the leaf.
  PROTOZERO_COLD void LendCursorFromWriter() noexcept;
  PROTOZERO_COLD void ReturnCursorToWriter() noexcept;

  // Over chunk boundaries only where it has to. Same requirement. Not inlined:
  // its callers are many, and none is in a hurry.
  PROTOZERO_NOINLINE void WriteEncoded(const uint8_t* src,
                                       size_t size) noexcept;

  // Begins a child, without giving it the cursor.
  void InitNested(ScatteredStreamWriter* writer,
                  uintptr_t fast_limit,
                  uint8_t* base,
                  State state);
  // For DroppingMessage().
  constexpr explicit Message(State state)
      : write_ptr_(nullptr),
        fast_limit_(0),
        writer_(nullptr),
        base_(nullptr),
        size_field_(nullptr),
        nested_(nullptr),
        state_(state) {}
  // Before the first Reset(): every setter is a mistake.
  void InitUnattached() noexcept;
  // Closes the message as it stands if it is still open on its writer.
  void Abandon() {
    if (PROTOZERO_UNLIKELY(!is_finalized()))
      writer_->AbandonRoot();
  }

  // The cursor, while this message holds it; Nowhere() while a child is open,
  // WithWriter() while the writer has taken it from this message.
  uint8_t* write_ptr_;
  // Below this address, kFastRoom bytes can be written: none of them beyond the
  // current chunk, with kWidening bytes to spare for each narrow message that
  // is open, nor beyond the kMaxNarrowSize-th of such a message. 0 if the
  // message was sealed as the leaf, or the writer is in the error state.
  uintptr_t fast_limit_;
  ScatteredStreamWriter* writer_;
  // This message's first byte in the current chunk. Of a frozen one: see
  // ScatteredStreamWriter::InnermostFrozen().
  uint8_t* base_;
  union {
    // Unset while the message is narrow, has no size, or is sealed.
    uint8_t* size_field_;
    // Of a group.
    uint32_t end_tag_;
  };
  // The child. Null while the writer has the cursor of this message, otherwise
  // unset unless HasNested().
  Message* nested_;
  State state_;
};

static_assert(sizeof(Message) == MessageArena::kMessageSize,
              "the arena's slots hold one message each");

inline bool internal::AppendBytesHeader(Message* message,
                                        uint32_t field_id,
                                        uint64_t size) {
  if (!Message::IsFieldId(field_id))
    return false;
  return message->AppendBytesHeader(
      Message::EncodeTag(field_id,
                         proto_utils::ProtoWireType::kLengthDelimited),
      size);
}

PROTOZERO_ABI_END
}  // namespace protozero

#if PROTOZERO_INLINE_SETTERS
#include "protozero/internal/message_in_place.h"
#endif

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_MESSAGE_H_
