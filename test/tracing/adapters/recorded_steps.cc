// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/tracing/adapters/recorded_steps.h"

#include <stdint.h>

#include <iterator>
#include <map>
#include <utility>

#include "gtest/gtest.h"
#include "protozero/tracing/trace_reader.h"

namespace protozero::test {

namespace {

// The tasks that threads run, and the texts of the steps so far.
class StepTexts {
 public:
  explicit StepTexts(bool has_lines) : has_lines_(has_lines) {}

  void Add(const TaskStep& step) {
    std::string text;
    switch (step.kind) {
      case TaskStep::Kind::kSwitch: {
        text = "run " + NumberOf(step.task);
        uint64_t& running = running_[step.thread];
        if (step.stop == TaskStep::Stop::kWaits) {
          text +=
              ", " + NumberOf(running) + " waits: " + TextOf(*step.waits_at);
        } else if (step.stop == TaskStep::Stop::kEnds) {
          text += ", " + NumberOf(running) + " ends: " + ResultOf(step);
        }
        running = step.task;
        break;
      }
      case TaskStep::Kind::kSpawn:
        text = "spawn " + NumberOf(step.task) + " " + TextOf(*step.spawned_at);
        if (!step.text.empty())
          text += " " + std::string(step.text);
        if (step.stop == TaskStep::Stop::kWaits)
          text += ", waits: " + TextOf(*step.waits_at);
        break;
      case TaskStep::Kind::kWake:
        text = "wake " + NumberOf(step.task);
        break;
      case TaskStep::Kind::kEnd:
        text = "end " + NumberOf(step.task) + ": " + ResultOf(step);
        break;
      case TaskStep::Kind::kRequest:
        text = "request " + std::string(step.text);
        break;
      case TaskStep::Kind::kLoss:
        text = "loss";
        break;
    }
    texts_.push_back(std::move(text));
  }

  std::vector<std::string> Take() { return std::move(texts_); }

 private:
  static std::string ResultOf(const TaskStep& step) {
    static const char* const kNames[] = {"", "done", "failed", "cancelled",
                                         "destroyed"};
    return step.result < std::size(kNames) ? kNames[step.result] : "?";
  }
  template <typename Site>
  std::string TextOf(const Site& site) const {
    const std::string name(site.name);
    return has_lines_ ? name + ":" + std::to_string(site.line) : name;
  }
  std::string NumberOf(uint64_t task) {
    if (task == 0)
      return "0";
    return std::to_string(
        numbers_.emplace(task, numbers_.size() + 1).first->second);
  }

  const bool has_lines_;
  std::map<uint64_t, size_t> numbers_;
  std::map<uint64_t, uint64_t> running_;
  std::vector<std::string> texts_;
};

}  // namespace

StepRecording::StepRecording() {
  LocalTrace::Options options;
  options.sink = [this](const uint8_t* data, size_t size) {
    bytes_.append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  options.exhausted_policy = BufferExhaustedPolicy::kStall;
  trace_ = std::make_unique<LocalTrace>(std::move(options));
  EXPECT_EQ(trace_->error(), "");
}

std::vector<std::string> StepRecording::Finish(bool has_lines) {
  EXPECT_TRUE(trace_->Stop()) << trace_->error();
  // The texts of a step live during the call only.
  std::vector<std::pair<TaskStep, std::string>> steps;
  TraceReader::Callbacks callbacks;
  callbacks.on_task_step = [&](const TaskStep& step) {
    steps.emplace_back(step, step.text);
  };
  TraceReader reader(std::move(callbacks));
  EXPECT_TRUE(reader.Read(
      {reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()}));
  reader.Finish();
  // By time, and those of one time in their order.
  std::multimap<uint64_t, std::pair<TaskStep, std::string>*> in_order;
  for (auto& step : steps)
    in_order.emplace(step.first.time_ns, &step);
  StepTexts texts(has_lines);
  for (auto& [time_ns, step] : in_order) {
    step->first.text = step->second;
    texts.Add(step->first);
  }
  return texts.Take();
}

}  // namespace protozero::test
