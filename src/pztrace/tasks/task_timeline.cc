// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tasks/task_timeline.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace pztrace {

using protozero::TaskStep;
using protozero::internal::IdMap;

static_assert(sizeof(TaskTimeline::Part) == 24, "see the class comment");
static_assert(sizeof(TaskTimeline::Task) == 40, "see the class comment");

void TaskTimeline::Add(const TaskStep& step) {
  const uint32_t thread = ThreadOf(step);
  const uint32_t process = threads_[thread].process;
  ThreadSteps& steps = steps_[thread];
  const uint64_t last_ns = steps.steps.empty() ? 0 : steps.steps.back().time_ns;
  if (step.kind == Kind::kLoss) {
    if (!steps.is_losing) {
      steps.steps.push_back(
          {last_ns, kNoIndex, kNoIndex, Kind::kLoss, Stop::kReady, 0});
    }
    steps.is_losing = true;
    return;
  }
  const uint64_t time_ns = std::max(step.time_ns, last_ns);
  first_ns_ = std::min(first_ns_, time_ns);
  if (steps.is_losing)
    processes_[process].losses.push_back({last_ns, time_ns});
  steps.is_losing = false;

  uint32_t task = kNoIndex;
  if (step.task != 0 && step.kind != Kind::kRequest) {
    task = TaskOf(step.task, process);
    if (step.spawned_at != nullptr)
      tasks_[task].place = places_.Add(step.spawned_at);
    if (step.kind == Kind::kSwitch)
      tasks_[task].process = process;
  }
  uint32_t other = kNoIndex;
  if (step.kind == Kind::kSwitch) {
    other = places_.Add(step.waits_at);
  } else if (step.kind == Kind::kRequest) {
    other = texts_.Add(step.text);
  } else if (step.kind == Kind::kSpawn) {
    if (!step.parent)
      other = kRunningTask;
    else if (*step.parent != 0)
      other = TaskOf(*step.parent, process);
    if (task != kNoIndex)
      tasks_[task].name = texts_.Add(step.text);
  }
  steps.steps.push_back({time_ns, task, other, step.kind, step.stop,
                         static_cast<uint8_t>(step.result)});
}

void TaskTimeline::Finish(uint64_t end_ns) {
  end_ns_ = end_ns;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const ThreadSteps& thread = steps_[i];
    if (thread.steps.empty())
      continue;
    end_ns_ = std::max(end_ns_, thread.steps.back().time_ns);
    if (thread.is_losing) {
      processes_[threads_[i].process].losses.push_back(
          {thread.steps.back().time_ns, UINT64_MAX});
    }
  }
  for (Process& process : processes_)
    MergeLosses(&process.losses);
  requests_.resize(texts_.size());
  ApplyAll();
  for (uint32_t i = 0; i < tasks_.size(); ++i) {
    if (StateOf(i) == State::kRunning)
      ExtendRequest(i, end_ns_);
    Settle(i, end_ns_);
  }
  steps_.clear();
}

uint32_t TaskTimeline::ThreadOf(const TaskStep& step) {
  const auto [entry, is_new] = thread_indexes_.try_emplace(
      step.thread, static_cast<uint32_t>(threads_.size()));
  if (!is_new)
    return entry->second;
  const auto [process, is_new_process] = process_indexes_.try_emplace(
      step.process, static_cast<uint32_t>(processes_.size()));
  if (is_new_process) {
    processes_.emplace_back();
    process_tracks_.push_back(step.process);
  }
  threads_.push_back({step.thread, process->second, {}});
  steps_.emplace_back();
  return entry->second;
}

uint32_t TaskTimeline::TaskOf(uint64_t number, uint32_t process) {
  const auto next = static_cast<uint32_t>(tasks_.size());
  Process& numbers = processes_[has_unique_numbers_ ? 0 : process];
  const uint32_t task = numbers.tasks.Insert(number, next);
  if (task == next) {
    tasks_.emplace_back();
    tasks_.back().number = number;
    tasks_.back().process = process;
  }
  return task;
}

void TaskTimeline::MergeLosses(std::vector<Loss>* losses) {
  std::sort(losses->begin(), losses->end(), [](const Loss& a, const Loss& b) {
    return a.begin_ns < b.begin_ns;
  });
  size_t kept = 0;
  for (const Loss& loss : *losses) {
    if (kept != 0 && loss.begin_ns <= (*losses)[kept - 1].end_ns) {
      uint64_t& end_ns = (*losses)[kept - 1].end_ns;
      end_ns = std::max(end_ns, loss.end_ns);
    } else {
      (*losses)[kept++] = loss;
    }
  }
  losses->resize(kept);
}

// Applies the steps of all threads by time. At equal times, spawns and wakes
// come before switches, as far as the order of each thread allows.
void TaskTimeline::ApplyAll() {
  using Head = std::tuple<uint64_t, bool, uint32_t>;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto push = [&](uint32_t thread) {
    const std::deque<Step>& steps = steps_[thread].steps;
    if (!steps.empty()) {
      heads.emplace(steps.front().time_ns, steps.front().kind == Kind::kSwitch,
                    thread);
    }
  };
  for (uint32_t i = 0; i < steps_.size(); ++i)
    push(i);
  while (!heads.empty()) {
    const uint32_t thread = std::get<2>(heads.top());
    heads.pop();
    // The memory of steps becomes that of parts.
    const Step step = steps_[thread].steps.front();
    steps_[thread].steps.pop_front();
    Apply(thread, step);
    push(thread);
  }
}

void TaskTimeline::Apply(uint32_t thread, const Step& step) {
  const uint32_t running = steps_[thread].running;
  if (step.kind == Kind::kSwitch)
    return Switch(thread, step);
  if (step.kind == Kind::kRequest) {
    if (running != kNoIndex)
      SetRequest(running, step.time_ns, step.other);
    return;
  }
  if (step.kind == Kind::kLoss) {
    if (running != kNoIndex) {
      ExtendRequest(running, step.time_ns);
      AddPart(running, step.time_ns, State::kUnknown, kNoIndex, kNoThread);
      early_wakers_.erase(running);
    }
    steps_[thread].running = kNoIndex;
    return;
  }
  if (step.task == kNoIndex)
    return;
  if (step.kind == Kind::kSpawn)
    Spawn(thread, step);
  else if (step.kind == Kind::kWake)
    Wake(thread, step);
  else
    End(step);
}

void TaskTimeline::Spawn(uint32_t thread, const Step& step) {
  const uint32_t running = steps_[thread].running;
  Task& task = tasks_[step.task];
  task.is_spawn_known = true;
  task.parent = step.other == kRunningTask ? running : step.other;
  if (task.first_part == kNoIndex) {
    if (step.stop == Stop::kWaits)
      AddPart(step.task, step.time_ns, State::kWaiting, task.place, kNoThread);
    else
      AddPart(step.task, step.time_ns, State::kReady, running, thread);
  }
  if (task.parent != kNoIndex && task.request_change == kNoIndex)
    SetRequest(step.task, step.time_ns, LastRequestOf(tasks_[task.parent]));
}

void TaskTimeline::Wake(uint32_t thread, const Step& step) {
  const uint32_t running = steps_[thread].running;
  Settle(step.task, step.time_ns);
  const State state = StateOf(step.task);
  if (state == State::kEnded)
    return;
  if (tasks_[step.task].first_part == kNoIndex)
    AddPart(step.task, step.time_ns, State::kUnknown, kNoIndex, kNoThread);
  else if (state == State::kWaiting)
    AddPart(step.task, step.time_ns, State::kReady, running, thread);
  else if (state == State::kRunning)
    early_wakers_.try_emplace(step.task, Waker{running, thread});
  if (running != kNoIndex && LastRequestOf(tasks_[step.task]) == kNoIndex)
    SetRequest(step.task, step.time_ns, LastRequestOf(tasks_[running]));
}

void TaskTimeline::End(const Step& step) {
  Settle(step.task, step.time_ns);
  const State state = StateOf(step.task);
  if (state == State::kEnded)
    return;
  if (state == State::kRunning) {
    const Part& part = parts_[tasks_[step.task].last_part];
    steps_[part.thread].running = kNoIndex;
    ExtendRequest(step.task, step.time_ns);
    early_wakers_.erase(step.task);
  }
  tasks_[step.task].result = step.result;
  AddPart(step.task, step.time_ns, State::kEnded, kNoIndex, kNoThread);
}

void TaskTimeline::Switch(uint32_t thread, const Step& step) {
  const uint32_t running = steps_[thread].running;
  // A sequence that starts over repeats the running task.
  if (running == step.task && step.stop == Stop::kReady)
    return;
  if (running != kNoIndex)
    StopRunning(thread, step);
  steps_[thread].running = kNoIndex;
  if (step.task == kNoIndex)
    return;
  Settle(step.task, step.time_ns);
  const State state = StateOf(step.task);
  if (state == State::kEnded)
    return;
  if (state == State::kRunning) {
    // The other thread has not said that the task has left it.
    steps_[parts_[tasks_[step.task].last_part].thread].running = kNoIndex;
    ExtendRequest(step.task, step.time_ns);
    early_wakers_.erase(step.task);
  }
  steps_[thread].running = step.task;
  threads_[thread].runs.push_back(static_cast<uint32_t>(parts_.size()));
  AddPart(step.task, step.time_ns, State::kRunning, kNoIndex, thread);
}

void TaskTimeline::StopRunning(uint32_t thread, const Step& step) {
  const uint32_t task = steps_[thread].running;
  ExtendRequest(task, step.time_ns);
  const auto waker = early_wakers_.find(task);
  const uint64_t begin_ns = parts_[tasks_[task].last_part].begin_ns;
  if (step.stop == Stop::kEnds) {
    tasks_[task].result = step.result;
    AddPart(task, step.time_ns, State::kEnded, kNoIndex, kNoThread);
  } else if (step.stop == Stop::kReady) {
    AddPart(task, step.time_ns, State::kReady, kNoIndex, kNoThread);
  } else if (LossIn(tasks_[task].process, begin_ns, step.time_ns)) {
    // A wake may be lost that came while it ran.
    AddPart(task, step.time_ns, State::kUnknown, kNoIndex, kNoThread);
  } else if (waker != early_wakers_.end()) {
    AddPart(task, step.time_ns, State::kReady, waker->second.task,
            waker->second.thread);
  } else {
    AddPart(task, step.time_ns, State::kWaiting, step.other, kNoThread);
  }
  if (waker != early_wakers_.end())
    early_wakers_.erase(waker);
}

void TaskTimeline::Settle(uint32_t task, uint64_t time_ns) {
  const uint32_t last = tasks_[task].last_part;
  if (last == kNoIndex)
    return;
  const Part& part = parts_[last];
  if (part.state() != State::kReady && part.state() != State::kWaiting)
    return;
  const Loss* const loss = LossIn(tasks_[task].process, part.begin_ns, time_ns);
  if (loss != nullptr) {
    AddPart(task, std::max(part.begin_ns, loss->begin_ns), State::kUnknown,
            kNoIndex, kNoThread);
  }
}

const TaskTimeline::Loss* TaskTimeline::LossIn(uint32_t process,
                                               uint64_t begin_ns,
                                               uint64_t end_ns) const {
  const std::vector<Loss>& losses = processes_[process].losses;
  const auto loss =
      std::upper_bound(losses.begin(), losses.end(), begin_ns,
                       [](uint64_t time_ns, const Loss& candidate) {
                         return time_ns < candidate.end_ns;
                       });
  return loss != losses.end() && loss->begin_ns < end_ns ? &*loss : nullptr;
}

void TaskTimeline::AddPart(uint32_t task,
                           uint64_t time_ns,
                           State state,
                           uint32_t other,
                           uint32_t thread) {
  const auto index = static_cast<uint32_t>(parts_.size());
  Task& of = tasks_[task];
  if (of.last_part == kNoIndex)
    of.first_part = index;
  else
    parts_[of.last_part].next = index;
  of.last_part = index;
  parts_.push_back({time_ns, task, kNoIndex, other, thread & kNoThread,
                    static_cast<uint32_t>(state) & 7});
}

TaskTimeline::State TaskTimeline::StateOf(uint32_t task) const {
  const uint32_t last = tasks_[task].last_part;
  return last == kNoIndex ? State::kUnknown : parts_[last].state();
}

void TaskTimeline::SetRequest(uint32_t task,
                              uint64_t time_ns,
                              uint32_t request) {
  Task& of = tasks_[task];
  const uint32_t before = LastRequestOf(of);
  if (before == request)
    return;
  // The request before ends here, unless it has ended with an earlier run: then
  // the task has waited for the next one.
  if (before != kNoIndex && StateOf(task) == State::kRunning &&
      request_changes_[of.request_change].time_ns >=
          parts_[of.last_part].begin_ns) {
    ExtendRequest(task, time_ns);
  }
  request_changes_.push_back({time_ns, task, request, of.request_change});
  of.request_change = static_cast<uint32_t>(request_changes_.size() - 1);
  if (request == kNoIndex)
    return;
  requests_[request].begin_ns = std::min(requests_[request].begin_ns, time_ns);
  ++requests_[request].num_tasks;
}

void TaskTimeline::ExtendRequest(uint32_t task, uint64_t time_ns) {
  const uint32_t request = LastRequestOf(tasks_[task]);
  if (request == kNoIndex || time_ns < requests_[request].end_ns)
    return;
  requests_[request].end_ns = time_ns;
  requests_[request].last_task = task;
}

}  // namespace pztrace
