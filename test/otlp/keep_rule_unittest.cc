// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/keep_rule.h"

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/tracer.h"
#include "test/otlp/collecting_sink.h"

namespace protozero::otlp {
namespace {

constexpr uint32_t kRuleTimeout = 60000;

class KeepRuleTest : public testing::Test {
 protected:
  void Begin() {
    pipeline_.emplace(options_, &sink_);
    tracer_ = Tracer(*pipeline_, "t");
  }
  // Begins a span that seems to have begun a second ago.
  Span StartSlow(const char* name) {
    SpanOptions options;
    options.start_unix_time_ns = kStart;
    return tracer_.StartSpan(name, options);
  }
  // Returns the names of the spans that were exported, in their order.
  std::string Exported() {
    EXPECT_TRUE(pipeline_->Flush(kRuleTimeout));
    std::string names;
    for (const std::string& span : sink_.spans())
      names += otlp_schema::Span::Decoder(span).name().ToStdString() + " ";
    return names;
  }

  static constexpr uint64_t kStart = 1'700'000'000'000'000'000;
  PipelineOptions options_;
  CollectingSink sink_;
  std::optional<Pipeline> pipeline_;
  Tracer tracer_;
};

TEST_F(KeepRuleTest, KeepsWholeTracesThatWereSlow) {
  options_.keep_rule.slower_than_ns = 1000;
  Begin();
  for (const uint64_t duration : {1001u, 1000u, 2000u}) {
    Span root = StartSlow("root");
    const Scope scope(root.context());
    tracer_.StartSpan(("child" + std::to_string(duration)).c_str());
    Span open = tracer_.StartSpan("last");
    EXPECT_EQ(pipeline_->Spans().exported, 0u);
    root.End(kStart + duration);
  }
  EXPECT_EQ(Exported(), "child1001 root last child2000 root last ");
  const Account account = pipeline_->Spans();
  EXPECT_EQ(account.written, 9u);
  EXPECT_EQ(account.not_wanted, 3u);
  EXPECT_EQ(account.kept, 0u);
}

TEST_F(KeepRuleTest, KeepsErrorsAndAttributes) {
  options_.keep_rule.errors = true;
  options_.keep_rule.attribute_key = "tenant";
  options_.keep_rule.attribute_value = "vip";
  Begin();
  const auto trace = [this](const char* name, auto change) {
    Span root = tracer_.StartSpan("root");
    const Scope scope(root.context());
    Span child = tracer_.StartSpan(name);
    change(child);
    child.End();
  };
  trace("plain", [](Span&) {});
  trace("error", [](Span& span) { span.SetStatus(StatusCode::kError); });
  trace("ok", [](Span& span) { span.SetStatus(StatusCode::kOk); });
  trace("vip", [](Span& span) { span.SetAttribute("tenant", "vip"); });
  trace("other", [](Span& span) { span.SetAttribute("tenant", "any"); });
  trace("number", [](Span& span) { span.SetAttribute("tenant", 1); });
  trace("last", [](Span& span) {
    span.SetAttribute("tenant", "vip").SetAttribute("tenant", "any");
  });
  EXPECT_EQ(Exported(), "error root vip root ");
}

TEST_F(KeepRuleTest, KeepsOneInN) {
  options_.keep_rule.one_in = 4;
  Begin();
  for (int i = 0; i < 4000; ++i)
    tracer_.StartSpan("a");
  Exported();
  EXPECT_NEAR(static_cast<double>(pipeline_->Spans().exported), 1000, 200);
}

TEST_F(KeepRuleTest, ObeysTheFlagFromOutside) {
  options_.keep_rule.slower_than_ns = UINT64_MAX;
  Begin();
  SpanContext outside = tracer_.StartSpan("a").context();
  outside = SpanContext(outside.trace_id, outside.span_id, 1);
  {
    Span root = tracer_.StartSpan("kept", SpanKind::kServer, outside);
    tracer_.StartSpan("child", SpanKind::kInternal, root.context());
  }
  outside.flags = 0;
  EXPECT_FALSE(
      tracer_.StartSpan("b", SpanKind::kServer, outside).IsRecording());
  EXPECT_EQ(Exported(), "child kept ");
}

TEST_F(KeepRuleTest, SpansOfOtherThreadsFollowTheDecision) {
  options_.keep_rule.errors = true;
  Begin();
  for (const bool is_error : {true, false}) {
    Span root = tracer_.StartSpan("root");
    const SpanContext context = root.context();
    Span late = tracer_.StartSpan("late", SpanKind::kInternal, context);
    std::thread([&] {
      tracer_.StartSpan("early", SpanKind::kInternal, context);
    }).join();
    if (is_error)
      root.SetStatus(StatusCode::kError);
    root.End();
    std::thread([&] {
      // Its trace goes on, since a span is open.
      tracer_.StartSpan("later", SpanKind::kInternal, context);
      late.End();
    }).join();
  }
  EXPECT_TRUE(pipeline_->Flush(kRuleTimeout));
  const Account account = pipeline_->Spans();
  EXPECT_EQ(account.exported, 4u);
  EXPECT_EQ(account.not_wanted, 4u);
}

TEST_F(KeepRuleTest, SpansThatBeginLaterFollowTheDecision) {
  options_.keep_rule.errors = true;
  Begin();
  SpanContext contexts[2];
  for (const bool is_error : {true, false}) {
    Span root = tracer_.StartSpan("root");
    contexts[is_error] = root.context();
    if (is_error)
      root.SetStatus(StatusCode::kError);
  }
  // Other traces use the same memory.
  for (int i = 0; i < 10; ++i)
    tracer_.StartSpan("other");
  for (const SpanContext& context : contexts) {
    std::thread([&] {
      Span late = tracer_.StartSpan("late", SpanKind::kInternal, context);
      const SpanContext of_late = late.context();
      EXPECT_EQ(of_late.trace_id, context.trace_id);
      if (&context == &contexts[0])
        late.SetStatus(StatusCode::kError);
      late.End();
      tracer_.StartSpan("child", SpanKind::kInternal, of_late);
    }).join();
  }
  EXPECT_NE(Exported().find("late child "), std::string::npos);
  const Account account = pipeline_->Spans();
  EXPECT_EQ(account.written, 16u);
  EXPECT_EQ(account.exported, 3u);
  EXPECT_EQ(account.not_wanted, 13u);
  EXPECT_EQ(account.kept, 0u);
}

TEST_F(KeepRuleTest, ChildrenOfALostSpanFollowTheDecision) {
  options_.keep_rule.errors = true;
  options_.memory_limit = 1 << 20;
  Begin();
  std::vector<Span> spans;
  spans.push_back(tracer_.StartSpan("root"));
  const SpanContext root = spans[0].context();
  while (spans.back().IsRecording())
    spans.push_back(tracer_.StartSpan("open", SpanKind::kInternal, root));
  const SpanContext lost = spans.back().context();
  // In another order, so that there is memory before the root decides.
  std::swap(spans[0], spans.back());
  spans.resize(spans.size() / 2);
  tracer_.StartSpan("child", SpanKind::kInternal, lost);
  spans.clear();
  const Account account = pipeline_->Spans();
  EXPECT_EQ(account.not_wanted + account.no_memory + account.undecided,
            account.written);
  EXPECT_EQ(account.no_memory, 1u);
  Span error = tracer_.StartSpan("error", SpanKind::kInternal, lost);
  EXPECT_FALSE(error.IsRecording());
}

TEST_F(KeepRuleTest, AnyMemoryLimitHasTraces) {
  options_.keep_rule.errors = true;
  options_.memory_limit = SIZE_MAX;
  Begin();
  EXPECT_TRUE(tracer_.StartSpan("root").IsRecording());
}

TEST_F(KeepRuleTest, OldestTracesMakeRoom) {
  options_.keep_rule.errors = true;
  options_.memory_limit = 4 << 20;
  options_.keep_rule.memory_share = 0.05;
  Begin();
  std::vector<Span> roots;
  for (int i = 0; i < 1000; ++i) {
    roots.push_back(tracer_.StartSpan(std::to_string(i)));
    tracer_.StartSpan("child", SpanKind::kInternal, roots.back().context());
  }
  EXPECT_GT(pipeline_->Spans().undecided, 500u);
  EXPECT_LT(pipeline_->Spans().undecided, 900u);
  for (Span& root : roots) {
    root.SetStatus(StatusCode::kError);
    root.End();
  }
  const std::string names = Exported();
  EXPECT_EQ(names.find("child 0 "), std::string::npos);
  EXPECT_NE(names.find("child 999 "), std::string::npos);
  const Account account = pipeline_->Spans();
  EXPECT_EQ(account.written, 2000u);
  EXPECT_EQ(account.kept, 0u);
  EXPECT_EQ(account.exported + account.undecided, 2000u);
}

// Its root may come too late, or never, as in the child of a fork().
TEST_F(KeepRuleTest, ATraceThatIsWantedIsNotGivenUp) {
  options_.keep_rule.errors = true;
  options_.memory_limit = 4 << 20;
  options_.keep_rule.memory_share = 0.05;
  Begin();
  std::vector<Span> roots;
  const auto start_child = [&](const char* name) {
    roots.push_back(tracer_.StartSpan("root"));
    return tracer_.StartSpan(name, SpanKind::kInternal, roots.back().context());
  };
  start_child("early").SetStatus(StatusCode::kError);
  while (pipeline_->Spans().undecided == 0)
    start_child("child");
  EXPECT_EQ(Exported(), "early ");
  start_child("last").SetStatus(StatusCode::kError);
  EXPECT_TRUE(pipeline_->Shutdown(kRuleTimeout));
  EXPECT_EQ(pipeline_->Spans().exported, 2u);
  EXPECT_EQ(pipeline_->Spans().kept, 0u);
}

TEST_F(KeepRuleTest, CountsUndecidedTracesBeyondItsMemory) {
  options_.keep_rule.errors = true;
  options_.memory_limit = 8 << 20;
  Begin();
  constexpr size_t kTraces = 200000;
  std::vector<Span> roots;
  for (size_t i = 0; i < kTraces; ++i) {
    roots.push_back(tracer_.StartSpan("root"));
    tracer_.StartSpan("child", SpanKind::kInternal, roots.back().context());
  }
  for (size_t i = 0; i < kTraces; ++i) {
    Span& root = roots[i * 7919 % kTraces];
    root.SetStatus(StatusCode::kError);
    root.End();
  }
  EXPECT_TRUE(pipeline_->Flush(kRuleTimeout));
  const Account account = pipeline_->Spans();
  EXPECT_EQ(account.written, 2 * kTraces);
  EXPECT_EQ(account.kept, 0u);
  EXPECT_EQ(account.not_wanted, 0u);
  EXPECT_GT(account.exported, 100u);
  EXPECT_EQ(account.exported + account.dropped(), 2 * kTraces);
  // The memory is there again.
  Span root = tracer_.StartSpan("again");
  EXPECT_TRUE(root.IsRecording());
}

TEST_F(KeepRuleTest, MoreMemoryIsForMoreTraces) {
  options_.keep_rule.errors = true;
  options_.memory_limit = 256 << 20;
  Begin();
  std::vector<Span> roots;
  for (int i = 0; i < 50000; ++i)
    roots.push_back(tracer_.StartSpan("root"));
  roots.clear();
  EXPECT_EQ(pipeline_->Spans().undecided, 0u);
  EXPECT_EQ(pipeline_->Spans().not_wanted, 50000u);
}

TEST_F(KeepRuleTest, AThreadWithoutMemoryShutsDown) {
  options_.keep_rule.errors = true;
  options_.memory_limit = 1 << 20;
  Begin();
  std::vector<Span> spans;
  spans.push_back(tracer_.StartSpan("root"));
  tracer_.StartSpan("child", SpanKind::kInternal, spans[0].context());
  while (spans.back().IsRecording())
    spans.push_back(tracer_.StartSpan("open"));
  std::thread([this] { pipeline_->Shutdown(kRuleTimeout); }).join();
  EXPECT_EQ(pipeline_->Spans().kept, 0u);
  EXPECT_EQ(pipeline_->Spans().undecided, 1u);
}

TEST_F(KeepRuleTest, BoundsTheNumberOfUndecidedTraces) {
  options_.keep_rule.errors = true;
  options_.memory_limit = 100 << 20;
  Begin();
  std::vector<Span> roots;
  for (int i = 0; i < 40000; ++i)
    roots.push_back(tracer_.StartSpan("root"));
  roots.clear();
  EXPECT_TRUE(pipeline_->Flush(kRuleTimeout));
  const Account account = pipeline_->Spans();
  EXPECT_EQ(account.written, 40000u);
  EXPECT_EQ(account.undecided + account.not_wanted, 40000u);
  EXPECT_GT(account.undecided, 10000u);
  EXPECT_GT(account.not_wanted, 10000u);
}

TEST_F(KeepRuleTest, ShutdownGivesUpWhatIsUndecided) {
  options_.keep_rule.errors = true;
  Begin();
  Span root = tracer_.StartSpan("root");
  tracer_.StartSpan("child", SpanKind::kInternal, root.context());
  EXPECT_EQ(pipeline_->Spans().kept, 1u);
  EXPECT_TRUE(pipeline_->Shutdown(kRuleTimeout));
  EXPECT_EQ(pipeline_->Spans().kept, 0u);
  EXPECT_EQ(pipeline_->Spans().undecided, 1u);
  root.End();
  EXPECT_EQ(pipeline_->Spans().dropped(), 2u);
}

TEST_F(KeepRuleTest, ThreadsDecideAtTheSameTime) {
  options_.keep_rule.one_in = 2;
  options_.keep_rule.memory_share = 0.001;
  Begin();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int round = 0; round < 300; ++round) {
        Span root = tracer_.StartSpan("root");
        const SpanContext context = root.context();
        Span child = tracer_.StartSpan("child", SpanKind::kInternal, context);
        std::optional<std::thread> other;
        if (round % 50 == 0) {
          other.emplace([this, context] {
            tracer_.StartSpan("other", SpanKind::kInternal, context);
          });
        }
        for (int j = 0; j < 10; ++j)
          tracer_.StartSpan("more", SpanKind::kInternal, context);
        root.End();
        child.End();
        if (other)
          other->join();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_TRUE(pipeline_->Flush(kRuleTimeout));
  const Account account = pipeline_->Spans();
  EXPECT_EQ(account.written, 4u * (300 * 12 + 6));
  EXPECT_EQ(account.kept, 0u);
  EXPECT_EQ(account.exported, sink_.spans().size());
  EXPECT_GT(account.exported, 0u);
  EXPECT_GT(account.not_wanted, 0u);
}

}  // namespace
}  // namespace protozero::otlp
