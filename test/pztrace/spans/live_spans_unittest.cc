// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/live_spans.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/track_event.h"
#include "src/pztrace/spans/span_exporter.h"
#include "src/pztrace/trace_file/trace_input.h"
#include "test/otlp/collecting_sink.h"
#include "test/pztrace/random_trace.h"

namespace {

using protozero::ConstBytes;
using protozero::Flow;
using protozero::LocalTrace;
using protozero::SwitchTask;
using protozero::Task;
using protozero::TaskResult;
using protozero::otlp::Batch;
using protozero::otlp::BatchSink;
using protozero::otlp::CollectingSink;
using protozero::otlp::ExportResult;
using pztrace::LiveSpans;

constexpr char kHost[] = "host";

// The spans and logs of a trace.
struct Records {
  std::vector<std::string> spans;
  std::vector<std::string> logs;

  bool operator==(const Records& other) const {
    return spans == other.spans && logs == other.logs;
  }
};

std::ostream& operator<<(std::ostream& out, const Records& records) {
  return out << records.spans.size() << " spans, " << records.logs.size()
             << " logs";
}

Records RecordsOf(CollectingSink* sink) {
  EXPECT_TRUE(sink->is_right());
  Records records{sink->spans(), sink->logs()};
  std::sort(records.spans.begin(), records.spans.end());
  std::sort(records.logs.begin(), records.logs.end());
  return records;
}

// Returns the records without the field with their attributes, which has the
// last name of a thread: a trace that is being recorded may not have it yet.
std::vector<std::string> WithoutAttributes(
    const std::vector<std::string>& records,
    uint32_t attributes) {
  std::vector<std::string> result;
  for (const std::string& record : records) {
    std::string& kept = result.emplace_back();
    protozero::ProtoDecoder decoder(record.data(), record.size());
    size_t begin = 0;
    while (const protozero::Field field = decoder.ReadField()) {
      if (field.id() != attributes)
        kept += record.substr(begin, decoder.read_offset() - begin);
      begin = decoder.read_offset();
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

// Gives everything to another sink, and waits for it first.
class SlowSink : public BatchSink {
 public:
  explicit SlowSink(BatchSink* next) : next_(next) {}

  ExportResult Export(const Batch& batch) override {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return is_open_ || is_interrupted_; });
    return is_interrupted_ ? ExportResult::Dropped("interrupted")
                           : next_->Export(batch);
  }
  void Interrupt() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_interrupted_ = true;
    changed_.notify_all();
  }
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  BatchSink* const next_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  bool is_interrupted_ = false;
};

void Await(const LiveSpans& spans) {
  while (!spans.has_ended())
    std::this_thread::yield();
}

// Returns the beginnings of the packets of a trace, and its end.
std::vector<size_t> PlacesOf(const std::string& trace) {
  std::vector<size_t> places = {0};
  protozero::ProtoDecoder decoder(trace.data(), trace.size());
  while (decoder.ReadField())
    places.push_back(decoder.read_offset());
  return places;
}

class LiveSpansTest : public testing::Test {
 protected:
  LiveSpansTest()
      : path_(testing::TempDir() + "live_spans_" + std::to_string(getpid())) {}
  ~LiveSpansTest() override { remove(path_.c_str()); }

  void WriteTrace(const std::string& trace) {
    FILE* const file = fopen(path_.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(fwrite(trace.data(), 1, trace.size(), file), trace.size());
    fclose(file);
  }
  std::string ReadFile() {
    std::string trace;
    FILE* const file = fopen(path_.c_str(), "rb");
    for (int c = getc(file); c != EOF; c = getc(file))
      trace += static_cast<char>(c);
    fclose(file);
    return trace;
  }

  // Returns what `pztrace export` makes of the file.
  Records Exported() {
    CollectingSink sink;
    pztrace::SpanBatches batches(&sink);
    pztrace::TraceInput input;
    EXPECT_TRUE(input.Open(path_, "export"));
    EXPECT_TRUE(pztrace::ExportSpans(kHost, path_, false, &input, &batches));
    batches.Flush();
    return RecordsOf(&sink);
  }
  // Returns what is sent if packets come in |num_pieces|, with a look after
  // each if |looks|.
  static Records Sent(const std::string& trace, size_t num_pieces, bool looks) {
    CollectingSink sink;
    auto slow = std::make_unique<SlowSink>(&sink);
    slow->Open();
    {
      LiveSpans spans(kHost, std::move(slow), looks ? 0 : 1 << 30);
      const std::vector<size_t> places = PlacesOf(trace);
      size_t begin = 0;
      for (size_t i = 1; i <= num_pieces; ++i) {
        const size_t end = places[(places.size() - 1) * i / num_pieces];
        spans.Add({reinterpret_cast<const uint8_t*>(trace.data()) + begin,
                   end - begin});
        begin = end;
        while (looks && spans.has_unread())
          std::this_thread::yield();
      }
      spans.Finish();
      Await(spans);
      EXPECT_TRUE(spans.Report());
    }
    return RecordsOf(&sink);
  }

  const std::string path_;
};

TEST_F(LiveSpansTest, RandomTracesAreSentAsTheyAreExported) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const RandomTrace trace(seed, {});
    WriteTrace(trace.bytes());
    const Records exported = Exported();
    EXPECT_GT(exported.spans.size(), 50u);
    EXPECT_EQ(Sent(trace.bytes(), 1, false), exported) << seed;
    const Records sent = Sent(trace.bytes(), 4, true);
    constexpr uint32_t kOfSpan = 9;
    constexpr uint32_t kOfLog = 6;
    EXPECT_EQ(WithoutAttributes(sent.spans, kOfSpan),
              WithoutAttributes(exported.spans, kOfSpan))
        << seed;
    EXPECT_EQ(WithoutAttributes(sent.logs, kOfLog),
              WithoutAttributes(exported.logs, kOfLog))
        << seed;
  }
}

// Traces tasks of two threads, of which one spawns what the other runs.
void TraceTasks(int number) {
  const Task request = Task::Spawn(PROTOZERO_TASK_SITE("request"));
  SwitchTask(request);
  protozero::SetTaskRequest("req-" + std::to_string(number));
  PROTOZERO_TRACE_EVENT("app", "outer",
                        Flow(static_cast<uint64_t>(number) + 1));
  const Task query = Task::Spawn(PROTOZERO_TASK_SITE("query"), "the query");
  std::thread([&] {
    SwitchTask(query);
    {
      PROTOZERO_TRACE_EVENT("app", "inner",
                            Flow(static_cast<uint64_t>(number) + 1), "number",
                            number);
      PROTOZERO_TRACE_EVENT_INSTANT("app", "row");
    }
    request.Wake();
    SwitchTask(Task(),
               number % 2 == 0 ? TaskResult::kDone : TaskResult::kFailed);
    PROTOZERO_TRACE_EVENT_INSTANT("app", "outside");
    PROTOZERO_TRACE_EVENT("app", "of no task");
  }).join();
  SwitchTask(Task(), TaskResult::kDone);
}

TEST_F(LiveSpansTest, TasksAreSentAsTheyAreExported) {
  LocalTrace::Options options;
  options.path = path_;
  {
    LocalTrace trace(std::move(options));
    for (int i = 0; i < 30; ++i)
      TraceTasks(i);
    ASSERT_TRUE(trace.Stop());
  }
  const Records exported = Exported();
  // Two tasks, their runs, three slices. Instants may have the time of an end.
  EXPECT_EQ(exported.spans.size(), 30u * 7);
  EXPECT_GE(exported.logs.size(), 30u * 3);
  EXPECT_EQ(Sent(ReadFile(), 1, false), exported);
  EXPECT_EQ(Sent(ReadFile(), 2, true), exported);
}

TEST_F(LiveSpansTest, PacketsThatFindNoRoomAreCounted) {
  const RandomTrace trace(2, {});
  const ConstBytes bytes(reinterpret_cast<const uint8_t*>(trace.bytes().data()),
                         trace.bytes().size());
  const size_t num_packets = PlacesOf(trace.bytes()).size() - 1;
  std::string large;
  size_t num_large = 0;
  for (; large.size() <= LiveSpans::kMaxBytes; num_large += num_packets)
    large += trace.bytes();
  CollectingSink sink;
  auto slow = std::make_unique<SlowSink>(&sink);
  slow->Open();
  LiveSpans spans(kHost, std::move(slow), 0);
  spans.Add({reinterpret_cast<const uint8_t*>(large.data()), large.size()});
  EXPECT_FALSE(spans.has_unread());
  // Later packets are read, as after a gap.
  spans.Add(bytes);
  spans.Finish();
  Await(spans);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(spans.Report());
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "has not seen " + std::to_string(num_large) + " packets"),
            std::string::npos);
  EXPECT_FALSE(RecordsOf(&sink).spans.empty());
}

TEST_F(LiveSpansTest, AServerThatTakesNothingCostsBoundedMemoryAndIsCounted) {
  const RandomTrace trace(1, {});
  CollectingSink sink;
  LiveSpans spans(kHost, std::make_unique<SlowSink>(&sink));
  // More than the queue of batches takes.
  for (int i = 0; i < 2000; ++i)
    spans.Add({reinterpret_cast<const uint8_t*>(trace.bytes().data()),
               trace.bytes().size()});
  spans.Finish();
  EXPECT_FALSE(spans.has_ended());
  spans.Interrupt();
  Await(spans);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(spans.Report());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("0 of "),
            std::string::npos);
}

}  // namespace
