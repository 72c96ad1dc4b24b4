// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/build_history.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace ninja_trace {

size_t BuildHistory::StepKeyHash::operator()(const StepKey& key) const {
  const uint64_t times = uint64_t{key.start_ms} << 32 | key.end_ms;
  // The hash of the command is a good one already. The multiplication spreads
  // the times over all bits, even if one of them is zero.
  return std::hash<uint64_t>()(key.command_hash ^ times * 0x9e3779b97f4a7c15u);
}

void BuildHistory::StartBuild() {
  if (keep_ == Keep::kLastBuild) {
    builds_.clear();
    newest_.clear();
  }
  builds_.emplace_back();
  current_steps_.clear();
  last_end_ms_ = 0;
}

size_t BuildHistory::FindOrAddStep(const LogEntry& entry) {
  std::vector<BuildStep>& steps = builds_.back().steps;
  const auto [it, is_new] = current_steps_.try_emplace(
      StepKey{entry.start_ms, entry.end_ms, entry.command_hash}, steps.size());
  if (is_new) {
    BuildStep& step = steps.emplace_back();
    step.start_ms = entry.start_ms;
    step.end_ms = entry.end_ms;
    step.mtime = entry.mtime;
    step.command_hash = entry.command_hash;
  }
  return it->second;
}

void BuildHistory::AddEntry(const LogEntry& entry) {
  std::string output(entry.output);
  if (builds_.empty() || entry.end_ms < last_end_ms_)
    StartBuild();
  auto newest = newest_.find(output);
  if (newest != newest_.end() && newest->second.build == builds_.size() - 1) {
    const BuildStep& step = builds_.back().steps[newest->second.step];
    if (step.start_ms == entry.start_ms && step.end_ms == entry.end_ms &&
        step.command_hash == entry.command_hash) {
      return;  // The log has the same line twice.
    }
    StartBuild();
    newest = newest_.find(output);
  }
  last_end_ms_ = entry.end_ms;

  const StepPosition position{builds_.size() - 1, FindOrAddStep(entry)};
  if (newest != newest_.end()) {
    newest->second = position;
  } else {
    newest_.emplace(output, position);
  }
  builds_.back().steps[position.step].outputs.push_back(std::move(output));
}

std::vector<Build> BuildHistory::TakeBuilds() {
  for (size_t i = 0; i < builds_.size(); ++i) {
    std::vector<BuildStep>& steps = builds_[i].steps;
    for (size_t j = 0; j < steps.size(); ++j) {
      std::vector<std::string>& outputs = steps[j].outputs;
      const StepPosition position{i, j};
      outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                                   [&](const std::string& output) {
                                     return !(newest_.at(output) == position);
                                   }),
                    outputs.end());
    }
    steps.erase(std::remove_if(
                    steps.begin(), steps.end(),
                    [](const BuildStep& step) { return step.outputs.empty(); }),
                steps.end());
  }
  builds_.erase(
      std::remove_if(builds_.begin(), builds_.end(),
                     [](const Build& build) { return build.steps.empty(); }),
      builds_.end());

  std::vector<Build> builds = std::move(builds_);
  builds_.clear();
  newest_.clear();
  current_steps_.clear();
  last_end_ms_ = 0;
  return builds;
}

}  // namespace ninja_trace
