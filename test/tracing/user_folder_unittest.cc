// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests the folder where the programs and recorders of a user meet.

#include "src/tracing/ipc/user_folder.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/tracing/producer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "test/tracing/ipc_testing.h"

namespace {

// True while this program acts as one whose caller has fewer rights.
bool has_more_rights_than_caller = false;

}  // namespace

// Stands in for that of the C library, which only programs with more rights
// than their caller can see at work.
extern "C" char* secure_getenv(const char* name) noexcept {
  return has_more_rights_than_caller ? nullptr : getenv(name);
}

namespace protozero::test {
namespace {

// Has a runtime folder of its own.
class UserFolderTest : public IpcTest {
 protected:
  UserFolderTest() {
    setenv("XDG_RUNTIME_DIR", base().c_str(), 1);
    unsetenv("PERFETTO_PRODUCER_SOCK_NAME");
  }
  ~UserFolderTest() override {
    unlink(RecorderSocket(folder()).c_str());
    rmdir(folder().c_str());
    unsetenv("XDG_RUNTIME_DIR");
  }

  std::string base() const { return socket().substr(0, socket().rfind('/')); }
  std::string folder() const {
    return base() + "/pztrace-" + std::to_string(geteuid());
  }

  std::string error_;
};

bool IsReadable(int fd) {
  pollfd poll_fd{fd, POLLIN, 0};
  return poll(&poll_fd, 1, 0) == 1;
}

void Touch(const std::string& path) {
  close(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

TEST_F(UserFolderTest, IsOfThisUserAlone) {
  const mode_t mask = umask(0);
  EXPECT_EQ(UserFolder(&error_), folder());
  umask(mask);
  struct stat info = {};
  ASSERT_EQ(stat(folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_EQ(UserFolder(&error_), folder());
  for (const mode_t others : {0010u, 0004u, 0001u, 0070u}) {
    ASSERT_EQ(chmod(folder().c_str(), 0700 | others), 0);
    EXPECT_EQ(UserFolder(&error_), "");
    EXPECT_EQ(error_, folder() + ": not a folder that is this user's alone");
  }
}

TEST_F(UserFolderTest, LinksAndFilesAreNotTrusted) {
  ASSERT_EQ(symlink(base().c_str(), folder().c_str()), 0);
  EXPECT_EQ(UserFolder(&error_), "");
  unlink(folder().c_str());
  Touch(folder());
  EXPECT_EQ(UserFolder(&error_), "");
  unlink(folder().c_str());
}

TEST_F(UserFolderTest, PlacesWithoutTheVariable) {
  for (const char* const value : {"", ".", "relative"}) {
    setenv("XDG_RUNTIME_DIR", value, 1);
    EXPECT_THAT(UserFolder(&error_),
                testing::AnyOf(testing::StartsWith("/run/user/"),
                               testing::StartsWith("/tmp/pztrace-")));
  }
  setenv("XDG_RUNTIME_DIR", "/no/such/folder", 1);
  EXPECT_EQ(UserFolder(&error_), "");
}

TEST_F(UserFolderTest, OrderOfSockets) {
  std::string watched;
  EXPECT_THAT(
      ProducerSockets(&watched),
      testing::ElementsAre(folder() + "/producers", DefaultProducerSocket()));
  EXPECT_EQ(watched, folder());
  // A folder that others can enter is left out.
  ASSERT_EQ(chmod(folder().c_str(), 0755), 0);
  EXPECT_THAT(ProducerSockets(&watched),
              testing::ElementsAre(DefaultProducerSocket()));
  EXPECT_EQ(watched, "");
  ASSERT_EQ(chmod(folder().c_str(), 0700), 0);
  setenv("PERFETTO_PRODUCER_SOCK_NAME", "@name", 1);
  EXPECT_THAT(ProducerSockets(&watched), testing::ElementsAre("@name"));
  EXPECT_EQ(watched, "");
  unsetenv("PERFETTO_PRODUCER_SOCK_NAME");
}

TEST_F(UserFolderTest, ProgramsWithMoreRightsIgnoreTheEnvironment) {
  setenv("PERFETTO_PRODUCER_SOCK_NAME", "@name", 1);
  setenv(kStartedByRecorderVariable, "1", 1);
  EXPECT_EQ(DefaultProducerSocket(), "@name");
  EXPECT_TRUE(IsStartedByRecorder());
  EXPECT_EQ(UserFolder(&error_), folder());
  has_more_rights_than_caller = true;
  EXPECT_NE(DefaultProducerSocket(), "@name");
  EXPECT_FALSE(IsProducerSocketInEnvironment());
  EXPECT_FALSE(IsStartedByRecorder());
  std::string watched;
  for (const std::string& socket : ProducerSockets(&watched))
    EXPECT_NE(socket.substr(0, folder().size()), folder());
  EXPECT_NE(watched, folder());
  has_more_rights_than_caller = false;
  unsetenv(kStartedByRecorderVariable);
}

// Returns the names of the files that have appeared.
std::vector<std::string> TakeFiles(FolderWatch* watch) {
  std::vector<std::string> names;
  EXPECT_TRUE(
      watch->TakeFiles([&](const char* name) { names.push_back(name); }));
  return names;
}

TEST_F(UserFolderTest, WatchSeesFilesByTheirNames) {
  FolderWatch watch;
  EXPECT_LT(watch.fd(), 0);
  EXPECT_FALSE(watch.Watch(base() + "/none"));
  EXPECT_LT(watch.fd(), 0);
  ASSERT_NE(UserFolder(&error_), "");
  EXPECT_TRUE(watch.Watch(folder()));
  ASSERT_GE(watch.fd(), 0);
  EXPECT_FALSE(IsReadable(watch.fd()));
  const std::string file = folder() + "/producers";
  Touch(file + "2");
  EXPECT_TRUE(IsReadable(watch.fd()));
  EXPECT_THAT(TakeFiles(&watch), testing::ElementsAre("producers2"));
  EXPECT_FALSE(IsReadable(watch.fd()));
  Touch(file);
  unlink((file + "2").c_str());
  EXPECT_THAT(TakeFiles(&watch), testing::ElementsAre("producers"));
  EXPECT_THAT(TakeFiles(&watch), testing::IsEmpty());
  // The same folder is watched once, and a new one of that name again.
  EXPECT_FALSE(watch.Watch(folder()));
  unlink(file.c_str());
  rmdir(folder().c_str());
  EXPECT_FALSE(watch.TakeFiles([](const char*) {})) << "the folder is gone";
  ASSERT_NE(UserFolder(&error_), "");
  EXPECT_FALSE(watch.Watch(folder()));
  Touch(file);
  EXPECT_THAT(TakeFiles(&watch), testing::ElementsAre("producers"));
}

TEST_F(UserFolderTest, ProducerMeetsARecorderThatComesLater) {
  const auto source =
      std::make_shared<DataSource>(DataSourceDescriptor{kSourceName});
  Producer producer{Producer::Options()};
  producer.RegisterDataSource(source);
  // The place of Perfetto's service may be taken on this machine.
  if (producer.Sync(kTimeoutMs))
    GTEST_SKIP() << "a service runs already";
  EXPECT_THAT(producer.why_off(),
              testing::HasSubstr("cannot connect to " + folder() +
                                 "/producers or " + DefaultProducerSocket()));
  for (uint32_t round = 1; round <= 2; ++round) {
    HostThread host(RecorderSocket(folder()));
    host.Start();
    EXPECT_TRUE(WaitFor([&] {
      return producer.num_connections() == round && source->is_enabled();
    }));
  }
}

// It describes itself, and goes on as before.
TEST_F(UserFolderTest, ProducerThatWaitsTellsALister) {
  const auto source =
      std::make_shared<DataSource>(DataSourceDescriptor{kSourceName});
  Producer::Options options;
  options.name = "waiting";
  Producer producer{std::move(options)};
  producer.RegisterDataSource(source);
  if (producer.Sync(kTimeoutMs))
    GTEST_SKIP() << "a service runs already";
  // A lister that does not read is not in the way.
  const std::string stopped = ListerSocket(folder(), 1);
  const ScopedFd stopped_lister = ListenOnUnixSocket(stopped, &error_);
  TracingService service;
  std::vector<std::string> offers;
  service.SetDataSourceObserver(
      [&offers](const TracingService::ProducerInfo& info,
                const DataSourceDescriptor& descriptor) {
        EXPECT_EQ(info.pid, getpid());
        offers.push_back(info.name + ": " + descriptor.name);
      });
  const std::string path = ListerSocket(folder(), 2);
  ServiceHost::Options host_options;
  host_options.socket = path + "-new";
  ServiceHost host(&service, host_options);
  ASSERT_TRUE(host.Listen(&error_)) << error_;
  ASSERT_EQ(rename((path + "-new").c_str(), path.c_str()), 0);
  const auto begin = service.NowMs();
  while (offers.empty() || host.num_connections() != 0) {
    host.RunOnce(100);
    ASSERT_LT(service.NowMs(), begin + kTimeoutMs);
  }
  EXPECT_THAT(offers,
              testing::ElementsAre("waiting: " + std::string(kSourceName)));
  EXPECT_EQ(producer.num_connections(), 0u);
  EXPECT_EQ(producer.state(), Producer::State::kConnecting);
  HostThread recorder(RecorderSocket(folder()));
  recorder.Start();
  EXPECT_TRUE(WaitFor([&] { return source->is_enabled(); }));
  unlink(path.c_str());
  unlink(stopped.c_str());
}

}  // namespace
}  // namespace protozero::test
