// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/trace_reader.h"

#include <stdint.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/trace.h"
#include "test/tracing/trace_reader/made_trace.h"

namespace {

using protozero::ConstBytes;
using protozero::Gaps;
using protozero::LostStretch;
using protozero::TraceReader;
using protozero::TrackInfo;
using protozero::trace::TracePacket;
using protozero::trace::TraceStats;
using protozero::trace::TrackEvent;
using Texts = std::vector<std::string>;

constexpr auto kBegin = TrackEvent::TYPE_SLICE_BEGIN;
constexpr auto kEnd = TrackEvent::TYPE_SLICE_END;
constexpr auto kInstant = TrackEvent::TYPE_INSTANT;

// Reads traces with losses, and looks at the reader afterwards.
class TraceReaderLossesTest : public protozero::test::MadeTraceTest {
 protected:
  // Adds the packet after a loss, which holds nothing.
  void Lose(uint32_t sequence = 1, int32_t pid = 0) {
    Add(
        [pid](TracePacket* packet) {
          packet->set_previous_packet_dropped(true);
          if (pid != 0)
            packet->set_trusted_pid(pid);
        },
        sequence);
  }
  void Clear(uint32_t sequence = 1) {
    Add(
        [](TracePacket* packet) {
          packet->set_sequence_flags(
              TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
        },
        sequence);
  }
  // Adds a packet that needs what the sequence has described.
  void AddDependent(uint64_t time_ns, uint32_t sequence = 1) {
    Add(
        [time_ns](TracePacket* packet) {
          packet->set_timestamp(time_ns);
          packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
          auto* const event = packet->set_track_event();
          event->set_type(kInstant);
          event->set_name("dependent");
        },
        sequence);
  }
  void ReadAll() {
    EXPECT_TRUE(reader_.Read(Bytes()));
    reader_.Finish();
  }

  TraceReader reader_{Callbacks()};
};

TEST_F(TraceReaderLossesTest, ALossEndsWhatIsOpen) {
  AddNamed(100, kBegin, 0, "lost");
  AddNamed(110, kBegin, 0, "inner");
  AddNamed(115, kBegin, 0, "other", 2);
  Lose();
  AddNamed(120, kBegin, 0, "after");
  AddNamed(130, kEnd, 0, "");
  AddNamed(140, kEnd, 0, "");
  AddNamed(150, kEnd, 0, "", 2);
  ReadAll();
  std::sort(rows_.begin(), rows_.end());
  EXPECT_EQ(rows_, (Texts{"after 120+10", "other 115+35"}));
  EXPECT_EQ(reader_.unfinished(), 2u);
  EXPECT_EQ(reader_.lost_ends(), 2u);
  EXPECT_EQ(reader_.unbegun(), 1u);
  EXPECT_EQ(reader_.first_ns(), 100u);
  EXPECT_EQ(reader_.last_ns(), 150u);
}

// The loss is at the time of the last event before it.
TEST_F(TraceReaderLossesTest, WhatBeginsBehindALossIsNotOverWithIt) {
  AddNamed(100, kBegin, 0, "lost");
  Lose();
  AddNamed(90, kBegin, 0, "earlier");
  AddNamed(120, kEnd, 0, "");
  ReadAll();
  EXPECT_EQ(rows_, (Texts{"earlier 90+30"}));
  EXPECT_EQ(reader_.lost_ends(), 1u);
}

TEST_F(TraceReaderLossesTest, GapsOfASequence) {
  // The first packet says the same, but nothing is known to be lost.
  Lose(1, 5);
  AddNamed(100, kInstant, 0, "a");
  EXPECT_TRUE(reader_.Read(Bytes()));
  EXPECT_TRUE(reader_.gaps().empty());
  trace_.clear();
  Lose(1, 5);
  AddNamed(200, kInstant, 0, "b");
  AddNamed(300, kInstant, 0, "c");
  Lose(1);
  AddNamed(250, kInstant, 0, "d");
  AddNamed(10, kInstant, 0, "e", 2);
  Lose(2);
  AddNamed(20, kInstant, 0, "f", 2);
  ReadAll();
  ASSERT_EQ(reader_.gaps().size(), 2u);
  const Gaps& first = reader_.gaps().at(1);
  const Gaps& second = reader_.gaps().at(2);
  EXPECT_EQ(first.places, 2u);
  EXPECT_EQ(first.pid, 5);
  EXPECT_EQ(second.places, 1u);
  EXPECT_EQ(second.pid, 0);
  EXPECT_NE(first.track, second.track);
  std::vector<std::vector<uint64_t>> stretches;
  for (const LostStretch& stretch : reader_.lost_stretches())
    stretches.push_back({stretch.track, stretch.begin_ns, stretch.end_ns});
  EXPECT_EQ(stretches, (std::vector<std::vector<uint64_t>>{
                           {first.track, 100, 200},
                           {first.track, 300, 300},  // A clock went back.
                           {second.track, 10, 20}}));
}

TEST_F(TraceReaderLossesTest, PacketsThatNeedMissingOnes) {
  // The first sequence's are from before the recording.
  AddDependent(1);
  AddDependent(2);
  Clear();
  AddDependent(3);
  Clear(2);
  AddDependent(4, 2);
  Lose(2);
  AddDependent(5, 2);
  Clear(2);
  AddDependent(6, 2);
  // The older flag says the same.
  Lose(2);
  Add([](TracePacket* packet) { packet->set_incremental_state_cleared(true); },
      2);
  AddDependent(7, 2);
  ReadAll();
  EXPECT_EQ(rows_, (Texts{":dependent 3", ":dependent 4", ":dependent 6",
                          ":dependent 7"}));
  EXPECT_EQ(reader_.skipped(), 3u);
  EXPECT_EQ(reader_.skipped_by_loss(), 1u);
}

TEST_F(TraceReaderLossesTest, LossesThatServicesReport) {
  EXPECT_FALSE(reader_.has_stats());
  struct Lost {
    TraceStats::LossReason reason;
    uint64_t packets;
  };
  const auto add = [this](std::initializer_list<Lost> all, uint64_t unknown,
                          uint64_t sum) {
    Add([&](TracePacket* packet) {
      auto* const stats = packet->set_trace_stats();
      for (int buffer = 0; buffer < 2; ++buffer) {
        auto* const of_buffer = stats->add_buffer_stats();
        for (const Lost& lost : all) {
          auto* const entry = of_buffer->add_packets_lost();
          entry->set_reason(lost.reason);
          entry->set_packets(lost.packets);
        }
        of_buffer->set_unknown_losses(unknown);
        of_buffer->set_trace_writer_packet_loss(sum);
      }
    });
  };
  // These are the statistics of three services.
  add({{TraceStats::LOSS_OVERWRITTEN, 3}, {TraceStats::LOSS_INVALID, 4}}, 5, 7);
  add({{TraceStats::LOSS_OVERWRITTEN, 10}}, 0, 10);
  add({}, 0, 100);
  ReadAll();
  EXPECT_TRUE(reader_.has_stats());
  EXPECT_EQ(reader_.packets_lost(),
            (std::map<uint32_t, uint64_t>{{TraceStats::LOSS_UNKNOWN, 200},
                                          {TraceStats::LOSS_OVERWRITTEN, 26},
                                          {TraceStats::LOSS_INVALID, 8}}));
  EXPECT_EQ(reader_.unknown_losses(), 10u);
}

TEST_F(TraceReaderLossesTest, StatisticsWithoutALoss) {
  Add([](TracePacket* packet) {
    packet->set_trace_stats()->add_buffer_stats()->set_bytes_written(1);
  });
  ReadAll();
  EXPECT_TRUE(reader_.has_stats());
  EXPECT_TRUE(reader_.packets_lost().empty());
  EXPECT_EQ(reader_.unknown_losses(), 0u);
}

TEST_F(TraceReaderLossesTest, EventsThatAreNotRead) {
  AddNamed(1, TrackEvent::TYPE_UNSPECIFIED, 0, "x");
  AddNamed(2, static_cast<TrackEvent::Type>(99), 0, "x");
  AddEvent(3, kInstant, [](TrackEvent* event) {
    event->AppendBytes(50, "x", 1);  // A screenshot.
    event->AppendVarInt(4000, 1);
  });
  // Ftrace, profiles, and a field that this reader has never heard of.
  for (const uint32_t field : {1u, 37u, 66u, 4000u})
    Add([field](TracePacket* packet) { packet->AppendBytes(field, "x", 1); });
  ReadAll();
  EXPECT_EQ(reader_.unread(),
            (std::map<std::string, uint64_t>{{"events of an unknown type", 2},
                                             {"fields screenshot", 1},
                                             {"packets of ftrace", 1},
                                             {"packets of profiles", 2}}));
}

TEST_F(TraceReaderLossesTest, EventsOnAClockThatNothingRelates) {
  const auto add = [this](uint32_t clock, uint64_t time_ns) {
    Add([&](TracePacket* packet) {
      packet->set_timestamp(time_ns);
      packet->set_timestamp_clock_id(clock);
      packet->set_track_event()->set_type(kInstant);
    });
  };
  const auto snap = [this](std::initializer_list<uint32_t> clocks) {
    Add([&](TracePacket* packet) {
      auto* const snapshot = packet->set_clock_snapshot();
      for (const uint32_t clock : clocks) {
        auto* const reading = snapshot->add_clocks();
        reading->set_clock_id(clock);
        reading->set_timestamp(1000 * clock);
      }
    });
  };
  add(3, 7);
  snap({6, 1});
  add(3, 8);
  add(6, 9);
  snap({6, 3});
  add(3, 3010);
  ReadAll();
  EXPECT_EQ(rows_, (Texts{": 7", ": 8", ": 9", ": 6010"}));
  EXPECT_EQ(reader_.unrelated(), 2u);
  EXPECT_EQ(reader_.RealtimeOf(6005), 1005);
  EXPECT_EQ(reader_.realtime_offset_ns(), -5000);
}

TEST_F(TraceReaderLossesTest, DescriptionsThatAreReadAhead) {
  const auto describe = [this](const char* name) {
    Add([name](TracePacket* packet) {
      auto* const track = packet->set_track_descriptor();
      track->set_uuid(7);
      auto* const thread = track->set_thread();
      thread->set_pid(5);
      thread->set_tid(6);
      thread->set_thread_name(name);
    });
  };
  describe("first");
  AddNamed(1, kInstant, 7, "x");
  describe("last");
  Add([](TracePacket* packet) {
    packet->AppendBytes(TracePacket::kExtensionDescriptorFieldNumber, "x", 1);
  });
  Add([](TracePacket* packet) { packet->set_compressed_packets("first"); });
  Texts names;
  int num_extensions = 0;
  int num_inflated = 0;
  TraceReader* reader = nullptr;
  TraceReader::Callbacks callbacks;
  const auto name_of = [&](uint64_t track) {
    return reader->tracks().Find(track).value_or(TrackInfo()).name;
  };
  callbacks.on_instant = [&](const protozero::Instant& instant) {
    names.push_back(name_of(instant.track));
  };
  callbacks.on_extension_descriptor = [&](ConstBytes bytes) {
    EXPECT_EQ(bytes.ToStdString(), "x");
    ++num_extensions;
  };
  // Each inflated packet could be inflated again, without an end.
  callbacks.inflate = [&](uint32_t, ConstBytes, std::string* packets) {
    ++num_inflated;
    const std::string outer = std::exchange(trace_, "");
    describe("inflated");
    AddNamed(2, kInstant, 7, "x");
    Add([](TracePacket* packet) { packet->set_compressed_packets("more"); });
    *packets = std::exchange(trace_, outer);
    return true;
  };
  for (const bool is_ahead : {false, true}) {
    TraceReader made(callbacks);
    reader = &made;
    if (is_ahead) {
      made.ReadAhead(Bytes());
      EXPECT_EQ(num_inflated, 1);
      EXPECT_EQ(num_extensions, 1);
      EXPECT_EQ(name_of(7), "inflated");
    }
    EXPECT_TRUE(made.Read(Bytes()));
    EXPECT_EQ(names, (is_ahead ? Texts{"inflated", "inflated"}
                               : Texts{"first", "inflated"}));
    EXPECT_EQ(num_inflated, is_ahead ? 2 : 1);
    EXPECT_EQ(num_extensions, 1);
    EXPECT_EQ(made.unread().at("compressed packets"), 1u);
    names.clear();
    num_inflated = num_extensions = 0;
  }
}

TEST_F(TraceReaderLossesTest, DetailsOfASliceThatIsNotFinished) {
  AddEvent(1, kBegin, [](TrackEvent* event) {
    event->set_name("open");
    event->add_flow_ids(4);
    event->add_terminating_flow_ids(5);
  });
  AddNamed(9, kInstant, 0, "last");
  TraceReader::Callbacks callbacks = Callbacks();
  callbacks.on_unfinished = std::exchange(callbacks.on_slice, nullptr);
  TraceReader reader(std::move(callbacks));
  EXPECT_TRUE(reader.Read(Bytes()));
  reader.Finish();
  EXPECT_EQ(rows_, (Texts{":last 9", "open 1+8 4,5 ends 5"}));
  EXPECT_EQ(reader.unfinished(), 1u);
  EXPECT_EQ(reader.lost_ends(), 0u);
}

}  // namespace
