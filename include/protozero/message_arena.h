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
// Messages of one depth, which have the same slot, tend to be alike. So the
// arena remembers down to which depth they have been long, for those who begin
// one to reserve a long size field at once: to move bytes that were just
// written means to wait until they have arrived. A Memory passes that on, from
// an arena that ends to those that begin; what is written is the same either
// way.
//
// Somebody may still write to a message that is deleted, by mistake. In release
// builds its slot is the next one's by then. Where the library has debug
// checks, the slot is in quarantine: it is not used again by the same root
// message, nor by later ones before kMinQuarantine others. So the message stays
// sealed, and says so. The price is a slot for each nested message until the
// next root message begins, from the heap for those beyond kMinQuarantine; and
// nothing is expected of messages once one was deleted.
//
// One thread at a time, but for a Memory. Users have no need to call it:
// RootMessage owns one.
class PROTOZERO_EXPORT MessageArena {
 public:
  static constexpr size_t kInlineMessages = 100;
  static constexpr size_t kMinQuarantine = kInlineMessages / 2;
  // sizeof(Message), which is not known here: message.h asserts that it is.
  static constexpr size_t kMessageSize = 6 * sizeof(void*) + sizeof(uint64_t);

  // What an arena knows of its messages: the size of the slots before
  // long_end_, which is even, and Rare::num_long, which is 0 or 1, in one.
  struct Learned {
    uint16_t bits;
  };

  // Holds that of the arena that ended last. Any thread, at any time; who loads
  // it may miss what another has just stored.
  class Memory {
   public:
    constexpr Memory() = default;

    Learned Load() const { return {static_cast<uint16_t>(bits_.Load())}; }

   private:
    friend class MessageArena;
    // Learned::bits, and how often they have changed: see Keep(). On a cache
    // line of its own, which all threads read and few ever write.
    alignas(64) internal::RelaxedWord bits_;
  };

  MessageArena() : MessageArena(Learned{0}) {}
  // Knows from the start what another arena has |learned|. Stores each member
  // once: what a branch stores again, compilers do not leave out before it.
  explicit MessageArena(Learned learned) : next_(inline_slots_) {
    if (PROTOZERO_LIKELY(learned.bits == 0)) {
      stop_ = inline_end();
      long_end_ = inline_slots_;
    } else {
      stop_ = inline_slots_;
      long_end_ = reinterpret_cast<Slot*>(
          reinterpret_cast<uint8_t*>(inline_slots_) + (learned.bits & ~1u));
    }
    const Rare rare = {learned.bits & 1u, false, false, false, false};
    memcpy(&rare_, &rare, sizeof(rare));
  }
  ~MessageArena() {
    if (PROTOZERO_UNLIKELY(rare_.has_leftovers))
      FreeBlocks();
  }

  MessageArena(const MessageArena&) = delete;
  MessageArena& operator=(const MessageArena&) = delete;

  // Returns memory for one Message, wherever it lies, or null if it would have
  // to come from the heap and there is none.
  PROTOZERO_COLD Message* NewMessage() noexcept;

  // The same in place, in two steps, for who has to store something in between.
  // REQUIRES: !IsAtStop().
  Message* NextMessage() const { return reinterpret_cast<Message*>(next_); }
  void TakeMessage(Message* message) {
    next_ = reinterpret_cast<Slot*>(message) + 1;
  }

  // Whether the next message needs attention: it lies beyond the current block,
  // or may be expected to be long.
  PROTOZERO_ALWAYS_INLINE bool IsAtStop() const { return next_ >= stop_; }

  // The second of these, looked at more closely.
  PROTOZERO_ALWAYS_INLINE bool ExpectsLong() const {
    return PROTOZERO_LIKELY(!IsScattered()) &&
           PROTOZERO_LIKELY(next_ < long_end_);
  }

  // NewMessage() for one that is. REQUIRES: ExpectsLong().
  PROTOZERO_ALWAYS_INLINE Message* NewLongMessage() {
    Slot* const slot = next_++;
    if (PROTOZERO_LIKELY(next_ == long_end_))
      stop_ = inline_end();
    return reinterpret_cast<Message*>(slot);
  }

  // Has the next message be one like any other. Returns false if it cannot be,
  // because the block is full.
  PROTOZERO_COLD bool PassStop() noexcept;

  // Whether it was expected of |message|, which is long, and not deleted yet.
  // REQUIRES: !IsScattered().
  bool HasExpectedLong(const Message* message) const {
    return reinterpret_cast<const Slot*>(message) < long_end_;
  }

  // Has the next message looked at, as it is after one that is expected to be
  // long. REQUIRES: the same.
  void LookAtNext() { stop_ = inline_slots_; }

  // Of a message that is sealed, and not deleted yet: it was long; or short,
  // although something else was expected.
  PROTOZERO_COLD void NoteLength(Message* message, bool is_long) noexcept;

  // Whether messages are elsewhere than in a row of inline slots: the latest is
  // in a block from the heap, or some are in quarantine.
  bool IsScattered() const { return rare_.is_scattered; }

  // The latest NewMessage() not yet deleted. REQUIRES: there is one, and none
  // is in quarantine.
  Message* LastMessage() {
    return PROTOZERO_UNLIKELY(IsScattered()) ? LastMessageInBlocks()
                                             : LastInlineMessage();
  }
  // The same. REQUIRES: !IsScattered(). Those made before it precede it in
  // memory.
  Message* LastInlineMessage() { return reinterpret_cast<Message*>(next_ - 1); }

  // Deletes |message| and all that were made after it.
  // REQUIRES: |message| is not deleted yet.
  PROTOZERO_COLD void DeleteMessagesFrom(Message* message) noexcept;
  // The same, and does not stop for that. REQUIRES: !IsScattered().
  void DeleteInlineMessagesFrom(Message* message) {
    next_ = reinterpret_cast<Slot*>(message);
  }

  // Instead of DeleteMessagesFrom(), where the library has debug checks: see
  // above.
  PROTOZERO_COLD void QuarantineMessagesFrom(Message* message) noexcept;
  // Called before each message that is begun then, in |parent|: has handles of
  // the one that it replaces in release builds know that. Where it |is_first|
  // of a root message, may end the quarantine.
  PROTOZERO_COLD void ReplaceQuarantined(Message* parent,
                                         bool is_first) noexcept;

  // The latest only. REQUIRES: |message| is LastMessage().
  void DeleteLastMessage(Message* message) noexcept {
    DeleteMessagesFrom(message);
  }

  // Memory for one more, which NewMessage() never returns: for the message that
  // stands in for those that there is no memory for.
  Message* LastResort() {
    return reinterpret_cast<Message*>(inline_slots_ + kInlineMessages);
  }

  // Has arenas that begin with |memory| know what this one has learned.
  void KeepIn(Memory* memory) const {
    if (PROTOZERO_UNLIKELY(rare_.has_leftovers))
      Keep(memory);
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
  // Reset(), which also ends the quarantine. REQUIRES: Rare::has_blocks.
  PROTOZERO_COLD void Rewind() noexcept;
  PROTOZERO_COLD void FreeBlocks() noexcept;
  PROTOZERO_COLD void Keep(Memory* memory) const noexcept;

  Slot* inline_end() { return inline_slots_ + kInlineMessages; }

  Slot* next_;
  // The end of the current block; or inline_slots_, where somebody has to look.
  Slot* stop_;
  // Messages in inline slots before this one are expected to be long.
  Slot* long_end_;
  // What is mostly all zero, in one word.
  struct Rare {
    // How often a message at long_end_ was long, lately.
    uint32_t num_long;
    // Whether there is something to do at the end: blocks to free, or something
    // learned to keep. One test in the end for both.
    bool has_leftovers;
    bool has_blocks;
    // See IsScattered().
    bool is_scattered;
    // Whether quarantined_ is set.
    bool has_quarantined;
  };
  Rare rare_;
  // The latest of the blocks in use, or null, and of the others the lowest.
  // Unset unless Rare::has_blocks.
  Block* current_block_;
  Block* spare_blocks_;
  Slot inline_slots_[kInlineMessages + 1];
  // The message in quarantine that the next one replaces in release builds; its
  // Message::nested_ is the one that a message within that replaces, and so on;
  // of one that is replaced, the parent of the other one. Out of the way of
  // what release builds use.
  Message* quarantined_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_MESSAGE_ARENA_H_
