// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests that each packet that a program's writers have begun is in the trace,
// or lost for a reason that the service knows, whatever happens to the program.
// The test is short by default; at length:
//
//   ipc_unittests --gtest_filter=LossLedgerTest.* --ledger-runs=1000

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "test/testing/flags.h"
#include "test/tracing/ipc_testing.h"

namespace protozero::test {
namespace {

constexpr char kStallingSourceName[] = "test.stalling";
constexpr size_t kMaxThreads = 4;
constexpr size_t kWriterReasons = kNumWriterLossReasons;

// The ways in which a process ends.
enum class End {
  // The threads and the producer end before it.
  kOrderly,
  // It exits when threads have committed, and then begun chunks; no packet is
  // open.
  kExitBetweenPackets,
  // It exits in the same way, but in the middle of a packet.
  kExitInPacket,
  // It is killed at any time.
  kKilled,
};
constexpr End kEnds[] = {End::kOrderly, End::kExitBetweenPackets,
                         End::kExitInPacket, End::kKilled};

// The report of a thread of the traced process, in memory that outlives it.
struct ThreadReport {
  std::atomic<uint64_t> begun;
  std::atomic<uint64_t> finished;
  // The losses of its writers when it last looked, and those since its last
  // commit.
  std::atomic<uint64_t> lost[kWriterReasons];
  std::atomic<uint64_t> unreported;
  std::atomic<bool> is_done;
};

class LossLedgerTest : public IpcTest {
 protected:
  LossLedgerTest()
      : memory_(SharedMemoryFile::Create(kMaxThreads * sizeof(ThreadReport) +
                                         4096)) {}

  ThreadReport* reports() {
    return reinterpret_cast<ThreadReport*>(memory_->start());
  }
  uint64_t SumOf(std::atomic<uint64_t> ThreadReport::* member) {
    uint64_t sum = 0;
    for (size_t i = 0; i < kMaxThreads; ++i)
      sum += reports()[i].*member;
    return sum;
  }
  uint64_t LostFor(size_t reason) {
    uint64_t sum = 0;
    for (size_t i = 0; i < kMaxThreads; ++i)
      sum += reports()[i].lost[reason];
    return sum;
  }

  std::unique_ptr<SharedMemoryFile> memory_;
};

uint64_t CountPackets(const std::string& trace, const char* payload) {
  uint64_t count = 0;
  ProtoDecoder decoder(trace);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField())
    count += ProtoDecoder(field.as_bytes()).FindField(900).as_std_string() ==
             payload;
  return count;
}

// A run of a service, and of a process that traces.
class TracedRun {
 public:
  TracedRun(const std::string& socket, uint64_t seed, ThreadReport* reports)
      : random_(seed), reports_(reports), end_(kEnds[random_() % 4]) {
    for (size_t i = 0; i < kMaxThreads; ++i)
      new (&reports_[i]) ThreadReport{};
    ServiceHost::Options options;
    options.socket = socket;
    host_ = std::make_unique<ServiceHost>(&service_, options);
    std::string error;
    EXPECT_TRUE(host_->Listen(&error)) << error;
    TraceConfig config;
    constexpr size_t kSizes[] = {20000, 200000, 1 << 26};
    buffer_size_ = kSizes[random_() % 3];
    config.buffers = {{buffer_size_, random_() % 2 == 0
                                         ? BufferFillPolicy::kRingBuffer
                                         : BufferFillPolicy::kDiscard}};
    config.data_sources.resize(2);
    config.data_sources[0].config.name = kSourceName;
    config.data_sources[1].config.name = kStallingSourceName;
    if (random_() % 2 == 0)
      config.flush_period_ms = Below(50) + 1;
    config.flush_timeout_ms = kTimeoutMs;
    session_ = service_.StartTracing(config, nullptr, &error);
    EXPECT_NE(session_, 0u) << error;
  }

  End end() const { return end_; }
  // Returns true if the buffer is large enough to lose nothing.
  bool is_buffer_large() const { return buffer_size_ == 1 << 26; }

  void Trace(Producer::Options options) {
    options.shared_memory_size = size_t{16 * 1024} << random_() % 5;
    options.page_size = 4096;
    constexpr SharedMemoryABI::PageLayout kLayouts[] = {
        SharedMemoryABI::kPageDiv1, SharedMemoryABI::kPageDiv4,
        SharedMemoryABI::kPageDiv14};
    options.page_layout = kLayouts[random_() % 3];
    options.stall_timeout_ms = Below(3);
    options.commit_period_ms = Below(20) + 1;
    const uint64_t child_seed = random_();
    const size_t num_threads = 1 + random_() % kMaxThreads;
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      BeTraced(options, child_seed, num_threads);
      _exit(0);
    }
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(kTimeoutMs);
    uint64_t turns = random_() % 200;
    int status = 0;
    while (waitpid(process, &status, WNOHANG) == 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      if (end_ == End::kKilled && turns-- == 0)
        kill(process, SIGKILL);
      // Now and then the service is busy elsewhere, and memory fills up.
      if (random_() % 8 == 0)
        usleep(static_cast<useconds_t>(random_() % 4000));
      host_->RunOnce(1);
      if (random_() % 4 == 0)
        Read();
    }
    ASSERT_TRUE(end_ == End::kKilled ? WIFSIGNALED(status) || status == 0
                                     : status == 0)
        << status;
    // The service still has to read what the process has sent.
    while (!service_.GetStats(session_).producers.empty() ||
           host_->num_connections() != 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      host_->RunOnce(1);
    }
    service_.StopTracing(session_);
    while (service_.GetState(session_) != TracingService::kStopped)
      host_->RunOnce(1);
    Read();
  }

  TraceStats stats() const { return service_.GetStats(session_); }
  const std::string& trace() const { return trace_; }

 private:
  uint32_t Below(uint32_t limit) {
    return static_cast<uint32_t>(random_() % limit);
  }

  void Read() {
    service_.ReadPackets(session_, [this](const uint8_t* data, size_t size) {
      trace_.append(reinterpret_cast<const char*>(data), size);
      return true;
    });
  }

  void BeTraced(const Producer::Options& options,
                uint64_t seed,
                size_t num_threads) {
    Producer producer(options);
    const std::shared_ptr<DataSource> sources[] = {
        std::make_shared<DataSource>(DataSourceDescriptor{kSourceName},
                                     BufferExhaustedPolicy::kDrop),
        std::make_shared<DataSource>(DataSourceDescriptor{kStallingSourceName},
                                     BufferExhaustedPolicy::kStall)};
    for (const std::shared_ptr<DataSource>& source : sources)
      producer.RegisterDataSource(source);
    producer.Sync(kTimeoutMs);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < num_threads; ++i) {
      threads.emplace_back([this, seed, i, &producer, &sources] {
        BeThread(seed + i, &producer, sources[(seed >> i) % 2], &reports_[i]);
      });
    }
    for (size_t i = 0; i < num_threads; ++i) {
      while (end_ != End::kOrderly && !reports_[i].is_done)
        usleep(100);
    }
    // The process exits without destroying anything.
    if (end_ != End::kOrderly)
      _exit(0);
    for (std::thread& thread : threads)
      thread.join();
  }

  void BeThread(uint64_t seed,
                Producer* producer,
                const std::shared_ptr<DataSource>& source,
                ThreadReport* report) {
    std::mt19937_64 random(seed);
    // Some of the threads write one packet only.
    const uint64_t num_packets = random() % 4 == 0 ? 1 : 1 + random() % 3000;
    const size_t max_size = random() % 2 == 0 ? 100 : 9000;
    {
      DataSourceWriters writers(source);
      const auto write = [&](bool finishes) {
        const auto size = static_cast<size_t>(random() % max_size);
        const std::string bytes(size, 'b');
        writers.Trace([&](TraceContext& context) {
          ++report->begun;
          auto packet = context.NewTracePacket();
          packet->AppendString(900, "x");
          auto* const nested = packet->BeginNestedMessage<Message>(901);
          nested->AppendString(1, bytes);
          if (finishes)
            return;
          // The places of its sibling threads do not matter.
          report->is_done = true;
          for (;;)
            pause();
        });
        ++report->finished;
        Note(writers, report);
      };
      for (uint64_t i = 0; i < num_packets; ++i) {
        write(true);
        if (random() % 500 == 0)
          usleep(static_cast<useconds_t>(random() % 2000));
      }
      if (end_ == End::kExitBetweenPackets || end_ == End::kExitInPacket) {
        writers.Flush();
        // Commits that the socket did not take wait in the producer.
        producer->Sync(kTimeoutMs);
        const uint64_t lost = writers.packets_lost();
        for (uint64_t i = random() % 4; i > 0; --i)
          write(true);
        report->unreported = writers.packets_lost() - lost;
        if (end_ == End::kExitInPacket)
          write(false);
        report->is_done = true;
        for (;;)
          pause();
      }
      writers.Flush();
      Note(writers, report);
    }
    report->is_done = true;
  }

  static void Note(const DataSourceWriters& writers, ThreadReport* report) {
    const PacketLosses losses = writers.losses();
    for (size_t i = 0; i < kWriterReasons; ++i)
      report->lost[i] = losses.packets[i];
  }

  std::mt19937_64 random_;
  ThreadReport* const reports_;
  const End end_;
  size_t buffer_size_;
  TracingService service_;
  std::unique_ptr<ServiceHost> host_;
  TracingSessionID session_;
  std::string trace_;
};

TEST_F(LossLedgerTest, WhatIsWrittenIsReceivedOrLost) {
  const uint64_t runs = Flag("ledger-runs", 32);
  const uint64_t seed = Flag("seed", 1);
  uint64_t received = 0;
  PacketLosses all_lost;
  for (uint64_t i = 0; i < runs; ++i) {
    SCOPED_TRACE("--ledger-runs=1 --seed=" + std::to_string(seed + i));
    TracedRun run(socket(), seed + i, reports());
    ASSERT_NO_FATAL_FAILURE(run.Trace(Options()));
    const TraceStats stats = run.stats();
    const PacketLosses lost = stats.lost();
    const uint64_t in_trace = CountPackets(run.trace(), "x");
    received += in_trace;
    all_lost.Add(lost);
    ASSERT_EQ(stats.packets_read(), in_trace);
    ASSERT_EQ(stats.packets_begun(), in_trace + lost.total());
    ASSERT_EQ(stats.unknown_losses(), 0u);

    const uint64_t begun = SumOf(&ThreadReport::begun);
    const uint64_t unreported = SumOf(&ThreadReport::unreported);
    switch (run.end()) {
      case End::kOrderly:
        ASSERT_EQ(stats.packets_begun(), begun);
        ASSERT_EQ(lost.of(LossReason::kIncomplete), 0u);
        break;
      case End::kExitBetweenPackets:
        ASSERT_LE(stats.packets_begun(), begun);
        ASSERT_GE(stats.packets_begun() + unreported, begun);
        // No packet was open, so none is incomplete.
        ASSERT_EQ(lost.of(LossReason::kIncomplete), 0u);
        break;
      case End::kExitInPacket:
        // The open packet may be among those that were dropped.
        ASSERT_LE(stats.packets_begun(), begun);
        ASSERT_GE(stats.packets_begun() + unreported + kMaxThreads, begun);
        ASSERT_LE(lost.of(LossReason::kIncomplete), kMaxThreads);
        break;
      case End::kKilled:
        // The counts of packets that were dropped since a writer's last commit
        // died with it.
        ASSERT_LE(stats.packets_begun(), begun);
        ASSERT_LE(begun - stats.packets_begun(),
                  LostFor(size_t(LossReason::kMemoryFull)) +
                      LostFor(size_t(LossReason::kStallTimedOut)) +
                      2 * kMaxThreads);
        ASSERT_LE(lost.of(LossReason::kIncomplete), kMaxThreads);
        break;
    }
    // The service's losses are those that the writers say.
    for (size_t k = 0; k < kWriterReasons; ++k) {
      if (run.end() == End::kOrderly && run.is_buffer_large())
        ASSERT_EQ(lost.packets[k], LostFor(k)) << "reason " << k;
      else
        ASSERT_LE(lost.packets[k], LostFor(k) + kMaxThreads) << "reason " << k;
    }
  }
  printf("%llu packets received, lost:", (unsigned long long)received);
  for (size_t k = 0; k < kNumLossReasons; ++k) {
    printf(" %llu %s,", (unsigned long long)all_lost.packets[k],
           LossReasonToString(static_cast<LossReason>(k)));
  }
  printf("\n");
  if (runs >= 32) {
    for (const LossReason reason :
         {LossReason::kMemoryFull, LossReason::kOverwritten,
          LossReason::kDiscarded, LossReason::kIncomplete}) {
      EXPECT_NE(all_lost.of(reason), 0u) << LossReasonToString(reason);
    }
  }
}

}  // namespace
}  // namespace protozero::test
