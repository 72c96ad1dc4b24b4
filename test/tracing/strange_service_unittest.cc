// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests services with strange behaviour: the program that traces goes on, and
// can say why it is not traced.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/producer_methods.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/data_source.pbzero.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "src/tracing/writer/flight_header.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/raw_client.h"

namespace protozero::test {
namespace {

namespace pb = tracing::pbzero;
using Command = pb::GetAsyncCommandResponse;
using OffReason = Producer::OffReason;

// A data source that counts the calls for sessions.
class CountingSource : public DataSource {
 public:
  CountingSource() : DataSource(DataSourceDescriptor{kSourceName}) {}
  std::atomic<int> setups{0};
  std::atomic<int> starts{0};
  std::atomic<int> stops{0};

 private:
  void OnSetup(const DataSourceInstance&) override { ++setups; }
  void OnStart(const DataSourceInstance&) override { ++starts; }
  void OnStop(const DataSourceInstance&) override { ++stops; }
};

// A service that sends one producer whatever the test wants.
class RawService {
 public:
  explicit RawService(const std::string& socket) {
    std::string error;
    listening_ = ListenOnUnixSocket(socket, &error);
    EXPECT_TRUE(listening_.is_valid()) << error;
  }

  void Accept() {
    ScopedFd socket;
    EXPECT_TRUE(WaitFor([&] {
      socket = AcceptConnection(listening_.get());
      return socket.is_valid();
    }));
    peer_ = std::make_unique<RawClient>(std::move(socket));
  }
  void Close() { peer_.reset(); }
  // Lets the producer not connect again.
  void StopListening() { listening_.Reset(); }

  // Reads until the producer calls |method|, and returns the request. Notes
  // down the id of the call.
  std::string WaitForCall(ProducerMethod method) {
    for (;;) {
      const std::string payload = peer_->Receive();
      if (payload.empty())
        return "the connection has ended";
      const pb::IPCFrame::Decoder frame(payload);
      const pb::IPCFrame::InvokeMethod::Decoder call(frame.msg_invoke_method());
      if (call.method_id() != static_cast<uint32_t>(method))
        continue;
      request_id_ = frame.request_id();
      wants_no_reply_ = call.drop_reply();
      return call.args_proto().ToStdString();
    }
  }
  void AnswerBind(bool success, size_t num_methods) {
    const std::string payload = peer_->Receive();
    const pb::IPCFrame::Decoder request(payload);
    Send([&](pb::IPCFrame* frame) {
      frame->set_request_id(request.request_id());
      auto* const reply = frame->set_msg_bind_service_reply();
      reply->set_success(success);
      reply->set_service_id(1);
      for (uint32_t i = 0; i < num_methods; ++i) {
        auto* const method = reply->add_methods();
        method->set_id(i + 1);
        method->set_name(kProducerMethodNames[i]);
      }
    });
  }
  // Answers the last call.
  void Answer(bool success) {
    Send([&](pb::IPCFrame* frame) {
      frame->set_request_id(request_id_);
      auto* const reply = frame->set_msg_invoke_method_reply();
      if (success)
        reply->set_success(true);
    });
  }
  // Welcomes the producer as a normal service does.
  void Welcome() {
    Accept();
    AnswerBind(true, kNumProducerMethods);
    WaitForCall(ProducerMethod::kInitializeConnection);
    Answer(true);
    WaitForCall(ProducerMethod::kGetAsyncCommand);
    command_request_ = request_id_;
  }

  void Tell(const std::function<void(Command*)>& write, int fd = -1) {
    Send(
        [&](pb::IPCFrame* frame) {
          frame->set_request_id(command_request_);
          auto* const reply = frame->set_msg_invoke_method_reply();
          reply->set_success(true);
          reply->set_has_more(true);
          write(reply->BeginNestedMessage<Command>(
              pb::IPCFrame::InvokeMethodReply::kReplyProtoFieldNumber));
        },
        fd);
  }
  void TellMemory(int fd, uint32_t page_size_kb = 4) {
    Tell(
        [&](Command* command) {
          command->set_setup_tracing()->set_shared_buffer_page_size_kb(
              page_size_kb);
        },
        fd);
  }
  void TellFlightFile(int fd) {
    Tell(
        [&](Command* command) {
          command->set_setup_tracing()->set_is_flight_file(true);
        },
        fd);
  }
  void TellSetup(uint64_t instance, const std::string& name) {
    Tell([&](Command* command) {
      auto* const setup = command->set_setup_data_source();
      setup->set_new_instance_id(instance);
      setup->set_config()->set_name(name);
    });
  }
  void TellStart(uint64_t instance) {
    Tell([&](Command* command) {
      command->set_start_data_source()->set_new_instance_id(instance);
    });
  }
  void TellStop(uint64_t instance) {
    Tell([&](Command* command) {
      command->set_stop_data_source()->set_instance_id(instance);
    });
  }
  // Tells the producer to flush. Its acknowledgement shows that all before was
  // done.
  void TellFlush(uint64_t instance) {
    const uint64_t id = ++flush_id_;
    Tell([&](Command* command) {
      auto* const flush = command->set_flush();
      flush->add_data_source_ids(instance);
      flush->set_request_id(id);
    });
    for (;;) {
      const std::string args = WaitForCall(ProducerMethod::kCommitData);
      const pb::CommitDataRequest::Decoder commit(args);
      ASSERT_EQ(commit.status(), DecodeStatus::kOk);
      if (commit.flush_request_id() == id)
        return;
    }
  }
  template <typename Write>
  void Send(Write write, int fd = -1) {
    peer_->Send(write, fd);
  }
  RawClient* peer() { return peer_.get(); }
  // Returns whether the last call must not be answered.
  bool wants_no_reply() const { return wants_no_reply_; }

 private:
  ScopedFd listening_;
  std::unique_ptr<RawClient> peer_;
  uint64_t request_id_ = 0;
  uint64_t command_request_ = 0;
  uint64_t flush_id_ = 0;
  bool wants_no_reply_ = false;
};

class StrangeServiceTest : public IpcTest {
 protected:
  StrangeServiceTest() : service_(socket()) {}

  // Returns a producer that does not try again.
  std::unique_ptr<Producer> NewProducer() {
    Producer::Options options = Options();
    options.max_reconnect_pause_ms = 0;
    auto producer = std::make_unique<Producer>(options);
    producer->RegisterDataSource(source_);
    return producer;
  }
  static void WaitUntilConnected(const Producer& producer) {
    EXPECT_TRUE(WaitFor(
        [&] { return producer.state() == Producer::State::kConnected; }));
  }
  static void ExpectOff(Producer* producer, OffReason reason) {
    EXPECT_TRUE(WaitFor(
        [&] { return producer->state() == Producer::State::kDisconnected; }));
    EXPECT_EQ(producer->off_reason(), reason) << producer->why_off();
    EXPECT_NE(producer->why_off(), "");
  }

  // Makes |memory_| a flight recorder's file.
  FlightHeader* WriteFlightHeader() {
    auto* const header = new (memory_->start()) FlightHeader();
    header->version = FlightHeader::kVersion;
    header->page_size = 4096;
    header->num_pages = 15;
    return header;
  }
  // Has the producer record a session to such a file.
  FlightHeader* BeginFlight() {
    FlightHeader* const header = WriteFlightHeader();
    service_.Welcome();
    service_.TellFlightFile(memory_->fd());
    service_.TellSetup(1, kSourceName);
    service_.TellStart(1);
    service_.TellFlush(1);
    EXPECT_TRUE(source_->is_enabled());
    return header;
  }

  const std::shared_ptr<CountingSource> source_ =
      std::make_shared<CountingSource>();
  const std::unique_ptr<SharedMemoryFile> memory_ =
      SharedMemoryFile::Create(64 * 1024);
  RawService service_;
};

TEST_F(StrangeServiceTest, ThatIsNone) {
  const auto producer = NewProducer();
  service_.Accept();
  service_.AnswerBind(false, 0);
  ExpectOff(producer.get(), OffReason::kRefused);
}

TEST_F(StrangeServiceTest, ThatSaysYesAndHasNoMethods) {
  const auto producer = NewProducer();
  service_.Accept();
  service_.AnswerBind(true, 0);
  ExpectOff(producer.get(), OffReason::kRefused);
}

TEST_F(StrangeServiceTest, IsNotAskedForASmallSizeInPlaceOfAHugeOne) {
  Producer::Options options = Options();
  const uint64_t huge = (uint64_t{1} << 32) + 4096;
  options.shared_memory_size =
      static_cast<size_t>(std::min<uint64_t>(huge, SIZE_MAX));
  options.page_size = SIZE_MAX;
  Producer producer(options);
  service_.Accept();
  service_.AnswerBind(true, kNumProducerMethods);
  const std::string args =
      service_.WaitForCall(ProducerMethod::kInitializeConnection);
  const pb::InitializeConnectionRequest::Decoder request(args);
  EXPECT_EQ(request.shared_memory_size_hint_bytes(), UINT32_MAX);
  EXPECT_EQ(request.shared_memory_page_size_hint_bytes(), UINT32_MAX);
}

TEST_F(StrangeServiceTest, IsToldWhatTheProducerCanDo) {
  for (const bool has_options : {false, true}) {
    Producer::Options options = Options();
    options.name = has_options ? "named" : "";
    options.scraping = has_options;
    options.page_size = 8192;
    Producer producer(options);
    service_.Accept();
    service_.AnswerBind(true, kNumProducerMethods);
    const std::string args =
        service_.WaitForCall(ProducerMethod::kInitializeConnection);
    EXPECT_FALSE(service_.wants_no_reply());
    using Request = pb::InitializeConnectionRequest;
    const Request::Decoder request(args);
    EXPECT_EQ(request.producer_name().ToStdString(),
              has_options ? "named" : program_invocation_short_name);
    EXPECT_EQ(request.smb_scraping_mode(),
              has_options ? Request::SMB_SCRAPING_ENABLED
                          : Request::SMB_SCRAPING_DISABLED);
    EXPECT_EQ(request.shared_memory_size_hint_bytes(), 128u * 1024);
    EXPECT_EQ(request.shared_memory_page_size_hint_bytes(), 8192u);
    EXPECT_TRUE(request.takes_memory_errors());
    EXPECT_TRUE(request.reports_losses());
    EXPECT_TRUE(request.commits_after_silence());
    EXPECT_EQ(request.flight_version(), FlightHeader::kVersion);
    service_.Answer(true);
    service_.WaitForCall(ProducerMethod::kGetAsyncCommand);
    EXPECT_FALSE(service_.wants_no_reply());
  }
}

// A packet in a chunk that is not full commits nothing, for a long time.
TEST_F(StrangeServiceTest, IsToldWhenASilenceEnds) {
  Producer::Options options = Options();
  options.commit_period_ms = 1 << 30;
  options.idle_period_ms = 0;
  Producer producer(options);
  producer.RegisterDataSource(source_);
  service_.Welcome();
  service_.TellMemory(memory_->fd());
  service_.TellSetup(1, kSourceName);
  service_.TellStart(1);
  DataSourceWriters writers(source_);
  std::string commit;
  uint32_t silences = 0;
  do {
    // The answer has come, so the thread is about to sleep. The packet may be
    // faster.
    service_.TellFlush(1);
    ASSERT_LT(silences, 100u);
    usleep(10'000 * ++silences);
    WritePackets(&writers, 1, silences, silences + 1);
    writers.Flush();
    commit = service_.WaitForCall(ProducerMethod::kCommitData);
    const pb::CommitDataRequest::Decoder first(commit);
    EXPECT_FALSE(first.has_flush_request_id());
  } while (!commit.empty());
}

TEST_F(StrangeServiceTest, ThatTakesNoProducer) {
  const auto producer = NewProducer();
  service_.Accept();
  service_.AnswerBind(true, kNumProducerMethods);
  service_.WaitForCall(ProducerMethod::kInitializeConnection);
  service_.Answer(false);
  ExpectOff(producer.get(), OffReason::kRefused);
}

TEST_F(StrangeServiceTest, ThatGivesNoCommands) {
  const auto producer = NewProducer();
  service_.Welcome();
  service_.Answer(false);
  ExpectOff(producer.get(), OffReason::kConnectionLost);
}

TEST_F(StrangeServiceTest, ThatHasFewMethods) {
  const auto producer = NewProducer();
  service_.Accept();
  service_.AnswerBind(true, 1);
  service_.WaitForCall(ProducerMethod::kInitializeConnection);
  service_.Answer(true);
  WaitUntilConnected(*producer);
  // The producer does not call methods that the service lacks.
  EXPECT_FALSE(producer->Sync(0));
  producer->ActivateTrigger("trigger");
  producer->UnregisterDataSource(source_);
}

TEST_F(StrangeServiceTest, CommandsThatMakeNoSenseAreIgnored) {
  const auto producer = NewProducer();
  service_.Welcome();
  // These come before there is memory, or name something that does not exist.
  service_.TellSetup(1, kSourceName);
  service_.TellStart(1);
  service_.TellStop(77);
  service_.TellFlush(77);
  service_.TellMemory(memory_->fd());
  service_.TellSetup(2, "other");
  service_.TellStart(2);
  service_.Tell([](Command* command) {
    command->set_clear_incremental_state()->add_data_source_ids(77);
  });
  service_.Tell([](Command*) {});
  service_.Tell([](Command* command) {
    // This config is cut off.
    command->AppendBytes(Command::kSetupDataSourceFieldNumber,
                         "\x08\x05\x12\x09", 4);
  });
  service_.peer()->SendBytes(RawClient::Framed("\xff\xff\xff"));
  service_.Send([](pb::IPCFrame* frame) {
    frame->set_request_id(1);
    frame->set_msg_request_error()->set_error("no");
  });
  // This answers a request that was not made, and says that it failed.
  service_.Send([](pb::IPCFrame* frame) {
    frame->set_request_id(99999);
    frame->set_msg_invoke_method_reply();
  });
  service_.TellFlush(2);
  EXPECT_EQ(source_->setups, 0);
  EXPECT_EQ(source_->starts, 0);
  EXPECT_EQ(producer->state(), Producer::State::kConnected);

  // Commands that make sense are obeyed, once.
  for (int i = 0; i < 2; ++i)
    service_.TellSetup(3, kSourceName);
  for (int i = 0; i < 2; ++i)
    service_.TellStart(3);
  service_.TellFlush(3);
  EXPECT_EQ(source_->setups, 1);
  EXPECT_EQ(source_->starts, 1);
  EXPECT_TRUE(source_->is_enabled());
  for (int i = 0; i < 2; ++i)
    service_.TellStop(3);
  service_.TellFlush(3);
  EXPECT_EQ(source_->stops, 1);
  EXPECT_FALSE(source_->is_enabled());
}

TEST_F(StrangeServiceTest, StartThatComesTooLateIsIgnored) {
  const auto producer = NewProducer();
  service_.Welcome();
  service_.TellMemory(memory_->fd());
  service_.TellSetup(1, kSourceName);
  service_.TellFlush(1);
  producer->UnregisterDataSource(source_);
  // The second time does nothing.
  producer->UnregisterDataSource(source_);
  service_.TellStart(1);
  service_.TellFlush(1);
  EXPECT_EQ(source_->starts, 0);
  EXPECT_FALSE(source_->is_enabled());
}

TEST_F(StrangeServiceTest, MemoryWithoutADescriptor) {
  const auto producer = NewProducer();
  service_.Welcome();
  service_.TellMemory(-1);
  ExpectOff(producer.get(), OffReason::kNoDescriptors);
}

TEST_F(StrangeServiceTest, MemoryThatIsNone) {
  const auto producer = NewProducer();
  service_.Welcome();
  const ScopedFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  service_.TellMemory(null.get());
  ExpectOff(producer.get(), OffReason::kNoSharedMemory);
}

TEST_F(StrangeServiceTest, MemoryInPagesOfAnImpossibleSize) {
  for (const uint32_t page_size_kb : {0u, 3u, 128u, UINT32_MAX}) {
    const auto producer = NewProducer();
    service_.Welcome();
    service_.TellMemory(memory_->fd(), page_size_kb);
    ExpectOff(producer.get(), OffReason::kNoSharedMemory);
    producer->UnregisterDataSource(source_);
  }
}

TEST_F(StrangeServiceTest, MemorySmallerThanItsPages) {
  const auto producer = NewProducer();
  service_.Welcome();
  const auto memory = SharedMemoryFile::Create(4096);
  service_.TellMemory(memory->fd(), 32);
  ExpectOff(producer.get(), OffReason::kNoSharedMemory);
}

TEST_F(StrangeServiceTest, FlightFileThatIsNone) {
  const std::function<void(FlightHeader*)> changes[] = {
      [](FlightHeader* header) { ++header->version; },
      [](FlightHeader* header) { header->page_size = 4095; },
      [](FlightHeader* header) { header->num_pages = 0; },
      [](FlightHeader* header) { ++header->num_pages; },
      [](FlightHeader* header) { header->num_pages = UINT32_MAX; }};
  for (const auto& change : changes) {
    change(WriteFlightHeader());
    const auto producer = NewProducer();
    service_.Welcome();
    service_.TellFlightFile(memory_->fd());
    ExpectOff(producer.get(), OffReason::kNoSharedMemory);
    producer->UnregisterDataSource(source_);
  }
  const auto producer = NewProducer();
  service_.Welcome();
  const ScopedFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  service_.TellFlightFile(null.get());
  ExpectOff(producer.get(), OffReason::kNoSharedMemory);
}

TEST_F(StrangeServiceTest, FlightRecorderGoesOnWithoutIt) {
  Producer producer(Options());
  producer.RegisterDataSource(source_);
  const FlightHeader* const header = BeginFlight();
  service_.StopListening();
  service_.Close();
  EXPECT_TRUE(WaitFor(
      [&] { return producer.state() == Producer::State::kConnecting; }));
  EXPECT_TRUE(source_->is_enabled());
  EXPECT_EQ(header->ring.next_step.load(), 0u);
  WritePackets(std::make_unique<DataSourceWriters>(source_).get(), 0, 0, 10);
  EXPECT_NE(header->ring.next_step.load(), 0u);
  EXPECT_EQ(source_->stops, 0);
  producer.UnregisterDataSource(source_);
  EXPECT_FALSE(source_->is_enabled());
}

TEST_F(StrangeServiceTest, FlightRecorderEndsWithTheNextOne) {
  Producer producer(Options());
  producer.RegisterDataSource(source_);
  BeginFlight();
  service_.Close();
  service_.Welcome();
  EXPECT_TRUE(WaitFor([&] { return source_->stops == 1; }));
  EXPECT_FALSE(source_->is_enabled());
}

TEST_F(StrangeServiceTest, FlightRecorderEndsWithItsProducer) {
  auto producer = std::make_unique<Producer>(Options());
  producer->RegisterDataSource(source_);
  BeginFlight();
  service_.StopListening();
  service_.Close();
  EXPECT_TRUE(WaitFor(
      [&] { return producer->state() == Producer::State::kConnecting; }));
  producer.reset();
  EXPECT_EQ(source_->stops, 1);
  EXPECT_FALSE(source_->is_enabled());
}

TEST_F(StrangeServiceTest, SecondMemoryEndsTheConnection) {
  const auto producer = NewProducer();
  service_.Welcome();
  service_.TellMemory(memory_->fd());
  service_.TellMemory(memory_->fd());
  ExpectOff(producer.get(), OffReason::kConnectionLost);
}

TEST_F(StrangeServiceTest, FrameThatIsTooLongEndsTheConnection) {
  const auto producer = NewProducer();
  service_.Welcome();
  service_.peer()->SendBytes("\xff\xff\xff\x7f");
  ExpectOff(producer.get(), OffReason::kConnectionLost);
}

TEST_F(StrangeServiceTest, ThatReadsLate) {
  const auto producer = NewProducer();
  service_.Welcome();
  WaitUntilConnected(*producer);
  // These are more bytes than a socket takes. They are queued, and arrive.
  constexpr int kTriggers = 2000;
  for (int i = 0; i < kTriggers; ++i)
    producer->ActivateTrigger(std::string(1000, 't'));
  for (int i = 0; i < kTriggers; ++i) {
    const std::string args =
        service_.WaitForCall(ProducerMethod::kActivateTriggers);
    ASSERT_EQ(args.size(), 1003u) << i;
  }
  EXPECT_EQ(producer->state(), Producer::State::kConnected);
}

TEST_F(StrangeServiceTest, ThatNeverReads) {
  const auto producer = NewProducer();
  service_.Welcome();
  // So much is queued here that the connection ends.
  EXPECT_TRUE(WaitFor([&] {
    producer->ActivateTrigger(std::string(100000, 't'));
    return producer->state() == Producer::State::kDisconnected;
  }));
  ExpectOff(producer.get(), OffReason::kConnectionLost);
}

TEST_F(StrangeServiceTest, ThatReadsTheGoodbye) {
  auto producer = NewProducer();
  service_.Welcome();
  WaitUntilConnected(*producer);
  constexpr int kTriggers = 1000;
  for (int i = 0; i < kTriggers; ++i)
    producer->ActivateTrigger(std::string(1000, 't'));
  std::thread reader([&] {
    for (int i = 0; i < kTriggers; ++i)
      EXPECT_EQ(service_.WaitForCall(ProducerMethod::kActivateTriggers).size(),
                1003u);
  });
  // The destructor waits until the queue is sent.
  producer.reset();
  reader.join();
}

}  // namespace
}  // namespace protozero::test
