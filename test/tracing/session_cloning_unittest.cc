// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests TracingService::CloneSession().

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "protozero/tracing/tracing_service.h"
#include "test/tracing/test_producer.h"

namespace protozero::test {
namespace {

using CopyKind = TracingService::CopyKind;

// The field of a packet's number, which has no meaning for the service.
constexpr uint32_t kNumber = 901;

// A session with one producer and one writer, whose packets are numbers.
class SessionCloningTest : public testing::Test {
 protected:
  SessionCloningTest() : service_([this] { return now_.load(); }) {
    config_.clock_snapshot_period_ms = 0;
    config_.is_read_at_end = true;
    config_.raw_config = "\x18\x05";
    config_.data_sources.emplace_back();
    config_.data_sources[0].config.name = "source";
    info_.scraping_mode = TracingService::ScrapingMode::kEnabled;
  }
  ~SessionCloningTest() override { writer_.reset(); }

  void Start(size_t buffer_size) {
    config_.buffers.push_back({buffer_size, BufferFillPolicy::kRingBuffer});
    producer_.Connect(&service_, "source", std::move(info_));
    session_ = service_.StartTracing(config_, nullptr, nullptr);
    ASSERT_NE(session_, 0u);
    writer_ = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());
  }
  void Write(int count, size_t size = 0) {
    const std::string text(size, 'x');
    for (; count > 0; --count) {
      auto packet = writer_->NewTracePacket<Message>();
      packet->AppendVarInt(kNumber, ++number_);
      packet->AppendString(900, text);
    }
  }
  void Acknowledge() {
    writer_->Flush();
    producer_.AcknowledgeFlush(UINT64_MAX);
  }
  // Makes a copy.
  TracingSessionID Clone(CopyKind kind = CopyKind::kAll) {
    std::string error;
    const TracingSessionID clone =
        service_.CloneSession(session_, &error, kind);
    EXPECT_NE(clone, 0u) << error;
    if (writer_ != nullptr && !has_open_packet_)
      writer_->Flush();
    if (writer_ != nullptr)
      producer_.AcknowledgeFlush(UINT64_MAX);
    while (service_.GetState(clone) == TracingService::kStopping)
      service_.RunDue();
    EXPECT_EQ(service_.GetState(clone), TracingService::kStopped);
    return clone;
  }
  // Returns the numbers of a copy that has lost nothing.
  std::vector<uint64_t> NumbersOf(TracingSessionID clone) {
    std::vector<uint64_t> numbers;
    const std::string trace = ReadTrace(&service_, clone);
    for (const TracedPacket& packet : PacketsOfTrace(trace)) {
      EXPECT_FALSE(packet.previous_packet_dropped);
      numbers.push_back(
          ProtoDecoder(packet.bytes).FindField(kNumber).as_uint64());
    }
    const TraceStats stats = service_.GetStats(clone);
    EXPECT_EQ(stats.lost().total(), 0u);
    EXPECT_EQ(stats.unknown_losses(), 0u);
    EXPECT_EQ(stats.packets_begun(), numbers.size());
    service_.CloseSession(clone);
    return numbers;
  }
  static std::vector<uint64_t> Range(uint64_t first, uint64_t last) {
    std::vector<uint64_t> numbers;
    for (; first <= last; ++first)
      numbers.push_back(first);
    return numbers;
  }
  size_t NumPackets(TracingSessionID session) {
    return PacketsOfTrace(ReadTrace(&service_, session)).size();
  }

  std::atomic<uint64_t> now_{1000};
  TracingService service_;
  TestProducer producer_;
  TracingService::ProducerInfo info_;
  TraceConfig config_;
  TracingSessionID session_ = 0;
  std::unique_ptr<TraceWriter> writer_;
  uint64_t number_ = 0;
  // True while the writer cannot be flushed.
  bool has_open_packet_ = false;
};

TEST_F(SessionCloningTest, CopyIsATraceAndTakesNothing) {
  Start(1 << 20);
  Write(100);
  producer_.TakeCalls();
  const TracingSessionID clone = Clone();
  // The producer was asked for what it had, for the sake of a copy (3).
  EXPECT_EQ(producer_.TakeCalls(), "flush1[1]:19");
  Write(10);
  const std::string trace = ReadTrace(&service_, clone);
  EXPECT_EQ(PacketsOfTrace(trace).size(), 100u);
  // It begins with the clocks, a mark and the config, and ends with the clocks
  // and the statistics.
  EXPECT_EQ(ServicePacketsOfTrace(trace).size(), 5u);
  EXPECT_NE(trace.find(config_.raw_config), std::string::npos);
  EXPECT_EQ(service_.GetStats(clone).packets_read(), 100u);
  EXPECT_TRUE(service_.GetStats(clone).final_flush_succeeded);
  const TraceStats stats = service_.GetStats(session_);
  EXPECT_FALSE(stats.names_offered.empty());
  EXPECT_EQ(service_.GetStats(clone).names_offered, stats.names_offered);
  EXPECT_EQ(service_.GetStats(clone).data_source_instances,
            stats.data_source_instances);
  service_.CloseSession(clone);
  EXPECT_EQ(service_.GetState(clone), TracingService::kNone);

  EXPECT_EQ(service_.GetState(session_), TracingService::kStarted);
  EXPECT_EQ(service_.GetStats(session_).packets_read(), 0u);
  service_.StopTracing(session_);
  Acknowledge();
  const std::string whole = ReadTrace(&service_, session_);
  EXPECT_EQ(PacketsOfTrace(whole).size(), 110u);
  EXPECT_EQ(ServicePacketsOfTrace(whole).size(), 5u);
  // The copy of what was read is empty.
  EXPECT_EQ(NumPackets(Clone()), 0u);
}

TEST_F(SessionCloningTest, CopyOfASessionThatWasReadHasItsEnd) {
  Start(1 << 20);
  Write(10);
  service_.StopTracing(session_);
  Acknowledge();
  const size_t of_service =
      ServicePacketsOfTrace(ReadTrace(&service_, session_)).size();
  const TracingSessionID clone = Clone();
  // The header was read with the session; the clocks and the statistics of the
  // end are the copy's own.
  EXPECT_EQ(ServicePacketsOfTrace(ReadTrace(&service_, clone)).size(),
            of_service);
}

TEST_F(SessionCloningTest, CopyHasOnlyTheTimeOfTheRing) {
  config_.ring_ms = 1000;
  Start(1 << 20);
  Write(100);
  writer_->Flush();
  now_ += 1500;
  Write(10);
  EXPECT_EQ(NumPackets(Clone()), 10u);
  service_.StopTracing(session_);
  Acknowledge();
  EXPECT_EQ(NumPackets(session_), 10u);
}

TEST_F(SessionCloningTest, NextCopyBeginsWhereTheLastOneEnds) {
  // Small packets, and ones that go on in other chunks.
  for (const size_t size : {size_t{0}, size_t{3000}, size_t{10000}}) {
    SCOPED_TRACE(size);
    Start(1 << 20);
    number_ = 0;
    Write(7, size);
    EXPECT_EQ(NumbersOf(Clone(CopyKind::kNext)), Range(1, 7));
    EXPECT_EQ(NumbersOf(Clone(CopyKind::kNext)), Range(1, 0));
    Write(5, size);
    EXPECT_EQ(NumbersOf(Clone(CopyKind::kAll)), Range(1, 12));
    Write(1, size);
    EXPECT_EQ(NumbersOf(Clone(CopyKind::kNext)), Range(8, 13));
    Write(3, size);
    // The last packets of an ended writer are in one copy, too.
    writer_.reset();
    producer_.Die();
    EXPECT_EQ(NumbersOf(Clone(CopyKind::kNext)), Range(14, 16));
    EXPECT_EQ(NumbersOf(Clone(CopyKind::kNext)), Range(1, 0));
    EXPECT_EQ(NumPackets(session_), 16u);
    service_.CloseSession(session_);
  }
}

TEST_F(SessionCloningTest, PacketThatIsOpenIsInTheNextCopy) {
  Start(1 << 20);
  Write(2);
  {
    auto packet = writer_->NewTracePacket<Message>();
    packet->AppendVarInt(kNumber, ++number_);
    // It has begun in a chunk that the service has.
    packet->AppendString(900, std::string(10000, 'x'));
    has_open_packet_ = true;
    EXPECT_EQ(NumbersOf(Clone(CopyKind::kNext)), Range(1, 2));
    has_open_packet_ = false;
    packet->AppendString(900, "the end");
  }
  Write(2);
  EXPECT_EQ(NumbersOf(Clone(CopyKind::kNext)), Range(3, 5));
}

TEST_F(SessionCloningTest, WhatIsOlderThanTheRingIsNotLost) {
  config_.ring_ms = 1000;
  // The ring overwrites what is too old.
  Start(1 << 15);
  for (int i = 0; i < 30; ++i) {
    Write(1, 3000);
    writer_->Flush();
    now_ += 300;
  }
  const std::vector<uint64_t> numbers = NumbersOf(Clone());
  EXPECT_EQ(numbers, Range(28, 30));
  // A copy does not have what is older, although the last one lacks it.
  EXPECT_EQ(NumbersOf(Clone(CopyKind::kNext)), numbers);
  service_.StopTracing(session_);
  Acknowledge();
  EXPECT_EQ(NumbersOf(session_), numbers);
}

TEST_F(SessionCloningTest, CopyHasTheCountsOfItsSource) {
  Start(1 << 20);
  // A producer may not say who it is.
  writer_->NewTracePacket()->AppendVarInt(3, 1000u);
  Write(1);
  writer_->Flush();
  const std::string trace = ReadTrace(&service_, session_);
  EXPECT_EQ(PacketsOfTrace(trace).size(), 1u);
  EXPECT_EQ(service_.GetStats(session_).invalid_packets, 1u);
  EXPECT_EQ(service_.GetStats(Clone()).invalid_packets, 1u);
}

TEST_F(SessionCloningTest, CopySaysHowMuchOfItsTimeTheRingHas) {
  config_.ring_ms = 5000;
  Start(8192);
  for (int i = 0; i < 10; ++i) {
    Write(1, 1000);
    writer_->Flush();
    now_ += 100;
  }
  const TracingSessionID clone = Clone();
  // The last chunks are of 4 KB each.
  const size_t kept = NumPackets(clone);
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, 10u);
  EXPECT_EQ(service_.GetStats(clone).ring_ms_kept, 100 * kept);
}

TEST_F(SessionCloningTest, CopyThatIsBeingMadeCannotBeRead) {
  Start(1 << 20);
  Write(2000, 100);
  std::string error;
  const TracingSessionID clone = service_.CloneSession(session_, &error);
  const auto read = [&] {
    return service_.ReadPackets(clone,
                                [](const uint8_t*, size_t) { return true; });
  };
  EXPECT_FALSE(read());
  EXPECT_EQ(service_.CloneSession(session_, &error), 0u);
  EXPECT_EQ(error, "another copy is being made");
  EXPECT_EQ(service_.CloneSession(clone, &error), 0u);
  Acknowledge();
  EXPECT_EQ(service_.NextDeadlineMs(), now_);
  service_.RunDue();
  service_.DiscardPackets(clone);
  service_.StopWaiting(clone);
  EXPECT_FALSE(read());
  EXPECT_EQ(service_.GetState(clone), TracingService::kStopping);
  while (service_.GetState(clone) != TracingService::kStopped)
    service_.RunDue();
  EXPECT_EQ(NumPackets(clone), 2000u);
  EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
}

TEST_F(SessionCloningTest, CopyEndsWithItsSource) {
  for (const bool has_begun : {false, true}) {
    SCOPED_TRACE(has_begun);
    Start(1 << 20);
    Write(2000, 100);
    const TracingSessionID clone = service_.CloneSession(session_, nullptr);
    if (has_begun)
      Acknowledge();
    service_.RunDue();
    EXPECT_EQ(service_.GetState(clone), TracingService::kStopping);
    service_.CloseSession(session_);
    EXPECT_EQ(service_.GetState(clone), TracingService::kNone);
    service_.RunDue();
    EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
    writer_.reset();
    producer_.Die();
  }
}

TEST_F(SessionCloningTest, SourceOutlivesACopyThatIsClosedEarly) {
  Start(1 << 20);
  Write(2000, 100);
  const TracingSessionID early = service_.CloneSession(session_, nullptr);
  Acknowledge();
  service_.RunDue();
  service_.CloseSession(early);
  EXPECT_EQ(NumPackets(Clone()), 2000u);
  service_.StopTracing(session_);
  Acknowledge();
  EXPECT_EQ(NumPackets(session_), 2000u);
}

TEST_F(SessionCloningTest, ProducerThatDoesNotAnswerIsNotWaitedForLong) {
  config_.flush_timeout_ms = 100;
  Start(1 << 20);
  Write(100);
  const TracingSessionID clone = service_.CloneSession(session_, nullptr);
  EXPECT_EQ(service_.NextDeadlineMs(), now_ + 100);
  now_ += 100;
  service_.RunDue();
  EXPECT_EQ(service_.GetState(clone), TracingService::kStopped);
  EXPECT_FALSE(service_.GetStats(clone).final_flush_succeeded);
  // The service has looked for packets itself.
  EXPECT_EQ(NumPackets(clone), 100u);
}

TEST_F(SessionCloningTest, SixtyFourMegabytesAreCopiedWhileAThreadWrites) {
  constexpr size_t kSize = 64 << 20;
  constexpr size_t kPacketSize = 1000;
  info_.shm_size_hint = 8 << 20;
  Start(kSize);
  Write(80'000, kPacketSize);
  std::atomic<bool> runs{false};
  std::atomic<bool> stops{false};
  std::thread thread([&] {
    for (; !stops; runs = true)
      Write(10, kPacketSize);
  });
  while (!runs)
    std::this_thread::yield();
  const uint64_t written_before =
      service_.GetStats(session_).buffers[0].bytes_written;
  const TracingSessionID clone = service_.CloneSession(session_, nullptr);
  producer_.AcknowledgeFlush(UINT64_MAX);
  size_t num_steps = 0;
  for (; service_.GetState(clone) == TracingService::kStopping; ++num_steps)
    service_.RunDue();
  const uint64_t written_after =
      service_.GetStats(session_).buffers[0].bytes_written;
  stops = true;
  thread.join();
  // Each step copied little, and the thread went on.
  EXPECT_GE(num_steps + (written_after - written_before) / (64 << 10),
            kSize * 9 / 10 / (64 << 10));
  EXPECT_GT(written_after, written_before);
  // Nothing is missing in the copy but what the ring had overwritten before.
  uint64_t last = 0;
  const std::string trace = ReadTrace(&service_, clone);
  const auto packets = PacketsOfTrace(trace);
  EXPECT_GT(packets.size() * kPacketSize, kSize / 4 * 3);
  bool is_first = true;
  for (const TracedPacket& packet : packets) {
    const uint64_t number =
        ProtoDecoder(packet.bytes).FindField(kNumber).as_uint64();
    ASSERT_TRUE(is_first || number == last + 1);
    ASSERT_EQ(packet.previous_packet_dropped, is_first);
    is_first = false;
    last = number;
  }
  const TraceStats stats = service_.GetStats(session_);
  const PacketLosses lost = stats.lost();
  EXPECT_EQ(lost.total(),
            lost.packets[static_cast<size_t>(LossReason::kOverwritten)]);
}

}  // namespace
}  // namespace protozero::test
