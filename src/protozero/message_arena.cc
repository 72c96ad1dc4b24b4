// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message_arena.h"

#include <functional>
#include <new>

#include "protozero/message.h"

namespace protozero {

struct MessageArena::Block {
  static constexpr size_t kMessages = 128;

  Block* previous;
  Block* next;
  Slot slots[kMessages];
};

void MessageArena::NoteLong(const Message* message) {
  // Once may be an exception.
  constexpr size_t kEnough = 2;
  if (PROTOZERO_UNLIKELY(HasBlocksInUse()))
    return;
  // One depth after the other: what holds a long message is long.
  const auto* slot = reinterpret_cast<const Slot*>(message);
  if (slot == long_end_ && ++num_long_ == kEnough) {
    num_long_ = 0;
    ++long_end_;
  }
  if (slot < long_end_)
    stop_ = inline_slots_;
}

bool MessageArena::PassStop() {
  if (!HasBlocksInUse())
    stop_ = inline_end();
  return !IsAtStop();
}

void MessageArena::NoteShort(const Message* message) {
  // In a block, nothing is expected.
  if (HasBlocksInUse())
    return;
  const auto* slot = reinterpret_cast<const Slot*>(message);
  if (slot < long_end_)
    long_end_ = inline_slots_ + (slot - inline_slots_);
  num_long_ = 0;
}

Message* MessageArena::NewMessageSlowPath() {
  if (PassStop())
    return reinterpret_cast<Message*>(next_++);
  Block* block = current_block_ ? current_block_->next : first_block_;
  if (block == nullptr) {
    block = new (std::nothrow) Block;
    if (block == nullptr)
      return nullptr;
    block->previous = current_block_;
    block->next = nullptr;
    (current_block_ ? current_block_->next : first_block_) = block;
  }
  current_block_ = block;
  next_ = block->slots;
  stop_ = block->slots + Block::kMessages;
  return reinterpret_cast<Message*>(next_++);
}

void MessageArena::DeleteMessagesFrom(Message* message) {
  DeleteInlineMessagesFrom(message);
  const auto holds = [](const Slot* slots, size_t count, const Slot* slot) {
    return !std::less<const Slot*>()(slot, slots) &&
           std::less<const Slot*>()(slot, slots + count);
  };
  while (current_block_ &&
         !holds(current_block_->slots, Block::kMessages, next_)) {
    current_block_ = current_block_->previous;
  }
  stop_ =
      current_block_ ? current_block_->slots + Block::kMessages : inline_slots_;
}

Message* MessageArena::LastMessageInBlocks() {
  Slot* end = next_;
  if (end == current_block_->slots) {
    Block* const previous = current_block_->previous;
    end = previous ? previous->slots + Block::kMessages
                   : inline_slots_ + kInlineMessages;
  }
  return reinterpret_cast<Message*>(end - 1);
}

void MessageArena::FreeBlocks() {
  while (first_block_ != nullptr) {
    Block* block = first_block_;
    first_block_ = block->next;
    delete block;
  }
}

}  // namespace protozero
