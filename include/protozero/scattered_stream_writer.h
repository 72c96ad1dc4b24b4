// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_SCATTERED_STREAM_WRITER_H_
#define INCLUDE_PROTOZERO_SCATTERED_STREAM_WRITER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/bit_deposit.h"
#include "protozero/internal/compiler.h"
#include "protozero/internal/message_state.h"
#include "protozero/proto_utils.h"
#include "protozero/write_status.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

class Message;
class MessageArena;

namespace internal {
class FieldsAppender;
struct MessageInline;
struct MessageNesting;
struct MessageRuntime;
struct MessageSteps;
struct OpenMessages;
}  // namespace internal

// A stream of bytes over memory that comes in chunks.
//
// The size of what is being serialized is not known beforehand, and the memory
// for it (say, a chunk of a shared-memory buffer) is handed out piece by piece.
// The writer keeps a cursor in the current chunk, checks every write against
// the chunk's end, and asks its Delegate for the next chunk when it is full:
//
//       chunk 0                 chunk 1                  chunk 2
//   +-------------+.........+-------------+..........+-------------+
//   |#############|         |#############|          |#####        |
//   +-------------+.........+-------------+..........+-----^-------+
//   '---- written_previously() bytes -----'       write_ptr()
//
// A write that does not fit is split at the chunk's end, except for
// ReserveBytes(), which must be contiguous and skips the rest of the chunk
// when it has to; skipped bytes belong to no message and are not counted.
//
// The cursor. While a Message is open on the writer, the message itself holds
// the cursor, so that a run of setters touches one object only. The accessors
// below look it up there. A write through this class takes the cursor back
// first, and the message picks it up again with its next write. Callers need
// not care, except for this: a message may count the bytes that are written to
// the writer while it is open. A root message does not count the bytes before
// its first field:
//
//   message.Reset(&writer);
//   writer.WriteByte(tag);
//   message.set_size_field(writer.ReserveBytes(4));
//   message.AppendVarInt(1, 150);   // The size will be 3.
//
// The leaf counts all bytes that are written later. A nested message counts
// them from its beginning, before its first field, too. After
// MessageHandleBase::TakeStreamWriter(), a root message does as well. Without
// that call, bytes between set_size_field() and the first field could be meant
// either way: then the message ends with the error kAmbiguousSize.
//
// Errors. When the delegate has no buffer left, or a message grows too long,
// status() says so from then on; later writes are dropped. written() goes on
// counting them, so that the caller learns how much room was needed.
//
// One thread at a time may use a writer. It does not allocate.
class PROTOZERO_EXPORT ScatteredStreamWriter {
 public:
  // The supplier of the chunks. Its owner keeps it alive as long as the writer
  // is written to.
  class PROTOZERO_EXPORT Delegate {
   public:
    // The size of a patch in bytes. A patch fills in the size of a nested
    // message.
    static constexpr size_t kPatchSize = proto_utils::kMessageLengthFieldSize;

    virtual ~Delegate() = default;

    // No function below may throw: that ends the program. Nor may they
    // write to the writer that calls them, reset it, or change a message that
    // is open on it, except by Message::set_size_field(). Doing so stops debug
    // builds; in release builds, nothing is written, and the writer gets into
    // the kReentered state. They may look at both.
    //
    // Called when the current chunk is full, or when kPatchSize contiguous
    // bytes no longer fit it. At this point the writer's accessors describe the
    // chunk that is being left. Returns the next chunk, of any size from
    // kPatchSize bytes upward, which stays writable until the next call. A
    // smaller chunk ends the stream where that many bytes are needed in one
    // piece. If there is no chunk, returns an invalid or empty range, which
    // puts the writer into the kOutOfBuffer state. A range that ends before it
    // begins is the error kInvalidBuffer.
    virtual ContiguousMemoryRange GetNewBuffer() = 0;

    // Called, before GetNewBuffer(), for the size field of every message that
    // is still open: |patch_addr| points to kPatchSize bytes, all zero, in the
    // chunk that is being left. Returns the address to which the size is
    // written once it is known: the same address if the chunk stays writable,
    // kPatchSize zero bytes elsewhere if the chunk is about to be given away,
    // or null if the size is not needed. The first of the bytes is non-zero
    // once the size is there. The writer cannot detect a wrong address: it
    // writes to the bytes when the message is sealed, whoever owns them then.
    // Debug builds check that they are zero.
    PROTOZERO_COLD virtual uint8_t* AnnotatePatch(uint8_t* patch_addr);

    // Called for the |bytes| of Message::AppendBorrowedBytes(), after their tag
    // and size. If the delegate takes them as a chunk of their own, which must
    // only be read, it returns the chunk that follows them, which may be the
    // rest of the current one, and may be empty. The chunks before stay
    // writable: AnnotatePatch() is not called. The default returns an invalid
    // range, and the writer copies the bytes.
    PROTOZERO_COLD virtual ContiguousMemoryRange BorrowBytes(
        ContiguousMemoryRange bytes);
  };

  // REQUIRES: |delegate| outlives the writer. Does not call it: the first write
  // asks for the first chunk, unless Reset() gives one.
  explicit ScatteredStreamWriter(Delegate* delegate)
      : ScatteredStreamWriter(delegate, ContiguousMemoryRange{}) {}

  // Starts in |range|, as after Reset(range). If |delegate| is null, there is
  // no other chunk. REQUIRES: as Reset().
  ScatteredStreamWriter(Delegate* delegate, ContiguousMemoryRange range)
      : delegate_(delegate),
        write_ptr_(range.begin),
        cur_range_(range),
        fast_limit_(FastLimitOf(range)) {
    PROTOZERO_DCHECK(!IsReversed(range), kReversedAdvice);
  }

  // Closes a message that is still open on the writer for good: its setters do
  // nothing from then on.
  ~ScatteredStreamWriter() {
    if (has_open_root())
      AbandonRoot();
  }

  ScatteredStreamWriter(const ScatteredStreamWriter&) = delete;
  ScatteredStreamWriter& operator=(const ScatteredStreamWriter&) = delete;

  // Writes one byte, which may need a new chunk.
  void WriteByte(uint8_t value) {
    if (PROTOZERO_UNLIKELY(bytes_available() == 0))
      return WriteBytesSlowPath(&value, 1);
    TakeCursor();
    *write_ptr_++ = value;
  }

  // Copies |size| bytes from |src|, over as many chunks as it takes.
  // REQUIRES: |src| does not overlap the chunk being written.
  void WriteBytes(const uint8_t* src, size_t size) {
    if (PROTOZERO_UNLIKELY(size > bytes_available()))
      return WriteBytesSlowPath(src, size);
    WriteBytesUnsafe(src, size);
  }

  // REQUIRES: size <= bytes_available().
  void WriteBytesUnsafe(const uint8_t* src, size_t size) {
    TakeCursor();
    PROTOZERO_DCHECK(size <= bytes_available(),
                     "check bytes_available() or call WriteBytes()");
    if (size == 0)  // memcpy() may not be given null, even for no bytes.
      return;
    memcpy(write_ptr_, src, size);
    write_ptr_ += size;
  }

  // Does the work of WriteBytes() when |size| bytes do not fit the current
  // chunk. Correct for any size.
  PROTOZERO_COLD void WriteBytesSlowPath(const uint8_t* src,
                                         size_t size) noexcept;

  // Skips |size| contiguous bytes for the caller to fill in later, and returns
  // the first of them; moves to the next chunk if the current one has less
  // room. Does not change the bytes. Returns null in the error state, in
  // particular if the delegate's next chunk is smaller than |size|.
  uint8_t* ReserveBytes(size_t size) {
    if (PROTOZERO_UNLIKELY(size > bytes_available()))
      return ReserveBytesSlowPath(size);
    return ReserveBytesUnsafe(size);
  }

  // REQUIRES: size <= bytes_available().
  uint8_t* ReserveBytesUnsafe(size_t size) {
    TakeCursor();
    PROTOZERO_DCHECK(size <= bytes_available(),
                     "check bytes_available() or call ReserveBytes()");
    uint8_t* begin = write_ptr_;
    if (size != 0)
      write_ptr_ += size;
    return begin;
  }

  // Moves the last |size| bytes written back by |offset| bytes, over the
  // |offset| bytes before them, and the cursor with them.
  // REQUIRES: size + offset bytes were written to the current chunk.
  PROTOZERO_COLD void Rewind(size_t size, size_t offset) noexcept;

  // Continues in |range|. written() still counts the bytes written to the
  // previous chunk; an error state ends. An invalid range means that there is
  // no chunk for now: the next write asks the delegate. REQUIRES: |range| does
  // not end before it begins; release builds treat such a range as empty.
  PROTOZERO_ALWAYS_INLINE void Reset(ContiguousMemoryRange range) {
    PROTOZERO_DCHECK(!IsReversed(range), kReversedAdvice);
    if (PROTOZERO_UNLIKELY(!MayEnterAtOnce(range)))
      return ResetSlowPath(range);
    EnterAtOnce(range);
  }

  // Moves on to the delegate's next chunk, however much room the current one
  // has.
  PROTOZERO_COLD void Extend() noexcept;

  // Returns the number of bytes in the current chunk from write_ptr() on. Has
  // two forms, like write_ptr().
  size_t bytes_available() { return RoomAt(write_ptr()); }
  size_t bytes_available() const { return RoomAt(write_ptr()); }

  // Returns the whole current chunk; an invalid range before the first one.
  ContiguousMemoryRange cur_range() const { return cur_range_; }

  // Returns the limit of the current chunk, as for Message::fast_limit_.
  uintptr_t fast_limit() const { return fast_limit_; }

  // Returns the address of the next byte that is written to the stream itself.
  // While nested messages are open, it is after the room that their sizes may
  // need. The first form makes that room (see Message), so that all bytes up to
  // there are written; the second one changes nothing.
  uint8_t* write_ptr() {
    return PROTOZERO_UNLIKELY(cursor_is_lent()) ? LentWritePtr() : write_ptr_;
  }
  uint8_t* write_ptr() const {
    return PROTOZERO_UNLIKELY(cursor_is_lent()) ? LentWritePtr() : write_ptr_;
  }

  // Returns the same while no message is open on this writer; otherwise an
  // address past all chunks.
  uint8_t* own_write_ptr() const { return write_ptr_; }

  // Sets the address of the next byte. REQUIRES: |write_ptr| lies within the
  // current chunk, or is its end.
  void set_write_ptr(uint8_t* write_ptr) {
    TakeCursor();
    PROTOZERO_DCHECK(
        cur_range_.begin <= write_ptr && write_ptr <= cur_range_.end,
        "the write pointer has to stay within cur_range()");
    write_ptr_ = write_ptr;
  }

  // Returns the number of bytes written since construction. It includes bytes
  // dropped after an error, and the room for the sizes of open messages. Has
  // two forms, like write_ptr().
  uint64_t written() {
    return written_previously_ +
           static_cast<uint64_t>(write_ptr() - cur_range_.begin);
  }
  uint64_t written() const {
    return written_previously_ +
           static_cast<uint64_t>(write_ptr() - cur_range_.begin);
  }

  // Returns the part of written() that lies in chunks before the current one.
  uint64_t written_previously() const { return written_previously_; }

  // Calls Delegate::AnnotatePatch() of this writer's delegate, for code that
  // writes nested messages through the raw stream.
  uint8_t* AnnotatePatch(uint8_t* patch_addr) {
    return delegate_ ? delegate_->AnnotatePatch(patch_addr) : patch_addr;
  }

  // Returns the reason why the stream takes no more bytes; kOk while it takes
  // them.
  WriteStatus status() const { return reasons_.status; }
  bool ok() const { return reasons_.status == WriteStatus::kOk; }

 private:
  friend class Message;
  friend class internal::FieldsAppender;
  friend struct internal::MessageInline;
  friend struct internal::MessageNesting;
  friend struct internal::MessageRuntime;
  friend struct internal::MessageSteps;
  friend struct internal::OpenMessages;

  // The room that a message asks for before it writes a field of bounded size:
  // enough for any tag and number.
  static constexpr size_t kFastRoom = 16;
  static_assert(kFastRoom >= proto_utils::kMaxSimpleFieldEncodedSize,
                "a tag and the longest varint");

  // Returns the address below which kFastRoom bytes fit in |range|; an address
  // before the range, or 0, if they fit nowhere. Returns 0, too, if inline code
  // is not for this processor.
  static uintptr_t FastLimitOf(ContiguousMemoryRange range) {
    return PROTOZERO_LIKELY(MayHaveFastRoom(range))
               ? FastLimitOfLong(range) & internal::kInlineEncodingMask
               : 0;
  }
  // Returns false for an invalid range.
  static bool MayHaveFastRoom(ContiguousMemoryRange range) {
    return reinterpret_cast<uintptr_t>(range.end) >= kFastRoom;
  }
  // Returns whether |range| ends before it begins. Compares integers, because
  // the two pointers of such a range need not be in one buffer.
  static bool IsReversed(ContiguousMemoryRange range) {
    return reinterpret_cast<uintptr_t>(range.end) <
           reinterpret_cast<uintptr_t>(range.begin);
  }
  static uintptr_t FastLimitOfLong(ContiguousMemoryRange range) {
    return reinterpret_cast<uintptr_t>(range.end) - (kFastRoom - 1);
  }

  bool cursor_is_lent() const { return write_ptr_ == internal::LentCursor(); }
  // Returns whether a message is open on this writer, with or without the
  // cursor.
  bool has_open_root() const {
    return cursor_is_lent() || reasons_.cursor_taken != CursorTaken::kNot;
  }

  // Returns bytes_available(). REQUIRES: the writer holds the cursor.
  PROTOZERO_ALWAYS_INLINE size_t room() const { return RoomAt(write_ptr_); }
  // Returns 0 after an error, and in a range that ends before it begins.
  size_t RoomAt(const uint8_t* pos) const {
    return PROTOZERO_LIKELY(ok()) && PROTOZERO_LIKELY(pos < cur_range_.end)
               ? static_cast<size_t>(cur_range_.end - pos)
               : 0;
  }

  void TakeCursor() {
    PROTOZERO_DCHECK(!reasons_.is_asking, kReenteredAdvice);
    if (PROTOZERO_UNLIKELY(cursor_is_lent()))
      TakeCursorSlowPath();
  }
  void LendCursor() {
    write_ptr_ = internal::LentCursor();
    reasons_.cursor_taken = CursorTaken::kNot;
  }
  // Does the work of TakeCursor() in slow paths.
  PROTOZERO_COLD void TakeCursorSlowPath() noexcept;
  // Returns write_ptr() while the leaf has the cursor.
  PROTOZERO_COLD uint8_t* LentWritePtr() noexcept;
  PROTOZERO_COLD uint8_t* LentWritePtr() const noexcept;
  // Closes the message that is open, if any.
  PROTOZERO_COLD void AbandonRoot() noexcept;

  PROTOZERO_COLD uint8_t* ReserveBytesSlowPath(size_t size) noexcept;

  static constexpr char kReversedAdvice[] = "a buffer ends before it begins";
  static constexpr char kReenteredAdvice[] =
      "a delegate may look at the stream that asks it, but not write to it";
  // Returns whether the delegate, by mistake, writes while it is asked for a
  // buffer. Then the stream fails, and nothing may be written.
  PROTOZERO_COLD bool IsReentered() noexcept;
  // Gets the next chunk. Returns false, in the error state, if there is none.
  // REQUIRES: the writer holds the cursor.
  PROTOZERO_COLD bool NextChunk() noexcept;
  // Ends a call of the delegate that may write to nothing. Returns false, in
  // the error state, if it did.
  inline bool EndAsking() noexcept;
  // Makes |size| bytes at |src| a chunk of the stream, without a copy. Returns
  // false, and does nothing, if the delegate does not take them. REQUIRES: the
  // writer holds the cursor.
  PROTOZERO_COLD bool BorrowBytes(const uint8_t* src, size_t size) noexcept;
  // Makes |range| the current chunk. REQUIRES: no message is open, or all open
  // ones have been adapted to |range| already.
  PROTOZERO_ALWAYS_INLINE void EnterChunk(ContiguousMemoryRange range,
                                          uintptr_t fast_limit) {
    written_previously_ += static_cast<uint64_t>(write_ptr_ - cur_range_.begin);
    cur_range_ = range;
    fast_limit_ = fast_limit;
    write_ptr_ = range.begin;
  }
  // Returns whether EnterAtOnce() does all that Reset() has to do: no message
  // is open, there was no error, and |range| is most likely a chunk.
  bool MayEnterAtOnce(ContiguousMemoryRange range) const {
    return PROTOZERO_LIKELY(!cursor_is_lent()) &&
           PROTOZERO_LIKELY(!HasSlowPathReason()) &&
           PROTOZERO_LIKELY(MayHaveFastRoom(range));
  }
  PROTOZERO_ALWAYS_INLINE void EnterAtOnce(ContiguousMemoryRange range) {
    EnterChunk(range, FastLimitOfLong(range));
  }
  // Does the work of Reset() where a message is open, which goes on in |range|,
  // or ends with the error; or where |range| is invalid.
  PROTOZERO_COLD void ResetSlowPath(ContiguousMemoryRange range) noexcept;

  // Enters the error state, and counts |lost_bytes|, which are not written.
  PROTOZERO_COLD void Fail(WriteStatus status, uint64_t lost_bytes) noexcept;

  bool HasSlowPathReason() const {
    uint32_t bits;
    static_assert(sizeof(bits) == sizeof(reasons_), "one load");
    memcpy(&bits, &reasons_, sizeof(bits));
    return bits != 0;
  }

  Delegate* const delegate_;
  // The cursor; LentCursor() while the leaf has it.
  uint8_t* write_ptr_;
  ContiguousMemoryRange cur_range_;
  // The limit of cur_range_; 0 after an error.
  uintptr_t fast_limit_;
  uint64_t written_previously_ = 0;
  // The time when the writer took the cursor from the open message. It decides
  // which message counts the bytes that were written since then.
  enum class CursorTaken : uint8_t {
    // The writer did not take it.
    kNot,
    // Later than the two below: the leaf counts them.
    kFromLeaf,
    // Before the first field of the root message, which does not count them.
    kBeforeFirstField,
    // The same, but the message had its size field already.
    kBehindSizeField,
  };
  // The reasons why Reset() may have to take the slow path. Mostly all zero, so
  // that one test covers them.
  struct SlowPathReasons {
    WriteStatus status;
    // Not kNot if a message is open, but the writer has the cursor.
    CursorTaken cursor_taken;
    // True if inline code is not for this processor, or the writer does not
    // know yet whether it is.
    bool may_lack_inline_code;
    // True while the delegate is being asked for a chunk. The writer has the
    // cursor.
    bool is_asking;
  };
  SlowPathReasons reasons_ = {WriteStatus::kOk, CursorTaken::kNot, true, false};
  // The outermost message that is open on this writer. If none is open, the
  // last one that was, which may be gone: if the same message begins again and
  // again, neither this nor arena_ has to be stored each time.
  Message* root_ = nullptr;
  // The arena of the messages nested in root_.
  MessageArena* arena_ = nullptr;
  // The innermost frozen message, see src/protozero/open_messages.h. Unset
  // unless root_ has MessageState::kHasFrozen.
  Message* frozen_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_SCATTERED_STREAM_WRITER_H_
