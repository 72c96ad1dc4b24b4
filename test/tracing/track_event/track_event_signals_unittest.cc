// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <signal.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"
#include "test/tracing/track_event/trace_reader.h"

// Events of a signal handler that comes at each instruction of an event.

namespace {

using protozero::LocalTrace;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DELAYS_SIGNALS 1
#endif
#endif

#if defined(__x86_64__) && !defined(DELAYS_SIGNALS)

std::atomic<int> g_num_traps{0};

void OnTrap(int) {
  g_num_traps.fetch_add(1, std::memory_order_relaxed);
  PROTOZERO_TRACE_EVENT_INSTANT("te", "trap");
}

// The processor's trap flag makes it raise SIGTRAP after each instruction.
void SetTrapFlag() {
  asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" : : : "memory", "cc");
}
void ClearTrapFlag() {
  asm volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" : : : "memory", "cc");
}

void Trace(int i) {
  PROTOZERO_TRACE_EVENT("te", "slice", "i", i);
  PROTOZERO_TRACE_EVENT_INSTANT("te", "instant");
  PROTOZERO_TRACE_COUNTER("te", "counter", i);
}

class TrapHandler {
 public:
  TrapHandler() {
    struct sigaction action = {};
    action.sa_handler = &OnTrap;
    sigaction(SIGTRAP, &action, &before_);
  }
  ~TrapHandler() { sigaction(SIGTRAP, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

LocalTrace::Options InMemory(std::string* bytes) {
  LocalTrace::Options options;
  options.sink = [bytes](const uint8_t* data, size_t size) {
    bytes->append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  return options;
}

constexpr int kNumRounds = 20;

void TraceAtEachInstruction() {
  const TrapHandler handler;
  for (int i = 0; i < kNumRounds; ++i) {
    SetTrapFlag();
    Trace(i);
    ClearTrapFlag();
  }
}

TEST(TrackEventSignalsTest, HandlersTraceAtEachInstruction) {
  std::string bytes;
  LocalTrace trace(InMemory(&bytes));
  Trace(0);
  g_num_traps = 0;
  TraceAtEachInstruction();
  ASSERT_TRUE(trace.Stop()) << trace.error();
  const int num_traps = g_num_traps;
  EXPECT_GT(num_traps, kNumRounds * 100);

  const ReadTrace read = Read(bytes);
  EXPECT_EQ(read.errors, std::vector<std::string>());
  EXPECT_EQ(read.Named("slice").size(), size_t{kNumRounds + 1});
  EXPECT_EQ(read.Named("instant").size(), size_t{kNumRounds + 1});
  const size_t num_recorded = read.Named("trap").size();
  // Many come where the event is not being written.
  EXPECT_GT(num_recorded, size_t{kNumRounds * 10});
  EXPECT_EQ(num_recorded + trace.stats().lost().total(),
            static_cast<size_t>(num_traps));
  int num_ends = 0;
  int num_values = 0;
  uint64_t last = 0;
  for (const ReadEvent& event : read.events) {
    EXPECT_GE(event.time, last);
    last = event.time;
    num_ends += event.type == 2;
    num_values += event.type == 4;
  }
  EXPECT_EQ(num_ends, kNumRounds + 1);
  EXPECT_EQ(num_values, kNumRounds + 1);
}

TEST(TrackEventSignalsTest, HandlersTraceWhileSessionsComeAndGo) {
  std::string bytes;
  LocalTrace trace(InMemory(&bytes));
  Trace(0);
  std::atomic<bool> is_done{false};
  std::thread others([&is_done] {
    while (!is_done) {
      std::string other_bytes;
      LocalTrace other(InMemory(&other_bytes));
      std::this_thread::yield();
    }
  });
  TraceAtEachInstruction();
  is_done = true;
  others.join();
  ASSERT_TRUE(trace.Stop()) << trace.error();
  const ReadTrace read = Read(bytes);
  EXPECT_EQ(read.errors, std::vector<std::string>());
  EXPECT_EQ(read.Named("instant").size(), size_t{kNumRounds + 1});
}

#endif

}  // namespace
