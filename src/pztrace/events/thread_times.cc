// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/thread_times.h"

namespace pztrace {

uint32_t ThreadTimes::ThreadOf(uint64_t track,
                               const protozero::TraceTracks& tracks) {
  if (!is_finished_ || states_.is_empty())
    return ThreadStateTable::kNone;
  // A track may be described after its first slices.
  if (version_ != tracks.version()) {
    threads_.clear();
    version_ = tracks.version();
  }
  const auto [entry, is_new] =
      threads_.try_emplace(track, ThreadStateTable::kNone);
  if (is_new)
    entry->second = states_.Find(track, tracks);
  return entry->second;
}

int64_t ThreadTimes::TidOf(uint64_t track,
                           const protozero::TraceTracks& tracks) const {
  const auto info = ThreadStateTable::InfoForKernel(track, tracks);
  if (!info || !info->is_thread)
    return 0;
  const uint32_t thread = states_.FindTid(info->tid);
  return thread == ThreadStateTable::kNone || states_.MayBeOf(thread, info->pid)
             ? info->tid
             : 0;
}

}  // namespace pztrace
