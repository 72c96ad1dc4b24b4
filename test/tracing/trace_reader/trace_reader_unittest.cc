// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/trace_reader.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/trace.h"
#include "test/tracing/trace_reader/made_trace.h"

namespace {

using protozero::ConstBytes;
using protozero::EventText;
using protozero::TraceReader;
using protozero::trace::InternedData;
using protozero::trace::TracePacket;
using protozero::trace::TrackDescriptor;
using protozero::trace::TrackEvent;

class TraceReaderTest : public protozero::test::MadeTraceTest {};

using Rows = std::vector<std::string>;

TEST_F(TraceReaderTest, SequencesThatShareATrack) {
  AddNamed(100, TrackEvent::TYPE_SLICE_BEGIN, 7, "a", 1);
  AddNamed(300, TrackEvent::TYPE_SLICE_END, 7, "", 1);
  AddNamed(150, TrackEvent::TYPE_SLICE_BEGIN, 7, "b", 2);
  AddNamed(200, TrackEvent::TYPE_SLICE_END, 7, "", 3);
  EXPECT_EQ(this->Rows(), (::Rows{"b 150+50", "a 100+200"}));
}

TEST_F(TraceReaderTest, EventsAreReleasedWithTheSecondCall) {
  TraceReader reader(Callbacks());
  const auto release = [&] {
    rows_.clear();
    EXPECT_TRUE(reader.Read(Bytes()));
    trace_.clear();
    reader.ReleaseEvents();
    return rows_;
  };
  AddNamed(100, TrackEvent::TYPE_SLICE_BEGIN, 7, "a", 1);
  AddNamed(300, TrackEvent::TYPE_SLICE_END, 7, "", 1);
  EXPECT_EQ(release(), ::Rows());
  AddNamed(150, TrackEvent::TYPE_SLICE_BEGIN, 7, "b", 2);
  AddNamed(200, TrackEvent::TYPE_SLICE_END, 7, "", 2);
  AddNamed(400, TrackEvent::TYPE_SLICE_BEGIN, 7, "c", 2);
  EXPECT_EQ(release(), (::Rows{"b 150+50", "a 100+200"}));
  AddNamed(500, TrackEvent::TYPE_SLICE_END, 7, "", 2);
  EXPECT_EQ(release(), ::Rows());
  EXPECT_EQ(release(), (::Rows{"c 400+100"}));
  EXPECT_EQ(reader.late(), 0u);
}

TEST_F(TraceReaderTest, ATrackThatIsNoSequence) {
  // The track 1 and that of the sequence 1 are different.
  AddNamed(100, TrackEvent::TYPE_SLICE_BEGIN, 1, "a");
  AddNamed(110, TrackEvent::TYPE_SLICE_BEGIN, 0, "b");
  AddNamed(120, TrackEvent::TYPE_SLICE_END, 1, "");
  AddNamed(130, TrackEvent::TYPE_SLICE_END, 0, "");
  EXPECT_EQ(this->Rows(), (::Rows{"a 100+20", "b 110+20"}));
}

TEST_F(TraceReaderTest, ExtraCounters) {
  Add([](TracePacket* packet) {
    packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    auto* const defaults =
        packet->set_trace_packet_defaults()->set_track_event_defaults();
    defaults->add_extra_counter_track_uuids(21);
    defaults->add_extra_counter_track_uuids(22);
    defaults->add_extra_double_counter_track_uuids(23);
  });
  Add([](TracePacket* packet) {
    auto* const track = packet->set_track_descriptor();
    track->set_uuid(22);
    track->set_counter()->set_is_incremental(true);
  });
  for (uint64_t time = 1; time < 3; ++time) {
    AddEvent(time, TrackEvent::TYPE_COUNTER, [](TrackEvent* event) {
      event->set_track_uuid(20);
      event->set_counter_value(5);
      event->add_extra_counter_values(6);
      event->add_extra_counter_values(7);
      event->add_extra_counter_values(8);  // There is no third track.
      event->add_extra_double_counter_values(9);
    });
  }
  AddEvent(3, TrackEvent::TYPE_COUNTER, [](TrackEvent* event) {
    event->set_track_uuid(20);
    event->add_extra_counter_track_uuids(24);
    event->add_extra_counter_values(6);
  });
  EXPECT_EQ(this->Rows(),
            (::Rows{"21 1=6", "22 1=7", "23 1=9", "20 1=5", "21 2=6", "22 2=14",
                    "23 2=9", "20 2=5", "24 3=6", "20 3=0"}));
}

TEST_F(TraceReaderTest, AClockIsThePacketsOrTheSequences) {
  constexpr uint32_t kBoottime = 6;
  constexpr uint32_t kOwn = 64;
  Add([](TracePacket* packet) {
    packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    auto* const snapshot = packet->set_clock_snapshot();
    const auto add = [&](uint32_t clock, uint64_t time) {
      auto* const reading = snapshot->add_clocks();
      reading->set_clock_id(clock);
      reading->set_timestamp(time);
    };
    add(kBoottime, 1000);
    add(kOwn, 0);
  });
  Add([](TracePacket* packet) {
    packet->set_trace_packet_defaults()->set_timestamp_clock_id(kOwn);
  });
  const auto add = [this](uint64_t time_ns, uint32_t clock) {
    Add([&](TracePacket* packet) {
      packet->set_timestamp(time_ns);
      if (clock != 0)
        packet->set_timestamp_clock_id(clock);
      auto* const event = packet->set_track_event();
      event->set_type(TrackEvent::TYPE_INSTANT);
      event->set_name("now");
    });
  };
  add(10, 0);
  add(1020, kBoottime);
  add(30, kOwn);
  EXPECT_EQ(this->Rows(), (::Rows{":now 1010", ":now 1020", ":now 1030"}));
}

TEST_F(TraceReaderTest, LaterDefaultsReplaceTheCounters) {
  const auto set_defaults = [this](uint64_t counter, uint64_t double_counter) {
    Add([&](TracePacket* packet) {
      auto* const defaults =
          packet->set_trace_packet_defaults()->set_track_event_defaults();
      defaults->add_extra_counter_track_uuids(counter);
      defaults->add_extra_double_counter_track_uuids(double_counter);
    });
    AddEvent(counter, TrackEvent::TYPE_COUNTER, [](TrackEvent* event) {
      event->set_track_uuid(20);
      event->set_counter_value(5);
      event->add_extra_counter_values(6);
      event->add_extra_double_counter_values(7);
    });
  };
  Add([](TracePacket* packet) {
    packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
  });
  set_defaults(31, 32);
  set_defaults(33, 34);
  EXPECT_EQ(this->Rows(), (::Rows{"31 31=6", "32 31=7", "20 31=5", "33 33=6",
                                  "34 33=7", "20 33=5"}));
}

TEST_F(TraceReaderTest, LaterDefaultsReplaceTheTrack) {
  const auto add = [this](const char* name, uint64_t track, bool has_thread) {
    Add([&](TracePacket* packet) {
      auto* const defaults = packet->set_trace_packet_defaults();
      if (track != 0)
        defaults->set_track_event_defaults()->set_track_uuid(track);
    });
    if (has_thread) {
      Add([](TracePacket* packet) {
        auto* const thread = packet->set_thread_descriptor();
        thread->set_pid(5);
        thread->set_tid(6);
      });
    }
    AddNamed(1, TrackEvent::TYPE_INSTANT, 0, name);
  };
  add("own", 0, false);
  add("first", 31, false);
  add("second", 32, false);
  add("own", 0, false);
  add("thread", 0, true);
  add("thread", 0, false);
  std::map<std::string, std::set<uint64_t>> tracks;
  TraceReader::Callbacks callbacks;
  callbacks.on_instant = [&](const protozero::Instant& instant) {
    tracks[instant.text->name].insert(instant.track);
  };
  TraceReader reader(std::move(callbacks));
  EXPECT_TRUE(reader.Read(Bytes()));
  EXPECT_EQ(tracks["first"], std::set<uint64_t>{31});
  EXPECT_EQ(tracks["second"], std::set<uint64_t>{32});
  ASSERT_EQ(tracks["own"].size(), 1u);
  ASSERT_EQ(tracks["thread"].size(), 1u);
  EXPECT_NE(tracks["own"], tracks["thread"]);
  EXPECT_EQ(reader.tracks().Find(*tracks["thread"].begin())->tid, 6);
}

// A snapshot converts what comes before it, too, where the trace is read twice:
// times of a system's clock, of a sequence's, and of an incremental one.
TEST_F(TraceReaderTest, AClockWhoseSnapshotComesLater) {
  constexpr uint32_t kBoot = 6;
  constexpr uint32_t kMonotonic = 3;
  const auto add = [this](const char* name, uint32_t clock, uint64_t time,
                          uint32_t sequence = 1) {
    Add(
        [&](TracePacket* packet) {
          packet->set_timestamp(time);
          packet->set_timestamp_clock_id(clock);
          auto* const event = packet->set_track_event();
          event->set_type(TrackEvent::TYPE_INSTANT);
          event->set_name(name);
        },
        sequence);
  };
  struct Reading {
    uint32_t clock;
    uint64_t time;
    bool is_incremental;
  };
  const auto snap = [this](std::vector<Reading> readings, uint32_t sequence) {
    Add(
        [&](TracePacket* packet) {
          auto* const snapshot = packet->set_clock_snapshot();
          for (const Reading& reading : readings) {
            auto* const clock = snapshot->add_clocks();
            clock->set_clock_id(reading.clock);
            clock->set_timestamp(reading.time);
            clock->set_is_incremental(reading.is_incremental);
          }
        },
        sequence);
  };
  add("monotonic", kMonotonic, 10);
  add("own", 64, 20);
  add("of another sequence", 64, 20, 2);
  add("first", 65, 30);
  add("second", 65, 3);
  add("never", 66, 40);
  // Relates the first sequence's clocks by way of another clock.
  snap({{64, 100, false}, {kMonotonic, 1100, false}, {65, 40, true}}, 1);
  snap({{kMonotonic, 2000, false}, {kBoot, 52000, false}}, 9);
  snap({{64, 0, false}, {kBoot, 7000, false}}, 2);
  add("third", 65, 5);
  // Only the first relation is for times before it.
  snap({{kMonotonic, 3000, false}, {kBoot, 83000, false}}, 9);
  add("later", kMonotonic, 3001);
  const std::map<std::string, uint64_t> expected = {
      {"monotonic", 50010}, {"own", 51020},    {"of another sequence", 7020},
      {"first", 51090},     {"second", 51093}, {"never", 40},
      {"third", 51105},     {"later", 83001}};
  for (const bool is_asked_for : {false, true}) {
    std::map<std::string, uint64_t> times;
    TraceReader::Callbacks callbacks;
    callbacks.on_instant = [&](const protozero::Instant& instant) {
      times[instant.text->name] = instant.time_ns;
    };
    TraceReader reader(std::move(callbacks));
    int num_asked = 0;
    const auto read_ahead = [&] {
      ++num_asked;
      reader.ReadAhead(Bytes());
    };
    if (is_asked_for)
      reader.set_read_ahead(read_ahead);
    else
      read_ahead();
    EXPECT_TRUE(reader.Read(Bytes()));
    reader.Finish();
    EXPECT_EQ(times, expected);
    EXPECT_EQ(reader.unrelated(), 1u);
    EXPECT_EQ(num_asked, 1);
  }
}

// The first snapshot with a primary clock comes after events on it.
TEST_F(TraceReaderTest, AClockOfTheTraceThatIsNamedLater) {
  const auto add = [this](const char* name, uint32_t clock, uint64_t time) {
    Add([&](TracePacket* packet) {
      packet->set_timestamp(time);
      packet->set_timestamp_clock_id(clock);
      auto* const event = packet->set_track_event();
      event->set_type(TrackEvent::TYPE_INSTANT);
      event->set_name(name);
    });
  };
  add("boot", 6, 1001);
  add("monotonic", 3, 12);
  Add([](TracePacket* packet) {
    auto* const snapshot = packet->set_clock_snapshot();
    snapshot->set_primary_trace_clock(3);
    for (const uint32_t clock : {3u, 6u}) {
      auto* const reading = snapshot->add_clocks();
      reading->set_clock_id(clock);
      reading->set_timestamp(clock == 3 ? 10 : 1000);
    }
  });
  add("later", 6, 1005);
  rows_.clear();
  TraceReader reader(Callbacks());
  reader.ReadAhead(Bytes());
  EXPECT_TRUE(reader.Read(Bytes()));
  reader.Finish();
  EXPECT_EQ(rows_, (::Rows{":boot 11", ":monotonic 12", ":later 15"}));
}

// The last TrackDescriptor of a thread describes the sequence's thread, which
// has the events that no track and no default is for.
TEST_F(TraceReaderTest, ATrackOfAThreadIsTheSequences) {
  const auto describe = [this](uint64_t uuid, int64_t tid, bool is_cleared) {
    Add([&](TracePacket* packet) {
      if (is_cleared)
        packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
      auto* const track = packet->set_track_descriptor();
      track->set_uuid(uuid);
      if (tid == 0)
        return track->set_process()->set_pid(5);
      track->set_thread()->set_pid(5);
      track->set_thread()->set_tid(tid);
      track->set_thread()->set_reference_timestamp_us(7);
    });
  };
  const auto set_default = [this](uint64_t uuid) {
    Add([&](TracePacket* packet) {
      packet->set_trace_packet_defaults()
          ->set_track_event_defaults()
          ->set_track_uuid(uuid);
    });
  };
  const auto add = [this](const char* name) {
    AddEvent(0, TrackEvent::TYPE_INSTANT, [&](TrackEvent* event) {
      event->set_name(name);
      event->set_timestamp_delta_us(1);
    });
  };
  describe(30, 6, false);  // Before the sequence has begun.
  add("none");
  describe(31, 6, true);
  describe(32, 0, false);
  add("thread");
  describe(33, 7, false);
  add("later thread");
  set_default(34);
  describe(31, 6, false);
  add("default");
  describe(32, 0, true);  // Which ends the defaults.
  add("last thread");
  std::map<std::string, uint64_t> tracks;
  std::map<std::string, uint64_t> times;
  TraceReader::Callbacks callbacks;
  callbacks.on_instant = [&](const protozero::Instant& instant) {
    tracks[instant.text->name] = instant.track;
    times[instant.text->name] = instant.time_ns;
  };
  TraceReader reader(std::move(callbacks));
  EXPECT_TRUE(reader.Read(Bytes()));
  EXPECT_GT(tracks["none"], 34u);
  tracks.erase("none");
  EXPECT_EQ(tracks, (std::map<std::string, uint64_t>{{"thread", 31},
                                                     {"later thread", 33},
                                                     {"default", 34},
                                                     {"last thread", 31}}));
  EXPECT_EQ(times, (std::map<std::string, uint64_t>{{"none", 1000},
                                                    {"thread", 8000},
                                                    {"later thread", 8000},
                                                    {"default", 8000},
                                                    {"last thread", 9000}}));
}

TEST_F(TraceReaderTest, OlderTraces) {
  Add([](TracePacket* packet) {
    packet->set_incremental_state_cleared(true);
    auto* const thread = packet->set_thread_descriptor();
    thread->set_pid(5);
    thread->set_tid(6);
    thread->set_reference_timestamp_us(1000);
  });
  const auto add = [this](TrackEvent::Type type, int64_t delta_us) {
    Add([&](TracePacket* packet) {
      packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
      auto* const event = packet->set_track_event();
      event->set_type(type);
      event->set_timestamp_delta_us(delta_us);
      event->add_flow_ids_old(4);
      event->add_terminating_flow_ids_old(5);
    });
  };
  add(TrackEvent::TYPE_SLICE_BEGIN, 5);
  add(TrackEvent::TYPE_SLICE_END, 7);
  Add([&](TracePacket* packet) {
    auto* const event = packet->set_track_event();
    event->set_type(TrackEvent::TYPE_INSTANT);
    event->set_timestamp_absolute_us(3);
  });
  EXPECT_EQ(this->Rows(), (::Rows{": 3000", " 1005000+7000 4,5,4,5 ends 5,5"}));
}

TEST_F(TraceReaderTest, EventsOfTheJsonFormat) {
  Add([](TracePacket* packet) {
    packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    auto* const thread = packet->set_thread_descriptor();
    thread->set_pid(5);
    thread->set_tid(6);
  });
  const auto add = [this](uint64_t time_ns, char phase, const char* name,
                          uint64_t id = 0, uint64_t value = 0) {
    AddEvent(time_ns, TrackEvent::TYPE_UNSPECIFIED, [&](TrackEvent* event) {
      event->set_name(name);
      if (phase == 'C') {
        auto* const annotation = event->add_debug_annotations();
        annotation->set_name("value");
        annotation->set_uint_value(value);
      }
      auto* const legacy = event->set_legacy_event();
      legacy->set_phase(phase);
      if (phase == 'X')
        legacy->set_duration_us(static_cast<int64_t>(value));
      if (id != 0)
        legacy->set_unscoped_id(id);
    });
  };
  add(1000, 'B', "a");
  add(2000, 'X', "b", 0, 3);
  add(6000, 'i', "now");
  add(9000, 'E', "");
  // Two that overlap, and begin and end with different letters.
  add(10000, 'b', "async", 7);
  add(11000, 'S', "async", 8);
  add(12000, 'n', "step", 7);
  add(13000, 'e', "async", 7);
  add(15000, 'F', "async", 8);
  add(20000, 'C', "counter", 0, 4);
  add(21000, 'C', "counter", 0, 5);
  ::Rows rows = this->Rows();
  for (std::string& row : rows) {
    // The reader has made the track of the counter, and its number.
    const size_t equals = row.find('=');
    if (equals != std::string::npos)
      row.erase(0, row.rfind(' ', equals) + 1);
  }
  EXPECT_EQ(rows, (::Rows{":now 6000", ":step 12000", "20000=4", "21000=5",
                          "b 2000+3000", "a 1000+8000", "async 10000+3000",
                          "async 11000+4000"}));
}

TEST_F(TraceReaderTest, InternedTexts) {
  Add([](TracePacket* packet) {
    packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    auto* const data = packet->set_interned_data();
    auto* category = data->add_event_categories();
    category->set_iid(1);
    category->set_name(std::string(10000, 'c'));
    category = data->add_event_categories();
    category->set_iid(2);
    category->set_name("d");
    auto* const name = data->add_event_names();
    name->set_iid(uint64_t{1} << 40);
    name->set_name("n");
  });
  AddEvent(1, TrackEvent::TYPE_INSTANT, [](TrackEvent* event) {
    event->add_category_iids(2);
    event->add_category_iids(3);
    event->set_name_iid(uint64_t{1} << 40);
  });
  AddEvent(2, TrackEvent::TYPE_INSTANT, [](TrackEvent* event) {
    event->add_category_iids(1);
    event->set_name_iid(9);
  });
  EXPECT_EQ(this->Rows(),
            (::Rows{"d,unknown(3):n 1",
                    std::string(EventText::kMaxTextSize, 'c') + ": 2"}));
}

TEST_F(TraceReaderTest, ArgumentsAreFormattedByTheUser) {
  Add([](TracePacket* packet) {
    auto* const data = packet->set_interned_data();
    auto* const name = data->add_debug_annotation_names();
    name->set_iid(3);
    name->set_name("key");
  });
  AddEvent(1, TrackEvent::TYPE_INSTANT, [](TrackEvent* event) {
    event->add_debug_annotations()->set_name_iid(3);
  });
  TraceReader::Callbacks callbacks = Callbacks();
  callbacks.format_args = [](const protozero::EventArgs& args,
                             std::string* text) {
    const TrackEvent::Decoder event(args.event());
    for (const auto bytes : event.debug_annotations()) {
      const protozero::trace::DebugAnnotation::Decoder annotation(bytes);
      const protozero::trace::DebugAnnotationName::Decoder name(
          args.FindInterned(InternedData::kDebugAnnotationNamesFieldNumber,
                            annotation.name_iid()));
      *text += " " + name.name().ToStdString();
    }
    EXPECT_EQ(
        args.FindInterned(InternedData::kDebugAnnotationNamesFieldNumber, 4)
            .data,
        nullptr);
  };
  TraceReader reader(std::move(callbacks));
  EXPECT_TRUE(reader.Read(Bytes()));
  reader.Finish();
  EXPECT_EQ(rows_, (::Rows{": 1 key"}));
}

TEST_F(TraceReaderTest, FieldsThatTheReaderUsesAreNoArguments) {
  AddEvent(1, TrackEvent::TYPE_INSTANT, [](TrackEvent* event) {
    event->set_name("event");
    event->add_flow_ids(5);
    event->set_timestamp_delta_us(1);
  });
  AddEvent(2, TrackEvent::TYPE_INSTANT,
           [](TrackEvent* event) { event->add_debug_annotations(); });
  AddEvent(3, TrackEvent::TYPE_INSTANT, [](TrackEvent* event) {
    event->add_debug_annotations();
    event->set_correlation_id(7);
  });
  TraceReader::Callbacks callbacks = Callbacks();
  std::vector<bool> have_other_args;
  callbacks.format_args = [&](const protozero::EventArgs& args, std::string*) {
    have_other_args.push_back(args.has_other_args());
  };
  TraceReader reader(std::move(callbacks));
  EXPECT_TRUE(reader.Read(Bytes()));
  reader.Finish();
  EXPECT_EQ(have_other_args, (std::vector<bool>{false, true}));
}

TEST_F(TraceReaderTest, CompressedPackets) {
  AddNamed(5, TrackEvent::TYPE_INSTANT, 0, "inner");
  const std::string inner = std::exchange(trace_, "");
  Add([](TracePacket* packet) { packet->set_compressed_packets("x"); });
  TraceReader::Callbacks callbacks = Callbacks();
  callbacks.inflate = [&](uint32_t field_id, ConstBytes bytes,
                          std::string* packets) {
    EXPECT_EQ(field_id, TracePacket::kCompressedPacketsFieldNumber + 0u);
    EXPECT_EQ(bytes.ToStdString(), "x");
    *packets = inner;
    return true;
  };
  TraceReader reader(std::move(callbacks));
  EXPECT_TRUE(reader.Read(Bytes()));
  EXPECT_EQ(rows_, (::Rows{":inner 5"}));
  TraceReader without(Callbacks());
  EXPECT_TRUE(without.Read(Bytes()));
  EXPECT_EQ(without.unread().at("compressed packets"), 1u);
}

// A program hangs in a slice until the recording is stopped.
TEST_F(TraceReaderTest, ASliceWithoutAnEndLastsUntilTheLastSnapshot) {
  const auto end_ns = [this] {
    TraceReader::Callbacks callbacks = Callbacks();
    callbacks.on_unfinished = std::exchange(callbacks.on_slice, nullptr);
    rows_.clear();
    TraceReader reader(std::move(callbacks));
    EXPECT_TRUE(reader.Read(Bytes()));
    reader.Finish();
    return reader.end_ns();
  };
  const auto snap = [this](uint32_t clock, uint64_t boot_ns, bool is_foreign) {
    Add([&](TracePacket* packet) {
      auto* const snapshot = packet->set_clock_snapshot();
      auto* const boot = snapshot->add_clocks();
      boot->set_clock_id(6);
      boot->set_timestamp(boot_ns);
      auto* const other = snapshot->add_clocks();
      other->set_clock_id(clock);
      other->set_timestamp(boot_ns + 1000);
      // TracePacket.machine_id of Perfetto.
      if (is_foreign)
        packet->AppendVarInt(98, 7);
    });
  };
  snap(3, 50, false);
  EXPECT_EQ(end_ns(), 0u);
  AddNamed(100, TrackEvent::TYPE_SLICE_BEGIN, 0, "stuck");
  EXPECT_EQ(end_ns(), 100u);
  EXPECT_EQ(rows_, (std::vector<std::string>{"stuck 100+0"}));
  snap(3, 500, false);
  EXPECT_EQ(end_ns(), 500u);
  EXPECT_EQ(rows_, (std::vector<std::string>{"stuck 100+400"}));
  snap(3, 400, false);
  snap(3, 9000, /*is_foreign=*/true);
  EXPECT_EQ(end_ns(), 500u);
  const auto add_packet = [this](uint64_t timestamp, uint32_t clock) {
    Add([&](TracePacket* packet) {
      packet->set_timestamp(timestamp);
      packet->set_timestamp_clock_id(clock);
    });
  };
  add_packet(600, 6);
  EXPECT_EQ(end_ns(), 600u);
  add_packet(1700, 3);
  EXPECT_EQ(end_ns(), 700u);
  // No snapshot has that clock.
  add_packet(5000, 9);
  EXPECT_EQ(end_ns(), 700u);
}

TEST_F(TraceReaderTest, FilesAndDescriptors) {
  // The trace is larger than a block, and so is one of its packets.
  for (uint64_t i = 0; i < 20000; ++i)
    AddNamed(i, TrackEvent::TYPE_INSTANT, 0, "x");
  AddNamed(20000, TrackEvent::TYPE_INSTANT, 0,
           std::string(600000, 'y').c_str());
  FILE* const file = tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(fwrite(trace_.data(), 1, trace_.size(), file), trace_.size());
  rewind(file);
  TraceReader reader(Callbacks());
  EXPECT_TRUE(reader.ReadDescriptor(fileno(file))) << reader.error();
  EXPECT_EQ(rows_.size(), 20001u);
  EXPECT_EQ(reader.last_ns(), 20000u);

  rewind(file);
  ASSERT_EQ(ftruncate(fileno(file), 10), 0);
  TraceReader damaged(Callbacks());
  EXPECT_FALSE(damaged.ReadDescriptor(fileno(file)));
  EXPECT_EQ(damaged.error(), "the trace is damaged");
  fclose(file);
  TraceReader missing(Callbacks());
  EXPECT_FALSE(missing.ReadFile("/nowhere/trace"));
  EXPECT_NE(missing.error(), "");
}

}  // namespace
