// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/page/thread_page_rows.h"

#include <stddef.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "src/pztrace/why/thread_causes.h"

namespace pztrace {

namespace {

// The number of idle threads that a page has.
constexpr size_t kMaxIdle = 32;

// Rows have numbers that no tracks of traces have, or hardly any.
constexpr uint64_t kFirstThreadRow = 0xf1ec4a5c00000000;

struct Activity {
  bool is_known = false;  // True if there is a state or a sample.
  bool ran = false;
};

Activity ActivityOf(const ThreadTimes& times,
                    int64_t tid,
                    uint64_t from_ns,
                    uint64_t to_ns) {
  const StackSamples& samples = times.samples();
  Activity activity;
  const auto [first, end] = samples.Find(tid, from_ns, to_ns);
  for (size_t i = first; !activity.ran && i < end; ++i)
    activity.ran = samples.CounterOf(samples.samples()[i]).is_of_running;
  activity.is_known = activity.ran;
  const ThreadStateTable& states = times.states();
  const uint32_t thread = states.FindTid(tid);
  if (thread == ThreadStateTable::kNone)
    return activity;
  for (size_t i = 0; !activity.ran && i < states.num_parts(thread); ++i) {
    const ThreadStateTable::Part part = states.PartOf(thread, i);
    if (part.end_ns < from_ns || part.begin_ns > to_ns)
      continue;
    activity.ran = part.state == ThreadStateTable::State::kRunning;
    activity.is_known = activity.is_known || activity.ran ||
                        ThreadStateTable::IsReady(part.state) ||
                        ThreadStateTable::IsWaiting(part.state);
  }
  return activity;
}

// Returns the pid of a process where the recorder is.
int64_t PidForKernel(const TrackInfo& process) {
  return process.outer_pid != 0 ? process.outer_pid : process.pid;
}

// Returns the processes of the threads that have states or samples, by tid.
std::map<int64_t, int64_t> PidsOf(const ThreadTimes& times) {
  std::map<int64_t, int64_t> pids;
  for (const StackSamples::Sample& sample : times.samples().samples())
    pids[sample.tid] = sample.pid;
  const ThreadStateTable& states = times.states();
  for (uint32_t thread = 0; thread < states.num_threads(); ++thread) {
    int64_t& pid = pids[states.tid(thread)];
    if (states.pid(thread) != 0)
      pid = states.pid(thread);
  }
  return pids;
}

// Returns labels for processes that have no rows.
std::map<int64_t, std::string> LabelsOfProcesses(const ThreadTimes& times,
                                                 const Tracks& tracks) {
  std::map<int64_t, std::string> labels;
  for (const uint64_t track : tracks.All()) {
    const TrackInfo info = InfoOf(track, tracks);
    if (info.is_process)
      labels[PidForKernel(info)] = LabelOf(info);
  }
  for (const auto& [pid, name] : times.states().process_names()) {
    TrackInfo info;
    info.is_process = true;
    info.pid = static_cast<int32_t>(pid);
    info.name = name;
    labels.try_emplace(pid, LabelOf(info));
  }
  return labels;
}

}  // namespace

std::pair<uint64_t, uint64_t> TimesOfThreads(const ThreadTimes& times) {
  uint64_t first_ns = std::numeric_limits<uint64_t>::max();
  uint64_t last_ns = 0;
  const auto add = [&](uint64_t begin_ns, uint64_t end_ns) {
    first_ns = std::min(first_ns, begin_ns);
    last_ns = std::max(last_ns, end_ns);
  };
  const ThreadStateTable& states = times.states();
  for (uint32_t thread = 0; thread < states.num_threads(); ++thread) {
    const size_t num_parts = states.num_parts(thread);
    if (num_parts == 0)
      continue;
    const ThreadStateTable::Part last = states.PartOf(thread, num_parts - 1);
    add(states.PartOf(thread, 0).begin_ns,
        ThreadStateTable::IsOver(last.state) ? last.begin_ns : last.end_ns);
  }
  for (const StackSamples::Sample& sample : times.samples().samples())
    add(sample.time_ns, sample.time_ns + 1);
  return {std::min(first_ns, last_ns), last_ns};
}

uint64_t AddThreadRows(const ThreadTimes& times,
                       const Tracks& tracks,
                       uint64_t from_ns,
                       uint64_t to_ns,
                       std::vector<TrackRow>* rows) {
  std::set<int64_t> shown;
  // The last process counts if several had one id.
  std::map<int64_t, size_t> row_of_process;
  for (size_t i = 0; i < rows->size(); ++i) {
    const uint64_t track = (*rows)[i].track;
    shown.insert(times.TidOf(track, tracks));
    const TrackInfo info = InfoOf(track, tracks);
    if (info.is_process)
      row_of_process[PidForKernel(info)] = i;
  }

  std::map<int64_t, std::vector<int64_t>> wanted;  // By process.
  std::vector<std::pair<int64_t, int64_t>> idle;
  for (const auto& [tid, pid] : PidsOf(times)) {
    const Activity activity = ActivityOf(times, tid, from_ns, to_ns);
    if (!activity.is_known || shown.count(tid) != 0)
      continue;
    if (activity.ran)
      wanted[pid].push_back(tid);
    else
      idle.emplace_back(pid, tid);
  }
  if (idle.size() <= kMaxIdle) {
    for (const auto& [pid, tid] : std::exchange(idle, {}))
      wanted[pid].push_back(tid);
  }
  if (wanted.empty())
    return idle.size();

  const ThreadNames names(times, tracks);
  const auto labels = LabelsOfProcesses(times, tracks);
  uint64_t track = kFirstThreadRow;
  // The new rows, by the row before which they come.
  std::map<size_t, std::vector<TrackRow>> added;
  for (auto& [pid, tids] : wanted) {
    std::sort(tids.begin(), tids.end());
    uint32_t level = 0;
    size_t end = rows->size();
    if (const auto row = row_of_process.find(pid);
        pid != 0 && row != row_of_process.end()) {
      level = (*rows)[row->second].level + 1;
      end = row->second + 1;
      while (end < rows->size() && (*rows)[end].level >= level)
        ++end;
    }
    std::vector<TrackRow>& of_process = added[end];
    const auto name_of = [&](int64_t tid, const char* kind) {
      const uint32_t thread = times.states().FindTid(tid);
      return thread == ThreadStateTable::kNone ? kind + std::to_string(tid)
                                               : names.Get(thread);
    };
    if (pid != 0 && level == 0) {
      const auto label = labels.find(pid);
      // A process may have ended before its command line was read.
      of_process.push_back(
          {++track, level++, nullptr, TrackRow::Kind::kProcess,
           label != labels.end() ? label->second : name_of(pid, "process ")});
    }
    for (const int64_t tid : tids) {
      of_process.push_back({++track, level, nullptr, TrackRow::Kind::kThread,
                            name_of(tid, "thread "), tid});
    }
  }
  std::vector<TrackRow> all;
  for (size_t i = 0; i <= rows->size(); ++i) {
    if (const auto here = added.find(i); here != added.end())
      all.insert(all.end(), here->second.begin(), here->second.end());
    if (i < rows->size())
      all.push_back(std::move((*rows)[i]));
  }
  *rows = std::move(all);
  return idle.size();
}

}  // namespace pztrace
