// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/live_tasks.h"

#include <algorithm>
#include <utility>

namespace pztrace {

using TaskKind = protozero::TaskStep::Kind;
using TaskStop = protozero::TaskStep::Stop;

std::vector<LiveTasks::Run>::const_iterator LiveTasks::RunAfter(
    const std::vector<Run>& runs,
    uint64_t time_ns) {
  return std::upper_bound(
      runs.begin(), runs.end(), time_ns,
      [](uint64_t time, const Run& run) { return time < run.begin_ns; });
}

void LiveTasks::AddStep(const TaskStep& step) {
  Step kept{step, std::string(step.text), {}};
  // The reader's places may be others by the time of the step.
  if (step.spawned_at != nullptr)
    kept.place = *step.spawned_at;
  steps_.push_back(std::move(kept));
}

std::vector<LiveTask> LiveTasks::EndLook(bool is_last) {
  ++num_looks_;
  ForgetRuns();
  std::stable_sort(steps_.begin(), steps_.end(),
                   [](const Step& a, const Step& b) {
                     return a.step.time_ns < b.step.time_ns;
                   });
  const uint64_t until_ns = is_last ? UINT64_MAX : last_look_ns_;
  if (!steps_.empty())
    last_look_ns_ = std::max(last_look_ns_, steps_.back().step.time_ns);
  std::vector<LiveTask> ended;
  auto it = steps_.begin();
  for (; it != steps_.end() && it->step.time_ns <= until_ns; ++it)
    Apply(*it, &ended);
  steps_.erase(steps_.begin(), it);
  return ended;
}

LiveTask* LiveTasks::Find(uint64_t span) {
  const auto found = tasks_.find(span);
  return found != tasks_.end() ? &found->second : nullptr;
}

LiveTask* LiveTasks::Get(const TaskStep& step,
                         uint64_t number,
                         uint64_t process) {
  const uint64_t span = TaskSpanNumber(host_, process, number);
  if (LiveTask* const found = Find(span)) {
    found->begin_ns = std::min(found->begin_ns, step.time_ns);
    return found;
  }
  if (tasks_.size() == kMaxTasks) {
    ++num_dropped_;
    return nullptr;
  }
  LiveTask& task = tasks_[span];
  task.process = process;
  task.number = number;
  task.root = span;
  task.begin_ns = step.time_ns;
  return &task;
}

void LiveTasks::Apply(const Step& kept, std::vector<LiveTask>* ended) {
  const TaskStep& step = kept.step;
  Thread& thread = threads_[step.thread];
  if (step.kind == TaskKind::kRequest) {
    if (LiveTask* const task = Find(thread.task))
      task->request = kept.text;
    return;
  }
  if (step.kind == TaskKind::kLoss)
    return EndRun(step.time_ns, &thread);
  if (step.kind == TaskKind::kEnd) {
    const uint64_t span = TaskSpanNumber(host_, step.process, step.task);
    return EndTask(span, step, ended);
  }
  LiveTask* task = nullptr;
  if (step.task != 0)
    task = Get(step, step.task, step.process);
  if (task != nullptr && kept.place && !task->place)
    task->place = kept.place;
  if (step.kind == TaskKind::kSwitch)
    return Switch(step, task, ended);
  if (task == nullptr)
    return;
  if (step.kind == TaskKind::kSpawn)
    return Spawn(kept, task);
  if (const LiveTask* const waker = Find(thread.task);
      waker != nullptr && task->request.empty())
    task->request = waker->request;
}

void LiveTasks::Spawn(const Step& kept, LiveTask* task) {
  const TaskStep& step = kept.step;
  uint64_t parent = threads_[step.thread].task;
  if (step.parent) {
    parent = *step.parent == 0
                 ? 0
                 : TaskSpanNumber(host_, step.process, *step.parent);
  }
  task->name = kept.text;
  if (parent == 0)
    return;
  const LiveTask* const found = Find(parent);
  task->root = found != nullptr ? found->root : parent;
  if (found == nullptr)
    return;
  task->parent = parent;
  if (task->request.empty())
    task->request = found->request;
}

void LiveTasks::Switch(const TaskStep& step,
                       LiveTask* next,
                       std::vector<LiveTask>* ended) {
  Thread& thread = threads_[step.thread];
  const uint64_t span =
      next != nullptr ? TaskSpanNumber(host_, next->process, next->number) : 0;
  const uint64_t before = thread.task;
  // A sequence that starts over repeats the running task.
  if (before != 0 && before == span && step.stop == TaskStop::kReady)
    return;
  EndRun(step.time_ns, &thread);
  if (before != 0 && step.stop == TaskStop::kEnds)
    EndTask(before, step, ended);
  thread.task = before == span && step.stop == TaskStop::kEnds ? 0 : span;
  thread.begin_ns = step.time_ns;
}

void LiveTasks::EndRun(uint64_t time_ns, Thread* thread) {
  if (const LiveTask* const task = Find(thread->task)) {
    std::vector<Run>& runs = thread->runs;
    runs.insert(RunAfter(runs, thread->begin_ns),
                {thread->begin_ns, time_ns, IdentityOf(*task), num_looks_});
  }
  thread->task = 0;
}

void LiveTasks::EndTask(uint64_t span,
                        const TaskStep& step,
                        std::vector<LiveTask>* ended) {
  const auto found = tasks_.find(span);
  if (found == tasks_.end())
    return;
  LiveTask& task = found->second;
  task.end_ns = step.time_ns;
  task.result = static_cast<uint8_t>(step.result);
  ended->push_back(std::move(task));
  tasks_.erase(found);
}

std::optional<SpanIdentity> LiveTasks::TaskAt(uint64_t thread,
                                              uint64_t time_ns) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end())
    return std::nullopt;
  const Thread& state = found->second;
  if (state.task != 0 && time_ns >= state.begin_ns) {
    const auto task = tasks_.find(state.task);
    if (task == tasks_.end())
      return std::nullopt;
    return IdentityOf(task->second);
  }
  // There may be a hundred thousand in a look.
  const auto after = RunAfter(state.runs, time_ns);
  if (after == state.runs.begin() || time_ns >= (after - 1)->end_ns)
    return std::nullopt;
  return (after - 1)->identity;
}

void LiveTasks::ForgetRuns() {
  constexpr uint64_t kLooks = 2;
  for (auto& [track, thread] : threads_) {
    const auto first = std::find_if(
        thread.runs.begin(), thread.runs.end(),
        [this](const Run& run) { return run.look + kLooks >= num_looks_; });
    thread.runs.erase(thread.runs.begin(), first);
  }
}

SpanIdentity LiveTasks::IdentityOf(const LiveTask& task) const {
  return {TaskTraceId(host_, task.root),
          SpanIdOf(TaskSpanNumber(host_, task.process, task.number)),
          task.parent != 0 ? SpanIdOf(task.parent) : std::string()};
}

}  // namespace pztrace
