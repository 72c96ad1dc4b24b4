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

// The operations on nested messages: beginning, sealing, widening and rolling
// back. See the states in "protozero/internal/message_state.h".
struct MessageNesting {
  using EncodedTag = proto_utils::internal::EncodedTag;
  using State = MessageState;

  static constexpr size_t kWidening = MessageInline::kWidening;

  // Returns whether a child is open, or was sealed together with this message.
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
  // Returns the number of the message's bytes if it ends at |end|.
  static uint64_t SizeAt(const Message* message, const uint8_t* end) {
    return message->state_.size + static_cast<uint64_t>(end - message->base_);
  }

  // Beginning.

  // Calls MessageInline::BeginNested() out of line.
  PROTOZERO_NOINLINE static BegunChild BeginNested(Message* parent,
                                                   EncodedTag tag) noexcept;
  // Begins a child of any parent.
  PROTOZERO_COLD static BegunChild BeginSlowPath(Message* parent,
                                                 EncodedTag tag) noexcept;
  // Begins a group, or another child with a size field of four bytes, however
  // much room there is. REQUIRES: |parent| has the cursor.
  PROTOZERO_COLD static Message* BeginInAnyRoom(Message* parent,
                                                EncodedTag tag,
                                                State::Flags flags) noexcept;
  // Returns the message that stands in for a child if |parent| takes no
  // children, or if there is no memory for one.
  PROTOZERO_COLD static Message* StandInForChild(Message* parent) noexcept;
  // Makes |size_field| the address for the size. If it is null, the size is not
  // written.
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
  // Finalizes any message without an open child.
  PROTOZERO_COLD static uint32_t FinalizeLeaf(Message* message) noexcept;
  // Seals |message|, which ends at |end|, without its parents: writes its size,
  // and returns the address at which the stream continues.
  PROTOZERO_COLD static uint8_t* SealAt(Message* message,
                                        uint8_t* end) noexcept;
  // Closes |message| and the open messages nested in it without writing sizes.
  PROTOZERO_COLD static void Close(Message* message) noexcept;
  // The same, and deletes the nested messages.
  PROTOZERO_COLD static void CloseRoot(Message* root) noexcept;
  // Sends all later setters to the slow path. Sealing a leaf uses this. The
  // setters of other messages take it already, because their cursor is lent.
  static void StopSetters(Message* message) { message->fast_limit_ = 0; }
  // Does the same for a message that stays open after an error.
  static void StopAfterError(Message* message) {
    StopSetters(message);
    message->state_.flags |= State::kCrossedChunk;
  }

  // Widening.

  // Gives a narrow message, which ends at |end|, a size field of four bytes,
  // all zero. Returns the new end.
  PROTOZERO_COLD static uint8_t* Widen(Message* message, uint8_t* end) noexcept;

  // Rolling back.

  // Does the work of Message::RollBackNestedMessage().
  PROTOZERO_COLD static bool RollBack(Message* parent) noexcept;

 private:
  // Parts of the functions above, for message_nesting.cc.

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
  // behind a size field of four bytes. REQUIRES: the stream has not failed.
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

  friend struct MessageRuntime;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_PROTOZERO_MESSAGE_NESTING_H_
