// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/span_tasks.h"

#include <algorithm>
#include <utility>

#include "src/program/text.h"

namespace pztrace {

namespace {

constexpr uint32_t kClientKind = 3;
constexpr uint32_t kErrorStatus = 2;

// The order of the steps of one moment.
enum SpanStepOrder { kWakes, kEnds, kRuns, kRequests, kSpawns, kWaits };

}  // namespace

void SpanTasks::AddSlice(const Slice& slice,
                         const OtelArgs& otel,
                         std::string_view program,
                         uint32_t program_number) {
  if (otel.trace_id.empty() || otel.span_id.empty())
    return;
  Span span{};
  span.track = slice.track;
  span.begin_ns = slice.begin_ns;
  span.end_ns = slice.begin_ns + slice.duration_ns;
  span.program = program_number;
  span.depth = slice.depth;
  span.is_client = otel.kind == kClientKind;
  span.is_failed = otel.status == kErrorStatus;
  span.trace_id = otel.trace_id;
  if (!otel.parent_id.empty())
    span.parent_key = otel.trace_id + otel.parent_id;
  span.name = &slice.text->name;
  span.parent = kNoSpan;
  span.root = kNoSpan;
  programs_.try_emplace(program_number, program);
  by_key_.try_emplace(otel.trace_id + otel.span_id,
                      static_cast<uint32_t>(spans_.size()));
  spans_.push_back(std::move(span));
}

void SpanTasks::FindRoots() {
  for (Span& span : spans_) {
    const auto found = by_key_.find(span.parent_key);
    if (found != by_key_.end() && &spans_[found->second] != &span)
      span.parent = found->second;
  }
  std::vector<uint32_t> path;
  for (uint32_t i = 0; i < spans_.size(); ++i) {
    uint32_t at = i;
    while (spans_[at].root == kNoSpan) {
      // A span may claim to be its own ancestor: the first one that comes again
      // is the task then.
      spans_[at].root = at;
      path.push_back(at);
      const uint32_t parent = spans_[at].parent;
      if (parent == kNoSpan || spans_[parent].program != spans_[at].program)
        break;
      at = parent;
    }
    for (; !path.empty(); path.pop_back())
      spans_[path.back()].root = spans_[at].root;
  }
}

void SpanTasks::AddTo(TaskTimeline* timeline) {
  FindRoots();
  // The tasks that spans of a task have begun.
  std::unordered_map<uint32_t, std::vector<uint32_t>> children;
  for (uint32_t i = 0; i < spans_.size(); ++i) {
    if (spans_[i].root == i && spans_[i].parent != kNoSpan)
      children[spans_[spans_[i].parent].root].push_back(i);
  }
  for (uint32_t i = 0; i < spans_.size(); ++i) {
    if (spans_[i].root == i)
      AddTask(i, children[i]);
  }
  std::stable_sort(
      steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
        return std::pair(a.time_ns, a.order) < std::pair(b.time_ns, b.order);
      });
  for (const Step& step : steps_)
    timeline->Add(step.step);
}

std::vector<SpanTasks::Wait> SpanTasks::WaitsOf(
    const std::vector<uint32_t>& children) const {
  std::vector<Wait> all;
  for (const uint32_t child : children) {
    const uint32_t client = spans_[child].parent;
    const Span& span = spans_[client];
    const Span& root = spans_[span.root];
    const uint64_t begin_ns = std::max(span.begin_ns, root.begin_ns);
    const uint64_t end_ns = std::min(span.end_ns, root.end_ns);
    // Clocks of programs may differ: the wake is within the client's span.
    if (span.is_client && begin_ns < end_ns) {
      all.push_back({begin_ns, end_ns, client, child,
                     std::clamp(spans_[child].end_ns, begin_ns, end_ns)});
    }
  }
  std::sort(all.begin(), all.end(), [](const Wait& a, const Wait& b) {
    return a.begin_ns < b.begin_ns;
  });
  // The last one to end counts, if several overlap.
  std::vector<Wait> waits;
  for (const Wait& wait : all) {
    if (waits.empty() || wait.begin_ns >= waits.back().end_ns) {
      waits.push_back(wait);
    } else if (wait.end_ns > waits.back().end_ns) {
      const uint64_t begin_ns = waits.back().begin_ns;
      waits.back() = wait;
      waits.back().begin_ns = begin_ns;
    }
  }
  return waits;
}

// Spans within others on a track that are no part of them have a thread of
// their own: two tasks do not run at once.
uint64_t SpanTasks::ThreadOf(uint32_t span) const {
  return spans_[span].depth == 0 ? spans_[span].track
                                 : UINT64_MAX - uint64_t{span};
}

const TaskPlace* SpanTasks::PlaceOf(const std::string& name) {
  TaskPlace& place = places_[name];
  place.name = name;
  return &place;
}

void SpanTasks::AddStep(uint64_t time_ns,
                        int order,
                        uint32_t thread_of,
                        TaskStep step) {
  step.time_ns = time_ns;
  step.thread = ThreadOf(thread_of);
  // The number of a task is unique in a process, and tasks wake those of other
  // programs: so all of them are in one.
  step.process = 1;
  steps_.push_back({time_ns, order, step});
}

void SpanTasks::AddTask(uint32_t index, const std::vector<uint32_t>& children) {
  const Span& span = spans_[index];
  const uint64_t task = uint64_t{index} + 1;
  const TaskPlace* const place =
      PlaceOf(programs_[span.program] + ": " + *span.name);
  const bool has_parent = span.parent != kNoSpan;
  TaskStep spawn{TaskStep::Kind::kSpawn};
  spawn.task = task;
  spawn.spawned_at = place;
  spawn.parent = 0;
  if (has_parent)
    spawn.parent = uint64_t{spans_[span.parent].root} + 1;
  const uint64_t spawn_ns =
      has_parent ? std::min(spans_[span.parent].begin_ns, span.begin_ns)
                 : span.begin_ns;
  AddStep(spawn_ns, kSpawns, has_parent ? spans_[span.parent].root : index,
          spawn);
  TaskStep run{TaskStep::Kind::kSwitch};
  run.task = task;
  run.spawned_at = place;
  AddStep(span.begin_ns, kRuns, index, run);
  TaskStep request{TaskStep::Kind::kRequest};
  requests_.push_back(program::HexOf(span.trace_id));
  request.text = requests_.back();
  AddStep(span.begin_ns, kRequests, index, request);
  for (const Wait& wait : WaitsOf(children)) {
    TaskStep waits{TaskStep::Kind::kSwitch, TaskStep::Stop::kWaits};
    waits.waits_at = PlaceOf(*spans_[wait.client].name);
    AddStep(wait.begin_ns, kWaits, index, waits);
    TaskStep wake{TaskStep::Kind::kWake};
    wake.task = task;
    AddStep(wait.wake_ns, kWakes, wait.child, wake);
    if (wait.end_ns < span.end_ns)
      AddStep(wait.end_ns, kRuns, index, run);
  }
  TaskStep end{TaskStep::Kind::kEnd};
  end.task = task;
  constexpr uint32_t kDone = 1;
  constexpr uint32_t kFailed = 2;
  end.result = span.is_failed ? kFailed : kDone;
  AddStep(span.end_ns, kEnds, index, end);
}

}  // namespace pztrace
