// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/track_event.h"
#include "protozero/testing/trace_matchers.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/task.h"
#include "test/testing/allocation_monitor.h"
#include "test/tracing/track_event/trace_reader.h"

// The service's part and the producer's are in one process here, with the
// memory mapped twice: see ipc_testing.cc. A child process has threads of its
// own.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race_top:protozero::SharedMemoryArbiter::QueueFinishedChunk\n";
}
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0";
}

PROTOZERO_TRACE_CATEGORY("te.slow", "Seldom wanted", "slow");
PROTOZERO_TRACE_CATEGORY("te.tagged", "Tagged", "net io");

namespace {

using protozero::CounterTrack;
using protozero::DynamicCategory;
using protozero::DynamicString;
using protozero::Flow;
using protozero::LocalTrace;
using protozero::TerminatingFlow;
using protozero::TraceValue;
using protozero::Track;
using protozero::trace_testing::Exactly;
using protozero::trace_testing::Record;
using Event = protozero::trace::TrackEvent;

// A session whose trace is kept in memory.
class Session {
 public:
  explicit Session(LocalTrace::Options options = {}) {
    options.sink = [this](const uint8_t* data, size_t size) {
      bytes_.append(reinterpret_cast<const char*>(data), size);
      return true;
    };
    trace_.reset(new LocalTrace(std::move(options)));
    EXPECT_EQ(trace_->error(), "");
  }
  explicit Session(const std::string& categories)
      : Session([&] {
          LocalTrace::Options options;
          options.categories = categories;
          return options;
        }()) {}

  // Returns the trace without the service's own events.
  ReadTrace Finish() {
    EXPECT_TRUE(trace_->Stop()) << trace_->error();
    Keep();
    ReadTrace read = Read(bytes_);
    EXPECT_EQ(read.errors, std::vector<std::string>());
    return read;
  }
  LocalTrace& trace() { return *trace_; }
  const std::string& bytes() const { return bytes_; }

 private:
  // Keeps the trace for official_schema_test.py.
  void Keep() const {
    const char* const folder = getenv("PROTOZERO_TRACES_DIR");
    if (folder == nullptr)
      return;
    static int count = 0;
    const auto* const test =
        testing::UnitTest::GetInstance()->current_test_info();
    const std::string path = std::string(folder) + "/" + test->name() + "_" +
                             std::to_string(count++) + ".pftrace";
    FILE* const file = fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(fwrite(bytes_.data(), 1, bytes_.size(), file), bytes_.size());
    fclose(file);
  }

  std::string bytes_;
  std::unique_ptr<LocalTrace> trace_;
};

int g_evaluations = 0;
int Evaluate() {
  return ++g_evaluations;
}

TEST(TrackEventTest, WhatIsOffEvaluatesNothing) {
  g_evaluations = 0;
  for (int i = 0; i < 3; ++i) {
    PROTOZERO_TRACE_EVENT("te", "off", "value", Evaluate());
    PROTOZERO_TRACE_EVENT_INSTANT("te",
                                  DynamicString(std::to_string(Evaluate())));
    PROTOZERO_TRACE_COUNTER("te", "counter", Evaluate());
    PROTOZERO_TRACE_EVENT_BEGIN("te", "off", [](Event*) { Evaluate(); });
    PROTOZERO_TRACE_EVENT_END("te", "value", Evaluate());
  }
  EXPECT_EQ(g_evaluations, 0);
  EXPECT_FALSE(PROTOZERO_TRACE_CATEGORY_ENABLED("te"));
}

void AllKinds() {
  PROTOZERO_TRACE_EVENT("te", "outer", "answer", 42);
  PROTOZERO_TRACE_EVENT("te", "inner");
  PROTOZERO_TRACE_EVENT_INSTANT("te", "instant", "a", -1, "b", 2u, "c", 0.5,
                                "d", true, "e", "text");
}

TEST(TrackEventTest, SlicesNestAndInstantsHaveValues) {
  Session session;
  for (int i = 0; i < 2; ++i)
    AllKinds();
  const ReadTrace read = session.Finish();
  ASSERT_EQ(read.events.size(), 10u);
  for (size_t i = 0; i < 10; i += 5) {
    EXPECT_EQ(read.events[i].name, "outer");
    EXPECT_EQ(read.events[i].type, Event::TYPE_SLICE_BEGIN);
    EXPECT_EQ(read.events[i].categories, std::vector<std::string>{"te"});
    EXPECT_EQ(read.events[i].args, std::vector<std::string>{"answer=42"});
    EXPECT_EQ(read.events[i + 1].name, "inner");
    EXPECT_EQ(read.events[i + 1].args.size(), 0u);
    EXPECT_EQ(read.events[i + 2].type, Event::TYPE_INSTANT);
    EXPECT_EQ(read.events[i + 2].args,
              (std::vector<std::string>{"a=-1", "b=2u", "c=0.5", "d=true",
                                        "e='text'"}));
    EXPECT_EQ(read.events[i + 3].type, Event::TYPE_SLICE_END);
    EXPECT_EQ(read.events[i + 4].type, Event::TYPE_SLICE_END);
  }
  const ReadTrack& track = read.tracks.at(read.events[0].track);
  EXPECT_EQ(track.pid, getpid());
  EXPECT_EQ(track.tid, getpid());
  EXPECT_EQ(read.tracks.at(track.parent).pid, getpid());
  EXPECT_NE(read.tracks.at(track.parent).process_name, "");
}

enum Color { kGreen = 3 };
enum class Size : uint8_t { kLarge = 7 };

TEST(TrackEventTest, ValuesOfAllTypes) {
  Session session;
  const std::string text = "a string";
  const char* const pointer_to_text = "pointed to";
  const char* const no_text = nullptr;
  const std::vector<int> numbers = {1, 2, 3};
  const std::map<std::string, std::vector<std::string>> map = {
      {"x", {"1", "2"}}, {"y", {}}};
  int object = 0;
  PROTOZERO_TRACE_EVENT_INSTANT("te", "strings", "s", text, "p",
                                pointer_to_text, "n", no_text, "v",
                                std::string_view("view"));
  PROTOZERO_TRACE_EVENT_INSTANT("te", "numbers", "i8", int8_t{-8}, "u64",
                                UINT64_MAX, "f", 0.25f, "c", kGreen, "s",
                                Size::kLarge, "i64", INT64_MIN);
  PROTOZERO_TRACE_EVENT_INSTANT("te", "pointers", "null", nullptr, "void",
                                reinterpret_cast<void*>(0x1234), "object",
                                &object);
  PROTOZERO_TRACE_EVENT_INSTANT("te", "ranges", "list", numbers, "map", map);
  PROTOZERO_TRACE_EVENT_INSTANT("te", "nested", "d", [&](TraceValue value) {
    auto dictionary = std::move(value).Dictionary();
    dictionary.Add("n", 1);
    dictionary.Add("list", numbers);
    dictionary.Add("deep", [](TraceValue deep) {
      auto array = std::move(deep).Array();
      array.Append("one");
      array.Append(2.5);
    });
  });
  PROTOZERO_TRACE_EVENT_INSTANT("te", "keys", DynamicString(text), 1, "literal",
                                2);
  const ReadTrace read = session.Finish();
  EXPECT_EQ(read.Named("strings").at(0).args,
            (std::vector<std::string>{"s='a string'", "p='pointed to'",
                                      "n='NULL'", "v='view'"}));
  EXPECT_EQ(
      read.Named("numbers").at(0).args,
      (std::vector<std::string>{"i8=-8", "u64=18446744073709551615u", "f=0.25",
                                "c=3u", "s=7u", "i64=-9223372036854775808"}));
  EXPECT_EQ(read.Named("pointers").at(0).args[0], "null=0x0");
  EXPECT_EQ(read.Named("pointers").at(0).args[1], "void=0x1234");
  EXPECT_EQ(
      read.Named("ranges").at(0).args,
      (std::vector<std::string>{"list=[1,2,3]", "map={x=['1','2'],y=[]}"}));
  EXPECT_EQ(read.Named("nested").at(0).args,
            std::vector<std::string>{"d={n=1,list=[1,2,3],deep=['one',2.5]}"});
  EXPECT_EQ(read.Named("keys").at(0).args,
            (std::vector<std::string>{"a string=1", "literal=2"}));
}

TEST(TrackEventTest, KeysOfMaps) {
  Session session;
  PROTOZERO_TRACE_EVENT_INSTANT(
      "te", "keys", "signed", std::map<int, int>{{-7, 1}, {0, 2}}, "extreme",
      std::map<int64_t, bool>{{INT64_MIN, true}}, "unsigned",
      std::map<uint64_t, const char*>{{UINT64_MAX, "most"}}, "enum",
      std::map<Size, std::map<Color, double>>{{Size::kLarge, {{kGreen, 0.5}}}},
      "bool", std::map<bool, int>{{false, 0}, {true, 1}}, "pointer",
      std::map<const char*, int>{{"p", 1}}, "hashed",
      std::unordered_map<std::string, std::vector<int>>{{"h", {1, 2}}});
  PROTOZERO_TRACE_EVENT_INSTANT(
      "te", "view", "pairs",
      (std::vector<std::pair<std::string_view, short>>{{"v", short{1}}}));
  const ReadTrace read = session.Finish();
  EXPECT_EQ(read.Named("keys").at(0).args,
            (std::vector<std::string>{
                "signed={-7=1,0=2}", "extreme={-9223372036854775808=true}",
                "unsigned={18446744073709551615='most'}", "enum={7={3=0.5}}",
                "bool={false=0,true=1}", "pointer={p=1}", "hashed={h=[1,2]}"}));
  EXPECT_EQ(read.Named("view").at(0).args,
            std::vector<std::string>{"pairs={v=1}"});
}

#define TWO_SLICES(category)                \
  PROTOZERO_TRACE_EVENT(category, "first"); \
  PROTOZERO_TRACE_EVENT(category, "second")

template <typename T>
inline void TraceOfTemplate(T value) {
  TWO_SLICES("te");
  PROTOZERO_TRACE_EVENT_INSTANT("te", "template", "n", value);
}

// It has to compile without a warning of -Wshadow.
TEST(TrackEventTest, SeveralEventsOfOneLineAndEventsWithinEvents) {
  Session session;
  {
    TWO_SLICES("te");
    TraceOfTemplate(1);
    PROTOZERO_TRACE_EVENT("te", "outer", "f", [](TraceValue value) {
      // This event is lost, because the thread is busy.
      PROTOZERO_TRACE_EVENT("te", "inner", "g", [](TraceValue inner) {
        PROTOZERO_TRACE_EVENT_INSTANT("te", "innermost");
        std::move(inner).Set(1);
      });
      std::move(value).Set(PROTOZERO_TRACE_CATEGORY_ENABLED("te"));
    });
  }
  const ReadTrace read = session.Finish();
  EXPECT_EQ(read.Named("first").size(), 2u);
  EXPECT_EQ(read.Named("second").size(), 2u);
  EXPECT_EQ(read.Named("outer").at(0).args, std::vector<std::string>{"f=true"});
  EXPECT_EQ(read.events.size(), 11u);
}

TEST(TrackEventTest, FieldsOfTheSchemaByAFunction) {
  Session session;
  for (int i = 0; i < 2; ++i) {
    PROTOZERO_TRACE_EVENT_INSTANT("te", "function", "key", i,
                                  [&](Event* event) {
                                    event->add_extra_counter_values(i);
                                    event->set_correlation_id(77);
                                  });
  }
  const ReadTrace read = session.Finish();
  ASSERT_EQ(read.Named("function").size(), 2u);
  EXPECT_EQ(read.Named("function")[1].correlation, "77");
  EXPECT_EQ(read.Named("function")[1].args, std::vector<std::string>{"key=1"});
}

TEST(TrackEventTest, NamesAndCategoriesMadeAtRunTime) {
  Session session("te,run.*");
  for (int i = 0; i < 2; ++i) {
    PROTOZERO_TRACE_EVENT("te", DynamicString("name " + std::to_string(i)), "n",
                          i);
    PROTOZERO_TRACE_EVENT_INSTANT(DynamicCategory("run." + std::to_string(i)),
                                  "literal");
    PROTOZERO_TRACE_EVENT(DynamicCategory("not wanted"), "not wanted");
  }
  const ReadTrace read = session.Finish();
  EXPECT_EQ(read.Named("name 0").size(), 1u);
  EXPECT_EQ(read.Named("name 1").at(0).args, std::vector<std::string>{"n=1"});
  EXPECT_EQ(read.Named("name 1").at(0).categories,
            std::vector<std::string>{"te"});
  ASSERT_EQ(read.Named("literal").size(), 2u);
  EXPECT_EQ(read.Named("literal")[1].categories,
            std::vector<std::string>{"run.1"});
  EXPECT_EQ(read.Named("not wanted").size(), 0u);
  EXPECT_EQ(read.events.size(), 6u);
}

TEST(TrackEventTest, ListsOfCategories) {
  Session session("te.one");
  PROTOZERO_TRACE_EVENT_INSTANT("te.one,te.two", "both");
  PROTOZERO_TRACE_EVENT_INSTANT("te.two,te.three", "none");
  const ReadTrace read = session.Finish();
  ASSERT_EQ(read.events.size(), 1u);
  EXPECT_EQ(read.events[0].categories,
            (std::vector<std::string>{"te.one", "te.two"}));
}

TEST(TrackEventTest, Tracks) {
  Session session;
  static constexpr Track kQueue("queue");
  static constexpr Track kPart("part", 1, kQueue);
  for (uint64_t i = 1; i <= 2; ++i) {
    PROTOZERO_TRACE_EVENT_BEGIN("te", "async", Track(i), "i", i);
    PROTOZERO_TRACE_EVENT_BEGIN("te", "queued", kPart);
    PROTOZERO_TRACE_EVENT_INSTANT("te", "global",
                                  Track("all", 0, Track::kNobody));
    PROTOZERO_TRACE_EVENT_INSTANT("te", "process", Track::Process());
    PROTOZERO_TRACE_EVENT_INSTANT("te", "thread", Track::Thread());
    PROTOZERO_TRACE_EVENT_INSTANT(
        "te", "of thread",
        Track("mine", 0, Track::kThread).set_description("what it is"));
    PROTOZERO_TRACE_EVENT_END("te", kPart);
    PROTOZERO_TRACE_EVENT_END("te", Track(i));
  }
  const ReadTrace read = session.Finish();
  ASSERT_EQ(read.events.size(), 16u);
  EXPECT_NE(read.Named("async")[0].track, read.Named("async")[1].track);
  EXPECT_EQ(read.events[0].track, read.events[7].track);
  const ReadTrack& part = read.tracks.at(read.Named("queued")[0].track);
  EXPECT_EQ(part.name, "part");
  EXPECT_EQ(read.tracks.at(part.parent).name, "queue");
  EXPECT_EQ(read.tracks.at(read.tracks.at(part.parent).parent).pid, getpid());
  EXPECT_EQ(read.tracks.at(read.Named("global")[0].track).parent, 0u);
  EXPECT_EQ(read.tracks.at(read.Named("process")[0].track).tid, 0);
  EXPECT_EQ(read.tracks.at(read.Named("thread")[0].track).tid, getpid());
  const ReadTrack& mine = read.tracks.at(read.Named("of thread")[0].track);
  EXPECT_EQ(mine.description, "what it is");
  EXPECT_EQ(read.tracks.at(mine.parent).tid, getpid());
}

// Makes the system refuse gettid() to the calling thread from now on.
bool ForbidGettid() {
  sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(instructions), instructions};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
         syscall(SYS_gettid) == -1;
}

TEST(TrackEventTest, TracksOfThreadsAskForTheThreadOnce) {
  Session session;
  bool is_forbidden = false;
  std::thread thread([&] {
    for (int i = 0; i < 2; ++i) {
      PROTOZERO_TRACE_EVENT_INSTANT("te", "of thread",
                                    Track("mine", 0, Track::kThread));
      if (i == 0)
        is_forbidden = ForbidGettid();
    }
  });
  thread.join();
  if (!is_forbidden)
    GTEST_SKIP() << "no seccomp filter";
  const ReadTrace read = session.Finish();
  ASSERT_EQ(read.events.size(), 2u);
  EXPECT_EQ(read.events[0].track, read.events[1].track);
}

TEST(TrackEventTest, MoreTracksThanASequenceRemembers) {
  Session session;
  for (uint64_t i = 0; i < 1000; ++i)
    PROTOZERO_TRACE_EVENT_INSTANT("te", "one of many", Track(i % 300 + 1));
  EXPECT_EQ(session.Finish().events.size(), 1000u);
}

TEST(TrackEventTest, Counters) {
  Session session;
  static constexpr CounterTrack kLoad =
      CounterTrack("load").set_unit_name("jobs");
  for (int i = 0; i < 2; ++i) {
    PROTOZERO_TRACE_COUNTER("te", "bytes", -i);
    PROTOZERO_TRACE_COUNTER("te", kLoad, 0.5 + i);
    PROTOZERO_TRACE_COUNTER(
        "te", CounterTrack("size").set_unit(CounterTrack::Unit::kBytes),
        uint64_t{1} << 40);
  }
  PROTOZERO_TRACE_COUNTER("te", "large", uint64_t{1} << 63);
  const ReadTrace read = session.Finish();
  ASSERT_EQ(read.events.size(), 7u);
  EXPECT_EQ(read.events[6].value, "9223372036854775808.000000");
  EXPECT_EQ(read.events[3].value, "-1");
  EXPECT_EQ(read.events[4].value, "1.500000");
  EXPECT_EQ(read.events[5].value, "1099511627776");
  EXPECT_TRUE(read.tracks.at(read.events[0].track).is_counter);
  EXPECT_EQ(read.tracks.at(read.events[0].track).name, "bytes");
  EXPECT_EQ(read.tracks.at(read.events[1].track).unit_name, "jobs");
  EXPECT_EQ(read.tracks.at(read.events[2].track).unit, 3);
}

TEST(TrackEventTest, FlowsCorrelationAndLocation) {
  Session session;
  PROTOZERO_TRACE_EVENT_INSTANT("te", "from", Flow(1), Flow::Global(2));
  PROTOZERO_TRACE_EVENT_INSTANT("te", "to", TerminatingFlow(1),
                                protozero::CorrelationId("request 7"));
  PROTOZERO_TRACE_EVENT_INSTANT("te", "here", protozero::SourceLocation::Here(),
                                protozero::CorrelationId(7u));
  const uint64_t then = protozero::TraceTimeNs() - 1000000;
  PROTOZERO_TRACE_EVENT_INSTANT("te", "then", protozero::Timestamp(then));
  PROTOZERO_TRACE_EVENT_INSTANT("te", "zero", protozero::Timestamp(0));
  const ReadTrace read = session.Finish();
  const ReadEvent from = read.Named("from").at(0);
  const ReadEvent to = read.Named("to").at(0);
  ASSERT_EQ(from.flows.size(), 2u);
  EXPECT_EQ(from.flows[1], 2u);
  EXPECT_EQ(to.terminating_flows, std::vector<uint64_t>{from.flows[0]});
  EXPECT_EQ(to.correlation, "request 7");
  EXPECT_EQ(read.Named("here").at(0).correlation, "7");
  EXPECT_NE(read.Named("here").at(0).location.find("track_event_unittest.cc"),
            std::string::npos);
  EXPECT_EQ(read.Named("then").at(0).time, then);
  EXPECT_EQ(read.Named("zero").at(0).time, 0u);
}

TEST(TrackEventTest, SessionsChooseCategories) {
  const auto emit = [] {
    PROTOZERO_TRACE_EVENT("te.a", "a");
    PROTOZERO_TRACE_EVENT("te.b", "b");
    PROTOZERO_TRACE_EVENT_INSTANT("te.slow", "slow");
    PROTOZERO_TRACE_EVENT_INSTANT("disabled-by-default-te", "more");
    PROTOZERO_TRACE_EVENT_INSTANT("te.tagged", "tagged");
  };
  struct Case {
    std::string categories;
    size_t a, b, slow, more, tagged;
  };
  for (const Case& c : std::vector<Case>{{"", 1, 1, 0, 0, 1},
                                         {"te.a", 1, 0, 0, 0, 0},
                                         {"te.*", 1, 1, 0, 0, 1},
                                         {"-te.a", 0, 1, 0, 0, 1},
                                         {"te.*,-te.a", 0, 1, 0, 0, 1},
                                         {"te.slow", 0, 0, 1, 0, 0},
                                         {"*", 1, 1, 0, 0, 1}}) {
    SCOPED_TRACE(c.categories);
    Session session(c.categories);
    emit();
    const ReadTrace read = session.Finish();
    EXPECT_EQ(read.Named("a").size(), c.a);
    EXPECT_EQ(read.Named("b").size(), c.b);
    EXPECT_EQ(read.Named("slow").size(), c.slow);
    EXPECT_EQ(read.Named("more").size(), c.more);
    EXPECT_EQ(read.Named("tagged").size(), c.tagged);
  }
}

// A service that this program is connected to, like one of the system.
class SystemService {
 public:
  explicit SystemService(protozero::TracingService* service)
      : host_(service, HostOptions()) {
    std::string error;
    EXPECT_TRUE(host_.Listen(&error)) << error;
    thread_ = std::thread([this] { host_.Run(); });
    protozero::Producer::Options options;
    options.name = "unittest";
    options.socket = HostOptions().socket;
    producer_.reset(new protozero::Producer(options));
    producer_->RegisterDataSource(protozero::TrackEventDataSource());
    EXPECT_TRUE(producer_->Sync(30000)) << producer_->why_off();
  }
  ~SystemService() {
    producer_.reset();
    host_.Stop();
    thread_.join();
  }
  void Wakeup() { host_.Wakeup(); }

 private:
  static protozero::ServiceHost::Options HostOptions() {
    protozero::ServiceHost::Options options;
    options.socket = "@track_event_unittest_" + std::to_string(getpid());
    return options;
  }

  protozero::ServiceHost host_;
  std::thread thread_;
  std::unique_ptr<protozero::Producer> producer_;
};

TEST(TrackEventTest, ServicesLearnOfCategories) {
  const auto reach_site = [] {
    PROTOZERO_TRACE_EVENT_INSTANT("te.reached", "listed");
    PROTOZERO_TRACE_COUNTER("te.counted", "listed", 1);
    PROTOZERO_TRACE_EVENT_INSTANT("te.tagged", "listed");
  };
  reach_site();
  protozero::TracingService service;
  std::string bytes;
  service.SetDataSourceObserver(
      [&](const protozero::TracingService::ProducerInfo& producer,
          const protozero::DataSourceDescriptor& source) {
        EXPECT_EQ(producer.name, "unittest");
        EXPECT_EQ(source.name, "track_event");
        bytes = source.raw_fields;
      });
  {
    const SystemService connection(&service);
  }
  const protozero::trace::DataSourceDescriptor::Decoder descriptor(bytes);
  const protozero::trace::TrackEventDescriptor::Decoder events(
      descriptor.track_event_descriptor());
  std::multimap<std::string, std::string> categories;
  for (const protozero::ConstBytes entry : events.available_categories()) {
    const protozero::trace::TrackEventCategory::Decoder category(entry);
    std::string text = category.description().ToStdString();
    for (const protozero::ConstChars tag : category.tags())
      text += "/" + tag.ToStdString();
    categories.emplace(category.name().ToStdString(), text);
  }
  const auto of = [&](const std::string& name) {
    return categories.count(name) == 1 ? categories.find(name)->second
                                       : "not there once";
  };
  EXPECT_EQ(of("te.slow"), "Seldom wanted/slow");
  EXPECT_EQ(of("te.tagged"), "Tagged/net/io");
  EXPECT_EQ(of("te.reached"), "");
  EXPECT_EQ(of("te.counted"), "");
}

// Neither events nor tasks tell such a session what was named at run time.
TEST(TrackEventTest, NamesMadeAtRunTimeAreFiltered) {
  protozero::TracingService service;
  protozero::TraceConfig config;
  config.buffers.push_back({1 << 20});
  config.data_sources.emplace_back();
  auto& source = config.data_sources.back().config;
  source.name = "track_event";
  protozero::HeapBuffered<protozero::trace::DataSourceConfig> fields;
  fields->set_track_event_config()->set_filter_dynamic_event_names(true);
  source.raw_fields = fields.SerializeAsString();
  std::string error;
  const auto session = service.StartTracing(config, nullptr, &error);
  ASSERT_NE(session, 0u) << error;
  std::string bytes;
  {
    SystemService connection(&service);
    const std::string secret = "secret";
    PROTOZERO_TRACE_EVENT_INSTANT("te.b", protozero::DynamicString(secret));
    const auto task =
        protozero::Task::Spawn(PROTOZERO_TASK_SITE("filtered"), secret);
    protozero::SwitchTask(task);
    protozero::SetTaskRequest(secret);
    protozero::SwitchTask(protozero::Task());
    service.StopTracing(session);
    connection.Wakeup();
    while (service.GetState(session) != protozero::TracingService::kStopped)
      std::this_thread::yield();
    EXPECT_TRUE(
        service.ReadPackets(session, [&](const uint8_t* data, size_t size) {
          bytes.append(reinterpret_cast<const char*>(data), size);
          return true;
        }));
  }
  EXPECT_EQ(bytes.find("secret"), std::string::npos);
  size_t num_filtered = 0;
  for (size_t pos = 0; (pos = bytes.find("FILTERED", pos)) != std::string::npos;
       ++pos) {
    ++num_filtered;
  }
  EXPECT_EQ(num_filtered, 3u);
  EXPECT_NE(bytes.find("filtered"), std::string::npos);
}

TEST(TrackEventTest, SessionsAtOnceEachGetTheirs) {
  Session all;
  {
    PROTOZERO_TRACE_EVENT("te.a", "outer");
    Session some("te.b");
    {
      PROTOZERO_TRACE_EVENT("te.a", "a");
      PROTOZERO_TRACE_EVENT("te.b", "b", "n", 1);
    }
    const ReadTrace read = some.Finish();
    ASSERT_EQ(read.events.size(), 2u);
    EXPECT_EQ(read.events[0].name, "b");
    EXPECT_EQ(read.events[1].type, Event::TYPE_SLICE_END);
  }
  EXPECT_EQ(all.Finish().events.size(), 6u);
}

TEST(TrackEventTest, EventsGoToASystemsServiceAndToTheProgramsOwnSession) {
  protozero::TracingService service;
  protozero::TraceConfig config;
  config.buffers.push_back({1 << 20});
  config.data_sources.emplace_back();
  config.data_sources.back().config.name = "track_event";
  std::string error;
  const auto session = service.StartTracing(config, nullptr, &error);
  ASSERT_NE(session, 0u) << error;
  std::string bytes;
  {
    SystemService connection(&service);
    PROTOZERO_TRACE_EVENT_INSTANT("te.b", "system");
    {
      Session own("te.a");
      PROTOZERO_TRACE_EVENT_INSTANT("te.a", "both", "n", 1);
      PROTOZERO_TRACE_EVENT_INSTANT("te.b", "system");
      const ReadTrace read = own.Finish();
      ASSERT_EQ(read.events.size(), 1u);
      EXPECT_EQ(read.events[0].args, std::vector<std::string>{"n=1"});
    }
    PROTOZERO_TRACE_EVENT_INSTANT("te.a", "both");
    service.StopTracing(session);
    connection.Wakeup();
    while (service.GetState(session) != protozero::TracingService::kStopped)
      std::this_thread::yield();
    EXPECT_TRUE(
        service.ReadPackets(session, [&](const uint8_t* data, size_t size) {
          bytes.append(reinterpret_cast<const char*>(data), size);
          return true;
        }));
  }
  const ReadTrace read = Read(bytes);
  EXPECT_EQ(read.errors, std::vector<std::string>());
  EXPECT_EQ(read.Named("both").size(), 2u);
  EXPECT_EQ(read.Named("system").size(), 2u);
}

TEST(TrackEventTest, ThreadsThatEndLeaveAllBehind) {
  Session session;
  constexpr int kThreads = 4;
  constexpr int kEvents = 2000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i] {
      protozero::SetTraceThreadName("worker " + std::to_string(i));
      for (int j = 0; j < kEvents; ++j) {
        PROTOZERO_TRACE_EVENT("te", "work", "j", j);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  const ReadTrace read = session.Finish();
  EXPECT_EQ(read.events.size(), size_t{kThreads} * kEvents * 2);
  std::set<std::string> names;
  std::map<uint64_t, int> next;  // By track.
  for (const ReadEvent& event : read.events) {
    names.insert(read.tracks.at(event.track).thread_name);
    if (event.type == Event::TYPE_SLICE_BEGIN) {
      EXPECT_EQ(event.args, std::vector<std::string>{
                                "j=" + std::to_string(next[event.track]++)});
    }
  }
  EXPECT_EQ(names, (std::set<std::string>{"worker 0", "worker 1", "worker 2",
                                          "worker 3"}));
}

TEST(TrackEventTest, TheSystemsThreadNamesAreWholeCharacters) {
  const std::pair<const char*, const char*> kNames[] = {
      // The last character has two, three or four bytes. The system keeps one
      // to all of them.
      {"fourteen bytes\xc3\xbc", "fourteen bytes"},
      {"13 bytes here\xc3\xbc", "13 bytes here\xc3\xbc"},
      {"fourteen bytes\xe2\x82\xac", "fourteen bytes"},
      {"13 bytes here\xe2\x82\xac", "13 bytes here"},
      {"twelve bytes\xe2\x82\xac", "twelve bytes\xe2\x82\xac"},
      {"twelve bytes\xf0\x9f\x98\x80", "twelve bytes"},
      {"11 of bytes\xf0\x9f\x98\x80", "11 of bytes\xf0\x9f\x98\x80"},
      {"as long as it may be", "as long as it m"},
      {"short \xe2\x82\xac", "short \xe2\x82\xac"},
  };
  for (const auto& [given, kept] : kNames) {
    SCOPED_TRACE(given);
    Session session;
    std::thread([name = given] {
      prctl(PR_SET_NAME, name);
      PROTOZERO_TRACE_EVENT_INSTANT("te", "named");
    }).join();
    const ReadTrace read = session.Finish();
    ASSERT_EQ(read.events.size(), 1u);
    EXPECT_EQ(read.tracks.at(read.events[0].track).thread_name, kept);
  }
}

struct TracesWhenDestroyed {
  ~TracesWhenDestroyed() { PROTOZERO_TRACE_EVENT_INSTANT("te", "destroyed"); }
};

TEST(TrackEventTest, DestructorsOfThreadLocalsTrace) {
  const auto work = [] {
    thread_local TracesWhenDestroyed before;
    (void)&before;
    PROTOZERO_TRACE_EVENT_INSTANT("te", "alive");
    thread_local TracesWhenDestroyed after;
    (void)&after;
  };
  EXPECT_THAT(Record([&] { std::thread(work).join(); }),
              Exactly(2, "destroyed"));
}

TEST(TrackEventTest, ARingBufferThatHasWrappedIsUnderstood) {
  LocalTrace::Options options;
  options.fill_policy = protozero::BufferFillPolicy::kRingBuffer;
  options.buffer_size = 256 * 1024;
  options.exhausted_policy = protozero::BufferExhaustedPolicy::kStall;
  Session session(std::move(options));
  constexpr int kEvents = 100000;
  static constexpr Track kTrack("ring");
  for (int i = 0; i < kEvents; ++i) {
    PROTOZERO_TRACE_EVENT_INSTANT("te", "first", "number", i);
    PROTOZERO_TRACE_EVENT_INSTANT("te", "second", kTrack, "other number", i);
  }
  const ReadTrace read = session.Finish();
  EXPECT_EQ(read.num_skipped, 0);
  const std::vector<ReadEvent> first = read.Named("first");
  ASSERT_GT(first.size(), 100u);
  EXPECT_LT(first.size(), size_t{kEvents});
  EXPECT_EQ(first.back().args,
            std::vector<std::string>{"number=" + std::to_string(kEvents - 1)});
}

// The number of times that sequences start over in a ring of that size, which
// gets a megabyte, with |num_idle| threads that have written once.
int ClearsInRing(size_t buffer_size, int num_idle) {
  LocalTrace::Options options;
  options.fill_policy = protozero::BufferFillPolicy::kRingBuffer;
  options.buffer_size = buffer_size;
  options.exhausted_policy = protozero::BufferExhaustedPolicy::kStall;
  Session session(std::move(options));
  std::mutex lock;
  std::vector<std::thread> idle;
  std::atomic<int> num_begun{0};
  {
    const std::lock_guard<std::mutex> hold(lock);
    for (int i = 0; i < num_idle; ++i) {
      idle.emplace_back([&] {
        PROTOZERO_TRACE_EVENT_INSTANT("te", "idle");
        ++num_begun;
        const std::lock_guard<std::mutex> wait(lock);
      });
    }
    while (num_begun != num_idle)
      std::this_thread::yield();
    for (int i = 0; i < 70000; ++i)
      PROTOZERO_TRACE_EVENT_INSTANT("te", "event", "number", i);
  }
  for (std::thread& thread : idle)
    thread.join();
  return session.Finish().num_clears - num_idle;
}

TEST(TrackEventTest, SequencesBeginAnewAsTheRingAndItsWritersNeedIt) {
  constexpr size_t kLarge = 1 << 30;
  // These are about 80 chunks.
  EXPECT_LE(ClearsInRing(kLarge, 0), 10);
  EXPECT_LE(ClearsInRing(kLarge, 4), 10);
  // A hundredth of this ring is less than a chunk for each writer.
  EXPECT_GE(ClearsInRing(8 << 20, 4), 50);
}

TEST(TrackEventTest, AfterALossEventsAreUnderstood) {
  LocalTrace::Options options;
  options.shared_memory_size = 64 * 1024;
  Session session(std::move(options));
  // These are more events than there is room for, unless the service comes in
  // between.
  constexpr uint64_t kRounds = 20000;
  constexpr uint64_t kEventsOfRound = 6;
  const auto flood = [] {
    for (uint64_t i = 0; i < kRounds; ++i) {
      const Track parent("parent", i % 3);
      PROTOZERO_TRACE_EVENT("te", "slice", "number", i);
      PROTOZERO_TRACE_EVENT_INSTANT("te", "flood", Track("child", i, parent));
      PROTOZERO_TRACE_EVENT_INSTANT("te", DynamicString("dynamic"), "other", i);
      PROTOZERO_TRACE_COUNTER("te", "counter", i);
      PROTOZERO_TRACE_COUNTER("te", CounterTrack("of a track", parent), 0.5);
    }
  };
  std::thread other(flood);
  flood();
  other.join();
  const ReadTrace read = session.Finish();
  EXPECT_EQ(read.num_skipped, 0);
  const protozero::TraceStats stats = session.trace().stats();
  EXPECT_GT(read.events.size(), 0u);
  EXPECT_EQ(stats.unknown_losses(), 0u);
  // One packet for each event that is missing.
  EXPECT_EQ(read.events.size() + stats.lost().total(),
            2 * kRounds * kEventsOfRound);
}

TEST(TrackEventTest, NothingIsAllocatedAfterTheFirstEvents) {
  Session session;
  const auto emit = [](int i) {
    PROTOZERO_TRACE_EVENT("te", "slice", "i", i, "s", "text");
    PROTOZERO_TRACE_EVENT_INSTANT("te", "instant", Track(7));
    PROTOZERO_TRACE_COUNTER("te", "counter", i);
    PROTOZERO_TRACE_EVENT_INSTANT(
        "te", DynamicString("name"),
        [](Event* event) { event->set_correlation_id(1); });
  };
  for (int i = 0; i < 10; ++i)
    emit(i);
  {
    const protozero::test::AllocationCounter counter;
    for (int i = 0; i < 100; ++i)
      emit(i);
    EXPECT_EQ(counter.count(), 0u);
  }
  EXPECT_EQ(session.Finish().Named("slice").size(), 110u);
}

// Returns the ids of the fields of each packet.
std::vector<std::vector<uint32_t>> FieldsOfPackets(const std::string& trace) {
  std::vector<std::vector<uint32_t>> packets;
  protozero::ProtoDecoder decoder(trace.data(), trace.size());
  for (auto packet = decoder.ReadField(); packet.valid();
       packet = decoder.ReadField()) {
    packets.emplace_back();
    protozero::ProtoDecoder fields(packet.as_bytes());
    for (auto field = fields.ReadField(); field.valid();
         field = fields.ReadField()) {
      packets.back().push_back(field.id());
    }
  }
  return packets;
}

// Otherwise the next event waits for it: see trace_site.h.
TEST(TrackEventTest, TheTimeIsTheLastFieldThatAnEventWrites) {
  using Packet = protozero::trace::TracePacket;
  Session session;
  constexpr size_t kTimes = 3;
  for (size_t i = 0; i < kTimes; ++i) {
    AllKinds();
    PROTOZERO_TRACE_COUNTER("te", "counter", 1);
    static const CounterTrack track("other counter");
    PROTOZERO_TRACE_COUNTER("te", track, 0.5);
  }
  session.Finish();
  size_t num_events = 0;
  for (const std::vector<uint32_t>& fields : FieldsOfPackets(session.bytes())) {
    const std::vector<uint32_t> expected = {Packet::kSequenceFlagsFieldNumber,
                                            Packet::kTrackEventFieldNumber,
                                            Packet::kTimestampFieldNumber};
    num_events += fields.size() >= expected.size() &&
                  std::equal(expected.begin(), expected.end(), fields.begin());
  }
  // A round has two slices, which are two events each, two counters, and an
  // instant. In the first round, five events say what they refer to.
  EXPECT_EQ(num_events, 7 * kTimes - 5);
}

TEST(TrackEventTest, AKeyOfASiteIsWhatAnAnnotationBeginsWith) {
  using protozero::internal::KeyField;
  EXPECT_EQ(KeyField().iid(), 0);
  for (uint16_t iid = 1; iid < protozero::internal::kMaxInterned; ++iid) {
    const KeyField key(iid);
    ASSERT_EQ(key.iid(), iid);
    uint8_t bytes[sizeof(uint64_t)] = {};
    const uint8_t* const end = key.Encode(bytes);
    protozero::HeapBuffered<protozero::trace::DebugAnnotation> annotation;
    annotation->set_name_iid(iid);
    // The size of the annotation comes when its value is known.
    ASSERT_EQ(std::string(bytes, bytes + (end - bytes)),
              std::string("\x22\0", 2) + annotation.SerializeAsString());
  }
}

void TraceInSignal(int) {
  PROTOZERO_TRACE_EVENT_INSTANT("te", "signal", "n", 1);
}

TEST(TrackEventTest, SignalHandlersTrace) {
  Session session;
  PROTOZERO_TRACE_EVENT_INSTANT("te", "first");
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = &TraceInSignal;
  sigaction(SIGUSR1, &action, &before);
  std::atomic<bool> is_done{false};
  const pthread_t self = pthread_self();
  int num_signals = 0;
  std::thread sender([&] {
    while (!is_done.load()) {
      pthread_kill(self, SIGUSR1);
      ++num_signals;
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 20000; ++i) {
    PROTOZERO_TRACE_EVENT("te", "interrupted", "i", i);
  }
  is_done = true;
  sender.join();
  sigaction(SIGUSR1, &before, nullptr);
  const ReadTrace read = session.Finish();
  EXPECT_EQ(read.Named("interrupted").size(), 20000u);
  // The other signals' events are counted as lost.
  EXPECT_LE(read.Named("signal").size(), static_cast<size_t>(num_signals));
}

TEST(TrackEventTest, AChildProcessIsOffUntilItHasASessionOfItsOwn) {
  Session session;
  PROTOZERO_TRACE_EVENT_INSTANT("te", "parent");
  const auto count = [] { PROTOZERO_TRACE_COUNTER("te", "count", 1); };
  count();
  const pid_t child = fork();
  if (child == 0) {
    g_evaluations = 0;
    PROTOZERO_TRACE_EVENT_INSTANT("te", "child", "n", Evaluate());
    bool ok = g_evaluations == 0;
    std::string bytes;
    {
      LocalTrace::Options options;
      options.sink = [&](const uint8_t* data, size_t size) {
        bytes.append(reinterpret_cast<const char*>(data), size);
        return true;
      };
      LocalTrace trace(std::move(options));
      PROTOZERO_TRACE_EVENT_INSTANT("te", "in child");
      count();
      count();  // The sequence knows the counter.
      ok = trace.Stop() && ok;
    }
    const ReadTrace read = Read(bytes);
    ok = ok && read.errors.empty() && read.events.size() == 3 &&
         read.tracks.at(read.events[0].track).pid == getpid() &&
         read.tracks.at(read.events[0].track).tid == getpid();
    // The counter is the child's, too.
    ok = ok && read.events[1].track == CounterTrack("count").uuid() &&
         read.events[2].track == read.events[1].track;
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  PROTOZERO_TRACE_EVENT_INSTANT("te", "parent");
  const ReadTrace read = session.Finish();
  EXPECT_EQ(read.events.size(), 3u);
}

TEST(TrackEventTest, AFileIsWrittenWhileItIsRecorded) {
  const std::string path = testing::TempDir() + "track_event_unittest_" +
                           std::to_string(getpid()) + ".pftrace";
  const auto content = [&] {
    std::string bytes;
    FILE* const file = fopen(path.c_str(), "rb");
    char buffer[4096];
    size_t size;
    while (file != nullptr && (size = fread(buffer, 1, sizeof(buffer), file)))
      bytes.append(buffer, size);
    if (file != nullptr)
      fclose(file);
    return bytes;
  };
  {
    LocalTrace::Options options;
    options.path = path;
    options.write_period_ms = 10;
    LocalTrace trace(std::move(options));
    PROTOZERO_TRACE_EVENT_INSTANT("te", "early");
    while (Read(content()).Named("early").empty())
      std::this_thread::yield();
    PROTOZERO_TRACE_EVENT_INSTANT("te", "late");
  }
  const ReadTrace read = Read(content());
  EXPECT_EQ(read.errors, std::vector<std::string>());
  EXPECT_EQ(read.Named("early").size(), 1u);
  EXPECT_EQ(read.Named("late").size(), 1u);
  unlink(path.c_str());
}

TEST(TrackEventTest, ADescriptorIsWrittenToAndStaysOpen) {
  FILE* const file = tmpfile();
  ASSERT_NE(file, nullptr);
  for (const char* const text : {"first", "second"}) {
    LocalTrace::Options options;
    options.fd = fileno(file);
    LocalTrace trace(std::move(options));
    PROTOZERO_TRACE_EVENT_INSTANT("te", DynamicString(text));
    EXPECT_TRUE(trace.Stop()) << trace.error();
  }
  std::string bytes(static_cast<size_t>(lseek(fileno(file), 0, SEEK_END)), 0);
  EXPECT_EQ(pread(fileno(file), &bytes[0], bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  fclose(file);
  const ReadTrace read = Read(bytes);
  EXPECT_EQ(read.Named("first").size(), 1u);
  EXPECT_EQ(read.Named("second").size(), 1u);
}

TEST(TrackEventTest, EndsAfterItsDuration) {
  LocalTrace::Options options;
  options.duration_ms = 200;
  options.categories = "te.timed";
  Session session(std::move(options));
  PROTOZERO_TRACE_EVENT_INSTANT("te.timed", "within");
  while (PROTOZERO_TRACE_CATEGORY_ENABLED("te.timed"))
    std::this_thread::yield();
  PROTOZERO_TRACE_EVENT_INSTANT("te.timed", "too late");
  const ReadTrace read = session.Finish();
  EXPECT_EQ(read.events.size(), 1u);
}

TEST(TrackEventTest, AFileThatCannotBeWrittenIsAnError) {
  LocalTrace trace("/nowhere/at/all");
  EXPECT_NE(trace.error().find("/nowhere/at/all"), std::string::npos);
  PROTOZERO_TRACE_EVENT_INSTANT("te", "nowhere");
  EXPECT_FALSE(trace.Stop());
}

TEST(TrackEventTest, EventsTakeFewBytes) {
  Session session;
  for (int i = 0; i < 3; ++i) {
    PROTOZERO_TRACE_EVENT_BEGIN("te", "small");
    PROTOZERO_TRACE_EVENT_END("te");
  }
  const ReadTrace read = session.Finish();
  ASSERT_EQ(read.events.size(), 6u);
  EXPECT_LE(read.events[2].bytes.size(), 8u);
  EXPECT_EQ(read.events[3].bytes, std::string("\x48\x02", 2));
}

// docs/wire-format.md has these sizes.
TEST(TrackEventTest, SizesOfEventsInAFile) {
  Session session;
  for (int i = 0; i < 1000; ++i) {
    PROTOZERO_TRACE_EVENT_INSTANT("te", "instant");
    PROTOZERO_TRACE_EVENT_BEGIN("te", "slice");
    PROTOZERO_TRACE_EVENT_END("te");
    PROTOZERO_TRACE_COUNTER("te", "counter", 5);
  }
  session.Finish();
  namespace trace = protozero::trace;
  // The smallest of each type, with one byte for the time, and nine for the
  // uuid of a track, which is random and rarely shorter.
  std::map<int, size_t> sizes;
  protozero::ProtoDecoder decoder(session.bytes());
  for (auto field = decoder.ReadField(); field.valid();
       field = decoder.ReadField()) {
    const trace::TracePacket::Decoder packet(field.as_bytes());
    if (!packet.has_track_event())
      continue;
    const Event::Decoder event(packet.track_event());
    size_t size = field.as_bytes().size + 2;
    for (uint64_t time = packet.timestamp(); time >= 128; time /= 128)
      --size;
    if (event.has_track_uuid())
      size = size + 9 - protozero::proto_utils::VarIntSize(event.track_uuid());
    size_t& smallest = sizes.emplace(event.type(), SIZE_MAX).first->second;
    smallest = std::min(smallest, size);
  }
  EXPECT_EQ(sizes[Event::TYPE_INSTANT], 18u);
  EXPECT_EQ(sizes[Event::TYPE_SLICE_BEGIN] + sizes[Event::TYPE_SLICE_END], 32u);
  EXPECT_EQ(sizes[Event::TYPE_COUNTER], 27u);
}

}  // namespace
