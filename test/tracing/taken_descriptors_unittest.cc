// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests programs that close descriptors that they do not know, as daemons do,
// and open files that get the same numbers, or put files there by dup2().

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/descriptor_reserve.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/ipc/user_folder.h"
#include "test/testing/failing_calls.h"
#include "test/testing/sanitizers.h"
#include "test/tracing/ipc_testing.h"

namespace protozero::test {
namespace {

using testing::HasSubstr;
using OffReason = Producer::OffReason;

// The numbers from here on are those of OwnFile.
constexpr int kFirstOwn = 1000;

std::set<int> OpenDescriptors() {
  std::set<int> descriptors;
  for (int fd = 3; fd < kFirstOwn; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0)
      descriptors.insert(fd);
  }
  return descriptors;
}

// A file of the program's that takes the numbers of other files. Reading and
// writing would leave traces in it.
class OwnFile {
 public:
  enum Kind { kFile, kEvents, kSocket, kFullSocket, kFolderEvents };
  static constexpr Kind kAllKinds[] = {kFile, kEvents, kSocket, kFullSocket,
                                       kFolderEvents};

  explicit OwnFile(Kind kind) : kind_(kind) {
    int ends[2] = {-1, -1};
    char path[] = "/tmp/protozero_own_XXXXXX";
    switch (kind) {
      case kFile:
        ends[0] = mkostemp(path, O_CLOEXEC);
        unlink(path);
        break;
      case kEvents:
        ends[0] = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
        break;
      case kSocket:
      case kFullSocket:
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        if (kind == kFullSocket) {
          EXPECT_EQ(send(ends[1], "theirs", 6, 0), 6);
        }
        break;
      case kFolderEvents:
        EXPECT_NE(mkdtemp(path), nullptr);
        ends[0] = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        EXPECT_GE(inotify_add_watch(ends[0], path, IN_DELETE_SELF), 0);
        rmdir(path);
        break;
    }
    EXPECT_GE(ends[0], 0);
    fd_ = fcntl(ends[0], F_DUPFD_CLOEXEC, kFirstOwn);
    close(ends[0]);
    if (ends[1] >= 0) {
      peer_ = fcntl(ends[1], F_DUPFD_CLOEXEC, kFirstOwn);
      close(ends[1]);
    }
    taken_.insert(fd_);
  }
  ~OwnFile() { Close(); }
  void Close() {
    for (const int fd : taken_)
      close(fd);
    taken_.clear();
    if (peer_ >= 0)
      close(std::exchange(peer_, -1));
  }

  void Take(int number) {
    EXPECT_EQ(dup2(fd_, number), number);
    taken_.insert(number);
  }
  // Call it once.
  void ExpectUntouched() {
    for (const int fd : taken_)
      EXPECT_TRUE(IsSame(fd)) << fd << " is closed";
    char bytes[4096];
    uint64_t count = 0;
    struct stat status;
    switch (kind_) {
      case kFile:
        EXPECT_EQ(fstat(fd_, &status), 0);
        EXPECT_EQ(status.st_size, 0);
        break;
      case kEvents:
        EXPECT_EQ(read(fd_, &count, sizeof(count)), 8);
        EXPECT_EQ(count, 3u);
        break;
      case kFullSocket:
        EXPECT_EQ(recv(fd_, bytes, sizeof(bytes), MSG_DONTWAIT), 6);
        [[fallthrough]];
      case kSocket:
        EXPECT_LT(recv(peer_, bytes, sizeof(bytes), MSG_DONTWAIT), 0);
        EXPECT_EQ(errno, EAGAIN);
        EXPECT_EQ(send(peer_, "x", 1, MSG_NOSIGNAL), 1) << "shut down";
        break;
      case kFolderEvents:
        EXPECT_GT(read(fd_, bytes, sizeof(bytes)), 0);
        break;
    }
  }

 private:
  // Returns whether |fd| shares the file's status flags.
  bool IsSame(int fd) const {
    if (fd == fd_)
      return fcntl(fd, F_GETFD) >= 0;
    const int before = fcntl(fd_, F_GETFL);
    fcntl(fd_, F_SETFL, before ^ O_NONBLOCK);
    const bool is_same = fcntl(fd, F_GETFL) == (before ^ O_NONBLOCK);
    fcntl(fd_, F_SETFL, before);
    return is_same;
  }

  const Kind kind_;
  int fd_ = -1;
  int peer_ = -1;
  std::set<int> taken_;
};

TEST(ScopedFdTest, WhatTheProgramHasTakenIsNotUsed) {
  for (const OwnFile::Kind kind : OwnFile::kAllKinds) {
    OwnFile own(kind);
    {
      ScopedFd fd = NewUnixSocket();
      ScopedFd moved = std::move(fd);
      EXPECT_GE(moved.get(), 0);
      own.Take(moved.get());
      EXPECT_TRUE(moved.is_lost());
      ScopedFd assigned;
      assigned = std::move(moved);
      EXPECT_TRUE(assigned.is_valid());
      EXPECT_EQ(assigned.get(), -1);
      EXPECT_EQ(errno, EBADF);
    }
    {
      WakeupFd wakeup;
      own.Take(wakeup.fd());
      EXPECT_EQ(wakeup.fd(), -1);
      wakeup.Notify();
      wakeup.Clear();
      EXPECT_TRUE(wakeup.TryOpen());
      EXPECT_GE(wakeup.fd(), 0);
    }
    {
      const std::set<int> before = OpenDescriptors();
      DescriptorReserve reserve;
      for (const int fd : OpenDescriptors()) {
        if (before.count(fd) == 0)
          own.Take(fd);
      }
      EXPECT_TRUE(reserve.Use([] { return true; }));
    }
    own.ExpectUntouched();
  }
}

// A program that has closed them still prints to them.
TEST(ScopedFdTest, StandardStreamsAreLeftToTheProgram) {
  const int input = dup(STDIN_FILENO);
  close(STDIN_FILENO);
  {
    const ScopedFd fd = NewUnixSocket();
    EXPECT_GT(fd.get(), STDERR_FILENO);
    ScopedFd other;
    other.Reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_GT(other.get(), STDERR_FILENO);
    EXPECT_LT(fcntl(STDIN_FILENO, F_GETFD), 0);
  }
  if (input >= 0) {
    dup2(input, STDIN_FILENO);
    close(input);
  }
}

TEST(ScopedFdTest, WhereTheSystemCannotTellADescriptorIsTrusted) {
  const ScopedFd known = NewUnixSocket();
  const CallsFail fail("fstat", EPERM);
  EXPECT_GE(known.get(), 0);
  ScopedFd unknown = NewUnixSocket();
  EXPECT_FALSE(unknown.is_lost());
  const int number = unknown.get();
  unknown.Reset();
  EXPECT_LT(fcntl(number, F_GETFD), 0);
}

// A poll() without a time limit: nothing else would end it.
TEST(WakeupFdTest, APollEndsWhenTheProgramClosesEitherEnd) {
  const std::set<int> before = OpenDescriptors();
  for (int i = 0; i < 2; ++i) {
    WakeupFd wakeup;
    std::vector<int> ends;
    for (const int fd : OpenDescriptors()) {
      if (before.count(fd) == 0)
        ends.push_back(fd);
    }
    ASSERT_EQ(ends.size(), 2u);
    pollfd waiting{wakeup.fd(), POLLIN, 0};
    close(ends[static_cast<size_t>(i)]);
    EXPECT_EQ(poll(&waiting, 1, -1), 1);
    EXPECT_EQ(wakeup.fd(), -1);
  }
}

TEST(FolderWatchTest, EventsOfTheProgramAreLeftToIt) {
  for (const OwnFile::Kind kind : OwnFile::kAllKinds) {
    OwnFile own(kind);
    FolderWatch watch;
    watch.Watch("/tmp");
    ASSERT_GE(watch.fd(), 0);
    const int number = watch.fd();
    own.Take(number);
    EXPECT_EQ(watch.fd(), -1);
    EXPECT_TRUE(watch.TakeFiles([](const char*) { ADD_FAILURE(); }));
    watch.Watch("/tmp");
    EXPECT_GE(watch.fd(), 0);
    EXPECT_NE(watch.fd(), number);
    own.ExpectUntouched();
  }
}

class TakenDescriptorsTest : public IpcTest {
 protected:
  void SetUp() override {
#if PROTOZERO_TEST_HAS_TSAN
    GTEST_SKIP() << "that is a race of the program's, and reported as such";
#endif
  }
  // Connects a producer, and finds the descriptors of its connection, of both
  // ends, and of its WakeupFd.
  void Connect(const Producer::Options& options) {
    const std::set<int> before = OpenDescriptors();
    source_ = std::make_shared<DataSource>(DataSourceDescriptor{kSourceName});
    producer_.emplace(options);
    producer_->RegisterDataSource(source_);
    ASSERT_TRUE(producer_->Sync(kTimeoutMs));
    numbers_.clear();
    for (const int fd : OpenDescriptors()) {
      if (before.count(fd) == 0)
        numbers_.push_back(fd);
    }
    ASSERT_EQ(numbers_.size(), 4u);
  }

  // Returns whether a socket has a name, or is connected to one that has.
  static bool HasName(int fd) { return HasName(fd, &getsockname); }
  static bool IsConnection(int fd) {
    return HasName(fd) || HasName(fd, &getpeername);
  }

  std::shared_ptr<DataSource> source_;
  std::optional<Producer> producer_;
  std::vector<int> numbers_;

 private:
  template <typename GetName>
  static bool HasName(int fd, GetName get_name) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    return get_name(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
           size > sizeof(address.ss_family);
  }
};

TEST_F(TakenDescriptorsTest, TheProducerConnectsAgain) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const std::set<int> before = OpenDescriptors();
  Streams expected;
  uint32_t stream = 0;
  // The program takes one of the four, or all.
  for (size_t i = 0; i <= 4; ++i) {
    for (const OwnFile::Kind kind : OwnFile::kAllKinds) {
      OwnFile own(kind);
      Connect(Options());
      {
        DataSourceWriters writers(source_);
        WritePackets(&writers, ++stream, 0, 10);
        writers.Flush();
        ASSERT_TRUE(producer_->Sync(kTimeoutMs));
        bool takes_connection = false;
        for (size_t k = 0; k < numbers_.size(); ++k) {
          if (i != k && i != 4)
            continue;
          takes_connection |= IsConnection(numbers_[k]);
          own.Take(numbers_[k]);
        }
        ASSERT_TRUE(WaitFor([&] { return producer_->Sync(kTimeoutMs); }));
        EXPECT_EQ(producer_->num_connections() > 1, takes_connection);
        EXPECT_EQ(producer_->why_off(), "");
        WritePackets(&writers, ++stream, 0, 10);
      }
      ASSERT_TRUE(producer_->Sync(kTimeoutMs));
      expected[stream - 1] = expected[stream] = 10;
      producer_.reset();
      own.ExpectUntouched();
      own.Close();
      // The host closes its end later.
      ASSERT_TRUE(WaitFor([&] { return OpenDescriptors() == before; }));
    }
  }
  EXPECT_EQ(Received(host.StopAndRead(session)), expected);
}

TEST_F(TakenDescriptorsTest, WhatIsNotRecordedMeanwhileIsAnUnknownLoss) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  OwnFile own(OwnFile::kFile);
  Connect(Options());
  for (const int number : numbers_) {
    // Only the producer's end: it is this process that has lost it.
    if (IsConnection(number) && !HasName(number))
      own.Take(number);
  }
  ASSERT_TRUE(WaitFor([&] { return producer_->Sync(kTimeoutMs); }));
  EXPECT_EQ(producer_->num_connections(), 2u);
  TraceStats stats;
  host.StopAndRead(session, &stats);
  EXPECT_EQ(stats.unknown_losses(), 1u);
  // It has been told.
  const TracingSessionID next = host.Start();
  ASSERT_TRUE(producer_->Sync(kTimeoutMs));
  host.StopAndRead(next, &stats);
  EXPECT_EQ(stats.unknown_losses(), 0u);
}

TEST_F(TakenDescriptorsTest, AProducerThatDoesNotTryAgainSaysWhy) {
  HostThread host(socket());
  Producer::Options options = Options();
  options.max_reconnect_pause_ms = 0;
  OwnFile own(OwnFile::kFile);
  Connect(options);
  for (const int number : numbers_)
    own.Take(number);
  // Nothing is sent: the thread notices by itself.
  EXPECT_TRUE(WaitFor(
      [&] { return producer_->state() == Producer::State::kDisconnected; }));
  EXPECT_EQ(producer_->off_reason(), OffReason::kDescriptorTaken);
  EXPECT_THAT(producer_->why_off(), HasSubstr("closed or replaced"));
  EXPECT_FALSE(source_->is_enabled());
  producer_.reset();
  own.ExpectUntouched();
}

// Takes descriptors that a child has, too, so that nothing ends a poll(): its
// files are open, and silent files are in their place.
class SilentlyTakenTest : public TakenDescriptorsTest {
 protected:
  void Take(OwnFile* own) {
    child_ = fork();
    if (child_ == 0) {
      for (;;)
        pause();
    }
    ASSERT_GT(child_, 0);
    for (const int number : numbers_)
      own->Take(number);
  }
  void TearDown() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }

 private:
  pid_t child_ = -1;
};

TEST_F(SilentlyTakenTest, AProducerThatIsRecordedConnectsAgain) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  OwnFile own(OwnFile::kSocket);
  Connect(Options());
  Take(&own);
  EXPECT_TRUE(WaitFor([&] { return producer_->Sync(kTimeoutMs); }));
  EXPECT_EQ(producer_->num_connections(), 2u);
  producer_.reset();
  own.ExpectUntouched();
  host.StopAndRead(session);
}

TEST_F(SilentlyTakenTest, AProducerThatIsNotRecordedCanBeDestroyed) {
  HostThread host(socket());
  OwnFile own(OwnFile::kSocket);
  Connect(Options());
  Take(&own);
  producer_.reset();
  own.ExpectUntouched();
  // Another one works.
  Connect(Options());
}

TEST_F(TakenDescriptorsTest, AHostThatHasNoneLeftCanBeStopped) {
  for (const OwnFile::Kind kind : {OwnFile::kFile, OwnFile::kSocket}) {
    OwnFile own(kind);
    const std::set<int> before = OpenDescriptors();
    std::optional<HostThread> host;
    host.emplace(socket());
    const TracingSessionID session = host->Start();
    Producer::Options options = Options();
    options.max_reconnect_pause_ms = 0;
    Connect(options);
    for (const int number : OpenDescriptors()) {
      if (before.count(number) == 0)
        own.Take(number);
    }
    EXPECT_TRUE(WaitFor(
        [&] { return producer_->state() == Producer::State::kDisconnected; }));
    EXPECT_EQ(Received(host->StopAndRead(session)), Streams());
    producer_.reset();
    host.reset();
    own.ExpectUntouched();
    // Another process may listen there by now.
    EXPECT_EQ(unlink(socket().c_str()), 0);
  }
}

}  // namespace
}  // namespace protozero::test
