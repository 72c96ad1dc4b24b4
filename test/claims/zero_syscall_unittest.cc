// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The claim: between the construction of a message and Finalize(), no system
// call is made. A child process forbids itself all of them, except the one to
// exit, and runs the scenarios.

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/claims/scenarios.h"

namespace protozero {
namespace {

// The child's results, in memory that it shares with the test.
struct Report {
  volatile int setup_errno;
  volatile bool started;
  volatile int forbidden_syscall;
};
Report* report = nullptr;

// Makes the one system call that is left. Not declared [[noreturn]], because
// sanitizers make a system call before they call such a function.
void Exit(int code) {
  syscall(SYS_exit_group, code);
}

void OnForbiddenSyscall(int, siginfo_t* info, void*) {
  report->forbidden_syscall = info->si_syscall;
  Exit(1);
}

// Forbids all other system calls. Returns 0 or an errno.
int ForbidSystemCalls() {
  struct sigaction action = {};
  action.sa_sigaction = OnForbiddenSyscall;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGSYS, &action, nullptr) != 0)
    return errno;
  // No handler returns, so rt_sigreturn() can be forbidden as well.
  sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  const sock_fprog program = {std::size(instructions), instructions};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return errno;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return errno;
  return 0;
}

class ZeroSyscallTest : public testing::Test {
 protected:
  ZeroSyscallTest() {
    void* memory = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    report = static_cast<Report*>(memory);
  }
  ~ZeroSyscallTest() override { munmap(report, sizeof(Report)); }

  // Runs |function| in a child process without system calls. Returns "no system
  // call", or the name of the first one.
  static std::string Observe(const std::function<void()>& function) {
    *report = Report();
    const pid_t child = fork();
    if (child == 0) {
      const int error = ForbidSystemCalls();
      if (error != 0) {
        report->setup_errno = error;
        _exit(2);
      }
      report->started = true;
      function();
      Exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (report->setup_errno != 0) {
      return std::string("no seccomp filter: ") + strerror(report->setup_errno);
    }
    EXPECT_TRUE(report->started);
    if (report->forbidden_syscall != 0) {
      return "system call " + std::to_string(report->forbidden_syscall);
    }
    if (WIFSIGNALED(status)) {
      // ThreadSanitizer makes system calls itself to call the handler.
      if (WTERMSIG(status) == SIGSYS)
        return "some system call";
      return std::string("died of ") + strsignal(WTERMSIG(status));
    }
    return WEXITSTATUS(status) == 0 ? "no system call" : "failed";
  }
};

testing::Matcher<std::string> IsSyscall(int number) {
  return testing::AnyOf("system call " + std::to_string(number),
                        "some system call");
}

TEST_F(ZeroSyscallTest, TheFilterBites) {
  EXPECT_EQ(Observe([] {}), "no system call");
  EXPECT_THAT(Observe([] { syscall(SYS_getpid); }), IsSyscall(SYS_getpid));
  EXPECT_THAT(Observe([] { static_cast<void>(write(2, "x", 1)); }),
              IsSyscall(SYS_write));
  EXPECT_THAT(Observe([] {
                void* memory = mmap(nullptr, 4096, PROT_READ,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                static_cast<void>(memory);
              }),
              IsSyscall(SYS_mmap));
  EXPECT_THAT(Observe([] { abort(); }), testing::HasSubstr("system call"));
}

TEST_F(ZeroSyscallTest, NoScenarioMakesASystemCall) {
  for (const auto& scenario : test::MakeScenarios()) {
    // Sanitizers prepare some of their memory at the first use.
    scenario->Run();
    EXPECT_EQ(Observe([&] { scenario->Run(); }), "no system call")
        << scenario->name();
  }
}

}  // namespace
}  // namespace protozero
