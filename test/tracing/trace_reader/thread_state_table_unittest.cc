// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/thread_state_table.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/trace_reader.h"
#include "test/tracing/trace_reader/made_trace.h"

namespace {

using protozero::KernelPacket;
using protozero::TraceReader;
using protozero::TrackInfo;
using protozero::internal::ThreadStateTable;
using protozero::internal::TimeDivision;
using protozero::trace::GenericKernelTaskStateEvent;
using protozero::trace::TracePacket;
using State = ThreadStateTable::State;

constexpr auto kUnknown = GenericKernelTaskStateEvent::TASK_STATE_UNKNOWN;
constexpr auto kRunnable = GenericKernelTaskStateEvent::TASK_STATE_RUNNABLE;
constexpr auto kRunning = GenericKernelTaskStateEvent::TASK_STATE_RUNNING;
constexpr auto kSleeping =
    GenericKernelTaskStateEvent::TASK_STATE_INTERRUPTIBLE_SLEEP;
constexpr auto kBlocked =
    GenericKernelTaskStateEvent::TASK_STATE_UNINTERRUPTIBLE_SLEEP;
constexpr auto kDead = GenericKernelTaskStateEvent::TASK_STATE_DEAD;

using TaskState = GenericKernelTaskStateEvent::TaskStateEnum;

TrackInfo ThreadTrack(int32_t pid, int64_t tid) {
  TrackInfo info;
  info.is_thread = true;
  info.pid = pid;
  info.tid = tid;
  return info;
}

class ThreadStateTableTest : public protozero::test::MadeTraceTest {
 protected:
  void AddState(uint64_t time_ns,
                int64_t tid,
                TaskState state,
                int32_t cpu = 0,
                bool is_after_loss = false,
                uint32_t sequence = 1) {
    Add(
        [&](TracePacket* packet) {
          packet->set_timestamp(time_ns);
          if (is_after_loss)
            packet->set_previous_packet_dropped(true);
          auto* const event = packet->set_generic_kernel_task_state_event();
          event->set_tid(tid);
          event->set_state(state);
          event->set_cpu(cpu);
        },
        sequence);
  }
  void AddThread(int64_t pid, int64_t tid, const char* name) {
    Add([&](TracePacket* packet) {
      auto* const thread =
          packet->set_generic_kernel_process_tree()->add_threads();
      thread->set_tid(tid);
      thread->set_pid(pid);
      thread->set_comm(name);
    });
  }

  const ThreadStateTable& Read() {
    TraceReader::Callbacks callbacks;
    callbacks.on_kernel_packet = [this](const KernelPacket& packet) {
      states_.Add(packet);
    };
    callbacks.skips_events = true;
    TraceReader reader(std::move(callbacks));
    EXPECT_TRUE(reader.Read(Bytes()));
    reader.Finish();
    states_.Finish();
    return states_;
  }
  // Returns "ran+ready+waited", or "unknown".
  std::string Divided(int64_t tid, uint64_t begin_ns, uint64_t end_ns) const {
    const auto times =
        states_.Divide(states_.Find(ThreadTrack(0, tid)), begin_ns, end_ns);
    if (!times)
      return "unknown";
    return std::to_string(times->ran_ns) + "+" +
           std::to_string(times->ready_ns) + "+" +
           std::to_string(times->waited_ns);
  }

  ThreadStateTable states_;
};

TEST_F(ThreadStateTableTest, DividesTimeByStates) {
  AddState(100, 7, kRunning);
  AddState(110, 7, kRunnable);  // Preempted.
  AddState(130, 7, kRunning);
  AddState(160, 7, kSleeping);
  AddState(200, 7, kRunnable);  // Woken.
  AddState(205, 7, kRunning);
  AddState(300, 7, kBlocked);
  AddState(400, 8, kRunning);
  const ThreadStateTable& states = Read();
  EXPECT_EQ(Divided(7, 100, 300), "135+25+40");
  EXPECT_EQ(Divided(7, 105, 120), "5+10+0");
  EXPECT_EQ(Divided(7, 170, 170), "0+0+0");
  EXPECT_EQ(Divided(7, 300, 400), "0+0+100");
  const uint32_t thread = states.Find(ThreadTrack(0, 7));
  EXPECT_EQ(states.PartOf(thread, 1).state, State::kPreempted);
  EXPECT_EQ(states.PartOf(thread, 4).state, State::kWoken);
  EXPECT_EQ(states.PartAt(thread, 159), 2u);
  EXPECT_EQ(states.PartAt(thread, 99), states.num_parts(thread));
  // Neither before the first event nor after the last one of any thread.
  EXPECT_EQ(Divided(7, 99, 110), "unknown");
  EXPECT_EQ(Divided(7, 300, 401), "unknown");
  EXPECT_EQ(Divided(9, 100, 110), "unknown");
}

TEST_F(ThreadStateTableTest, ContradictionsAreLosses) {
  AddState(100, 7, kRunning);
  AddState(110, 7, kRunning);
  AddState(120, 7, kSleeping);
  AddState(130, 7, kBlocked);
  AddState(140, 7, kRunnable);
  AddState(150, 7, kSleeping);
  AddState(160, 7, kRunning);
  AddState(170, 7, kUnknown);
  AddState(180, 7, kRunning);
  AddState(190, 7, kDead);
  AddState(200, 7, kRunning);
  AddState(210, 7, kSleeping);
  Read();
  EXPECT_EQ(Divided(7, 100, 105), "unknown");
  EXPECT_EQ(Divided(7, 110, 120), "10+0+0");
  EXPECT_EQ(Divided(7, 121, 122), "unknown");
  EXPECT_EQ(Divided(7, 130, 140), "0+0+10");
  EXPECT_EQ(Divided(7, 140, 150), "unknown");
  EXPECT_EQ(Divided(7, 150, 170), "10+0+10");
  EXPECT_EQ(Divided(7, 175, 175), "unknown");
  EXPECT_EQ(Divided(7, 165, 185), "unknown");
  EXPECT_EQ(Divided(7, 180, 190), "10+0+0");
  EXPECT_EQ(Divided(7, 190, 200), "unknown");
  EXPECT_EQ(Divided(7, 200, 210), "10+0+0");
}

TEST_F(ThreadStateTableTest, AProcessorRunsOneThread) {
  AddState(100, 7, kRunning, 3);
  AddState(150, 8, kRunning, 3);
  AddState(160, 8, kSleeping, 3);
  AddState(170, 9, kRunning, 4);
  AddState(200, 7, kSleeping, 3);
  AddState(300, 7, kRunning, 3);
  AddState(310, 7, kRunnable, 3);
  AddState(310, 8, kRunning, 3);
  AddState(320, 8, kSleeping, 3);
  Read();
  // The end of its run, and the beginning of another, are lost.
  EXPECT_EQ(Divided(7, 100, 200), "unknown");
  EXPECT_EQ(Divided(8, 150, 160), "10+0+0");
  EXPECT_EQ(Divided(9, 170, 320), "150+0+0");
  EXPECT_EQ(Divided(7, 200, 320), "10+10+100");
}

TEST_F(ThreadStateTableTest, ALossBetweenEventsMakesTheTimeUnknown) {
  AddState(100, 7, kRunning);
  AddState(105, 9, kRunning, 1);
  AddState(110, 8, kRunning, 2, /*is_after_loss=*/true);
  AddState(120, 7, kSleeping);
  AddState(130, 7, kRunning);
  Read();
  EXPECT_EQ(Divided(7, 100, 101), "unknown");
  EXPECT_EQ(Divided(7, 120, 130), "0+0+10");
  EXPECT_EQ(Divided(8, 110, 130), "20+0+0");
  // Nothing of it has come since.
  EXPECT_EQ(Divided(9, 105, 106), "unknown");
}

TEST_F(ThreadStateTableTest, TheEndOfASequenceIsTheEndOfItsThreads) {
  AddState(100, 7, kRunning, 0, false, 1);
  AddState(150, 7, kSleeping, 0, false, 1);
  AddState(170, 8, kRunning, 1, false, 1);
  AddState(300, 9, kRunning, 2, false, 2);
  Read();
  EXPECT_EQ(Divided(7, 100, 170), "50+0+20");
  EXPECT_EQ(Divided(7, 160, 171), "unknown");
}

TEST_F(ThreadStateTableTest, ThreadsOfOtherProcessesAreOthers) {
  AddThread(70, 7, "worker");
  AddState(100, 7, kRunning);
  AddState(150, 7, kSleeping);
  AddThread(80, 8, "idle");
  const ThreadStateTable& states = Read();
  const uint32_t thread = states.Find(ThreadTrack(70, 7));
  ASSERT_NE(thread, ThreadStateTable::kNone);
  EXPECT_EQ(states.name(thread), "worker");
  EXPECT_EQ(states.pid(thread), 70);
  EXPECT_EQ(states.Find(ThreadTrack(71, 7)), ThreadStateTable::kNone);
  // It has no states.
  EXPECT_EQ(states.Find(ThreadTrack(80, 8)), ThreadStateTable::kNone);
  TrackInfo other;
  other.tid = 7;
  EXPECT_EQ(states.Find(other), ThreadStateTable::kNone);
}

TEST_F(ThreadStateTableTest, RunsOnAProcessor) {
  AddState(100, 7, kRunning, 3);
  AddState(120, 7, kRunnable, 3);
  AddState(120, 8, kRunning, 3);
  AddState(150, 8, kSleeping, 3);
  AddState(160, 9, kRunning, 4);
  AddState(165, 7, kRunning, 3);
  AddState(170, 7, kSleeping, 3);
  const ThreadStateTable& states = Read();
  const auto runs = states.RunsOn(3, 110, 168);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(states.tid(runs[0].thread), 8);
  EXPECT_EQ(runs[0].ns, 30u);
  EXPECT_EQ(states.tid(runs[1].thread), 7);
  EXPECT_EQ(runs[1].ns, 13u);
}

// A program whose threads run on few processors, and which knows what each of
// them does at each moment.
class KnownProgram {
 public:
  struct Event {
    uint64_t time_ns;
    int64_t tid;
    TaskState state;
    int32_t cpu;
  };
  static constexpr size_t kThreads = 5;
  static constexpr size_t kCpus = 2;

  KnownProgram(uint32_t seed, uint64_t end_ns) : random_(seed) {
    for (uint64_t now = 1; now < end_ns; now += 1 + Below(3))
      Step(now);
    for (size_t i = 0; i < kThreads; ++i)
      FillTruth(i, end_ns);
  }

  const std::vector<Event>& events() const { return events_; }

  // Returns the sums of a time. REQUIRES: it is within the program's.
  TimeDivision Truth(int64_t tid, uint64_t begin_ns, uint64_t end_ns) const {
    TimeDivision times;
    const auto& truth = threads_[static_cast<size_t>(tid)].truth;
    for (uint64_t ns = begin_ns; ns < end_ns; ++ns) {
      times.ran_ns += truth[ns] == kRunning;
      times.ready_ns += truth[ns] == kRunnable;
      times.waited_ns += truth[ns] == kSleeping || truth[ns] == kBlocked;
    }
    return times;
  }

 private:
  struct Thread {
    TaskState state = kSleeping;
    int32_t cpu = 0;
    std::vector<TaskState> truth = {};
  };

  uint32_t Below(uint32_t end) {
    return static_cast<uint32_t>(random_() % end);
  }

  void Step(uint64_t now) {
    const size_t i = Below(kThreads);
    Thread& thread = threads_[i];
    if (thread.state == kRunning) {
      constexpr TaskState kNext[] = {kRunnable, kSleeping, kBlocked};
      Set(i, now, kNext[Below(3)]);
    } else if (thread.state != kRunnable && Below(2) != 0) {
      Set(i, now, kRunnable);
    } else {
      const auto cpu = static_cast<int32_t>(Below(kCpus));
      // Whoever runs there is preempted.
      for (size_t j = 0; j < kThreads; ++j) {
        if (threads_[j].state == kRunning && threads_[j].cpu == cpu)
          Set(j, now, kRunnable);
      }
      thread.cpu = cpu;
      Set(i, now, kRunning);
    }
  }
  void Set(size_t i, uint64_t now, TaskState state) {
    FillTruth(i, now);
    threads_[i].state = state;
    events_.push_back({now, static_cast<int64_t>(i), state, threads_[i].cpu});
  }
  void FillTruth(size_t i, uint64_t now) {
    threads_[i].truth.resize(now, threads_[i].state);
  }

  std::mt19937 random_;
  std::vector<Thread> threads_{kThreads};
  std::vector<Event> events_;
};

class KnownProgramsTest : public ThreadStateTableTest {
 protected:
  static constexpr uint64_t kEndNs = 400;
};

TEST_F(KnownProgramsTest, AllNumbersAreRight) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const KnownProgram program(seed, kEndNs);
    trace_.clear();
    states_ = ThreadStateTable();
    // The events of a processor follow each other in the file, a few at a time.
    for (size_t i = 0; i < program.events().size(); i += 10) {
      const size_t end = std::min(i + 10, program.events().size());
      for (int32_t cpu = 0; cpu < int32_t{KnownProgram::kCpus}; ++cpu) {
        for (size_t j = i; j < end; ++j) {
          const KnownProgram::Event& event = program.events()[j];
          if (event.cpu == cpu)
            AddState(event.time_ns, event.tid + 1, event.state, cpu);
        }
      }
    }
    Read();
    std::mt19937 random(seed);
    for (int i = 0; i < 200; ++i) {
      const auto tid = static_cast<int64_t>(random() % KnownProgram::kThreads);
      const uint64_t begin_ns = random() % kEndNs;
      const uint64_t end_ns = begin_ns + random() % (kEndNs - begin_ns);
      const uint32_t thread = states_.Find(ThreadTrack(0, tid + 1));
      const auto times = states_.Divide(thread, begin_ns, end_ns);
      const bool has_begun = thread != ThreadStateTable::kNone &&
                             states_.PartOf(thread, 0).begin_ns <= begin_ns;
      const bool is_within = end_ns <= program.events().back().time_ns;
      ASSERT_EQ(times.has_value(), has_begun && is_within);
      if (!times)
        continue;
      const TimeDivision truth = program.Truth(tid, begin_ns, end_ns);
      ASSERT_EQ(std::tie(times->ran_ns, times->ready_ns, times->waited_ns),
                std::tie(truth.ran_ns, truth.ready_ns, truth.waited_ns))
          << "seed " << seed;
    }
  }
}

TEST_F(KnownProgramsTest, LossesMakeNumbersUnknownNeverWrong) {
  size_t num_known = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const KnownProgram program(seed, kEndNs);
    std::mt19937 random(seed);
    trace_.clear();
    states_ = ThreadStateTable();
    bool is_after_loss = false;
    size_t to_lose = 0;
    for (const KnownProgram::Event& event : program.events()) {
      if (to_lose == 0 && random() % 25 == 0)
        to_lose = 1 + random() % 6;
      if (to_lose != 0) {
        --to_lose;
        is_after_loss = true;
        continue;
      }
      AddState(event.time_ns, event.tid + 1, event.state, event.cpu,
               is_after_loss && !trace_.empty());
      is_after_loss = false;
    }
    Read();
    for (int i = 0; i < 300; ++i) {
      const auto tid = static_cast<int64_t>(random() % KnownProgram::kThreads);
      const uint64_t begin_ns = random() % kEndNs;
      const uint64_t end_ns = begin_ns + random() % 40;
      const auto times = states_.Divide(states_.Find(ThreadTrack(0, tid + 1)),
                                        begin_ns, end_ns);
      if (!times || end_ns >= kEndNs)
        continue;
      ++num_known;
      const TimeDivision truth = program.Truth(tid, begin_ns, end_ns);
      ASSERT_EQ(std::tie(times->ran_ns, times->ready_ns, times->waited_ns),
                std::tie(truth.ran_ns, truth.ready_ns, truth.waited_ns))
          << "seed " << seed << ", thread " << tid << " from " << begin_ns
          << " to " << end_ns;
    }
  }
  EXPECT_GT(num_known, 1000u);
}

TEST_F(ThreadStateTableTest, RandomBytesAreHarmless) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    trace_.clear();
    states_ = ThreadStateTable();
    for (int i = 0; i < 60; ++i) {
      AddState(random() % 3 == 0 ? ~uint64_t{0} - random() % 9 : random() % 99,
               random() % 2 == 0 ? static_cast<int64_t>(random() % 3)
                                 : -static_cast<int64_t>(random()),
               static_cast<TaskState>(static_cast<int32_t>(random() % 12) - 1),
               static_cast<int32_t>(random()), random() % 7 == 0,
               static_cast<uint32_t>(random() % 3 + 1));
    }
    for (int i = 0; i < 20; ++i)
      trace_[random() % trace_.size()] = static_cast<char>(random());
    TraceReader::Callbacks callbacks;
    callbacks.on_kernel_packet = [this](const KernelPacket& packet) {
      states_.Add(packet);
    };
    TraceReader reader(std::move(callbacks));
    reader.Read(Bytes());
    reader.Finish();
    states_.Finish();
    for (uint32_t thread = 0; thread < states_.num_threads(); ++thread) {
      for (size_t i = 0; i < states_.num_parts(thread); ++i) {
        const ThreadStateTable::Part part = states_.PartOf(thread, i);
        EXPECT_LE(part.begin_ns, part.end_ns);
        const auto times = states_.Divide(thread, part.begin_ns, part.end_ns);
        if (times) {
          EXPECT_EQ(times->ran_ns + times->ready_ns + times->waited_ns,
                    part.dur_ns());
        }
      }
    }
  }
}

}  // namespace
