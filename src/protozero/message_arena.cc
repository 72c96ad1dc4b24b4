// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message_arena.h"

#include <atomic>
#include <new>

#include "protozero/message.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

struct MessageArena::Block {
  static constexpr size_t kMessages = 128;

  // Of those in use, the one before it; of the others, the one after it.
  Block* other;
  Slot slots[kMessages];
};

namespace {

// How often Keep() found what had changed often enough to be different, modulo
// 256, by where the arena lies: those of different threads are on different
// stacks, and so mostly on pages whose counts share no cache line. Not
// thread_local, which may allocate.
struct alignas(64) Count {
  std::atomic<uint8_t> calls{0};
};
constexpr size_t kCounts = 16;
constexpr size_t kPageSize = 4096;
Count g_counts[kCounts];

}  // namespace

void MessageArena::NoteLength(Message* message, bool is_long) noexcept {
  // Elsewhere, nothing is expected.
  if (PROTOZERO_UNLIKELY(IsScattered()))
    return;
  rare_.has_leftovers = true;
  auto* const slot = reinterpret_cast<Slot*>(message);
  if (is_long) {
    // One depth after the other: what holds a long message is long. Twice, for
    // once may be an exception.
    if (slot == long_end_) {
      long_end_ += rare_.num_long;
      rare_.num_long ^= 1;
    }
    if (slot < long_end_)
      LookAtNext();
  } else {
    if (slot < long_end_)
      long_end_ = slot;
    rare_.num_long = 0;
  }
}

bool MessageArena::PassStop() noexcept {
  if (!IsScattered())
    stop_ = inline_end();
  return !IsAtStop();
}

void MessageArena::Keep(Memory* memory) const noexcept {
  const uint32_t known = memory->bits_.Load();
  const uint32_t learned =
      static_cast<uint32_t>(reinterpret_cast<uint8_t*>(long_end_) -
                            reinterpret_cast<const uint8_t*>(inline_slots_)) |
      rare_.num_long;
  if (static_cast<uint16_t>(known) == learned)
    return;
  // Threads whose messages differ would keep on taking the line from each
  // other: after so many changes, only one in many is made. But one is, lest an
  // exception be taken for the rule for ever. (The count may well begin again.)
  constexpr uint32_t kChange = 1 << 16;
  constexpr uint32_t kMaxChanges = 255;
  if (known >= kMaxChanges * kChange) {
    std::atomic<uint8_t>& count =
        g_counts[reinterpret_cast<uintptr_t>(this) / kPageSize % kCounts].calls;
    const auto calls =
        static_cast<uint8_t>(count.load(std::memory_order_relaxed) + 1);
    count.store(calls, std::memory_order_relaxed);
    if (calls != 0)
      return;
  }
  memory->bits_.Store(((known | 0xffff) + 1) | learned);
}

Message* MessageArena::NewMessage() noexcept {
  if (!PassStop()) {
    if (!rare_.has_blocks)
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
    rare_.has_leftovers = rare_.has_blocks = rare_.is_scattered = true;
    next_ = block->slots;
    stop_ = rare_.has_quarantined ? block->slots + 1
                                  : block->slots + Block::kMessages;
  }
  return reinterpret_cast<Message*>(next_++);
}

void MessageArena::DeleteMessagesFrom(Message* message) noexcept {
  DeleteInlineMessagesFrom(message);
  stop_ = inline_slots_;
  while (IsScattered()) {
    Block* const block = current_block_;
    if (reinterpret_cast<uintptr_t>(message) -
            reinterpret_cast<uintptr_t>(block->slots) <
        sizeof(block->slots)) {
      stop_ = block->slots + Block::kMessages;
      break;
    }
    Block* const previous = block->other;
    current_block_ = previous;
    rare_.is_scattered = previous != nullptr;
    block->other = spare_blocks_;
    spare_blocks_ = block;
  }
}

// From then on, all are treated like messages in blocks: none is where its
// depth says.
void MessageArena::QuarantineMessagesFrom(Message* message) noexcept {
  if (!rare_.has_blocks)
    spare_blocks_ = current_block_ = nullptr;
  Message* last = message;
  while (last->HasNested())
    last = last->nested_;
  last->nested_ = rare_.has_quarantined ? quarantined_ : nullptr;
  quarantined_ = message;
  rare_.has_quarantined = true;
  rare_.has_leftovers = rare_.has_blocks = rare_.is_scattered = true;
  stop_ = next_;
}

void MessageArena::ReplaceQuarantined(Message* parent, bool is_first) noexcept {
  if (!rare_.has_quarantined)
    return;
  Message* const replaced = quarantined_;
  ++replaced->state_.epoch;
  quarantined_ = replaced->nested_;
  replaced->nested_ = parent;
  rare_.has_quarantined = quarantined_ != nullptr;
  // Otherwise, the root message has at least as many inline slots before it.
  if (is_first &&
      (current_block_ != nullptr || next_ > inline_slots_ + kMinQuarantine)) {
    return Rewind();
  }
  stop_ =
      current_block_ ? current_block_->slots + Block::kMessages : inline_end();
  // Has the next one looked at, too.
  if (rare_.has_quarantined && !IsAtStop())
    stop_ = next_ + 1;
}

void MessageArena::Rewind() noexcept {
  rare_.is_scattered = current_block_ != nullptr;
  rare_.has_quarantined = false;
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

void MessageArena::FreeBlocks() noexcept {
  if (!rare_.has_blocks)
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
