// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests a producer that serves several recorders at once.

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/data_source_writers.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/ipc/user_folder.h"
#include "test/testing/open_descriptors.h"
#include "test/tracing/ipc_testing.h"

namespace protozero::test {
namespace {

using OffReason = Producer::OffReason;
using State = Producer::State;

constexpr size_t kMaxServices = 16;

class ProducerSessionsTest : public IpcTest {
 protected:
  ProducerSessionsTest() {
    const std::string base = socket().substr(0, socket().rfind('/'));
    setenv("XDG_RUNTIME_DIR", base.c_str(), 1);
    unsetenv("PERFETTO_PRODUCER_SOCK_NAME");
    std::string error;
    folder_ = UserFolder(&error);
  }
  ~ProducerSessionsTest() override {
    producer_.reset();
    ForEachFile(folder_, [this](const char* name) {
      unlink((folder_ + "/" + name).c_str());
    });
    rmdir(folder_.c_str());
    unsetenv("XDG_RUNTIME_DIR");
  }

  std::string Session(const std::string& name) const {
    return SessionSocket(folder_, name);
  }
  // Makes a producer that serves only recorders of this test.
  void StartProducer() {
    producer_.emplace(Producer::Options());
    producer_->RegisterDataSource(source_);
  }
  void Write(uint32_t stream, uint32_t number) {
    WritePackets(&writers_, stream, 0, number);
    writers_.Flush();
  }
  bool Syncs() { return producer_->Sync(kTimeoutMs); }

  std::string folder_;
  const std::shared_ptr<DataSource> source_ =
      std::make_shared<DataSource>(DataSourceDescriptor{kSourceName});
  DataSourceWriters writers_{source_};
  std::optional<Producer> producer_;
};

TEST_F(ProducerSessionsTest, EachRecorderGetsAllOfItsTime) {
  HostThread unnamed(RecorderSocket(folder_));
  const TracingSessionID of_unnamed = unnamed.Start();
  std::optional<HostThread> early(Session("early"));
  const TracingSessionID of_early = early->Start();
  StartProducer();
  ASSERT_TRUE(Syncs());
  EXPECT_EQ(producer_->num_connections(), 1u);
  Write(0, 10);
  // Sync() finds one that has come meanwhile.
  HostThread late(Session("late"));
  const TracingSessionID of_late = late.Start();
  ASSERT_TRUE(Syncs());
  Write(1, 20);
  EXPECT_EQ(Received(early->StopAndRead(of_early)),
            (Streams{{0, 10}, {1, 20}}));
  early.reset();
  Write(2, 10);
  EXPECT_EQ(Received(late.StopAndRead(of_late)), (Streams{{1, 20}, {2, 10}}));
  EXPECT_EQ(Received(unnamed.StopAndRead(of_unnamed)),
            (Streams{{0, 10}, {1, 20}, {2, 10}}));
  EXPECT_EQ(producer_->num_connections(), 1u);
  EXPECT_EQ(producer_->off_reason(), OffReason::kNone);
}

TEST_F(ProducerSessionsTest, OneWithANameIsEnough) {
  HostThread host(Session("only"));
  const TracingSessionID session = host.Start();
  StartProducer();
  ASSERT_TRUE(Syncs());
  EXPECT_EQ(producer_->state(), State::kConnected);
  EXPECT_EQ(producer_->why_off(), "");
  Write(0, 5);
  // A data source of one that is recorded begins and ends, too.
  const auto other =
      std::make_shared<DataSource>(DataSourceDescriptor{"test.other"});
  EXPECT_TRUE(producer_->RegisterDataSource(other));
  producer_->UnregisterDataSource(other);
  producer_->UnregisterDataSource(source_);
  EXPECT_FALSE(source_->is_enabled());
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{0, 5}}));
}

TEST_F(ProducerSessionsTest, OneThatDoesNotAnswerDelaysNoOther) {
  std::string error;
  const ScopedFd stopped = ListenOnUnixSocket(Session("stopped"), &error);
  ASSERT_TRUE(stopped.is_valid()) << error;
  HostThread host(Session("good"));
  const TracingSessionID session = host.Start();
  StartProducer();
  EXPECT_TRUE(WaitFor([&] { return source_->is_enabled(); }));
  Write(0, 7);
  // Others that are slow may be late, too.
  uint32_t timeout_ms = 1;
  EXPECT_TRUE(WaitFor([&] {
    EXPECT_FALSE(producer_->Sync(timeout_ms));
    timeout_ms *= 2;
    return producer_->why_off().find("stopped.session") != std::string::npos;
  }));
  EXPECT_EQ(producer_->off_reason(), OffReason::kTimedOut);
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{0, 7}}));
}

TEST_F(ProducerSessionsTest, SocketWithoutAProcessIsLeftAlone) {
  std::string error;
  // Its file stays.
  ListenOnUnixSocket(Session("killed"), &error).Reset();
  StartProducer();
  HostThread host(Session("good"));
  const TracingSessionID session = host.Start();
  ASSERT_TRUE(WaitFor([&] { return Syncs(); }));
  Write(0, 3);
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{0, 3}}));
  // Another one takes the name.
  HostThread next(Session("killed"));
  const TracingSessionID of_next = next.Start();
  EXPECT_TRUE(WaitFor([&] { return Syncs() && source_->is_enabled(); }));
  Write(1, 2);
  EXPECT_EQ(Received(next.StopAndRead(of_next)), (Streams{{1, 2}}));
}

// A service of this thread, which counts the programs that have no place for
// its session.
class CrowdedService : private TracingService::Consumer {
 public:
  explicit CrowdedService(const std::string& socket)
      : host_(&service_, OptionsOf(socket)) {
    std::string error;
    EXPECT_TRUE(host_.Listen(&error)) << error;
    TraceConfig config;
    config.buffers.push_back({1 << 20, BufferFillPolicy::kDiscard});
    config.data_sources.emplace_back();
    config.data_sources[0].config.name = kSourceName;
    EXPECT_NE(service_.StartTracing(config, this, &error), 0u) << error;
  }

  template <typename Condition>
  void RunUntil(Condition condition) {
    const uint64_t end = service_.NowMs() + kTimeoutMs;
    while (!condition() && service_.NowMs() < end)
      host_.RunOnce(10);
    EXPECT_TRUE(condition());
  }
  int number() const { return number_; }
  size_t num_connections() const { return host_.num_connections(); }

 private:
  static ServiceHost::Options OptionsOf(const std::string& socket) {
    ServiceHost::Options options;
    options.socket = socket;
    return options;
  }
  void OnProducerWithoutPlace(
      TracingSessionID,
      const TracingService::ProducerInfo& info) override {
    EXPECT_EQ(info.pid, getpid());
    ++number_;
  }

  int number_ = 0;
  TracingService service_;
  ServiceHost host_;
};

TEST_F(ProducerSessionsTest, OneWithoutAPlaceIsToldOnceAndGetsTheNext) {
  // One place is that of the service without a name.
  std::vector<std::unique_ptr<HostThread>> hosts;
  for (size_t i = 1; i < kMaxServices; ++i) {
    hosts.push_back(
        std::make_unique<HostThread>(Session("host" + std::to_string(i))));
  }
  StartProducer();
  ASSERT_TRUE(Syncs());
  for (const auto& host : hosts)
    host->WaitForProducers(1);
  CrowdedService late(Session("late"));
  late.RunUntil([&] { return late.number() == 1; });
  // Another look at the folder does not tell it again.
  EXPECT_TRUE(Syncs());
  late.RunUntil([&] { return late.num_connections() == 0; });
  EXPECT_EQ(late.number(), 1);
  EXPECT_FALSE(source_->is_enabled());
  hosts.pop_back();
  late.RunUntil([&] { return source_->is_enabled(); });
  EXPECT_EQ(late.number(), 1);
}

TEST_F(ProducerSessionsTest, ASessionThatADataSourceRefusesIsTold) {
  class RefusingSource : public DataSource {
   public:
    RefusingSource() : DataSource({kSourceName}) {}

   private:
    void OnSetup(const DataSourceInstance& instance) override {
      Refuse(instance);
    }
  };
  CrowdedService service(Session("refused"));
  producer_.emplace(Producer::Options());
  producer_->RegisterDataSource(std::make_shared<RefusingSource>());
  service.RunUntil([&] { return service.number() == 1; });
  EXPECT_EQ(producer_->off_reason(), OffReason::kTooManySessions);
}

TEST_F(ProducerSessionsTest, AForkedChildHasNone) {
  HostThread first(Session("first"));
  HostThread second(Session("second"));
  const TracingSessionID of_first = first.Start();
  const TracingSessionID of_second = second.Start();
  StartProducer();
  ASSERT_TRUE(Syncs());
  Write(0, 1);
  const pid_t child = fork();
  if (child == 0) {
    _exit(producer_->state() == State::kDisconnected &&
                  producer_->off_reason() == OffReason::kForked &&
                  !source_->is_enabled()
              ? 0
              : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Write(1, 3);
  EXPECT_EQ(Received(first.StopAndRead(of_first)), (Streams{{0, 1}, {1, 3}}));
  EXPECT_EQ(Received(second.StopAndRead(of_second)), (Streams{{0, 1}, {1, 3}}));
}

TEST_F(ProducerSessionsTest, RecordersThatComeAndGoLeaveNothing) {
  HostThread always(Session("always"));
  const TracingSessionID session = always.Start();
  StartProducer();
  ASSERT_TRUE(Syncs());
  always.WaitForProducers(1);
  const size_t before = CountOpenDescriptors();
  for (uint32_t i = 0; i < 200; ++i) {
    HostThread host(Session("next"));
    const TracingSessionID of_host = host.Start();
    ASSERT_TRUE(Syncs());
    Write(i, 1);
    if (i % 2 == 0) {
      EXPECT_EQ(Received(host.StopAndRead(of_host)), (Streams{{i, 1}}));
    }
  }
  EXPECT_TRUE(WaitFor([&] { return CountOpenDescriptors() == before; }));
  EXPECT_EQ(Received(always.StopAndRead(session)).size(), 200u);
}

}  // namespace
}  // namespace protozero::test
