// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program of random threads, which compute, sleep, fault pages, take locks
// that others hold, and wait for an answer in a pipe, beside a thread that
// takes their processor. Its argument is the seed. For each line of the
// standard input, it makes new threads, and prints what each of their parts
// was, by its own clocks, in nanoseconds:
//
//   ID KIND BEGIN END RAN WAITED DELAYED TURNS
//
// RAN is the time of the thread's clock, and WAITED a time that it waited at
// least. DELAYED is the time that it was ready, and TURNS the number of times
// that it got a processor, by the kernel's sums; -1 without them. Parts of the
// kind "run" do not wait. Each part is also a slice, whose argument is ID. The
// last line of a round is "round". If the line is "flood", threads switch as
// often as they can meanwhile.

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"
#include "protozero/tracing/track_event_args.h"

namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr int kThreads = 4;
constexpr int kParts = 6;

uint64_t Now(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_nsec);
}

void Compute(uint64_t nanoseconds) {
  const uint64_t end = Now(CLOCK_THREAD_CPUTIME_ID) + nanoseconds;
  while (Now(CLOCK_THREAD_CPUTIME_ID) < end) {
    for (volatile int i = 0; i < 1000;)
      i = i + 1;
  }
}

void Sleep(uint64_t nanoseconds) {
  const timespec time = {0, static_cast<long>(nanoseconds)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

// Binds the calling thread to one of the processors that it may use.
void PinTo(int index) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  index %= std::max(1, CPU_COUNT(&allowed));
  int cpu = 0;
  for (;; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && index-- == 0)
      break;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

// The clocks of a thread at one moment.
struct Moment {
  uint64_t time = 0;
  uint64_t ran = 0;
  int64_t delayed = -1;
  int64_t turns = -1;
};

void ReadSums(Moment* moment) {
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  char text[100] = {};
  const ssize_t size = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
  close(file);
  int64_t ran = 0;
  int64_t delayed = -1;
  int64_t turns = -1;
  if (size > 0 && sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64, &ran,
                         &delayed, &turns) == 3) {
    moment->delayed = delayed;
    moment->turns = turns;
  }
}

Moment TakeMoment() {
  // The thread must not be interrupted between the clocks.
  for (int tries = 0;; ++tries) {
    Moment moment;
    const uint64_t begin = Now(CLOCK_BOOTTIME);
    ReadSums(&moment);
    moment.time = Now(CLOCK_BOOTTIME);
    moment.ran = Now(CLOCK_THREAD_CPUTIME_ID);
    if (Now(CLOCK_BOOTTIME) - begin < 50000 || tries == 1000)
      return moment;
  }
}

// A lock, and the time at which it was released last.
struct Lock {
  std::mutex mutex;
  uint64_t released = 0;
};

Lock g_locks[2];
std::atomic<uint64_t> g_next_id{0};
std::mutex g_print_mutex;
int g_questions[2];

// A question to the thread that answers.
struct Question {
  int answer_to;
  bool sleeps;
  uint64_t nanoseconds;
};

// Answers by the time, until the questions end.
void AnswerQuestions() {
  Question question;
  while (read(g_questions[0], &question, sizeof(question)) ==
         static_cast<ssize_t>(sizeof(question))) {
    if (question.answer_to < 0)
      return;
    if (question.sleeps)
      Sleep(question.nanoseconds);
    else
      Compute(question.nanoseconds);
    const uint64_t now = Now(CLOCK_BOOTTIME);
    if (write(question.answer_to, &now, sizeof(now)) < 0)
      return;
  }
}

// Does |part|, which returns until when it waited at least, or 0.
template <typename Part>
void Measure(const char* kind, Part part) {
  const Moment begin = TakeMoment();
  const uint64_t waited_until = part();
  const Moment end = TakeMoment();
  const uint64_t id = g_next_id.fetch_add(1);
  PROTOZERO_TRACE_EVENT_BEGIN("truth", "part", protozero::Timestamp(begin.time),
                              "id", id);
  PROTOZERO_TRACE_EVENT_END("truth", protozero::Timestamp(end.time));
  const std::lock_guard<std::mutex> lock(g_print_mutex);
  printf("%" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
         " %" PRId64 " %" PRId64 "\n",
         id, kind, begin.time, end.time, end.ran - begin.ran,
         std::max(waited_until, begin.time) - begin.time,
         begin.delayed < 0 ? -1 : end.delayed - begin.delayed,
         begin.turns < 0 ? -1 : end.turns - begin.turns);
}

uint64_t FaultPages(size_t size) {
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return 0;
  madvise(memory, size, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < size; i += 4096)
    static_cast<volatile char*>(memory)[i] = 1;
  munmap(memory, size);
  return 0;
}

void Run(uint64_t seed) {
  std::mt19937_64 random(seed);
  if (random() % 2 == 0)
    PinTo(0);
  int answers[2];
  if (pipe(answers) != 0)
    return;
  for (int i = 0; i < kParts; ++i) {
    const uint64_t time = kMillisecond + random() % (7 * kMillisecond);
    const bool sleeps = random() % 2 == 0;
    switch (random() % 5) {
      case 0:
        Measure("run", [&] {
          Compute(2 * time);
          return 0;
        });
        break;
      case 1:
        Measure("sleep", [&] {
          const uint64_t begin = Now(CLOCK_BOOTTIME);
          Sleep(time);
          return begin + time;
        });
        break;
      case 2:
        Measure("faults", [&] { return FaultPages(time / 2); });
        break;
      case 3: {
        Lock& lock = g_locks[random() % 2];
        Measure("lock", [&] {
          lock.mutex.lock();
          return lock.released;
        });
        if (sleeps)
          Sleep(time);
        else
          Compute(time);
        lock.released = Now(CLOCK_BOOTTIME);
        lock.mutex.unlock();
        break;
      }
      default:
        Measure("read", [&]() -> uint64_t {
          const Question question = {answers[1], sleeps, time};
          uint64_t answered = 0;
          if (write(g_questions[1], &question, sizeof(question)) < 0 ||
              read(answers[0], &answered, sizeof(answered)) < 0) {
            return 0;
          }
          return answered;
        });
    }
  }
  close(answers[0]);
  close(answers[1]);
}

// Switches between two threads on one processor.
class Flood {
 public:
  explicit Flood(int cpu) {
    if (pipe(there_) != 0 || pipe(back_) != 0)
      abort();
    threads_.emplace_back([this, cpu] {
      PinTo(cpu);
      char byte = 0;
      while (write(there_[1], &byte, 1) == 1 && read(back_[0], &byte, 1) == 1 &&
             !is_ended_) {
        ++times_;
      }
      byte = 1;
      if (write(there_[1], &byte, 1) < 0)
        abort();
    });
    threads_.emplace_back([this, cpu] {
      PinTo(cpu);
      char byte = 0;
      while (read(there_[0], &byte, 1) == 1 && byte == 0 &&
             write(back_[1], &byte, 1) == 1) {
      }
    });
  }
  // Waits until nine tenths of a ring of 512 kB are full: each time makes four
  // records of 40 bytes.
  void FillRing() const {
    while (times_ < 512 * 1024 / 160 / 10 * 9)
      usleep(1000);
  }
  ~Flood() {
    is_ended_ = true;
    for (std::thread& thread : threads_)
      thread.join();
    for (const int end : {there_[0], there_[1], back_[0], back_[1]})
      close(end);
  }

 private:
  std::atomic<bool> is_ended_{false};
  std::atomic<int> times_{0};
  int there_[2];
  int back_[2];
  std::vector<std::thread> threads_;
};

void DoRound(uint64_t seed, bool is_flood) {
  std::vector<std::unique_ptr<Flood>> floods;
  for (int cpu = 0; is_flood && cpu < 2; ++cpu)
    floods.push_back(std::make_unique<Flood>(cpu));
  // Records are lost in the middle of the round.
  for (const auto& flood : floods)
    flood->FillRing();
  std::atomic<bool> is_done{false};
  std::thread answers(AnswerQuestions);
  std::thread neighbour([&is_done] {
    PinTo(0);
    while (!is_done) {
      Measure("run", [] {
        Compute(20 * kMillisecond);
        return 0;
      });
    }
  });
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; ++i)
    threads.emplace_back(Run, seed * kThreads + i);
  for (std::thread& thread : threads)
    thread.join();
  is_done = true;
  neighbour.join();
  const Question end = {-1, false, 0};
  if (write(g_questions[1], &end, sizeof(end)) < 0)
    abort();
  answers.join();
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  protozero::Producer producer({});
  producer.RegisterDataSource(protozero::TrackEventDataSource());
  if (!producer.Sync(5000) || pipe(g_questions) != 0)
    return 1;
  char line[100];
  while (fgets(line, sizeof(line), stdin) != nullptr) {
    DoRound(seed++, strncmp(line, "flood", 5) == 0);
    puts("round");
    fflush(stdout);
  }
  return 0;
}
