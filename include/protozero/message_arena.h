// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_MESSAGE_ARENA_H_
#define INCLUDE_PROTOZERO_MESSAGE_ARENA_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protozero/internal/relaxed_word.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

class Message;

// The memory for the Message objects of nested messages, last in, first out: a
// bump pointer over kInlineMessages slots that are part of the arena itself, so
// that no allocation happens at any practical depth of nesting (protobuf's own
// parsers stop at 100). Deeper messages take blocks from the heap. The arena
// keeps a block until it dies, so crossing the limit repeatedly allocates once.
// Slots are not touched before they are used: construction is a few stores.
//
// Size hints. Messages of one depth, which have the same slot, tend to be
// alike. So the arena remembers down to which depth messages have been long,
// and those begin with a long size field. The reason is that bytes that were
// just written can be moved only when they have arrived in the cache. A
// SharedSizeHint passes the hint on from an arena that ends to those that
// begin. The bytes that are written are the same either way, apart from the
// room that a size takes while its message is open.
//
// Quarantine. A caller may, by mistake, still write to a message that is
// deleted. In release builds the next message has its slot by then. Where the
// library has debug checks, the slot is in quarantine: the same root message
// does not use it again, nor do later ones before kMinQuarantine others have
// begun. So the message stays sealed, and the check stops the program. The
// price is a slot for each nested message until the next root message begins,
// from the heap for those beyond kMinQuarantine; and no message is expected to
// be long once one was deleted.
//
// One thread at a time may use an arena; a SharedSizeHint is for all threads.
// Users have no need to call the arena: RootMessage owns one.
class PROTOZERO_EXPORT MessageArena {
 public:
  // The depth of nesting, and in debug builds the number of messages in
  // quarantine, beyond which the arena allocates.
  static constexpr size_t kInlineMessages = 100;
  static constexpr size_t kMinQuarantine = kInlineMessages / 2;
  // The value of sizeof(Message), which is not known here. message.h asserts
  // it.
  static constexpr size_t kMessageSize = 6 * sizeof(void*) + sizeof(uint64_t);

  // The depth down to which an arena expects long messages. Packs two values
  // into one word: the byte size of the slots below long_end_ (always even)
  // and, in bit 0, State::long_in_turn.
  struct SizeHint {
    uint16_t bits;
  };

  // The hint of the arena that ended last. Any thread may use it at any time; a
  // load may miss a store that another thread has just made.
  class SharedSizeHint {
   public:
    constexpr SharedSizeHint() = default;

    // Returns zero until an arena has ended.
    SizeHint Load() const { return {static_cast<uint16_t>(bits_.Load())}; }

   private:
    friend class MessageArena;
    // SizeHint::bits and, above them, the number of their changes: see
    // SaveHintSlowPath(). It has a cache line of its own, which all threads
    // read and few ever write.
    alignas(64) internal::RelaxedWord bits_;
  };

  // Expects no message to be long.
  MessageArena() : MessageArena(SizeHint{0}) {}
  // Begins with the |hint| of another arena. Each branch stores each member
  // once: compilers would keep a store that a branch makes again.
  explicit MessageArena(SizeHint hint) : next_(inline_slots_) {
    if (PROTOZERO_LIKELY(hint.bits == 0)) {
      check_from_ = inline_end();
      long_end_ = inline_slots_;
    } else {
      check_from_ = inline_slots_;
      long_end_ = reinterpret_cast<Slot*>(
          reinterpret_cast<uint8_t*>(inline_slots_) + (hint.bits & ~1u));
    }
    const State state = {hint.bits & 1u, false, false, false, false};
    memcpy(&state_, &state, sizeof(state));
  }
  ~MessageArena() {
    if (PROTOZERO_UNLIKELY(state_.has_cleanup))
      FreeBlocks();
  }

  MessageArena(const MessageArena&) = delete;
  MessageArena& operator=(const MessageArena&) = delete;

  // Returns memory for one Message, from the arena or the heap, or null if the
  // heap has none.
  PROTOZERO_COLD Message* NewMessage() noexcept;

  // The same in two steps, inline: the caller stores something in between.
  // REQUIRES: !NeedsCheck().
  Message* NextMessage() const { return reinterpret_cast<Message*>(next_); }
  void TakeMessage(Message* message) {
    next_ = reinterpret_cast<Slot*>(message) + 1;
  }

  // Returns whether the next message lies beyond the current block, or may be
  // expected to be long.
  PROTOZERO_ALWAYS_INLINE bool NeedsCheck() const {
    return next_ >= check_from_;
  }

  // Returns whether the next message is expected to be long.
  PROTOZERO_ALWAYS_INLINE bool ExpectsLong() const {
    return PROTOZERO_LIKELY(!IsScattered()) &&
           PROTOZERO_LIKELY(next_ < long_end_);
  }

  // Does the work of NewMessage() for a message that is expected to be long.
  // REQUIRES: ExpectsLong().
  PROTOZERO_ALWAYS_INLINE Message* NewLongMessage() {
    Slot* const slot = next_++;
    if (PROTOZERO_LIKELY(next_ == long_end_))
      check_from_ = inline_end();
    return reinterpret_cast<Message*>(slot);
  }

  // Lets the next message begin like any other, without the check. Returns
  // false if it cannot, because the block is full.
  PROTOZERO_COLD bool SkipCheck() noexcept;

  // Returns whether |message|, which is long and not deleted yet, was expected
  // to be long. REQUIRES: !IsScattered().
  bool HasExpectedLong(const Message* message) const {
    return reinterpret_cast<const Slot*>(message) < long_end_;
  }

  // Makes NeedsCheck() true for the next message, as after a message that was
  // expected to be long. REQUIRES: !IsScattered().
  void CheckNext() { check_from_ = inline_slots_; }

  // Notes that |message|, which is sealed and not deleted yet, was long, or
  // that it was short although it was expected to be long.
  PROTOZERO_COLD void NoteSize(Message* message, bool is_long) noexcept;

  // Returns whether the latest message is in a block from the heap, or some are
  // in quarantine. Otherwise, the open messages are the last inline slots in
  // use.
  bool IsScattered() const { return state_.is_scattered; }

  // Returns the latest message that is not deleted yet. REQUIRES: there is one,
  // and none is in quarantine.
  Message* LastMessage() {
    return PROTOZERO_UNLIKELY(IsScattered()) ? LastMessageInBlocks()
                                             : LastInlineMessage();
  }
  // Returns the same. REQUIRES: !IsScattered(). Messages that were made before
  // it precede it in memory.
  Message* LastInlineMessage() { return reinterpret_cast<Message*>(next_ - 1); }

  // Returns the latest message in |message| that is the first one of a block
  // and has no flags but |flags|; |message| if there is none. REQUIRES:
  // IsScattered().
  PROTOZERO_COLD Message* SkipBlocks(Message* message, uint8_t flags) noexcept;

  // Deletes |message| and all that were made after it.
  // REQUIRES: |message| is not deleted yet.
  PROTOZERO_COLD void DeleteMessagesFrom(Message* message) noexcept;
  // The same, without a check of the next message. REQUIRES: !IsScattered().
  void DeleteInlineMessagesFrom(Message* message) {
    next_ = reinterpret_cast<Slot*>(message);
  }

  // Puts the messages in quarantine; called instead of DeleteMessagesFrom()
  // where the library has debug checks.
  PROTOZERO_COLD void QuarantineMessagesFrom(Message* message) noexcept;
  // Marks the message that the next child of |parent| would replace in release
  // builds, so that its handles notice it. Called before each child, where the
  // library has debug checks. May end the quarantine if the child |is_first| in
  // a root message.
  PROTOZERO_COLD void ReplaceQuarantined(Message* parent,
                                         bool is_first) noexcept;

  // Deletes the latest message only. REQUIRES: |message| is LastMessage().
  void DeleteLastMessage(Message* message) noexcept {
    DeleteMessagesFrom(message);
  }

  // Returns memory for one more message, which NewMessage() never returns: it
  // replaces messages that there is no memory for.
  Message* LastResort() {
    return reinterpret_cast<Message*>(inline_slots_ + kInlineMessages);
  }

  // Passes the hint of this arena on to those that begin with |hint|.
  void SaveHint(SharedSizeHint* hint) const {
    if (PROTOZERO_UNLIKELY(state_.has_cleanup))
      SaveHintSlowPath(hint);
  }

  // Forgets all messages. Frees no block.
  PROTOZERO_ALWAYS_INLINE void Reset() {
    DeleteMessagesFrom(reinterpret_cast<Message*>(inline_slots_));
  }

 private:
  struct Slot {
    alignas(uint64_t) uint8_t bytes[kMessageSize];
  };
  struct Block;

  PROTOZERO_COLD Message* LastMessageInBlocks() noexcept;
  // Does Reset(), and ends the quarantine. REQUIRES: State::has_blocks.
  PROTOZERO_COLD void Rewind() noexcept;
  PROTOZERO_COLD void FreeBlocks() noexcept;
  PROTOZERO_COLD void SaveHintSlowPath(SharedSizeHint* hint) const noexcept;

  Slot* inline_end() { return inline_slots_ + kInlineMessages; }

  Slot* next_;
  // The end of the current block; or inline_slots_, if the next message has to
  // be checked. So NeedsCheck() is one comparison.
  Slot* check_from_;
  // The end of the inline slots whose messages are expected to be long.
  Slot* long_end_;
  // The rarely used state: mostly all zero, in one word.
  struct State {
    // The number of messages in a row at long_end_ that were long: 0 or 1.
    uint32_t long_in_turn;
    // True if there is something to do at the end: blocks to free, or a hint to
    // save.
    bool has_cleanup;
    bool has_blocks;
    // See IsScattered().
    bool is_scattered;
    // True if quarantined_ is set.
    bool has_quarantined;
  };
  State state_;
  // The latest of the blocks in use, or null; and the first of the others.
  // Unset unless State::has_blocks.
  Block* current_block_;
  Block* spare_blocks_;
  Slot inline_slots_[kInlineMessages + 1];
  // The message in quarantine that the next one replaces in release builds. Its
  // Message::nested_ is the message that a child of the next one replaces, and
  // so on. Once a message is replaced, its nested_ is the parent of the message
  // that replaced it. This is the last member, because release builds never
  // touch it.
  Message* quarantined_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_MESSAGE_ARENA_H_
