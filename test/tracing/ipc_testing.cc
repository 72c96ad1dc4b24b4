// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/tracing/ipc_testing.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <future>

#include "test/tracing/numbered_packets.h"

// ThreadSanitizer takes the producer's mapping of the memory and the service's
// for different memory. So it does not know why an entry in the arbiter's list
// may be written again: the entry was read and its chunk committed before the
// chunk became free. (tracing_unittests, which have one mapping, check that
// list.)
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race_top:protozero::SharedMemoryArbiter::QueueFinishedChunk\n";
}
// The option lets child processes make threads.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0";
}

namespace protozero::test {

namespace {

ServiceHost::Options HostOptions(const std::string& socket) {
  ServiceHost::Options options;
  options.socket = socket;
  return options;
}

}  // namespace

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

HostThread::HostThread(const std::string& socket)
    : host_(&service_, HostOptions(socket)) {
  std::string error;
  EXPECT_TRUE(host_.Listen(&error)) << error;
  thread_ = std::thread([this] { host_.Run(); });
}

HostThread::~HostThread() {
  host_.Stop();
  thread_.join();
}

TracingSessionID HostThread::Start() {
  TraceConfig config;
  config.buffers.push_back({64 * 1024 * 1024, BufferFillPolicy::kDiscard});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = kSourceName;
  return Start(config);
}

TracingSessionID HostThread::Start(const TraceConfig& config) {
  std::string error;
  const TracingSessionID session =
      service_.StartTracing(config, nullptr, &error);
  EXPECT_NE(session, 0u) << error;
  host_.Wakeup();
  return session;
}

bool HostThread::Flush(TracingSessionID session) {
  std::promise<bool> done;
  service_.Flush(session, kTimeoutMs, kFlushReasonExplicit,
                 [&](bool success) { done.set_value(success); });
  host_.Wakeup();
  return done.get_future().get();
}

std::string HostThread::Read(TracingSessionID session) {
  std::string trace;
  EXPECT_TRUE(
      service_.ReadPackets(session, [&](const uint8_t* data, size_t size) {
        trace.append(reinterpret_cast<const char*>(data), size);
        return true;
      }));
  return trace;
}

std::string HostThread::StopAndRead(TracingSessionID session,
                                    TraceStats* stats) {
  service_.StopTracing(session);
  host_.Wakeup();
  EXPECT_TRUE(WaitFor(
      [&] { return service_.GetState(session) == TracingService::kStopped; }));
  const std::string trace = Read(session);
  const TraceStats final_stats = service_.GetStats(session);
  EXPECT_EQ(final_stats.buffers.at(0).abi_violations, 0u);
  if (stats != nullptr)
    *stats = final_stats;
  service_.CloseSession(session);
  return trace;
}

void HostThread::WaitForProducers(size_t number) {
  EXPECT_TRUE(WaitFor([&] {
    const TracingSessionID session = Start();
    const size_t now = service_.GetStats(session).producers.size();
    service_.CloseSession(session);
    return now == number;
  }));
}

void WritePackets(DataSourceWriters* writers,
                  uint32_t stream,
                  uint32_t first,
                  uint32_t end) {
  for (uint32_t index = first; index < end; ++index) {
    writers->Trace([&](TraceContext& context) {
      auto packet = context.NewTracePacket();
      WriteNumberedPacket(stream, index, kMaxNumberedPacketSize, packet.get());
    });
  }
}

Streams Received(const std::string& trace) {
  PacketChecker checker(kMaxNumberedPacketSize);
  checker.AddTrace(trace);
  EXPECT_EQ(checker.num_errors(), 0u) << checker.errors();
  Streams received;
  for (const auto& [stream, found] : checker.streams())
    received[stream] = found.received;
  return received;
}

IpcTest::IpcTest() {
  char path[] = "/tmp/protozero_ipc_XXXXXX";
  folder_ = mkdtemp(path);
  socket_ = folder_ + "/socket";
}

IpcTest::~IpcTest() {
  unlink(socket_.c_str());
  rmdir(folder_.c_str());
}

Producer::Options IpcTest::Options() const {
  Producer::Options options;
  options.name = "test";
  options.socket = socket_;
  options.shared_memory_size = 128 * 1024;
  options.page_layout = SharedMemoryABI::kPageDiv14;
  options.commit_period_ms = 5;
  options.stall_timeout_ms = kTimeoutMs;
  options.max_reconnect_pause_ms = 5;
  return options;
}

}  // namespace protozero::test
