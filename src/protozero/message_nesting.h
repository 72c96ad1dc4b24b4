// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOZERO_MESSAGE_NESTING_H_
#define SRC_PROTOZERO_MESSAGE_NESTING_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/message_inline.h"
#include "protozero/message.h"
#include "protozero/message_arena.h"
#include "protozero/proto_utils.h"
#include "protozero/write_status.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The operations on nested messages: beginning, sealing and rolling back. See
// the states in "protozero/internal/message_state.h", and the order of calls in
// "protozero/internal/message_runtime.h".
struct MessageNesting : MessageSteps {
  // Beginning.

  // Begins a child of a parent whose open child is most likely short, so that
  // sealing that one takes little.
  PROTOZERO_NOINLINE static BegunChild BeginBehindSibling(
      Message* parent,
      EncodedTag tag) noexcept;
  // Begins a child of any parent.
  PROTOZERO_COLD static BegunChild BeginInAnyState(Message* parent,
                                                   EncodedTag tag) noexcept;
  PROTOZERO_COLD static Message* BeginGroup(Message* parent,
                                            EncodedTag tag,
                                            uint32_t end_tag) noexcept;
  // Begins a group, or another child with a size field of four bytes, however
  // much room there is. REQUIRES: |parent| has the cursor.
  PROTOZERO_COLD static Message* BeginInAnyRoom(Message* parent,
                                                EncodedTag tag,
                                                State::Flags flags) noexcept;
  // Returns the message that stands in for a child if |parent| takes no
  // children, or if there is no memory for one.
  PROTOZERO_COLD static Message* StandInForChild(Message* parent) noexcept;
  // Returns a message that drops every field, the same one for all callers.
  PROTOZERO_COLD static Message* DroppingMessage() noexcept;
  // Call BeginNarrow() and BeginWide(), which take much code.
  PROTOZERO_NOINLINE static BegunChild
  BeginNarrowOutOfLine(Message* parent, EncodedTag tag, uint8_t* pos) noexcept;
  PROTOZERO_NOINLINE static BegunChild
  BeginWideOutOfLine(Message* parent, EncodedTag tag, uint8_t* pos) noexcept;

  // Sealing.

  // Seals the open messages nested in |parent|, and takes the cursor from the
  // leaf, then finalizes |parent| if |then| is kFinalize.
  // REQUIRES: a child is open, or |then| is kFinalize.
  enum Then : bool { kContinue, kFinalize };
  PROTOZERO_NOINLINE static uint32_t SealNested(Message* parent,
                                                Then then) noexcept;
  // Finalizes any message without an open child.
  PROTOZERO_COLD static uint32_t FinalizeLeaf(Message* message) noexcept;
  // Seals |message|, which ends at |end|, without its parents: writes its size,
  // and returns the address at which the stream continues.
  PROTOZERO_COLD static uint8_t* SealAt(Message* message,
                                        uint8_t* end) noexcept;
  // Closes |message| and the open messages nested in it without writing sizes.
  PROTOZERO_COLD static void Close(Message* message) noexcept;
  // Closes the open messages without touching the chunk, which may be gone, and
  // deletes those that are nested. No message needs to be open.
  PROTOZERO_COLD static void AbandonRoot(
      ScatteredStreamWriter* writer) noexcept;

  // The cursor.

  // Seals the open messages nested in |message|, so that it is the leaf and has
  // the cursor. Returns false if it takes no more fields.
  PROTOZERO_COLD static bool TakeCursor(Message* message) noexcept;
  // Takes the cursor, and widens the open messages that |size| more bytes may
  // make too long to stay narrow.
  PROTOZERO_NOINLINE static bool TakeCursorFor(Message* message,
                                               size_t size) noexcept;
  // Appends fields that are encoded already, if |message| takes fields.
  static void AppendEncoded(Message* message,
                            const uint8_t* src,
                            size_t size) noexcept;
  // Appends bytes that the delegate may take without a copy. REQUIRES: the tag
  // and size of |message|'s field have just been appended.
  PROTOZERO_COLD static void AppendBorrowed(Message* message,
                                            const uint8_t* src,
                                            size_t size) noexcept;

  // Rolling back.

  // Does the work of Message::RollBackNestedMessage().
  PROTOZERO_COLD static bool RollBack(Message* parent) noexcept;

 private:
  // Parts of the functions above. The inline ones are for one file each.

  // Does the work of SealNested() in all cases that it does not expect. If
  // |child| is not null, it and the messages around it, up to |parent|, are
  // left to seal; they precede it in memory, and it is long and ends at |end|.
  PROTOZERO_COLD static uint32_t SealNestedSlowPath(Message* parent,
                                                    Then then,
                                                    Message* child,
                                                    uint8_t* end) noexcept;
  // Seals |child| and the messages around it, up to the first that is not long,
  // or not whole in this chunk. Returns false if there is such a message.
  static bool SealLong(Message* parent, Message* child, uint8_t* end) noexcept;
  // Seals the nested messages one by one, in whatever state they are.
  PROTOZERO_COLD static void SealOneByOne(Message* parent) noexcept;
  PROTOZERO_COLD static void AppendEndTag(Message* parent,
                                          uint32_t end_tag) noexcept;
  // Seals the child, before another one begins right after it, if it is narrow,
  // short and has no children. Otherwise returns false and does nothing.
  static bool SealShortBeforeNext(Message* parent) noexcept;

  // Returns whether a message of |size| bytes in this chunk is long, and whole
  // after a size field of four bytes. REQUIRES: the stream has not failed.
  static bool IsWideAndLong(const Message* message, size_t size);
  static void WriteShortSize(const Message* message, size_t size);
  // Write the size of a message that is narrow and short, or wide, and mark it
  // as sealed.
  static void SealShort(Message* message, size_t size);
  static void SealWide(Message* message, size_t size);
  // Marks |message| as sealed, but does not stop its setters: see
  // StopSetters(). Keeps the epoch, and |group_flag|, which is kGroup or none.
  static void MarkSealed(Message* message,
                         uint64_t size,
                         uint8_t group_flag = 0);
  // Returns the largest size of a message with |flags|.
  PROTOZERO_COLD static size_t MaxLength(uint8_t flags) noexcept;

  // Deletes |child| and the messages nested in it; in builds with debug checks,
  // puts them in quarantine. The second one REQUIRES: !arena->IsScattered().
  static void DeleteNested(Message* parent,
                           MessageArena* arena,
                           Message* child);
  static void DeleteInlineNested(Message* parent,
                                 MessageArena* arena,
                                 Message* child);
  // Calls MessageArena::ReplaceQuarantined() before another child begins. Not
  // needed if the child replaces no message in quarantine. REQUIRES: |parent|
  // has the cursor.
  static void ReplaceNested(Message* parent);
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_PROTOZERO_MESSAGE_NESTING_H_
