// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOZERO_OPEN_MESSAGES_H_
#define SRC_PROTOZERO_OPEN_MESSAGES_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/message_inline.h"
#include "protozero/message.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/write_status.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The messages that are open on a writer: a chain from the root message, each
// the parent of the next, to the leaf. They and the writer pass the cursor on
// to each other, and go together from chunk to chunk.
//
// Frozen messages. When a chunk is left, the open messages are frozen, except
// for the leaf and its parent: their state does not change until their child is
// sealed, whatever else is written and whatever chunks are left. So a chunk
// costs as much as the messages that began in it, however many are open around
// them. The frozen messages are the outer part of the chain. In each,
//
//   state_.size  is the number of bytes before its child, with the child's tag
//                and size,
//   base_        points to the frozen message around it, or is null.
//
// REQUIRES, unless a comment says otherwise: a message is open.
struct OpenMessages : MessageSteps {
  // The chain.

  static bool HasFrozen(const ScatteredStreamWriter* writer) {
    return (writer->root_->state_.tag_size & MessageState::kHasFrozen) != 0;
  }
  static Message* InnermostFrozen(const ScatteredStreamWriter* writer);
  static Message* OutermostThawed(const ScatteredStreamWriter* writer);
  // Returns the innermost open message.
  PROTOZERO_COLD static Message* Leaf(
      const ScatteredStreamWriter* writer) noexcept;
  // Writes the |size| of |child|, which has been sealed, to |size_field| unless
  // that is null. Lets its parent go on at |end| if the parent is frozen.
  // Returns |end|.
  PROTOZERO_COLD static uint8_t* ThawParentOf(ScatteredStreamWriter* writer,
                                              const Message* child,
                                              uint8_t* size_field,
                                              uint64_t size,
                                              uint8_t* end) noexcept;

  // The cursor.

  // Move the cursor from the writer to the leaf, and back.
  PROTOZERO_COLD static void LendCursorTo(Message* leaf) noexcept;
  PROTOZERO_COLD static void ReturnCursor(Message* leaf) noexcept;
  // Calls ReturnCursor() for a write to the stream itself. REQUIRES: the leaf
  // has the cursor.
  PROTOZERO_NOINLINE static void TakeCursorFromLeaf(
      ScatteredStreamWriter* writer) noexcept;

  // Writing. REQUIRES: |leaf| has the cursor.

  // Writes bytes, over chunk boundaries if necessary. Not inlined: its callers
  // are many, and all are slow paths.
  PROTOZERO_NOINLINE static void WriteBytes(Message* leaf,
                                            const uint8_t* src,
                                            size_t size) noexcept;
  // Writes bytes that the delegate may take without a copy.
  PROTOZERO_COLD static void WriteBorrowedBytes(Message* leaf,
                                                const uint8_t* src,
                                                size_t size) noexcept;
  PROTOZERO_COLD static void Fail(Message* leaf,
                                  WriteStatus status,
                                  size_t lost_bytes) noexcept;

  // Widening.

  // Gives a narrow message, which ends at |end|, a size field of four bytes,
  // all zero. Returns the new end.
  PROTOZERO_COLD static uint8_t* Widen(Message* message, uint8_t* end) noexcept;
  // Widens the open messages that |size| more bytes at |pos|, which is the
  // cursor, may make longer than kMaxNarrowSize; all of them if the chunk may
  // become too short for that. Returns the new cursor.
  PROTOZERO_COLD static uint8_t* WidenFor(const ScatteredStreamWriter* writer,
                                          size_t size,
                                          uint8_t* pos) noexcept;
  // Widens all of them, as for a size that is not known. Returns the leaf's
  // cursor.
  PROTOZERO_COLD static uint8_t* WidenAll(
      const ScatteredStreamWriter* writer) noexcept;
  // Return the leaf's cursor, and the size field of a narrow message, as
  // WidenAll() would leave them. Change nothing.
  PROTOZERO_COLD static uint8_t* CursorIfWidened(
      const ScatteredStreamWriter* writer) noexcept;
  PROTOZERO_COLD static uint8_t* SizeFieldIfWidened(
      const Message* message) noexcept;

  // Chunks.

  // Asks the delegate for the addresses of the sizes that are still unknown
  // when the current chunk is left.
  PROTOZERO_COLD static void AnnotatePatches(
      ScatteredStreamWriter* writer) noexcept;
  // Calls ScatteredStreamWriter::EnterChunk(), and lets the open messages, if
  // any, go on in |range|. REQUIRES: the writer has the cursor.
  PROTOZERO_COLD static void EnterChunk(ScatteredStreamWriter* writer,
                                        ContiguousMemoryRange range) noexcept;

  // Raw bytes: bytes that are written to the stream itself, and the question
  // which message counts them.

  // Makes |message| count the bytes that are written to the stream from now on.
  // Returns the stream.
  PROTOZERO_COLD static ScatteredStreamWriter* ExpectRawFields(
      Message* message) noexcept;
  PROTOZERO_COLD static void SetSizeField(Message* message,
                                          uint8_t* size_field) noexcept;

 private:
  static void SetHasFrozen(ScatteredStreamWriter* writer, bool has_frozen);
  static void NoteRawBytes(Message* message);
  static bool HasRawBytes(const Message* message);
  static bool IsFrozen(const ScatteredStreamWriter* writer,
                       const Message* message);
  // Returns the distance by which WidenAll() would move the first byte of
  // |message|, or, if that is null, the end of the leaf. Changes nothing.
  PROTOZERO_COLD static size_t MovedByWidening(
      const ScatteredStreamWriter* writer,
      const Message* message) noexcept;
  // Returns it for the outermost thawed message, |outermost|.
  static size_t MovedByWideningFrom(Message* outermost, const Message* last);
  // Does the work of WidenFor() for the messages in |outermost|, which has a
  // child and is not narrow. REQUIRES: there is fast room in the chunk.
  PROTOZERO_NOINLINE static uint8_t* WidenChainFor(
      const ScatteredStreamWriter* writer,
      Message* outermost,
      size_t size,
      uint8_t* pos) noexcept;
  // Makes |root|, which has no field yet, begin after the bytes that the
  // writer has written so far. REQUIRES: the writer has the cursor.
  static void BeginAtWriter(Message* root);
  // Makes |root| begin when the next bytes are the first ones of |root|.
  // REQUIRES: the writer has taken the cursor before the first field.
  PROTOZERO_COLD static void BeginFirstField(Message* root) noexcept;
  // Returns whether |size_field| may be among the bytes that |message| counts.
  PROTOZERO_COLD static bool MayCountSizeField(
      const Message* message,
      const uint8_t* size_field) noexcept;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_PROTOZERO_OPEN_MESSAGES_H_
