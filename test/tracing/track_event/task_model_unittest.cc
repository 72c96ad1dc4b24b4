// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Takes random steps with random tasks on several threads, and expects the same
// steps from the trace. Steps that are not there are between losses.

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/trace_reader.h"
#include "src/tracing/track_event/registry.h"
#include "src/tracing/track_event/task_numbers.h"

namespace {

using protozero::BufferExhaustedPolicy;
using protozero::BufferFillPolicy;
using protozero::LocalTrace;
using protozero::SwitchTask;
using protozero::Task;
using protozero::TaskResult;
using protozero::TaskSite;
using protozero::TaskStep;
using protozero::TraceReader;

// The end of a thread, after which another one may have its number.
constexpr char kThreadEnd[] = "thread end";

TaskSite g_spawn_sites[] = {{"session", __FILE__, __LINE__},
                            {"query", __FILE__, __LINE__},
                            {"timer", __FILE__, __LINE__}};
TaskSite g_wait_sites[] = {{"read", __FILE__, __LINE__},
                           {"answer", __FILE__, __LINE__},
                           {"lock", __FILE__, __LINE__}};

// Returns a number below |end|.
uint32_t Pick(std::mt19937* random, size_t end) {
  return static_cast<uint32_t>((*random)() % end);
}

uint64_t TraceNumberOf(Task task) {
  return protozero::internal::NumberInTrace(task.number());
}
std::string NumberText(Task task) {
  return std::to_string(TraceNumberOf(task));
}

// A step as text, and the number of the task that its thread runs before it.
struct TrueStep {
  std::string text;
  uint64_t running = 0;
};

std::string TextOfStep(const TaskStep& step) {
  const std::string task = std::to_string(step.task);
  switch (step.kind) {
    case TaskStep::Kind::kSwitch: {
      std::string line = "run " + task;
      if (step.spawned_at != nullptr)
        line += " of " + step.spawned_at->name;
      if (step.stop == TaskStep::Stop::kWaits)
        line += " waits " + (step.waits_at ? step.waits_at->name : "");
      else if (step.stop == TaskStep::Stop::kEnds)
        line += " ends " + std::to_string(step.result);
      return line;
    }
    case TaskStep::Kind::kSpawn:
      return "spawn " + task + " of " +
             (step.spawned_at ? step.spawned_at->name : "") + " named " +
             std::string(step.text) + " below " +
             (step.parent ? std::to_string(*step.parent) : "this");
    case TaskStep::Kind::kWake:
      return "wake " + task;
    case TaskStep::Kind::kEnd:
      return "end " + task + " " + std::to_string(step.result);
    case TaskStep::Kind::kRequest:
      return "request " + std::string(step.text);
    case TaskStep::Kind::kLoss:
      return "loss";
  }
  return "";
}

// A task, and the place where it was spawned.
struct ModelTask {
  Task task;
  const TaskSite* site = nullptr;
};

// The tasks of all threads, and what each thread has done.
class TaskModel {
 public:
  explicit TaskModel(uint32_t seed) : seed_(seed) {}

  // Takes steps on the calling thread, which then ends.
  void RunThread(int num_steps) {
    const int64_t tid = protozero::internal::TraceThreadId();
    std::mt19937 random;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      random.seed(seed_ * 1000 + num_threads_++);
    }
    std::vector<TrueStep> lines;
    ModelTask running;
    for (int i = 0; i < num_steps; ++i)
      Step(&random, &running, &lines);
    lines.push_back({kThreadEnd, TraceNumberOf(running.task)});
    const std::lock_guard<std::mutex> lock(mutex_);
    // Threads with the same number have ended before this one began.
    std::vector<TrueStep>& all = truth_[tid];
    all.insert(all.end(), lines.begin(), lines.end());
    if (running.task)
      ready_.push_back(running);
  }

  // The steps by the numbers of threads.
  const std::map<int64_t, std::vector<TrueStep>>& truth() const {
    return truth_;
  }

 private:
  // Takes a task out of |list|. Returns none if that is empty.
  ModelTask Take(std::vector<ModelTask>* list, std::mt19937* random) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (list->empty())
      return {};
    std::swap((*list)[Pick(random, list->size())], list->back());
    const ModelTask task = list->back();
    list->pop_back();
    return task;
  }
  void Put(ModelTask task, std::vector<ModelTask>* list) {
    const std::lock_guard<std::mutex> lock(mutex_);
    list->push_back(task);
  }

  void Step(std::mt19937* random,
            ModelTask* running,
            std::vector<TrueStep>* lines) {
    const auto add = [&](std::string text) {
      lines->push_back({std::move(text), TraceNumberOf(running->task)});
    };
    switch (Pick(random, 10)) {
      case 0:
        add(Spawn(Pick(random, 12)));
        break;
      case 1:
      case 2: {
        const ModelTask task = Take(&waiting_, random);
        if (!task.task)
          break;
        task.task.Wake();
        add("wake " + NumberText(task.task));
        Put(task, &ready_);
        break;
      }
      case 3: {
        // It is destroyed.
        const ModelTask task = Take(&waiting_, random);
        if (!task.task)
          break;
        const uint32_t result = 3 + Pick(random, 2);
        task.task.End(static_cast<TaskResult>(result));
        add("end " + NumberText(task.task) + " " + std::to_string(result));
        break;
      }
      case 4: {
        const std::string request = std::to_string((*random)());
        protozero::SetTaskRequest(request);
        add("request " + request);
        break;
      }
      default: {
        // Some of them were not woken.
        ModelTask next;
        const uint32_t choice = Pick(random, 12);
        if (choice > 1)
          next = Take(choice == 2 ? &waiting_ : &ready_, random);
        add(Switch(*running, next, Pick(random, 12)));
        *running = next;
        break;
      }
    }
  }

  std::string Spawn(uint32_t choice) {
    TaskSite& site = g_spawn_sites[choice % 3];
    const std::string name = choice < 3 ? "its own" : "";
    std::string parent = "this";
    ModelTask task = {Task(), &site};
    if (choice % 4 == 0) {
      const Task other =
          choice == 4 ? Task() : Task::FromNumber(uint64_t{choice} + 1000);
      parent = NumberText(other);
      task.task = Task::SpawnFrom(other, site, name);
    } else {
      task.task = Task::Spawn(site, name);
    }
    Put(task, choice % 2 == 0 ? &ready_ : &waiting_);
    return "spawn " + NumberText(task.task) + " of " + site.name + " named " +
           name + " below " + parent;
  }

  std::string Switch(ModelTask running, ModelTask next, uint32_t choice) {
    std::string line = "run " + NumberText(next.task);
    if (next.task)
      line += std::string(" of ") + next.site->name;
    if (choice < 4) {
      SwitchTask(next.task);
      if (running.task)
        Put(running, &ready_);
    } else if (choice < 10) {
      TaskSite& site = g_wait_sites[choice % 3];
      SwitchTask(next.task, site);
      line += std::string(" waits ") + site.name;
      if (running.task)
        Put(running, &waiting_);
    } else {
      const uint32_t result = choice - 9;
      SwitchTask(next.task, static_cast<TaskResult>(result));
      line += " ends " + std::to_string(result);
    }
    return line;
  }

  const uint32_t seed_;
  std::mutex mutex_;
  uint32_t num_threads_ = 0;
  std::vector<ModelTask> ready_;
  std::vector<ModelTask> waiting_;
  std::map<int64_t, std::vector<TrueStep>> truth_;
};

// The places in the truth at which a thread may be after some of the steps that
// were read.
class TruePlaces {
 public:
  TruePlaces(const std::vector<TrueStep>& truth, bool begins_in_the_middle)
      : truth_(&truth) {
    for (size_t i = 0; i <= truth.size(); ++i)
      places_.push_back(i);
    if (!begins_in_the_middle)
      places_.resize(1);
  }

  // Moves after a step. Returns false if the truth has no such step there.
  bool Take(const TaskStep& step) {
    const std::string line = TextOfStep(step);
    std::vector<size_t> next;
    // After a loss, the sequence says which task goes on.
    const bool may_go_on = std::exchange(is_behind_loss_, false) &&
                           step.kind == TaskStep::Kind::kSwitch &&
                           step.stop == TaskStep::Stop::kReady;
    for (const size_t i : places_) {
      if (i == truth_->size())
        continue;
      if (may_go_on && (*truth_)[i].running == step.task)
        next.push_back(i);
      if ((*truth_)[i].text == line)
        next.push_back(i + 1);
    }
    next.erase(std::unique(next.begin(), next.end()), next.end());
    places_ = std::move(next);
    return !places_.empty();
  }
  // Moves over any number of steps.
  bool Lose() {
    const size_t first = places_.front();
    places_.clear();
    for (size_t i = first; i <= truth_->size(); ++i)
      places_.push_back(i);
    is_behind_loss_ = true;
    return true;
  }
  // Moves to the next thread with the number. Returns false if there is none.
  bool EndThread() {
    std::vector<size_t> next;
    for (const size_t i : places_) {
      if (i + 1 < truth_->size() && (*truth_)[i].text == kThreadEnd)
        next.push_back(i + 1);
    }
    places_ = std::move(next);
    return !places_.empty();
  }
  // Returns whether all steps have been there.
  bool AreAtEnd() const { return places_.back() + 1 >= truth_->size(); }

 private:
  const std::vector<TrueStep>* truth_;
  std::vector<size_t> places_;
  bool is_behind_loss_ = true;
};

enum class RecordKind { kAll, kBeginsInTheMiddle, kLosesPackets, kRingBuffer };

std::unique_ptr<LocalTrace> RecordTasks(RecordKind kind, std::string* bytes) {
  LocalTrace::Options options;
  options.sink = [bytes](const uint8_t* data, size_t size) {
    bytes->append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  options.exhausted_policy = kind == RecordKind::kLosesPackets
                                 ? BufferExhaustedPolicy::kDrop
                                 : BufferExhaustedPolicy::kStall;
  if (kind == RecordKind::kLosesPackets)
    options.shared_memory_size = 64 * 1024;
  if (kind == RecordKind::kRingBuffer) {
    options.fill_policy = BufferFillPolicy::kRingBuffer;
    options.buffer_size = 512 * 1024;
  }
  return std::make_unique<LocalTrace>(std::move(options));
}

// Holds a trace against the truth.
void CheckSteps(const std::string& bytes,
                const TaskModel& model,
                RecordKind kind) {
  std::map<int64_t, TruePlaces> threads;
  for (const auto& [tid, truth] : model.truth()) {
    threads.emplace(tid,
                    TruePlaces(truth, kind == RecordKind::kBeginsInTheMiddle ||
                                          kind == RecordKind::kRingBuffer));
  }
  const bool may_lose =
      kind == RecordKind::kLosesPackets || kind == RecordKind::kRingBuffer;
  size_t num_steps = 0, num_wrong = 0;
  std::map<uint64_t, int64_t> tids;
  TraceReader* reader_address = nullptr;
  TraceReader::Callbacks callbacks;
  callbacks.on_task_step = [&](const TaskStep& step) {
    const auto [tid, is_new] = tids.try_emplace(step.thread, 0);
    if (is_new)
      tid->second = reader_address->tracks().Find(step.thread)->tid;
    TruePlaces& places = threads.at(tid->second);
    ++num_steps;
    const bool is_right = step.kind != TaskStep::Kind::kLoss ? places.Take(step)
                          : may_lose                         ? places.Lose()
                                     : places.EndThread();
    if (is_right)
      return;
    if (++num_wrong < 10)
      ADD_FAILURE() << TextOfStep(step) << " after " << num_steps << " steps";
    // Later steps may be right.
    places = TruePlaces(model.truth().at(tid->second), true);
  };
  TraceReader reader(std::move(callbacks));
  reader_address = &reader;
  EXPECT_TRUE(reader.Read(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
  reader.Finish();
  EXPECT_EQ(num_wrong, 0u);
  // The last steps of a thread may be missing without a loss after them.
  if (kind != RecordKind::kBeginsInTheMiddle && reader.packets_lost().empty()) {
    EXPECT_NE(kind, RecordKind::kLosesPackets);
    for (const auto& [tid, places] : threads)
      EXPECT_TRUE(places.AreAtEnd());
  }
}

// Has several threads take steps, each of which another thread follows.
void RunTaskThreads(TaskModel* model, uint32_t seed) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 3; ++i) {
    threads.emplace_back([model, i, seed] {
      for (uint32_t life = 0; life < 3; ++life) {
        const int num_steps = (i + life + seed) % 3 == 0 ? 12000 : 1000;
        std::thread([&] { model->RunThread(num_steps); }).join();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

class TaskModelTest : public testing::TestWithParam<uint32_t> {};

TEST_P(TaskModelTest, NothingIsLost) {
  TaskModel model(GetParam());
  std::string bytes;
  auto trace = RecordTasks(RecordKind::kAll, &bytes);
  RunTaskThreads(&model, GetParam());
  ASSERT_TRUE(trace->Stop()) << trace->error();
  EXPECT_EQ(trace->stats().lost().total(), 0u);
  CheckSteps(bytes, model, RecordKind::kAll);
}

TEST_P(TaskModelTest, SessionsBeginAndEndInTheMiddle) {
  TaskModel model(GetParam());
  std::string all;
  std::vector<std::string> bytes(40);
  // The program may know which task runs, or not.
  auto outer =
      GetParam() % 2 == 0 ? RecordTasks(RecordKind::kAll, &all) : nullptr;
  std::thread sessions([&] {
    // A few are long; many are over within a switch.
    for (size_t i = 0; i < bytes.size(); ++i) {
      auto trace = RecordTasks(RecordKind::kBeginsInTheMiddle, &bytes[i]);
      std::this_thread::sleep_for(
          std::chrono::microseconds(i % 10 == 0 ? 8000 : 50));
      EXPECT_TRUE(trace->Stop()) << trace->error();
    }
  });
  RunTaskThreads(&model, GetParam());
  sessions.join();
  for (const std::string& session : bytes) {
    if (!session.empty())
      CheckSteps(session, model, RecordKind::kBeginsInTheMiddle);
  }
  if (outer != nullptr) {
    ASSERT_TRUE(outer->Stop()) << outer->error();
    CheckSteps(all, model, RecordKind::kAll);
  }
}

TEST_P(TaskModelTest, LittleSharedMemory) {
  TaskModel model(GetParam());
  std::string bytes;
  auto trace = RecordTasks(RecordKind::kLosesPackets, &bytes);
  for (int i = 0; i < 20 && trace->stats().lost().total() == 0; ++i)
    RunTaskThreads(&model, GetParam());
  ASSERT_TRUE(trace->Stop()) << trace->error();
  EXPECT_GT(trace->stats().lost().total(), 0u);
  CheckSteps(bytes, model, RecordKind::kLosesPackets);
}

TEST_P(TaskModelTest, ARingBufferThatHasWrapped) {
  TaskModel model(GetParam());
  std::string bytes;
  auto trace = RecordTasks(RecordKind::kRingBuffer, &bytes);
  RunTaskThreads(&model, GetParam());
  ASSERT_TRUE(trace->Stop()) << trace->error();
  EXPECT_GT(trace->stats().lost().total(), 0u);
  CheckSteps(bytes, model, RecordKind::kRingBuffer);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TaskModelTest, testing::Range(1u, 4u));

}  // namespace
