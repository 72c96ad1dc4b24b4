// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/live_span_ids.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace pztrace {

void LiveSpanIds::AddSlice(const Slice& slice,
                           const OtelArgs& otel,
                           bool has_ended) {
  max_number_ = std::max(max_number_, slice.number + 1);
  const auto [entry, is_new] = slices_.try_emplace(slice.number);
  KnownSlice& known = entry->second;
  if (is_new) {
    new_.push_back(slice.number);
    known.parent = slice.parent;
    known.track = slice.track;
    known.begin_ns = slice.begin_ns;
    known.root_ns = slice.root_ns;
    known.span = SliceSpanNumber(host_, slice);
  }
  known.has_ended = has_ended;
  if (known.is_found)
    return;
  known.flows = slice.details->flows;
  if (otel.trace_id.empty() || otel.span_id.empty())
    return;
  known.has_own = true;
  known.ids = {otel.trace_id, otel.span_id, otel.parent_id};
}

void LiveSpanIds::EndLook(const LiveTasks& tasks) {
  // Outer slices have lower numbers, and the ids of inner ones need theirs.
  std::sort(waiting_.begin(), waiting_.end());
  for (const uint64_t number : waiting_)
    FindIds(tasks, &slices_[number]);
  for (const uint64_t number : waiting_)
    AddFlowSteps(slices_[number]);
  for (const uint64_t number : waiting_)
    FindLinks(&slices_[number]);
  waiting_ = std::exchange(new_, {});
  if (flows_.size() >= kMaxFlows)
    old_flows_ = std::exchange(flows_, {});
}

void LiveSpanIds::FindIds(const LiveTasks& tasks, KnownSlice* slice) {
  slice->is_found = true;
  const auto parent = slices_.find(slice->parent);
  std::optional<SpanIdentity> task;
  if (parent != slices_.end()) {
    slice->root_trace_id = parent->second.root_trace_id;
  } else if (slice->has_own) {
    slice->root_trace_id = slice->ids.trace_id;
  } else {
    task = tasks.TaskAt(slice->track, slice->root_ns);
    slice->root_trace_id =
        task ? task->trace_id
             : SliceTraceId(host_, slice->track, slice->root_ns);
  }
  if (slice->has_own)
    return;
  slice->ids.span_id = SpanIdOf(slice->span);
  slice->ids.trace_id = slice->root_trace_id;
  if (parent != slices_.end())
    slice->ids.parent_id = parent->second.ids.span_id;
  else if (task)
    slice->ids.parent_id = task->span_id;
}

std::vector<LiveSpanIds::FlowStep>& LiveSpanIds::StepsOf(uint64_t flow) {
  const auto [entry, is_new] = flows_.try_emplace(flow);
  if (is_new) {
    const auto old = old_flows_.find(flow);
    if (old != old_flows_.end()) {
      entry->second = std::move(old->second);
      old_flows_.erase(old);
    }
  }
  return entry->second;
}

void LiveSpanIds::AddFlowSteps(const KnownSlice& slice) {
  for (const EventFlow& flow : slice.flows) {
    std::vector<FlowStep>& steps = StepsOf(flow.id);
    const auto place =
        std::upper_bound(steps.begin(), steps.end(), slice.begin_ns,
                         [](uint64_t time, const FlowStep& step) {
                           return time < step.time_ns;
                         });
    steps.insert(place, {slice.begin_ns, slice.ids, flow.ends_here});
  }
}

void LiveSpanIds::FindLinks(KnownSlice* slice) {
  // The last step is needed for the next one.
  constexpr size_t kMaxKept = 16;
  for (const EventFlow& flow : slice->flows) {
    std::vector<FlowStep>& steps = StepsOf(flow.id);
    const auto step =
        std::find_if(steps.begin(), steps.end(), [slice](const FlowStep& one) {
          return one.time_ns == slice->begin_ns &&
                 one.ids.span_id == slice->ids.span_id;
        });
    if (step != steps.end() && step != steps.begin() && !(step - 1)->ends_flow)
      slice->links.push_back((step - 1)->ids);
    if (steps.size() > kMaxKept && step != steps.end())
      steps.erase(steps.begin(), std::max(steps.begin(), step - kMaxKept));
  }
}

LinkedSpan LiveSpanIds::Take(uint64_t number) {
  const auto found = slices_.find(number);
  if (found == slices_.end())
    return {};
  LinkedSpan span{std::move(found->second.ids), std::move(found->second.links)};
  slices_.erase(found);
  return span;
}

void LiveSpanIds::KeepOpen(const std::unordered_set<uint64_t>& open) {
  for (auto it = slices_.begin(); it != slices_.end();) {
    const bool is_lost = it->second.is_found && !it->second.has_ended &&
                         open.count(it->first) == 0;
    it = is_lost ? slices_.erase(it) : std::next(it);
  }
}

}  // namespace pztrace
