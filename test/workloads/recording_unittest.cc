// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/recording.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "protozero/tracing/trace.h"

namespace protozero::workloads {
namespace {

using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

uint64_t Timestamp(ConstBytes packet) {
  return TracePacket::Decoder(packet).timestamp();
}

// Writes events with the timestamps 1 to |count|, after one packet of another
// kind. Returns how many were lost.
uint64_t WriteEvents(const Recording& recording, uint64_t count) {
  DataSourceWriters writers(recording.source());
  writers.Trace([](TraceContext& context) {
    context.NewTracePacket<TracePacket>()->set_track_descriptor()->set_uuid(1);
  });
  for (uint64_t i = 1; i <= count; ++i) {
    writers.Trace([i](TraceContext& context) {
      auto packet = context.NewTracePacket<TracePacket>();
      packet->set_timestamp(i);
      packet->set_track_event()->set_type(TrackEvent::TYPE_INSTANT);
    });
  }
  writers.Flush();
  return writers.packets_lost();
}

constexpr uint64_t SumUpTo(uint64_t count) {
  return count * (count + 1) / 2;
}

TEST(RecordingTest, CountsWhatWasWritten) {
  Recording::Options options;
  options.digest = &Timestamp;
  for (uint32_t read_period_ms : {0u, 5u}) {
    options.read_period_ms = read_period_ms;
    std::string problem;
    const auto recording = Recording::Start(options, &problem);
    ASSERT_NE(recording, nullptr) << problem;
    constexpr uint64_t kEvents = 50000;
    EXPECT_EQ(WriteEvents(*recording, kEvents), 0u);
    const Recording::Outcome outcome = recording->Stop();
    EXPECT_EQ(outcome.problem, "");
    EXPECT_EQ(outcome.events, kEvents);
    EXPECT_EQ(outcome.other_packets, 1u);
    EXPECT_EQ(outcome.digest, SumUpTo(kEvents));
    EXPECT_EQ(outcome.losses, 0u);
    EXPECT_GT(outcome.bytes, kEvents * 5);
  }
}

TEST(RecordingTest, AccountsForWhatWasLost) {
  Recording::Options options;
  options.policy = BufferExhaustedPolicy::kDrop;
  options.shared_memory_size = 4096;
  std::string problem;
  const auto recording = Recording::Start(options, &problem);
  ASSERT_NE(recording, nullptr) << problem;
  constexpr uint64_t kEvents = 50000;
  // WriteEvents() loses all packets, because the unfinished packet has the only
  // chunk.
  DataSourceWriters holder(recording->source());
  uint64_t lost = 0;
  holder.Trace([&](TraceContext& context) {
    auto packet = context.NewTracePacket<TracePacket>();
    lost = WriteEvents(*recording, kEvents);
    packet->set_track_event()->set_type(TrackEvent::TYPE_INSTANT);
  });
  EXPECT_EQ(lost, 1 + kEvents);
  holder.Flush();
  EXPECT_EQ(holder.packets_lost(), 0u);
  // This loses the packets for which the service is too slow, perhaps none.
  lost += WriteEvents(*recording, kEvents);
  const Recording::Outcome outcome = recording->Stop();
  EXPECT_EQ(outcome.problem, "");
  // At least the held packet arrives. The track's packet may have come too
  // early.
  EXPECT_GE(outcome.events, 1u);
  EXPECT_LE(outcome.other_packets, 1u);
  EXPECT_EQ(outcome.events + outcome.other_packets + lost,
            2 * (1 + kEvents) + 1);
}

TEST(RecordingTest, WithoutASessionNothingIsTraced) {
  Recording::Options options;
  options.has_session = false;
  std::string problem;
  const auto recording = Recording::Start(options, &problem);
  ASSERT_NE(recording, nullptr) << problem;
  EXPECT_FALSE(recording->source()->is_enabled());
  WriteEvents(*recording, 1000);
  const Recording::Outcome outcome = recording->Stop();
  EXPECT_EQ(outcome.problem, "");
  EXPECT_EQ(outcome.events, 0u);
  EXPECT_EQ(outcome.other_packets, 0u);
}

TEST(RecordingTest, SaysThatTheBufferIsTooSmall) {
  Recording::Options options;
  options.buffer_size = 8192;
  std::string problem;
  const auto recording = Recording::Start(options, &problem);
  ASSERT_NE(recording, nullptr) << problem;
  EXPECT_EQ(WriteEvents(*recording, 10000), 0u);
  EXPECT_NE(recording->Stop().problem, "");
}

TEST(RecordingTest, SaysWhyItDoesNotStart) {
  Recording::Options options;
  options.buffer_size = 0;
  std::string problem;
  EXPECT_EQ(Recording::Start(options, &problem), nullptr);
  EXPECT_EQ(problem, "a buffer has no size");
  options = Recording::Options();
  options.trace_file = "/no/such/folder";
  EXPECT_EQ(Recording::Start(options, &problem), nullptr);
  EXPECT_EQ(problem, "/no/such/folder: No such file or directory");
}

TEST(RecordingTest, KeepsTheTrace) {
  Recording::Options options;
  options.trace_file = testing::TempDir() + "recording_unittest." +
                       std::to_string(getpid()) + ".pftrace";
  std::string problem;
  const auto recording = Recording::Start(options, &problem);
  ASSERT_NE(recording, nullptr) << problem;
  WriteEvents(*recording, 10);
  const Recording::Outcome outcome = recording->Stop();
  EXPECT_EQ(outcome.problem, "");
  std::ifstream file(options.trace_file, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  EXPECT_EQ(bytes.str().size(), outcome.bytes);
  unlink(options.trace_file.c_str());
}

TEST(RecordingTest, MayEndEarly) {
  std::string problem;
  const auto recording = Recording::Start(Recording::Options(), &problem);
  ASSERT_NE(recording, nullptr) << problem;
  WriteEvents(*recording, 1);
}

}  // namespace
}  // namespace protozero::workloads
