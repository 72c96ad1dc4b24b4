// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/trace_context.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace protozero::otlp {
namespace {

constexpr char kHeader[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

// Returns |count| times a character, and the rest.
std::string Repeat(size_t count, char c, std::string_view rest) {
  std::string text(count, c);
  text.append(rest);
  return text;
}

TEST(SpanContextTest, ReadsAndWritesTraceParent) {
  const auto context = SpanContext::FromHeaders(kHeader, "a=1, b=2");
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id.Hex(), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(context->span_id.Hex(), "b7ad6b7169203331");
  EXPECT_TRUE(context->IsSampled());
  EXPECT_TRUE(context->is_remote);
  EXPECT_EQ(context->trace_state.Text(), "a=1,b=2");
  EXPECT_EQ(context->TraceParent(), kHeader);
}

TEST(SpanContextTest, RefusesWhatIsMalformed) {
  const std::string good = kHeader;
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(SpanContext::FromHeaders(good.substr(0, size))) << size;
  for (size_t i = 0; i < good.size(); ++i) {
    for (const char c : {'g', 'A', ' ', '\0'}) {
      std::string bad = good;
      bad[i] = c;
      EXPECT_FALSE(SpanContext::FromHeaders(bad)) << bad;
    }
  }
  EXPECT_FALSE(SpanContext::FromHeaders(good + "-"));
  EXPECT_FALSE(SpanContext::FromHeaders("ff" + good.substr(2)));
  EXPECT_FALSE(SpanContext::FromHeaders(
      "00-00000000000000000000000000000000-b7ad6b7169203331-01"));
  EXPECT_FALSE(SpanContext::FromHeaders(
      "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"));
}

TEST(SpanContextTest, ReadsTheKnownPartsOfLaterVersions) {
  const std::string rest = std::string(kHeader).substr(2);
  EXPECT_TRUE(SpanContext::FromHeaders("01" + rest));
  EXPECT_FALSE(SpanContext::FromHeaders("01" + rest + "x"));
  const auto context = SpanContext::FromHeaders("cc" + rest + "-what-is-new");
  ASSERT_TRUE(context);
  EXPECT_EQ(context->TraceParent(), kHeader);
}

TEST(SpanContextTest, KeepsOnlyTheSampledFlag) {
  std::string header = kHeader;
  header.replace(53, 2, "fe");
  const auto context = SpanContext::FromHeaders(header);
  ASSERT_TRUE(context);
  EXPECT_FALSE(context->IsSampled());
  EXPECT_EQ(context->TraceParent().substr(53), "00");
}

TEST(SpanContextTest, IgnoresAMalformedTraceState) {
  const auto context = SpanContext::FromHeaders(kHeader, "a=1,A=2");
  ASSERT_TRUE(context);
  EXPECT_TRUE(context->trace_state.empty());
}

TEST(TraceStateTest, AcceptsWhatTheSpecificationAllows) {
  for (const char* text :
       {"", "a=1", "0a=1", "a@b=1", "0t@s=1", "a_-*/=!~", "a= b"}) {
    const auto state = TraceState::Parse(text);
    ASSERT_TRUE(state) << text;
    EXPECT_EQ(state->Text(), text);
  }
  EXPECT_EQ(TraceState::Parse(" ,a=1,, \t b=2 ,")->Text(), "a=1,b=2");
  const std::string key(256, 'k'), value(256, 'v');
  EXPECT_TRUE(TraceState::Parse(key + "=" + value));
  EXPECT_TRUE(TraceState::Parse(Repeat(241, 't', "@") + Repeat(14, 's', "=1")));
}

TEST(TraceStateTest, RefusesWhatIsMalformed) {
  for (const char* text :
       {"a", "=1", "a=", "A=1", "a=1,a=2", "a@=1", "@a=1", "a@0=1", "a@b@c=1",
        "a=1=2", "a b=1", "a=\x7f", "a=\xc3\xa4", "a=1\tb", "a =1"}) {
    EXPECT_FALSE(TraceState::Parse(text)) << text;
  }
  EXPECT_FALSE(TraceState::Parse(Repeat(257, 'k', "=1")));
  EXPECT_FALSE(TraceState::Parse("a=" + Repeat(257, 'v', "")));
  EXPECT_FALSE(TraceState::Parse(Repeat(242, 't', "@s=1")));
  EXPECT_FALSE(TraceState::Parse("t@" + Repeat(15, 's', "=1")));
}

TEST(TraceStateTest, HasAtMost32Entries) {
  std::string text;
  for (int i = 0; i < 32; ++i)
    text += "k" + std::to_string(i) + "=1,";
  auto state = TraceState::Parse(text);
  ASSERT_TRUE(state);
  EXPECT_FALSE(TraceState::Parse(text + "more=1"));
  state = state->With("new", "2");
  EXPECT_EQ(state->Get("new"), "2");
  EXPECT_FALSE(state->Get("k31"));
  EXPECT_TRUE(state->Get("k30"));
}

TEST(TraceStateTest, PutsChangedEntriesInFront) {
  const auto state = TraceState::Parse("a=1,b=2,c=3");
  EXPECT_EQ(state->With("b", "4")->Text(), "b=4,a=1,c=3");
  EXPECT_EQ(state->With("d", "5")->Text(), "d=5,a=1,b=2,c=3");
  EXPECT_EQ(state->Without("b").Text(), "a=1,c=3");
  EXPECT_EQ(state->Text(), "a=1,b=2,c=3");
  EXPECT_FALSE(state->With("B", "4"));
  EXPECT_FALSE(state->With("b", "4,"));
  TraceState copy = *state;
  copy = copy.Without("a").Without("b").Without("c");
  EXPECT_TRUE(copy.empty());
}

TEST(ScopeTest, RestoresTheSpanBefore) {
  const auto outer = SpanContext::FromHeaders(kHeader);
  SpanContext inner = *outer;
  inner.span_id.bytes[0] = 1;
  EXPECT_FALSE(CurrentContext().IsValid());
  {
    const Scope first(*outer);
    EXPECT_EQ(CurrentContext().span_id, outer->span_id);
    {
      const Scope second(inner);
      EXPECT_EQ(CurrentContext().span_id, inner.span_id);
    }
    EXPECT_EQ(CurrentContext().span_id, outer->span_id);
  }
  EXPECT_FALSE(CurrentContext().IsValid());
}

TEST(TaskContextTest, FollowsTheTask) {
  const auto outer = SpanContext::FromHeaders(kHeader);
  SpanContext other = *outer;
  other.span_id.bytes[0] = 1;
  TaskContext task(*outer), fresh;
  {
    const Scope of_thread(other);
    task.Resume();
    EXPECT_EQ(CurrentContext().span_id, outer->span_id);
    task.Suspend();
    EXPECT_EQ(CurrentContext().span_id, other.span_id);
    fresh.Resume();
    EXPECT_FALSE(CurrentContext().IsValid());
    fresh.Suspend();
  }
  task.Resume();
  EXPECT_EQ(CurrentContext().span_id, outer->span_id);
  task.Suspend();
}

}  // namespace
}  // namespace protozero::otlp
