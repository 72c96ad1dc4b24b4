// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The claims: between the construction of a message and Finalize(), no system
// call is made. Nor does a thread make one that traces events, from its second
// event of a session on, while there is memory, except for fstat() and sendto()
// to wake the producer's thread. A child process, or one of its threads,
// forbids itself all of them, except the one to exit, and runs the scenarios.

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/track_event.h"
#include "test/claims/scenarios.h"
#include "test/testing/sanitizers.h"

namespace protozero {
namespace {

// The child's results, in memory that it shares with the test.
struct Report {
  volatile int setup_errno;
  volatile bool started;
  volatile int forbidden_syscall;
  // The number of calls of sendto() that were let through.
  volatile uint32_t sends;
  // The result of ObserveThread().
  TraceBufferStats stats;
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

// The systems of 32 bits have other calls.
#if defined(SYS_newfstatat) && defined(SYS_fstat)
constexpr uint32_t kStatCalls[] = {SYS_newfstatat, SYS_fstat};
#else
constexpr uint32_t kStatCalls[] = {SYS_statx, SYS_fstat64};
#endif

// An argument of sendto() that the system ignores, because there is no address:
// the filter knows by it what LetSendThrough() has counted.
constexpr uint32_t kCountedSend = 0x5e9d;

#if defined(__x86_64__) || defined(__aarch64__)
constexpr bool kCountsSends = true;
// Handles a forbidden call that is sendto(): counts it and makes it. The caller
// ignores its result.
void LetSendThrough(int signal, siginfo_t* info, void* context) {
  if (info->si_syscall != SYS_sendto)
    return OnForbiddenSyscall(signal, info, context);
  report->sends = report->sends + 1;
  const mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto* const r = machine.gregs;
  syscall(SYS_sendto, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], nullptr,
          kCountedSend);
#else
  const auto* const r = machine.regs;
  syscall(SYS_sendto, r[0], r[1], r[2], r[3], nullptr, kCountedSend);
#endif
}
#else
constexpr bool kCountsSends = false;
constexpr auto LetSendThrough = &OnForbiddenSyscall;
#endif

int InstallFilter(void (*on_forbidden)(int, siginfo_t*, void*),
                  sock_fprog program) {
  struct sigaction action = {};
  action.sa_sigaction = on_forbidden;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGSYS, &action, nullptr) != 0)
    return errno;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return errno;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return errno;
  return 0;
}

// Forbids all other system calls. Returns 0 or an errno.
int ForbidSystemCalls() {
  // No handler returns, so rt_sigreturn() can be forbidden as well.
  sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  return InstallFilter(&OnForbiddenSyscall,
                       {std::size(instructions), instructions});
}

// Forbids all calls, but lets fstat() and sendto() through, and counts the
// latter.
int ForbidSystemCallsButSend() {
  sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 5, 0),
      // fstat() finds whether the socket is still the library's.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kStatCalls[0], 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kStatCalls[1], 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kCountedSend, 0, kCountsSends),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  return InstallFilter(LetSendThrough, {std::size(instructions), instructions});
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
    return ResultOf(child);
  }

  // The number of packets that the service has received, for a thread that
  // cannot wait for it otherwise.
  using Received = std::atomic<uint64_t>;

  // Runs |trace| in a thread of a child process that makes no system call but
  // fstat() and sendto() after |trace_first|. The other threads of the process,
  // which |start| may start, make some. |get_stats| returns the statistics of
  // the session, which has to receive |num_packets|.
  static std::string ObserveThread(
      const std::function<void()>& start,
      const std::function<void()>& trace_first,
      const std::function<void(const Received&)>& trace,
      uint64_t num_packets,
      const std::function<TraceBufferStats()>& get_stats) {
    *report = Report();
    const pid_t child = fork();
    if (child == 0) {
      start();
      std::atomic<bool> is_done{false};
      Received received{0};
      // The thread cannot end: that is a system call, too.
      std::thread([&] {
        trace_first();
        const int error = ForbidSystemCallsButSend();
        if (error != 0) {
          report->setup_errno = error;
          Exit(2);
        }
        report->started = true;
        trace(received);
        is_done = true;
        while (is_done) {
        }
      }).detach();
      while (!is_done || received < num_packets) {
        usleep(1000);
        report->stats = get_stats();
        received = report->stats.packets_begun;
      }
      _exit(0);
    }
    return ResultOf(child);
  }

 private:
  static std::string ResultOf(pid_t child) {
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

constexpr size_t kMemorySize = 8 << 20;
constexpr size_t kBufferSize = 128 << 20;
constexpr size_t kBursts = 600;
// TraceSome() writes this many packets, of about as many bytes.
constexpr size_t kPacketsOfBurst = 1200;
constexpr size_t kBytesOfBurst = 68'000;

void TraceSome() {
  static const CounterTrack counter("counter");
  static const std::string text(200, 't');
  for (size_t i = 0; i < kPacketsOfBurst / 6; ++i) {
    PROTOZERO_TRACE_EVENT("claims", "slice", "i", i, "s", text);
    PROTOZERO_TRACE_EVENT_INSTANT("claims", "instant");
    PROTOZERO_TRACE_EVENT_INSTANT("claims", "in a flow", Flow(i));
    PROTOZERO_TRACE_COUNTER("claims", counter, static_cast<int64_t>(i));
    PROTOZERO_TRACE_EVENT_INSTANT("claims", DynamicString("name"));
  }
}

// Traces much, but at most |bytes_ahead| that the service has not received. So
// it does not run out of memory on a busy machine, either.
void TraceMuch(const std::atomic<uint64_t>& received, size_t bytes_ahead) {
  const size_t bursts_ahead = bytes_ahead / kBytesOfBurst;
  for (size_t i = 0; i < kBursts; ++i) {
    TraceSome();
    while (i > received / kPacketsOfBurst + bursts_ahead) {
    }
  }
}

class ZeroSyscallEventsTest : public ZeroSyscallTest {
 protected:
  void SetUp() override {
    if (PROTOZERO_TEST_HAS_TSAN)
      GTEST_SKIP() << "ThreadSanitizer makes system calls between threads";
    if (Observe([] { TraceTimeNs(); }) != "no system call")
      GTEST_SKIP() << "to read this machine's clock is a system call";
  }

  // Expects that the session has seen all that could make system calls.
  static void ExpectMuchWasTraced() {
    const TraceBufferStats& stats = report->stats;
    ASSERT_NE(stats.packets_begun, 0u);
    EXPECT_EQ(stats.lost.total(), 0u);
    // Descriptors are said again every 16 chunks, and half of the memory is a
    // batch of chunks to commit.
    EXPECT_GT(stats.chunks_written, 1000u);
    EXPECT_GT(stats.bytes_written, 3 * kMemorySize);
    EXPECT_NEAR(static_cast<double>(stats.bytes_written * kPacketsOfBurst /
                                    stats.packets_begun),
                kBytesOfBurst, kBytesOfBurst / 10);
  }
};

TEST_F(ZeroSyscallEventsTest, EventsForAServiceMakeNone) {
  TracingService service;
  TracingSessionID session = 0;
  const auto start = [&] {
    TraceConfig config;
    config.buffers = {{kBufferSize, BufferFillPolicy::kDiscard}};
    config.data_sources.resize(1);
    config.data_sources[0].config.name = "track_event";
    session = service.StartTracing(config, nullptr, nullptr);
    ServiceHost::Options host_options;
    host_options.socket = "@zero_syscall_unittest_" + std::to_string(getpid());
    static auto& host = *new ServiceHost(&service, host_options);
    std::string error;
    if (!host.Listen(&error))
      abort();
    std::thread([] { host.Run(); }).detach();
    Producer::Options options;
    options.socket = host_options.socket;
    options.shared_memory_size = kMemorySize;
    options.page_size = 16 * 1024;
    static auto& producer = *new Producer(options);
    producer.RegisterDataSource(TrackEventDataSource());
    if (!producer.Sync(30000))
      abort();
  };
  // This is more than half of the memory, with which a writer would commit if
  // no other thread did.
  const auto trace = [](const Received& received) {
    TraceMuch(received, kMemorySize * 5 / 8);
  };
  EXPECT_EQ(ObserveThread(start, &TraceSome, trace, kBursts * kPacketsOfBurst,
                          [&] { return service.GetStats(session).buffers[0]; }),
            "no system call");
  ExpectMuchWasTraced();
}

TEST_F(ZeroSyscallEventsTest, EventsForALocalTraceMakeNone) {
  static LocalTrace* trace = nullptr;
  const auto start = [] {
    LocalTrace::Options options;
    options.sink = [](const uint8_t*, size_t) { return true; };
    options.write_period_ms = 50;
    trace = new LocalTrace(std::move(options));
  };
  // The trace is flushed, too, which copies chunks that are not free then.
  const auto trace_much = [](const Received& received) {
    TraceMuch(received, kMemorySize * 5 / 16);
  };
  EXPECT_EQ(
      ObserveThread(start, &TraceSome, trace_much, kBursts * kPacketsOfBurst,
                    [] { return trace->stats().buffers[0]; }),
      "no system call");
  ExpectMuchWasTraced();
}

// The memory is smaller than what is traced, so chunks are overwritten.
TEST_F(ZeroSyscallEventsTest, EventsForAFlightRecorderMakeNone) {
  char path[] = "/tmp/zero_syscall_unittest_XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  static LocalTrace* trace = nullptr;
  const auto start = [&] {
    LocalTrace::Options options;
    options.flight_recorder = path;
    options.buffer_size = kMemorySize;
    trace = new LocalTrace(std::move(options));
    if (!trace->error().empty())
      abort();
  };
  const auto trace_much = [](const Received&) {
    for (size_t i = 0; i < kBursts; ++i)
      TraceSome();
  };
  EXPECT_EQ(ObserveThread(start, &TraceSome, trace_much, 0,
                          [] { return trace->stats().buffers[0]; }),
            "no system call");
  EXPECT_GT(report->stats.packets_begun, kBursts * kPacketsOfBurst / 2);
  EXPECT_EQ(report->stats.lost.total(), report->stats.packets_begun);
  EXPECT_EQ(report->stats.lost.of(LossReason::kOverwritten),
            report->stats.packets_begun);
  EXPECT_EQ(report->sends, 0u);
  unlink(path);
  unlink((std::string(path) + ".last").c_str());
}

TEST_F(ZeroSyscallEventsTest, TheFilterBitesInOneThread) {
  EXPECT_THAT(ObserveThread([] {}, [] { syscall(SYS_getpid); },
                            [](const Received&) { syscall(SYS_getpid); }, 0,
                            [] { return TraceBufferStats(); }),
              IsSyscall(SYS_getpid));
}

TEST_F(ZeroSyscallEventsTest, SendsAreCountedAndDone) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const auto send_two = [&](const Received&) {
    send(ends[0], "a", 1, MSG_DONTWAIT);
    send(ends[0], "b", 1, MSG_DONTWAIT);
  };
  EXPECT_EQ(ObserveThread([] {}, [] {}, send_two, 0,
                          [] { return TraceBufferStats(); }),
            "no system call");
  EXPECT_EQ(report->sends, kCountsSends ? 2u : 0u);
  char bytes[4];
  EXPECT_EQ(recv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT), 2);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace protozero
