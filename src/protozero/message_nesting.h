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

// What the library does with nested messages: beginning, sealing, widening and
// rolling back. See the states in "protozero/internal/message_state.h".
struct MessageNesting {
  using EncodedTag = proto_utils::internal::EncodedTag;
  using State = MessageState;

  static constexpr size_t kWidening = MessageInline::kWidening;

  // Whether a child is open, or was sealed together with this message.
  static bool HasNested(const Message* message) {
    return message->write_ptr_ == LentCursor();
  }
  static bool IsNarrow(const Message* message) {
    return (message->state_.flags & State::kNarrow) != 0;
  }
  static bool IsGroup(const Message* message) {
    return (message->state_.flags & State::kGroup) != 0;
  }
  static bool HasFastRoom(const Message* message) {
    return MessageInline::HasFastRoom(message, message->write_ptr_);
  }
  // The message's bytes if it ends at |end|.
  static uint64_t SizeAt(const Message* message, const uint8_t* end) {
    return message->state_.size + static_cast<uint64_t>(end - message->base_);
  }

  // Beginning.

  // MessageInline::BeginNested() in a function.
  PROTOZERO_NOINLINE static BegunChild BeginNested(Message* parent,
                                                   EncodedTag tag) noexcept;
  // For any parent.
  PROTOZERO_COLD static BegunChild BeginSlowPath(Message* parent,
                                                 EncodedTag tag) noexcept;
  // Begins a group or, with a size field of four bytes, another child, whatever
  // room there is. REQUIRES: |parent| has the cursor.
  PROTOZERO_COLD static Message* BeginInAnyRoom(Message* parent,
                                                EncodedTag tag,
                                                State::Flags flags) noexcept;
  // The message that stands in for a child of a message that takes no children,
  // or for one that there is no memory for.
  PROTOZERO_COLD static Message* StandInForChild(Message* parent) noexcept;
  // Writes the size to |size_field|; null: nowhere.
  static void MoveSizeField(Message* message, uint8_t* size_field) {
    message->size_field_ = size_field;
    message->state_.flags = static_cast<uint8_t>(
        (message->state_.flags & ~unsigned{State::kNoSize | State::kWide}) |
        (size_field == nullptr ? State::kNoSize : State::kNested));
  }

  // Sealing.

  // Seals the open messages nested in |parent|, and takes the cursor from the
  // leaf, then finalizes |parent| if |then| is kFinalize.
  // REQUIRES: a child is open, or |then| is kFinalize.
  enum Then : bool { kContinue, kFinalize };
  PROTOZERO_NOINLINE static uint32_t SealNested(Message* parent,
                                                Then then) noexcept;
  // Finalize() for any message without an open child.
  PROTOZERO_COLD static uint32_t FinalizeLeaf(Message* message) noexcept;
  // Seals |message| without its parents, before |end|: writes its size, and
  // returns where the stream continues.
  PROTOZERO_COLD static uint8_t* SealAt(Message* message,
                                        uint8_t* end) noexcept;
  // Closes |message| and the open messages nested in it, and writes no size.
  PROTOZERO_COLD static void Close(Message* message) noexcept;
  // The same, and deletes the nested messages.
  PROTOZERO_COLD static void CloseRoot(Message* root) noexcept;
  // Has setters find no room from now on. What seals a leaf. The setters of
  // other messages have been stopped by the lent cursor, and remain so.
  static void StopSetters(Message* message) { message->fast_limit_ = 0; }
  // The same for a message that goes on to exist after an error.
  static void StopAfterError(Message* message) {
    StopSetters(message);
    message->state_.flags |= State::kCrossedChunk;
  }

  // Widening.

  // Gives a narrow message, which ends at |end|, a size field of four bytes,
  // all zero. Returns the new end.
  PROTOZERO_COLD static uint8_t* Widen(Message* message, uint8_t* end) noexcept;

  // Rolling back.

  // Message::RollBackNestedMessage().
  PROTOZERO_COLD static bool RollBack(Message* parent) noexcept;

 private:
  // Parts of the above, for message_nesting.cc.

  // SealNested() in all cases that it does not expect. Where |child| is not
  // null, it and the messages around it, up to |parent|, are left to seal; they
  // precede it in memory, and it is long and ends at |end|.
  PROTOZERO_COLD static uint32_t SealNestedSlowPath(Message* parent,
                                                    Then then,
                                                    Message* child,
                                                    uint8_t* end) noexcept;
  // Seals |child| and the messages around it as long as they are long, and
  // whole in this chunk. Returns false if one is left.
  static bool SealLong(Message* parent, Message* child, uint8_t* end) noexcept;
  // Seals the nested messages one by one, whatever they are.
  PROTOZERO_COLD static void SealOneByOne(Message* parent) noexcept;
  PROTOZERO_COLD static void AppendEndTag(Message* parent,
                                          uint32_t end_tag) noexcept;
  // Seals the child where that is one narrow and short message without children
  // of its own, and another child begins right after it. Returns false, having
  // done nothing, in all other cases.
  static bool SealShortBeforeNext(Message* parent) noexcept;

  // Whether a message of |size| bytes in this chunk is long, and whole behind a
  // size field of four bytes. REQUIRES: the stream has not failed.
  static bool IsWideAndLong(const Message* message, size_t size);
  static void WriteShortSize(const Message* message, size_t size);
  // Write the size of a message that is narrow and short, or wide, and mark it
  // as sealed.
  static void SealShort(Message* message, size_t size);
  static void SealWide(Message* message, size_t size);
  // Marks it as sealed, but for its setters: see StopSetters(). Keeps the
  // epoch, and |group_flag|, which is kGroup or none.
  static void MarkSealed(Message* message,
                         uint64_t size,
                         uint8_t group_flag = 0);
  // How long a message with |flags| may be.
  PROTOZERO_COLD static size_t MaxLength(uint8_t flags) noexcept;

  // Deletes |child| and the messages nested in it; in builds with debug checks,
  // puts them in quarantine. The second one REQUIRES: !arena->IsScattered().
  static void DeleteNested(Message* parent,
                           MessageArena* arena,
                           Message* child);
  static void DeleteInlineNested(Message* parent,
                                 MessageArena* arena,
                                 Message* child);
  // Called before another child begins, except where it takes the place of none
  // in quarantine. REQUIRES: |parent| has the cursor.
  static void ReplaceNested(Message* parent);

  friend struct MessageRuntime;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_PROTOZERO_MESSAGE_NESTING_H_
