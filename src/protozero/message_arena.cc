// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message_arena.h"

#include <new>

#include "protozero/message.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

struct MessageArena::Block {
  static constexpr size_t kMessages = 128;

  bool Contains(const Message* message) const {
    return reinterpret_cast<uintptr_t>(message) -
               reinterpret_cast<uintptr_t>(slots) <
           sizeof(slots);
  }

  // If this block is in use, the block before it; otherwise the block after it.
  Block* other;
  Slot slots[kMessages];
};

bool MessageArena::SkipCheck() noexcept {
  if (!IsScattered())
    check_from_ = inline_end();
  return !NeedsCheck();
}

Message* MessageArena::NewMessage() noexcept {
  if (!SkipCheck()) {
    if (!state_.has_blocks)
      spare_blocks_ = current_block_ = nullptr;
    Block* block = spare_blocks_;
    if (block == nullptr) {
      block = new (std::nothrow) Block;
      if (block == nullptr)
        return nullptr;
      block->other = nullptr;
    }
    spare_blocks_ = block->other;
    block->other = current_block_;
    current_block_ = block;
    state_.has_cleanup = state_.has_blocks = state_.is_scattered = true;
    next_ = block->slots;
    check_from_ = state_.has_quarantined ? block->slots + 1
                                         : block->slots + Block::kMessages;
  }
  return reinterpret_cast<Message*>(next_++);
}

void MessageArena::DeleteMessagesFrom(Message* message) noexcept {
  DeleteInlineMessagesFrom(message);
  check_from_ = inline_slots_;
  while (IsScattered()) {
    Block* const block = current_block_;
    if (block->Contains(message)) {
      check_from_ = block->slots + Block::kMessages;
      break;
    }
    Block* const previous = block->other;
    current_block_ = previous;
    state_.is_scattered = previous != nullptr;
    block->other = spare_blocks_;
    spare_blocks_ = block;
  }
}

// From then on, the arena treats all messages like messages in blocks, since no
// message is in the slot of its depth.
void MessageArena::QuarantineMessagesFrom(Message* message) noexcept {
  if (!state_.has_blocks)
    spare_blocks_ = current_block_ = nullptr;
  Message* last = message;
  while (last->nested_message() != nullptr)
    last = last->nested_;
  last->nested_ = state_.has_quarantined ? quarantined_ : nullptr;
  quarantined_ = message;
  state_.has_quarantined = true;
  state_.has_cleanup = state_.has_blocks = state_.is_scattered = true;
  check_from_ = next_;
}

void MessageArena::ReplaceQuarantined(Message* parent, bool is_first) noexcept {
  if (!state_.has_quarantined)
    return;
  Message* const replaced = quarantined_;
  ++replaced->state_.epoch;
  quarantined_ = replaced->nested_;
  replaced->nested_ = parent;
  state_.has_quarantined = quarantined_ != nullptr;
  // If there are no blocks and fewer slots in use, enough inline slots are left
  // for this root message.
  if (is_first &&
      (current_block_ != nullptr || next_ > inline_slots_ + kMinQuarantine)) {
    return Rewind();
  }
  check_from_ =
      current_block_ ? current_block_->slots + Block::kMessages : inline_end();
  // The message after the next one needs a check, too.
  if (state_.has_quarantined && !NeedsCheck())
    check_from_ = next_ + 1;
}

void MessageArena::Rewind() noexcept {
  state_.is_scattered = current_block_ != nullptr;
  state_.has_quarantined = false;
  Reset();
}

Message* MessageArena::LastMessageInBlocks() noexcept {
  Slot* end = next_;
  if (end == current_block_->slots) {
    Block* const previous = current_block_->other;
    end = previous ? previous->slots + Block::kMessages
                   : inline_slots_ + kInlineMessages;
  }
  return reinterpret_cast<Message*>(end - 1);
}

Message* MessageArena::SkipBlocks(Message* message, uint8_t flags) noexcept {
  for (Block* block = current_block_;
       block != nullptr && !block->Contains(message); block = block->other) {
    auto* const first = reinterpret_cast<Message*>(block->slots);
    if ((first->state_.flags & ~unsigned{flags}) == 0)
      return first;
  }
  return message;
}

void MessageArena::FreeBlocks() noexcept {
  if (!state_.has_blocks)
    return;
  Rewind();
  for (Block* block = spare_blocks_; block != nullptr;) {
    Block* const next = block->other;
    delete block;
    block = next;
  }
}

PROTOZERO_ABI_END
}  // namespace protozero
