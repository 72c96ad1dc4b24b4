// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/internal/trace_clock.h"

#include <time.h>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>

#include "src/tracing/shared_memory/no_cancellation.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

uint64_t SystemTraceTimeNs() {
  timespec time = {};
#if defined(CLOCK_BOOTTIME)
  clock_gettime(CLOCK_BOOTTIME, &time);
#else
  clock_gettime(CLOCK_MONOTONIC, &time);
#endif
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_nsec);
}

#if defined(__x86_64__) && defined(__linux__)

namespace {

using Line = TraceClock::Line;

// A rate needs two readings that are this far apart: 2 to 10 us. Before that, a
// process uses the system's clock.
constexpr uint64_t kMinBaselineTicks = 10'000;
// An older baseline is replaced by the reading that it was used with.
constexpr uint64_t kMaxBaselineNs = 20'000'000;
// The longest time that a line is valid. It is never longer than the time from
// the baseline to the line's beginning.
constexpr uint64_t kMaxValidForNs = 50'000'000;
// The most by which a line may miss the next reading, besides a thousandth of
// its length. The system changes the rate of its clock by less than that.
constexpr double kMaxDifferenceNs = 50'000;
// The value 1 as a fraction of 2^32.
constexpr double kOne = 4294967296.0;
// A counter outside of 10 MHz to 100 GHz is no processor's counter.
constexpr uint64_t kMinNsPerTick = (uint64_t{1} << 32) / 100;
constexpr uint64_t kMaxNsPerTick = (uint64_t{1} << 32) * 100;

// The values of both clocks at one moment.
struct Reading {
  uint64_t tsc = 0;
  uint64_t ns = 0;
};

// A lock of the following variables. A thread that finds it taken uses the
// system's clock.
std::atomic<bool> g_is_busy{false};
Reading g_baseline;
Line g_line;
enum class Usable : uint8_t { kUnknown, kYes, kNo };
Usable g_is_usable = Usable::kUnknown;

// Returns whether the counter's rate is constant, and the kernel, which
// compares the counters of all processors, uses it itself.
bool IsTscUsable() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) == 0 ||
      (edx & (1u << 8)) == 0) {
    return false;
  }
  const NoCancellation no_cancellation;
  const int fd =
      open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
           O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  char source[16] = {};
  const ssize_t size = read(fd, source, sizeof(source));
  close(fd);
  return size >= 3 && (memcmp(source, "tsc", 3) == 0 ||
                       (size >= 9 && memcmp(source, "kvm-clock", 9) == 0));
}

// Returns whether the clocks went on together since the last line began. If
// they did not, the system slept, or a counter was set: a rate across that
// would make a line that runs away from the system's clock.
bool AgreesWithLine(const Reading& now, const Line& line) {
  const double elapsed_ns = static_cast<double>(now.ns - line.ns);
  const double expected_ns = static_cast<double>(now.tsc - line.tsc) *
                             static_cast<double>(line.ns_per_tick) / kOne;
  const double difference = elapsed_ns - expected_ns;
  const double limit = kMaxDifferenceNs + expected_ns / 1024;
  return -limit <= difference && difference <= limit;
}

// Returns the closest of a few readings: this thread may be interrupted between
// the two clocks.
Reading Read() {
  Reading best;
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const uint64_t before = ReadTsc();
    const uint64_t ns = SystemTraceTimeNs();
    const uint64_t width = ReadTsc() - before;
    if (width < best_width) {
      best_width = width;
      best = {before + width / 2, ns};
    }
  }
  return best;
}

// Makes a new line. REQUIRES: this thread has set g_is_busy.
void ReplaceLine() {
  const Reading then = g_baseline;
  const Line last_line = g_line;
  g_line = Line();
  if (then.tsc != 0 && ReadTsc() - then.tsc < kMinBaselineTicks)
    return;
  const Reading now = Read();
  // The next line needs a new baseline if there is none yet, or if the clocks
  // have gone back, or one stood still while the machine slept. Without a last
  // line, only a baseline that is not old cannot have such a sleep behind it.
  if (then.tsc == 0 || now.tsc <= then.tsc || now.ns <= then.ns ||
      (last_line.valid_for != 0 ? !AgreesWithLine(now, last_line)
                                : now.ns - then.ns > kMaxValidForNs)) {
    g_baseline = now;
    return;
  }
  const uint64_t elapsed_ns = now.ns - then.ns;
  const uint64_t ns_per_tick =
      static_cast<uint64_t>(static_cast<double>(elapsed_ns) * kOne /
                            static_cast<double>(now.tsc - then.tsc));
  if (elapsed_ns >= kMaxBaselineNs)
    g_baseline = now;
  if (ns_per_tick < kMinNsPerTick || ns_per_tick > kMaxNsPerTick)
    return;
  g_line.tsc = now.tsc;
  g_line.ns = now.ns;
  g_line.ns_per_tick = ns_per_tick;
  // Then the reading's errors at most double until the line's end.
  const uint64_t valid_for_ns = std::min(elapsed_ns, kMaxValidForNs);
  g_line.valid_for =
      static_cast<uint64_t>(static_cast<double>(valid_for_ns) * kOne /
                            static_cast<double>(ns_per_tick));
}

}  // namespace

uint64_t TraceClock::NowNsSlowPath() {
  line_ = Line();
  if (!g_is_busy.exchange(true, std::memory_order_acquire)) {
    if (g_is_usable == Usable::kUnknown)
      g_is_usable = IsTscUsable() ? Usable::kYes : Usable::kNo;
    if (g_is_usable == Usable::kYes) {
      if (ReadTsc() - g_line.tsc >= g_line.valid_for)
        ReplaceLine();
      line_ = g_line;
    }
    g_is_busy.store(false, std::memory_order_release);
  }
  const uint64_t now = SystemTraceTimeNs();
  return last_ns_ = now < last_ns_ ? last_ns_ : now;
}

void ResetTraceClockAfterFork() {
  g_line = Line();
  g_baseline = Reading();
  g_is_busy.store(false, std::memory_order_relaxed);
}

#else

uint64_t TraceClock::NowNsSlowPath() {
  const uint64_t now = SystemTraceTimeNs();
  return last_ns_ = now < last_ns_ ? last_ns_ : now;
}

void ResetTraceClockAfterFork() {}

#endif

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
