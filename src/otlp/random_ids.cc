// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp/random_ids.h"

#include <errno.h>
#include <pthread.h>
#include <sys/random.h>
#include <time.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {

namespace {

// Spreads the bits of a number over all of the result, as splitmix64 does.
uint64_t Mix(uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

}  // namespace

void SeedRandom() noexcept {
  // The child of a fork() has the one thread that forked.
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { random_state = {}; });
  static_cast<void>(registered);
  uint64_t* const words = random_state.words;
  ssize_t size;
  do {
    size = getrandom(words, sizeof(random_state), 0);
  } while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(sizeof(random_state))) {
    // A sandbox may forbid the call. The clock and the address of the thread's
    // state are different for threads of a program, and mostly for programs.
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = static_cast<uint64_t>(now.tv_sec) * 1000000000 +
                    static_cast<uint64_t>(now.tv_nsec);
    seed ^= Mix(reinterpret_cast<uintptr_t>(words));
    for (int i = 0; i < 4; ++i)
      words[i] = Mix(seed += 0x9e3779b97f4a7c15);
  }
  words[0] |= words[0] == 0;
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
