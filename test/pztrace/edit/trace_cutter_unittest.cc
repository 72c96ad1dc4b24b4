// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/edit/trace_cutter.h"

#include <stdint.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/trace_reader.h"
#include "test/pztrace/random_trace.h"

namespace {

using protozero::BufferExhaustedPolicy;
using protozero::ConstBytes;
using protozero::CounterValue;
using protozero::EventArgs;
using protozero::Field;
using protozero::HeapBuffered;
using protozero::Instant;
using protozero::LocalTrace;
using protozero::ProtoDecoder;
using protozero::Slice;
using protozero::SwitchTask;
using protozero::Task;
using protozero::TaskResult;
using protozero::TaskStep;
using protozero::TraceReader;
using protozero::trace::DebugAnnotation;
using protozero::trace::DebugAnnotationName;
using protozero::trace::InternedData;
using protozero::trace::Trace;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;
using pztrace::TraceCutter;

ConstBytes BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// An event as texts.
struct Row {
  uint64_t begin_ns;
  uint64_t end_ns;
  std::string category;  // Empty if it has none.
  std::string text;
  std::string details;

  auto AsTuple() const {
    return std::tie(begin_ns, end_ns, category, text, details);
  }
  friend bool operator<(const Row& a, const Row& b) {
    return a.AsTuple() < b.AsTuple();
  }
  friend bool operator==(const Row& a, const Row& b) {
    return a.AsTuple() == b.AsTuple();
  }
  friend void PrintTo(const Row& row, std::ostream* out) {
    *out << "\n"
         << row.begin_ns << " to " << row.end_ns << " " << row.category << ":"
         << row.text << " " << row.details;
  }
};
using Rows = std::vector<Row>;

// The events of a trace.
struct Events {
  Rows slices;    // Slices that have ended, with the details of both ends.
  Rows moments;   // Instants and steps of tasks.
  Rows counters;  // Values of counters.
  Rows open;      // Slices without an end.
  uint64_t skipped = 0;
  uint64_t first_ns = 0;
  uint64_t last_ns = 0;
};

// Returns the bytes of an event, and the texts that its arguments refer to.
std::string DetailsOf(const EventArgs& args) {
  std::string text;
  const TrackEvent::Decoder event(args.event());
  for (const auto bytes : event.debug_annotations()) {
    const DebugAnnotation::Decoder annotation(bytes);
    text +=
        DebugAnnotationName::Decoder(
            args.FindInterned(InternedData::kDebugAnnotationNamesFieldNumber,
                              annotation.name_iid()))
            .name()
            .ToStdString();
  }
  for (size_t i = 0; i < args.event().size; ++i)
    text += " " + std::to_string(args.event().data[i]);
  return text;
}

Row RowOf(const TaskStep& step) {
  std::string text = std::to_string(static_cast<int>(step.kind)) + " " +
                     std::to_string(step.task) + " on " +
                     std::to_string(step.thread) + " of " +
                     std::to_string(step.process);
  for (const auto* place : {step.spawned_at, step.waits_at}) {
    if (place != nullptr)
      text += " " + place->name + ":" + std::to_string(place->line);
  }
  return {step.time_ns, step.time_ns, "", text, std::string(step.text)};
}

Events EventsOf(const std::string& trace) {
  Events events;
  TraceReader* reader_address = nullptr;
  const auto track_text = [&](uint64_t track) {
    const auto info = reader_address->tracks().Find(track);
    if (!info)
      return "not described, " + std::to_string(track);
    // The reader makes the number of a thread that no track describes yet.
    return info->name + " " + std::to_string(info->tid) + " in " +
           std::to_string(info->parent);
  };
  const auto add = [&](uint64_t begin_ns, uint64_t end_ns, const auto& event,
                       Rows* rows) {
    rows->push_back({begin_ns, end_ns, event.text->category,
                     event.text->name + " on " + track_text(event.track),
                     event.details->args});
  };
  TraceReader::Callbacks callbacks;
  callbacks.on_slice = [&](const Slice& slice) {
    add(slice.begin_ns, slice.begin_ns + slice.duration_ns, slice,
        &events.slices);
  };
  callbacks.on_unfinished = [&](const Slice& slice) {
    add(slice.begin_ns, UINT64_MAX, slice, &events.open);
  };
  callbacks.on_instant = [&](const Instant& instant) {
    add(instant.time_ns, instant.time_ns, instant, &events.moments);
  };
  callbacks.on_counter = [&](const CounterValue& value) {
    events.counters.push_back({value.time_ns, value.time_ns, "",
                               track_text(value.track),
                               std::to_string(value.value)});
  };
  callbacks.on_task_step = [&](const TaskStep& step) {
    if (step.kind != TaskStep::Kind::kLoss)
      events.moments.push_back(RowOf(step));
  };
  callbacks.reads_details = true;
  callbacks.format_args = [](const EventArgs& args, std::string* out) {
    *out += DetailsOf(args);
  };
  TraceReader reader(std::move(callbacks));
  reader_address = &reader;
  reader.ReadAhead(BytesOf(trace));
  EXPECT_TRUE(reader.Read(BytesOf(trace)));
  reader.Finish();
  events.skipped = reader.skipped();
  events.first_ns = reader.first_ns();
  events.last_ns = reader.last_ns();
  for (Rows* rows :
       {&events.slices, &events.moments, &events.counters, &events.open}) {
    std::sort(rows->begin(), rows->end());
  }
  return events;
}

// Cuts, and gives the cutter the trace in several parts.
std::string Cut(const std::string& trace, const TraceCutter::Options& options) {
  TraceCutter cutter(options);
  std::string piece;
  for (int i = 0; i < TraceCutter::kNumReadings; ++i) {
    ProtoDecoder decoder(trace);
    size_t begin = 0;
    while (decoder.ReadField()) {
      if (decoder.read_offset() - begin > 4000 || decoder.bytes_left() == 0) {
        EXPECT_TRUE(cutter.Read(BytesOf(std::string_view(trace).substr(
                                    begin, decoder.read_offset() - begin)),
                                &piece));
        begin = decoder.read_offset();
      }
    }
    cutter.EndReading(&piece);
  }
  return piece;
}

template <typename Wanted>
Rows Select(const Rows& rows, Wanted wanted) {
  Rows selected;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(selected), wanted);
  return selected;
}

// Returns the slices that are open at a time, without the details of their
// ends.
Rows OpenAt(const Events& events, uint64_t time_ns) {
  Rows open;
  for (const Rows* rows : {&events.slices, &events.open}) {
    for (const Row& row : *rows) {
      if (row.begin_ns < time_ns && row.end_ns >= time_ns)
        open.push_back({row.begin_ns, 0, row.category, row.text, ""});
    }
  }
  std::sort(open.begin(), open.end());
  return open;
}

// Returns a snapshot of the boot clock and of the real-time clock.
std::string SnapshotAt(uint64_t boot_ns) {
  HeapBuffered<Trace> trace;
  auto* const snapshot = trace->add_packet()->set_clock_snapshot();
  for (const uint32_t id : {6u, 1u}) {
    auto* const clock = snapshot->add_clocks();
    clock->set_clock_id(id);
    clock->set_timestamp(boot_ns + id);
  }
  return trace.SerializeAsString();
}

uint64_t EndOf(const std::string& trace) {
  TraceReader reader{TraceReader::Callbacks()};
  EXPECT_TRUE(reader.Read(BytesOf(trace)));
  reader.Finish();
  return reader.end_ns();
}

// A slice that is open lasts until the end of the piece, or of the trace.
TEST(TraceCutterTest, APieceEndsWhereItIsCut) {
  HeapBuffered<Trace> events;
  auto* const packet = events->add_packet();
  packet->set_timestamp(1000);
  packet->set_trusted_packet_sequence_id(1);
  auto* const event = packet->set_track_event();
  event->set_type(TrackEvent::TYPE_SLICE_BEGIN);
  event->set_name(std::string_view("stuck"));
  const std::string trace =
      SnapshotAt(900) + events.SerializeAsString() + SnapshotAt(9000);
  EXPECT_EQ(EndOf(trace), 9006u);
  TraceCutter::Options options;
  options.to_ns = 3000;
  EXPECT_EQ(EndOf(Cut(trace, options)), 4000u);
  options.from_ns = 1000;
  EXPECT_EQ(EndOf(Cut(trace, options)), 4000u);
  options.to_ns = 20000;
  EXPECT_EQ(EndOf(Cut(trace, options)), 9006u);
  // Statistics are written last.
  HeapBuffered<Trace> stats;
  auto* const last = stats->add_packet();
  last->set_timestamp(8000);
  last->set_trace_stats()->set_total_buffers(7);
  options.to_ns = 3000;
  const std::string with_stats =
      SnapshotAt(900) + events.SerializeAsString() + stats.SerializeAsString();
  EXPECT_EQ(EndOf(with_stats), 8000u);
  const std::string piece = Cut(with_stats, options);
  EXPECT_EQ(EndOf(piece), 4000u);
  const std::string total = {
      char{protozero::trace::TraceStats::kTotalBuffersFieldNumber << 3}, 7};
  EXPECT_NE(piece.find(total), std::string::npos);
  // Without clocks, the piece says nothing of them either.
  const std::string without = events.SerializeAsString();
  EXPECT_EQ(EndOf(Cut(without, options)), 1000u);
}

std::multiset<std::string> PacketsOf(const std::string& trace) {
  std::multiset<std::string> packets;
  ProtoDecoder decoder(trace);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField())
    packets.insert(field.as_bytes().ToStdString());
  return packets;
}

// Expects that all packets with events are those of the trace.
void ExpectUnchanged(const std::string& trace, const std::string& piece) {
  const auto packets = PacketsOf(trace);
  const auto packets_of_piece = PacketsOf(piece);
  for (const std::string& packet : packets_of_piece) {
    const TracePacket::Decoder decoder(packet);
    // The sums of incremental counters are said by events.
    if (!decoder.has_track_event() ||
        TrackEvent::Decoder(decoder.track_event()).type() ==
            TrackEvent::TYPE_COUNTER) {
      continue;
    }
    EXPECT_GE(packets.count(packet), packets_of_piece.count(packet));
  }
}

// Expects that a piece has the events of its time.
void ExpectPiece(const Events& whole,
                 const Events& piece,
                 uint64_t from_ns,
                 uint64_t to_ns,
                 bool has_losses) {
  const auto begins_inside = [&](const Row& row) {
    return row.begin_ns >= from_ns && row.begin_ns < to_ns;
  };
  const auto ends_inside = [&](const Row& row) {
    return row.end_ns >= from_ns && row.end_ns < to_ns;
  };
  EXPECT_EQ(Select(piece.moments, begins_inside),
            Select(whole.moments, begins_inside));
  EXPECT_EQ(Select(piece.counters, begins_inside),
            Select(whole.counters, begins_inside));
  EXPECT_EQ(Select(piece.slices, ends_inside),
            Select(whole.slices, ends_inside));
  // A loss ends slices, which readers of a piece that ends before see open.
  if (!has_losses) {
    EXPECT_EQ(OpenAt(piece, to_ns), OpenAt(whole, to_ns));
  }
}

bool IsWantedCategory(std::string_view category) {
  return category == "category 0" || category == "category 3";
}

class TraceCutterTest : public testing::TestWithParam<uint32_t> {
 protected:
  // Cuts the trace at random, and expects that the pieces are right.
  void ExpectPieces(const std::string& trace, bool has_losses) {
    const Events whole = EventsOf(trace);
    EXPECT_TRUE(Cut(trace, {}) == trace);
    for (const auto& [from_ns, to_ns] : RandomTimes(whole)) {
      SCOPED_TRACE("from " + std::to_string(from_ns) + " to " +
                   std::to_string(to_ns));
      TraceCutter::Options options;
      options.from_ns = from_ns;
      options.to_ns = to_ns;
      const std::string piece = Cut(trace, options);
      const Events events = EventsOf(piece);
      ExpectPiece(whole, events, whole.first_ns + from_ns,
                  whole.first_ns + to_ns, has_losses);
      ExpectUnchanged(trace, piece);
      EXPECT_LE(events.skipped, whole.skipped);
      EXPECT_TRUE(Cut(piece, {}) == piece);
    }
  }

  // Returns times that follow each other, from the first event on.
  std::vector<std::pair<uint64_t, uint64_t>> RandomTimes(const Events& whole) {
    const uint64_t length_ns = whole.last_ns - whole.first_ns;
    std::mt19937 random(GetParam());
    std::set<uint64_t> cuts = {0, length_ns + 1};
    // Many events are at one time, also at a cut.
    for (int i = 0; i < 4; ++i)
      cuts.insert(random() % length_ns / 1000 * 1000 + random() % 2);
    std::vector<std::pair<uint64_t, uint64_t>> times;
    for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut)
      times.emplace_back(*cut, *std::next(cut));
    return times;
  }
};

TEST_P(TraceCutterTest, EventsOfPiecesAreThoseOfTheWhole) {
  ExpectPieces(RandomTrace(GetParam(), {}).bytes(), false);
}

TEST_P(TraceCutterTest, TraceWithLosses) {
  RandomTrace::Options options;
  options.has_losses = true;
  ExpectPieces(RandomTrace(GetParam(), options).bytes(), true);
}

TEST_P(TraceCutterTest, TraceThatBeginsInTheMiddle) {
  RandomTrace::Options options;
  options.begins_in_the_middle = true;
  ExpectPieces(RandomTrace(GetParam(), options).bytes(), false);
}

TEST_P(TraceCutterTest, RotatedFiles) {
  RandomTrace::Options options;
  options.is_rotated = true;
  ExpectPieces(RandomTrace(GetParam(), options).bytes(), false);
}

TEST_P(TraceCutterTest, EventsOfCategories) {
  const std::string trace = RandomTrace(GetParam(), {}).bytes();
  const Events whole = EventsOf(trace);
  const auto is_wanted = [](const Row& row) {
    return row.category.empty() || IsWantedCategory(row.category);
  };
  for (const auto& [from_ns, to_ns] : RandomTimes(whole)) {
    SCOPED_TRACE("from " + std::to_string(from_ns) + " to " +
                 std::to_string(to_ns));
    TraceCutter::Options options;
    options.from_ns = from_ns;
    options.to_ns = to_ns;
    options.wants_category = IsWantedCategory;
    const std::string piece = Cut(trace, options);
    ExpectUnchanged(trace, piece);
    const Events all_events = EventsOf(piece);
    Events events;
    Events wanted;
    // A packet that ends one state begins another one.
    events.slices = Select(all_events.slices, is_wanted);
    events.open = Select(all_events.open, is_wanted);
    events.moments =
        Select(all_events.moments, [](const Row&) { return true; });
    wanted.slices = Select(whole.slices, is_wanted);
    wanted.open = Select(whole.open, is_wanted);
    wanted.moments = Select(whole.moments, is_wanted);
    ExpectPiece(wanted, events, whole.first_ns + from_ns,
                whole.first_ns + to_ns, /*has_losses=*/false);
    // Sums of incremental counters go on where they were.
    std::set<std::pair<std::string, std::string>> values;
    for (const Row& row : whole.counters)
      values.insert({row.text, row.details});
    for (const Row& row : all_events.counters)
      EXPECT_EQ(values.count({row.text, row.details}), 1u) << row.text;
  }
}

// Returns a trace of two threads that run tasks.
std::string TraceOfTasks() {
  std::string bytes;
  LocalTrace::Options options;
  options.sink = [&bytes](const uint8_t* data, size_t size) {
    bytes.append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  options.exhausted_policy = BufferExhaustedPolicy::kStall;
  LocalTrace trace(std::move(options));
  const auto work = [](uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Task> tasks;
    for (int i = 0; i < 8; ++i)
      tasks.push_back(Task::Spawn(PROTOZERO_TASK_SITE("task")));
    for (int i = 0; i < 5000; ++i) {
      const Task& next = tasks[random() % tasks.size()];
      switch (random() % 5) {
        case 0:
          SwitchTask(Task());
          break;
        case 1:
          SwitchTask(next, PROTOZERO_TASK_SITE("wait"));
          break;
        case 2:
          next.Wake();
          break;
        default:
          SwitchTask(next);
          break;
      }
    }
    SwitchTask(Task(), TaskResult::kDone);
  };
  std::thread other(work, 2);
  work(1);
  other.join();
  EXPECT_TRUE(trace.Stop());
  return bytes;
}

TEST(TraceCutterTasksTest, StepsOfPiecesAreThoseOfTheWhole) {
  const std::string trace = TraceOfTasks();
  const Events whole = EventsOf(trace);
  ASSERT_GT(whole.moments.size(), 10000u);
  const uint64_t length_ns = whole.last_ns - whole.first_ns;
  for (uint64_t i = 0; i < 5; ++i) {
    TraceCutter::Options options;
    options.from_ns = length_ns * i / 5;
    options.to_ns = length_ns * (i + 1) / 5 + (i == 4);
    const Events piece = EventsOf(Cut(trace, options));
    ExpectPiece(whole, piece, whole.first_ns + options.from_ns,
                whole.first_ns + options.to_ns, /*has_losses=*/false);
    // The tasks that ran when the piece began.
    EXPECT_LE(piece.moments.size() - Select(piece.moments,
                                            [&](const Row& row) {
                                              return row.begin_ns >=
                                                     whole.first_ns +
                                                         options.from_ns;
                                            })
                                         .size(),
              2u);
  }
}

// A trace that is written packet by packet.
class TraceCutterPacketsTest : public testing::Test {
 protected:
  template <typename Fill>
  void Add(Fill fill) {
    HeapBuffered<Trace> trace;
    TracePacket* const packet = trace->add_packet();
    packet->set_trusted_packet_sequence_id(2);
    fill(packet);
    trace_ += trace.SerializeAsString();
  }
  // Begins a sequence at 1000 ns.
  void AddBeginning() {
    Add([](TracePacket* packet) {
      packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
      auto* const defaults = packet->set_trace_packet_defaults();
      defaults->set_timestamp_clock_id(64);
      defaults->set_track_event_defaults()->set_track_uuid(7);
      auto* const snapshot = packet->set_clock_snapshot();
      auto* const boot = snapshot->add_clocks();
      boot->set_clock_id(6);
      boot->set_timestamp(1000);
      auto* const own = snapshot->add_clocks();
      own->set_clock_id(64);
      own->set_timestamp(1000);
      own->set_is_incremental(true);
    });
  }
  void AddTrack(uint64_t uuid, const char* name) {
    Add([&](TracePacket* packet) {
      packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
      packet->set_timestamp(0);
      auto* const track = packet->set_track_descriptor();
      track->set_uuid(uuid);
      track->set_name(name);
    });
  }
  void AddInstant(uint64_t delta_ns, bool is_named = false) {
    Add([&](TracePacket* packet) {
      packet->set_timestamp(delta_ns);
      packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
      if (is_named) {
        auto* const name = packet->set_interned_data()->add_event_names();
        name->set_iid(5);
        name->set_name("five");
      }
      auto* const event = packet->set_track_event();
      event->set_type(TrackEvent::TYPE_INSTANT);
      event->set_name_iid(5);
    });
  }
  // Returns the packets of a piece in their order.
  static std::vector<std::string> Packets(const std::string& piece) {
    std::vector<std::string> packets;
    ProtoDecoder decoder(piece);
    for (Field field = decoder.ReadField(); field; field = decoder.ReadField())
      packets.push_back(field.as_bytes().ToStdString());
    return packets;
  }

  std::string trace_;
};

TEST_F(TraceCutterPacketsTest, StateIsSaidBeforeTheFirstPacket) {
  AddBeginning();
  AddTrack(7, "used");
  AddTrack(8, "not used");
  AddInstant(0, /*is_named=*/true);
  AddInstant(100);
  AddInstant(100);
  const std::string last = Packets(trace_).back();
  TraceCutter::Options options;
  options.from_ns = 150;
  const auto packets = Packets(Cut(trace_, options));
  ASSERT_EQ(packets.size(), 4u);
  for (const std::string& packet : packets)
    EXPECT_EQ(TracePacket::Decoder(packet).trusted_packet_sequence_id(), 2u);
  const TracePacket::Decoder track(packets[0]);
  EXPECT_FALSE(track.has_sequence_flags());
  EXPECT_FALSE(track.has_timestamp());
  EXPECT_EQ(protozero::trace::TrackDescriptor::Decoder(track.track_descriptor())
                .uuid(),
            7u);
  const TracePacket::Decoder state(packets[1]);
  EXPECT_EQ(state.sequence_flags(),
            uint32_t{TracePacket::SEQ_INCREMENTAL_STATE_CLEARED});
  EXPECT_TRUE(state.has_interned_data());
  EXPECT_TRUE(state.has_trace_packet_defaults());
  std::vector<uint64_t> times;
  const TracePacket::Decoder clocks(packets[2]);
  for (const auto bytes :
       protozero::trace::ClockSnapshot::Decoder(clocks.clock_snapshot())
           .clocks()) {
    times.push_back(
        protozero::trace::ClockSnapshot::Clock::Decoder(bytes).timestamp());
  }
  EXPECT_EQ(times, (std::vector<uint64_t>{1100, 1100}));
  EXPECT_EQ(packets[3], last);
}

TEST_F(TraceCutterPacketsTest, DescriptionsAreSaidOnceForEachChange) {
  AddBeginning();
  AddInstant(0, /*is_named=*/true);
  for (const char* name : {"first", "first", "second", "second", "first"})
    AddTrack(7, name);
  AddInstant(100);
  TraceCutter::Options options;
  options.from_ns = 50;
  // Three descriptions, the state, the clock, and the event.
  EXPECT_EQ(Packets(Cut(trace_, options)).size(), 6u);
}

TEST_F(TraceCutterPacketsTest, ALossAtTheEndIsSaid) {
  AddBeginning();
  AddInstant(0, /*is_named=*/true);
  Add([](TracePacket* packet) {
    packet->set_timestamp(2000);
    packet->set_timestamp_clock_id(6);
    packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    packet->set_previous_packet_dropped(true);
    packet->set_track_event()->set_type(TrackEvent::TYPE_INSTANT);
  });
  TraceCutter::Options options;
  options.to_ns = 500;
  // The clocks at the end of the piece come last.
  const std::vector<std::string> packets = Packets(Cut(trace_, options));
  ASSERT_EQ(packets.size(), 4u);
  const TracePacket::Decoder loss(packets[2]);
  EXPECT_TRUE(loss.previous_packet_dropped());
  EXPECT_FALSE(loss.has_track_event());
  EXPECT_TRUE(TracePacket::Decoder(packets[3]).has_clock_snapshot());
  // A piece with the packet after the loss has it there only.
  options = {};
  options.from_ns = 500;
  std::vector<bool> losses;
  for (const std::string& packet : Packets(Cut(trace_, options)))
    losses.push_back(TracePacket::Decoder(packet).previous_packet_dropped());
  EXPECT_EQ(std::count(losses.begin(), losses.end(), true), 1);
  EXPECT_TRUE(losses.back());
}

TEST_F(TraceCutterPacketsTest, CompressedPacketsAreCounted) {
  Add([&](TracePacket* packet) {
    packet->AppendString(TracePacket::kCompressedPacketsFieldNumber, "?");
  });
  TraceCutter cutter({});
  std::string piece;
  EXPECT_TRUE(cutter.Read(BytesOf(trace_), &piece));
  EXPECT_EQ(cutter.num_compressed(), 1u);
}

TEST_F(TraceCutterPacketsTest, TimeWithoutEvents) {
  AddBeginning();
  AddInstant(0, /*is_named=*/true);
  AddInstant(100);
  for (const uint64_t from_ns : {50u, 101u}) {
    TraceCutter::Options options;
    options.from_ns = from_ns;
    TraceCutter cutter(options);
    std::string piece;
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(cutter.Read(BytesOf(trace_), &piece));
      cutter.EndReading();
    }
    EXPECT_EQ(cutter.has_events(), from_ns == 50);
  }
}

// Unoptimized code is tried with less.
#ifdef NDEBUG
constexpr uint32_t kNumSeeds = 60;
#else
constexpr uint32_t kNumSeeds = 20;
#endif
INSTANTIATE_TEST_SUITE_P(Seeds, TraceCutterTest, testing::Range(0u, kNumSeeds));

}  // namespace
