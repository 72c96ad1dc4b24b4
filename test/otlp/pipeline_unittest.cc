// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/pipeline.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/otlp/log.h"
#include "protozero/otlp/tracer.h"
#include "test/otlp/collecting_sink.h"
#include "test/testing/sanitizers.h"

namespace protozero::otlp {
namespace {

constexpr uint32_t kPipelineTimeout = 60000;

void ExpectBalanced(const Account& account) {
  EXPECT_EQ(account.written, account.exported + account.rejected +
                                 account.dropped() + account.kept);
}

TEST(PipelineTest, BoundsTheMemoryOfOpenSpans) {
  PipelineOptions options;
  options.memory_limit = 1 << 20;
  CollectingSink sink;
  Pipeline pipeline(options, &sink);
  const Tracer tracer(pipeline, "t");
  constexpr size_t kSpans = 1000000;
  std::vector<Span> spans;
  size_t recorded = 0;
  for (size_t i = 0; i < kSpans; ++i) {
    spans.push_back(tracer.StartSpan("open"));
    recorded += spans.back().IsRecording();
    EXPECT_TRUE(spans.back().context().IsValid());
  }
  EXPECT_GT(recorded, 500u);
  EXPECT_LT(recorded * 512, options.memory_limit);
  EXPECT_EQ(pipeline.Spans().no_memory, kSpans - recorded);
  // In no order.
  for (size_t i = 0; i < kSpans; ++i)
    std::swap(spans[i], spans[i * 7919 % kSpans]);
  spans.clear();
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  const Account account = pipeline.Spans();
  EXPECT_EQ(account.written, kSpans);
  EXPECT_EQ(account.kept, 0u);
  EXPECT_EQ(account.exported + account.dropped(), kSpans);
  EXPECT_EQ(sink.spans().size(), account.exported);
}

// A thread that has had many open spans keeps the program's memory no longer,
// wherever they end.
TEST(PipelineTest, MemoryOfManyOpenSpansIsForOtherThreads) {
  for (const bool has_blocks : {false, true}) {
    for (const bool end_elsewhere : {false, true}) {
      SCOPED_TRACE(has_blocks);
      SCOPED_TRACE(end_elsewhere);
      CollectingSink sink;
      PipelineOptions options;
      options.memory_limit = 2 << 20;
      Pipeline pipeline(options, &sink);
      const Tracer tracer(pipeline, "t");
      std::vector<Span> spans;
      const std::string text(has_blocks ? 10000 : 1, 'x');
      do {
        spans.push_back(tracer.StartSpan("open"));
        spans.back().SetAttribute("text", text);
      } while (spans.back().IsRecording());
      if (end_elsewhere)
        std::thread([&spans] { spans.clear(); }).join();
      spans.clear();
      size_t recorded = 0;
      std::thread([&] {
        for (int i = 0; i < 100; ++i)
          recorded += tracer.StartSpan("later").IsRecording();
      }).join();
      EXPECT_EQ(recorded, 100u);
    }
  }
}

TEST(PipelineTest, ManyThreadsShareTheMemory) {
  CollectingSink sink;
  PipelineOptions options;
  options.memory_limit = 16 << 20;
  Pipeline pipeline(options, &sink);
  const Tracer tracer(pipeline, "t");
  constexpr size_t kThreads = 200;
  std::mutex mutex;
  std::condition_variable all_have_begun;
  size_t num_begun = 0;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const Span span = tracer.StartSpan("a");
      std::unique_lock<std::mutex> lock(mutex);
      ++num_begun;
      all_have_begun.notify_all();
      all_have_begun.wait(lock, [&] { return num_begun == kThreads; });
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  EXPECT_EQ(pipeline.Spans().exported, kThreads);
}

TEST(PipelineTest, CountsWithoutAnyMemory) {
  PipelineOptions options;
  options.memory_limit = 100;
  CollectingSink sink;
  Pipeline pipeline(options, &sink);
  Tracer(pipeline, "t").StartSpan("a").SetAttribute("k", 1);
  Log(Logger(pipeline, "l"), Severity::kInfo, "text");
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  EXPECT_EQ(pipeline.Spans().no_memory, 1u);
  EXPECT_EQ(pipeline.Logs().no_memory, 1u);
  EXPECT_EQ(pipeline.Spans().written, 1u);
}

// Lets exports wait until it is opened or interrupted.
class GatedSink : public CollectingSink {
 public:
  ExportResult Export(const Batch& batch) override {
    std::unique_lock<std::mutex> lock(mutex_);
    is_waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_ || is_interrupted_; });
    if (!is_open_)
      return ExportResult::Dropped("interrupted");
    return CollectingSink::Export(batch);
  }
  void Interrupt() override { Set(&is_interrupted_); }
  void Open() { Set(&is_open_); }
  void WaitForExport() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return is_waiting_; });
  }

 private:
  void Set(bool* flag) {
    const std::lock_guard<std::mutex> lock(mutex_);
    *flag = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  bool is_interrupted_ = false;
  bool is_waiting_ = false;
};

TEST(PipelineTest, CountsSpansForWhichABufferHasNoRoom) {
  PipelineOptions options;
  options.thread_buffer_size = 5000;  // 8 KiB.
  options.export_interval_ms = 1;
  GatedSink sink;
  Pipeline pipeline(options, &sink);
  const Tracer tracer(pipeline, "t");
  for (int i = 0; i < 1000; ++i)
    tracer.StartSpan("a");
  sink.WaitForExport();
  for (int i = 0; i < 1000; ++i)
    tracer.StartSpan("a");
  const Account account = pipeline.Spans();
  ExpectBalanced(account);
  EXPECT_EQ(account.written, 2000u);
  EXPECT_GE(account.buffer_full, 800u);
  EXPECT_GT(account.kept, 10u);
  sink.Open();
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  EXPECT_EQ(pipeline.Spans().exported, 2000 - account.buffer_full);
  EXPECT_EQ(sink.spans().size(), 2000 - account.buffer_full);
}

TEST(PipelineTest, RecordsAreWholeWhereverTheBufferEnds) {
  PipelineOptions options;
  options.thread_buffer_size = 4096;
  CollectingSink sink;
  Pipeline pipeline(options, &sink);
  const Tracer tracer(pipeline, "tracer");
  std::vector<std::string> names;
  for (size_t i = 0; i < 600; ++i) {
    names.emplace_back(1 + i * 37 % 250, static_cast<char>('a' + i % 26));
    tracer.StartSpan(names.back());
    if (i % 4 == 3) {
      ASSERT_TRUE(pipeline.Flush(kPipelineTimeout));
    }
  }
  const auto spans = sink.spans();
  ASSERT_EQ(spans.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(otlp_schema::Span::Decoder(spans[i]).name().ToStdString(),
              names[i]);
  }
}

TEST(PipelineTest, ShutsDownThoughTheSinkWaits) {
  GatedSink sink;
  Pipeline pipeline(PipelineOptions(), &sink);
  const Tracer tracer(pipeline, "t");
  for (int i = 0; i < 2000; ++i)
    tracer.StartSpan("a");
  EXPECT_FALSE(pipeline.Shutdown(1));
  tracer.StartSpan("late");
  const Account account = pipeline.Spans();
  ExpectBalanced(account);
  EXPECT_EQ(account.exported, 0u);
  EXPECT_EQ(account.after_shutdown, 1u);
  EXPECT_EQ(account.kept, 0u);
  EXPECT_EQ(account.dropped(), 2001u);
  EXPECT_FALSE(pipeline.LastError().empty());
  EXPECT_FALSE(pipeline.Flush(1));
  pipeline.Shutdown(1);
}

// Waits until it is interrupted, and then says why.
class UnreachableSink : public BatchSink {
 public:
  ExportResult Export(const Batch&) override {
    std::unique_lock<std::mutex> lock(mutex_);
    has_batch_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_interrupted_; });
    return ExportResult::Dropped("connection refused");
  }
  void WaitForBatch() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return has_batch_; });
  }
  void Interrupt() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_interrupted_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_batch_ = false;
  bool is_interrupted_ = false;
};

TEST(PipelineTest, SaysWhyNothingArrives) {
  UnreachableSink sink;
  Pipeline pipeline(PipelineOptions(), &sink);
  const Tracer tracer(pipeline, "t");
  tracer.StartSpan("a");
  Log(Logger(pipeline, "l"), Severity::kInfo, "text");
  EXPECT_FALSE(pipeline.Flush(1));
  EXPECT_NE(pipeline.LastError().find("time for the flush"), std::string::npos);
  sink.WaitForBatch();
  EXPECT_FALSE(pipeline.Shutdown(1));
  // It stays, though the batch of logs is not tried any more.
  EXPECT_EQ(pipeline.LastError(), "connection refused");
}

class RefusingSink : public BatchSink {
 public:
  ExportResult Export(const Batch& batch) override {
    ExportResult result = ExportResult::Exported(batch);
    result.exported -= 3;
    result.rejected = 2;
    result.reason = "partial success";
    return result;
  }
};

TEST(PipelineTest, ATimeoutOfZeroIsNone) {
  class Deadline : public BatchSink {
   public:
    ExportResult Export(const Batch& batch) override {
      deadline = batch.deadline;
      return ExportResult::Exported(batch);
    }
    uint64_t deadline = 0;
  } sink;
  PipelineOptions options;
  options.export_timeout_ms = 0;
  Pipeline pipeline(options, &sink);
  Tracer(pipeline, "t").StartSpan("span");
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  constexpr uint64_t kDay = 24 * 3600;
  EXPECT_GT(sink.deadline / 1000000000,
            static_cast<uint64_t>(now.tv_sec) + kDay);
}

TEST(PipelineTest, CountsWhatTheSinkSays) {
  RefusingSink sink;
  Pipeline pipeline(PipelineOptions(), &sink);
  const Tracer tracer(pipeline, "t");
  for (int i = 0; i < 10; ++i)
    tracer.StartSpan("a");
  EXPECT_FALSE(pipeline.Flush(kPipelineTimeout));
  const Account account = pipeline.Spans();
  EXPECT_EQ(account.exported, 7u);
  EXPECT_EQ(account.rejected, 2u);
  EXPECT_EQ(account.export_failed, 1u);
  EXPECT_EQ(account.kept, 0u);
  EXPECT_EQ(pipeline.LastError(), "partial success");
}

TEST(PipelineTest, GroupsSpansByScope) {
  CollectingSink sink;
  Pipeline pipeline(PipelineOptions(), &sink);
  const Tracer first(pipeline, "first"), second(pipeline, "second");
  const Logger logger(pipeline, "third");
  for (int i = 0; i < 5; ++i) {
    first.StartSpan("a");
    second.StartSpan("b");
    Log(logger, Severity::kInfo, "c");
  }
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  EXPECT_TRUE(sink.is_right());
  EXPECT_EQ(sink.spans().size(), 10u);
  EXPECT_EQ(sink.logs().size(), 5u);
  std::multiset<std::string> scopes;
  for (const std::string& scope : sink.scopes())
    scopes.insert(scope);
  EXPECT_EQ(scopes.count("first"), 5u);
  EXPECT_EQ(scopes.count("second"), 5u);
  EXPECT_EQ(scopes.count("third"), 5u);
}

TEST(PipelineTest, KnowsAScopeAgain) {
  CollectingSink sink;
  Pipeline pipeline(PipelineOptions(), &sink);
  for (int i = 0; i < 70000; ++i)
    Tracer(pipeline, "t", "1").StartSpan("a").End();
  EXPECT_TRUE(Tracer(pipeline, "other").StartSpan("b").IsRecording());
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  EXPECT_EQ(pipeline.Spans().written, 70001u);
}

TEST(PipelineTest, TakesSpansThatAreLargerThanItsBuffers) {
  PipelineOptions options;
  options.thread_buffer_size = 4096;
  options.max_batch_bytes = 1000;
  CollectingSink sink;
  Pipeline pipeline(options, &sink);
  const Tracer tracer(pipeline, "t");
  const std::string large(50000, 'x');
  for (int i = 0; i < 20; ++i)
    tracer.StartSpan("a").SetAttribute("large", large);
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  EXPECT_EQ(sink.spans().size(), 20u);
  size_t bytes = 0;
  for (const std::string& span : sink.spans())
    bytes += span.size();
  EXPECT_GT(bytes, 20 * large.size());
  // Some remain in the buffer.
  tracer.StartSpan("a").SetAttribute("large", large);
}

// Notes the most records and bytes of a batch.
class MeasuringSink : public BatchSink {
 public:
  ExportResult Export(const Batch& batch) override {
    most_records_ = std::max(most_records_, batch.count);
    most_bytes_ = std::max(most_bytes_, batch.size);
    return ExportResult::Exported(batch);
  }
  uint32_t most_records_ = 0;
  size_t most_bytes_ = 0;
};

TEST(PipelineTest, BatchesKeepTheirLimits) {
  PipelineOptions options;
  options.max_batch_count = 10;
  options.max_batch_bytes = 10000;
  options.export_interval_ms = 60000;
  MeasuringSink sink;
  Pipeline pipeline(options, &sink);
  const Tracer tracer(pipeline, "t");
  // Buffers of two threads: the first has a whole batch by number, and together
  // they have more than one by bytes.
  const auto write = [&](size_t bytes) {
    for (int i = 0; i < 10; ++i)
      tracer.StartSpan("a");
    tracer.StartSpan("large").SetAttribute("text", std::string(bytes, 'x'));
  };
  write(7000);
  std::thread(write, size_t{7000}).join();
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  EXPECT_EQ(pipeline.Spans().exported, 22u);
  EXPECT_EQ(sink.most_records_, 10u);
  // With the names of the resource and the scope.
  EXPECT_LT(sink.most_bytes_, 10100u);
}

#if defined(__cpp_exceptions)
// Finds no memory for a batch, as a string of an exporter may.
class SinkWithoutMemory : public BatchSink {
 public:
  ExportResult Export(const Batch&) override { throw std::bad_alloc(); }
  bool Flush() override { throw std::bad_alloc(); }
};

TEST(PipelineTest, SurvivesASinkWithoutMemory) {
  SinkWithoutMemory sink;
  Pipeline pipeline(PipelineOptions(), &sink);
  const Tracer tracer(pipeline, "t");
  tracer.StartSpan("a");
  EXPECT_FALSE(pipeline.Flush(kPipelineTimeout));
  EXPECT_EQ(pipeline.Spans().export_failed, 1u);
  EXPECT_EQ(pipeline.Spans().kept, 0u);
  EXPECT_EQ(pipeline.LastError(), "the exporter has no memory");
}
#endif

TEST(PipelineTest, LetsASpanOutliveIt) {
  CollectingSink sink;
  Span span;
  {
    Pipeline pipeline(PipelineOptions(), &sink);
    span = Tracer(pipeline, "t").StartSpan("a");
  }
  span.SetAttribute("k", std::string(1000, 'x'));
  span.End();
  EXPECT_TRUE(sink.spans().empty());
}

TEST(PipelineTest, ThreadsTakeOverMemoryOfThoseThatHaveEnded) {
  PipelineOptions options;
  // Enough for a few threads only.
  options.memory_limit = 4 * (options.thread_buffer_size + 10000);
  CollectingSink sink;
  Pipeline pipeline(options, &sink);
  const Tracer tracer(pipeline, "t");
  for (int i = 0; i < 50; ++i)
    std::thread([&tracer] { tracer.StartSpan("a"); }).join();
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  EXPECT_EQ(pipeline.Spans().exported, 50u);
}

TEST(PipelineTest, ThreadsWriteAtTheSameTime) {
  PipelineOptions options;
  options.export_interval_ms = 1;
  options.thread_buffer_size = 64 << 10;
  CollectingSink sink;
  Pipeline pipeline(options, &sink);
  const Tracer tracer(pipeline, "t");
  const Logger logger(pipeline, "l");
  constexpr int kThreads = 4, kRounds = 300;
  std::mutex mutex;
  std::vector<Span> handed_over;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        Span span = tracer.StartSpan("a");
        const Scope scope(span.context());
        span.SetAttribute("round", round);
        Log(logger, Severity::kInfo, "text");
        Span child = tracer.StartSpan("child");
        // Another thread ends some of them.
        const std::lock_guard<std::mutex> lock(mutex);
        if (handed_over.size() > 10)
          handed_over.clear();
        handed_over.push_back(std::move(child));
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    ExpectBalanced(pipeline.Spans());
    EXPECT_LE(pipeline.Spans().kept, 2u * kThreads * kRounds);
    EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  }
  for (std::thread& thread : threads)
    thread.join();
  handed_over.clear();
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  const Account spans = pipeline.Spans();
  EXPECT_EQ(spans.written, 2u * kThreads * kRounds);
  EXPECT_EQ(spans.kept, 0u);
  EXPECT_EQ(sink.spans().size(), spans.exported);
  EXPECT_EQ(sink.logs().size(), pipeline.Logs().exported);
  EXPECT_EQ(pipeline.Logs().written, uint64_t{kThreads} * kRounds);
  std::set<std::string> ids;
  for (const std::string& span : sink.spans())
    ids.insert(otlp_schema::Span::Decoder(span).span_id().ToStdString());
  EXPECT_EQ(ids.size(), sink.spans().size());
}

// ThreadSanitizer allows no threads after a fork().
#if !PROTOZERO_TEST_HAS_TSAN
TEST(PipelineTest, ChildOfAForkExportsWhatItWrites) {
  CollectingSink sink;
  Pipeline pipeline(PipelineOptions(), &sink);
  const Tracer tracer(pipeline, "t");
  tracer.StartSpan("of the parent");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Span span = tracer.StartSpan("of the child");
    std::string id = span.context().trace_id.Hex();
    tracer.StartSpan("another one");
    // Gives back memory that the parent has taken.
    for (int i = 0; i < 3; ++i) {
      tracer.StartSpan("x", SpanKind::kInternal, SpanContext())
          .SetAttribute("large", std::string(1000, 'x'));
    }
    const bool is_right =
        pipeline.Flush(kPipelineTimeout) && pipeline.Spans().written == 4 &&
        pipeline.Spans().exported == 4 && sink.spans().size() == 4 &&
        pipeline.Spans().kept == 0;
    id += is_right ? "1" : "0";
    _exit(write(ends[1], id.data(), id.size()) == 33 ? 0 : 1);
  }
  const std::string id = tracer.StartSpan("a").context().trace_id.Hex();
  close(ends[1]);
  char text[33];
  ASSERT_EQ(read(ends[0], text, sizeof(text)), 33);
  EXPECT_EQ(text[32], '1');
  EXPECT_NE(std::string(text, 32), id);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(ends[0]);
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  EXPECT_EQ(sink.spans().size(), 2u);
}
#endif

TEST(PipelineTest, AMissingThreadContextIsTold) {
  CollectingSink sink;
  PipelineOptions options;
  options.publish_thread_context = true;
  const Pipeline pipeline(options, &sink);
  // This program is linked without the option.
  EXPECT_NE(pipeline.LastError().find("--export-dynamic-symbol"),
            std::string::npos);
}

TEST(PipelineTest, AThreadMayUseSeveral) {
  CollectingSink sink, other_sink;
  Pipeline pipeline(PipelineOptions(), &sink);
  {
    Pipeline other(PipelineOptions(), &other_sink);
    const Tracer first(pipeline, "t"), second(other, "t");
    for (int i = 0; i < 10; ++i) {
      Span outer = first.StartSpan("a");
      second.StartSpan("b", SpanKind::kClient, outer.context());
    }
  }
  EXPECT_TRUE(pipeline.Flush(kPipelineTimeout));
  EXPECT_EQ(sink.spans().size(), 10u);
  EXPECT_EQ(other_sink.spans().size(), 10u);
}

}  // namespace
}  // namespace protozero::otlp
