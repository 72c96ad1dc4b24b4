// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Threads that trace a little and end. The next thread goes on with the writer
// of one that has ended, so that neither takes a chunk for itself, and the
// service is told of neither.

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"
#include "src/tracing/ipc/process_barrier.h"
#include "test/tracing/track_event/flight_content.h"
#include "test/tracing/track_event/trace_reader.h"

namespace {

using protozero::LocalTrace;
using protozero::TraceStats;

constexpr int kEventsOfThread = 7;

void TraceInThread(int number) {
  std::thread([number] {
    for (int i = 0; i < kEventsOfThread; ++i)
      PROTOZERO_TRACE_EVENT_INSTANT("st", "event", "thread", number);
  }).join();
}

// Expects that the events of each thread are there, and on a track of their
// own.
void ExpectThreads(const ReadTrace& read, int first, int num) {
  EXPECT_EQ(read.errors, std::vector<std::string>());
  EXPECT_EQ(read.num_skipped, 0);
  std::map<std::string, int> events;
  // The system gives the number of a thread to another one late.
  std::map<uint64_t, std::string> threads;
  for (const ReadEvent& event : read.events) {
    const std::string thread = event.args.at(0);
    ++events[thread];
    EXPECT_EQ(threads.emplace(event.track, thread).first->second, thread);
    EXPECT_EQ(read.tracks.at(event.track).pid, getpid());
  }
  EXPECT_EQ(events.size(), static_cast<size_t>(num));
  for (int i = first; i < first + num; ++i)
    EXPECT_EQ(events["thread=" + std::to_string(i)], kEventsOfThread);
}

class ShortThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (protozero::GetProcessBarrier() == nullptr)
      GTEST_SKIP() << "the kernel has no membarrier()";
  }

  static LocalTrace::Options OptionsFor(std::string* bytes) {
    LocalTrace::Options options;
    options.sink = [bytes](const uint8_t* data, size_t size) {
      bytes->append(reinterpret_cast<const char*>(data), size);
      return true;
    };
    return options;
  }
};

TEST_F(ShortThreadsTest, OneAfterTheOtherNeedOneWriter) {
  constexpr int kThreads = 1000;
  std::string bytes;
  LocalTrace trace(OptionsFor(&bytes));
  for (int i = 0; i < kThreads; ++i)
    TraceInThread(i);
  ASSERT_TRUE(trace.Stop()) << trace.error();
  const TraceStats stats = trace.stats();
  EXPECT_EQ(stats.lost().total(), 0u);
  EXPECT_EQ(stats.writers_seen(), 1u);
  // A thread takes less than a chunk of 16 KB, and less than a kilobyte.
  EXPECT_LT(stats.buffers.at(0).chunks_written, uint64_t{kThreads} / 2);
  EXPECT_LT(bytes.size(), size_t{kThreads} * 1024);
  ExpectThreads(Read(bytes), 0, kThreads);
}

TEST_F(ShortThreadsTest, AsManyWritersAsThreadsAtOnce) {
  constexpr int kThreads = 50;
  constexpr int kRounds = 4;
  std::string bytes;
  LocalTrace trace(OptionsFor(&bytes));
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> num_left{kThreads};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&num_left, number = round * kThreads + i] {
        for (int j = 0; j < kEventsOfThread; ++j)
          PROTOZERO_TRACE_EVENT_INSTANT("st", "event", "thread", number);
        --num_left;
        while (num_left != 0)
          std::this_thread::yield();
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  }
  ASSERT_TRUE(trace.Stop()) << trace.error();
  EXPECT_EQ(trace.stats().lost().total(), 0u);
  EXPECT_EQ(trace.stats().writers_seen(), uint64_t{kThreads});
  ExpectThreads(Read(bytes), 0, kRounds * kThreads);
}

// Writers stay with their session.
TEST_F(ShortThreadsTest, SessionsComeAndGo) {
  constexpr int kThreads = 20;
  std::string first_bytes;
  std::string second_bytes;
  std::string third_bytes;
  LocalTrace first(OptionsFor(&first_bytes));
  for (int i = 0; i < kThreads; ++i)
    TraceInThread(i);
  auto second = std::make_unique<LocalTrace>(OptionsFor(&second_bytes));
  for (int i = kThreads; i < 2 * kThreads; ++i)
    TraceInThread(i);
  ASSERT_TRUE(first.Stop());
  for (int i = 2 * kThreads; i < 3 * kThreads; ++i)
    TraceInThread(i);
  ASSERT_TRUE(second->Stop());
  TraceInThread(-1);
  LocalTrace third(OptionsFor(&third_bytes));
  for (int i = 3 * kThreads; i < 4 * kThreads; ++i)
    TraceInThread(i);
  ASSERT_TRUE(third.Stop());
  EXPECT_EQ(first.stats().writers_seen(), 1u);
  EXPECT_EQ(second->stats().writers_seen(), 1u);
  EXPECT_EQ(third.stats().writers_seen(), 1u);
  ExpectThreads(Read(first_bytes), 0, 2 * kThreads);
  ExpectThreads(Read(second_bytes), kThreads, 2 * kThreads);
  ExpectThreads(Read(third_bytes), 3 * kThreads, kThreads);
}

// A writer that has lost something ends with its thread, and reports it.
TEST_F(ShortThreadsTest, LossesAreReportedWhenTheThreadEnds) {
  std::string bytes;
  LocalTrace::Options options = OptionsFor(&bytes);
  options.shared_memory_size = 64 * 1024;
  LocalTrace trace(options);
  uint64_t lost = 0;
  std::thread([&lost] {
    while (lost == 0) {
      for (int i = 0; i < 100000; ++i)
        PROTOZERO_TRACE_EVENT_INSTANT("st", "many");
      lost = protozero::internal::t_trace_thread->writers.packets_lost();
    }
  }).join();
  // The memory may still be full.
  uint64_t lost_after = 0;
  std::thread([&lost_after] {
    for (uint64_t before = UINT64_MAX; before != lost_after;) {
      before = lost_after;
      PROTOZERO_TRACE_EVENT_INSTANT("st", "after");
      lost_after = protozero::internal::t_trace_thread->writers.packets_lost();
    }
  }).join();
  ASSERT_TRUE(trace.Stop()) << trace.error();
  const TraceStats stats = trace.stats();
  EXPECT_EQ(stats.writers_seen(), 2u);
  EXPECT_EQ(stats.lost().total(), lost + lost_after);
  EXPECT_EQ(Read(bytes).Named("after").size(), 1u);
}

// A ring in which each thread took a chunk would have the last 256 threads.
TEST_F(ShortThreadsTest, FlightRecorderHasManyThreads) {
  constexpr int kThreads = 1000;
  char folder[] = "/tmp/short_threads_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = folder + std::string("/recording");
  {
    LocalTrace::Options options;
    options.flight_recorder = path;
    options.buffer_size = 1 << 20;
    LocalTrace trace(options);
    ASSERT_EQ(trace.error(), "");
    for (int i = 0; i < kThreads; ++i)
      TraceInThread(i);
    // It has them at any time, as if the process was killed now.
    const RecoveredFlight recovered = RecoverFlight(path);
    EXPECT_EQ(recovered.stats.lost.total(), 0u);
    ExpectThreads(Read(recovered.trace), 0, kThreads);
    // Then it has the last ones.
    for (int i = kThreads; i < 8 * kThreads; ++i)
      TraceInThread(i);
  }
  const ReadTrace read = Read(RecoverFlight(path).trace);
  EXPECT_EQ(read.errors, std::vector<std::string>());
  EXPECT_EQ(read.num_skipped, 0);
  EXPECT_GT(read.events.size(), size_t{kThreads} * kEventsOfThread);
  EXPECT_EQ(read.events.back().args.at(0),
            "thread=" + std::to_string(8 * kThreads - 1));
  unlink(path.c_str());
  EXPECT_EQ(rmdir(folder), 0) << "something is left";
}

}  // namespace
