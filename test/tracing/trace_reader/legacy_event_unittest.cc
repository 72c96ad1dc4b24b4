// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/trace_reader.h"

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/trace.h"
#include "test/tracing/trace_reader/made_trace.h"

namespace {

using protozero::CounterValue;
using protozero::Instant;
using protozero::Slice;
using protozero::TraceReader;
using protozero::TrackInfo;
using protozero::trace::TracePacket;
using protozero::trace::TrackDescriptor;
using protozero::trace::TrackEvent;
using Legacy = TrackEvent::LegacyEvent;
using Strings = std::vector<std::string>;

// Reads events of the JSON format: as "category:name begin+duration flows
// @track", where the track is a path such as "p5/t6" for the thread 6 of the
// process 5.
class LegacyEventTest : public protozero::test::MadeTraceTest {
 protected:
  LegacyEventTest() {
    Add([](TracePacket* packet) {
      packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
      auto* const thread = packet->set_thread_descriptor();
      thread->set_pid(5);
      thread->set_tid(6);
      auto* const data = packet->set_interned_data();
      auto* const name = data->add_event_names();
      name->set_iid(3);
      name->set_name("interned");
      auto* const other = data->add_event_names();
      other->set_iid(4);
      other->set_name("other");
      auto* const argument = data->add_debug_annotation_names();
      argument->set_iid(3);
      argument->set_name("key");
    });
    begin_size_ = trace_.size();
  }

  // Adds an event with what the functions set of it.
  template <typename FillLegacy, typename FillEvent>
  void AddWith(uint64_t time_ns,
               int32_t phase,
               const char* name,
               const FillLegacy& fill_legacy,
               const FillEvent& fill_event) {
    AddEvent(time_ns, TrackEvent::TYPE_UNSPECIFIED, [&](TrackEvent* event) {
      if (*name != 0)
        event->set_name(name);
      fill_event(event);
      auto* const legacy = event->set_legacy_event();
      legacy->set_phase(phase);
      fill_legacy(legacy);
    });
  }
  template <typename FillLegacy>
  void AddWith(uint64_t time_ns,
               int32_t phase,
               const char* name,
               const FillLegacy& fill_legacy) {
    AddWith(time_ns, phase, name, fill_legacy, [](TrackEvent*) {});
  }
  void AddPhase(uint64_t time_ns, int32_t phase, const char* name = "") {
    AddWith(time_ns, phase, name, [](Legacy*) {});
  }

  Strings Read() {
    std::vector<std::pair<std::string, uint64_t>> events;
    TraceReader::Callbacks callbacks;
    callbacks.reads_details = true;
    callbacks.on_slice = [&](const Slice& slice) {
      const std::string row =
          slice.text->category + ":" + slice.text->name + " " +
          std::to_string(slice.begin_ns) + "+" +
          std::to_string(slice.duration_ns) +
          protozero::test::TextOfFlows(*slice.details, " flows ");
      events.emplace_back(row, slice.track);
    };
    callbacks.on_instant = [&](const Instant& instant) {
      events.emplace_back(instant.text->category + ":" + instant.text->name +
                              " " + std::to_string(instant.time_ns),
                          instant.track);
    };
    callbacks.on_counter = [&](const CounterValue& value) {
      events.emplace_back(std::to_string(value.time_ns) + "=" +
                              std::to_string(value.value).substr(0, 4),
                          value.track);
    };
    TraceReader reader(std::move(callbacks));
    EXPECT_TRUE(reader.Read(Bytes()));
    reader.Finish();
    unread_ = reader.unread();
    last_ns_ = reader.last_ns();
    Strings rows;
    for (const auto& [row, track] : events)
      rows.push_back(row + " @" + PathOf(reader, track));
    return rows;
  }
  static std::string PathOf(const TraceReader& reader, uint64_t uuid) {
    std::string path;
    for (const uint64_t part : reader.tracks().PathTo(uuid)) {
      const TrackInfo info = reader.tracks().Find(part).value_or(TrackInfo());
      path += path.empty() ? "" : "/";
      if (!reader.tracks().Find(part))
        path += "unknown";
      if (info.tid != 0)
        path += "t" + std::to_string(info.tid);
      else if (info.pid != 0)
        path += "p" + std::to_string(info.pid);
      if (info.is_counter)
        path += "#";
      path += info.name;
    }
    return path;
  }

  std::map<std::string, uint64_t> unread_;
  uint64_t last_ns_ = 0;
  size_t begin_size_ = 0;  // The size of the trace without an event.
};

TEST_F(LegacyEventTest, SlicesOfAThread) {
  AddPhase(1000, 'B', "a");
  AddPhase(2000, 'B', "b");
  AddPhase(3000, 'E');
  AddPhase(4000, 'E', "a");
  EXPECT_EQ(Read(), (Strings{":b 2000+1000 @t6", ":a 1000+3000 @t6"}));
}

TEST_F(LegacyEventTest, CompleteSlices) {
  const auto add = [this](uint64_t time_ns, const char* name, int64_t us) {
    AddWith(time_ns, 'X', name, [&](Legacy* e) { e->set_duration_us(us); });
  };
  add(1000, "three", 3);
  add(5000, "negative", -3);
  EXPECT_EQ(Read(), (Strings{":three 1000+3000 @t6", ":negative 5000+0 @t6"}));
  EXPECT_EQ(last_ns_, 5000u);
  add(6000, "last", 2);
  EXPECT_EQ(Read().back(), ":last 6000+2000 @t6");
  EXPECT_EQ(last_ns_, 8000u);
  // No time is beyond the greatest one.
  add(7000, "too long", INT64_MAX);
  Read();
  EXPECT_GE(last_ns_, 8000u);
}

TEST_F(LegacyEventTest, InstantsOfEachScope) {
  const auto add = [this](uint64_t time_ns, char phase,
                          Legacy::InstantEventScope scope) {
    AddWith(time_ns, phase, "now",
            [&](Legacy* e) { e->set_instant_event_scope(scope); });
  };
  add(1, 'i', Legacy::SCOPE_UNSPECIFIED);
  add(2, 'I', Legacy::SCOPE_THREAD);
  add(3, 'R', Legacy::SCOPE_GLOBAL);
  EXPECT_EQ(Read(), (Strings{":now 1 @t6", ":now 2 @t6", ":now 3 @"}));
  // The process has a track once it is needed.
  add(4, 'i', Legacy::SCOPE_PROCESS);
  add(5, 'i', Legacy::SCOPE_PROCESS);
  EXPECT_EQ(Read(), (Strings{":now 1 @p5/t6", ":now 2 @p5/t6", ":now 3 @",
                             ":now 4 @p5", ":now 5 @p5"}));
}

TEST_F(LegacyEventTest, TheProcessOfAnEventOnItsTrack) {
  Add([](TracePacket* packet) {
    auto* const track = packet->set_track_descriptor();
    track->set_uuid(77);
    track->set_process()->set_pid(9);
  });
  AddWith(
      1, 'i', "now",
      [](Legacy* e) { e->set_instant_event_scope(Legacy::SCOPE_PROCESS); },
      [](TrackEvent* event) { event->set_track_uuid(77); });
  EXPECT_EQ(Read(), (Strings{":now 1 @p9"}));
}

TEST_F(LegacyEventTest, TheThreadWithTheNumberOneHasAProcess) {
  AddWith(1, 'i', "now", [](Legacy* e) {
    e->set_pid_override(1);
    e->set_tid_override(1);
    e->set_instant_event_scope(Legacy::SCOPE_PROCESS);
  });
  EXPECT_EQ(Read(), (Strings{":now 1 @p1"}));
}

TEST_F(LegacyEventTest, AnEventOfAnotherThread) {
  AddWith(1, 'i', "both", [](Legacy* e) {
    e->set_pid_override(8);
    e->set_tid_override(9);
  });
  AddWith(2, 'i', "thread", [](Legacy* e) { e->set_tid_override(7); });
  AddWith(3, 'i', "process", [](Legacy* e) {
    e->set_pid_override(8);
    e->set_instant_event_scope(Legacy::SCOPE_PROCESS);
  });
  AddWith(4, 'i', "pid", [](Legacy* e) { e->set_pid_override(8); });
  AddPhase(5, 'i', "own");
  AddWith(6, 'i', "own process", [](Legacy* e) {
    e->set_tid_override(7);
    e->set_instant_event_scope(Legacy::SCOPE_PROCESS);
  });
  EXPECT_EQ(Read(),
            (Strings{":both 1 @p8/t9", ":thread 2 @p5/t7", ":process 3 @p8",
                     ":pid 4 @p8/t-1", ":own 5 @p5/t6", ":own process 6 @p5"}));
}

// Slices of different tracks may overlap, those of one track are nested.
TEST_F(LegacyEventTest, AsynchronousEventsOfOneIdShareATrack) {
  const auto add = [this](uint64_t time_ns, char phase, const char* category,
                          const auto& set_id) {
    AddWith(time_ns, phase, "x", set_id,
            [&](TrackEvent* event) { event->add_categories(category); });
  };
  struct Id {
    const char* category;
    void (*set)(Legacy*);
    const char* track;
  };
  const Id kIds[] = {
      {"c", [](Legacy* e) { e->set_unscoped_id(1); }, "x"},
      {"c", [](Legacy* e) { e->set_unscoped_id(2); }, "x"},
      {"d", [](Legacy* e) { e->set_unscoped_id(1); }, "x"},
      {"c", [](Legacy* e) { e->set_local_id(1); }, "p5/x"},
      {"c", [](Legacy* e) { e->set_local_id(2); }, "p5/x"},
      {"e", [](Legacy* e) { e->set_global_id(1); }, "x"},
      {"e", [](Legacy* e) { e->set_global_id(2); }, "x"},
      {"c",
       [](Legacy* e) {
         e->set_unscoped_id(1);
         e->set_id_scope("scope");
       },
       "x"},
  };
  uint64_t time_ns = 0;
  for (const char* const phases : {"be", "SF"}) {
    for (const Id& id : kIds)
      add(++time_ns, phases[0], id.category, id.set);
    for (const Id& id : kIds)
      add(++time_ns, phases[1], id.category, id.set);
  }
  Strings expected;
  for (const uint64_t begin : {1u, 17u}) {
    uint64_t begin_ns = begin;
    for (const Id& id : kIds) {
      expected.push_back(std::string(id.category) + ":x " +
                         std::to_string(begin_ns++) + "+8 @" + id.track);
    }
  }
  EXPECT_EQ(Read(), expected);
}

TEST_F(LegacyEventTest, InstantsOfAsynchronousEvents) {
  const auto id = [](Legacy* e) { e->set_unscoped_id(1); };
  AddWith(1, 'b', "x", id);
  AddWith(2, 'n', "x", id);
  AddWith(3, 'T', "x", id);
  AddWith(4, 'p', "x", id);
  AddWith(5, 'e', "x", id);
  EXPECT_EQ(Read(), (Strings{":x 2 @x", ":x 3 @x", ":x 4 @x", ":x 1+4 @x"}));
}

TEST_F(LegacyEventTest, ArrowsBetweenSlices) {
  const auto id = [](Legacy* e) { e->set_unscoped_id(31); };
  AddPhase(1, 'B', "start");
  AddWith(2, 's', "", id);
  AddPhase(3, 'E');
  AddPhase(4, 'B', "step");
  AddWith(5, 't', "", [](Legacy* e) { e->set_bind_id(31); });
  AddPhase(6, 'E');
  // The end of an arrow belongs to the next slice, or to the one around it.
  AddPhase(7, 'B', "before");
  AddWith(8, 'f', "", id);
  AddPhase(9, 'B', "next");
  AddPhase(10, 'E');
  AddPhase(11, 'E');
  AddPhase(12, 'B', "enclosing");
  AddWith(13, 'f', "", [](Legacy* e) {
    e->set_unscoped_id(32);
    e->set_bind_to_enclosing(true);
  });
  AddPhase(14, 'E');
  // This one has no slice.
  AddWith(15, 's', "", id);
  EXPECT_EQ(Read(),
            (Strings{":start 1+2 flows out31 @t6", ":step 4+2 flows step31 @t6",
                     ":next 9+1 flows in31 @t6", ":before 7+4 @t6",
                     ":enclosing 12+2 flows in32 @t6"}));
}

TEST_F(LegacyEventTest, TheDirectionOfAnArrow) {
  const auto add = [this](uint64_t time_ns, Legacy::FlowDirection direction) {
    AddWith(time_ns, 'X', "x", [&](Legacy* e) {
      e->set_bind_id(5);
      if (direction != Legacy::FLOW_UNSPECIFIED)
        e->set_flow_direction(direction);
    });
  };
  add(1, Legacy::FLOW_UNSPECIFIED);
  add(2, Legacy::FLOW_OUT);
  add(3, Legacy::FLOW_INOUT);
  add(4, Legacy::FLOW_IN);
  AddWith(5, 'X', "x",
          [](Legacy* e) { e->set_flow_direction(Legacy::FLOW_OUT); });
  EXPECT_EQ(Read(), (Strings{":x 1+0 @t6", ":x 2+0 flows out5 @t6",
                             ":x 3+0 flows step5 @t6", ":x 4+0 flows in5 @t6",
                             ":x 5+0 @t6"}));
}

// An event with a type may have a direction, a name, and another thread.
TEST_F(LegacyEventTest, AnEventWithATypeHasTheFieldsOfOneWithAPhase) {
  const auto add = [this](uint64_t time_ns, TrackEvent::Type type,
                          const auto& fill_legacy, uint64_t track = 0) {
    AddEvent(time_ns, type, [&](TrackEvent* event) {
      if (track != 0)
        event->set_track_uuid(track);
      fill_legacy(event->set_legacy_event());
    });
  };
  const auto other_thread = [](Legacy* e) {
    e->set_pid_override(8);
    e->set_tid_override(9);
    e->set_name_iid(3);
  };
  add(1, TrackEvent::TYPE_SLICE_BEGIN, other_thread);
  add(2, TrackEvent::TYPE_SLICE_BEGIN, [](Legacy* e) {
    e->set_name_iid(4);
    e->set_bind_id(5);
    e->set_flow_direction(Legacy::FLOW_IN);
  });
  add(3, TrackEvent::TYPE_SLICE_END, [](Legacy*) {});
  add(4, TrackEvent::TYPE_SLICE_END, other_thread);
  // The phase outranks the type, and a track of the event's own the thread.
  add(5, TrackEvent::TYPE_INSTANT, [](Legacy* e) {
    e->set_phase('X');
    e->set_duration_us(1);
    e->set_name_iid(4);
  });
  add(
      6, TrackEvent::TYPE_INSTANT,
      [&](Legacy* e) {
        other_thread(e);
        e->set_name_iid(4);
      },
      77);
  EXPECT_EQ(Read(), (Strings{":other 6 @unknown", ":other 2+1 flows in5 @t6",
                             ":interned 1+3 @t9", ":other 5+1000 @t6"}));
}

// A track 0 stands for the sequence's thread.
TEST_F(LegacyEventTest, AnEventOnNoTrackIsOneOfTheSequencesThread) {
  Add([](TracePacket* packet) {
    packet->set_trace_packet_defaults()
        ->set_track_event_defaults()
        ->set_track_uuid(77);
    auto* const track = packet->set_track_descriptor();
    track->set_uuid(77);
    track->set_name("default");
  });
  AddPhase(1, 'i', "default");
  const auto no_track = [](TrackEvent* event) { event->set_track_uuid(0); };
  AddWith(2, 'i', "own", [](Legacy*) {}, no_track);
  AddWith(3, 'i', "other", [](Legacy* e) { e->set_tid_override(7); }, no_track);
  // A default track outranks the thread.
  AddWith(4, 'i', "default", [](Legacy* e) { e->set_tid_override(7); });
  EXPECT_EQ(Read(), (Strings{":default 1 @default", ":own 2 @t6",
                             ":other 3 @t7", ":default 4 @default"}));
}

TEST_F(LegacyEventTest, CountersOfTheThread) {
  Add([](TracePacket* packet) {
    auto* const thread = packet->set_thread_descriptor();
    thread->set_pid(5);
    thread->set_tid(6);
    thread->set_reference_thread_time_us(100);
    thread->set_reference_thread_instruction_count(1000);
  });
  AddWith(
      1, 'i', "a", [](Legacy*) {},
      [](TrackEvent* event) {
        event->set_thread_time_delta_us(7);
        event->set_thread_instruction_count_delta(30);
      });
  AddWith(
      2, 'i', "a", [](Legacy*) {},
      [](TrackEvent* event) {
        event->set_thread_time_absolute_us(500);
        event->set_thread_instruction_count_absolute(5);
      });
  AddWith(
      3, 'i', "a", [](Legacy* e) { e->set_tid_override(8); },
      [](TrackEvent* event) { event->set_thread_time_delta_us(1); });
  Strings counters;
  for (const std::string& row : Read()) {
    if (row[0] != ':')
      counters.push_back(row);
  }
  EXPECT_EQ(counters, (Strings{"1=1070 @t6/#thread_time",
                               "1=1030 @t6/#thread_instruction_count",
                               "2=5000 @t6/#thread_time",
                               "2=5.00 @t6/#thread_instruction_count",
                               "3=1080 @t8/#thread_time"}));
}

// The last values of a trace are such that their sum is too large.
TEST_F(LegacyEventTest, CountersOfTheThreadMayOverflow) {
  for (int i = 0; i < 2; ++i) {
    AddWith(
        1, 'i', "a", [](Legacy*) {},
        [](TrackEvent* event) {
          event->set_thread_time_delta_us(INT64_MAX);
          event->set_thread_instruction_count_delta(INT64_MIN);
        });
  }
  EXPECT_EQ(Read().size(), 6u);
}

TEST_F(LegacyEventTest, EachNumberIsACounter) {
  const auto add_arguments = [](TrackEvent* event) {
    auto* argument = event->add_debug_annotations();
    argument->set_name("signed");
    argument->set_int_value(-3);
    argument = event->add_debug_annotations();
    argument->set_name("text");
    argument->set_string_value("x");
    argument = event->add_debug_annotations();
    argument->set_name("unsigned");
    argument->set_uint_value(4);
    argument = event->add_debug_annotations();
    argument->set_name_iid(3);
    argument->set_double_value(0.5);
  };
  AddWith(1, 'C', "memory", [](Legacy*) {}, add_arguments);
  EXPECT_EQ(Read(),
            (Strings{"1=-3.0 @p5/#memory signed", "1=4.00 @p5/#memory unsigned",
                     "1=0.50 @p5/#memory key"}));
}

TEST_F(LegacyEventTest, NamesOfThreadsAndProcesses) {
  const auto add = [this](const char* kind, const char* key, const char* name) {
    AddWith(
        1, 'M', kind, [](Legacy*) {},
        [&](TrackEvent* event) {
          auto* argument = event->add_debug_annotations();
          argument->set_name(key);
          argument->set_string_value(name);
          argument = event->add_debug_annotations();
          argument->set_name("other");
          argument->set_string_value("no name");
        });
  };
  AddPhase(2, 'i', "now");
  add("thread_name", "name", "main");
  add("process_name", "name", "shop");
  add("thread_name", "nick", "no name");
  add("process_labels", "name", "no name");
  EXPECT_EQ(Read(), (Strings{":now 2 @p5shop/t6main"}));
  EXPECT_EQ(unread_,
            (std::map<std::string, uint64_t>{{"events of the phase 'M'", 1}}));
}

TEST_F(LegacyEventTest, NamesThatAreInterned) {
  const auto add = [this](uint64_t time_ns, const auto& fill) {
    AddWith(time_ns, 'i', "", [](Legacy* e) { e->set_name_iid(3); }, fill);
  };
  add(1, [](TrackEvent*) {});
  add(2, [](TrackEvent* event) { event->add_categories("c"); });
  add(3, [](TrackEvent* event) { event->set_name("own"); });
  add(4, [](TrackEvent* event) { event->set_name_iid(4); });
  EXPECT_EQ(Read(), (Strings{":interned 1 @t6", "c:interned 2 @t6",
                             ":own 3 @t6", ":other 4 @t6"}));
  // It is a name as any other for the end of a slice.
  trace_.erase(begin_size_);
  AddPhase(10, 'B', "interned");
  AddPhase(11, 'B', "inner");
  AddWith(12, 'E', "", [](Legacy* e) { e->set_name_iid(3); });
  EXPECT_EQ(Read(), (Strings{":inner 11+1 @t6", ":interned 10+2 @t6"}));
}

TEST_F(LegacyEventTest, PhasesThatAreUnknown) {
  for (const int32_t phase : {0, -1, 0x20, 0x21, 0x77, 0x7e, 0x7f, 256 + 'B'})
    AddPhase(1, phase, "x");
  EXPECT_EQ(Read(), Strings());
  EXPECT_EQ(unread_,
            (std::map<std::string, uint64_t>{{"events of an unknown phase", 5},
                                             {"events of the phase '!'", 1},
                                             {"events of the phase 'w'", 1},
                                             {"events of the phase '~'", 1}}));
}

}  // namespace
