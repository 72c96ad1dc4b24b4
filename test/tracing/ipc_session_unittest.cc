// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests producers and a ServiceHost at the two ends of a socket: in one
// process, so that sanitizers see both, and in two.

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/process_barrier.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "test/testing/allocation_monitor.h"
#include "test/testing/flags.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/numbered_packets.h"

namespace protozero::test {
namespace {

using testing::ElementsAre;

// A data source that notes down the calls.
class Source : public DataSource {
 public:
  explicit Source(BufferExhaustedPolicy policy = BufferExhaustedPolicy::kStall,
                  const std::string& name = kSourceName)
      : DataSource(Descriptor(name), policy) {}

  std::vector<std::string> Calls() const {
    std::lock_guard<std::mutex> lock(lock_);
    return calls_;
  }
  bool WaitForCall(const std::string& call) const {
    return WaitFor([&] {
      const std::vector<std::string> calls = Calls();
      return std::find(calls.begin(), calls.end(), call) != calls.end();
    });
  }
  bool WaitUntilEnabled(bool enabled) const {
    return WaitFor([&] { return is_enabled() == enabled; });
  }

 private:
  static DataSourceDescriptor Descriptor(const std::string& name) {
    DataSourceDescriptor descriptor;
    descriptor.name = name;
    descriptor.handles_incremental_state_clear = true;
    return descriptor;
  }
  void Note(const char* call) {
    std::lock_guard<std::mutex> lock(lock_);
    calls_.push_back(call);
  }
  void OnSetup(const DataSourceInstance& instance) override {
    EXPECT_EQ(instance.config().name, descriptor().name);
    EXPECT_NE(instance.config().target_buffer, 0);
    Note("setup");
  }
  void OnStart(const DataSourceInstance&) override { Note("start"); }
  void OnStop(const DataSourceInstance&) override { Note("stop"); }
  void OnFlush(const DataSourceInstance&, FlushFlags) override {
    Note("flush");
  }
  void OnClearIncrementalState(const DataSourceInstance&) override {
    Note("clear");
  }

  mutable std::mutex lock_;
  std::vector<std::string> calls_;
};

// Writes packets that are not counted, few enough for the service's buffer.
void TraceWhile(const std::function<bool()>& condition,
                DataSourceWriters* writers) {
  for (int packets = 0; condition();) {
    writers->Trace([&](TraceContext& context) {
      if (packets++ < 2000)
        context.NewTracePacket()->AppendString(1000, std::string(500, 'x'));
      else
        std::this_thread::yield();
    });
  }
}

class IpcSessionTest : public IpcTest {};

TEST_F(IpcSessionTest, ThreadsWriteAndNothingIsLost) {
  constexpr uint32_t kThreads = 4;
  const auto kPackets = static_cast<uint32_t>(Flag("packets", 500));
  HostThread host(socket());
  const auto source = std::make_shared<Source>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  EXPECT_EQ(producer.state(), Producer::State::kConnected);
  EXPECT_EQ(producer.num_connections(), 1u);
  const TracingSessionID session = host.Start();
  ASSERT_TRUE(source->WaitUntilEnabled(true));

  std::vector<std::thread> threads;
  Streams expected;
  for (uint32_t i = 0; i < kThreads; ++i) {
    expected[i] = kPackets;
    threads.emplace_back([&, i] {
      DataSourceWriters writers(source);
      WritePackets(&writers, i, 0, kPackets);
      EXPECT_EQ(writers.packets_lost(), 0u);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(Received(host.StopAndRead(session)), expected);
  EXPECT_TRUE(source->WaitUntilEnabled(false));
  EXPECT_THAT(source->Calls(), ElementsAre("setup", "start", "flush", "stop"));
}

TEST_F(IpcSessionTest, SessionsThatRunStartDataSourcesOnRegistration) {
  HostThread host(socket());
  const TracingSessionID first = host.Start();
  const TracingSessionID second = host.Start();
  const auto source = std::make_shared<Source>();
  DataSourceWriters writers(source);
  WritePackets(&writers, 7, 0, 10);  // These are not recorded.
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  EXPECT_TRUE(source->is_enabled());
  EXPECT_THAT(source->Calls(), ElementsAre("setup", "start", "setup", "start"));

  // Each session has the packets that were written while it lasted.
  WritePackets(&writers, 1, 0, 100);
  writers.Flush();
  EXPECT_EQ(Received(host.StopAndRead(first)), (Streams{{1, 100}}));
  WritePackets(&writers, 2, 0, 100);
  writers.Flush();
  EXPECT_EQ(Received(host.StopAndRead(second)), (Streams{{1, 100}, {2, 100}}));
  // So has one that comes later.
  WritePackets(&writers, 7, 0, 10);
  const TracingSessionID third = host.Start();
  ASSERT_TRUE(source->WaitUntilEnabled(true));
  WritePackets(&writers, 3, 0, 100);
  writers.Flush();
  EXPECT_EQ(Received(host.StopAndRead(third)), (Streams{{3, 100}}));
}

TEST_F(IpcSessionTest, FlushAndStopReachChunksOfThreadsThatDoNothing) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = std::make_shared<Source>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  DataSourceWriters writers(source);
  WritePackets(&writers, 1, 0, 5);
  EXPECT_TRUE(host.Flush(session));
  EXPECT_EQ(Received(host.Read(session)), (Streams{{1, 5}}));
  EXPECT_TRUE(source->WaitForCall("flush"));
  // The flush also makes the next packets go to another chunk.
  WritePackets(&writers, 2, 0, 5);
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{2, 5}}));
}

// The kernel takes a while to register the process. Processes are made then.
[[noreturn]] void ForkWhileABarrierIsMade() {
  std::atomic<bool> is_made{false};
  std::thread maker([&] {
    GetProcessBarrier();
    is_made = true;
  });
  int num_failed = 0;
  while (!is_made) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      GetProcessBarrier();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    num_failed += status != 0;
  }
  maker.join();
  _exit(num_failed == 0 ? 0 : 1);
}

TEST(ProcessBarrierDeathTest, ChildrenNeedNotWaitForAThreadThatIsNotThere) {
  // The program runs again, since only the first call takes long.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ForkWhileABarrierIsMade(), testing::ExitedWithCode(0), "");
}

TEST_F(IpcSessionTest, ThreadsThatDoNothingPinNoChunks) {
  if (GetProcessBarrier() == nullptr)
    GTEST_SKIP() << "the kernel has no membarrier()";
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = std::make_shared<Source>();
  Producer::Options options = Options();
  options.shared_memory_size = 16384;
  options.page_size = 4096;
  options.page_layout = SharedMemoryABI::kPageDiv1;
  options.idle_period_ms = 10;
  // Without scraping, the service sees only committed packets.
  options.scraping = false;
  Producer producer(options);
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  // There are more writers than chunks. Each writes a packet, and then does
  // nothing.
  Streams expected;
  std::vector<std::unique_ptr<DataSourceWriters>> sleepers;
  for (uint32_t i = 0; i < 12; ++i) {
    expected[i] = 1;
    sleepers.push_back(std::make_unique<DataSourceWriters>(source));
    WritePackets(sleepers.back().get(), i, 0, 1);
    EXPECT_EQ(sleepers.back()->packets_lost(), 0u);
  }
  Streams received;
  EXPECT_TRUE(WaitFor([&] {
    for (const auto& stream : Received(host.Read(session)))
      received[stream.first] += stream.second;
    return received == expected;
  }));
  // A flush takes the chunks at once.
  for (uint32_t i = 0; i < 4; ++i)
    WritePackets(sleepers[i].get(), 20 + i, 0, 1);
  EXPECT_TRUE(host.Flush(session));
  EXPECT_EQ(Received(host.Read(session)),
            (Streams{{20, 1}, {21, 1}, {22, 1}, {23, 1}}));
  sleepers.clear();
  EXPECT_EQ(Received(host.StopAndRead(session)), Streams());
}

TEST_F(IpcSessionTest, PacketsBeforeAnOpenOneAreUnknownWithoutScraping) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = std::make_shared<Source>();
  Producer::Options options = Options();
  options.scraping = false;
  Producer producer(options);
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  DataSourceWriters writers(source);
  WritePackets(&writers, 0, 0, 1);
  TraceStats stats;
  Streams received;
  writers.Trace([&](TraceContext& context) {
    auto packet = context.NewTracePacket();
    received = Received(host.StopAndRead(session, &stats));
  });
  EXPECT_EQ(received, Streams());
  EXPECT_EQ(stats.buffers.at(0).unknown_losses, 1u);
}

// Starts a session that asks to clear incremental state all the time.
TracingSessionID StartWithClears(HostThread* host) {
  TraceConfig config;
  config.buffers.push_back({1024 * 1024, BufferFillPolicy::kRingBuffer});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = kSourceName;
  config.incremental_state_clear_period_ms = 1;
  return host->Start(config);
}

TEST_F(IpcSessionTest, IncrementalStateIsClearedOnDemand) {
  HostThread host(socket());
  const TracingSessionID session = StartWithClears(&host);
  const auto source = std::make_shared<Source>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  DataSourceWriters writers(source);
  uint32_t cleared = 0;
  EXPECT_TRUE(WaitFor([&] {
    writers.Trace([&](TraceContext& context) {
      const bool is_cleared = context.TakeIncrementalStateCleared();
      EXPECT_TRUE(is_cleared || cleared != 0) << "the first time";
      cleared += is_cleared;
    });
    return cleared == 3;
  }));
  EXPECT_TRUE(source->WaitForCall("clear"));
  host.StopAndRead(session);
}

// Returns how many packets of |trace| describe extensions by |set|.
size_t Descriptions(const std::string& trace, const std::string& set) {
  size_t count = 0;
  ProtoDecoder decoder(trace);
  for (Field packet = decoder.ReadField(); packet.valid();
       packet = decoder.ReadField()) {
    const Field description = ProtoDecoder(packet.as_bytes()).FindField(72);
    count +=
        ProtoDecoder(description.as_bytes()).FindField(1).as_std_string() ==
        set;
  }
  return count;
}

TEST_F(IpcSessionTest, ExtensionsAreDescribedOnceInEachSession) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const TracingSessionID other = host.Start();
  const auto source = std::make_shared<Source>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  // The set is larger than a chunk.
  const std::string set(10000, 'd');
  const ConstBytes bytes(reinterpret_cast<const uint8_t*>(set.data()),
                         set.size());
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      DataSourceWriters writers(source);
      for (int i = 0; i < 10; ++i) {
        writers.Trace([&](TraceContext& context) {
          context.DescribeExtensions(bytes);
          context.NewTracePacket()->AppendString(1000, "x");
        });
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(Descriptions(host.StopAndRead(session), set), 1u);
  EXPECT_EQ(Descriptions(host.StopAndRead(other), set), 1u);
}

TEST_F(IpcSessionTest, ExtensionsAreDescribedAgainAfterAClear) {
  HostThread host(socket());
  const TracingSessionID session = StartWithClears(&host);
  const auto source = std::make_shared<Source>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  DataSourceWriters writers(source);
  const std::string set = "descriptors";
  uint32_t cleared = 0;
  EXPECT_TRUE(WaitFor([&] {
    writers.Trace([&](TraceContext& context) {
      cleared += context.TakeIncrementalStateCleared();
      context.DescribeExtensions(
          {reinterpret_cast<const uint8_t*>(set.data()), set.size()});
    });
    return cleared == 3;
  }));
  writers.Flush();
  const size_t count = Descriptions(host.StopAndRead(session), set);
  // A clear may come between the two calls.
  EXPECT_GE(count, 2u);
  EXPECT_LE(count, 4u);
}

TEST_F(IpcSessionTest, ExtensionsThatWereLostAreDescribedByTheNextCall) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = std::make_shared<Source>(BufferExhaustedPolicy::kDrop);
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  DataSourceWriters writers(source);
  const auto describe = [&](const std::string& set) {
    const uint64_t lost = writers.losses().total();
    writers.Trace([&](TraceContext& context) {
      context.DescribeExtensions(
          {reinterpret_cast<const uint8_t*>(set.data()), set.size()});
    });
    return writers.losses().total() == lost;
  };
  // This is far more than the shared memory has, so it fails as if there were
  // no memory at the moment.
  const std::string too_long(size_t{32} << 20, 'd');
  EXPECT_FALSE(describe(too_long));
  // The next one succeeds as soon as there is room again.
  const std::string set = "descriptors";
  EXPECT_TRUE(WaitFor([&] { return describe(set); }));
  EXPECT_TRUE(describe(set));
  writers.Flush();
  const std::string trace = host.StopAndRead(session);
  EXPECT_EQ(Descriptions(trace, set), 1u);
  EXPECT_EQ(Descriptions(trace, too_long), 0u);
}

TEST_F(IpcSessionTest, TracingAndCommittingAllocateNothing) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = std::make_shared<Source>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  DataSourceWriters writers(source);
  // Packets of all sizes come first, to make the memory that is kept for later.
  WritePackets(&writers, 1, 0, 1000);
  writers.Flush();
  {
    const AllocationCounter allocations;
    WritePackets(&writers, 1, 1000, 2000);
    writers.Flush();
    EXPECT_EQ(allocations.count(), 0u);
  }
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{1, 2000}}));
}

TEST_F(IpcSessionTest, UnregisteredDataSourceStops) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = std::make_shared<Source>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  DataSourceWriters writers(source);
  WritePackets(&writers, 1, 0, 5);
  producer.UnregisterDataSource(source);
  EXPECT_FALSE(source->is_enabled());
  WritePackets(&writers, 2, 0, 5);
  EXPECT_TRUE(source->WaitForCall("stop"));
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{1, 5}}));
  // It can be registered again.
  producer.RegisterDataSource(source);
  const TracingSessionID other = host.Start();
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  WritePackets(&writers, 3, 0, 5);
  EXPECT_EQ(Received(host.StopAndRead(other)), (Streams{{3, 5}}));
}

TEST_F(IpcSessionTest, ProducerOutlivesServices) {
  const auto source = std::make_shared<Source>();
  // Chunks are not freed after a service has gone.
  Producer::Options options = Options();
  options.stall_timeout_ms = 1;
  Producer producer(options);
  producer.RegisterDataSource(source);
  EXPECT_FALSE(producer.Sync(1));
  EXPECT_EQ(producer.state(), Producer::State::kConnecting);

  // The thread writes all the time.
  std::atomic<bool> done{false};
  std::atomic<uint32_t> index{0};
  std::thread thread([&] {
    DataSourceWriters writers(source);
    while (!done) {
      WritePackets(&writers, 1, index, index + 1);
      ++index;
    }
  });
  for (uint32_t i = 0; i < 5; ++i) {
    HostThread host(socket());
    const TracingSessionID session = host.Start();
    // The producer may not have noticed yet that the service before is gone.
    ASSERT_TRUE(WaitFor([&] { return producer.num_connections() == i + 1; }));
    ASSERT_TRUE(source->WaitUntilEnabled(true));
    const uint32_t begin = index;
    EXPECT_TRUE(WaitFor([&] { return index > begin + 100; }));
    // Packets may be lost, even all of these, but none is torn.
    PacketChecker checker(kMaxNumberedPacketSize);
    EXPECT_TRUE(WaitFor([&] {
      EXPECT_TRUE(host.Flush(session));
      checker.AddTrace(host.Read(session));
      return checker.received() > 0;
    }));
    EXPECT_THAT(checker.errors(), testing::Not(testing::HasSubstr("written")));
  }
  EXPECT_TRUE(source->WaitUntilEnabled(false));
  EXPECT_EQ(producer.num_connections(), 5u);
  done = true;
  thread.join();
}

TEST_F(IpcSessionTest, ProducerThatTriesOnceGivesUp) {
  Producer::Options options = Options();
  options.max_reconnect_pause_ms = 0;
  Producer producer(options);
  EXPECT_FALSE(producer.Sync(kTimeoutMs));
  EXPECT_EQ(producer.state(), Producer::State::kDisconnected);
}

std::atomic<int> g_num_signals{0};

TEST_F(IpcSessionTest, ProducersThreadTakesNoSignals) {
  g_num_signals = 0;
  struct sigaction action = {};
  struct sigaction action_before;
  action.sa_handler = [](int) { ++g_num_signals; };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &action_before), 0);
  auto producer = std::make_unique<Producer>(Options());
  sigset_t signals;
  sigset_t signals_before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &signals, &signals_before), 0);
  EXPECT_FALSE(sigismember(&signals_before, SIGUSR1));
  EXPECT_FALSE(sigismember(&signals_before, SIGTERM));

  ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
  // A thread handles its signals before it ends. The producer's thread had
  // none.
  producer.reset();
  EXPECT_EQ(g_num_signals, 0);
  pthread_sigmask(SIG_SETMASK, &signals_before, nullptr);
  EXPECT_EQ(g_num_signals, 1);
  sigaction(SIGUSR1, &action_before, nullptr);
}

TEST_F(IpcSessionTest, EverythingCanGoInAnyOrder) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  Streams expected;
  uint32_t stream = 0;
  // Threads write when the producer is destroyed, and go on.
  for (int i = 0; i < 10; ++i) {
    auto source = std::make_shared<Source>();
    auto producer = std::make_unique<Producer>(Options());
    producer->RegisterDataSource(source);
    ASSERT_TRUE(producer->Sync(kTimeoutMs));
    std::atomic<bool> done{false};
    std::atomic<uint32_t> ready{0};
    std::vector<std::thread> threads;
    for (int j = 0; j < 3; ++j) {
      expected[stream] = 50;
      threads.emplace_back([&, id = stream++, source] {
        DataSourceWriters writers(source);
        WritePackets(&writers, id, 0, 50);
        writers.Flush();
        ++ready;
        TraceWhile([&] { return !done; }, &writers);
      });
    }
    EXPECT_TRUE(WaitFor([&] { return ready == 3; }));
    if (i % 2 != 0)
      source.reset();
    producer.reset();
    done = true;
    for (std::thread& thread : threads)
      thread.join();
  }
  EXPECT_EQ(Received(host.StopAndRead(session)), expected);
}

TEST_F(IpcSessionTest, FunctionsOfDataSourcesMayTrace) {
  class TracingSource : public Source {
   public:
    void set_writers(DataSourceWriters* writers) { writers_ = writers; }

   private:
    void OnStart(const DataSourceInstance&) override {
      WritePackets(writers_, 1, 0, 10);
    }
    void OnFlush(const DataSourceInstance&, FlushFlags) override {
      WritePackets(writers_, 1, 10, 20);
      writers_->Flush();
    }
    DataSourceWriters* writers_ = nullptr;
  };
  HostThread host(socket());
  const auto source = std::make_shared<TracingSource>();
  DataSourceWriters writers(source);
  source->set_writers(&writers);
  Producer producer(Options());
  producer.RegisterDataSource(source);
  const TracingSessionID session = host.Start();
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{1, 20}}));
}

// ---- Processes

// Runs |child| in a child process. Returns its id.
pid_t Fork(const std::function<void()>& child) {
  const pid_t pid = fork();
  if (pid == 0) {
    child();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  return pid;
}

int ExitStatus(pid_t pid) {
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

TEST_F(IpcSessionTest, ProducersInOtherProcesses) {
  constexpr uint32_t kProcesses = 3;
  std::vector<pid_t> processes;
  Streams expected;
  // The processes start before there are threads here.
  for (uint32_t i = 0; i < kProcesses; ++i) {
    expected[i] = 300;
    processes.push_back(Fork([&] {
      const auto source = std::make_shared<Source>();
      Producer producer(Options());
      producer.RegisterDataSource(source);
      ASSERT_TRUE(source->WaitUntilEnabled(true));
      DataSourceWriters writers(source);
      WritePackets(&writers, i, 0, 300);
      EXPECT_EQ(writers.packets_lost(), 0u);
    }));
  }
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  for (const pid_t process : processes)
    EXPECT_EQ(ExitStatus(process), 0);
  host.WaitForProducers(0);
  const std::string trace = host.StopAndRead(session);
  EXPECT_EQ(Received(trace), expected);
  // The trace says which process wrote each packet.
  ProtoDecoder packets(trace);
  std::map<uint32_t, uint32_t> pids;
  for (Field packet = packets.ReadField(); packet;
       packet = packets.ReadField()) {
    ProtoDecoder decoder(packet.as_bytes());
    const Field event = decoder.FindField(900);
    if (!event)
      continue;
    ProtoDecoder event_decoder(event.as_bytes());
    pids[event_decoder.FindField(1).as_uint32()] =
        decoder.FindField(79).as_uint32();
  }
  for (uint32_t i = 0; i < kProcesses; ++i)
    EXPECT_EQ(pids[i], static_cast<uint32_t>(processes[i]));
}

TEST_F(IpcSessionTest, KilledProducersLoseNothingThatTheyHaveCommitted) {
  const auto kKills = static_cast<uint32_t>(Flag("kills", 10));
  // The child tells in this memory how far it has come.
  const auto memory = SharedMemoryFile::Create(4096);
  auto* const committed =
      reinterpret_cast<std::atomic<uint32_t>*>(memory->start());
  for (uint32_t i = 0; i < kKills; ++i) {
    committed->store(0);
    const pid_t process = Fork([&] {
      const auto source = std::make_shared<Source>();
      Producer producer(Options());
      producer.RegisterDataSource(source);
      source->WaitUntilEnabled(true);
      DataSourceWriters writers(source);
      for (uint32_t index = 0;; index += 10) {
        WritePackets(&writers, 1, index, index + 10);
        writers.Flush();
        // The socket may be full, and commits wait in the producer.
        if (producer.Sync(kTimeoutMs))
          committed->store(index + 10);
      }
    });
    HostThread host(socket());
    const TracingSessionID session = host.Start();
    ASSERT_TRUE(WaitFor([&] { return committed->load() > 20 * i; }));
    kill(process, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(ExitStatus(process)));
    host.WaitForProducers(0);
    const Streams received = Received(host.StopAndRead(session));
    EXPECT_GE(received.at(1), committed->load());
  }
}

TEST_F(IpcSessionTest, ProgramsMayExitWhileTheirThreadsTrace) {
  constexpr uint32_t kProcesses = 5;
  std::vector<pid_t> processes;
  Streams expected;
  for (uint32_t i = 0; i < kProcesses; ++i) {
    expected[i] = 100;
    processes.push_back(Fork([&] {
      // The producer is destroyed when the program exits, before the threads
      // end.
      static std::unique_ptr<Producer> producer;
      const auto source = std::make_shared<Source>();
      producer = std::make_unique<Producer>(Options());
      producer->RegisterDataSource(source);
      ASSERT_TRUE(source->WaitUntilEnabled(true));
      for (int j = 0; j < 2; ++j) {
        std::thread([source] {
          DataSourceWriters writers(source);
          TraceWhile([] { return true; }, &writers);
        }).detach();
      }
      thread_local DataSourceWriters writers(source);
      WritePackets(&writers, i, 0, 100);
      exit(HasFailure());
    }));
  }
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  for (const pid_t process : processes)
    EXPECT_EQ(ExitStatus(process), 0);
  host.WaitForProducers(0);
  EXPECT_EQ(Received(host.StopAndRead(session)), expected);
}

TEST_F(IpcSessionTest, ChildProcessesShareNothing) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = std::make_shared<Source>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  auto writers = std::make_unique<DataSourceWriters>(source);
  WritePackets(writers.get(), 1, 0, 10);
  // The process forks while others write, and in the middle of a packet.
  std::atomic<bool> done{false};
  std::thread thread([&] {
    DataSourceWriters other_writers(source);
    for (uint32_t index = 0; index < 2000; ++index)
      WritePackets(&other_writers, 2, index, index + 1);
    while (!done)
      std::this_thread::yield();
  });
  for (uint32_t i = 0; i < 10; ++i) {
    writers->Trace([&](TraceContext& context) {
      auto packet = context.NewTracePacket();
      const pid_t child = fork();
      if (child == 0)
        packet->AppendString(1000, std::string(100000, 'x'));
      else
        WriteNumberedPacket(1, 10 + i, kMaxNumberedPacketSize, packet.get());
      if (child != 0) {
        EXPECT_EQ(ExitStatus(child), 0);
        return;
      }
      packet = MessageHandle<Message>();
      EXPECT_FALSE(source->is_enabled());
      EXPECT_EQ(producer.state(), Producer::State::kDisconnected);
      EXPECT_FALSE(producer.Sync(kTimeoutMs));
      producer.RegisterDataSource(std::make_shared<Source>());
      _exit(HasFailure());
    });
    const pid_t child = Fork([&] {
      // These packets do not reach the service, nor do those of the other
      // child.
      WritePackets(writers.get(), 3, 0, 1000);
      writers.reset();
      const auto own_source = std::make_shared<Source>();
      {
        DataSourceWriters own_writers(own_source);
        Producer own_producer(Options());
        own_producer.RegisterDataSource(own_source);
        ASSERT_TRUE(own_producer.Sync(kTimeoutMs));
        WritePackets(&own_writers, 100 + i, 0, 20);
        EXPECT_EQ(own_writers.packets_lost(), 0u);
      }
      producer.~Producer();
    });
    EXPECT_EQ(ExitStatus(child), 0);
  }
  WritePackets(writers.get(), 1, 20, 30);
  done = true;
  thread.join();
  writers.reset();
  Streams expected{{1, 30}, {2, 2000}};
  for (uint32_t i = 0; i < 10; ++i)
    expected[100 + i] = 20;
  host.WaitForProducers(1);
  EXPECT_EQ(Received(host.StopAndRead(session)), expected);
}

}  // namespace
}  // namespace protozero::test
