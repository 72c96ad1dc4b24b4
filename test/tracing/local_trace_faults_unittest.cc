// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests a LocalTrace in which each allocation and each system call fails in
// turn. The program goes on, the LocalTrace says that something is missing, and
// when there is memory again, the next one records everything.

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"
#include "test/testing/failing_calls.h"
#include "test/testing/open_descriptors.h"
#include "test/testing/sanitizers.h"

namespace protozero::test {
namespace {

constexpr uint64_t kEvents = 20;

void TraceEvents() {
  for (uint64_t i = 0; i < kEvents; ++i) {
    PROTOZERO_TRACE_EVENT_INSTANT("faults", DynamicString("event."), Track(i),
                                  "text", "abc");
  }
}

uint64_t CountEvents(const std::string& trace) {
  uint64_t count = 0;
  for (size_t at = 0; (at = trace.find("event.", at)) != std::string::npos;
       ++at) {
    ++count;
  }
  return count;
}

// The result of one LocalTrace.
struct Recorded {
  bool is_ok;
  std::string error;
  TraceStats stats;
  std::string trace;
};

// Records a thread's events while calls fail, beginning with the |first|-th.
// Returns whether there was such a call.
bool RecordWithFault(uint64_t first,
                     NthCallFails::Which which,
                     BufferFillPolicy policy,
                     Recorded* recorded,
                     bool has_threads = false) {
  recorded->trace.reserve(1 << 20);
  LocalTrace::Options options;
  options.sink = [recorded](const uint8_t* data, size_t size) {
    recorded->trace.append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  options.fill_policy = policy;
  options.scheduling = has_threads;
  options.samples_hz = has_threads ? 1000 : 0;
  options.shared_memory_size = 64 * 1024;
  NthCallFails fault(first, which);
  std::optional<CodeUnderTest> code(std::in_place);
  std::optional<LocalTrace> trace(std::in_place, std::move(options));
  code.reset();
  std::thread([] {
    const CodeUnderTest its_code;
    TraceEvents();
  }).join();
  code.emplace();
  recorded->is_ok = trace->Stop();
  recorded->error = trace->error();
  recorded->stats = trace->stats();
  trace.reset();
  code.reset();
  fault.Stop();
  return fault.count() >= first;
}

void RecordWithEachFault(NthCallFails::Which which, BufferFillPolicy policy) {
  Recorded recorded;
  ASSERT_FALSE(RecordWithFault(UINT64_MAX, which, policy, &recorded));
  ASSERT_EQ(CountEvents(recorded.trace), kEvents);
  const size_t descriptors = CountOpenDescriptors();
  uint64_t first = 1;
  for (;; ++first) {
    SCOPED_TRACE("call " + std::to_string(first) + " fails");
    Recorded faulty;
    if (!RecordWithFault(first, which, policy, &faulty))
      break;
    EXPECT_EQ(faulty.is_ok, faulty.error.empty());
    EXPECT_EQ(faulty.stats.packets_begun(),
              faulty.stats.packets_read() + faulty.stats.lost().total());
    if (CountEvents(faulty.trace) < kEvents &&
        faulty.stats.lost().total() + faulty.stats.unknown_losses() == 0) {
      EXPECT_NE(faulty.error, "");
    }
    Recorded good;
    RecordWithFault(UINT64_MAX, which, policy, &good);
    EXPECT_EQ(good.error, "");
    EXPECT_EQ(CountEvents(good.trace), kEvents);
    EXPECT_EQ(CountOpenDescriptors(), descriptors);
    if (testing::Test::HasFailure())
      return;
  }
  // ThreadSanitizer's allocations do not fail.
  EXPECT_GT(first, PROTOZERO_TEST_HAS_TSAN ? 0u : 50u);
}

// The threads of the program are recorded, too. How many calls that takes
// depends on what they do.
TEST(LocalTraceFaultsTest, WithThreadsEachCallFailsOnce) {
  const size_t descriptors = CountOpenDescriptors();
  uint64_t first = 1;
  for (;; ++first) {
    SCOPED_TRACE("call " + std::to_string(first) + " fails");
    Recorded faulty;
    if (!RecordWithFault(first, NthCallFails::kOnce, BufferFillPolicy::kDiscard,
                         &faulty,
                         /*has_threads=*/true)) {
      break;
    }
    EXPECT_EQ(faulty.stats.packets_begun(),
              faulty.stats.packets_read() + faulty.stats.lost().total());
    EXPECT_EQ(CountOpenDescriptors(), descriptors);
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(first, PROTOZERO_TEST_HAS_TSAN ? 0u : 50u);
}

TEST(LocalTraceFaultsTest, EachCallFailsOnce) {
  RecordWithEachFault(NthCallFails::kOnce, BufferFillPolicy::kDiscard);
}

TEST(LocalTraceFaultsTest, InARingEachCallFailsOnce) {
  RecordWithEachFault(NthCallFails::kOnce, BufferFillPolicy::kRingBuffer);
}

TEST(LocalTraceFaultsTest, EachAllocationFailsAndThoseThatFollow) {
  RecordWithEachFault(NthCallFails::kAllocationsFromThenOn,
                      BufferFillPolicy::kDiscard);
}

TEST(LocalTraceFaultsTest, InARingEachAllocationFailsAndThoseThatFollow) {
  RecordWithEachFault(NthCallFails::kAllocationsFromThenOn,
                      BufferFillPolicy::kRingBuffer);
}

}  // namespace
}  // namespace protozero::test
