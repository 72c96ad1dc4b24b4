// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/kernel_events.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace {

using protozero::internal::KernelCounter;
using protozero::internal::KernelEvents;
using protozero::internal::KernelRecord;
using Unit = protozero::trace::StackSample;

uint64_t RunningTimeNs() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

// The sums over all processors of the last counts of a thread's samples.
struct LastCounts {
  size_t num_samples = 0;
  uint64_t ran = 0;
  uint64_t faults = 0;
};

// Reads the samples since the last call.
LastCounts ReadLastCounts(KernelEvents* events) {
  std::vector<KernelRecord> records;
  for (size_t ring = 0; ring < events->num_rings(); ++ring)
    events->Read(ring, &records);
  LastCounts sums;
  std::map<uint32_t, std::vector<uint64_t>> counts;
  for (const KernelRecord& record : records) {
    if (record.kind != KernelRecord::Kind::kSample)
      continue;
    ++sums.num_samples;
    EXPECT_EQ(record.counters.size(), 2u);
    counts[record.cpu] = record.counters;
  }
  for (const auto& [cpu, last] : counts) {
    sums.ran += last[0];
    sums.faults += last[1];
  }
  return sums;
}

// Touches so many new pages, and runs for some time.
void FaultAndRun(size_t pages) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  madvise(mapped, pages * page, MADV_NOHUGEPAGE);
  const uint64_t begin = RunningTimeNs();
  for (size_t i = 0; i < pages; ++i)
    static_cast<volatile char*>(mapped)[i * page] = 1;
  while (RunningTimeNs() - begin < 30000000) {
  }
  munmap(mapped, pages * page);
}

// Counters that every machine has stand for those of a processor.
class KernelCountersTest : public testing::Test {
 protected:
  static KernelEvents::Options MakeOptions() {
    KernelEvents::Options options;
    options.samples_hz = 1000;
    options.counters = {
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "cycles",
         Unit::UNIT_CPU_CYCLES},
        {PERF_TYPE_SOFTWARE, UINT64_MAX, "none", Unit::UNIT_COUNT},
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "cache-misses",
         Unit::UNIT_CACHE_MISSES}};
    return options;
  }
  void SetUp() override {
    if (!events_.Open(&error_))
      GTEST_SKIP() << "perf_event_open is forbidden";
    if (events_.counters().empty())
      GTEST_SKIP() << "this kernel reads no counters with samples";
    ASSERT_EQ(events_.counters().size(), 2u);
    EXPECT_STREQ(events_.counters()[1].name, "cache-misses");
  }

  KernelEvents events_{MakeOptions()};
  std::string error_;
};

TEST_F(KernelCountersTest, AThreadThatRunsAlreadyIsCounted) {
  std::vector<int32_t> tids;
  ASSERT_TRUE(events_.Attach(getpid(), &tids, &error_)) << error_;

  // Counts after the last sample on a processor are missing, and a busy
  // machine may take few samples.
  constexpr size_t kPages = 4000;
  LastCounts counts;
  for (int tries = 0;
       tries < 50 && (counts.num_samples < 2 || counts.ran < 10000000 ||
                      counts.faults < kPages / 4);
       ++tries) {
    FaultAndRun(kPages);
    counts = ReadLastCounts(&events_);
  }
  EXPECT_GT(counts.num_samples, 1u);
  EXPECT_GE(counts.ran, 10000000u);
  EXPECT_GE(counts.faults, kPages / 4);
}

TEST_F(KernelCountersTest, ACommandIsCountedFromItsBeginning) {
  LastCounts counts;
  for (int tries = 0;
       tries < 20 &&
       (counts.num_samples < 2 || counts.ran < 1000000 || counts.faults < 10);
       ++tries) {
    ASSERT_EQ(system("i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"), 0);
    counts = ReadLastCounts(&events_);
  }
  EXPECT_GT(counts.num_samples, 1u);
  EXPECT_GE(counts.ran, 1000000u);
  EXPECT_GE(counts.faults, 10u);
}

constexpr rlim_t kKilobyte = 1024;

// The exit codes of a child process that opens rings.
enum ExitCode { kForbidden = 253, kNoMemory = 254, kNeedsRoot = 255 };

// Opens rings in a process of a user who may lock so many bytes besides those
// that the kernel allows for events. Returns their size in units of 32 kB, or
// an ExitCode.
int OpenAsUser(rlim_t may_lock) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {may_lock, may_lock};
    // A user of its own: no other process has locked memory for it.
    const uid_t user = 1000000 + static_cast<uid_t>(getpid());
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || setuid(user) != 0)
      _exit(kNeedsRoot);
    KernelEvents::Options options;
    options.has_switches = true;
    KernelEvents events(options);
    std::string error;
    if (events.Open(&error))
      _exit(static_cast<int>(events.ring_size() / (32 * kKilobyte)));
    _exit(error.find("locked") == std::string::npos ? kForbidden : kNoMemory);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST(KernelEventsTest, RingsAreAsLargeAsTheLockedMemoryAllows) {
  // Without more memory, the first ring must not take what the last one needs.
  const int least = OpenAsUser(0);
  if (least == kNeedsRoot)
    GTEST_SKIP() << "needs root";
  if (least == kForbidden)
    GTEST_SKIP() << "perf_event_open is forbidden";
  EXPECT_NE(least, kNoMemory);
  const auto processors = static_cast<rlim_t>(sysconf(_SC_NPROCESSORS_CONF));
  const rlim_t more = processors * 1024 * kKilobyte;
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  if (processors <= 16 && limit.rlim_max >= more) {
    EXPECT_GT(OpenAsUser(more), least);
  }
  EXPECT_LE(OpenAsUser(limit.rlim_max), 4096 / 32);
}

TEST(KernelEventsTest, RecordsThatWaitTakeNoRoomInTheRings) {
  KernelEvents::Options options;
  options.has_switches = true;
  options.follows_processes = false;
  KernelEvents events(options);
  std::string error;
  std::vector<int32_t> tids;
  if (!events.Open(&error))
    GTEST_SKIP() << "perf_event_open is forbidden";
  ASSERT_TRUE(events.Attach(getpid(), &tids, &error)) << error;

  cpu_set_t before;
  cpu_set_t one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);
  // Twice what a ring has room for, with 96 bytes a wait at least.
  constexpr size_t kWaits = 11000;
  prctl(PR_SET_TIMERSLACK, 1);
  for (size_t i = 0; i < kWaits; ++i) {
    const timespec moment = {0, 20000};
    nanosleep(&moment, nullptr);
    if (i % 100 == 0)
      events.TakeMuch();
  }
  prctl(PR_SET_TIMERSLACK, 0);
  sched_setaffinity(0, sizeof(before), &before);
  std::vector<KernelRecord> records;
  for (size_t ring = 0; ring < events.num_rings(); ++ring)
    events.ReadLast(ring, &records);
  EXPECT_EQ(events.num_lost(), 0u);
  size_t num_waits = 0;
  for (const KernelRecord& record : records) {
    num_waits += record.kind == KernelRecord::Kind::kWait &&
                 record.tid == static_cast<int32_t>(getpid());
  }
  EXPECT_GE(num_waits, kWaits * 9 / 10);
}

}  // namespace
