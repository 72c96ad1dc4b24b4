// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/thread_states.h"

#include <stdint.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace protozero {
namespace internal {
namespace {

using RecordKind = KernelRecord::Kind;

// Writes down the states, and checks what holds of all of them.
class StateLog : public ThreadStates::Observer {
 public:
  std::string text;
  int num_processes_gone = 0;
  int num_roots_gone = 0;

  void OnState(uint64_t time,
               int32_t tid,
               const ThreadStates::Thread& thread) override {
    EXPECT_GE(time, time_);
    time_ = time;
    const char letters[] = "?CRXWxxD";
    text += std::to_string(time) + ":" + std::to_string(tid) +
            letters[thread.state] + " ";
    const bool ran = running_.count(tid) != 0;
    if (thread.state == ThreadStates::kRunning) {
      EXPECT_FALSE(ran) << text;
      for (const auto& [other, cpu] : running_)
        EXPECT_NE(cpu, thread.cpu) << text;
      running_[tid] = thread.cpu;
    } else if (ran) {
      EXPECT_EQ(running_[tid], thread.cpu) << text;
      running_.erase(tid);
    }
  }
  void OnWaking(const KernelRecord& record,
                const ThreadStates::Thread& thread) override {
    EXPECT_EQ(thread.state, ThreadStates::kRunnable);
    EXPECT_EQ(running_.count(record.subject_tid), 0u);
    text += std::to_string(record.time) + ":" +
            std::to_string(record.subject_tid) + "<" +
            std::to_string(record.tid) + " ";
  }
  void OnThread(int32_t, const ThreadStates::Thread&) override {}
  void OnProcess(int32_t, const ThreadStates::Process&) override {}
  void OnRename(uint64_t, int32_t tid, const std::string& name) override {
    text += std::to_string(tid) + "=" + name + " ";
  }
  void OnProcessGone(int32_t) override { ++num_processes_gone; }
  void OnRootGone(int32_t) override { ++num_roots_gone; }

 private:
  uint64_t time_ = 0;
  std::map<int32_t, uint32_t> running_;
};

KernelRecord At(uint64_t time, RecordKind kind, int32_t tid, uint32_t cpu = 0) {
  KernelRecord record;
  record.time = time;
  record.kind = kind;
  record.pid = 1;
  record.tid = tid;
  record.cpu = cpu;
  return record;
}

KernelRecord Of(int32_t subject, KernelRecord record) {
  record.subject_pid = 1;
  record.subject_tid = subject;
  return record;
}

class ThreadStatesTest : public testing::Test {
 protected:
  ThreadStatesTest() : states_(&log_) {
    ThreadStates::Thread thread;
    thread.pid = 1;
    states_.AddThread(1, thread, 0);
  }

  StateLog log_;
  ThreadStates states_;
};

TEST_F(ThreadStatesTest, TellsPreemptionFromWaiting) {
  states_.Add(At(1, RecordKind::kIn, 1));
  states_.Add(At(2, RecordKind::kPreempted, 1));
  states_.Add(At(3, RecordKind::kIn, 1));
  states_.Add(At(4, RecordKind::kWait, 1));
  EXPECT_EQ(log_.text, "1:1X 2:1R 3:1X 4:1W ");
}

TEST_F(ThreadStatesTest, OnlyWaitingThreadsAreWoken) {
  states_.Add(At(1, RecordKind::kIn, 1));
  states_.Add(Of(1, At(2, RecordKind::kWaking, 9, 1)));
  states_.Add(At(3, RecordKind::kWait, 1));
  // One event says it for the waker, another for the thread.
  states_.Add(Of(1, At(4, RecordKind::kWaking, 9, 1)));
  states_.Add(Of(1, At(4, RecordKind::kWaking, 9, 1)));
  // Not a thread of the recording.
  states_.Add(Of(8, At(5, RecordKind::kWaking, 9, 1)));
  states_.Add(At(6, RecordKind::kIn, 1));
  states_.Add(At(7, RecordKind::kPreempted, 1));
  states_.Add(Of(1, At(8, RecordKind::kWaking, 9, 1)));
  EXPECT_EQ(log_.text, "1:1X 3:1W 4:1<9 6:1X 7:1R ");
  EXPECT_FALSE(states_.Contains(9));
}

TEST_F(ThreadStatesTest, AThreadMayBeWokenBeforeItHasLeftItsProcessor) {
  states_.Add(At(1, RecordKind::kIn, 1));
  states_.Add(Of(1, At(2, RecordKind::kWaking, 8, 1)));
  states_.Add(Of(1, At(3, RecordKind::kWaking, 9, 1)));
  states_.Add(At(4, RecordKind::kWait, 1));
  states_.Add(At(6, RecordKind::kIn, 1));
  EXPECT_EQ(log_.text, "1:1X 4:1W 4:1<9 6:1X ");
  // It is of no use for later waits, nor where records are missing.
  log_.text.clear();
  states_.Add(At(7, RecordKind::kWait, 1));
  states_.Add(At(8, RecordKind::kIn, 1));
  states_.Add(Of(1, At(9, RecordKind::kWaking, 9, 1)));
  states_.Add(At(10, RecordKind::kPreempted, 1));
  states_.Add(At(11, RecordKind::kIn, 1));
  states_.Add(At(12, RecordKind::kWait, 1));
  states_.Add(At(13, RecordKind::kIn, 1));
  EXPECT_EQ(log_.text, "7:1W 8:1X 10:1R 11:1X 12:1W 13:1X ");
  log_.text.clear();
  states_.Add(Of(1, At(14, RecordKind::kWaking, 9, 1)));
  KernelRecord loss = At(15, RecordKind::kLost, 0);
  loss.lost_until = 15;
  states_.Add(loss);
  states_.Add(At(16, RecordKind::kIn, 1));
  states_.Add(At(17, RecordKind::kWait, 1));
  states_.Add(At(18, RecordKind::kIn, 1));
  EXPECT_EQ(log_.text, "15:1? 16:1X 17:1W 18:1X ");
}

TEST_F(ThreadStatesTest, FollowsThreadsFromBeginningToEnd) {
  states_.Add(At(1, RecordKind::kIn, 1));
  states_.Add(Of(2, At(2, RecordKind::kFork, 1)));
  states_.Add(At(3, RecordKind::kIn, 2, 1));
  KernelRecord name = Of(2, At(4, RecordKind::kRename, 2, 1));
  name.text = "worker";
  states_.Add(name);
  states_.Add(Of(2, At(5, RecordKind::kExit, 2, 1)));
  // The kernel has forgotten who this was.
  states_.Add(At(6, RecordKind::kWait, 2, 1));
  states_.Add(At(6, RecordKind::kWait, -1, 1));
  EXPECT_EQ(log_.num_roots_gone, 0);
  states_.Add(Of(1, At(7, RecordKind::kExit, 1)));
  EXPECT_EQ(log_.text, "1:1X 2:2C 3:2X 2=worker 5:2D 7:1D ");
  EXPECT_EQ(log_.num_processes_gone, 1);
  EXPECT_EQ(log_.num_roots_gone, 1);
  EXPECT_TRUE(states_.threads().empty());
  EXPECT_TRUE(states_.processes().empty());
}

TEST_F(ThreadStatesTest, AThreadThatCallsExecGetsTheNumberOfItsProcess) {
  states_.Add(At(1, RecordKind::kIn, 1));
  states_.Add(Of(2, At(2, RecordKind::kFork, 1)));
  states_.Add(At(3, RecordKind::kIn, 2, 1));
  states_.Add(Of(1, At(4, RecordKind::kExit, 1)));
  KernelRecord exec = Of(1, At(5, RecordKind::kExec, 1, 1));
  exec.text = "next";
  states_.Add(exec);
  EXPECT_EQ(log_.text, "1:1X 2:2C 3:2X 4:1D 5:2? 5:1X 5:2D 1=next ");
  EXPECT_FALSE(states_.Contains(2));
  states_.Add(Of(1, At(6, RecordKind::kExit, 1, 1)));
  EXPECT_EQ(log_.num_processes_gone, 1);
  EXPECT_EQ(log_.num_roots_gone, 1);
}

TEST_F(ThreadStatesTest, ASampleOfAThreadProvesThatItRuns) {
  states_.Add(At(1, RecordKind::kSample, 1, 3));
  states_.Add(At(2, RecordKind::kSample, 1, 3));
  states_.Add(At(3, RecordKind::kWait, 1, 3));
  EXPECT_EQ(log_.text, "1:1X 3:1W ");
}

TEST_F(ThreadStatesTest, AFoundStateHoldsUntilTheFirstRecord) {
  states_.Add(At(1, RecordKind::kFoundWaiting, 1));
  states_.Add(At(2, RecordKind::kIn, 1));
  states_.Add(At(3, RecordKind::kFoundReady, 1));
  ThreadStates::Thread thread;
  thread.pid = 1;
  states_.AddThread(2, thread, 0);
  states_.Add(At(4, RecordKind::kFoundRunning, 2, 1));
  states_.Add(At(5, RecordKind::kPreempted, 2, 1));
  EXPECT_EQ(log_.text, "1:1W 2:1X 4:2X 5:2R ");
}

TEST_F(ThreadStatesTest, RepeatedRecordsAreIgnored) {
  states_.Add(At(1, RecordKind::kIn, 1));
  states_.Add(At(1, RecordKind::kIn, 1));
  states_.Add(At(2, RecordKind::kWait, 1));
  states_.Add(At(2, RecordKind::kWait, 1));
  EXPECT_EQ(log_.text, "1:1X 2:1W ");
}

TEST_F(ThreadStatesTest, StatesAreUnknownWhereRecordsAreLost) {
  states_.Add(Of(2, At(1, RecordKind::kFork, 1)));
  states_.Add(At(2, RecordKind::kIn, 2, 1));
  KernelRecord loss = At(3, RecordKind::kLost, 0);
  loss.lost_until = 10;
  states_.Add(loss);
  const size_t before = log_.text.size();
  // It runs: that is known. What it does after that may be among the losses.
  states_.Add(At(4, RecordKind::kIn, 2, 1));
  states_.Add(At(5, RecordKind::kWait, 2, 1));
  states_.Add(At(11, RecordKind::kIn, 2, 1));
  states_.Add(At(12, RecordKind::kWait, 2, 1));
  states_.Add(At(13, RecordKind::kPreempted, 1, 0));
  EXPECT_EQ(log_.text.substr(before), "4:2X 5:2? 11:2X 12:2W 13:1R ");
}

TEST_F(ThreadStatesTest, AThreadMadeWhereRecordsAreLostMayRun) {
  states_.Add(At(1, RecordKind::kIn, 1));
  KernelRecord loss = At(2, RecordKind::kLost, 0);
  loss.lost_until = 10;
  states_.Add(loss);
  states_.Add(Of(2, At(5, RecordKind::kFork, 1)));
  states_.Add(At(11, RecordKind::kIn, 2, 1));
  EXPECT_EQ(log_.text, "1:1X 2:1? 5:1X 11:2X ");
}

TEST_F(ThreadStatesTest, AnyRecordsKeepTheRules) {
  std::mt19937 random(1);
  for (uint64_t time = 1; time < 20000; ++time) {
    const auto kind = static_cast<RecordKind>(random() % 15);
    KernelRecord record =
        Of(static_cast<int32_t>(random() % 8 + 1),
           At(time, kind, static_cast<int32_t>(random() % 9), random() % 4));
    record.pid = static_cast<int32_t>(random() % 3 + 1);
    record.subject_pid = static_cast<int32_t>(random() % 3 + 1);
    record.lost_until = time + random() % 5;
    if (kind == RecordKind::kLost && random() % 16 != 0)
      continue;
    states_.Add(record);
    log_.text.clear();
  }
}

}  // namespace
}  // namespace internal
}  // namespace protozero
