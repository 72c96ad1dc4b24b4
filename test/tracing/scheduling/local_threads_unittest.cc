// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests LocalTrace::Options::scheduling and samples_hz: programs that record
// their own threads.

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/track_event.h"
#include "src/tracing/scheduling/process_files.h"
#include "src/tracing/scheduling/timer_samples.h"
#include "test/testing/open_descriptors.h"
#include "test/testing/sanitizers.h"

namespace protozero {
namespace {

using Event = trace::GenericKernelTaskStateEvent;

int32_t ThisThread() {
  return static_cast<int32_t>(syscall(SYS_gettid));
}

uint64_t RanNs() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_nsec);
}

void Compute(uint64_t ms) {
  const uint64_t end = RanNs() + ms * 1000000;
  while (RanNs() < end) {
  }
}

// Content of a trace.
struct Threads {
  std::set<int32_t> known;
  std::set<int32_t> processes;
  std::map<int32_t, uint64_t> ran;
  std::map<int32_t, int32_t> last_state;
  uint64_t num_unknown = 0;
  uint64_t num_samples = 0;
  uint64_t num_sums = 0;
};

// Reads them, and expects that their states keep the rules, unless packets are
// missing.
Threads Read(const std::string& bytes, bool is_whole) {
  Threads threads;
  std::map<int32_t, uint64_t> runs_since;
  std::map<int32_t, int32_t> on_processor;
  uint64_t now = 0;
  const trace::Trace::Decoder decoder(bytes.data(), bytes.size());
  for (auto it = decoder.packet(); it; ++it) {
    const trace::TracePacket::Decoder packet(*it);
    threads.num_samples += packet.has_stack_sample();
    if (packet.has_track_descriptor()) {
      const trace::TrackDescriptor::Decoder track(packet.track_descriptor());
      threads.num_sums += track.name().ToStdStringView() == "ran";
    }
    if (packet.has_generic_kernel_process_tree()) {
      const trace::GenericKernelProcessTree::Decoder tree(
          packet.generic_kernel_process_tree());
      for (auto thread = tree.threads(); thread; ++thread) {
        const trace::GenericKernelProcessTree::Thread::Decoder one(*thread);
        threads.known.insert(static_cast<int32_t>(one.tid()));
        threads.processes.insert(static_cast<int32_t>(one.pid()));
      }
    }
    if (!packet.has_generic_kernel_task_state_event())
      continue;
    const Event::Decoder event(packet.generic_kernel_task_state_event());
    const auto tid = static_cast<int32_t>(event.tid());
    EXPECT_GE(packet.timestamp(), now);
    now = packet.timestamp();
    const auto run = runs_since.find(tid);
    if (event.state() == Event::TASK_STATE_RUNNING) {
      const bool is_free = on_processor.try_emplace(event.cpu(), tid).second;
      EXPECT_TRUE(!is_whole || (run == runs_since.end() && is_free));
      runs_since[tid] = now;
    } else if (run != runs_since.end()) {
      threads.ran[tid] += now - run->second;
      EXPECT_TRUE(!is_whole || on_processor[event.cpu()] == tid);
      on_processor.erase(event.cpu());
      runs_since.erase(run);
    }
    threads.num_unknown += event.state() == Event::TASK_STATE_UNKNOWN;
    threads.last_state[tid] = event.state();
  }
  return threads;
}

// A trace in memory.
class Recording {
 public:
  explicit Recording(uint32_t samples_hz = 0, bool scheduling = true) {
    options.scheduling = scheduling;
    options.samples_hz = samples_hz;
    options.sink = [this](const uint8_t* data, size_t size) {
      bytes_.append(reinterpret_cast<const char*>(data), size);
      return true;
    };
  }
  void Start() { trace = std::make_unique<LocalTrace>(options); }
  Threads Stop() {
    EXPECT_TRUE(trace->Stop()) << trace->error();
    const TraceStats stats = trace->stats();
    EXPECT_EQ(stats.packets_begun(),
              stats.packets_read() + stats.lost().total());
    return Read(bytes_, stats.lost().total() + stats.unknown_losses() == 0);
  }

  LocalTrace::Options options;

 private:
  // The trace writes to it until it ends.
  std::string bytes_;

 public:
  std::unique_ptr<LocalTrace> trace;
};

// Returns whether the kernel gives this process its events.
bool HasEvents() {
  Recording recording;
  recording.Start();
  return recording.trace->scheduling_error().empty();
}

#define SKIP_WITHOUT_EVENTS() \
  if (!HasEvents())           \
  GTEST_SKIP() << "perf_event_open is forbidden"

// Runs |function| in a child process, and expects that nothing in it fails.
void InChild(const std::function<void()>& function) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    function();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Forbids the kernel's events to this process for ever.
void ForbidEvents() {
  sock_filter filter[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_perf_event_open},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// Returns the real-time signals that have a handler, or are ignored.
std::set<int> TakenSignals() {
  std::set<int> taken;
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0 &&
        action.sa_handler != SIG_DFL) {
      taken.insert(signal);
    }
  }
  return taken;
}

// Computes until |is_done| returns true: a timer needs a while.
void ComputeUntil(const std::function<bool()>& is_done) {
  while (!is_done())
    Compute(1);
}

TEST(LocalThreadsTest, StatesOfThreadsFromBeforeAndAfter) {
  SKIP_WITHOUT_EVENTS();
  std::atomic<int> go{0};
  std::atomic<int32_t> early{0};
  std::thread before([&] {
    early = ThisThread();
    while (go == 0)
      usleep(1000);
    Compute(20);
  });
  while (early == 0)
    usleep(100);
  Recording recording;
  recording.Start();
  EXPECT_EQ(recording.trace->scheduling_error(), "");
  go = 1;
  int32_t late = 0;
  uint64_t late_ran = 0;
  std::thread after([&] {
    late = ThisThread();
    Compute(20);
    usleep(1000);
    late_ran = RanNs();
  });
  before.join();
  after.join();
  const Threads threads = recording.Stop();
  EXPECT_EQ(threads.num_unknown, 0u);
  EXPECT_EQ(threads.num_samples, 0u);
  EXPECT_EQ(threads.processes, std::set<int32_t>{getpid()});
  for (const int32_t tid : {early.load(), late}) {
    EXPECT_EQ(threads.known.count(tid), 1u);
    EXPECT_EQ(threads.last_state.at(tid), Event::TASK_STATE_DEAD);
  }
  // A virtual machine may take more time from a thread than its clock knows.
  EXPECT_GE(threads.ran.at(late), late_ran - late_ran / 10);
  EXPECT_GE(threads.ran.at(early), 18000000u);
}

TEST(LocalThreadsTest, SamplesAloneHaveNoStates) {
  SKIP_WITHOUT_EVENTS();
  Recording recording(1000, /*scheduling=*/false);
  recording.Start();
  Compute(50);
  const Threads threads = recording.Stop();
  EXPECT_GT(threads.num_samples, 10u);
  EXPECT_TRUE(threads.last_state.empty());
}

TEST(LocalThreadsTest, NothingIsRecordedUnlessItIsWanted) {
  Recording recording(0, /*scheduling=*/false);
  recording.Start();
  EXPECT_EQ(recording.trace->scheduling_error(), "");
  const Threads threads = recording.Stop();
  EXPECT_TRUE(threads.known.empty());
}

TEST(LocalThreadsTest, ARingHasThemToo) {
  SKIP_WITHOUT_EVENTS();
  Recording recording(1000);
  recording.options.fill_policy = BufferFillPolicy::kRingBuffer;
  recording.Start();
  Compute(30);
  const Threads threads = recording.Stop();
  EXPECT_EQ(threads.last_state.count(ThisThread()), 1u);
  EXPECT_GT(threads.num_samples, 0u);
}

TEST(LocalThreadsTest, LittleMemoryKeepsNobodyWaiting) {
  SKIP_WITHOUT_EVENTS();
  Recording recording(1000);
  recording.options.shared_memory_size = 64 * 1024;
  recording.options.buffer_size = 64 * 1024;
  recording.Start();
  std::thread other([] {
    for (int i = 0; i < 2000; ++i)
      usleep(1);
  });
  other.join();
  // The ledger is exact whatever was lost.
  recording.Stop();
}

TEST(LocalThreadsTest, AFlightRecorderSaysThatItHasNone) {
  Recording recording(1000);
  recording.options.sink = nullptr;
  recording.options.flight_recorder_in_memory = true;
  recording.Start();
  EXPECT_NE(recording.trace->scheduling_error().find("flight recorder"),
            std::string::npos);
  EXPECT_EQ(recording.trace->error(), "");
}

TEST(LocalThreadsTest, ChildProcessesAreNotRecorded) {
  SKIP_WITHOUT_EVENTS();
  Recording recording(1000);
  recording.Start();
  const size_t num_threads = internal::ThreadsOf(getpid()).size();
  InChild([&] {
    Compute(20);
    EXPECT_EQ(recording.trace->scheduling_error(), "a child process");
    recording.trace.reset();
  });
  // The child has not stopped it.
  EXPECT_EQ(internal::ThreadsOf(getpid()).size(), num_threads);
  Compute(20);
  const Threads threads = recording.Stop();
  EXPECT_EQ(threads.processes, std::set<int32_t>{getpid()});
  EXPECT_EQ(threads.last_state.count(ThisThread()), 1u);
  for (const auto& [tid, state] : threads.last_state)
    EXPECT_EQ(threads.known.count(tid), 1u);
}

TEST(LocalThreadsTest, NothingIsLeftWhenItStops) {
  HasEvents();
  const size_t descriptors = test::CountOpenDescriptors();
  for (const bool stops : {true, false}) {
    Recording recording(1000);
    recording.Start();
    Compute(5);
    if (stops)
      recording.Stop();
    recording.trace.reset();
    EXPECT_EQ(test::CountOpenDescriptors(), descriptors);
    EXPECT_TRUE(TakenSignals().empty());
  }
}

TEST(LocalThreadsTest, TheProgramKeepsHalfOfItsDescriptors) {
  SKIP_WITHOUT_EVENTS();
  InChild([] {
    const rlimit limit = {48, 1024};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    std::atomic<bool> is_done{false};
    std::vector<std::thread> others;
    for (int i = 0; i < 48; ++i) {
      others.emplace_back([&] {
        while (!is_done)
          usleep(1000);
      });
    }
    Recording recording;
    recording.Start();
    EXPECT_NE(recording.trace->scheduling_error().find("`ulimit -n"),
              std::string::npos)
        << recording.trace->scheduling_error();
    EXPECT_EQ(recording.trace->error(), "");
    rlimit now = {};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
    EXPECT_EQ(now.rlim_cur, limit.rlim_cur);
    is_done = true;
    for (std::thread& other : others)
      other.join();
    EXPECT_GT(recording.Stop().num_sums, 0u);
  });
}

TEST(LocalThreadsTest, TimersTakeSamplesWhereEventsAreForbidden) {
  InChild([] {
    ForbidEvents();
    Recording recording(1000);
    recording.Start();
    const std::string why = recording.trace->scheduling_error();
    EXPECT_NE(why.find("filter of system calls"), std::string::npos) << why;
    EXPECT_NE(why.find("samples are taken by timers"), std::string::npos);
    EXPECT_EQ(TakenSignals().size(), 1u);
    std::thread later([] { Compute(200); });
    Compute(50);
    later.join();
    const Threads threads = recording.Stop();
    EXPECT_GT(threads.num_samples, 0u);
    EXPECT_GT(threads.num_sums, 0u);
    EXPECT_EQ(threads.known.count(ThisThread()), 1u);
    EXPECT_TRUE(threads.last_state.empty());
    EXPECT_TRUE(TakenSignals().empty());
    // The signals that threads had not taken would end the process.
    Compute(20);
  });
}

TEST(LocalThreadsTest, SumsAloneNeedNoSignal) {
  InChild([] {
    ForbidEvents();
    Recording recording;
    recording.Start();
    EXPECT_TRUE(TakenSignals().empty());
    EXPECT_EQ(recording.trace->scheduling_error().find("timers"),
              std::string::npos);
    EXPECT_GT(recording.Stop().num_sums, 0u);
  });
}

std::atomic<int> g_signals{0};

TEST(LocalThreadsTest, TimersTakeNoSignalOfTheProgram) {
  InChild([] {
    ForbidEvents();
    std::set<int> own;
    for (int signal = SIGRTMIN + 2; signal <= SIGRTMAX; ++signal) {
      if (sigaction(signal, nullptr, nullptr) == 0 &&
          ::signal(signal, [](int) { ++g_signals; }) != SIG_ERR) {
        own.insert(signal);
      }
    }
    Recording first(1000);
    Recording second(1000);
    first.Start();
    second.Start();
    // One signal is left.
    EXPECT_EQ(TakenSignals().size(), own.size() + 1);
    EXPECT_NE(second.trace->scheduling_error().find("no real-time signal"),
              std::string::npos)
        << second.trace->scheduling_error();
    Compute(50);
    EXPECT_GT(first.Stop().num_samples, 0u);
    EXPECT_EQ(second.Stop().num_samples, 0u);
    EXPECT_EQ(g_signals, 0);
    EXPECT_EQ(TakenSignals(), own);
  });
}

TEST(LocalThreadsTest, SeveralTakeSamplesByTimersAtOnce) {
  InChild([] {
    ForbidEvents();
    Recording first(1000);
    Recording second(500);
    first.Start();
    second.Start();
    EXPECT_EQ(TakenSignals().size(), 2u);
    Compute(60);
    EXPECT_GT(first.Stop().num_samples, 0u);
    Compute(60);
    EXPECT_GT(second.Stop().num_samples, 0u);
    EXPECT_TRUE(TakenSignals().empty());
  });
}

TEST(LocalThreadsTest, TimersThatStartAtOnceTakeDifferentSignals) {
  InChild([] {
    for (int round = 0; round < 200; ++round) {
      internal::TimerSamples first(1000000);
      internal::TimerSamples second(1000000);
      std::atomic<int> num_ready{0};
      const auto start = [&num_ready](internal::TimerSamples* timers) {
        ++num_ready;
        while (num_ready != 2) {
        }
        std::string error;
        EXPECT_TRUE(timers->Start(&error)) << error;
      };
      std::thread other(start, &first);
      start(&second);
      other.join();
      ASSERT_EQ(TakenSignals().size(), 2u) << round;
    }
    EXPECT_TRUE(TakenSignals().empty());
  });
}

TEST(LocalThreadsTest, TheProgramMayTakeTheTimersSignal) {
  InChild([] {
    ForbidEvents();
    Recording recording(1000);
    recording.Start();
    const std::set<int> taken = TakenSignals();
    ASSERT_EQ(taken.size(), 1u);
    ::signal(*taken.begin(), [](int) { ++g_signals; });
    // At its next look, the recorder notices that.
    ComputeUntil([&] {
      const int before = g_signals;
      Compute(40);
      return g_signals == before;
    });
    recording.Stop();
    EXPECT_NE(recording.trace->scheduling_error().find("taken their signal"),
              std::string::npos);
    EXPECT_EQ(TakenSignals(), taken);
  });
}

TEST(LocalThreadsTest, ThreadsThatBlockSignalsAreLeftAlone) {
  InChild([] {
    ForbidEvents();
    Recording recording(1000);
    sigset_t all;
    sigfillset(&all);
    std::atomic<bool> is_ready{false};
    std::atomic<bool> is_done{false};
    std::thread blocking([&] {
      pthread_sigmask(SIG_SETMASK, &all, nullptr);
      is_ready = true;
      while (!is_done)
        Compute(1);
      sigset_t pending;
      sigpending(&pending);
      for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
        EXPECT_EQ(sigismember(&pending, signal), 0) << signal;
    });
    while (!is_ready)
      usleep(100);
    recording.Start();
    Compute(150);
    is_done = true;
    blocking.join();
    EXPECT_GT(recording.Stop().num_samples, 0u);
  });
}

TEST(LocalThreadsTest, TimeWithABlockedSignalIsNotTheNextFunctions) {
  internal::TimerSamples timers(1000000);
  std::string error;
  if (!timers.Start(&error))
    GTEST_SKIP() << "not on this processor";
  std::atomic<int32_t> tid{0};
  std::atomic<bool> has_timer{false};
  std::atomic<bool> is_done{false};
  std::atomic<bool> may_end{false};
  std::thread thread([&] {
    tid = ThisThread();
    while (!has_timer)
      usleep(100);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    Compute(500);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    is_done = true;
    while (!may_end)
      usleep(100);
  });
  while (tid == 0)
    usleep(100);
  EXPECT_TRUE(timers.Follow({tid}));
  has_timer = true;
  while (!is_done)
    usleep(1000);
  std::vector<internal::KernelRecord> records;
  timers.Take(&records);
  EXPECT_FALSE(records.empty());
  uint64_t num_periods = timers.TakeNumLost();
  for (const internal::KernelRecord& record : records) {
    EXPECT_LE(record.num_periods, 100u);
    num_periods += record.num_periods;
  }
  // No time is missing. The clock may not have ticked for a while at the end.
  EXPECT_GT(num_periods, 300u);
  may_end = true;
  thread.join();
}

TEST(LocalThreadsTest, ThreadsComeAndGoUnderTimers) {
  InChild([] {
    ForbidEvents();
    Recording recording(1000);
    recording.Start();
    for (int round = 0; round < 3; ++round) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i)
        threads.emplace_back([i] { Compute(static_cast<uint64_t>(25 * i)); });
      for (std::thread& thread : threads)
        thread.join();
    }
    EXPECT_GT(recording.Stop().num_samples, 0u);
  });
}

}  // namespace
}  // namespace protozero
