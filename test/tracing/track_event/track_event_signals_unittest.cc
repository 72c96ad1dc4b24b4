// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"
#include "test/tracing/track_event/flight_content.h"
#include "test/tracing/track_event/trace_reader.h"

// Events of a signal handler that comes at each instruction of an event.

namespace {

using protozero::LocalTrace;

LocalTrace::Options InMemory(std::string* bytes) {
  LocalTrace::Options options;
  options.sink = [bytes](const uint8_t* data, size_t size) {
    bytes->append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  return options;
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DELAYS_SIGNALS 1
#endif
#endif

#if defined(__x86_64__) && !defined(DELAYS_SIGNALS)

std::atomic<int> g_num_traps{0};

void OnTrap(int) {
  g_num_traps.fetch_add(1, std::memory_order_relaxed);
  PROTOZERO_TRACE_EVENT_INSTANT("te", "trap");
}

// The processor's trap flag makes it raise SIGTRAP after each instruction.
void SetTrapFlag() {
  asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" : : : "memory", "cc");
}
void ClearTrapFlag() {
  asm volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" : : : "memory", "cc");
}

void Trace(int i) {
  PROTOZERO_TRACE_EVENT("te", "slice", "i", i);
  PROTOZERO_TRACE_EVENT_INSTANT("te", "instant");
  PROTOZERO_TRACE_COUNTER("te", "counter", i);
}

class TrapHandler {
 public:
  explicit TrapHandler(void (*on_trap)(int) = &OnTrap) {
    struct sigaction action = {};
    action.sa_handler = on_trap;
    sigaction(SIGTRAP, &action, &before_);
  }
  ~TrapHandler() { sigaction(SIGTRAP, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

// Unoptimized code has many more instructions.
#ifdef NDEBUG
constexpr int kNumRounds = 20;
constexpr int kLookAtEvery = 1;
#else
constexpr int kNumRounds = 8;
constexpr int kLookAtEvery = 8;
#endif

// Sessions that come and go make events of many more instructions.
constexpr int kNumRoundsAmongSessions = 5;

void TraceAtEachInstruction(int num_rounds) {
  const TrapHandler handler;
  for (int i = 0; i < num_rounds; ++i) {
    SetTrapFlag();
    Trace(i);
    ClearTrapFlag();
  }
}

TEST(TrackEventSignalsTest, HandlersTraceAtEachInstruction) {
  std::string bytes;
  LocalTrace trace(InMemory(&bytes));
  Trace(0);
  g_num_traps = 0;
  TraceAtEachInstruction(kNumRounds);
  ASSERT_TRUE(trace.Stop()) << trace.error();
  const int num_traps = g_num_traps;
  EXPECT_GT(num_traps, kNumRounds * 100);

  const ReadTrace read = Read(bytes);
  EXPECT_EQ(read.errors, std::vector<std::string>());
  EXPECT_EQ(read.Named("slice").size(), size_t{kNumRounds + 1});
  EXPECT_EQ(read.Named("instant").size(), size_t{kNumRounds + 1});
  const size_t num_recorded = read.Named("trap").size();
  // Many come where the event is not being written.
  EXPECT_GT(num_recorded, size_t{kNumRounds * 10});
  EXPECT_EQ(num_recorded + trace.stats().lost().total(),
            static_cast<size_t>(num_traps));
  int num_ends = 0;
  int num_values = 0;
  uint64_t last = 0;
  for (const ReadEvent& event : read.events) {
    EXPECT_GE(event.time, last);
    last = event.time;
    num_ends += event.type == 2;
    num_values += event.type == 4;
  }
  EXPECT_EQ(num_ends, kNumRounds + 1);
  EXPECT_EQ(num_values, kNumRounds + 1);
}

TEST(TrackEventSignalsTest, HandlersTraceWhileSessionsComeAndGo) {
  std::string bytes;
  LocalTrace trace(InMemory(&bytes));
  Trace(0);
  std::atomic<bool> is_done{false};
  std::thread others([&is_done] {
    while (!is_done) {
      std::string other_bytes;
      LocalTrace other(InMemory(&other_bytes));
      std::this_thread::yield();
    }
  });
  TraceAtEachInstruction(kNumRoundsAmongSessions);
  is_done = true;
  others.join();
  ASSERT_TRUE(trace.Stop()) << trace.error();
  const ReadTrace read = Read(bytes);
  EXPECT_EQ(read.errors, std::vector<std::string>());
  EXPECT_EQ(read.Named("instant").size(), size_t{kNumRoundsAmongSessions + 1});
}

const LocalTrace* g_snapshot_trace = nullptr;
std::string* g_snapshot_path = nullptr;

// Makes a snapshot in a file of its own; the path ends in its number.
void MakeSnapshot(int) {
  int number = g_num_traps.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = g_snapshot_path->size() - 1; i > g_snapshot_path->size() - 6;
       --i) {
    (*g_snapshot_path)[i] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
  if (!g_snapshot_trace->Snapshot(g_snapshot_path->c_str()))
    abort();
}

TEST(TrackEventSignalsTest, HandlersMakeSnapshotsAtEachInstruction) {
  char folder[] = "/dev/shm/track_event_signals_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  std::string path = std::string(folder) + "/00000";
  LocalTrace::Options options;
  options.flight_recorder_in_memory = true;
  options.buffer_size = 1;
  const LocalTrace trace(options);
  ASSERT_EQ(trace.error(), "");
  Trace(0);
  g_num_traps = 0;
  g_snapshot_trace = &trace;
  g_snapshot_path = &path;
  {
    const TrapHandler handler(&MakeSnapshot);
    SetTrapFlag();
    Trace(1);
    ClearTrapFlag();
  }
  const int num_traps = g_num_traps;
  EXPECT_GT(num_traps, 100);
  size_t num_events = 4;
  for (int i = 0; i < num_traps; ++i) {
    std::string name = std::to_string(i);
    name = std::string(folder) + "/" + std::string(5 - name.size(), '0') + name;
    if (i % kLookAtEvery != 0 && i != num_traps - 1) {
      unlink(name.c_str());
      continue;
    }
    const ReadTrace read = Read(RecoverFlight(name).trace);
    unlink(name.c_str());
    EXPECT_EQ(read.errors, std::vector<std::string>());
    // The beginning and end of a slice, an instant and a value.
    EXPECT_TRUE(read.events.size() == num_events ||
                read.events.size() == num_events + 1)
        << read.events.size();
    num_events = read.events.size();
  }
  EXPECT_EQ(num_events, 8u);
  EXPECT_EQ(rmdir(folder), 0);
}

#endif

// Counts the events of handlers, and those of the program's own thread.
std::atomic<size_t> g_num_signals{0};
size_t g_num_own = 0;

void OnSignal(int number) {
  g_num_signals.fetch_add(1, std::memory_order_relaxed);
  if (number == SIGUSR1)
    PROTOZERO_TRACE_EVENT_INSTANT("te", "signal", "number", number);
  else
    PROTOZERO_TRACE_COUNTER("te", "signals", number);
}

// Sends signals to threads as long as it exists. One handler interrupts the
// other, too.
class Interrupter {
 public:
  explicit Interrupter(uint64_t seed) {
    struct sigaction action = {};
    action.sa_handler = &OnSignal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, &before_[0]);
    sigaction(SIGUSR2, &action, &before_[1]);
    sender_ = std::thread([this, seed, target = pthread_self()] {
      std::mt19937_64 random(seed);
      while (!is_done_) {
        pthread_kill(target, random() % 2 == 0 ? SIGUSR1 : SIGUSR2);
        for (uint64_t pause = random() % 4000; pause > 0 && !is_done_; --pause)
          std::atomic_signal_fence(std::memory_order_seq_cst);
      }
    });
  }
  ~Interrupter() {
    is_done_ = true;
    sender_.join();
    // The last signal comes at the end of a system call at the latest.
    std::this_thread::yield();
    sigaction(SIGUSR1, &before_[0], nullptr);
    sigaction(SIGUSR2, &before_[1], nullptr);
  }

 private:
  struct sigaction before_[2] = {};
  std::atomic<bool> is_done_{false};
  std::thread sender_;
};

// Blocks the signals while the thread begins or ends a session, and until it
// has traced in it, as docs/tracing-ipc.md says.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalBlock() {
    PROTOZERO_TRACE_EVENT_INSTANT("te", "own");
    ++g_num_own;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_;
};

// A session, and the program's events before it.
class OwnSession {
 public:
  OwnSession() : trace_(InMemory(&bytes_)), num_own_before_(g_num_own) {}

  // Expects that no event of the program is missing.
  void Stop() {
    ASSERT_TRUE(trace_.Stop()) << trace_.error();
    const ReadTrace read = Read(bytes_);
    EXPECT_EQ(read.errors, std::vector<std::string>());
    EXPECT_EQ(read.Named("own").size() + read.Named("own slice").size(),
              g_num_own - num_own_before_);
    const protozero::TraceStats stats = trace_.stats();
    num_lost_ = static_cast<size_t>(stats.lost().total());
    EXPECT_EQ(stats.lost().of(protozero::LossReason::kWriterBusy), num_lost_);
    num_signals_ = read.Named("signal").size();
    for (const ReadEvent& event : read.events)
      num_signals_ += event.type == 4;
  }
  size_t num_signals() const { return num_signals_; }
  size_t num_lost() const { return num_lost_; }

 private:
  std::string bytes_;
  LocalTrace trace_;
  const size_t num_own_before_;
  size_t num_signals_ = 0;
  size_t num_lost_ = 0;
};

// Traces some events without a pause, so that signals come within them.
void TraceAtRandom(std::mt19937_64* random) {
  const std::string text(static_cast<size_t>((*random)() % 30), 'x');
  for (uint64_t i = 1 + (*random)() % 50; i > 0; --i) {
    if ((*random)() % 2 == 0) {
      PROTOZERO_TRACE_EVENT_INSTANT("te", "own", "text", text.c_str());
    } else {
      PROTOZERO_TRACE_EVENT("te", "own slice");
    }
    ++g_num_own;
  }
}

TEST(TrackEventSignalsTest, RandomProgramsAreInterrupted) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    g_num_signals = 0;
    OwnSession whole;
    TraceAtRandom(&random);
    {
      const Interrupter interrupter(seed);
      std::vector<std::unique_ptr<OwnSession>> sessions;
      for (int i = 0; i < 200; ++i) {
        const size_t number = static_cast<size_t>(random() % 40);
        if (number < 3 && number == sessions.size()) {
          const SignalBlock block;
          sessions.push_back(std::make_unique<OwnSession>());
        } else if (number < sessions.size()) {
          const SignalBlock block;
          sessions[number]->Stop();
          sessions.erase(sessions.begin() + static_cast<ptrdiff_t>(number));
        } else if (number == 39) {
          // The thread has no writer yet, and no signals.
          std::thread([] {
            PROTOZERO_TRACE_EVENT_INSTANT("te", "other thread");
          }).join();
        } else {
          TraceAtRandom(&random);
        }
      }
      const SignalBlock block;
      sessions.clear();
    }
    whole.Stop();
    EXPECT_EQ(whole.num_signals() + whole.num_lost(), g_num_signals);
  }
}

}  // namespace
