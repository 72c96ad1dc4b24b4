// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests a service that another user has put where everybody looks for one.

#include "src/tracing/ipc/service_owner.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/unix_socket.h"
#include "test/tracing/ipc_testing.h"

namespace protozero::test {
namespace {

using Owner = Producer::ServiceOwner;

class ServiceOwnerTest : public IpcTest {
 protected:
  std::string folder() const { return socket().substr(0, socket().rfind('/')); }
  void MakeFolder(mode_t mode) const {
    ASSERT_EQ(chmod(folder().c_str(), mode), 0);
  }
  // Returns whether a producer that tries once finds a service.
  bool Connects(Owner owner) const {
    Producer::Options options = Options();
    options.service_owner = owner;
    options.max_reconnect_pause_ms = 0;
    const Producer producer(options);
    EXPECT_TRUE(WaitFor(
        [&] { return producer.state() != Producer::State::kConnecting; }));
    return producer.state() == Producer::State::kConnected;
  }
};

TEST_F(ServiceOwnerTest, WhereAnybodyCanListen) {
  EXPECT_TRUE(AnybodyCanListenOn("@name"));
  EXPECT_TRUE(AnybodyCanListenOn("/tmp/perfetto-producer"));
  EXPECT_TRUE(AnybodyCanListenOn("/no/such/folder/socket"));
  EXPECT_FALSE(AnybodyCanListenOn("/proc/socket"));
  EXPECT_FALSE(AnybodyCanListenOn("/socket"));
  for (const mode_t mode : {0700u, 0755u, 0711u}) {
    MakeFolder(mode);
    EXPECT_FALSE(AnybodyCanListenOn(socket())) << mode;
  }
  for (const mode_t mode : {0777u, 01777u, 0770u, 0702u}) {
    MakeFolder(mode);
    EXPECT_TRUE(AnybodyCanListenOn(socket())) << mode;
  }
}

TEST_F(ServiceOwnerTest, OnesOwnServiceIsAccepted) {
  const HostThread host(socket());
  for (const mode_t mode : {0700u, 01777u}) {
    MakeFolder(mode);
    EXPECT_TRUE(Connects(Owner::kRootOrSelfWhereAnybodyCanListen));
    EXPECT_TRUE(Connects(Owner::kRootOrSelf));
    EXPECT_TRUE(Connects(Owner::kAnybody));
  }
}

TEST_F(ServiceOwnerTest, AnotherUsersServiceIsNone) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can become another user";
  MakeFolder(01777);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (setuid(65534) != 0)
      _exit(1);
    const HostThread host(socket());
    for (;;)
      pause();
  }
  EXPECT_TRUE(WaitFor([&] { return Connects(Owner::kAnybody); }));
  EXPECT_FALSE(Connects(Owner::kRootOrSelfWhereAnybodyCanListen));
  EXPECT_FALSE(Connects(Owner::kRootOrSelf));
  // The owner of the folder is trusted to choose the service, but not with
  // kRootOrSelf.
  MakeFolder(0755);
  EXPECT_TRUE(Connects(Owner::kRootOrSelfWhereAnybodyCanListen));
  EXPECT_FALSE(Connects(Owner::kRootOrSelf));

  std::string error;
  std::string reason;
  const ScopedFd connection = ConnectToUnixSocket(socket(), &error);
  EXPECT_FALSE(IsAcceptedService(connection.get(), socket(), Owner::kRootOrSelf,
                                 &reason));
  EXPECT_EQ(reason, "the service at " + socket() + " belongs to user 65534");
  {
    Producer::Options options;
    options.socket = socket();
    options.service_owner = Owner::kRootOrSelf;
    options.max_reconnect_pause_ms = 0;
    Producer producer(options);
    EXPECT_FALSE(producer.Sync(kTimeoutMs));
    EXPECT_EQ(producer.off_reason(), Producer::OffReason::kNotTrusted);
    EXPECT_EQ(producer.why_off(), reason);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace protozero::test
