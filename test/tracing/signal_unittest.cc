// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests signal handlers that trace, on threads that trace themselves.

#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "protozero/tracing/producer.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/numbered_packets.h"

namespace protozero::test {
namespace {

constexpr uint32_t kThreadStream = 1;
constexpr uint32_t kHandlerStream = 2;

// The writers of the handler.
DataSourceWriters* g_writers = nullptr;
std::atomic<uint32_t> g_calls{0};
std::atomic<uint32_t> g_written{0};

// Traces. Like any code, a handler must not write to the packet that it has
// interrupted.
void TraceFromHandler(int) {
  g_calls.fetch_add(1, std::memory_order_relaxed);
  g_writers->Trace([](TraceContext& context) {
    auto packet = context.NewTracePacket();
    WriteNumberedPacket(kHandlerStream,
                        g_written.load(std::memory_order_relaxed),
                        kMaxNumberedPacketSize, packet.get());
    g_written.fetch_add(1, std::memory_order_relaxed);
  });
}

class SignalTest : public IpcTest {
 public:
  SignalTest()
      : host_(socket()),
        session_(host_.Start()),
        source_(std::make_shared<DataSource>(DataSourceDescriptor{kSourceName},
                                             BufferExhaustedPolicy::kStall)),
        writers_(std::in_place, source_) {
    g_writers = &*writers_;
    g_calls = 0;
    g_written = 0;
    struct sigaction action = {};
    action.sa_handler = &TraceFromHandler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
  }
  ~SignalTest() override { sigaction(SIGALRM, &before_, nullptr); }

 protected:
  HostThread host_;
  TracingSessionID session_;
  std::shared_ptr<DataSource> source_;
  std::optional<DataSourceWriters> writers_;
  struct sigaction before_ = {};
};

TEST_F(SignalTest, HandlersPacketIsLostWhileItsThreadWritesOne) {
  Producer producer(Options());
  producer.RegisterDataSource(source_);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  WritePackets(&*writers_, kThreadStream, 0, 1);
  raise(SIGALRM);
  EXPECT_EQ(g_written, 1u);
  // Signals come before a packet begins, in it, at its end and after it. Some
  // packets stay in their chunk, and others leave it.
  for (uint32_t index = 1; index < 100; ++index) {
    writers_->Trace([&](TraceContext& context) {
      raise(SIGALRM);
      {
        auto packet = context.NewTracePacket();
        raise(SIGALRM);
        WriteNumberedPacket(kThreadStream, index, kMaxNumberedPacketSize,
                            packet.get());
        raise(SIGALRM);
      }
      raise(SIGALRM);
    });
  }
  EXPECT_EQ(g_written, 1u);
  EXPECT_EQ(writers_->losses().of(LossReason::kWriterBusy), 4u * 99);
  EXPECT_EQ(writers_->packets_lost(), 4u * 99);
  raise(SIGALRM);
  EXPECT_EQ(g_written, 2u);
  writers_->Flush();
  raise(SIGALRM);
  EXPECT_EQ(g_written, 3u);
  writers_.reset();
  EXPECT_EQ(Received(host_.StopAndRead(session_)),
            (Streams{{kThreadStream, 100}, {kHandlerStream, 3}}));
}

TEST_F(SignalTest, NobodyCountsWhileNothingRecords) {
  raise(SIGALRM);
  EXPECT_EQ(g_calls, 1u);
  EXPECT_EQ(writers_->packets_lost(), 0u);
}

#if defined(__cpp_exceptions)
TEST_F(SignalTest, WritersAreNotBusyAfterAnException) {
  Producer producer(Options());
  producer.RegisterDataSource(source_);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  EXPECT_THROW(writers_->Trace([](TraceContext&) {
    throw std::runtime_error("the function's own");
  }),
               std::runtime_error);
  WritePackets(&*writers_, kThreadStream, 0, 1);
  EXPECT_EQ(writers_->packets_lost(), 0u);
  writers_.reset();
  EXPECT_EQ(Received(host_.StopAndRead(session_)),
            (Streams{{kThreadStream, 1}}));
}
#endif

// The signals come at any moment: between the instructions of a packet, in a
// slow path, between two packets.
TEST_F(SignalTest, HandlersTraceAtAnyMoment) {
  constexpr uint32_t kSignals = 3000;
  Producer producer(Options());
  producer.RegisterDataSource(source_);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  WritePackets(&*writers_, kThreadStream, 0, 1);
  // The signals go to this thread: the others belong to the producer and the
  // service.
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGALRM;
  event._sigev_un._tid = gettid();
  timer_t timer;
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  uint32_t index = 1;
  // The time changes, because a fixed period would fall into step.
  for (long nanoseconds = 1000; g_calls < kSignals; nanoseconds += 37) {
    itimerspec once = {};
    once.it_value.tv_nsec = 1 + nanoseconds % 20000;
    const uint32_t calls = g_calls;
    ASSERT_EQ(timer_settime(timer, 0, &once, nullptr), 0);
    while (g_calls == calls) {
      WritePackets(&*writers_, kThreadStream, index, index + 1);
      ++index;
    }
  }
  timer_delete(timer);
  const uint32_t calls = g_calls;
  const uint64_t lost = writers_->losses().of(LossReason::kWriterBusy);
  EXPECT_EQ(writers_->packets_lost(), lost);
  EXPECT_EQ(lost + g_written, calls);
  writers_.reset();
  EXPECT_EQ(
      Received(host_.StopAndRead(session_)),
      (Streams{{kThreadStream, index}, {kHandlerStream, g_written.load()}}));
}

}  // namespace
}  // namespace protozero::test
