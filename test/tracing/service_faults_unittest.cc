// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests a service and its host, in which each allocation and each system call
// fails in turn. Connections may end, and packets may be lost, which are
// counted then. When there is memory again, all is well, and nothing is left
// behind.

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/service_host.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/ipc/messages.h"
#include "src/tracing/ipc/producer_methods.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/shared_memory/out_of_memory.h"
#include "test/testing/failing_calls.h"
#include "test/testing/open_descriptors.h"
#include "test/testing/sanitizers.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/numbered_packets.h"
#include "test/tracing/raw_client.h"
#include "test/tracing/test_producer.h"

namespace protozero::test {
namespace {

namespace pb = tracing::pbzero;

// A name so long that a string allocates memory for it.
constexpr char kLongName[] = "test.source.whose.name.is.long";
constexpr uint32_t kPageSize = 4096;
// The limit of a packet's size. Some packets are larger than a chunk.
constexpr uint32_t kMaxPacketSize = 3000;
// The number of packets that are written at a time.
constexpr uint32_t kFewPackets = 12;

// A producer in the thread of the host. It waits for nothing, so everything
// happens in the same order each time.
class SteppedProducer : public ProducerEndpoint {
 public:
  SteppedProducer(const std::string& socket, uint32_t stream)
      : client_(socket), stream_(stream) {
    client_.Bind();
    Call<pb::InitializeConnectionRequest>(
        ProducerMethod::kInitializeConnection,
        [](pb::InitializeConnectionRequest* request) {
          request->set_producer_name(kLongName);
          request->set_smb_scraping_mode(
              pb::InitializeConnectionRequest::SMB_SCRAPING_ENABLED);
          request->set_reports_losses(true);
          request->set_takes_memory_errors(true);
          request->set_shared_memory_page_size_hint_bytes(kPageSize);
          request->set_shared_memory_size_hint_bytes(1 << 20);
        });
    Call<Message>(ProducerMethod::kGetAsyncCommand, [](Message*) {});
    Call<pb::RegisterDataSourceRequest>(
        ProducerMethod::kRegisterDataSource,
        [](pb::RegisterDataSourceRequest* request) {
          auto* const source = request->set_data_source_descriptor();
          source->set_name(kLongName);
          source->set_will_notify_on_stop(true);
        });
  }
  ~SteppedProducer() override {
    // The writer still commits.
    writer_.reset();
  }

  // Does all that the service wants. Returns whether the connection goes on.
  bool Step() {
    while (is_connected_ && client_.HasReceived()) {
      const std::string text = client_.ReceiveText();
      const auto is = [&text](const char* word) {
        return text.find(word) != std::string::npos;
      };
      if (is("end")) {
        is_connected_ = false;
      } else if (is("setup_tracing")) {
        memory_ = SharedMemoryFile::Attach(client_.TakeFd(), SIZE_MAX,
                                           /*needs_seals=*/true);
        if (memory_ == nullptr)
          return false;
        arbiter_ = std::make_unique<SharedMemoryArbiter>(
            memory_->start(), memory_->size(), kPageSize, this,
            SharedMemoryArbiter::Options());
      } else if (is("start")) {
        writer_ = arbiter_->CreateTraceWriter(client_.target_buffer());
      } else if (is("flush")) {
        if (writer_ != nullptr)
          writer_->Flush();
        CommitDataRequest request{};
        // This acknowledges all flushes that there are.
        request.flush_request_id = UINT64_MAX;
        CommitData(request);
      } else if (is("stop")) {
        writer_.reset();
      }
    }
    return is_connected_;
  }
  void Write() {
    for (uint32_t i = 0; writer_ != nullptr && i < kFewPackets; ++i) {
      WriteNumberedPacket(stream_, num_written_++, kMaxPacketSize,
                          writer_->NewTracePacket<Message>().get());
    }
  }
  void Commit() {
    if (writer_ != nullptr)
      writer_->Flush();
  }
  uint32_t num_written() const { return num_written_; }

 private:
  template <typename T, typename Write>
  void Call(ProducerMethod method, Write write, bool drop_reply = false) {
    client_.Invoke<T>(++request_id_, static_cast<uint32_t>(method), write,
                      drop_reply);
  }
  // ProducerEndpoint:
  void CommitData(const CommitDataRequest& request) override {
    Call<pb::CommitDataRequest>(
        ProducerMethod::kCommitData,
        [&](pb::CommitDataRequest* message) {
          WriteCommitDataRequest(request, message);
        },
        /*drop_reply=*/true);
  }
  void RegisterTraceWriter(WriterID id, BufferID buffer) override {
    Call<pb::RegisterTraceWriterRequest>(
        ProducerMethod::kRegisterTraceWriter,
        [&](pb::RegisterTraceWriterRequest* message) {
          message->set_trace_writer_id(id);
          message->set_target_buffer(buffer);
        });
  }
  void UnregisterTraceWriter(WriterID id) override {
    Call<pb::UnregisterTraceWriterRequest>(
        ProducerMethod::kUnregisterTraceWriter,
        [&](pb::UnregisterTraceWriterRequest* message) {
          message->set_trace_writer_id(id);
        });
  }

  RawClient client_;
  const uint32_t stream_;
  uint64_t request_id_ = 1;
  bool is_connected_ = true;
  uint32_t num_written_ = 0;
  std::unique_ptr<SharedMemoryFile> memory_;
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
  std::unique_ptr<TraceWriter> writer_;
};

class TraceConsumer : public TracingService::Consumer {
 public:
  // The memory for the trace is taken before, so it does not count.
  TraceConsumer() { trace.reserve(1 << 20); }
  std::string trace;

  bool OnTraceData(TracingSessionID,
                   const uint8_t* data,
                   size_t size) override {
    trace.append(reinterpret_cast<const char*>(data), size);
    return true;
  }
};

// One run, in which the |first|-th call fails, and perhaps all that follow.
class FaultyRun {
 public:
  FaultyRun(std::string socket, uint64_t first, NthCallFails::Which which)
      : socket_(std::move(socket)), first_(first), fault_(first, which) {}

  // Returns whether there was such a call.
  bool Run();

 private:
  // Calls |function| of the code under test. Returns false if it has thrown.
  template <typename Function>
  static bool Try(const Function& function) {
    // This is around the code under test, whose exceptions take memory.
    return RunsInMemory([&] {
      const CodeUnderTest code;
      function();
    });
  }
  void Turns(std::vector<SteppedProducer*> producers) {
    for (int i = 0; i < 12; ++i) {
      EXPECT_TRUE(Try([&] { host_->RunOnce(0); }));
      for (SteppedProducer* const producer : producers)
        producer->Step();
    }
  }
  bool Start();
  void Trace();
  void Check();
  static TraceConfig Config();

  const std::string socket_;
  const uint64_t first_;
  NthCallFails fault_;
  uint64_t now_ = 1000;
  TraceConsumer consumer_;
  std::optional<TracingService> service_;
  std::optional<ServiceHost> host_;
  TracingSessionID session_ = 0;
  uint64_t num_written_ = 0;
};

TraceConfig FaultyRun::Config() {
  TraceConfig config;
  // The first buffer is too small for all packets.
  config.buffers.push_back({40000, BufferFillPolicy::kRingBuffer});
  config.buffers.push_back({1 << 20, BufferFillPolicy::kDiscard});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = kLongName;
  config.flush_period_ms = 100;
  config.write_period_ms = 500;
  config.incremental_state_clear_period_ms = 100;
  config.data_source_stop_timeout_ms = 1000;
  config.raw_config = "\x0a\x00";
  return config;
}

// Starts the service and a session. Returns false if that has failed.
bool FaultyRun::Start() {
  std::string error;
  ServiceHost::Options options;
  options.socket = socket_;
  bool listens = false;
  return Try([&] { service_.emplace([this] { return now_; }); }) &&
         Try([&] { host_.emplace(&*service_, options); }) &&
         Try([&] { listens = host_->Listen(&error); }) && listens && Try([&] {
           session_ = service_->StartTracing(Config(), &consumer_, &error);
         }) &&
         session_ != 0;
}

void FaultyRun::Trace() {
  SteppedProducer first(socket_, 1);
  {
    SteppedProducer second(socket_, 2);
    Turns({&first, &second});
    for (int i = 0; i < 4; ++i) {
      first.Write();
      second.Write();
      second.Commit();
      Turns({&first, &second});
      now_ += 100;
      Turns({&first, &second});
    }
    Try([&] { service_->GetStats(session_); });
    first.Write();
    second.Write();
    num_written_ += second.num_written();
    // The second producer ends without a commit of its last chunk.
  }
  Turns({&first});
  Try([&] {
    service_->Flush(session_, 1000, kFlushReasonExplicit, [](bool) {});
  });
  Turns({&first});
  TracingSessionID copy = 0;
  std::string error;
  Try([&] { copy = service_->CloneSession(session_, &error); });
  Turns({&first});
  // Without memory, it may be gone, or its flush has no answer.
  service_->CloseSession(copy);
  Try([&] { service_->StopTracing(session_); });
  Turns({&first});
  // The first producer does not say that it has stopped.
  now_ += 1000;
  Turns({&first});
  num_written_ += first.num_written();
  Try([&] {
    service_->ReadPackets(session_, [this](const uint8_t* data, size_t size) {
      return consumer_.OnTraceData(session_, data, size);
    });
  });
}

// Checks the results when nothing fails any more.
void FaultyRun::Check() {
  Turns({});
  EXPECT_EQ(host_->num_connections(), 0u);
  service_->StopTracing(session_);
  now_ += 10000;
  Turns({});
  ASSERT_EQ(service_->GetState(session_), TracingService::kStopped);
  EXPECT_TRUE(
      service_->ReadPackets(session_, [this](const uint8_t* data, size_t size) {
        return consumer_.OnTraceData(session_, data, size);
      }));
  PacketChecker checker(kMaxPacketSize);
  checker.AddTrace(consumer_.trace);
  EXPECT_EQ(checker.num_errors(), 0u) << checker.errors();
  const TraceStats stats = service_->GetStats(session_);
  EXPECT_EQ(stats.packets_read(), checker.received());
  EXPECT_EQ(stats.packets_begun(), stats.packets_read() + stats.lost().total());
  // If there is no unknown loss, all written packets are known.
  if (stats.unknown_losses() == 0) {
    EXPECT_EQ(stats.packets_begun(), num_written_);
  }
  EXPECT_LE(checker.received(), num_written_);
  service_->CloseSession(session_);

  consumer_.trace.clear();
  session_ = service_->StartTracing(Config(), &consumer_, nullptr);
  ASSERT_NE(session_, 0u);
  SteppedProducer third(socket_, 3);
  Turns({&third});
  third.Write();
  service_->StopTracing(session_);
  Turns({&third});
  now_ += 10000;
  Turns({&third});
  ASSERT_EQ(service_->GetState(session_), TracingService::kStopped);
  PacketChecker of_third(kMaxPacketSize);
  of_third.AddTrace(consumer_.trace);
  EXPECT_EQ(of_third.num_errors(), 0u) << of_third.errors();
  EXPECT_EQ(of_third.received(), kFewPackets);
  EXPECT_EQ(service_->GetStats(session_).unknown_losses(), 0u);
}

bool FaultyRun::Run() {
  if (Start())
    Trace();
  fault_.Stop();
  const bool has_failed = fault_.count() >= first_;
  if (session_ == 0) {
    host_.reset();
    service_.reset();
    EXPECT_TRUE(Start());
  }
  Check();
  return has_failed;
}

class ServiceFaultsTest : public IpcTest {
 public:
  void RunWithEachFault(NthCallFails::Which which) {
    EXPECT_FALSE(FaultyRun(socket(), UINT64_MAX, which).Run());
    const size_t descriptors = CountOpenDescriptors();
    uint64_t first = 1;
    while (FaultyRun(socket(), first, which).Run() && !HasFailure()) {
      EXPECT_EQ(CountOpenDescriptors(), descriptors);
      ++first;
    }
    EXPECT_FALSE(HasFailure()) << "when call " << first << " fails";
    EXPECT_GT(first, 100u);
  }
};

TEST_F(ServiceFaultsTest, EachCallFailsOnce) {
  RunWithEachFault(NthCallFails::kOnce);
}

TEST_F(ServiceFaultsTest, EachCallFailsAndThoseThatFollow) {
  RunWithEachFault(NthCallFails::kFromThenOn);
}

// A service without a host, whose producer has written many chunks.
TEST(CopyFaultsTest, ACopyIsWholeOrThereIsNone) {
  constexpr uint32_t kCopiedPackets = 300;
  uint64_t num_whole = 0;
  [[maybe_unused]] uint64_t num_none = 0;
  bool has_failed = true;
  for (uint64_t first = 1; has_failed && !testing::Test::HasFailure();
       ++first) {
    SCOPED_TRACE(first);
    TracingService service([] { return uint64_t{1000}; });
    TraceConfig config;
    config.buffers.push_back({1 << 20, BufferFillPolicy::kRingBuffer});
    config.data_sources.emplace_back();
    config.data_sources[0].config.name = "source";
    config.is_read_at_end = true;
    TestProducer producer;
    producer.Connect(&service, "source");
    const TracingSessionID session =
        service.StartTracing(config, nullptr, nullptr);
    auto writer = producer.MakeArbiter()->CreateTraceWriter(producer.buffer());
    for (uint32_t i = 0; i < kCopiedPackets; ++i) {
      WriteNumberedPacket(1, i, kMaxPacketSize,
                          writer->NewTracePacket<Message>().get());
    }
    writer->Flush();

    TracingSessionID copy = 0;
    std::string error;
    NthCallFails fault(first, NthCallFails::kOnce);
    RunsInMemory([&] {
      const CodeUnderTest code;
      copy = service.CloneSession(session, &error);
    });
    producer.AcknowledgeFlush(UINT64_MAX);
    for (int i = 0; i < 1000; ++i) {
      RunsInMemory([&] {
        const CodeUnderTest code;
        service.RunDue();
      });
    }
    fault.Stop();
    has_failed = fault.count() >= first;
    if (service.GetState(copy) == TracingService::kNone) {
      ++num_none;
    } else {
      ++num_whole;
      EXPECT_EQ(service.GetState(copy), TracingService::kStopped);
      PacketChecker checker(kMaxPacketSize);
      checker.AddTrace(ReadTrace(&service, copy));
      EXPECT_EQ(checker.received(), kCopiedPackets);
    }
    writer.reset();
  }
  EXPECT_GT(num_whole, 0u);
#if defined(__cpp_exceptions) && !PROTOZERO_TEST_HAS_TSAN
  EXPECT_GT(num_none, 10u);
#endif
}

class IdleProducer : public TracingService::RemoteProducer {
 public:
  std::unique_ptr<protozero::SharedMemory> SetupTracing(size_t,
                                                        size_t) override {
    return nullptr;
  }
  void SetupDataSource(DataSourceInstanceID, const DataSourceConfig&) override {
  }
  void StartDataSource(DataSourceInstanceID, const DataSourceConfig&) override {
  }
  void StopDataSource(DataSourceInstanceID) override {}
  void Flush(FlushRequestID,
             const std::vector<DataSourceInstanceID>&,
             FlushFlags) override {}
  void ClearIncrementalState(
      const std::vector<DataSourceInstanceID>&) override {}
};

// Both producers belong to one process, and have no memory to share.
TEST(ConnectionFaultsTest, TheLastConnectionOfAProcessEndsWithoutAllocating) {
  TracingService service;
  IdleProducer producer;
  auto first = service.ConnectProducer(&producer, {});
  auto second = service.ConnectProducer(&producer, {});
  ASSERT_NE(second, nullptr);
  first.reset();
  NthCallFails fault(1, NthCallFails::kFromThenOn);
  {
    const CodeUnderTest code;
    second.reset();
  }
  EXPECT_EQ(fault.count(), 0u);
}

}  // namespace
}  // namespace protozero::test
