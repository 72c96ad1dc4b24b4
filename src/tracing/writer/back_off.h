// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_WRITER_BACK_OFF_H_
#define SRC_TRACING_WRITER_BACK_OFF_H_

#include <algorithm>
#include <chrono>
#include <thread>

#include "src/tracing/shared_memory/no_cancellation.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Waits for another thread or process, each time a little longer.
class BackOff {
 public:
  void Wait() {
    if (num_yields_ < kMaxYields) {
      ++num_yields_;
      std::this_thread::yield();
      return;
    }
    const NoCancellation no_cancellation;
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(2 * pause_, kMaxPause);
  }

 private:
  static constexpr int kMaxYields = 8;
  static constexpr std::chrono::microseconds kMaxPause{5000};

  int num_yields_ = 0;
  std::chrono::microseconds pause_{8};
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_WRITER_BACK_OFF_H_
