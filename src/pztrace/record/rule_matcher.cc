// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/rule_matcher.h"

#include <stdio.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/tracing/service/name_pattern.h"

namespace pztrace {

using protozero::CounterValue;
using protozero::EventText;
using protozero::Instant;
using protozero::Slice;
using protozero::TaskStep;
using protozero::TraceReader;
using protozero::service::IsLike;

namespace {

std::string TimeText(uint64_t ns) {
  const auto time = static_cast<double>(ns);
  char text[64];
  if (ns >= 1000000000)
    snprintf(text, sizeof(text), "%.1f s", time / 1e9);
  else if (ns >= 1000000)
    snprintf(text, sizeof(text), "%.1f ms", time / 1e6);
  else
    snprintf(text, sizeof(text), "%.1f us", time / 1e3);
  return text;
}

std::string TookText(const std::string& name, uint64_t ns) {
  return name + " took " + TimeText(ns);
}
std::string GoesOnText(const std::string& name, uint64_t ns) {
  return name + " has not ended after " + TimeText(ns);
}

// Returns whether one of the categories, which have commas between them, is
// like |pattern|.
bool HasCategory(std::string_view categories, std::string_view pattern) {
  for (;;) {
    const size_t comma = categories.find(',');
    if (IsLike(categories.substr(0, comma), pattern))
      return true;
    if (comma == std::string_view::npos)
      return false;
    categories.remove_prefix(comma + 1);
  }
}

}  // namespace

RuleMatcher::RuleMatcher(std::vector<RecordingRule> rules, OnMatch on_match)
    : rules_(std::move(rules)),
      on_match_(std::move(on_match)),
      reader_(MakeCallbacks()) {}

bool RuleMatcher::HasRule(Kind kind) const {
  return std::any_of(
      rules_.begin(), rules_.end(),
      [kind](const RecordingRule& rule) { return rule.kind == kind; });
}

TraceReader::Callbacks RuleMatcher::MakeCallbacks() {
  TraceReader::Callbacks callbacks;
  const bool has_categories = HasRule(Kind::kCategory);
  if (HasRule(Kind::kSlice) || has_categories)
    callbacks.on_slice = [this](const Slice& slice) { OnSlice(slice); };
  if (has_categories) {
    callbacks.on_instant = [this](const Instant& instant) {
      OnEvent(*instant.text, instant.time_ns);
    };
  }
  if (HasRule(Kind::kCounter))
    callbacks.on_counter = [this](const CounterValue& value) {
      OnCounter(value);
    };
  if (HasRule(Kind::kTask))
    callbacks.on_task_step = [this](const TaskStep& step) { OnStep(step); };
  return callbacks;
}

void RuleMatcher::OnSlice(const Slice& slice) {
  const uint64_t end_ns = slice.begin_ns + slice.duration_ns;
  const bool is_reported = reported_slices_.erase(slice.number) != 0;
  for (const RecordingRule& rule : rules_) {
    if (rule.kind == Kind::kSlice && !is_reported &&
        slice.duration_ns > rule.limit_ns &&
        IsLike(slice.text->name, rule.name)) {
      Report(rule, end_ns, TookText(slice.text->name, slice.duration_ns));
    }
  }
  OnEvent(*slice.text, end_ns);
}

void RuleMatcher::OnEvent(const EventText& text, uint64_t end_ns) {
  for (const RecordingRule& rule : rules_) {
    if (rule.kind == Kind::kCategory && HasCategory(text.category, rule.name))
      Report(rule, end_ns, text.name);
  }
}

void RuleMatcher::OnCounter(const CounterValue& value) {
  for (const RecordingRule& rule : rules_) {
    if (rule.kind != Kind::kCounter)
      continue;
    const auto key = std::make_pair(&rule, value.track);
    if (!(value.value > rule.limit)) {
      high_counters_.erase(key);
      continue;
    }
    if (high_counters_.count(key) != 0)
      continue;
    const std::optional<protozero::TrackInfo> track =
        reader_.tracks().Find(value.track);
    if (!track.has_value() || !IsLike(track->name, rule.name))
      continue;
    high_counters_.insert(key);
    char text[64];
    snprintf(text, sizeof(text), " is %.12g", value.value);
    Report(rule, value.time_ns, track->name + text);
  }
}

void RuleMatcher::OnStep(const TaskStep& step) {
  if (step.kind == TaskStep::Kind::kWake ||
      step.kind == TaskStep::Kind::kRequest) {
    return;
  }
  Step kept = {step.kind,
               step.stop == TaskStep::Stop::kEnds,
               step.thread,
               {step.process, step.task}};
  if (step.kind == TaskStep::Kind::kSpawn) {
    const std::string_view place =
        step.spawned_at != nullptr ? step.spawned_at->name : std::string_view();
    // The lowest limit decides, because all rules have the same effect.
    for (const RecordingRule& rule : rules_) {
      if (rule.kind == Kind::kTask &&
          (IsLike(step.text, rule.name) || IsLike(place, rule.name)) &&
          (kept.rule == nullptr || rule.limit_ns < kept.rule->limit_ns)) {
        kept.rule = &rule;
      }
    }
    if (kept.rule == nullptr)
      return;
    kept.name = step.text.empty() ? place : step.text;
  }
  steps_.emplace(step.time_ns, std::move(kept));
}

void RuleMatcher::Apply(uint64_t time_ns, Step* step) {
  switch (step->kind) {
    case TaskStep::Kind::kSpawn:
      live_tasks_[step->task] = {time_ns, step->rule, std::move(step->name)};
      break;
    case TaskStep::Kind::kSwitch: {
      const auto running = running_tasks_.find(step->thread);
      if (step->ends_running && running != running_tasks_.end())
        EndTask(running->second, time_ns);
      running_tasks_[step->thread] = step->task;
      break;
    }
    case TaskStep::Kind::kEnd:
      EndTask(step->task, time_ns);
      break;
    case TaskStep::Kind::kLoss:
      running_tasks_.erase(step->thread);
      break;
    case TaskStep::Kind::kWake:
    case TaskStep::Kind::kRequest:
      break;
  }
}

void RuleMatcher::EndTask(TaskKey task, uint64_t end_ns) {
  const auto it = live_tasks_.find(task);
  if (it == live_tasks_.end())
    return;
  const LiveTask& live = it->second;
  const uint64_t duration_ns = end_ns - std::min(end_ns, live.begin_ns);
  if (duration_ns > live.rule->limit_ns)
    Report(*live.rule, end_ns, TookText(live.name, duration_ns));
  live_tasks_.erase(it);
}

void RuleMatcher::FindOpenSlices(uint64_t known_ns) {
  std::set<uint64_t> still_open;
  has_open_ = false;
  reader_.ForEachOpenSlice(known_ns, [&](const Slice& slice) {
    if (reported_slices_.count(slice.number) != 0) {
      still_open.insert(slice.number);
      return;
    }
    for (const RecordingRule& rule : rules_) {
      if (rule.kind != Kind::kSlice || !IsLike(slice.text->name, rule.name))
        continue;
      if (known_ns <= slice.begin_ns || slice.duration_ns <= rule.limit_ns) {
        has_open_ = true;
        continue;
      }
      still_open.insert(slice.number);
      Report(rule, known_ns, GoesOnText(slice.text->name, slice.duration_ns));
    }
  });
  // Losses end slices without a word.
  reported_slices_ = std::move(still_open);
}

void RuleMatcher::FindOpenTasks(uint64_t known_ns) {
  for (auto it = live_tasks_.begin(); it != live_tasks_.end();) {
    const LiveTask& live = it->second;
    const uint64_t duration_ns = known_ns - std::min(known_ns, live.begin_ns);
    if (duration_ns <= live.rule->limit_ns) {
      ++it;
      continue;
    }
    Report(*live.rule, known_ns, GoesOnText(live.name, duration_ns));
    it = live_tasks_.erase(it);
  }
}

void RuleMatcher::EndLook(uint64_t known_ns) {
  reader_.ReleaseEvents();
  // The reader gives the steps of each thread in order. Those of the last look
  // have waited for earlier ones of other threads.
  auto step = steps_.begin();
  for (; step != steps_.end() && step->first <= last_step_ns_; ++step)
    Apply(step->first, &step->second);
  steps_.erase(steps_.begin(), step);
  if (!steps_.empty())
    last_step_ns_ = steps_.rbegin()->first;
  if (HasRule(Kind::kSlice))
    FindOpenSlices(known_ns_[1]);
  FindOpenTasks(known_ns_[0]);
  known_ns_[0] = std::exchange(known_ns_[1], known_ns);
}

}  // namespace pztrace
