// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests the questions to a recorder, and which recorders there are.

#include "src/pztrace/record/session_stats.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/pztrace/record/runtime_folder.h"
#include "src/pztrace/record/socket_server.h"
#include "src/tracing/ipc/unix_socket.h"

namespace pztrace {
namespace {

class SessionStatsTest : public testing::Test {
 protected:
  SessionStatsTest() {
    char path[] = "/tmp/pztrace_stats_XXXXXX";
    folder_ = mkdtemp(path);
  }
  ~SessionStatsTest() override { std::filesystem::remove_all(folder_); }

  bool Exists(const std::string& path) {
    struct stat status;
    return lstat(path.c_str(), &status) == 0;
  }
  std::vector<pid_t> Pids() const {
    std::vector<pid_t> pids;
    for (const Recorder& recorder : FindRecorders(folder_))
      pids.push_back(recorder.pid);
    return pids;
  }
  // Leaves a socket as a process that was killed does.
  void LeaveSocket(const std::string& path) {
    EXPECT_TRUE(protozero::ListenOnUnixSocket(path, &error_).is_valid());
  }

  std::string folder_;
  std::string error_;
  std::string bytes_;
};

TEST_F(SessionStatsTest, LargeAnswerComesWhole) {
  RecordingStats stats;
  stats.offers.assign(8 << 20, 'x');
  SocketServer server([&](SocketServer::Client* client) {
    // This comes from a recorder that reads for a while.
    client->Send(kStatsProgress, sizeof(kStatsProgress));
    const std::string bytes = SerializeStats(stats);
    client->Send(bytes.data(), bytes.size());
  });
  const std::string socket = StatsSocket(folder_, 1);
  ASSERT_TRUE(server.Start(socket, &error_)) << error_;
  EXPECT_EQ(FetchStats(socket, &bytes_, &error_), AskResult::kWhole) << error_;
  std::string offers;
  EXPECT_TRUE(ReadOffers(bytes_, &offers));
  EXPECT_EQ(offers.size(), stats.offers.size());
}

TEST_F(SessionStatsTest, OnlyClientsThatWaitAreAnswered) {
  std::atomic<int> num_answers{0};
  std::atomic<bool> is_busy{true};
  SocketServer server([&](SocketServer::Client*) {
    ++num_answers;
    while (is_busy)
      usleep(1000);
  });
  const std::string socket = StatsSocket(folder_, 1);
  ASSERT_TRUE(server.Start(socket, &error_)) << error_;
  const protozero::ScopedFd first =
      protozero::ConnectToUnixSocket(socket, &error_);
  while (num_answers == 0)
    usleep(1000);
  // These want to know only if it lives.
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(Pids(), std::vector<pid_t>{1});
  is_busy = false;
  EXPECT_EQ(FetchStats(socket, &bytes_, &error_), AskResult::kWhole);
  EXPECT_EQ(num_answers, 2);
  const std::string other = StatsSocket(folder_, 2);
  EXPECT_EQ(FetchStats(other, &bytes_, &error_), AskResult::kNoServer);
}

TEST_F(SessionStatsTest, RecorderThatDoesNotAnswerIsNotDead) {
  // It never accepts, as if it was stopped.
  const protozero::ScopedFd stats =
      protozero::ListenOnUnixSocket(StatsSocket(folder_, 7), &error_);
  const protozero::ScopedFd snapshots =
      protozero::ListenOnUnixSocket(SnapshotSocket(folder_, 7), &error_);
  ASSERT_TRUE(stats.is_valid() && snapshots.is_valid()) << error_;
  const auto nothing = [](const uint8_t*, size_t) { return true; };
  EXPECT_EQ(Ask(StatsSocket(folder_, 7), 1, nothing, &error_),
            AskResult::kLate);
  EXPECT_EQ(error_, "the recorder does not answer");
  EXPECT_EQ(Pids(), std::vector<pid_t>{7});
  EXPECT_TRUE(Exists(StatsSocket(folder_, 7)));
  EXPECT_TRUE(Exists(SnapshotSocket(folder_, 7)));
}

TEST_F(SessionStatsTest, SocketsOfTheDeadAreRemovedOneByOne) {
  for (const pid_t pid : {7, 8}) {
    LeaveSocket(StatsSocket(folder_, pid));
    LeaveSocket(SnapshotSocket(folder_, pid));
  }
  LeaveSocket(ProducerSocket(folder_, 7));
  // A recorder of that number begins: it has only this one yet.
  const protozero::ScopedFd producers =
      protozero::ListenOnUnixSocket(ProducerSocket(folder_, 8), &error_);
  EXPECT_EQ(Pids(), std::vector<pid_t>{});
  EXPECT_FALSE(Exists(StatsSocket(folder_, 7)));
  EXPECT_FALSE(Exists(SnapshotSocket(folder_, 7)));
  EXPECT_FALSE(Exists(ProducerSocket(folder_, 7)));
  EXPECT_FALSE(Exists(StatsSocket(folder_, 8)));
  EXPECT_TRUE(Exists(ProducerSocket(folder_, 8)));
}

TEST_F(SessionStatsTest, SocketsOfNamesAreRemovedOnlyFromTheDead) {
  const std::string dead = SessionAddress(folder_, "dead", false);
  const std::string dead_command = SessionAddress(folder_, "dead", true);
  const std::string live = SessionAddress(folder_, "live", false);
  LeaveSocket(dead);
  LeaveSocket(dead_command);
  // A recorder that has told no process yet that it is there.
  const protozero::ScopedFd listening =
      protozero::ListenOnUnixSocket(live, &error_);
  ASSERT_TRUE(listening.is_valid()) << error_;
  EXPECT_FALSE(IsOnlySession(folder_, "live", /*has_command=*/true));
  EXPECT_EQ(Pids(), std::vector<pid_t>{});
  EXPECT_FALSE(Exists(dead));
  EXPECT_FALSE(Exists(dead_command));
  EXPECT_TRUE(Exists(live));
  LeaveSocket(dead_command);
  EXPECT_TRUE(IsOnlySession(folder_, "dead", /*has_command=*/false));
  EXPECT_FALSE(Exists(dead_command));
}

TEST_F(SessionStatsTest, AddressIsPublishedInPlaceOfWhatTheDeadHaveLeft) {
  const std::string path = ProducerSocket(folder_, getpid());
  LeaveSocket(path);
  for (const char* const address : {"@one", "@two"}) {
    PublishedAddress published;
    published.Publish(folder_, address);
    EXPECT_EQ(AddressOf(folder_, getpid()), address);
  }
  EXPECT_FALSE(Exists(path));
  // In another container, a process of the same number listens.
  const protozero::ScopedFd other =
      protozero::ListenOnUnixSocket(path, &error_);
  ASSERT_TRUE(other.is_valid()) << error_;
  {
    PublishedAddress published;
    published.Publish(folder_, "@three");
    EXPECT_EQ(AddressOf(folder_, getpid()), path);
  }
  EXPECT_TRUE(Exists(path));
}

}  // namespace
}  // namespace pztrace
