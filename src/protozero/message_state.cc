// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/message_state.h"

#include <atomic>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Wraps around, so a stale handle may go unnoticed after 65,536 messages.
uint16_t NextEpoch() noexcept {
#if PROTOZERO_DCHECK_IS_ON
  static std::atomic<uint16_t> last_epoch{0};
  return static_cast<uint16_t>(
      last_epoch.fetch_add(1, std::memory_order_relaxed) + 1);
#else
  return 0;
#endif
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
