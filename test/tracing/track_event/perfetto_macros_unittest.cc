// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests code that is written for Perfetto's SDK; only the includes are ours.

#include "protozero/tracing/perfetto_macros.h"

#include <stdint.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protozero/testing/trace_matchers.h"
#include "protozero/tracing/local_trace.h"
#include "test/tracing/track_event/trace_reader.h"

PERFETTO_DEFINE_CATEGORIES(
    perfetto::Category("pm").SetDescription("Ordinary things"),
    perfetto::Category("pm.slow").SetDescription("Rare").SetTags("slow", "big"),
    perfetto::Category::Group("pm,pm.slow"));

PERFETTO_TRACK_EVENT_STATIC_STORAGE();

PERFETTO_DEFINE_CATEGORIES_IN_NAMESPACE(
    pm_library,
    perfetto::Category("pm.library").SetTags("slow"));
PERFETTO_TRACK_EVENT_STATIC_STORAGE_IN_NAMESPACE(pm_library);
PERFETTO_USE_CATEGORIES_FROM_NAMESPACE(pm_library);

namespace perfetto_macros {
namespace {

using protozero::trace_testing::Exactly;
using protozero::trace_testing::Never;
using protozero::trace_testing::Record;
using protozero::trace_testing::RecordedTrace;

int g_evaluations = 0;
int Evaluate() {
  return ++g_evaluations;
}

// Returns the trace of |code|.
template <typename Code>
ReadTrace Trace(Code code) {
  std::string bytes;
  protozero::LocalTrace::Options options;
  options.sink = [&](const uint8_t* data, size_t size) {
    bytes.append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  protozero::LocalTrace trace(std::move(options));
  code();
  EXPECT_TRUE(trace.Stop()) << trace.error();
  ReadTrace read = Read(bytes);
  EXPECT_EQ(read.errors, std::vector<std::string>());
  return read;
}

using Strings = std::vector<std::string>;

TEST(PerfettoMacrosTest, SlicesAndInstants) {
  const uint64_t then = protozero::TraceTimeNs() - 1000000;
  const ReadTrace read = Trace([&] {
    TRACE_EVENT("pm", "outer", "key", 1, "text", std::string("value"));
    {
      TRACE_EVENT("pm", "inner");
      if (then != 0)
        TRACE_EVENT_INSTANT("pm", "instant", "flag", true, "ratio", 0.5);
    }
    TRACE_EVENT_BEGIN("pm", "split", perfetto::Track(7), then, "key", 42);
    TRACE_EVENT_END("pm", perfetto::Track(7), then + 1000);
    TRACE_EVENT_INSTANT("pm", "early", then);
    TRACE_EVENT_BEGIN("pm", perfetto::DynamicString{std::string("made")});
    TRACE_EVENT_END("pm");
    perfetto::DynamicCategory category{"pm.dynamic"};
    TRACE_EVENT_INSTANT(category, "dynamic");
  });
  ASSERT_EQ(read.events.size(), 11u);
  EXPECT_EQ(read.Named("outer").at(0).args, (Strings{"key=1", "text='value'"}));
  EXPECT_EQ(read.Named("outer").at(0).categories, Strings{"pm"});
  EXPECT_EQ(read.Named("instant").at(0).args.size(), 2u);
  const ReadEvent split = read.Named("split").at(0);
  EXPECT_EQ(split.time, then);
  EXPECT_EQ(split.args, Strings{"key=42"});
  const auto end =
      std::find_if(read.events.begin(), read.events.end(),
                   [](const ReadEvent& event) { return event.type == 2; });
  EXPECT_EQ(read.Named("early").at(0).time, then);
  EXPECT_EQ(read.Named("made").size(), 1u);
  EXPECT_EQ(read.Named("dynamic").at(0).categories, Strings{"pm.dynamic"});
  bool has_ended = false;
  for (const ReadEvent& event : read.events)
    has_ended |= event.track == split.track && event.time == then + 1000;
  EXPECT_TRUE(has_ended);
  EXPECT_NE(end, read.events.end());
}

TEST(PerfettoMacrosTest, FunctionsNameEventsOfNoName) {
  EXPECT_TRUE(perfetto::TrackEvent::Register());
  const ReadTrace read = Trace([] {
    for (const char* name : {"first", "second"}) {
      TRACE_EVENT("pm", nullptr, [&](perfetto::EventContext context) {
        context.event()->set_name(name);
      });
      TRACE_EVENT_INSTANT("pm", nullptr, "key", 1);
    }
    TRACE_EVENT_INSTANT(perfetto::DynamicCategory{"pm.dynamic"}, nullptr);
  });
  EXPECT_EQ(read.Named("first").size(), 1u);
  EXPECT_EQ(read.Named("second").size(), 1u);
  EXPECT_EQ(read.Named("").size(), 5u);  // Two of them are the slices' ends.
}

TEST(PerfettoMacrosTest, FunctionsComeLast) {
  const ReadTrace read = Trace([] {
    TRACE_EVENT("pm", "slice", "key", 1, [&](perfetto::EventContext ctx) {
      ctx.event()->set_correlation_id(7);
      ctx.AddDebugAnnotation("more", 2);
    });
    TRACE_EVENT_INSTANT("pm", "nested", "value",
                        [](perfetto::TracedValue context) {
                          auto dict = std::move(context).WriteDictionary();
                          dict.Add("a", 1);
                          dict.Add("b", "text");
                        });
    TRACE_EVENT_INSTANT("pm", "list", "value",
                        [](perfetto::TracedValue context) {
                          auto array = std::move(context).WriteArray();
                          array.Append(1);
                          array.Append(2);
                        });
    TRACE_EVENT_INSTANT("pm", "number", "value",
                        [](perfetto::TracedValue context) {
                          std::move(context).WriteInt64(-3);
                        });
  });
  EXPECT_EQ(read.Named("slice").at(0).correlation, "7");
  EXPECT_EQ(read.Named("slice").at(0).args, (Strings{"key=1", "more=2"}));
  EXPECT_EQ(read.Named("nested").at(0).args, Strings{"value={a=1,b='text'}"});
  EXPECT_EQ(read.Named("list").at(0).args, Strings{"value=[1,2]"});
  EXPECT_EQ(read.Named("number").at(0).args, Strings{"value=-3"});
}

TEST(PerfettoMacrosTest, TracksAndFlows) {
  int object = 0;
  const ReadTrace read = Trace([&] {
    TRACE_EVENT_INSTANT("pm", "named", perfetto::NamedTrack("a track", 3));
    TRACE_EVENT_INSTANT("pm", "pointer", perfetto::Track::FromPointer(&object));
    TRACE_EVENT_INSTANT("pm", "global", perfetto::Track::Global(5));
    TRACE_EVENT_INSTANT("pm", "process", perfetto::ProcessTrack::Current());
    TRACE_EVENT_INSTANT("pm", "thread", perfetto::ThreadTrack::Current());
    const perfetto::Track parent(11);
    TRACE_EVENT_INSTANT("pm", "child", perfetto::Track(12, parent));
    TRACE_EVENT_INSTANT("pm", "from", perfetto::Flow::ProcessScoped(1),
                        perfetto::Flow::Global(2),
                        perfetto::Flow::FromPointer(&object));
    TRACE_EVENT_INSTANT("pm", "to", perfetto::TerminatingFlow::ProcessScoped(1),
                        perfetto::TerminatingFlow::Global(2),
                        perfetto::TerminatingFlow::FromPointer(&object));
  });
  EXPECT_EQ(read.tracks.at(read.Named("named").at(0).track).name, "a track");
  EXPECT_EQ(read.Named("global").at(0).track,
            protozero::Track(5, protozero::Track::kNobody).uuid());
  EXPECT_EQ(read.Named("process").at(0).track,
            protozero::Track::Process().uuid());
  EXPECT_EQ(read.Named("thread").at(0).track,
            protozero::Track::Thread().uuid());
  EXPECT_EQ(read.tracks.at(read.Named("child").at(0).track).parent,
            protozero::Track(11).uuid());
  EXPECT_EQ(read.Named("from").at(0).flows.size(), 3u);
  EXPECT_EQ(read.Named("from").at(0).flows,
            read.Named("to").at(0).terminating_flows);
}

TEST(PerfettoMacrosTest, Counters) {
  const uint64_t then = protozero::TraceTimeNs() - 1000000;
  const ReadTrace read = Trace([&] {
    TRACE_COUNTER("pm", "counter", 7);
    TRACE_COUNTER("pm", "counter", then, 8);
    TRACE_COUNTER("pm", perfetto::CounterTrack("load", "jobs"), 0.5);
    TRACE_COUNTER("pm", perfetto::CounterTrack("load", "jobs"), then, 1.5);
  });
  ASSERT_EQ(read.events.size(), 4u);
  Strings values;
  for (const ReadEvent& event : read.events)
    values.push_back(event.value);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, (Strings{"0.500000", "1.500000", "7", "8"}));
  int num_early = 0;
  for (const ReadEvent& event : read.events) {
    num_early += event.time == then;
    EXPECT_TRUE(read.tracks.at(event.track).is_counter);
    EXPECT_EQ(event.type, 4);
  }
  EXPECT_EQ(num_early, 2);
}

TEST(PerfettoMacrosTest, CategoriesAreChosen) {
  EXPECT_FALSE(TRACE_EVENT_CATEGORY_ENABLED("pm"));
  const auto code = [] {
    TRACE_EVENT("pm", "plain", "key", Evaluate());
    TRACE_EVENT("pm.slow", "slow", "key", Evaluate());
  };
  code();
  EXPECT_EQ(g_evaluations, 0);
  EXPECT_THAT(Record(code), Never("slow"));
  EXPECT_EQ(g_evaluations, 1);
  const RecordedTrace slow = Record({"pm.slow"}, [&] {
    EXPECT_FALSE(TRACE_EVENT_CATEGORY_ENABLED("pm"));
    EXPECT_TRUE(TRACE_EVENT_CATEGORY_ENABLED("pm.slow"));
    code();
  });
  EXPECT_THAT(slow, Never("plain"));
  EXPECT_THAT(slow, Exactly(1, "slow"));
  const auto in_library = [] { TRACE_EVENT("pm.library", "library"); };
  EXPECT_THAT(Record(in_library), Never("library"));
  EXPECT_THAT(Record({"pm.library"}, in_library), Exactly(1, "library"));
}

}  // namespace
}  // namespace perfetto_macros
