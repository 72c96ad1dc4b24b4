// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests a ServiceHost with neighbours that are a nuisance, and a victim beside
// them: how much one client gets done in a turn, and how many have a place. The
// turns are taken one by one, and the service's time stands still unless a test
// says otherwise.

#include "protozero/tracing/service_host.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "test/testing/failing_calls.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/raw_client.h"

namespace protozero::test {
namespace {

namespace pb = tracing::pbzero;

// The same limits as in service_host.cc.
constexpr size_t kAcceptsPerTurn = 16;
constexpr size_t kFramesPerTurn = 256;
constexpr size_t kMinTurnBytes = 4096;

// Returns a frame that asks only for an answer.
std::string SyncFrame() {
  HeapBuffered<pb::IPCFrame> frame;
  frame->set_request_id(5);
  auto* const invoke = frame->set_msg_invoke_method();
  invoke->set_service_id(1);
  invoke->set_method_id(kSync);
  return RawClient::Framed(frame.SerializeAsString());
}

std::string SyncFrames(size_t count) {
  std::string frames;
  for (size_t i = 0; i < count; ++i)
    frames += SyncFrame();
  return frames;
}

// Connections of another process that send nothing.
class OtherProcess {
 public:
  OtherProcess(const std::string& socket, size_t num_connections, uid_t uid) {
    int ready[2];
    int asked[2];
    EXPECT_EQ(pipe(ready), 0);
    EXPECT_EQ(pipe(asked), 0);
    pid_ = fork();
    if (pid_ == 0) {
      // With the host's descriptors, it would keep what the host closes open.
      for (int fd = STDERR_FILENO + 1; fd < 1024; ++fd) {
        if (fd != ready[1] && fd != asked[0])
          close(fd);
      }
      std::vector<ScopedFd> connections;
      std::string error;
      if (uid != getuid() && setuid(uid) != 0)
        _exit(1);
      for (size_t i = 0; i < num_connections; ++i)
        connections.push_back(ConnectToUnixSocket(socket, &error));
      const bool ok = connections.back().is_valid();
      char answer = ok ? 'y' : 'n';
      char question;
      while (write(ready[1], &answer, 1) == 1 &&
             read(asked[0], &question, 1) == 1) {
        answer = 0;
        for (const ScopedFd& connection : connections) {
          pollfd fd{connection.get(), 0, 0};
          answer = static_cast<char>(answer + (poll(&fd, 1, 0) == 0));
        }
      }
      _exit(1);
    }
    close(ready[1]);
    close(asked[0]);
    answers_.Reset(ready[0]);
    questions_.Reset(asked[1]);
    EXPECT_EQ(ReadAnswer(), 'y');
  }
  ~OtherProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  // Returns how many of its connections the host has not closed.
  int NumPlaces() const {
    EXPECT_EQ(write(questions_.get(), "?", 1), 1);
    return ReadAnswer();
  }

 private:
  char ReadAnswer() const {
    char answer = 'n';
    EXPECT_EQ(read(answers_.get(), &answer, 1), 1);
    return answer;
  }

  pid_t pid_;
  ScopedFd questions_;
  ScopedFd answers_;
};

class ServiceHostTest : public IpcTest {
 protected:
  ServiceHostTest() : service_([this] { return now_; }) {
    options_.socket = socket();
  }
  void Listen() {
    host_ = std::make_unique<ServiceHost>(&service_, options_);
    std::string error;
    ASSERT_TRUE(host_->Listen(&error)) << error;
  }
  void Turn() { host_->RunOnce(0); }
  // Takes so many turns that nothing is left to be done.
  void Turns() {
    for (int i = 0; i < 200; ++i)
      Turn();
  }
  // Returns a client that is connected and has introduced itself.
  std::unique_ptr<RawClient> Connect() {
    auto client = std::make_unique<RawClient>(socket());
    client->Bind();
    client->Initialize();
    for (size_t received = 0; received < 2;) {
      Turn();
      received += client->CountReceived();
    }
    return client;
  }
  // Returns connections that send nothing.
  std::vector<ScopedFd> HalfOpen(size_t count) {
    std::vector<ScopedFd> connections;
    std::string error;
    for (size_t i = 0; i < count; ++i) {
      connections.push_back(ConnectToUnixSocket(socket(), &error));
      EXPECT_TRUE(connections.back().is_valid()) << error;
    }
    return connections;
  }

  uint64_t now_ = 1000;
  ServiceHost::Options options_;
  TracingService service_;
  std::unique_ptr<ServiceHost> host_;
};

TEST_F(ServiceHostTest, NewcomersWaitForTheirTurn) {
  options_.max_connections_per_process = 1000;
  Listen();
  const auto victim = Connect();
  const std::vector<ScopedFd> others = HalfOpen(200);
  for (size_t turn = 1; turn <= 10; ++turn) {
    victim->SendBytes(SyncFrame());
    Turn();
    EXPECT_EQ(victim->CountReceived(), 1u);
    EXPECT_EQ(host_->num_connections(), 1 + kAcceptsPerTurn * turn);
  }
  Turns();
  EXPECT_EQ(host_->num_connections(), 201u);
}

TEST_F(ServiceHostTest, ConnectingInALoopStarvesNobody) {
  Listen();
  const auto victim = Connect();
  for (int turn = 0; turn < 50; ++turn) {
    HalfOpen(80);
    victim->SendBytes(SyncFrame());
    Turn();
    EXPECT_EQ(victim->CountReceived(), 1u);
    EXPECT_LE(host_->num_connections(), 1 + kAcceptsPerTurn);
  }
  // After these turns, 4000 connections have come and gone.
  for (int turn = 0; turn < 400; ++turn)
    Turn();
  EXPECT_EQ(host_->num_connections(), 1u);
}

TEST_F(ServiceHostTest, FloodIsServedInShares) {
  Listen();
  const auto flooder = Connect();
  const auto victim = Connect();
  // After this frame, the host receives more than a turn's share at a time.
  flooder->SendBytes(
      RawClient::Framed(std::string(kMaxFramePayloadSize / 2, '\xff')));
  Turns();
  constexpr size_t kFrames = 3000;
  flooder->SendBytes(SyncFrames(kFrames));
  size_t answers = 0;
  size_t turns = 0;
  while (answers < kFrames) {
    ++turns;
    victim->SendBytes(SyncFrame());
    host_->RunOnce(UINT32_MAX);
    EXPECT_EQ(victim->CountReceived(), 1u);
    const size_t more = flooder->CountReceived();
    // Both clients belong to one process.
    EXPECT_LE(more, kFramesPerTurn / 2);
    answers += more;
  }
  EXPECT_EQ(answers, kFrames);
  EXPECT_LE(turns, kFrames / (kFramesPerTurn / 2) + 1);

  // The host does the rest even if nothing happens.
  flooder->SendBytes(SyncFrames(kFrames));
  for (answers = 0; answers < kFrames;) {
    host_->RunOnce(UINT32_MAX);
    answers += flooder->CountReceived();
  }
}

TEST_F(ServiceHostTest, ConnectionsOfAProcessHaveOneShare) {
  Listen();
  std::vector<std::unique_ptr<RawClient>> flooders;
  for (int i = 0; i < 8; ++i)
    flooders.push_back(Connect());
  for (const auto& flooder : flooders)
    flooder->SendBytes(SyncFrames(100));
  for (size_t answers = 0; answers < 800;) {
    size_t of_turn = 0;
    host_->RunOnce(UINT32_MAX);
    for (const auto& flooder : flooders) {
      const size_t of_one = flooder->CountReceived();
      EXPECT_LE(of_one, kFramesPerTurn / 8);
      of_turn += of_one;
    }
    EXPECT_LE(of_turn, kFramesPerTurn);
    answers += of_turn;
  }
}

TEST_F(ServiceHostTest, WhatIsSentBeforeTheEndIsRead) {
  Listen();
  TraceConfig config;
  config.buffers.push_back({1 << 20, BufferFillPolicy::kDiscard});
  const TracingSessionID session =
      service_.StartTracing(config, nullptr, nullptr);
  const auto producers = [&] {
    return service_.GetStats(session).producers_seen;
  };
  auto client = std::make_unique<RawClient>(socket());
  client->SendBytes(SyncFrames(2 * kFramesPerTurn));
  client->Bind();
  client->Initialize();
  client.reset();
  Turns();
  EXPECT_EQ(producers(), 1u);
  EXPECT_EQ(host_->num_connections(), 0u);
}

TEST_F(ServiceHostTest, CopyingChunksIsPaidForWithTurns) {
  options_.max_connections_per_process = 64;
  Listen();
  TraceConfig config;
  config.buffers.push_back({1 << 20, BufferFillPolicy::kRingBuffer});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = kSourceName;
  ASSERT_NE(service_.StartTracing(config, nullptr, nullptr), 0u);
  constexpr size_t kPages = 32;
  constexpr size_t kPageSize = 4096;
  const auto memory = SharedMemoryFile::Create(kPages * kPageSize);
  RawClient client(socket());
  client.Bind();
  client.Initialize(/*own_memory=*/true, memory->fd());
  client.Invoke(3, kGetAsyncCommand);
  RegisterSource(&client, 4);
  Turns();
  EXPECT_EQ(client.ReceiveTexts(6).back(), "4 yes");
  // These are so many that each has the smallest share.
  const std::vector<ScopedFd> others = HalfOpen(63);
  Turns();
  ASSERT_EQ(host_->num_connections(), 64u);

  const SharedMemoryABI abi(memory->start(), memory->size(), kPageSize);
  for (size_t page = 0; page < kPages; ++page) {
    abi.TryPartitionPage(page, SharedMemoryABI::kPageDiv1);
    const SharedMemoryABI::Chunk chunk =
        abi.TryAcquireChunkForWriting(page, SharedMemoryABI::kPageDiv1);
    ASSERT_TRUE(chunk.is_valid());
    SharedMemoryABI::InitChunkForWriting(chunk, 1, static_cast<ChunkID>(page),
                                         0);
    abi.ReleaseChunkAsComplete(chunk);
  }
  client.Invoke<pb::CommitDataRequest>(
      5, kCommit, [&](pb::CommitDataRequest* request) {
        for (uint32_t page = 0; page < kPages; ++page) {
          auto* const move = request->add_chunks_to_move();
          move->set_page(page);
          move->set_target_buffer(client.target_buffer());
        }
      });
  client.SendBytes(SyncFrame());
  size_t turns = 0;
  for (size_t answers = 0; answers < 2; ++turns) {
    host_->RunOnce(UINT32_MAX);
    answers += client.CountReceived();
  }
  EXPECT_GE(turns, kPages * (kPageSize - 64) / kMinTurnBytes - 1);
}

TEST_F(ServiceHostTest, WhoDoesNotSayWhoItIsIsDisconnected) {
  Listen();
  const auto client = Connect();
  RawClient binds_only(socket());
  binds_only.Bind();
  const std::vector<ScopedFd> others = HalfOpen(3);
  Turns();
  EXPECT_EQ(binds_only.CountReceived(), 1u);
  EXPECT_EQ(host_->num_connections(), 5u);
  now_ += options_.introduction_timeout_ms - 1;
  Turns();
  EXPECT_EQ(host_->num_connections(), 5u);
  ++now_;
  // The host itself knows that it is time.
  host_->RunOnce(UINT32_MAX);
  EXPECT_EQ(host_->num_connections(), 1u);
  EXPECT_TRUE(binds_only.IsClosed());
  now_ += 10 * options_.introduction_timeout_ms;
  Turns();
  client->SendBytes(SyncFrame());
  Turns();
  EXPECT_EQ(client->CountReceived(), 1u);
}

TEST_F(ServiceHostTest, ProcessHasSoManyPlaces) {
  Listen();
  const auto client = Connect();
  const std::vector<ScopedFd> others = HalfOpen(1100);
  Turns();
  EXPECT_EQ(host_->num_connections(), options_.max_connections_per_process);
  // The connections beyond the limit were closed, not kept waiting.
  const OtherProcess other(socket(), 1, getuid());
  Turns();
  EXPECT_EQ(host_->num_connections(), options_.max_connections_per_process + 1);
}

TEST_F(ServiceHostTest, ProcessWithManyPlacesMakesRoom) {
  options_.max_connections = 10;
  options_.max_connections_per_user = 8;
  options_.max_connections_per_process = 6;
  Listen();
  const auto victim = Connect();
  const OtherProcess greedy(socket(), 6, getuid());
  Turns();
  EXPECT_EQ(host_->num_connections(), 7u);
  std::list<OtherProcess> others;
  for (int i = 0; i < 6; ++i) {
    others.emplace_back(socket(), 1, getuid());
    Turns();
    EXPECT_EQ(host_->num_connections(), 8u);
    // The newcomer has the place of one that had many.
    EXPECT_EQ(others.back().NumPlaces(), 1);
    EXPECT_EQ(greedy.NumPlaces(), 6 - i);
    victim->SendBytes(SyncFrame());
    Turns();
    EXPECT_EQ(victim->CountReceived(), 1u);
  }
  // Now eight processes have a place each, and no more.
  for (const OtherProcess& other : others)
    EXPECT_EQ(other.NumPlaces(), 1);
  others.emplace_back(socket(), 1, getuid());
  Turns();
  EXPECT_EQ(host_->num_connections(), 8u);
  EXPECT_EQ(others.back().NumPlaces(), 0);
  victim->SendBytes(SyncFrame());
  Turns();
  EXPECT_EQ(victim->CountReceived(), 1u);
}

TEST_F(ServiceHostTest, UserWithManyPlacesMakesRoom) {
  if (getuid() != 0)
    GTEST_SKIP() << "only root can become other users";
  options_.max_connections = 10;
  options_.max_connections_per_user = 8;
  Listen();
  // Any user may connect.
  const std::string folder = socket().substr(0, socket().rfind('/'));
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  ASSERT_EQ(chmod(socket().c_str(), 0777), 0);
  const auto victim = Connect();
  std::list<OtherProcess> greedy;
  for (int i = 0; i < 12; ++i) {
    greedy.emplace_back(socket(), 1, 65534);
    Turns();
  }
  EXPECT_EQ(host_->num_connections(), 9u);
  // Both get a place, one of them the place of another user's process.
  const auto second = Connect();
  const auto third = Connect();
  EXPECT_EQ(host_->num_connections(), 10u);
  for (const auto* client : {&victim, &second, &third}) {
    (*client)->SendBytes(SyncFrame());
    Turns();
    EXPECT_EQ((*client)->CountReceived(), 1u);
  }
  // A process of the other user does not get the place of one of these.
  const OtherProcess late(socket(), 1, 65534);
  Turns();
  EXPECT_EQ(host_->num_connections(), 10u);
  EXPECT_FALSE(third->IsClosed());
}

// Makes it impossible to open a file in its scope.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    // The limit is the number of open descriptors: poll() does not take more
    // than the limit.
    const int next = dup(0);
    close(next);
    const rlimit none{static_cast<rlim_t>(next), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_;
};

TEST_F(ServiceHostTest, WithoutDescriptorsItRests) {
  Listen();
  const auto victim = Connect();
  const std::vector<ScopedFd> others = HalfOpen(1);
  victim->SendBytes(SyncFrame());
  {
    const NoDescriptors limit;
    Turn();
    EXPECT_EQ(host_->accept_error(), EMFILE);
  }
  EXPECT_EQ(victim->CountReceived(), 1u);
  // The host does not look again before it is time, whatever else there is to
  // do.
  for (int turn = 0; turn < 10; ++turn) {
    victim->SendBytes(SyncFrame());
    host_->RunOnce(UINT32_MAX);
    EXPECT_EQ(victim->CountReceived(), 1u);
    EXPECT_EQ(host_->num_connections(), 1u);
  }
  now_ += 100;
  host_->RunOnce(UINT32_MAX);
  EXPECT_EQ(host_->num_connections(), 2u);
  EXPECT_EQ(host_->accept_error(), 0);
}

TEST_F(ServiceHostTest, WithoutMemoryToPollItRests) {
  Listen();
  const auto client = Connect();
  client->SendBytes(SyncFrame());
  const auto rests = [] {
    rusage usage;
    EXPECT_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
  };
  {
    const CallsFail poll_fails("poll", ENOMEM);
    const long at_first = rests();
    for (int turn = 0; turn < 3; ++turn)
      host_->RunOnce(UINT32_MAX);
    EXPECT_GE(rests(), at_first + 3);
  }
  Turn();
  EXPECT_EQ(client->CountReceived(), 1u);
}

TEST_F(ServiceHostTest, WithoutDescriptorsProcessWithManyPlacesMakesRoom) {
  Listen();
  TraceConfig config;
  config.buffers.push_back({1 << 20, BufferFillPolicy::kRingBuffer});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = kSourceName;
  ASSERT_NE(service_.StartTracing(config, nullptr, nullptr), 0u);
  const auto connect = [this] {
    auto client = std::make_unique<RawClient>(socket());
    client->Bind();
    client->Initialize();
    client->Invoke(3, kGetAsyncCommand);
    RegisterSource(client.get(), 4);
    return client;
  };
  const std::vector<std::string> is_recorded = {"1 bound yes 12",
                                                "2 yes",
                                                "3 yes command setup_tracing 4",
                                                "3 yes command setup",
                                                "3 yes command start",
                                                "4 yes"};
  const auto victim = connect();
  Turns();
  EXPECT_EQ(victim->ReceiveTexts(6), is_recorded);
  const OtherProcess greedy(socket(), 6, getuid());
  Turns();
  EXPECT_EQ(host_->num_connections(), 7u);

  const auto second = connect();
  const auto third = connect();
  {
    const NoDescriptors limit;
    Turns();
    EXPECT_EQ(host_->accept_error(), 0);
  }
  EXPECT_EQ(host_->num_connections(), 7u);
  EXPECT_EQ(host_->num_refused(), 2u);
  // There was a descriptor for their memory, too.
  EXPECT_EQ(second->ReceiveTexts(6), is_recorded);
  EXPECT_TRUE(second->TakeFd().is_valid());
  EXPECT_EQ(third->ReceiveTexts(6), is_recorded);

  // The greedy process has four places, this one three. Another connection of
  // this one would make it as greedy, and is sent away.
  const auto fourth = connect();
  {
    const NoDescriptors limit;
    Turns();
  }
  EXPECT_EQ(host_->num_connections(), 7u);
  EXPECT_EQ(fourth->Receive(), "");
  victim->SendBytes(SyncFrame());
  Turns();
  EXPECT_EQ(victim->CountReceived(), 1u);
}

}  // namespace
}  // namespace protozero::test
