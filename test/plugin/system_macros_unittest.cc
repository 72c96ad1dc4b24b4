// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Names that this system's headers define as macros. The generated code
// compiles after those headers, and its second names work.
// system_macros_test.py tests the macros of all headers.

#include <arpa/inet.h>
#include <complex.h>
#include <fcntl.h>
#include <linux/input.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <syslog.h>

#include "gtest/gtest.h"
#include "test/plugin/system_macros_use.h"

#if !defined(st_mtime) || !defined(si_pid) || !defined(roundup) || \
    !defined(O_RDONLY) || !defined(SA_SIGINFO) || !defined(LOG_INFO)
#error "the headers are not those that the test is about"
#endif

namespace {

TEST(SystemMacrosTest, AfterTheHeadersOfTheSystem) {
  EXPECT_TRUE(system_macros::WritesAndReads());
  // These names still have the system's values.
  EXPECT_EQ(O_RDONLY, 0);
  EXPECT_NE(SA_SIGINFO, 3);
  struct stat status{};
  EXPECT_EQ(status.st_mtime, 0);
}

}  // namespace
