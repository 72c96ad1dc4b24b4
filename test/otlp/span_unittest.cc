// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/span.h"

#include <time.h>

#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/otlp/log.h"
#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/tracer.h"
#include "protozero/proto_decoder.h"
#include "test/otlp/collecting_sink.h"

namespace protozero::otlp {
namespace {

using Decoded = otlp_schema::Span::Decoder;
constexpr uint32_t kTimeout = 60000;

class SpanTest : public testing::Test {
 protected:
  void Begin() {
    pipeline_.emplace(options_, &sink_);
    tracer_ = Tracer(*pipeline_, "tracer", "1.2");
  }
  // Returns the messages of all spans that have ended.
  std::vector<std::string> Spans() {
    EXPECT_TRUE(pipeline_->Flush(kTimeout));
    EXPECT_TRUE(sink_.is_right());
    return sink_.spans();
  }
  std::string OnlySpan() {
    const std::vector<std::string> spans = Spans();
    EXPECT_EQ(spans.size(), 1u);
    return spans.empty() ? std::string() : spans[0];
  }
  // Returns its attributes as text. Fails if a key stands twice.
  static std::map<std::string, std::string> Attributes(
      const std::string& bytes) {
    size_t count = 0;
    auto result = AttributesOf(Decoded(bytes).attributes(), &count);
    EXPECT_EQ(result.size(), count);
    return result;
  }

  PipelineOptions options_;
  CollectingSink sink_;
  std::optional<Pipeline> pipeline_;
  Tracer tracer_;
};

TEST_F(SpanTest, HasItsFields) {
  options_.resource = {{"service.name", "shop"}, {"x", 1}, {"x", 2}};
  Begin();
  Span span = tracer_.StartSpan("GET /", SpanKind::kServer);
  const SpanContext context = span.context();
  span.End();
  const std::string bytes = OnlySpan();
  const Decoded decoded(bytes);
  EXPECT_EQ(decoded.name().ToStdString(), "GET /");
  EXPECT_EQ(static_cast<int>(decoded.kind()), 2);
  EXPECT_EQ(
      decoded.trace_id().ToStdString(),
      std::string(reinterpret_cast<const char*>(context.trace_id.bytes), 16));
  EXPECT_EQ(decoded.span_id().size, 8u);
  EXPECT_EQ(decoded.parent_span_id().size, 0u);
  EXPECT_EQ(decoded.flags(), 0x101u);
  EXPECT_GT(decoded.start_time_unix_nano(), 1700000000u * uint64_t{1000000000});
  EXPECT_GE(decoded.end_time_unix_nano(), decoded.start_time_unix_nano());
  EXPECT_EQ(sink_.scopes()[0], "tracer");
  size_t count = 0;
  const std::string resource_bytes = sink_.resource();
  const otlp_schema::Resource::Decoder resource(resource_bytes);
  const auto attributes = AttributesOf(resource.attributes(), &count);
  EXPECT_EQ(attributes.at("service.name"), "shop");
  EXPECT_EQ(attributes.at("x"), "2");
  EXPECT_EQ(count, 2u);
}

enum class Color : uint16_t { kRed = 3 };

TEST_F(SpanTest, HasAttributesOfEveryType) {
  Begin();
  const std::string_view texts[] = {"a", "", "ccc"};
  const bool bools[] = {true, false};
  const std::vector<int64_t> ints = {1, -1, INT64_MAX};
  const std::vector<double> doubles = {0.5};
  const uint8_t bytes[] = {0, 255};
  tracer_.StartSpan("a")
      .SetAttribute("text", "value")
      .SetAttribute("empty", "")
      .SetAttribute("null", static_cast<const char*>(nullptr))
      .SetAttribute("true", true)
      .SetAttribute("int", -7)
      .SetAttribute("min", INT64_MIN)
      .SetAttribute("unsigned", UINT32_MAX)
      .SetAttribute("large", UINT64_MAX)
      .SetAttribute("enum", Color::kRed)
      .SetAttribute("double", 0.25)
      .SetAttribute("float", 0.5f)
      .SetAttribute("bytes", ConstBytes(bytes, 2))
      .SetAttribute("texts", texts)
      .SetAttribute("bools", bools)
      .SetAttribute("ints", ints)
      .SetAttribute("doubles", doubles)
      .SetAttribute("none", AttributeValue(ints.data(), 0));
  const std::string span = OnlySpan();
  auto attributes = Attributes(span);
  EXPECT_EQ(attributes["text"], "value");
  EXPECT_EQ(attributes["empty"], "");
  EXPECT_EQ(attributes["null"], "");
  EXPECT_EQ(attributes["true"], "true");
  EXPECT_EQ(attributes["int"], "-7");
  EXPECT_EQ(attributes["min"], std::to_string(INT64_MIN));
  EXPECT_EQ(attributes["unsigned"], std::to_string(UINT32_MAX));
  EXPECT_EQ(attributes["large"], std::to_string(UINT64_MAX));
  EXPECT_EQ(attributes["enum"], "3");
  EXPECT_EQ(attributes["double"], std::to_string(0.25));
  EXPECT_EQ(attributes["float"], std::to_string(0.5));
  EXPECT_EQ(attributes["bytes"], std::string("bytes \0\xff", 8));
  EXPECT_EQ(attributes["texts"], "[a,,ccc,]");
  EXPECT_EQ(attributes["bools"], "[true,false,]");
  EXPECT_EQ(attributes["ints"], "[1,-1," + std::to_string(INT64_MAX) + ",]");
  EXPECT_EQ(attributes["doubles"], "[" + std::to_string(0.5) + ",]");
  EXPECT_EQ(attributes["none"], "[]");
  EXPECT_EQ(attributes.size(), 17u);
}

TEST_F(SpanTest, TakesArraysAndBuffersAsProgramsHaveThem) {
  Begin();
  char buffer[16] = "from snprintf";
  char full[] = {'f', 'u', 'l', 'l'};
  const uint8_t bytes[] = {0, 255};
  const int ints[] = {1, -2};
  const char* const names[] = {"x", nullptr};
  const Color colors[] = {Color::kRed};
  tracer_.StartSpan("a")
      .SetAttribute("buffer", buffer)
      .SetAttribute("full", full)
      .SetAttribute("characters", AttributeValue(buffer + 5, 4))
      .SetAttribute("bytes", bytes)
      .SetAttribute("ints", ints)
      .SetAttribute("names", names)
      .SetAttribute("colors", colors)
      .SetAttribute("strings", std::vector<std::string>{"a", "bb"})
      .SetAttribute("bools", std::vector<bool>{true, false})
      .SetAttribute("floats", std::vector<float>{0.5f})
      .SetAttribute("large", std::vector<uint64_t>{1, UINT64_MAX})
      .SetAttribute("long", std::array<long long, 2>{3, -4})
      .SetAttribute("blob", std::vector<uint8_t>{'b'});
  const std::string span = OnlySpan();
  auto attributes = Attributes(span);
  EXPECT_EQ(attributes["buffer"], "from snprintf");
  EXPECT_EQ(attributes["full"], "full");
  EXPECT_EQ(attributes["characters"], "snpr");
  EXPECT_EQ(attributes["bytes"], std::string("bytes \0\xff", 8));
  EXPECT_EQ(attributes["ints"], "[1,-2,]");
  EXPECT_EQ(attributes["names"], "[x,,]");
  EXPECT_EQ(attributes["colors"], "[3,]");
  EXPECT_EQ(attributes["strings"], "[a,bb,]");
  EXPECT_EQ(attributes["bools"], "[true,false,]");
  EXPECT_EQ(attributes["floats"], "[" + std::to_string(0.5) + ",]");
  EXPECT_EQ(attributes["large"], "[1," + std::to_string(UINT64_MAX) + ",]");
  EXPECT_EQ(attributes["long"], "[3,-4,]");
  EXPECT_EQ(attributes["blob"], "bytes b");
}

TEST_F(SpanTest, KeepsTheLastValueOfAKey) {
  Begin();
  {
    Span span = tracer_.StartSpan("a");
    // Far more keys than bits of the filter, with values of all sizes.
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 100; ++i) {
        const std::string value(
            static_cast<size_t>((i * 37 + round * 91) % 300),
            static_cast<char>('a' + round));
        span.SetAttribute("key" + std::to_string(i), value);
      }
      span.SetStatus(StatusCode::kError, "status " + std::to_string(round));
    }
    span.SetAttribute("key7", 7).SetAttribute("key8", true);
  }
  const std::string bytes = OnlySpan();
  const auto attributes = Attributes(bytes);
  EXPECT_EQ(attributes.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    const std::string value = attributes.at("key" + std::to_string(i));
    if (i == 7) {
      EXPECT_EQ(value, "7");
    } else if (i == 8) {
      EXPECT_EQ(value, "true");
    } else {
      EXPECT_EQ(value,
                std::string(static_cast<size_t>((i * 37 + 182) % 300), 'c'));
    }
  }
  const otlp_schema::Status::Decoder status(Decoded(bytes).status());
  EXPECT_EQ(status.message().ToStdString(), "status 2");
}

TEST_F(SpanTest, CountsWhatIsAboveTheLimits) {
  options_.event_count_limit = 2;
  options_.link_count_limit = 1;
  options_.attribute_per_event_count_limit = 1;
  options_.attribute_per_link_count_limit = 0;
  options_.attribute_value_length_limit = 5;
  Begin();
  {
    Span span = tracer_.StartSpan("a name that has no limit");
    const SpanContext other = tracer_.StartSpan("b").context();
    for (int i = 0; i < 130; ++i)
      span.SetAttribute("key" + std::to_string(i), i);
    span.SetAttribute("key5", "again").SetAttribute("", "no key");
    span.SetAttribute("key6", "1234\xc3\xa4")
        .SetAttribute("key7", "123\xc3\xa4");
    const std::string_view texts[] = {"123456", "12345"};
    span.SetAttribute("key8", texts);
    for (int i = 0; i < 5; ++i)
      span.AddEvent("event", {{"a", 1}, {"b", "1234567"}, {"a", "1234567"}});
    for (int i = 0; i < 4; ++i)
      span.AddLink(other, {{"a", 1}});
    span.AddLink(SpanContext());
  }
  const std::string bytes = Spans()[1];
  const Decoded span(bytes);
  const auto attributes = Attributes(bytes);
  EXPECT_EQ(attributes.size(), 128u);
  EXPECT_EQ(span.dropped_attributes_count(), 3u);
  EXPECT_EQ(attributes.at("key5"), "again");
  EXPECT_EQ(attributes.at("key6"), "1234");
  EXPECT_EQ(attributes.at("key7"), "123\xc3\xa4");
  EXPECT_EQ(span.dropped_events_count(), 3u);
  // One of them has ids of zeros.
  EXPECT_EQ(span.dropped_links_count(), 4u);
  EXPECT_EQ(span.name().ToStdString(), "a name that has no limit");
  const otlp_schema::Span_Event::Decoder event(*span.events());
  size_t count = 0;
  EXPECT_EQ(AttributesOf(event.attributes(), &count)["b"], "12345");
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(event.dropped_attributes_count(), 1u);
  const otlp_schema::Span_Link::Decoder link(*span.links());
  EXPECT_EQ(link.dropped_attributes_count(), 1u);
  EXPECT_EQ(link.trace_id().size, 16u);
}

TEST_F(SpanTest, TakesCallsWhenItIsFull) {
  options_.record_size_limit = 400;
  Begin();
  size_t count = 0;
  // The last attribute leaves any number of bytes.
  for (size_t size = 0; size < 300; ++size) {
    Span span = tracer_.StartSpan("a");
    span.SetAttribute("k", std::string(size, 'x'));
    for (int i = 0; i < 40; ++i)
      span.UpdateName(std::string(200, 'n'));
    for (int i = 0; i < 40; ++i)
      span.SetAttribute("other", i).SetStatus(StatusCode::kError, "why");
    span.AddEvent("event", {{"k", 1}});
    ++count;
  }
  for (const std::string& bytes : Spans()) {
    const Decoded span(bytes);
    EXPECT_LE(bytes.size(), 512u);
    EXPECT_NE(span.trace_id().size, 0u);
    ProtoDecoder decoder(bytes.data(), bytes.size());
    while (decoder.ReadField()) {
    }
    EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
    --count;
  }
  EXPECT_EQ(count, 0u);
}

TEST_F(SpanTest, GrowsAndIsBounded) {
  options_.record_size_limit = 100000;
  Begin();
  const std::string large(40000, 'x'), too_large(100001, 'y');
  {
    Span span = tracer_.StartSpan(std::string(1000, 'n'));
    for (int i = 0; i < 20; ++i)
      span.SetAttribute("small" + std::to_string(i), std::string(100, 'z'));
    span.SetAttribute("a", large).SetAttribute("b", too_large);
    span.AddEvent("e", {{"c", large}});
    span.AddEvent("e", {{"d", large}});
    span.SetStatus(StatusCode::kError, large);
    span.UpdateName(too_large);
  }
  const std::string bytes = OnlySpan();
  const Decoded span(bytes);
  const auto attributes = Attributes(bytes);
  EXPECT_EQ(attributes.size(), 21u);
  EXPECT_EQ(attributes.at("a"), large);
  EXPECT_EQ(span.dropped_events_count(), 1u);
  EXPECT_LE(bytes.size(), 100100u);
  // The attribute, the description, and the rest of the name.
  EXPECT_EQ(span.dropped_attributes_count(), 3u);
  EXPECT_EQ(span.name().data[0], 'y');
  const otlp_schema::Status::Decoder status(span.status());
  EXPECT_EQ(static_cast<int>(status.code()), 2);
}

TEST_F(SpanTest, FollowsTheRulesOfStatus) {
  Begin();
  Span span = tracer_.StartSpan("a");
  span.SetStatus(StatusCode::kError, "first");
  span.SetStatus(StatusCode::kUnset);
  span.End();
  span = tracer_.StartSpan("b");
  span.SetStatus(StatusCode::kError, "first");
  span.SetStatus(StatusCode::kOk, "is not written");
  span.SetStatus(StatusCode::kError, "later");
  span.End();
  span = tracer_.StartSpan("c");
  span.SetStatus(StatusCode::kError, "first");
  span.SetStatus(StatusCode::kError);
  span.End();
  tracer_.StartSpan("d");
  std::string codes;
  for (const std::string& bytes : Spans()) {
    const otlp_schema::Status::Decoder status(Decoded(bytes).status());
    codes += std::to_string(static_cast<int>(status.code())) + " " +
             status.message().ToStdString() + ",";
  }
  EXPECT_EQ(codes, "2 first,1 ,2 ,0 ,");
}

// A program may cast any number. The message stays whole.
TEST_F(SpanTest, SurvivesNumbersThatAreNoEnumeration) {
  Begin();
  tracer_.StartSpan("a", static_cast<SpanKind>(255))
      .SetStatus(static_cast<StatusCode>(255), "text");
  const std::string bytes = OnlySpan();
  const Decoded decoded(bytes);
  EXPECT_EQ(decoded.status().size, 0u);
  EXPECT_EQ(decoded.name().ToStdString(), "a");
  EXPECT_EQ(static_cast<int>(decoded.kind()), 127);
}

TEST_F(SpanTest, HasEventsOfExceptions) {
  Begin();
  {
    Span span = tracer_.StartSpan("a");
    span.RecordException(std::runtime_error("broken"));
    span.AddEvent("at", {}, 123);
  }
  const std::string bytes = OnlySpan();
  auto events = Decoded(bytes).events();
  const otlp_schema::Span_Event::Decoder first(*events);
  EXPECT_EQ(first.name().ToStdString(), "exception");
  size_t count = 0;
  auto attributes = AttributesOf(first.attributes(), &count);
  EXPECT_EQ(attributes["exception.message"], "broken");
#if defined(__cpp_rtti)
  EXPECT_EQ(attributes["exception.type"], "std::runtime_error");
#else
  EXPECT_EQ(attributes["exception.type"], "std::exception");
#endif
  const otlp_schema::Span_Event::Decoder second(*++events);
  EXPECT_EQ(second.time_unix_nano(), 123u);
}

TEST_F(SpanTest, EndsOnce) {
  Begin();
  Span first = tracer_.StartSpan("a");
  Span second = std::move(first);
  EXPECT_TRUE(second.IsRecording());
  EXPECT_FALSE(first.IsRecording());
  first.End();
  second.SetAttribute("k", 1);
  second.End();
  second.End();
  second.SetAttribute("k", 2).AddEvent("late");
  second.UpdateName("late");
  second.SetStatus(StatusCode::kError);
  const std::string bytes = OnlySpan();
  EXPECT_EQ(Attributes(bytes).at("k"), "1");
  EXPECT_EQ(pipeline_->Spans().written, 1u);
  Span third = tracer_.StartSpan("b");
  third = tracer_.StartSpan("c");
  EXPECT_EQ(Spans().size(), 2u);
}

TEST_F(SpanTest, EndsInAnyOrderAndOnAnotherThread) {
  Begin();
  std::vector<Span> spans;
  for (int i = 0; i < 100; ++i)
    spans.push_back(tracer_.StartSpan(std::to_string(i)));
  std::thread other([&spans] {
    for (size_t i = 1; i < 100; i += 2)
      spans[99 - i].SetAttribute("k", i).End();
  });
  other.join();
  for (size_t i = 0; i < 100; i += 2)
    spans[99 - i].End();
  EXPECT_EQ(Spans().size(), 100u);
  // The thread uses the slots again that the other one has given back.
  spans.clear();
  for (int i = 0; i < 100; ++i)
    spans.push_back(tracer_.StartSpan("again"));
  spans.clear();
  EXPECT_EQ(Spans().size(), 200u);
}

TEST_F(SpanTest, TimesAreThoseOfTheCaller) {
  Begin();
  SpanOptions options;
  options.start_unix_time_ns = 1000;
  tracer_.StartSpan("a", options).End(3000);
  tracer_.StartSpan("b", options).End(10);
  const auto spans = Spans();
  EXPECT_EQ(Decoded(spans[0]).start_time_unix_nano(), 1000u);
  EXPECT_EQ(Decoded(spans[0]).end_time_unix_nano(), 3000u);
  EXPECT_EQ(Decoded(spans[1]).end_time_unix_nano(), 1000u);
}

TEST_F(SpanTest, TimesAreUnixTimes) {
  Begin();
  const auto now = [] {
    timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
           static_cast<uint64_t>(time.tv_nsec);
  };
  // Enough time for lines of the counter to end.
  constexpr uint64_t kSecond = 1000000000;
  const uint64_t begin = now();
  while (now() - begin < kSecond / 5) {
    tracer_.StartSpan("a");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const uint64_t end = now();
  uint64_t last = begin - kSecond;
  for (const std::string& bytes : Spans()) {
    EXPECT_GE(Decoded(bytes).start_time_unix_nano() + kSecond / 10, last);
    EXPECT_GE(Decoded(bytes).end_time_unix_nano(),
              Decoded(bytes).start_time_unix_nano());
    last = Decoded(bytes).end_time_unix_nano();
  }
  EXPECT_LE(last, end + kSecond);
}

TEST_F(SpanTest, NumbersOfEverySizeAreRight) {
  options_.attribute_count_limit = 200;
  Begin();
  std::map<std::string, std::string> wanted;
  {
    Span span = tracer_.StartSpan("numbers");
    for (int bits = 0; bits < 64; ++bits) {
      const int64_t value = static_cast<int64_t>(UINT64_MAX >> bits);
      const std::string key = "key" + std::to_string(bits);
      span.SetAttribute(key, value);
      wanted[key] = std::to_string(value);
    }
  }
  EXPECT_EQ(Attributes(OnlySpan()), wanted);
}

TEST_F(SpanTest, RepairsWhatIsNotUtf8) {
  Begin();
  {
    Span span = tracer_.StartSpan("n\xff");
    span.SetAttribute("k\x80", "\xc0\xaf").SetAttribute("k?", "\xed\xa0\x80!");
    span.SetAttribute("good", "\xf0\x9f\x98\x80\xe2\x82\xac");
    span.SetAttribute("cut", "abc\xe2\x82");
    span.SetStatus(StatusCode::kError, "\xf5");
  }
  const std::string bytes = OnlySpan();
  const auto attributes = Attributes(bytes);
  EXPECT_EQ(Decoded(bytes).name().ToStdString(), "n?");
  EXPECT_EQ(attributes.at("k?"), std::string(3, '?') + "!");
  EXPECT_EQ(attributes.at("good"), "\xf0\x9f\x98\x80\xe2\x82\xac");
  EXPECT_EQ(attributes.at("cut"), "abc" + std::string(2, '?'));
  EXPECT_EQ(attributes.size(), 3u);
  EXPECT_EQ(pipeline_->Spans().repaired_texts, 6u);
}

TEST_F(SpanTest, HasTheParentThatIsCurrentOrGiven) {
  Begin();
  const auto remote = SpanContext::FromHeaders(
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=1");
  Span server = tracer_.StartSpan("server", SpanKind::kServer, *remote);
  {
    const Scope scope(server.context());
    Span child = tracer_.StartSpan("child");
    EXPECT_EQ(child.context().trace_id, remote->trace_id);
    EXPECT_EQ(child.context().trace_state.Text(), "a=1");
    tracer_.StartSpan("grandchild", SpanKind::kClient, child.context());
    Span root = tracer_.StartSpan("root", SpanKind::kInternal, SpanContext());
    EXPECT_NE(root.context().trace_id, remote->trace_id);
    EXPECT_TRUE(root.context().trace_state.empty());
  }
  server.End();
  std::map<std::string, std::string> by_name;
  for (const std::string& bytes : Spans())
    by_name[Decoded(bytes).name().ToStdString()] = bytes;
  const Decoded decoded(by_name["server"]), child(by_name["child"]);
  EXPECT_EQ(decoded.flags(), 0x301u);
  EXPECT_EQ(child.flags(), 0x101u);
  EXPECT_EQ(decoded.trace_state().ToStdString(), "a=1");
  EXPECT_EQ(child.parent_span_id().ToStdString(),
            decoded.span_id().ToStdString());
  EXPECT_EQ(Decoded(by_name["grandchild"]).parent_span_id().ToStdString(),
            child.span_id().ToStdString());
  EXPECT_EQ(Decoded(by_name["root"]).parent_span_id().size, 0u);
}

TEST_F(SpanTest, IsSampledAsTheSamplerSays) {
  options_.sampler = Sampler::ParentBased(Sampler::AlwaysOff());
  Begin();
  Span root = tracer_.StartSpan("root");
  EXPECT_FALSE(root.IsRecording());
  EXPECT_TRUE(root.context().IsValid());
  EXPECT_FALSE(root.context().IsSampled());
  EXPECT_EQ(root.context().TraceParent().substr(53), "00");
  SpanContext sampled(root.context().trace_id, root.context().span_id, 1);
  EXPECT_TRUE(tracer_.StartSpan("a", SpanKind::kServer, sampled).IsRecording());
  EXPECT_EQ(Spans().size(), 1u);
}

TEST(SamplerTest, RatioIsAboutThatShareAndDependsOnTheIdOnly) {
  const Sampler sampler = Sampler::Ratio(0.25);
  int sampled = 0;
  uint64_t random = 1;
  for (int i = 0; i < 10000; ++i) {
    TraceId id;
    for (uint8_t& byte : id.bytes) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<uint8_t>(random >> 56);
    }
    sampled += sampler.IsSampled(id, nullptr);
    EXPECT_EQ(sampler.IsSampled(id, nullptr), sampler.IsSampled(id, nullptr));
    EXPECT_TRUE(Sampler::Ratio(1).IsSampled(id, nullptr));
    EXPECT_FALSE(Sampler::Ratio(0).IsSampled(id, nullptr));
    EXPECT_FALSE(Sampler::Ratio(-1).IsSampled(id, nullptr));
    EXPECT_FALSE(Sampler::Ratio(std::nan("")).IsSampled(id, nullptr));
  }
  EXPECT_NEAR(sampled, 2500, 250);
}

TEST_F(SpanTest, IsNoneWhileTracingIsOff) {
  Begin();
  pipeline_->SetEnabled(false);
  Span span = tracer_.StartSpan("a");
  EXPECT_FALSE(span.IsRecording());
  EXPECT_FALSE(span.context().IsValid());
  span.SetAttribute("a", 1).AddEvent("b");
  pipeline_->SetEnabled(true);
  EXPECT_TRUE(tracer_.StartSpan("a").IsRecording());
  EXPECT_FALSE(Tracer().StartSpan("a").IsRecording());
}

TEST_F(SpanTest, LogsHaveTheIdsOfTheCurrentSpan) {
  Begin();
  const Logger logger(*pipeline_, "logger");
  {
    Span span = tracer_.StartSpan("a");
    const Scope scope(span.context());
    LogOptions options;
    options.severity_text = "W";
    options.event_name = "retried";
    options.unix_time_ns = 5;
    Log(logger, Severity::kWarn, "text", options).SetAttribute("n", 3);
  }
  Log(logger, Severity::kInfo, 42);
  Log(Logger(), Severity::kInfo, "nowhere");
  const std::string span = OnlySpan();
  const auto logs = sink_.logs();
  ASSERT_EQ(logs.size(), 2u);
  const otlp_schema::LogRecord::Decoder first(logs[0]), second(logs[1]);
  EXPECT_EQ(first.trace_id().ToStdString(),
            Decoded(span).trace_id().ToStdString());
  EXPECT_EQ(first.span_id().ToStdString(),
            Decoded(span).span_id().ToStdString());
  EXPECT_EQ(first.flags(), 1u);
  EXPECT_EQ(first.time_unix_nano(), 5u);
  EXPECT_GT(first.observed_time_unix_nano(), 5u);
  EXPECT_EQ(first.severity_number(), 13);
  EXPECT_EQ(first.severity_text().ToStdString(), "W");
  EXPECT_EQ(first.event_name().ToStdString(), "retried");
  const otlp_schema::AnyValue::Decoder body(first.body());
  EXPECT_EQ(body.string_value().ToStdString(), "text");
  size_t count = 0;
  EXPECT_EQ(AttributesOf(first.attributes(), &count)["n"], "3");
  EXPECT_EQ(otlp_schema::AnyValue::Decoder(second.body()).int_value(), 42);
  EXPECT_EQ(second.trace_id().size, 0u);
  EXPECT_EQ(pipeline_->Logs().exported, 2u);
}

}  // namespace
}  // namespace protozero::otlp
