// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/testing/trace_matchers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/track_event.h"

namespace {

// The names of some are those of GoogleMock.
using namespace protozero::trace_testing;
using namespace std::chrono_literals;
using protozero::DynamicString;
using protozero::Task;
using testing::HasSubstr;
using testing::Not;

void Query() {
  PROTOZERO_TRACE_EVENT("tm", "db");
}

void Request(int num_queries) {
  PROTOZERO_TRACE_EVENT("tm", "request");
  for (int i = 0; i < num_queries; ++i)
    Query();
}

// Returns the message of a failure.
std::string Explain(const RecordedTrace& trace, const RuleMatcher& matcher) {
  testing::StringMatchResultListener listener;
  EXPECT_FALSE(testing::ExplainMatchResult(matcher, trace, &listener));
  return listener.str();
}

TEST(TraceMatchersTest, EachRequestHasOneQuery) {
  const RecordedTrace trace = Record([] {
    Request(1);
    Query();
    Request(1);
  });
  EXPECT_THAT(trace, InEach("request", Exactly(1, "db")));
  EXPECT_THAT(trace, InEach("request", AtLeast(1, "db")));
  EXPECT_THAT(trace, InEach("request", AtMost(1, "db")));
  EXPECT_THAT(trace, Exactly(3, "db"));
  EXPECT_THAT(trace, NothingLost());
  EXPECT_THAT(trace, Not(InEach("request", AtLeast(2, "db"))));
  EXPECT_THAT(trace, Not(AtMost(2, "db")));
}

TEST(TraceMatchersTest, MessageShowsTheTimeline) {
  const RecordedTrace trace = Record([] {
    Request(1);
    Request(2);
  });
  const std::string message =
      Explain(trace, InEach("request", Exactly(1, "db")));
  EXPECT_THAT(message, testing::MatchesRegex(
                           "which breaks it:\n"
                           "  1 of 2 request break it.\n"
                           "  2 db in this request:\n"
                           "  process [0-9]+.*, thread [0-9]+.*:\n"
                           " +[0-9.]+ ms +[0-9.]+ [nmu]?s  request\n"
                           " +[0-9.]+ ms +[0-9.]+ [nmu]?s    db  <--\n"
                           " +[0-9.]+ ms +[0-9.]+ [nmu]?s    db  <--\n"));
  EXPECT_EQ(testing::PrintToString(trace), "a trace of 5 events");
  EXPECT_EQ(testing::DescribeMatcher<RecordedTrace>(
                InEach("request", Exactly(1, "db"))),
            "in each request exactly 1 db");
}

TEST(TraceMatchersTest, NothingToLookAtIsAFailure) {
  const RecordedTrace trace = Record([] { Query(); });
  EXPECT_EQ(Explain(trace, InEach("request", Exactly(1, "db"))),
            "which breaks it:\n  The trace has no request; it has db.\n");
  EXPECT_EQ(Explain(trace, Strictly(Share(0.5, "frame", Under(1s)))),
            "which breaks it:\n  The trace has no frame; it has db.\n");
  EXPECT_EQ(Explain(trace, AllTasksEnded()),
            "which breaks it:\n  The trace has no task.\n");
  EXPECT_EQ(Explain(trace, Ran("frame", Under(1s))),
            "which breaks it:\n  The trace has no frame; it has db.\n");
  EXPECT_EQ(
      Explain(trace, Waited("db", Under(1s))),
      "which breaks it:\n  The trace does not say what the threads of 1 db "
      "did.\n");
  EXPECT_EQ(testing::DescribeMatcher<RecordedTrace>(Ready("db", Under(8ms))),
            "slice db ready < 8 ms");
}

TEST(TraceMatchersTest, LockIsFoundInsideRender) {
  const RecordedTrace trace = Record([] {
    PROTOZERO_TRACE_EVENT_INSTANT("tm", "lock");
    PROTOZERO_TRACE_EVENT("tm", "render");
    PROTOZERO_TRACE_EVENT("tm", "draw");
    PROTOZERO_TRACE_EVENT_INSTANT("tm", "lock");
  });
  EXPECT_THAT(trace, Never("unlock"));
  EXPECT_THAT(trace, Never("lock", Inside("paint")));
  EXPECT_THAT(Explain(trace, Never("lock", Inside("render"))),
              HasSubstr("1 lock in this render:\n"));
  EXPECT_THAT(Explain(trace, Never("lock")), HasSubstr("has 2 lock.\n"));
}

TEST(TraceMatchersTest, TimesAreReportedUnlessStrict) {
  const RecordedTrace trace = Record([] {
    PROTOZERO_TRACE_EVENT("tm", "frame");
    std::this_thread::sleep_for(3ms);
  });
  EXPECT_THAT(trace, Strictly(Share(1, "frame", Under(1h))));
  testing::internal::CaptureStdout();
  EXPECT_THAT(trace, Share(0.99, "frame", Under(2ms)));
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::StartsWith("[ REPORTED ] 99 % of frame under 2 ms\n"
                                  "  0 of 1 frame under 2 ms; the longest"));
  EXPECT_THAT(trace, Not(Strictly(Share(0.99, "frame", Under(2ms)))));
}

TEST(TraceMatchersTest, TaskThatHasNotEndedIsNamed) {
  const RecordedTrace trace = Record([] {
    const Task ended = Task::Spawn(PROTOZERO_TASK_SITE("fetch"));
    protozero::SwitchTask(ended);
    protozero::SwitchTask(Task(), protozero::TaskResult::kDone);
    Task::Spawn(PROTOZERO_TASK_SITE("left"));
  });
  const std::string message = Explain(trace, AllTasksEnded());
  EXPECT_THAT(message, HasSubstr("1 of 2 tasks have not ended.\n  task "));
  EXPECT_THAT(message, HasSubstr(" left, seen first at "));
}

TEST(TraceMatchersTest, TwentyTasksAreNamedAndTheOthersCounted) {
  for (size_t num_tasks = 19; num_tasks <= 22; ++num_tasks) {
    const RecordedTrace trace = Record([&] {
      for (size_t i = 0; i < num_tasks; ++i)
        Task::Spawn(PROTOZERO_TASK_SITE("left"));
    });
    const std::string message = Explain(trace, AllTasksEnded());
    const std::string count = std::to_string(num_tasks);
    EXPECT_THAT(message, HasSubstr(count + " of " + count + " tasks have"));
    const std::string more = std::to_string(num_tasks - 20);
    EXPECT_EQ(
        message.find("  ... and " + more + " more\n") != std::string::npos,
        num_tasks > 20);
    EXPECT_EQ(message.find(" more\n") != std::string::npos, num_tasks > 20);
    size_t num_named = 0;
    for (size_t pos = message.find(" left, "); pos != std::string::npos;
         pos = message.find(" left, ", pos + 1)) {
      ++num_named;
    }
    EXPECT_EQ(num_named, std::min<size_t>(num_tasks, 20));
  }
}

TEST(TraceMatchersTest, ThreadsOfTheBlockAreInTheTrace) {
  const auto block = [] {
    Request(1);
    std::thread([] { Request(2); }).join();
  };
  EXPECT_THAT(Record(block), Exactly(2, "request"));
  RecordOptions options;
  options.threads = RecordOptions::Threads::kThisOne;
  EXPECT_THAT(Record(options, block), Exactly(1, "request"));
  options.categories = "other";
  EXPECT_THAT(Record(options, block), Never("request"));
}

TEST(TraceMatchersTest, ParallelRecordingsDoNotSeeEachOther) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 10;
  std::atomic<int> num_inside{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i, &num_inside] {
      for (int round = 0; round < kRounds; ++round) {
        const RecordedTrace trace = Record([&] {
          ++num_inside;
          for (int k = 0; k <= i; ++k) {
            PROTOZERO_TRACE_EVENT("tm",
                                  DynamicString("work " + std::to_string(i)));
          }
          // All rounds overlap.
          while (num_inside < kThreads * (round + 1))
            std::this_thread::yield();
        });
        for (int other = 0; other < kThreads; ++other) {
          const auto expected = static_cast<uint64_t>(other == i ? i + 1 : 0);
          EXPECT_THAT(trace,
                      Exactly(expected, "work " + std::to_string(other)));
        }
        EXPECT_THAT(trace, NothingLost());
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

TEST(TraceMatchersTest, ExceptionEndsTheRecording) {
#if defined(__cpp_exceptions)
  EXPECT_THROW(Record([] { throw std::string("thrown"); }), std::string);
#endif
  EXPECT_THAT(Record([] { Request(1); }), Exactly(1, "request"));
}

TEST(TraceMatchersTest, TraceThatWasNotRecordedMatchesNothing) {
  std::vector<std::unique_ptr<Recording>> recordings;
  for (size_t i = 0; i < protozero::internal::kMaxTraceSessions; ++i)
    recordings.push_back(std::make_unique<Recording>(RecordOptions()));
  const RecordedTrace trace = Record([] {});
  EXPECT_EQ(Explain(trace, Never("db")),
            "which breaks it:\n  The trace was not recorded: too many sessions "
            "at a time.\n");
}

}  // namespace
