// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tasks/task_runs.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "src/tracing/trace_reader/thread_state_table.h"

namespace pztrace {

using protozero::internal::ThreadStateTable;

TaskRuns::TaskRuns(const TaskTimeline& timeline,
                   const protozero::TraceTracks& tracks)
    : timeline_(timeline) {
  for (uint32_t i = 0; i < timeline.threads().size(); ++i) {
    const std::optional<protozero::TrackInfo> info =
        ThreadStateTable::InfoForKernel(timeline.threads()[i].track, tracks);
    if (info && info->is_thread && info->tid != 0)
      threads_.emplace(info->tid, Thread{info->pid, i});
  }
}

uint32_t TaskRuns::Find(int64_t pid, int64_t tid, uint64_t time_ns) const {
  const auto [begin, end] = threads_.equal_range(tid);
  for (auto it = begin; it != end; ++it) {
    const Thread& thread = it->second;
    if (pid != 0 && thread.pid != 0 && thread.pid != pid)
      continue;
    const std::vector<uint32_t>& runs = timeline_.threads()[thread.index].runs;
    const auto after = std::upper_bound(
        runs.begin(), runs.end(), time_ns, [this](uint64_t time, uint32_t run) {
          return time < timeline_.parts()[run].begin_ns;
        });
    if (after == runs.begin())
      continue;
    const TaskTimeline::Part& part = timeline_.parts()[*(after - 1)];
    if (time_ns < timeline_.EndOf(part))
      return part.task;
  }
  return kNoIndex;
}

}  // namespace pztrace
