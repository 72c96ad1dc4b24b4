// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tasks/task_timeline.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "src/pztrace/tasks/request_path.h"
#include "src/pztrace/tasks/task_summary.h"

namespace pztrace {
namespace {

using protozero::TaskPlace;
using protozero::TaskStep;
using Kind = TaskStep::Kind;
using Stop = TaskStep::Stop;
using State = TaskTimeline::State;

const TaskPlace kSpawnPlace = {"worker", "src/server.cc", 10};
const TaskPlace kPlaces[] = {{"read", "src/server.cc", 20},
                             {"lock", "src/lock.cc", 30}};

// Steps of threads of one process.
struct Steps {
  TaskStep& Add(Kind kind, uint64_t thread, uint64_t time_ns, uint64_t task) {
    TaskStep step{};
    step.kind = kind;
    step.thread = thread;
    step.process = 1;
    step.time_ns = time_ns;
    step.task = task;
    if (kind == Kind::kSpawn || (kind == Kind::kSwitch && task != 0))
      step.spawned_at = &kSpawnPlace;
    steps.push_back(step);
    return steps.back();
  }
  void Spawn(uint64_t thread, uint64_t time_ns, uint64_t task) {
    Add(Kind::kSpawn, thread, time_ns, task);
  }
  void Wake(uint64_t thread, uint64_t time_ns, uint64_t task) {
    Add(Kind::kWake, thread, time_ns, task);
  }
  void End(uint64_t thread, uint64_t time_ns, uint64_t task) {
    Add(Kind::kEnd, thread, time_ns, task).result = 4;
  }
  void Loss(uint64_t thread) { Add(Kind::kLoss, thread, 0, 0); }
  void Request(uint64_t thread, uint64_t time_ns, const char* text) {
    Add(Kind::kRequest, thread, time_ns, 0).text = text;
  }
  void Run(uint64_t thread, uint64_t time_ns, uint64_t next) {
    Add(Kind::kSwitch, thread, time_ns, next);
  }
  void Wait(uint64_t thread, uint64_t time_ns, uint64_t next, int place) {
    TaskStep& step = Add(Kind::kSwitch, thread, time_ns, next);
    step.stop = Stop::kWaits;
    step.waits_at = &kPlaces[place];
  }
  void Done(uint64_t thread, uint64_t time_ns, uint64_t next) {
    TaskStep& step = Add(Kind::kSwitch, thread, time_ns, next);
    step.stop = Stop::kEnds;
    step.result = 1;
  }
  void GiveTo(TaskTimeline* timeline, uint64_t end_ns) const {
    for (const TaskStep& step : steps)
      timeline->Add(step);
    timeline->Finish(end_ns);
  }

  std::vector<TaskStep> steps;
};

uint32_t IndexOf(const TaskTimeline& timeline, uint64_t number) {
  for (uint32_t i = 0; i < timeline.tasks().size(); ++i) {
    if (timeline.tasks()[i].number == number)
      return i;
  }
  return kNoIndex;
}

uint64_t NumberOf(const TaskTimeline& timeline, uint32_t task) {
  return task == kNoIndex ? 0 : timeline.tasks()[task].number;
}

// Returns the life of a task as a text: "10 ready 12 running 1".
std::string LifeOf(const TaskTimeline& timeline, uint64_t number) {
  std::string life;
  const uint32_t task = IndexOf(timeline, number);
  if (task == kNoIndex)
    return "no such task";
  for (uint32_t i = timeline.tasks()[task].first_part; i != kNoIndex;) {
    const TaskTimeline::Part& part = timeline.parts()[i];
    life += (life.empty() ? "" : " ") + std::to_string(part.begin_ns);
    switch (part.state()) {
      case State::kUnknown:
        life += " unknown";
        break;
      case State::kReady:
        life += " ready";
        if (part.thread != TaskTimeline::kNoThread)
          life += " by " + std::to_string(NumberOf(timeline, part.other));
        break;
      case State::kRunning:
        life += " on " + std::to_string(timeline.threads()[part.thread].track);
        break;
      case State::kWaiting:
        life += " " + timeline.places()[part.other].name;
        break;
      case State::kEnded:
        life += " ended " +
                std::to_string(static_cast<int>(timeline.tasks()[task].result));
        break;
    }
    i = part.next;
  }
  return life;
}

std::string RequestOf(const TaskTimeline& timeline, uint64_t number) {
  const uint32_t request =
      timeline.LastRequestOf(timeline.tasks()[IndexOf(timeline, number)]);
  return request == kNoIndex ? "" : timeline.texts()[request];
}

TEST(TaskTimelineTest, ALife) {
  Steps steps;
  steps.Run(100, 5, 1);
  steps.Spawn(100, 10, 2);
  steps.Wait(200, 12, 2, 0);
  steps.Wait(200, 15, 0, 1);
  steps.Wake(100, 20, 2);
  steps.Run(100, 22, 2);
  steps.Done(100, 30, 0);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 50);
  EXPECT_EQ(LifeOf(timeline, 1), "5 on 100 22 ready");
  EXPECT_EQ(
      LifeOf(timeline, 2),
      "10 ready by 1 12 on 200 15 lock 20 ready by 1 22 on 100 30 ended 1");
  const TaskTimeline::Task& task = timeline.tasks()[IndexOf(timeline, 2)];
  EXPECT_EQ(NumberOf(timeline, task.parent), 1u);
  EXPECT_EQ(timeline.places()[task.place].name, "worker");
  EXPECT_TRUE(task.is_spawn_known);
  EXPECT_EQ(timeline.EndOf(timeline.parts()[task.last_part]), 50u);
}

TEST(TaskTimelineTest, AWakeWhileItRunsIsNoWait) {
  Steps steps;
  steps.Run(100, 5, 1);
  steps.Run(200, 5, 2);
  steps.Wake(200, 7, 1);
  steps.Wait(100, 9, 0, 0);
  steps.Run(100, 11, 1);
  steps.Wait(100, 13, 0, 1);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 20);
  EXPECT_EQ(LifeOf(timeline, 1), "5 on 100 9 ready by 2 11 on 100 13 lock");
}

TEST(TaskTimelineTest, ItRunsWithoutAWakeAndEndsWithoutRunning) {
  Steps steps;
  steps.Spawn(100, 1, 1);
  steps.Run(100, 2, 1);
  steps.Wait(100, 3, 0, 0);
  steps.Run(100, 6, 1);
  steps.Run(100, 7, 1);  // It goes on.
  steps.Wait(100, 8, 0, 1);
  steps.End(200, 9, 1);
  steps.Wake(200, 10, 1);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 20);
  EXPECT_EQ(LifeOf(timeline, 1),
            "1 ready by 0 2 on 100 3 read 6 on 100 8 lock 9 ended 4");
}

TEST(TaskTimelineTest, SpawnsAndWakesComeFirstAtEqualTimes) {
  Steps steps;
  steps.Run(100, 5, 1);
  steps.Spawn(200, 5, 1);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 20);
  EXPECT_EQ(LifeOf(timeline, 1), "5 ready by 0 5 on 100");
}

TEST(TaskTimelineTest, ALossMakesUnknownWhatOtherThreadsCannotSay) {
  Steps steps;
  steps.Spawn(100, 1, 1);
  steps.Spawn(100, 1, 2);
  steps.Spawn(100, 1, 3);
  steps.Spawn(100, 1, 4);
  steps.Run(100, 2, 1);
  steps.Run(200, 2, 2);
  steps.Run(300, 2, 4);
  steps.Done(300, 3, 0);
  // Thread 100 loses steps between 10 and 20.
  steps.Wake(100, 10, 2);
  steps.Loss(100);
  steps.Wake(100, 20, 3);
  steps.Wait(200, 25, 0, 0);
  steps.Run(100, 30, 3);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 40);
  EXPECT_EQ(LifeOf(timeline, 1), "1 ready by 0 2 on 100 10 unknown");
  // Another wake of 2 may be lost, and so may be that of 3.
  EXPECT_EQ(LifeOf(timeline, 2), "1 ready by 0 2 on 200 25 unknown");
  EXPECT_EQ(LifeOf(timeline, 3), "1 ready by 0 10 unknown 30 on 100");
  EXPECT_EQ(LifeOf(timeline, 4), "1 ready by 0 2 on 300 3 ended 1");
}

TEST(TaskTimelineTest, AProcessDoesNotLoseTheStepsOfAnother) {
  Steps steps;
  steps.Spawn(100, 1, 1);
  steps.Loss(300);
  steps.Wake(300, 20, 1);
  steps.steps[1].process = steps.steps[2].process = 2;
  steps.Run(100, 30, 1);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 40);
  EXPECT_EQ(LifeOf(timeline, 1), "1 ready by 0 30 on 100");
  EXPECT_EQ(timeline.tasks().size(), 2u);
}

TEST(TaskTimelineTest, AWakeOfATaskFromBeforeTheTraceSaysNothing) {
  Steps steps;
  steps.Wake(100, 5, 1);
  steps.Run(200, 9, 1);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 20);
  EXPECT_EQ(LifeOf(timeline, 1), "5 unknown 9 on 200");
  EXPECT_FALSE(timeline.tasks()[0].is_spawn_known);
}

TEST(TaskTimelineTest, RequestsFollowSpawnsAndWakes) {
  Steps steps;
  steps.Run(100, 1, 1);
  steps.Spawn(100, 2, 9);
  steps.Request(100, 3, "a");
  steps.Spawn(100, 4, 2);
  steps.Add(Kind::kSpawn, 100, 5, 3).parent = 0;
  steps.Add(Kind::kSpawn, 100, 6, 4).parent = 2;
  steps.Wake(100, 7, 9);
  steps.Request(100, 8, "b");
  steps.Wake(100, 9, 2);
  steps.Done(100, 10, 2);
  steps.Wait(100, 15, 0, 0);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 20);
  EXPECT_EQ(RequestOf(timeline, 1), "b");
  EXPECT_EQ(RequestOf(timeline, 2), "a");
  EXPECT_EQ(RequestOf(timeline, 3), "");
  EXPECT_EQ(RequestOf(timeline, 4), "a");
  EXPECT_EQ(RequestOf(timeline, 9), "a");
  const TaskTimeline::Request& a =
      timeline.requests()[timeline.texts().Find("a")];
  EXPECT_EQ(a.begin_ns, 3u);
  EXPECT_EQ(a.end_ns, 15u);
  EXPECT_EQ(a.num_tasks, 4u);
  EXPECT_EQ(timeline.requests()[timeline.texts().Find("b")].end_ns, 10u);
}

TEST(TaskTimelineTest, ARequestEndsBeforeTheTaskWaitsForTheNextOne) {
  Steps steps;
  steps.Run(100, 1, 1);
  steps.Request(100, 2, "a");
  steps.Wait(100, 5, 0, 0);
  steps.Wake(100, 50, 1);
  steps.Run(100, 60, 1);
  steps.Request(100, 70, "b");
  steps.Request(100, 80, "");
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 100);
  EXPECT_EQ(timeline.requests()[timeline.texts().Find("a")].end_ns, 5u);
  EXPECT_EQ(timeline.requests()[timeline.texts().Find("b")].begin_ns, 70u);
  EXPECT_EQ(timeline.requests()[timeline.texts().Find("b")].end_ns, 80u);
}

// In each case, the run that is looked at is the request's last one.
TEST(TaskTimelineTest, ARequestLastsUntilTheLastRunOfItsTasks) {
  const auto end_of = [](const Steps& steps) {
    TaskTimeline timeline;
    steps.GiveTo(&timeline, 100);
    return timeline.requests()[timeline.texts().Find("a")].end_ns;
  };
  Steps begun;
  begun.Run(100, 1, 1);
  begun.Request(100, 3, "a");
  // It is open at the end of the trace.
  EXPECT_EQ(end_of(begun), 100u);
  Steps stopped = begun;
  stopped.Run(100, 20, 0);
  EXPECT_EQ(end_of(stopped), 20u);
  Steps lost = begun;
  lost.Spawn(100, 30, 2);
  lost.Loss(100);
  EXPECT_EQ(end_of(lost), 30u);
  Steps ended = begun;
  ended.End(200, 40, 1);
  EXPECT_EQ(end_of(ended), 40u);
  // Another thread runs it, and the first has not said that it has left it.
  Steps moved = begun;
  moved.Run(200, 50, 1);
  moved.Request(200, 60, "b");
  EXPECT_EQ(end_of(moved), 50u);
  Steps next = begun;
  next.Request(100, 70, "b");
  EXPECT_EQ(end_of(next), 70u);
}

// A request through two tasks and two threads, with a gap of each kind.
TEST(RequestPathTest, EachGapIsExplained) {
  Steps steps;
  steps.Spawn(100, 5, 1);
  steps.Spawn(100, 5, 7);
  steps.Spawn(100, 5, 8);
  steps.Run(100, 10, 1);
  steps.Request(100, 12, "a");
  steps.Spawn(100, 20, 2);
  steps.Wait(100, 25, 7, 0);  // 1 waits for 2, and 7 takes the thread.
  steps.Run(200, 15, 8);
  steps.Run(200, 40, 2);  // 2 had to wait for 8.
  steps.Wait(200, 50, 0, 1);
  steps.Wake(300, 65, 2);  // No task has woken it.
  steps.Run(200, 66, 2);
  steps.Wake(200, 80, 1);
  steps.Done(200, 85, 0);
  steps.Run(100, 95, 1);
  steps.Done(100, 99, 0);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 200);
  const uint32_t request = timeline.texts().Find("a");
  std::string path;
  uint64_t last_ns = 12;
  for (const PathPart& part : PathOf(timeline, request)) {
    EXPECT_EQ(part.begin_ns, last_ns);
    last_ns = part.end_ns;
    path += std::to_string(part.begin_ns) + " " +
            std::to_string(NumberOf(timeline, part.task));
    if (part.kind == PathPart::Kind::kRan)
      path += " ran";
    if (part.kind == PathPart::Kind::kReady)
      path += " ready";
    if (part.kind == PathPart::Kind::kWaited)
      path += " " + timeline.places()[part.place].name;
    if (part.thread != kNoIndex)
      path += " " + std::to_string(timeline.threads()[part.thread].track);
    for (const PathPart::Other& other : part.others) {
      path += " " + std::to_string(NumberOf(timeline, other.task)) + ":" +
              std::to_string(other.ns);
    }
    path += "\n";
  }
  EXPECT_EQ(last_ns, 99u);
  EXPECT_EQ(path,
            "12 1 ran 100\n"
            "20 2 ready 200 8:20\n"
            "40 2 ran 200\n"
            "50 2 lock 300\n"
            "65 2 ready 200\n"
            "66 2 ran 200\n"
            "80 1 ready 100 7:15\n"
            "95 1 ran 100\n");
}

// Many places whose tasks all wait for one thread: each run delays all others.
TEST(TaskSummaryTest, LongRunsNameSomePlacesAndCountTheOthers) {
  constexpr uint32_t kTasks = 100;
  std::vector<TaskPlace> places;
  for (uint32_t i = 0; i < kTasks; ++i)
    places.push_back({"place", "src/server.cc", i});
  Steps steps;
  for (uint32_t i = 0; i < kTasks; ++i)
    steps.Add(Kind::kSpawn, 100, 1 + i, i + 1).spawned_at = &places[i];
  for (uint32_t i = 0; i < kTasks; ++i) {
    TaskStep& step = steps.Add(Kind::kSwitch, 100, 1000 + 10 * i, i + 1);
    step.spawned_at = &places[i];
    step.stop = Stop::kEnds;
  }
  steps.Done(100, 1000 + 10 * kTasks, 0);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 5000);
  protozero::TraceReader reader({});
  TaskSummary summary;
  summary.Add(timeline, reader.tracks(), 1);
  ASSERT_EQ(summary.rows().size(), kTasks);
  size_t num_detailed = 0;
  for (const auto& [place, row] : summary.rows()) {
    // The tasks that run later wait during the whole run.
    const uint64_t num_later = kTasks - 1 - place.line;
    EXPECT_EQ(row.longest.num_delayed, num_later);
    EXPECT_EQ(row.longest.delayed_ns, 10 * num_later);
    num_detailed += !row.longest.delayed.empty();
    EXPECT_EQ(row.longest.delayed.size(),
              place.line < LongRun::kMaxDetailedRuns
                  ? std::min<size_t>(num_later, LongRun::kMaxDelayedPlaces)
                  : 0);
  }
  EXPECT_EQ(num_detailed, LongRun::kMaxDetailedRuns);
}

TEST(TaskSummaryTest, SaysWhatALongRunHasDelayed) {
  Steps steps;
  steps.Run(100, 10, 1);
  steps.Spawn(200, 15, 2);
  steps.Spawn(200, 16, 3);
  steps.Spawn(200, 17, 4);
  steps.Run(300, 30, 4);  // Another thread runs it.
  steps.Done(300, 31, 0);
  steps.Wait(100, 50, 2, 0);
  steps.Wait(100, 52, 3, 1);
  steps.Done(100, 53, 0);
  steps.End(200, 70, 2);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 110);
  protozero::TraceReader reader({});
  TaskSummary summary;
  summary.Add(timeline, reader.tracks(), 10);
  ASSERT_EQ(summary.rows().size(), 1u);
  const TaskRow& row = summary.rows().begin()->second;
  EXPECT_EQ(PlaceText(summary.rows().begin()->first), "worker (server.cc:10)");
  EXPECT_EQ(row.tasks, 4u);
  EXPECT_EQ(row.runs.total_ns, 40u + 1 + 2 + 1);
  EXPECT_EQ(row.delay.count, 3u);
  EXPECT_EQ(row.delay.total_ns, (50u - 15) + (52 - 16) + (30 - 17));
  EXPECT_EQ(row.DelayPercentile(99), 36u);
  EXPECT_EQ(row.longest.ns, 40u);
  EXPECT_EQ(row.longest.since_ns, 0u);
  EXPECT_EQ(row.longest.task, "worker #1");
  ASSERT_EQ(row.longest.delayed.size(), 1u);
  EXPECT_EQ(row.longest.delayed.begin()->second.count, 2u);
  EXPECT_EQ(row.longest.delayed.begin()->second.total_ns, 35u + 34);
  EXPECT_EQ(row.longest.num_delayed, 2u);
  EXPECT_EQ(row.longest.delayed_ns, 35u + 34);
  ASSERT_EQ(row.unresumed.size(), 1u);
  EXPECT_EQ(row.unresumed.begin()->first.name, "read");
  EXPECT_EQ(row.unresumed.begin()->second.since_ns, 40u);
  EXPECT_EQ(row.unresumed.begin()->second.ns, 60u);
  EXPECT_EQ(row.NotEnded(), 1u);
  ASSERT_EQ(row.destroyed.size(), 1u);
  EXPECT_EQ(row.destroyed.begin()->first.name, "lock");
}

TEST(TaskSummaryTest, CountsNoDelayInWhichAWakeOrARunMayBeMissing) {
  Steps steps;
  steps.Spawn(100, 1, 1);
  steps.Spawn(100, 1, 2);
  steps.Run(100, 5, 1);
  // Thread 100 loses steps between 10 and 20. Task 2 may have run then.
  steps.Wake(100, 10, 1);
  steps.Loss(100);
  steps.Wake(100, 20, 3);
  steps.Run(100, 30, 2);
  // It has not been woken: it goes on by itself.
  steps.Run(100, 33, 0);
  steps.Run(100, 36, 2);
  steps.Done(100, 40, 0);
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 50);
  EXPECT_EQ(LifeOf(timeline, 2),
            "1 ready by 0 10 unknown 30 on 100 33 ready 36 on 100 40 ended 1");
  protozero::TraceReader reader({});
  TaskSummary summary;
  summary.Add(timeline, reader.tracks(), 10);
  uint64_t count = 0;
  uint64_t total_ns = 0;
  for (const auto& [place, row] : summary.rows()) {
    count += row.delay.count;
    total_ns += row.delay.total_ns;
  }
  // That of task 1.
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(total_ns, 4u);
}

TEST(TaskSummaryTest, SaysWhatHadNotEnded) {
  Steps steps;
  steps.Run(100, 10, 1);
  steps.Request(100, 12, "a");
  steps.Spawn(100, 20, 2);
  steps.Spawn(100, 25, 3);
  steps.Add(Kind::kSpawn, 100, 26, 4).parent = 0;
  // Its place is not known.
  steps.Add(Kind::kSwitch, 100, 30, 4).stop = Stop::kWaits;
  TaskTimeline timeline;
  steps.GiveTo(&timeline, 90);
  protozero::TraceReader reader({});
  TaskSummary summary;
  summary.Add(timeline, reader.tracks(), 10);
  const TaskRow& row = summary.rows().begin()->second;
  EXPECT_EQ(row.not_run.count, 2u);
  EXPECT_EQ(row.not_run.task, "worker #2");
  EXPECT_EQ(row.not_run.request, "a");
  EXPECT_EQ(row.not_run.ns, 70u);
  ASSERT_EQ(row.unresumed.size(), 1u);
  EXPECT_EQ(PlaceText(row.unresumed.begin()->first), "");
  EXPECT_EQ(row.unresumed.begin()->second.task, "worker #1");
  EXPECT_EQ(row.running, 1u);
  EXPECT_EQ(row.NotEnded(), 4u);
  const uint32_t request = timeline.texts().Find("a");
  EXPECT_EQ(UnresumedOf(timeline, request, 9).size(), 3u);
  EXPECT_EQ(UnresumedOf(timeline, request, 2).size(), 2u);
}

// Random programs, which write down what their tasks do.
class TaskModel {
 public:
  struct TruePart {
    uint64_t begin_ns;
    State state;
    uint64_t thread = 0;
    int place = -1;
    uint64_t by = 0;
  };
  struct TrueTask {
    std::vector<TruePart> life;
    uint64_t parent = 0;
    std::string request;
    bool is_woken_early = false;
    TruePart early_wake{};

    State state() const { return life.back().state; }
  };

  explicit TaskModel(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 400; ++i)
      Act(100 + Below(kNumThreads));
    end_ns_ = now_ns_ + 5;
  }

  uint64_t Below(uint64_t limit) { return random_() % limit; }

  const std::map<uint64_t, TrueTask>& tasks() const { return tasks_; }
  std::map<uint64_t, std::vector<TaskStep>>& steps() { return steps_; }
  uint64_t end_ns() const { return end_ns_; }

 private:
  static constexpr uint64_t kNumThreads = 3;
  static constexpr const char* kRequests[] = {"a", "b", "c"};

  TaskStep& Write(Kind kind, uint64_t thread, uint64_t task) {
    Steps steps;
    return steps_[thread].emplace_back(steps.Add(kind, thread, now_ns_, task));
  }
  void Begin(TrueTask* task, TruePart part) {
    part.begin_ns = now_ns_;
    task->life.push_back(part);
  }
  // Returns a task in one of the states; 0 if there is none.
  uint64_t Choose(std::initializer_list<State> states) {
    std::vector<uint64_t> found;
    for (const auto& [number, task] : tasks_) {
      if (std::count(states.begin(), states.end(), task.state()) != 0)
        found.push_back(number);
    }
    return found.empty() ? 0 : found[Below(found.size())];
  }

  void Act(uint64_t thread) {
    now_ns_ += 1 + Below(5);
    const uint64_t running = running_[thread];
    const uint64_t action = Below(10);
    if (action < 2) {
      const uint64_t number = ++last_number_;
      TrueTask& task = tasks_[number];
      Write(Kind::kSpawn, thread, number);
      task.parent = running;
      if (running != 0)
        task.request = tasks_[running].request;
      Begin(&task, {0, State::kReady, thread, -1, running});
    } else if (action < 4) {
      Wake(thread);
    } else if (action == 4) {
      const uint64_t number = Choose({State::kWaiting, State::kReady});
      if (number == 0 || Below(3) != 0)
        return;
      Write(Kind::kEnd, thread, number);
      Begin(&tasks_[number], {0, State::kEnded});
    } else if (action == 5) {
      if (running == 0)
        return;
      const char* const request = kRequests[Below(3)];
      Write(Kind::kRequest, thread, 0).text = request;
      tasks_[running].request = request;
    } else {
      Switch(thread);
    }
  }

  void Wake(uint64_t thread) {
    const uint64_t running = running_[thread];
    const uint64_t number =
        Choose({State::kWaiting, State::kReady, State::kRunning});
    if (number == 0)
      return;
    Write(Kind::kWake, thread, number);
    TrueTask& task = tasks_[number];
    const TruePart part = {0, State::kReady, thread, -1, running};
    if (task.state() == State::kWaiting) {
      Begin(&task, part);
    } else if (task.state() == State::kRunning && !task.is_woken_early) {
      task.is_woken_early = true;
      task.early_wake = part;
    }
    if (running != 0 && task.request.empty())
      task.request = tasks_[running].request;
  }

  void Switch(uint64_t thread) {
    uint64_t next = Below(4) == 0   ? 0
                    : Below(8) == 0 ? Choose({State::kWaiting})
                                    : Choose({State::kReady});
    const uint64_t before = running_[thread];
    if (before == 0 && next == 0)
      return;
    TaskStep& step = Write(Kind::kSwitch, thread, next);
    if (before != 0) {
      TrueTask& task = tasks_[before];
      const uint64_t fate = Below(5);
      if (fate == 0) {
        step.stop = Stop::kEnds;
        Begin(&task, {0, State::kEnded});
      } else if (fate == 1) {
        Begin(&task, {0, State::kReady});
      } else {
        const int place = static_cast<int>(Below(2));
        step.stop = Stop::kWaits;
        step.waits_at = &kPlaces[place];
        if (task.is_woken_early)
          Begin(&task, task.early_wake);
        else
          Begin(&task, {0, State::kWaiting, 0, place});
      }
      task.is_woken_early = false;
    }
    running_[thread] = next;
    if (next != 0)
      Begin(&tasks_[next], {0, State::kRunning, thread});
  }

  std::mt19937 random_;
  uint64_t now_ns_ = 1000;
  uint64_t end_ns_ = 0;
  uint64_t last_number_ = 0;
  std::map<uint64_t, TrueTask> tasks_;
  std::map<uint64_t, uint64_t> running_;
  std::map<uint64_t, std::vector<TaskStep>> steps_;
};

// Gives the steps of all threads to |timeline|, mixed.
void GiveMixed(TaskModel* model, TaskTimeline* timeline) {
  std::vector<std::vector<TaskStep>> threads;
  for (auto& [thread, steps] : model->steps()) {
    threads.push_back(steps);
    std::reverse(threads.back().begin(), threads.back().end());
  }
  while (!threads.empty()) {
    const size_t thread = model->Below(threads.size());
    if (threads[thread].empty()) {
      threads.erase(threads.begin() + static_cast<ptrdiff_t>(thread));
      continue;
    }
    timeline->Add(threads[thread].back());
    threads[thread].pop_back();
  }
  timeline->Finish(model->end_ns());
}

std::string TrueLife(const TaskModel::TrueTask& task) {
  std::string life;
  for (const TaskModel::TruePart& part : task.life) {
    life += (life.empty() ? "" : " ") + std::to_string(part.begin_ns);
    if (part.state == State::kReady)
      life +=
          " ready" + (part.thread == 0 ? "" : " by " + std::to_string(part.by));
    else if (part.state == State::kRunning)
      life += " on " + std::to_string(part.thread);
    else if (part.state == State::kWaiting)
      life += " " + kPlaces[part.place].name;
    else
      life += " ended";
  }
  return life;
}

TEST(TaskTimelineTest, RandomProgramsWithoutALoss) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    TaskModel model(seed);
    TaskTimeline timeline;
    GiveMixed(&model, &timeline);
    ASSERT_EQ(timeline.tasks().size(), model.tasks().size());
    for (const auto& [number, task] : model.tasks()) {
      std::string life = LifeOf(timeline, number);
      if (task.state() == State::kEnded)
        life.resize(life.size() - 2);  // The result.
      ASSERT_EQ(life, TrueLife(task)) << number;
      ASSERT_EQ(RequestOf(timeline, number), task.request) << number;
      ASSERT_EQ(NumberOf(timeline,
                         timeline.tasks()[IndexOf(timeline, number)].parent),
                task.parent);
    }
  }
}

// Expects that what the timeline says of a task is the truth. Returns for how
// long it says something.
uint64_t ExpectTrue(const TaskTimeline& timeline,
                    uint64_t number,
                    const TaskModel::TrueTask& truth) {
  const TaskTimeline::Task& task = timeline.tasks()[IndexOf(timeline, number)];
  if (task.parent != kNoIndex)
    EXPECT_EQ(NumberOf(timeline, task.parent), truth.parent);
  uint64_t known_ns = 0;
  for (uint32_t i = task.first_part; i != kNoIndex;) {
    const TaskTimeline::Part& part = timeline.parts()[i];
    const uint64_t end_ns = timeline.EndOf(part);
    i = part.next;
    if (part.state() == State::kUnknown || end_ns == part.begin_ns)
      continue;
    known_ns += end_ns - part.begin_ns;
    // The true part that has begun at that time.
    auto after = std::find_if(truth.life.begin(), truth.life.end(),
                              [&](const TaskModel::TruePart& candidate) {
                                return candidate.begin_ns > part.begin_ns;
                              });
    EXPECT_NE(after, truth.life.begin());
    if (after == truth.life.begin())
      continue;
    const TaskModel::TruePart& right = *(after - 1);
    EXPECT_EQ(part.state(), right.state) << number << " " << part.begin_ns;
    EXPECT_EQ(part.begin_ns, right.begin_ns) << number;
    const bool is_cut =
        i != kNoIndex && timeline.parts()[i].state() == State::kUnknown;
    const uint64_t true_end_ns =
        after == truth.life.end() ? timeline.end_ns() : after->begin_ns;
    if (is_cut)
      EXPECT_LE(end_ns, true_end_ns) << number;
    else
      EXPECT_EQ(end_ns, true_end_ns) << number;
    if (part.state() == State::kRunning)
      EXPECT_EQ(timeline.threads()[part.thread].track, right.thread);
    if (part.state() == State::kWaiting && right.place >= 0) {
      EXPECT_EQ(timeline.places()[part.other].name, kPlaces[right.place].name);
    }
    if (part.state() == State::kReady && part.other != kNoIndex)
      EXPECT_EQ(NumberOf(timeline, part.other), right.by) << number;
  }
  return known_ns;
}

void ExpectAllTrue(const TaskTimeline& timeline,
                   const TaskModel& model,
                   uint64_t* known_ns) {
  for (const TaskTimeline::Task& task : timeline.tasks()) {
    *known_ns += ExpectTrue(timeline, task.number,
                            model.tasks().find(task.number)->second);
  }
}

TEST(TaskTimelineTest, WithLossesNothingIsInvented) {
  uint64_t known_ns = 0;
  for (uint32_t seed = 0; seed < 500 && !::testing::Test::HasFailure();
       ++seed) {
    SCOPED_TRACE(seed);
    TaskModel model(seed);
    for (auto& [thread, steps] : model.steps()) {
      for (uint64_t losses = model.Below(3); losses != 0; --losses) {
        const size_t from = model.Below(steps.size());
        const size_t to = std::min(steps.size(), from + 1 + model.Below(20));
        TaskStep loss{};
        loss.kind = Kind::kLoss;
        loss.thread = thread;
        loss.process = 1;
        loss.time_ns = from == 0 ? 0 : steps[from - 1].time_ns;
        steps[from] = loss;
        steps.erase(steps.begin() + static_cast<ptrdiff_t>(from) + 1,
                    steps.begin() + static_cast<ptrdiff_t>(to));
      }
    }
    TaskTimeline timeline;
    GiveMixed(&model, &timeline);
    ExpectAllTrue(timeline, model, &known_ns);
  }
  EXPECT_GT(known_ns, 500u * 1000);
}

TEST(TaskTimelineTest, BeginningInTheMiddleNothingIsInvented) {
  uint64_t known_ns = 0;
  for (uint32_t seed = 0; seed < 300 && !::testing::Test::HasFailure();
       ++seed) {
    SCOPED_TRACE(seed);
    TaskModel model(seed);
    const uint64_t begin_ns = 1000 + model.Below(model.end_ns() - 1000);
    for (auto& [thread, steps] : model.steps()) {
      steps.erase(steps.begin(), std::find_if(steps.begin(), steps.end(),
                                              [begin_ns](const TaskStep& step) {
                                                return step.time_ns >= begin_ns;
                                              }));
    }
    TaskTimeline timeline;
    GiveMixed(&model, &timeline);
    ExpectAllTrue(timeline, model, &known_ns);
  }
  EXPECT_GT(known_ns, 300u * 1000);
}

}  // namespace
}  // namespace pztrace
