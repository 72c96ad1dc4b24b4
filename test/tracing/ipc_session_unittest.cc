// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Producers and a ServiceHost, at the two ends of a socket: in one process, so
// that sanitizers see both, and in two.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/trace_service.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/data_source.pbzero.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "test/testing/flags.h"
#include "test/tracing/numbered_packets.h"

// ThreadSanitizer knows the one mapping of a producer's memory and the other,
// of the service, as different memory. So it does not know that a chunk which
// has become free, and whose entry in the arbiter's list is written again,
// became so after that entry was read and the chunk committed. (That list is
// looked at in tracing_unittests, where there is one mapping.)
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race_top:protozero::SharedMemoryArbiter::QueueFinishedChunk\n";
}
// Child processes make threads.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0";
}

namespace protozero {
namespace {

namespace pb = tracing::pbzero;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kSourceName[] = "test.source";
constexpr uint32_t kMaxPacketSize = 20000;
// Of what takes milliseconds. Only what hangs takes this long.
constexpr uint32_t kTimeoutMs = 60000;

// Waits for something that another thread or process is about to do.
bool WaitFor(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(kTimeoutMs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// A service whose host has a thread of its own.
class HostThread {
 public:
  explicit HostThread(const std::string& socket)
      : host_(&service_, HostOptions(socket)) {
    std::string error;
    EXPECT_TRUE(host_.Listen(&error)) << error;
    thread_ = std::thread([this] { host_.Run(); });
  }
  ~HostThread() {
    host_.Stop();
    thread_.join();
  }

  TraceService& service() { return service_; }

  TracingSessionID Start(const TraceConfig& config) {
    std::string error;
    const TracingSessionID session =
        service_.StartTracing(config, nullptr, &error);
    EXPECT_NE(session, 0u) << error;
    host_.Wakeup();
    return session;
  }
  TracingSessionID Start() {
    TraceConfig config;
    config.buffers.push_back({64 * 1024 * 1024, TraceConfig::Buffer::kDiscard});
    config.data_sources.emplace_back();
    config.data_sources[0].config.name = kSourceName;
    return Start(config);
  }
  void WaitForState(TracingSessionID session, TraceService::State state) {
    EXPECT_TRUE(WaitFor([&] { return service_.GetState(session) == state; }));
  }
  std::string Read(TracingSessionID session) {
    std::string trace;
    EXPECT_TRUE(
        service_.ReadPackets(session, [&](const uint8_t* data, size_t size) {
          trace.append(reinterpret_cast<const char*>(data), size);
          return true;
        }));
    return trace;
  }
  // Stops the session, and returns its trace.
  std::string StopAndRead(TracingSessionID session) {
    service_.StopTracing(session);
    host_.Wakeup();
    WaitForState(session, TraceService::kStopped);
    const std::string trace = Read(session);
    EXPECT_EQ(service_.GetStats(session).buffers.at(0).abi_violations, 0u);
    service_.CloseSession(session);
    return trace;
  }
  bool Flush(TracingSessionID session) {
    std::promise<bool> done;
    service_.Flush(session, kTimeoutMs, kFlushReasonExplicit,
                   [&](bool success) { done.set_value(success); });
    host_.Wakeup();
    return done.get_future().get();
  }
  void WaitForProducers(size_t number) {
    EXPECT_TRUE(WaitFor([&] {
      const TracingSessionID session = Start();
      const size_t now = service_.GetStats(session).producers.size();
      service_.CloseSession(session);
      return now == number;
    }));
  }

 private:
  static ServiceHost::Options HostOptions(const std::string& socket) {
    ServiceHost::Options options;
    options.socket = socket;
    return options;
  }

  TraceService service_;
  ServiceHost host_;
  std::thread thread_;
};

// Says what it has been told.
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

void WritePackets(DataSourceWriters* writers,
                  uint32_t stream,
                  uint32_t first,
                  uint32_t end) {
  for (uint32_t index = first; index < end; ++index) {
    writers->Trace([&](TraceContext& context) {
      auto packet = context.NewTracePacket();
      test::WriteNumberedPacket(stream, index, kMaxPacketSize, packet.get());
    });
  }
}

// What a trace holds of the numbered packets.
std::map<uint32_t, uint64_t> Received(const std::string& trace) {
  test::PacketChecker checker(kMaxPacketSize);
  checker.AddTrace(trace);
  EXPECT_EQ(checker.num_errors(), 0u) << checker.errors();
  std::map<uint32_t, uint64_t> received;
  for (const auto& [stream, found] : checker.streams())
    received[stream] = found.received;
  return received;
}

using Streams = std::map<uint32_t, uint64_t>;

class IpcSessionTest : public testing::Test {
 public:
  IpcSessionTest() {
    char path[] = "/tmp/protozero_ipc_XXXXXX";
    folder_ = mkdtemp(path);
    socket_ = folder_ + "/socket";
  }
  ~IpcSessionTest() override {
    unlink(socket_.c_str());
    rmdir(folder_.c_str());
  }

  Producer::Options Options() const {
    Producer::Options options;
    options.name = "test";
    options.socket = socket_;
    options.shared_memory_size = 128 * 1024;
    options.page_layout = SharedMemoryABI::kPageDiv14;
    options.commit_period_ms = 5;
    options.stall_timeout_ms = kTimeoutMs;
    // Tests wait for it.
    options.max_reconnect_pause_ms = 5;
    return options;
  }

  const std::string& socket() const { return socket_; }

 private:
  std::string folder_;
  std::string socket_;
};

TEST_F(IpcSessionTest, ThreadsWriteAndNothingIsLost) {
  constexpr uint32_t kThreads = 4;
  const auto kPackets = static_cast<uint32_t>(test::Flag("packets", 500));
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
  WritePackets(&writers, 7, 0, 10);  // To nobody.
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  EXPECT_TRUE(source->is_enabled());
  EXPECT_THAT(source->Calls(), ElementsAre("setup", "start", "setup", "start"));

  // Each has what was written while it lasted.
  WritePackets(&writers, 1, 0, 100);
  writers.Flush();
  EXPECT_EQ(Received(host.StopAndRead(first)), (Streams{{1, 100}}));
  WritePackets(&writers, 2, 0, 100);
  writers.Flush();
  EXPECT_EQ(Received(host.StopAndRead(second)), (Streams{{1, 100}, {2, 100}}));
  // And so does one that comes later.
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
  // The next packets go to another chunk, for the flush was also for this.
  WritePackets(&writers, 2, 0, 5);
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{2, 5}}));
}

TEST_F(IpcSessionTest, IncrementalStateIsClearedOnDemand) {
  HostThread host(socket());
  TraceConfig config;
  config.buffers.push_back({1024 * 1024, TraceConfig::Buffer::kRingBuffer});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = kSourceName;
  config.incremental_state_clear_period_ms = 1;
  const TracingSessionID session = host.Start(config);
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
  // And again.
  producer.RegisterDataSource(source);
  const TracingSessionID other = host.Start();
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  WritePackets(&writers, 3, 0, 5);
  EXPECT_EQ(Received(host.StopAndRead(other)), (Streams{{3, 5}}));
}

TEST_F(IpcSessionTest, ProducerOutlivesServices) {
  const auto source = std::make_shared<Source>();
  // A service that is gone frees no chunks.
  Producer::Options options = Options();
  options.stall_timeout_ms = 1;
  Producer producer(options);
  producer.RegisterDataSource(source);
  EXPECT_FALSE(producer.Sync(1));
  EXPECT_EQ(producer.state(), Producer::State::kConnecting);

  // Writes all the time.
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
    // It may not have noticed yet that the one before is gone.
    ASSERT_TRUE(WaitFor([&] { return producer.num_connections() == i + 1; }));
    ASSERT_TRUE(source->WaitUntilEnabled(true));
    const uint32_t begin = index;
    EXPECT_TRUE(WaitFor([&] { return index > begin + 100; }));
    EXPECT_TRUE(host.Flush(session));
    // Packets may be lost, but none is torn.
    test::PacketChecker checker(kMaxPacketSize);
    checker.AddTrace(host.Read(session));
    EXPECT_GT(checker.received(), 0u);
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

TEST_F(IpcSessionTest, EverythingCanGoInAnyOrder) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  Streams expected;
  uint32_t stream = 0;
  // Threads write when the producer goes, and go on.
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
        while (!done) {
          writers.Trace([](TraceContext& context) {
            auto packet = context.NewTracePacket();
            packet->AppendString(1000, std::string(500, 'x'));
          });
        }
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
  // Before there are threads here.
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
  // Who it was.
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
  const auto kKills = static_cast<uint32_t>(test::Flag("kills", 10));
  // Told by the child how far it has come.
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

TEST_F(IpcSessionTest, ChildProcessesShareNothing) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = std::make_shared<Source>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  auto writers = std::make_unique<DataSourceWriters>(source);
  WritePackets(writers.get(), 1, 0, 10);
  // While others write, and in the middle of a packet.
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
        test::WriteNumberedPacket(1, 10 + i, kMaxPacketSize, packet.get());
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
      // As little as its parent had said.
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

// ---- What other producers may do

// A client that says what the test wants it to.
class RawClient {
 public:
  explicit RawClient(const std::string& socket) {
    std::string error;
    socket_ = ConnectToUnixSocket(socket, &error);
    EXPECT_TRUE(socket_.is_valid()) << error;
  }

  template <typename Write>
  void Send(Write write, int fd = -1) {
    HeapBuffered<pb::IPCFrame> frame;
    write(frame.get());
    SendBytes(Framed(frame.SerializeAsString()), fd);
  }
  static std::string Framed(const std::string& payload) {
    std::string bytes(kFrameHeaderSize, '\0');
    WriteFrameHeader(payload.size(), reinterpret_cast<uint8_t*>(&bytes[0]));
    return bytes + payload;
  }
  // Waits while the socket takes no more; returns false if it is closed.
  bool SendBytes(const std::string& bytes, int fd = -1) {
    size_t begin = 0;
    while (begin < bytes.size()) {
      size_t sent;
      const SocketStatus status = SendToSocket(
          socket_.get(), reinterpret_cast<const uint8_t*>(bytes.data()) + begin,
          bytes.size() - begin, fd, &sent);
      begin += sent;
      if (status == SocketStatus::kClosed)
        return false;
      if (status == SocketStatus::kWouldBlock && !Poll(POLLOUT))
        return false;
    }
    return true;
  }
  void Bind(const std::string& name = "ProducerPort") {
    Send([&](pb::IPCFrame* frame) {
      frame->set_request_id(1);
      frame->set_msg_bind_service()->set_service_name(name);
    });
  }
  template <typename T = Message>
  void Invoke(
      uint64_t request_id,
      uint32_t method,
      const std::function<void(T*)>& write = [](T*) {},
      bool drop_reply = false,
      int fd = -1,
      uint32_t service = 1) {
    Send(
        [&](pb::IPCFrame* frame) {
          frame->set_request_id(request_id);
          auto* const invoke = frame->set_msg_invoke_method();
          invoke->set_service_id(service);
          invoke->set_method_id(method);
          invoke->set_drop_reply(drop_reply);
          write(invoke->BeginNestedMessage<T>(3));
        },
        fd);
  }
  void Initialize(bool own_memory = false, int fd = -1) {
    Invoke<pb::InitializeConnectionRequest>(
        2, 1,
        [&](pb::InitializeConnectionRequest* request) {
          request->set_producer_name("raw");
          request->set_producer_provided_shmem(own_memory);
          request->set_shared_memory_page_size_hint_bytes(4096);
        },
        false, fd);
  }

  // The payload of the next frame, or nothing at the end of the stream.
  std::string Receive() {
    ConstBytes payload;
    while (!reader_.NextFrame(&payload)) {
      const ContiguousMemoryRange range = reader_.BeginReceive();
      size_t size = 0;
      if (!Poll(POLLIN) ||
          ReceiveFromSocket(socket_.get(), range.begin, range.size(), &size,
                            &received_fd_) == SocketStatus::kClosed) {
        return "";
      }
      reader_.EndReceive(size);
    }
    return payload.ToStdString();
  }
  // What the next frame says, in short.
  std::string ReceiveText() {
    const std::string payload = Receive();
    if (payload.empty())
      return "end";
    const pb::IPCFrame::Decoder frame(payload);
    std::string text = std::to_string(frame.request_id());
    if (frame.has_msg_bind_service_reply()) {
      const pb::IPCFrame::BindServiceReply::Decoder reply(
          frame.msg_bind_service_reply());
      size_t methods = 0;
      for (auto it = reply.methods(); it; ++it)
        ++methods;
      text += std::string(" bound ") + (reply.success() ? "yes " : "no ") +
              std::to_string(methods);
    } else if (frame.has_msg_invoke_method_reply()) {
      const pb::IPCFrame::InvokeMethodReply::Decoder reply(
          frame.msg_invoke_method_reply());
      text += reply.success() ? " yes" : " no";
      if (reply.has_more())
        text += " command " + Command(reply.reply_proto());
    } else if (frame.has_msg_request_error()) {
      text += " error";
    }
    return text;
  }
  std::vector<std::string> ReceiveTexts(size_t count) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i)
      texts.push_back(ReceiveText());
    return texts;
  }
  ScopedFd TakeFd() { return std::move(received_fd_); }
  // Of what came last, and named it.
  uint64_t instance_id() const { return instance_id_; }
  BufferID target_buffer() const { return target_buffer_; }

 private:
  bool Poll(short events) {
    pollfd fd{socket_.get(), events, 0};
    return poll(&fd, 1, kTimeoutMs) == 1;
  }
  std::string Command(ConstBytes bytes) {
    const pb::GetAsyncCommandResponse::Decoder command(bytes);
    if (command.has_setup_tracing()) {
      const pb::GetAsyncCommandResponse::SetupTracing::Decoder setup(
          command.setup_tracing());
      return "setup_tracing " +
             std::to_string(setup.shared_buffer_page_size_kb());
    }
    if (command.has_setup_data_source()) {
      const pb::GetAsyncCommandResponse::SetupDataSource::Decoder setup(
          command.setup_data_source());
      instance_id_ = setup.new_instance_id();
      target_buffer_ = static_cast<BufferID>(
          pb::DataSourceConfig::Decoder(setup.config()).target_buffer());
      return "setup";
    }
    return command.has_start_data_source()  ? "start"
           : command.has_stop_data_source() ? "stop"
           : command.has_flush()            ? "flush"
                                            : "other";
  }

  ScopedFd socket_;
  FrameReader reader_;
  ScopedFd received_fd_;
  uint64_t instance_id_ = 0;
  BufferID target_buffer_ = 0;
};

// Methods, by the ids that the host gives them.
enum : uint32_t {
  kInitialize = 1,
  kRegister = 2,
  kCommit = 4,
  kGetAsyncCommand = 5,
  kRegisterWriter = 6,
  kSync = 11,
};

void RegisterSource(RawClient* client, uint64_t request_id) {
  client->Invoke<pb::RegisterDataSourceRequest>(
      request_id, kRegister, [](pb::RegisterDataSourceRequest* request) {
        request->BeginNestedMessage<pb::DataSourceDescriptor>(1)->set_name(
            kSourceName);
      });
}

TEST_F(IpcSessionTest, RequestsAreAnsweredInOrder) {
  HostThread host(socket());
  RawClient client(socket());
  client.Bind();
  client.Initialize();
  client.Invoke(77, kSync);
  client.Invoke<Message>(77, kSync, [](Message*) {}, /*drop_reply=*/true);
  client.Invoke(0, kSync);
  EXPECT_THAT(client.ReceiveTexts(4),
              ElementsAre("1 bound yes 12", "2 yes", "77 yes", "0 yes"));
}

TEST_F(IpcSessionTest, MistakesAreRefused) {
  HostThread host(socket());
  RawClient client(socket());
  client.Invoke(10, kSync);  // Not bound.
  client.Bind("producer_port");
  client.Bind();
  client.Invoke(11, kSync);  // Not initialized.
  client.Initialize();
  client.Initialize();   // Twice.
  client.Invoke(12, 0);  // No method.
  client.Invoke(13, 13);
  client.Invoke(14, UINT32_MAX);
  client.Invoke<Message>(15, kSync, [](Message*) {}, false, -1, /*service=*/2);
  client.Send([](pb::IPCFrame* frame) { frame->set_request_id(16); });
  // A commit before there is memory, and one that is malformed.
  client.Invoke(17, kCommit);
  client.Invoke<Message>(18, kCommit, [](Message* args) {
    args->AppendString(1, std::string("\x08"));
  });
  client.Invoke(19, kSync);
  EXPECT_THAT(client.ReceiveTexts(14),
              ElementsAre("10 no", "1 bound no 0", "1 bound yes 12", "11 no",
                          "2 yes", "2 no", "12 no", "13 no", "14 no", "15 no",
                          "16 error", "17 no", "18 no", "19 yes"));
}

TEST_F(IpcSessionTest, FramesThatAreNoMessagesAreIgnored) {
  HostThread host(socket());
  RawClient client(socket());
  client.SendBytes(RawClient::Framed("\x0f\xff garbage"));
  client.SendBytes(RawClient::Framed(""));
  client.SendBytes(
      RawClient::Framed(std::string(kMaxFramePayloadSize, '\xff')));
  client.Bind();
  EXPECT_EQ(client.ReceiveText(), "1 bound yes 12");
}

TEST_F(IpcSessionTest, FramesThatAreTooLargeEndTheConnection) {
  HostThread host(socket());
  RawClient client(socket());
  RawClient other(socket());
  client.Bind();
  EXPECT_EQ(client.ReceiveText(), "1 bound yes 12");
  std::string header(4, '\0');
  WriteFrameHeader(kMaxFramePayloadSize + 1,
                   reinterpret_cast<uint8_t*>(&header[0]));
  client.SendBytes(header);
  EXPECT_EQ(client.ReceiveText(), "end");
  other.Bind();
  EXPECT_EQ(other.ReceiveText(), "1 bound yes 12");
}

TEST_F(IpcSessionTest, ClientsThatDoNotReadAreDisconnected) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = std::make_shared<Source>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));

  RawClient client(socket());
  client.Bind();
  client.Initialize();
  HeapBuffered<pb::IPCFrame> frame;
  frame->set_request_id(5);
  auto* const invoke = frame->set_msg_invoke_method();
  invoke->set_service_id(1);
  invoke->set_method_id(kSync);
  const std::string sync = RawClient::Framed(frame.SerializeAsString());
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += sync;
  int rounds = 0;
  while (rounds < 1000 && client.SendBytes(many))
    ++rounds;
  EXPECT_LT(rounds, 1000);

  DataSourceWriters writers(source);
  WritePackets(&writers, 1, 0, 100);
  writers.Flush();
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{1, 100}}));
}

TEST_F(IpcSessionTest, CommandsBeforeTheyAreAskedForAreLostButTheMemoryIsNot) {
  HostThread host(socket());
  host.Start();
  RawClient client(socket());
  client.Bind();
  client.Initialize();
  RegisterSource(&client, 3);
  client.Invoke(4, kGetAsyncCommand);
  RegisterSource(&client, 5);
  EXPECT_THAT(client.ReceiveTexts(3),
              ElementsAre("1 bound yes 12", "2 yes", "3 yes"));
  EXPECT_EQ(client.ReceiveText(), "4 yes command setup_tracing 4");
  EXPECT_TRUE(SharedMemoryFile::Attach(client.TakeFd(), 256 * 1024, true));
  EXPECT_THAT(
      client.ReceiveTexts(3),
      ElementsAre("4 yes command setup", "4 yes command start", "5 yes"));
}

TEST_F(IpcSessionTest, MemoryOfTheProducersOwn) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto memory = SharedMemoryFile::Create(64 * 1024);
  RawClient client(socket());
  client.Bind();
  client.Initialize(/*own_memory=*/true, memory->fd());
  client.Invoke(3, kGetAsyncCommand);
  RegisterSource(&client, 4);
  EXPECT_THAT(
      client.ReceiveTexts(6),
      ElementsAre("1 bound yes 12", "2 yes", "3 yes command setup_tracing 0",
                  "3 yes command setup", "3 yes command start", "4 yes"));
  EXPECT_FALSE(client.TakeFd().is_valid());

  // What was written to it before can be committed now.
  class Endpoint : public ProducerEndpoint {
   public:
    explicit Endpoint(RawClient* client) : client_(client) {}
    void CommitData(const CommitDataRequest& request) override {
      client_->Invoke<pb::CommitDataRequest>(
          5, kCommit, [&](pb::CommitDataRequest* message) {
            for (size_t i = 0; i < request.num_chunks_to_move; ++i) {
              auto* const move = message->add_chunks_to_move();
              move->set_page(request.chunks_to_move[i].page);
              move->set_chunk(request.chunks_to_move[i].chunk);
              move->set_target_buffer(request.chunks_to_move[i].target_buffer);
            }
          });
    }

   private:
    RawClient* const client_;
  };
  Endpoint endpoint(&client);
  SharedMemoryArbiter arbiter(memory->start(), memory->size(), 4096, &endpoint);
  auto writer = arbiter.CreateTraceWriter(client.target_buffer());
  for (uint32_t i = 0; i < 3; ++i) {
    auto packet = writer->NewTracePacket();
    test::WriteNumberedPacket(1, i, 1000, packet.get());
  }
  writer->Flush();
  EXPECT_EQ(client.ReceiveText(), "5 yes");
  const std::string trace = host.Read(session);
  test::PacketChecker checker(1000);
  checker.AddTrace(trace);
  EXPECT_EQ(checker.received(), 3u);
  EXPECT_EQ(checker.errors(), "");
}

TEST_F(IpcSessionTest, MemoryThatCanShrinkIsNotTaken) {
  HostThread host(socket());
  host.Start();
  const ScopedFd memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(memory.get(), 64 * 1024), 0);
  RawClient client(socket());
  client.Bind();
  client.Initialize(/*own_memory=*/true, memory.get());
  client.Invoke(3, kGetAsyncCommand);
  RegisterSource(&client, 4);
  EXPECT_THAT(
      client.ReceiveTexts(3),
      ElementsAre("1 bound yes 12", "2 yes", "3 yes command setup_tracing 4"));
  EXPECT_TRUE(client.TakeFd().is_valid());
}

TEST_F(IpcSessionTest, BytesInPiecesOfAnySize) {
  HostThread host(socket());
  HeapBuffered<pb::IPCFrame> frame;
  frame->set_request_id(1);
  frame->set_msg_bind_service()->set_service_name("ProducerPort");
  const std::string stream = RawClient::Framed(frame.SerializeAsString());
  for (size_t size = 1; size <= stream.size(); ++size) {
    RawClient client(socket());
    for (size_t begin = 0; begin < stream.size(); begin += size)
      ASSERT_TRUE(client.SendBytes(stream.substr(begin, size)));
    EXPECT_EQ(client.ReceiveText(), "1 bound yes 12");
  }
}

}  // namespace
}  // namespace protozero
