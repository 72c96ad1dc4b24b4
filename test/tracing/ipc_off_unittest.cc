// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests producers that cannot trace: the reason they give, and that they do no
// harm.

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/unix_socket.h"
#include "test/testing/failing_calls.h"
#include "test/tracing/ipc_testing.h"

namespace protozero::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using OffReason = Producer::OffReason;

std::shared_ptr<DataSource> NewSource() {
  return std::make_shared<DataSource>(DataSourceDescriptor{kSourceName});
}

class IpcOffTest : public IpcTest {
 public:
  // Returns options of a producer that does not try again.
  Producer::Options OnceOptions() const {
    Producer::Options options = Options();
    options.max_reconnect_pause_ms = 0;
    return options;
  }
  // Expects that such a producer has given up, for this reason.
  static void ExpectOff(Producer* producer,
                        OffReason reason,
                        const std::string& why) {
    EXPECT_FALSE(producer->Sync(kTimeoutMs));
    EXPECT_EQ(producer->state(), Producer::State::kDisconnected);
    EXPECT_EQ(producer->off_reason(), reason);
    EXPECT_THAT(producer->why_off(), HasSubstr(why));
  }
  // Acts as a service that ends the producer's connection at once, so many
  // times.
  void Refuse(int listening_fd, int times) const {
    for (int i = 0; i < times; ++i)
      EXPECT_TRUE(
          WaitFor([&] { return AcceptConnection(listening_fd).is_valid(); }));
  }
};

TEST_F(IpcOffTest, NobodyIsThere) {
  Producer producer(OnceOptions());
  ExpectOff(&producer, OffReason::kNoService,
            "cannot connect to " + socket() + ": No such file or directory");
}

TEST_F(IpcOffTest, SyncTriesOnceAndDoesNotWait) {
  Producer producer(Options());
  // It does not wait for a time limit: this returns before a second has passed.
  EXPECT_FALSE(producer.Sync(UINT32_MAX));
  EXPECT_THAT(producer.why_off(), HasSubstr(socket()));
  // With a service, it does not wait for the end of the pause, either.
  HostThread host(socket());
  EXPECT_TRUE(producer.Sync(UINT32_MAX)) << producer.why_off();
}

TEST_F(IpcOffTest, ServiceDoesNotAnswerInTime) {
  HostThread host(socket());
  Producer producer(Options());
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  // This allows no time at all. The answer may come before the reason is read.
  EXPECT_TRUE(
      WaitFor([&] { return !producer.Sync(0) && producer.why_off() != ""; }));
  EXPECT_TRUE(WaitFor([&] { return producer.why_off().empty(); }));
}

TEST_F(IpcOffTest, AddressIsTooLong) {
  Producer::Options options = OnceOptions();
  options.socket = std::string(200, 'x');
  Producer producer(options);
  ExpectOff(&producer, OffReason::kNoService, "File name too long");
}

TEST_F(IpcOffTest, ServiceRefuses) {
  std::string error;
  const ScopedFd listening = ListenOnUnixSocket(socket(), &error);
  ASSERT_TRUE(listening.is_valid()) << error;
  Producer producer(OnceOptions());
  Refuse(listening.get(), 1);
  ExpectOff(&producer, OffReason::kRefused,
            "the service at " + socket() + " has refused");
}

TEST_F(IpcOffTest, ServiceGoesAndComesBack) {
  std::optional<HostThread> host(socket());
  Producer producer(Options());
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  EXPECT_EQ(producer.off_reason(), OffReason::kNone);
  EXPECT_EQ(producer.why_off(), "");
  host.reset();
  // Before that, the reason is kConnectionLost.
  EXPECT_TRUE(
      WaitFor([&] { return producer.off_reason() == OffReason::kNoService; }));
  EXPECT_THAT(producer.why_off(), StartsWith("cannot connect to"));
  host.emplace(socket());
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  EXPECT_EQ(producer.off_reason(), OffReason::kNone);
}

TEST_F(IpcOffTest, ConnectionIsLostForGood) {
  std::optional<HostThread> host(socket());
  Producer producer(OnceOptions());
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  host.reset();
  EXPECT_TRUE(WaitFor(
      [&] { return producer.state() == Producer::State::kDisconnected; }));
  ExpectOff(&producer, OffReason::kConnectionLost, socket() + " is lost");
}

TEST_F(IpcOffTest, ServiceHasNoMemory) {
  for (const bool session_is_first : {true, false}) {
    HostThread host(socket());
    TracingSessionID session = 0;
    const auto source = NewSource();
    std::optional<Producer> producer;
    {
      const CallsFail fail("memfd_create", ENOSYS);
      if (session_is_first)
        session = host.Start();
      producer.emplace(Options());
      producer->RegisterDataSource(source);
      if (!session_is_first) {
        // No session wants the data source yet.
        EXPECT_TRUE(producer->Sync(kTimeoutMs));
        session = host.Start();
      }
      EXPECT_FALSE(producer->Sync(kTimeoutMs));
      EXPECT_EQ(producer->state(), Producer::State::kConnected);
      EXPECT_EQ(producer->off_reason(), OffReason::kNoSharedMemory);
      EXPECT_EQ(producer->why_off(),
                "no shared memory for traces: the service cannot create it: "
                "memfd_create of 131072 bytes: Function not implemented");
      EXPECT_FALSE(source->is_enabled());
    }
    // The next session gets shared memory.
    const TracingSessionID next = host.Start();
    EXPECT_TRUE(producer->Sync(kTimeoutMs));
    EXPECT_EQ(producer->why_off(), "");
    DataSourceWriters writers(source);
    WritePackets(&writers, 1, 0, 10);
    EXPECT_EQ(Received(host.StopAndRead(next)), (Streams{{1, 10}}));
    EXPECT_EQ(Received(host.StopAndRead(session)), Streams());
  }
}

TEST_F(IpcOffTest, MemoryCanNotBeMapped) {
  HostThread host(socket());
  host.Start();
  const auto source = NewSource();
  // The service maps the memory, too.
  {
    const CallsFail fail("fstat", ENOMEM);
    Producer producer(OnceOptions());
    producer.RegisterDataSource(source);
    EXPECT_TRUE(WaitFor(
        [&] { return producer.state() == Producer::State::kDisconnected; }));
    ExpectOff(&producer, OffReason::kNoSharedMemory, "Cannot allocate memory");
    EXPECT_FALSE(source->is_enabled());
  }
  // The producer tries again.
  Producer producer(Options());
  {
    const CallsFail fail("fstat", ENOMEM);
    producer.RegisterDataSource(source);
    EXPECT_TRUE(WaitFor([&] { return producer.num_connections() > 2; }));
    EXPECT_EQ(producer.off_reason(), OffReason::kNoSharedMemory);
  }
  EXPECT_TRUE(WaitFor([&] { return producer.Sync(kTimeoutMs); }));
  EXPECT_EQ(producer.why_off(), "");
}

TEST_F(IpcOffTest, NoDescriptors) {
  HostThread host(socket());
  const CallsFail fail("socket", EMFILE);
  Producer producer(OnceOptions());
  ExpectOff(&producer, OffReason::kNoDescriptors, "Too many open files");
}

TEST_F(IpcOffTest, DescriptorsComeBack) {
  HostThread host(socket());
  std::optional<Producer> producer;
  {
    const CallsFail fail("socketpair", EMFILE);
    producer.emplace(Options());
    EXPECT_TRUE(WaitFor(
        [&] { return producer->off_reason() == OffReason::kNoDescriptors; }));
    // The thread has no descriptor that could wake it, but it can be ended.
    Producer other(Options());
  }
  EXPECT_TRUE(producer->Sync(kTimeoutMs));
  EXPECT_EQ(producer->why_off(), "");
}

TEST_F(IpcOffTest, NoThread) {
  HostThread host(socket());
  std::optional<Producer> producer;
  {
    const CallsFail fail("pthread_create", EAGAIN);
    producer.emplace(Options());
  }
  ExpectOff(&*producer, OffReason::kNoThread, "cannot start a thread: ");
  const auto source = NewSource();
  EXPECT_TRUE(producer->RegisterDataSource(source));
  producer->ActivateTrigger("trigger");
  producer->UnregisterDataSource(source);
  ExpectOff(&*producer, OffReason::kNoThread, "temporarily unavailable");
}

TEST_F(IpcOffTest, SocketVanishes) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = NewSource();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  DataSourceWriters writers(source);
  // The service finds some of these packets in the memory.
  uint32_t stream = 10;
  for (const char* call : {"sendmsg", "recvmsg", "poll"}) {
    const uint32_t connections = producer.num_connections();
    {
      const CallsFail fail(call, ENOMEM);
      WritePackets(&writers, stream++, 0, 100);
      writers.Flush();
      EXPECT_TRUE(
          WaitFor([&] { return producer.off_reason() != OffReason::kNone; }));
    }
    EXPECT_TRUE(WaitFor([&] {
      return producer.Sync(kTimeoutMs) &&
             producer.num_connections() > connections;
    })) << call;
  }
  WritePackets(&writers, 2, 0, 10);
  writers.Flush();
  EXPECT_EQ(Received(host.StopAndRead(session))[2], 10u);
}

TEST_F(IpcOffTest, BarrierIsForbiddenLater) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = NewSource();
  Producer::Options options = Options();
  options.idle_period_ms = 1;
  Producer producer(options);
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  DataSourceWriters writers(source);
  for (uint32_t index = 0; index < 50; ++index) {
    std::optional<CallsFail> fail;
    if (index % 2 != 0)
      fail.emplace("syscall", EPERM);
    WritePackets(&writers, 1, index, index + 1);
    // The flush takes the chunk, if it can be sure that no thread writes to it.
    EXPECT_TRUE(host.Flush(session));
  }
  EXPECT_EQ(producer.why_off(), "");
  EXPECT_EQ(writers.packets_lost(), 0u);
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{1, 50}}));
}

// A data source that can record one session at a time.
class PickyDataSource : public DataSource {
 public:
  PickyDataSource() : DataSource(DataSourceDescriptor{kSourceName}) {}

 private:
  void OnSetup(const DataSourceInstance& instance) override {
    if (is_busy_)
      Refuse(instance);
    is_busy_ = true;
  }
  bool is_busy_ = false;
};

TEST_F(IpcOffTest, ADataSourceRefusesASession) {
  HostThread host(socket());
  const auto source = std::make_shared<PickyDataSource>();
  Producer producer(Options());
  producer.RegisterDataSource(source);
  const TracingSessionID first = host.Start();
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  const TracingSessionID second = host.Start();
  EXPECT_FALSE(producer.Sync(kTimeoutMs));
  EXPECT_EQ(producer.off_reason(), OffReason::kTooManySessions);
  EXPECT_EQ(producer.why_off(), "too many sessions at a time");
  DataSourceWriters writers(source);
  WritePackets(&writers, 1, 0, 10);
  writers.Flush();
  EXPECT_EQ(Received(host.StopAndRead(second)), Streams());
  EXPECT_TRUE(producer.Sync(kTimeoutMs));
  EXPECT_EQ(producer.why_off(), "");
  EXPECT_EQ(Received(host.StopAndRead(first)), (Streams{{1, 10}}));
}

TEST_F(IpcOffTest, ChildProcess) {
  HostThread host(socket());
  Producer producer(Options());
  ASSERT_TRUE(producer.Sync(kTimeoutMs));
  const pid_t child = fork();
  if (child == 0) {
    ExpectOff(&producer, OffReason::kForked, "child process");
    _exit(HasFailure());
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(producer.why_off(), "");
}

}  // namespace
}  // namespace protozero::test
