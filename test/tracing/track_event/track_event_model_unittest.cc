// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Writes random events, and expects the same events in the trace.

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"
#include "test/tracing/track_event/trace_reader.h"

namespace {

using protozero::CounterTrack;
using protozero::DynamicCategory;
using protozero::DynamicString;
using protozero::Flow;
using protozero::LocalTrace;
using protozero::TerminatingFlow;
using protozero::TraceValue;
using protozero::Track;

// The events of one thread, each as a line of text, and the slices that it has
// begun.
class Thread {
 public:
  explicit Thread(uint32_t seed) : random_(seed) {}

  void Run(int num_events) {
    for (int i = 0; i < num_events; ++i)
      Emit();
    while (depth_ != 0)
      End();
  }
  const std::vector<std::string>& events() const { return events_; }

 private:
  uint64_t Number() { return random_() >> (random_() % 64); }
  size_t NumberBelow(uint64_t limit) {
    return static_cast<size_t>(random_() % limit);
  }
  std::string Text() {
    return std::string(NumberBelow(random_() % 50 == 0 ? 20000 : 30), 'x');
  }
  void End() {
    --depth_;
    PROTOZERO_TRACE_EVENT_END("model");
    events_.push_back("2 ");
  }

  void Emit() {
    const uint64_t n = Number();
    const int64_t s = static_cast<int64_t>(Number());
    switch (random_() % 15) {
      case 0:
      case 1:
        if (depth_ != 0)
          return End();
        [[fallthrough]];
      case 2:
        ++depth_;
        PROTOZERO_TRACE_EVENT_BEGIN("model", "slice");
        events_.push_back("1 slice");
        break;
      case 3: {
        ++depth_;
        PROTOZERO_TRACE_EVENT_BEGIN("model", "numbers", "n", n, "s", s);
        events_.push_back("1 numbers n=" + std::to_string(n) +
                          "u s=" + std::to_string(s));
        break;
      }
      case 4: {
        const std::string text = Text();
        PROTOZERO_TRACE_EVENT_INSTANT("model", "text", "text", text);
        events_.push_back("3 text text='" + text + "'");
        break;
      }
      case 5: {
        const std::string name = "name" + Text();
        PROTOZERO_TRACE_EVENT_INSTANT("model", DynamicString(name), "n", n);
        events_.push_back("3 " + name + " n=" + std::to_string(n) + "u");
        break;
      }
      case 6:
        PROTOZERO_TRACE_COUNTER("model", "counter", s);
        events_.push_back("4 @counter " + std::to_string(s));
        break;
      case 7:
        PROTOZERO_TRACE_EVENT_INSTANT("model", "on a track", Track(n % 100 + 1),
                                      "n", n);
        events_.push_back("3 on a track n=" + std::to_string(n) + "u");
        break;
      case 8: {
        const std::vector<uint64_t> numbers(NumberBelow(40), n);
        PROTOZERO_TRACE_EVENT_INSTANT("model", "list", "list", numbers);
        std::string list;
        for (size_t i = 0; i < numbers.size(); ++i)
          list += (i == 0 ? "" : ",") + std::to_string(n) + "u";
        events_.push_back("3 list list=[" + list + "]");
        break;
      }
      case 9: {
        // The text of these values is the same in any form.
        const double number = static_cast<double>(n % 1000) / 8;
        const bool flag = n % 2 == 0;
        const uintptr_t address = static_cast<uintptr_t>(n) | 1;
        const void* const pointer = reinterpret_cast<const void*>(address);
        PROTOZERO_TRACE_EVENT_INSTANT("model", "kinds", "d", number, "b", flag,
                                      "p", pointer);
        char text[100];
        snprintf(text, sizeof(text), "3 kinds d=%g b=%s p=0x%" PRIxPTR, number,
                 flag ? "true" : "false", address);
        events_.push_back(text);
        break;
      }
      case 10: {
        const std::map<std::string, int64_t> values = {{"a", s}, {"b", -s}};
        PROTOZERO_TRACE_EVENT_INSTANT("model", "dictionary", "map", values,
                                      "function", [&](TraceValue value) {
                                        auto outer =
                                            std::move(value).Dictionary();
                                        outer.Add("map", values);
                                        outer.Add("n", n);
                                      });
        const std::string map =
            "{a=" + std::to_string(s) + ",b=" + std::to_string(-s) + "}";
        events_.push_back("3 dictionary map=" + map + " function={map=" + map +
                          ",n=" + std::to_string(n) + "u}");
        break;
      }
      case 11: {
        static constexpr Track kParent("parent");
        const std::string name = "child " + std::to_string(n % 200);
        PROTOZERO_TRACE_EVENT_INSTANT("model", "on a child",
                                      Track(name, n % 3, kParent));
        events_.push_back("3 on a child @parent/" + name);
        break;
      }
      case 12:
        PROTOZERO_TRACE_EVENT_INSTANT("model", "flow", Flow::Global(n),
                                      TerminatingFlow(Flow::Global(n + 1)));
        events_.push_back("3 flow >" + std::to_string(n) + " <" +
                          std::to_string(n + 1));
        break;
      case 13: {
        const double number = static_cast<double>(s % 1000) / 8;
        PROTOZERO_TRACE_COUNTER("model", "ratio", number);
        events_.push_back("4 @ratio " + std::to_string(number));
        break;
      }
      case 14: {
        const std::string category = "category" + std::to_string(n % 5000);
        PROTOZERO_TRACE_EVENT_INSTANT(DynamicCategory(category), "of any");
        events_.push_back("3 of any #" + category);
        break;
      }
    }
  }

  std::mt19937_64 random_;
  int depth_ = 0;
  std::vector<std::string> events_;
};

// Returns the names of a track that has one, and of those that it is part of.
std::string PathOf(uint64_t uuid, const ReadTrace& trace) {
  const auto track = trace.tracks.find(uuid);
  if (track == trace.tracks.end() || track->second.name.empty())
    return "";
  const std::string parent = PathOf(track->second.parent, trace);
  return parent.empty() ? track->second.name
                        : parent + "/" + track->second.name;
}

std::string Line(const ReadEvent& event, const ReadTrace& trace) {
  std::string line = std::to_string(event.type) + " " + event.name;
  for (const std::string& arg : event.args)
    line += " " + arg;
  for (const std::string& category : event.categories)
    line += category == "model" ? "" : " #" + category;
  for (const uint64_t flow : event.flows)
    line += " >" + std::to_string(flow);
  for (const uint64_t flow : event.terminating_flows)
    line += " <" + std::to_string(flow);
  const std::string path = PathOf(event.track, trace);
  if (!path.empty())
    line += (event.name.empty() ? "@" : " @") + path;
  if (!event.value.empty())
    line += " " + event.value;
  return line;
}

TEST(TrackEventModelTest, TheSameEventsComeOut) {
  constexpr uint32_t kRuns = 6;
  constexpr uint32_t kThreads = 3;
  constexpr int kEvents = 3000;
  for (uint32_t run = 0; run < kRuns; ++run) {
    SCOPED_TRACE(run);
    std::string bytes;
    LocalTrace::Options options;
    options.sink = [&](const uint8_t* data, size_t size) {
      bytes.append(reinterpret_cast<const char*>(data), size);
      return true;
    };
    options.buffer_size = 256 << 20;
    // There is little memory, so that there are many chunks; and nothing is
    // lost.
    options.shared_memory_size = run % 2 == 0 ? 256 * 1024 : 8 << 20;
    options.exhausted_policy = protozero::BufferExhaustedPolicy::kStall;
    options.write_period_ms = run % 3 == 0 ? 5 : 1000;
    LocalTrace trace(std::move(options));
    std::vector<Thread> models;
    for (uint32_t i = 0; i < kThreads; ++i)
      models.emplace_back(run * 100 + i);
    std::vector<std::thread> threads;
    // Each has a sequence of its own, because none ends before all have begun.
    std::atomic<uint32_t> num_done{0};
    for (Thread& model : models) {
      threads.emplace_back([&model, &num_done] {
        model.Run(kEvents);
        ++num_done;
        while (num_done != kThreads)
          std::this_thread::yield();
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    ASSERT_TRUE(trace.Stop()) << trace.error();

    const ReadTrace read = Read(bytes);
    EXPECT_EQ(read.errors, std::vector<std::string>());
    EXPECT_EQ(read.num_skipped, 0);
    std::map<uint32_t, std::vector<std::string>> sequences;
    for (const ReadEvent& event : read.events)
      sequences[event.sequence].push_back(Line(event, read));
    ASSERT_EQ(sequences.size(), size_t{kThreads});
    for (const Thread& model : models) {
      bool is_there = false;
      for (const auto& [id, lines] : sequences)
        is_there = is_there || lines == model.events();
      EXPECT_TRUE(is_there);
    }
  }
}

}  // namespace
