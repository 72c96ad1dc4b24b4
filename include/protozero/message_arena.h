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

// Memory for the Message objects of nested messages, last in, first out: a
// bump pointer over kInlineMessages slots that are part of the arena itself,
// so that no allocation happens at any practical depth of nesting (protobuf's
// own parsers stop at 100). Deeper messages take blocks from the heap; a block
// is kept until the arena dies, so crossing the limit repeatedly allocates
// once. The slots are not touched before they are used: construction is a few
// stores.
//
// Size hints. Messages of one depth, which have the same slot, tend to be
// alike. So the arena remembers down to which depth messages have been long,
// and those begin with a long size field: to move bytes that were just written
// means to wait until they have arrived. A SharedSizeHint passes this on from
// an arena that ends to those that begin; the bytes that are written are the
// same either way, apart from the room that a size takes while its message is
// open.
//
// Quarantine. Somebody may still write to a message that is deleted, by
// mistake. In release builds its slot is the next message's by then. Where the
// library has debug checks, the slot is in quarantine: it is not used again by
// the same root message, nor by later ones before kMinQuarantine others. So the
// message stays sealed, and says so. The price is a slot for each nested
// message until the next root message begins, from the heap for those beyond
// kMinQuarantine; and no message is expected to be long once one was deleted.
//
// One thread at a time, except for a SharedSizeHint. Users have no need to call
// the arena: RootMessage owns one.
class PROTOZERO_EXPORT MessageArena {
 public:
  // How deep messages may nest before the arena allocates, and how many nested
  // messages debug builds remember before they do.
  static constexpr size_t kInlineMessages = 100;
  static constexpr size_t kMinQuarantine = kInlineMessages / 2;
  // sizeof(Message), which is not known here: message.h asserts that it is.
  static constexpr size_t kMessageSize = 6 * sizeof(void*) + sizeof(uint64_t);

  // Which messages an arena expects to be long. Packs two values into one word:
  // the byte size of the slots below long_end_ (always even) and, in bit 0,
  // State::long_in_turn.
  struct SizeHint {
    uint16_t bits;
  };

  // The hint of the arena that ended last. Any thread, at any time; a load may
  // miss a store that another thread has just made.
  class SharedSizeHint {
   public:
    constexpr SharedSizeHint() = default;

    // Zero until an arena has ended.
    SizeHint Load() const { return {static_cast<uint16_t>(bits_.Load())}; }

   private:
    friend class MessageArena;
    // SizeHint::bits and, above them, how often they have changed: see
    // SaveHintSlowPath(). On a cache line of its own, which all threads read
    // and few ever write.
    alignas(64) internal::RelaxedWord bits_;
  };

  // Expects no message to be long.
  MessageArena() : MessageArena(SizeHint{0}) {}
  // Begins with the |hint| of another arena. Stores each member once: compilers
  // do not leave out a store that a branch makes again.
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

  // Returns memory for one Message, wherever it lies, or null if it would have
  // to come from the heap and there is none.
  PROTOZERO_COLD Message* NewMessage() noexcept;

  // The same in two steps, inline: the caller stores something in between.
  // REQUIRES: !NeedsCheck().
  Message* NextMessage() const { return reinterpret_cast<Message*>(next_); }
  void TakeMessage(Message* message) {
    next_ = reinterpret_cast<Slot*>(message) + 1;
  }

  // Whether the next message lies beyond the current block, or may be expected
  // to be long.
  PROTOZERO_ALWAYS_INLINE bool NeedsCheck() const {
    return next_ >= check_from_;
  }

  // Whether the next message is expected to be long.
  PROTOZERO_ALWAYS_INLINE bool ExpectsLong() const {
    return PROTOZERO_LIKELY(!IsScattered()) &&
           PROTOZERO_LIKELY(next_ < long_end_);
  }

  // NewMessage() for that message. REQUIRES: ExpectsLong().
  PROTOZERO_ALWAYS_INLINE Message* NewLongMessage() {
    Slot* const slot = next_++;
    if (PROTOZERO_LIKELY(next_ == long_end_))
      check_from_ = inline_end();
    return reinterpret_cast<Message*>(slot);
  }

  // Has the next message begin like any other. Returns false if it cannot,
  // because the block is full.
  PROTOZERO_COLD bool SkipCheck() noexcept;

  // Whether |message|, which is long and not deleted yet, was expected to be.
  // REQUIRES: !IsScattered().
  bool HasExpectedLong(const Message* message) const {
    return reinterpret_cast<const Slot*>(message) < long_end_;
  }

  // Has the next message checked, as after a message that was expected to be
  // long. REQUIRES: !IsScattered().
  void CheckNext() { check_from_ = inline_slots_; }

  // Notes that |message|, which is sealed and not deleted yet, was long; or
  // that it was short, although it was expected to be long.
  PROTOZERO_COLD void NoteSize(Message* message, bool is_long) noexcept;

  // Whether the open messages are not simply the last inline slots: the latest
  // message is in a block from the heap, or some are in quarantine.
  bool IsScattered() const { return state_.is_scattered; }

  // The latest NewMessage() not yet deleted. REQUIRES: there is one, and none
  // is in quarantine.
  Message* LastMessage() {
    return PROTOZERO_UNLIKELY(IsScattered()) ? LastMessageInBlocks()
                                             : LastInlineMessage();
  }
  // The same. REQUIRES: !IsScattered(). Messages that were made before it
  // precede it in memory.
  Message* LastInlineMessage() { return reinterpret_cast<Message*>(next_ - 1); }

  // Deletes |message| and all that were made after it.
  // REQUIRES: |message| is not deleted yet.
  PROTOZERO_COLD void DeleteMessagesFrom(Message* message) noexcept;
  // The same, without a check of the next message. REQUIRES: !IsScattered().
  void DeleteInlineMessagesFrom(Message* message) {
    next_ = reinterpret_cast<Slot*>(message);
  }

  // Instead of DeleteMessagesFrom(), where the library has debug checks: puts
  // the messages in quarantine.
  PROTOZERO_COLD void QuarantineMessagesFrom(Message* message) noexcept;
  // Called there before each message that begins in |parent|: handles of the
  // message that it replaces in release builds can tell from then on. If it
  // |is_first| in a root message, may end the quarantine.
  PROTOZERO_COLD void ReplaceQuarantined(Message* parent,
                                         bool is_first) noexcept;

  // The latest only. REQUIRES: |message| is LastMessage().
  void DeleteLastMessage(Message* message) noexcept {
    DeleteMessagesFrom(message);
  }

  // Memory for one more message, which NewMessage() never returns: it stands in
  // for messages that there is no memory for.
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
  // Reset(), which also ends the quarantine. REQUIRES: State::has_blocks.
  PROTOZERO_COLD void Rewind() noexcept;
  PROTOZERO_COLD void FreeBlocks() noexcept;
  PROTOZERO_COLD void SaveHintSlowPath(SharedSizeHint* hint) const noexcept;

  Slot* inline_end() { return inline_slots_ + kInlineMessages; }

  Slot* next_;
  // The end of the current block; or inline_slots_, if the next message has to
  // be checked. One comparison for both.
  Slot* check_from_;
  // Messages in inline slots before this one are expected to be long.
  Slot* long_end_;
  // Mostly all zero, in one word.
  struct State {
    // How many messages at long_end_ in turn were long: 0 or 1.
    uint32_t long_in_turn;
    // Whether there is something to do at the end: blocks to free, or a hint to
    // save.
    bool has_cleanup;
    bool has_blocks;
    // See IsScattered().
    bool is_scattered;
    // Whether quarantined_ is set.
    bool has_quarantined;
  };
  State state_;
  // The latest of the blocks in use, or null, and of the others the lowest.
  // Unset unless State::has_blocks.
  Block* current_block_;
  Block* spare_blocks_;
  Slot inline_slots_[kInlineMessages + 1];
  // The message in quarantine that the next one replaces in release builds. Its
  // Message::nested_ is the message that a child of the next one replaces, and
  // so on. Once a message is replaced, its nested_ is the parent of the message
  // that replaced it. The last member, which release builds never touch.
  Message* quarantined_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_MESSAGE_ARENA_H_
