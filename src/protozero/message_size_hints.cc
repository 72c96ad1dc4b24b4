// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The size hints: an arena learns from sizes which messages to expect long, and
// passes that on.

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "protozero/message_arena.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// The number of times, modulo 256, that SaveHintSlowPath() found a different
// hint after kMaxChanges changes. The arena's address chooses the count: arenas
// of different threads are on different stacks, so mostly on pages whose counts
// share no cache line. Not thread_local, which may allocate.
struct alignas(64) Count {
  std::atomic<uint8_t> calls{0};
};
constexpr size_t kCounts = 16;
constexpr size_t kPageSize = 4096;
Count g_counts[kCounts];

}  // namespace

void MessageArena::NoteSize(Message* message, bool is_long) noexcept {
  // In blocks and in quarantine, no message is expected to be long.
  if (PROTOZERO_UNLIKELY(IsScattered()))
    return;
  state_.has_cleanup = true;
  auto* const slot = reinterpret_cast<Slot*>(message);
  if (is_long) {
    // The depth grows by one at a time: a message that holds a long one is
    // long. It takes two long messages, because one may be an exception.
    if (slot == long_end_) {
      long_end_ += state_.long_in_turn;
      state_.long_in_turn ^= 1;
    }
    if (slot < long_end_)
      CheckNext();
  } else {
    if (slot < long_end_)
      long_end_ = slot;
    state_.long_in_turn = 0;
  }
}

void MessageArena::SaveHintSlowPath(SharedSizeHint* hint) const noexcept {
  const uint32_t known = hint->bits_.Load();
  const uint32_t bits =
      static_cast<uint32_t>(reinterpret_cast<uint8_t*>(long_end_) -
                            reinterpret_cast<const uint8_t*>(inline_slots_)) |
      state_.long_in_turn;
  if (static_cast<uint16_t>(known) == bits)
    return;
  // Threads whose messages differ would keep on taking the cache line from each
  // other. So after kMaxChanges changes, only one in 256 is made. It is made so
  // that no exception remains the rule for ever. (The count of changes may wrap
  // around.)
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
  hint->bits_.Store(((known | 0xffff) + 1) | bits);
}

PROTOZERO_ABI_END
}  // namespace protozero
