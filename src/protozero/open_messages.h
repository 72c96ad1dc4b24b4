// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOZERO_OPEN_MESSAGES_H_
#define SRC_PROTOZERO_OPEN_MESSAGES_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/contiguous_memory_range.h"
#include "protozero/message.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/write_status.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The messages that are open on a writer: a chain from the root message, each
// the parent of the next, to the leaf. What they and the writer do together:
// pass the cursor on, and go from chunk to chunk.
//
// Frozen messages. When a chunk is left, the open messages are frozen, except
// for the leaf and its parent: nothing of them changes until their child is
// sealed, whatever else is written and whatever chunks are left. So a chunk
// costs as much as the messages that began in it, however many are open around
// them. The frozen messages are the outer part of the chain; of each,
//
//   state_.size  is the bytes before its child, whose tag and size included,
//   base_        points to the frozen message around it, or is null.
//
// REQUIRES, unless a comment says otherwise: a message is open.
struct OpenMessages {
  // The chain.

  static bool HasFrozen(const ScatteredStreamWriter* writer) {
    return (writer->root_->state_.tag_size & MessageState::kHasFrozen) != 0;
  }
  static Message* InnermostFrozen(const ScatteredStreamWriter* writer);
  static Message* OutermostThawed(const ScatteredStreamWriter* writer);
  // The innermost open message.
  PROTOZERO_COLD static Message* Leaf(
      const ScatteredStreamWriter* writer) noexcept;
  // Writes the |size| of |child|, which has been sealed, to |size_field| unless
  // that is null. Has its parent go on at |end|, if that is frozen. Returns
  // |end|.
  PROTOZERO_COLD static uint8_t* ThawParentOf(ScatteredStreamWriter* writer,
                                              const Message* child,
                                              uint8_t* size_field,
                                              uint64_t size,
                                              uint8_t* end) noexcept;

  // The cursor.

  // MessageRuntime::TakeCursor(), and has |size| more bytes accounted for in
  // the size fields of the open messages.
  PROTOZERO_NOINLINE static bool TakeCursorFor(Message* message,
                                               size_t size) noexcept;
  // From the writer to the leaf, and back.
  PROTOZERO_COLD static void LendCursorTo(Message* leaf) noexcept;
  PROTOZERO_COLD static void ReturnCursor(Message* leaf) noexcept;
  // ReturnCursor() for a write to the stream itself. REQUIRES: the leaf has the
  // cursor.
  PROTOZERO_NOINLINE static void TakeCursorFromLeaf(
      ScatteredStreamWriter* writer) noexcept;
  // Closes the messages without touching the chunk, which may be gone. Nothing
  // needs to be open.
  PROTOZERO_COLD static void Abandon(ScatteredStreamWriter* writer) noexcept;

  // Writing. REQUIRES: |leaf| has the cursor.

  // Over chunk boundaries where it has to. Not inlined: its callers are many,
  // and all are slow paths.
  PROTOZERO_NOINLINE static void WriteBytes(Message* leaf,
                                            const uint8_t* src,
                                            size_t size) noexcept;
  PROTOZERO_COLD static void Fail(Message* leaf,
                                  WriteStatus status,
                                  size_t lost_bytes) noexcept;

  // Widening.

  // Widens the open messages that may not be short any more after |size| more
  // bytes at |pos|, which is the cursor; all of them if the chunk could become
  // too short for that. Returns where the cursor is then.
  PROTOZERO_COLD static uint8_t* WidenFor(const ScatteredStreamWriter* writer,
                                          size_t size,
                                          uint8_t* pos) noexcept;
  // All of them, as for a size that is not known. Returns the leaf's cursor.
  PROTOZERO_COLD static uint8_t* WidenAll(
      const ScatteredStreamWriter* writer) noexcept;
  // What WidenAll() would return. Changes nothing.
  PROTOZERO_COLD static uint8_t* CursorIfWidened(
      const ScatteredStreamWriter* writer) noexcept;
  // How far WidenAll() would move the first byte of |message|; null: the end of
  // the leaf. Changes nothing.
  PROTOZERO_COLD static size_t MovedByWidening(
      const ScatteredStreamWriter* writer,
      const Message* message) noexcept;

  // Chunks.

  // Asks |delegate| where the sizes of open messages go that the current chunk
  // does not wait for.
  PROTOZERO_COLD static void AnnotatePatches(
      ScatteredStreamWriter* writer) noexcept;
  // ScatteredStreamWriter::EnterChunk(), and the open messages, if any, go on
  // in |range|. REQUIRES: the writer has the cursor.
  PROTOZERO_COLD static void EnterChunk(ScatteredStreamWriter* writer,
                                        ContiguousMemoryRange range) noexcept;

  // Raw bytes: which of the bytes that are written to the stream itself belong
  // to a message.

  // What is written to the stream from here on belongs to |message|. Returns
  // the stream.
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
  // WidenFor() for the messages in |outermost|, which has a child and is not
  // narrow. REQUIRES: there is fast room in the chunk.
  PROTOZERO_NOINLINE static uint8_t* WidenChainFor(
      const ScatteredStreamWriter* writer,
      Message* outermost,
      size_t size,
      uint8_t* pos) noexcept;
  // Leaves the bytes that the writer has written so far out of |root|, which
  // has no field yet. REQUIRES: the writer has the cursor.
  static void BeginAtWriter(Message* root);
  // The same, because bytes of |root| are next. REQUIRES: the writer has taken
  // the cursor before the first field.
  PROTOZERO_COLD static void BeginFirstField(Message* root) noexcept;
  // Whether |size_field| may be among the bytes that |message| counts.
  PROTOZERO_COLD static bool MayCountSizeField(
      const Message* message,
      const uint8_t* size_field) noexcept;

  friend struct MessageRuntime;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_PROTOZERO_OPEN_MESSAGES_H_
