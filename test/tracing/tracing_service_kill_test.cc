// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests a service with processes that die under full load or write anything to
// their memory. The test is short by default; at length:
//
//   ipc_unittests --gtest_filter=ServiceKillTest.* --kills=1000 --seconds=60

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
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
#include "test/tracing/hostile_client.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/numbered_packets.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

constexpr size_t kPageSize = 4096;

size_t ResidentBytes() {
  size_t total = 0;
  size_t resident = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  EXPECT_EQ(fscanf(file, "%zu %zu", &total, &resident), 2);
  fclose(file);
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// A test with the service in this process and thread, so that it can fork at
// any time.
class ServiceKillTest : public IpcTest {
 protected:
  ServiceKillTest() : host_(&service_, HostOptions(socket())) {
    std::string error;
    EXPECT_TRUE(host_.Listen(&error)) << error;
    TraceConfig config;
    // Hostile producers have their own buffer: no producer is safe from what
    // others write to the same one.
    config.buffers = {{16 << 20, BufferFillPolicy::kDiscard},
                      {1 << 20, BufferFillPolicy::kRingBuffer}};
    config.data_sources.resize(2);
    config.data_sources[0].config.name = kSourceName;
    config.data_sources[1].config.name = kHostileSourceName;
    config.data_sources[1].config.target_buffer = 1;
    config.flush_period_ms = 50;
    config.flush_timeout_ms = 20;
    session_ = service_.StartTracing(config, nullptr, &error);
    EXPECT_NE(session_, 0u) << error;
    // This memory is anonymous, and shared with the children.
    progress_memory_ = SharedMemoryFile::Create(kPageSize);
  }

  // Runs |child| in a child process.
  static pid_t Fork(const std::function<void()>& child) {
    const pid_t pid = fork();
    if (pid == 0) {
      child();
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    return pid;
  }

  // Serves until |condition| is true, and checks the trace.
  void RunUntil(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(kTimeoutMs);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      host_.RunOnce(1);
      Read();
    }
  }

  void Read() {
    std::string trace;
    ASSERT_TRUE(
        service_.ReadPackets(session_, [&](const uint8_t* data, size_t size) {
          trace.append(reinterpret_cast<const char*>(data), size);
          return true;
        }));
    ProtoDecoder decoder(trace);
    for (Field field = decoder.ReadField(); field;
         field = decoder.ReadField()) {
      ProtoDecoder event(
          ProtoDecoder(field.as_bytes()).FindField(900).as_bytes());
      const uint32_t index = event.FindField(2).as_uint32();
      const Field stream = event.FindField(1);
      if (!stream.valid() || IsHostile(field.as_bytes()))
        continue;
      checker_.AddPacket(field.as_bytes());
      uint32_t& whole = whole_[stream.as_uint32()];
      whole += index == whole;
    }
    ASSERT_EQ(decoder.status(), DecodeStatus::kOk);
    ASSERT_EQ(checker_.num_errors(), 0u) << checker_.errors();
  }

  bool IsHostile(ConstBytes packet) const {
    // The service's field comes after all that the producer has written, so the
    // last one counts.
    int32_t pid = 0;
    ProtoDecoder decoder(packet);
    for (Field field = decoder.ReadField(); field;
         field = decoder.ReadField()) {
      if (field.id() == 79)
        pid = field.as_int32();
    }
    return pid == hostile_pid_;
  }

  std::atomic<uint32_t>* progress() const {
    return reinterpret_cast<std::atomic<uint32_t>*>(progress_memory_->start());
  }
  size_t num_producers() const {
    return service_.GetStats(session_).producers.size();
  }

  static ServiceHost::Options HostOptions(const std::string& socket) {
    ServiceHost::Options options;
    options.socket = socket;
    return options;
  }

  TracingService service_;
  ServiceHost host_;
  TracingSessionID session_;
  std::unique_ptr<SharedMemoryFile> progress_memory_;
  pid_t hostile_pid_ = -1;
  PacketChecker checker_{kMaxNumberedPacketSize};
  // The number of packets of each stream before the first one that is missing.
  std::map<uint32_t, uint32_t> whole_;
};

TEST_F(ServiceKillTest, CommittedPacketsSurviveTheirProducer) {
  constexpr uint32_t kThreads = 4;
  const auto kKills = static_cast<uint32_t>(Flag("kills", 8));
  std::mt19937_64 random(Flag("seed", 1));
  constexpr ABI::PageLayout kLayouts[] = {ABI::kPageDiv1, ABI::kPageDiv4,
                                          ABI::kPageDiv14};
  size_t resident_bytes = 0;
  uint64_t committed_packets = 0;
  for (uint32_t i = 0; i < kKills; ++i) {
    for (uint32_t k = 0; k < kThreads; ++k)
      progress()[k] = 0;
    auto options = Options();
    options.page_layout = kLayouts[i % 3];
    options.shared_memory_size = size_t{64 * 1024} << i % 4;
    const pid_t process = Fork([&] {
      Producer producer(options);
      const auto source = std::make_shared<DataSource>(
          DataSourceDescriptor{kSourceName}, BufferExhaustedPolicy::kStall);
      producer.RegisterDataSource(source);
      producer.Sync(kTimeoutMs);
      std::vector<std::thread> threads;
      for (uint32_t k = 0; k < kThreads; ++k) {
        threads.emplace_back([&, k] {
          DataSourceWriters writers(source);
          for (uint32_t index = 0;; index += 20 + k) {
            const uint32_t end = index + 20 + k;
            WritePackets(&writers, i * kThreads + k, index, end);
            writers.Flush();
            // The socket may be full, and commits wait in the producer.
            if (index % 3 == 0 && producer.Sync(kTimeoutMs))
              progress()[k] = end;
          }
        });
      }
      threads[0].join();
    });
    const auto lifetime = static_cast<uint32_t>(random() % 1500);
    RunUntil([&] {
      uint32_t sum = 0;
      for (uint32_t k = 0; k < kThreads; ++k)
        sum += progress()[k];
      return sum >= lifetime;
    });
    kill(process, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    ASSERT_TRUE(WIFSIGNALED(status));
    // The host may not have accepted a connection of that process yet.
    RunUntil([&] { return num_producers() == 0; });
    for (uint32_t k = 0; k < kThreads; ++k) {
      committed_packets += progress()[k];
      ASSERT_GE(whole_[i * kThreads + k], progress()[k])
          << "kill " << i << ", thread " << k << ", received "
          << checker_.streams().at(i * kThreads + k).received;
    }
    whole_.clear();
    if (i == kKills / 4)
      resident_bytes = ResidentBytes();
  }
  const TraceStats stats = service_.GetStats(session_);
  EXPECT_EQ(stats.buffers[0].abi_violations, 0u);
  EXPECT_EQ(stats.buffers[0].chunks_discarded, 0u);
  EXPECT_EQ(stats.invalid_packets, 0u);
  const size_t resident_bytes_at_end = ResidentBytes();
  printf(
      "%u kills, %llu packets committed, %llu received, %zu KB resident "
      "after a quarter, %zu KB at the end\n",
      kKills, static_cast<unsigned long long>(committed_packets),
      static_cast<unsigned long long>(checker_.received()),
      resident_bytes / 1024, resident_bytes_at_end / 1024);
  // Sanitizers keep freed memory, and few kills say little.
  if (kKills >= 500) {
    EXPECT_LT(resident_bytes_at_end, resident_bytes + (8 << 20));
  }
}

TEST_F(ServiceKillTest, HostileProcessHarmsNobodyElse) {
  constexpr uint32_t kThreads = 2;
  const auto kDuration = std::chrono::seconds(Flag("seconds", 1));
  std::atomic<uint32_t>& stop = progress()[kThreads];
  stop = 0;
  const pid_t victim = Fork([&] {
    Producer producer(Options());
    const auto source = std::make_shared<DataSource>(
        DataSourceDescriptor{kSourceName}, BufferExhaustedPolicy::kStall);
    producer.RegisterDataSource(source);
    producer.Sync(kTimeoutMs);
    std::vector<std::thread> threads;
    for (uint32_t k = 0; k < kThreads; ++k) {
      threads.emplace_back([&, k] {
        DataSourceWriters writers(source);
        for (uint32_t index = 0; stop == 0; index += 10) {
          WritePackets(&writers, k, index, index + 10);
          progress()[k] = index + 10;
        }
        writers.Flush();
        EXPECT_EQ(writers.packets_lost(), 0u);
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  });
  RunUntil([&] { return progress()[0] > 100 && progress()[1] > 100; });
  hostile_pid_ = Fork([&] {
    HostileClient(socket(), Flag("seed", 1)).Run();
    // It comes here only if it was disconnected, and nothing here is a reason
    // for that.
    ADD_FAILURE();
  });
  RunUntil([&] {
    return service_.GetStats(session_).buffers[1].chunks_written > 1000;
  });
  const size_t resident_bytes = ResidentBytes();
  const double cpu_seconds = CpuSeconds();
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < begin + kDuration) {
    host_.RunOnce(1);
    ASSERT_NO_FATAL_FAILURE(Read());
  }
  const size_t resident_bytes_at_end = ResidentBytes();
  EXPECT_EQ(kill(hostile_pid_, 0), 0);
  int status = 0;
  EXPECT_EQ(waitpid(hostile_pid_, &status, WNOHANG), 0);
  stop = 1;
  RunUntil([&] { return waitpid(victim, &status, WNOHANG) == victim; });
  EXPECT_EQ(status, 0);
  RunUntil([&] { return num_producers() == 1; });
  kill(hostile_pid_, SIGKILL);
  EXPECT_EQ(waitpid(hostile_pid_, &status, 0), hostile_pid_);
  RunUntil([&] { return num_producers() == 0; });

  for (uint32_t k = 0; k < kThreads; ++k) {
    const PacketChecker::Stream& stream = checker_.streams().at(k);
    EXPECT_EQ(stream.received, progress()[k]);
    EXPECT_EQ(stream.gaps, 0u);
  }
  const TraceStats stats = service_.GetStats(session_);
  EXPECT_EQ(stats.buffers[0].abi_violations, 0u);
  EXPECT_EQ(stats.buffers[0].chunks_discarded, 0u);
  EXPECT_GT(stats.buffers[1].abi_violations, 0u);
  printf(
      "%lld s: the victim wrote %llu packets, the hostile producer %llu "
      "chunks with %llu violations and %llu invalid packets; %.1f s of CPU "
      "time in the service, %zu KB resident before, %zu KB after\n",
      static_cast<long long>(kDuration.count()),
      static_cast<unsigned long long>(checker_.received()),
      static_cast<unsigned long long>(stats.buffers[1].chunks_written),
      static_cast<unsigned long long>(stats.buffers[1].abi_violations),
      static_cast<unsigned long long>(stats.invalid_packets),
      CpuSeconds() - cpu_seconds, resident_bytes / 1024,
      resident_bytes_at_end / 1024);
  if (kDuration.count() >= 30) {
    EXPECT_LT(resident_bytes_at_end, resident_bytes + (16 << 20));
  }
}

}  // namespace
}  // namespace protozero::test
