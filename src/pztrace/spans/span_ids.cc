// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/span_ids.h"

#include <unistd.h>

#include <algorithm>
#include <initializer_list>

#include "src/program/fnv1a.h"

namespace pztrace {

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string SpanIdOf(uint64_t number) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8)
    bytes += static_cast<char>(number >> shift);
  return bytes;
}

namespace {

// FNV-1a of numbers, then mixed: equal on each machine, and never 0, which is
// no id.
uint64_t SpanHashOf(std::string_view text,
                    std::initializer_list<uint64_t> numbers) {
  uint64_t hash = program::Fnv1a(text);
  for (uint64_t number : numbers) {
    for (int i = 0; i < 8; ++i, number >>= 8) {
      const char byte = static_cast<char>(number);
      hash = program::Fnv1a({&byte, 1}, hash);
    }
  }
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93;
  hash ^= hash >> 32;
  return hash != 0 ? hash : 1;
}

// Returns an id of 16 bytes.
std::string TraceIdOf(std::string_view text,
                      std::initializer_list<uint64_t> numbers) {
  const uint64_t high = SpanHashOf(text, numbers);
  return SpanIdOf(high) + SpanIdOf(SpanHashOf("low", {high}));
}

// The kinds of what has an id.
constexpr uint64_t kSliceId = 1;
constexpr uint64_t kTaskId = 2;

}  // namespace

uint64_t SliceSpanNumber(const std::string& host, const Slice& slice) {
  return SpanHashOf(host + slice.text->name,
                    {kSliceId, slice.track, slice.begin_ns, slice.depth});
}

uint64_t TaskSpanNumber(const std::string& host,
                        uint64_t process_track,
                        uint64_t task) {
  return SpanHashOf(host, {kTaskId, process_track, task});
}

std::string SliceTraceId(const std::string& host,
                         uint64_t track,
                         uint64_t root_ns) {
  return TraceIdOf(host, {track, root_ns});
}

std::string TaskTraceId(const std::string& host, uint64_t root_number) {
  return TraceIdOf(host, {root_number});
}

void SpanIds::AddSlice(const Slice& slice, const OtelArgs& otel) {
  const uint64_t id = SliceSpanNumber(host_, slice);
  if (slice.number >= span_ids_.size())
    span_ids_.resize(slice.number + 1);
  span_ids_[slice.number] = id;
  if (!otel.trace_id.empty() && !otel.span_id.empty()) {
    own_[slice.number] = {otel.trace_id, otel.span_id, otel.parent_id};
    if (slice.depth == 0)
      roots_[{slice.track, slice.begin_ns}] = otel.trace_id;
  }
  for (const EventFlow& flow : slice.details->flows)
    flows_[flow.id].push_back(
        {slice.begin_ns, SliceKey(slice), flow.ends_here});
}

void SpanIds::Finish(uint64_t end_ns) {
  tasks_.Finish(end_ns);
  for (uint32_t i = 0; i < tasks_.threads().size(); ++i)
    threads_[tasks_.threads()[i].track] = i;
  for (auto& [id, steps] : flows_) {
    std::stable_sort(steps.begin(), steps.end(),
                     [](const FlowStep& a, const FlowStep& b) {
                       return a.time_ns < b.time_ns;
                     });
  }
}

SpanIdentity SpanIds::OfKey(const SliceKey& slice) const {
  const auto own = own_.find(slice.number);
  if (own != own_.end())
    return own->second;
  SpanIdentity identity;
  identity.span_id = SpanIdOf(span_ids_[slice.number]);
  if (slice.parent != UINT64_MAX) {
    const auto parent = own_.find(slice.parent);
    if (parent != own_.end())
      identity.parent_id = parent->second.span_id;
    else if (slice.parent < span_ids_.size() && span_ids_[slice.parent] != 0)
      identity.parent_id = SpanIdOf(span_ids_[slice.parent]);
  }
  const auto root = roots_.find({slice.track, slice.root_ns});
  const uint32_t task = TaskAt(slice.track, slice.root_ns);
  if (root != roots_.end()) {
    identity.trace_id = root->second;
  } else if (task != kNoIndex) {
    const SpanIdentity around = OfTask(task);
    identity.trace_id = around.trace_id;
    if (slice.depth == 0)
      identity.parent_id = around.span_id;
  } else {
    identity.trace_id = SliceTraceId(host_, slice.track, slice.root_ns);
  }
  return identity;
}

SpanIdentity SpanIds::OfTask(uint32_t index) const {
  const auto id_of = [&](uint32_t i) {
    const TaskTimeline::Task& task = tasks_.tasks()[i];
    return TaskSpanNumber(host_, tasks_.processes()[task.process], task.number);
  };
  SpanIdentity identity;
  identity.span_id = SpanIdOf(id_of(index));
  const uint32_t parent = tasks_.tasks()[index].parent;
  if (parent != kNoIndex && tasks_.tasks()[parent].first_part != kNoIndex)
    identity.parent_id = SpanIdOf(id_of(parent));
  identity.trace_id = TaskTraceId(host_, id_of(RootOf(index)));
  return identity;
}

uint32_t SpanIds::RootOf(uint32_t task) const {
  // Parents in a circle, which only a broken trace has, have no root.
  size_t steps = tasks_.tasks().size();
  for (uint32_t parent = tasks_.tasks()[task].parent;
       parent != kNoIndex && steps != 0;
       parent = tasks_.tasks()[task].parent, --steps)
    task = parent;
  return task;
}

uint32_t SpanIds::TaskAt(uint64_t thread, uint64_t time_ns) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end())
    return kNoIndex;
  const std::vector<uint32_t>& runs = tasks_.threads()[found->second].runs;
  const auto after = std::upper_bound(
      runs.begin(), runs.end(), time_ns, [this](uint64_t time, uint32_t run) {
        return time < tasks_.parts()[run].begin_ns;
      });
  if (after == runs.begin())
    return kNoIndex;
  const TaskTimeline::Part& part = tasks_.parts()[*(after - 1)];
  return time_ns < tasks_.EndOf(part) ? part.task : kNoIndex;
}

std::vector<SpanIdentity> SpanIds::LinksOf(const Slice& slice) const {
  std::vector<SpanIdentity> links;
  for (const EventFlow& flow : slice.details->flows) {
    const auto found = flows_.find(flow.id);
    if (found == flows_.end())
      continue;
    const std::vector<FlowStep>& steps = found->second;
    auto step = std::lower_bound(
        steps.begin(), steps.end(), slice.begin_ns,
        [](const FlowStep& one, uint64_t time) { return one.time_ns < time; });
    while (step != steps.end() && step->slice.number != slice.number)
      ++step;
    if (step != steps.end() && step != steps.begin() && !(step - 1)->ends_flow)
      links.push_back(OfKey((step - 1)->slice));
  }
  return links;
}

}  // namespace pztrace
