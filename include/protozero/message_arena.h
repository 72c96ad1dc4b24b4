// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_MESSAGE_ARENA_H_
#define INCLUDE_PROTOZERO_MESSAGE_ARENA_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/compiler.h"

namespace protozero {

class Message;

// Memory for the Message objects of nested messages, last in, first out: a
// bump pointer over kInlineMessages slots that are part of the arena itself,
// so that no allocation happens at any practical depth of nesting (protobuf's
// own parsers stop at 100). Deeper messages take blocks from the heap; a block
// is kept until the arena dies, so crossing the limit repeatedly allocates
// once. The slots are not touched before they are used: construction is two
// stores.
//
// One thread at a time. Users have no need to call it: RootMessage owns one.
class MessageArena {
 public:
  static constexpr size_t kInlineMessages = 100;
  // sizeof(Message), which is not known here: message.h asserts that it is.
  static constexpr size_t kMessageSize = 6 * sizeof(void*) + sizeof(uint64_t);

  MessageArena()
      : next_(inline_slots_), end_(inline_slots_ + kInlineMessages) {}
  ~MessageArena() {
    if (PROTOZERO_UNLIKELY(first_block_ != nullptr))
      FreeBlocks();
  }

  MessageArena(const MessageArena&) = delete;
  MessageArena& operator=(const MessageArena&) = delete;

  // Returns memory for one Message, or null if it would have to come from the
  // heap and there is none.
  Message* NewMessage() {
    if (PROTOZERO_UNLIKELY(next_ == end_))
      return NewMessageSlowPath();
    return reinterpret_cast<Message*>(next_++);
  }

  // Whether the next NewMessage() has to look beyond its current block.
  bool IsBlockFull() const { return next_ == end_; }

  // Whether the latest message lies in a block from the heap.
  bool HasBlocksInUse() const { return current_block_ != nullptr; }

  // The latest NewMessage() not yet deleted. REQUIRES: there is one.
  Message* LastMessage() {
    return PROTOZERO_UNLIKELY(HasBlocksInUse()) ? LastMessageInBlocks()
                                                : LastInlineMessage();
  }
  // The same. REQUIRES: !HasBlocksInUse(). Those made before it precede it in
  // memory.
  Message* LastInlineMessage() { return reinterpret_cast<Message*>(next_ - 1); }

  // REQUIRES: |message| is the latest NewMessage() not yet deleted.
  void DeleteLastMessage(Message* message) { DeleteMessagesFrom(message); }

  // Deletes |message| and all that were made after it.
  // REQUIRES: |message| is not deleted yet.
  void DeleteMessagesFrom(Message* message) {
    DeleteInlineMessagesFrom(message);
    if (PROTOZERO_UNLIKELY(HasBlocksInUse()))
      LeaveLaterBlocks();
  }
  // The same. REQUIRES: !HasBlocksInUse().
  void DeleteInlineMessagesFrom(Message* message) {
    next_ = reinterpret_cast<Slot*>(message);
  }

  // Memory for one more, which NewMessage() never returns: for the message that
  // stands in for those that there is no memory for.
  Message* LastResort() {
    return reinterpret_cast<Message*>(inline_slots_ + kInlineMessages);
  }

  // Forgets all messages. Frees no block.
  void Reset() {
    current_block_ = nullptr;
    next_ = inline_slots_;
    end_ = inline_slots_ + kInlineMessages;
  }

 private:
  struct Slot {
    alignas(uint64_t) uint8_t bytes[kMessageSize];
  };
  struct Block;

  PROTOZERO_COLD Message* NewMessageSlowPath();
  PROTOZERO_COLD Message* LastMessageInBlocks();
  PROTOZERO_COLD void LeaveLaterBlocks();
  PROTOZERO_COLD void FreeBlocks();

  Slot* next_;
  Slot* end_;
  // Heap blocks, oldest first; current_block_ is null while next_ points into
  // inline_slots_.
  Block* first_block_ = nullptr;
  Block* current_block_ = nullptr;
  Slot inline_slots_[kInlineMessages + 1];
};

}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_MESSAGE_ARENA_H_
