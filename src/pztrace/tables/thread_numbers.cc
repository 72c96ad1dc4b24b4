// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/thread_numbers.h"

#include <optional>

#include "src/pztrace/tables/trace_tables.h"

namespace pztrace {

using table::RowWriter;

uint32_t ThreadNumbers::UpidOf(uint32_t number, int64_t pid) {
  if (number == 0 && pid == 0)
    return 0;
  Process& process = Find(number, pid);
  if (process.upid == 0) {
    process.upid = ++num_processes_;
    process.pid = pid;
  }
  return process.upid;
}

uint32_t ThreadNumbers::UtidOf(const TrackPlace& place) {
  if (!place.has_thread)
    return 0;
  Thread& thread = threads_[place.thread_number];
  if (thread.utid == 0) {
    thread.tid = place.tid;
    thread.is_main = place.tid == place.pid;
    thread.utid = ++num_threads_;
    thread_numbers_.emplace(place.tid, place.thread_number);
  }
  thread.upid = UpidOf(place);
  return thread.utid;
}

uint32_t ThreadNumbers::UtidOf(int64_t pid,
                               int64_t tid,
                               std::string_view name) {
  const auto [place, is_new] = kernel_threads_.try_emplace({pid, tid});
  Thread& thread = place->second;
  if (!is_new)
    return thread.utid;
  const uint32_t upid = UpidOf(0, pid);
  if (const Thread* const tracked = FindTracked(pid, tid, upid)) {
    thread.utid = tracked->utid;
  } else {
    thread = {++num_threads_, upid, tid, std::string(name),
              pid == tid && pid != 0};
    more_threads_.push_back(thread);
  }
  return thread.utid;
}

void ThreadNumbers::Describe(const TrackInfo& info) {
  if (info.is_process) {
    Process& process = processes_[info.process];
    process.name = info.name;
    process.start_ns = info.start_ns;
    numbers_[info.outer_pid != 0 ? info.outer_pid : info.pid] = info.process;
  }
  const auto thread = threads_.find(info.thread);
  if (!info.is_thread || thread == threads_.end())
    return;
  thread->second.name = info.name;
  // The kernel calls it by the id outside of its namespace.
  if (info.outer_tid != 0 && info.outer_tid != thread->second.tid)
    thread_numbers_.emplace(info.outer_tid, info.thread);
}

void ThreadNumbers::NameProcess(int64_t pid, const std::string& name) {
  UpidOf(0, pid);
  Process& process = Find(0, pid);
  if (process.name.empty())
    process.name = name;
}

void ThreadNumbers::Write(RowWriter* processes, RowWriter* threads) {
  for (const auto& [number, thread] : threads_)
    WriteThread(thread, threads);
  for (const Thread& thread : more_threads_)
    WriteThread(thread, threads);
  for (const auto& [number, process] : processes_) {
    WriteProcess(process, processes);
    WriteMainThread(process, threads);
  }
  for (const auto& [pid, process] : undescribed_processes_) {
    WriteProcess(process, processes);
    WriteMainThread(process, threads);
  }
}

ThreadNumbers::Process& ThreadNumbers::Find(uint32_t number, int64_t pid) {
  if (number == 0) {
    const auto known = numbers_.find(pid);
    number = known != numbers_.end() ? known->second : 0;
  }
  return number != 0 ? processes_[number] : undescribed_processes_[pid];
}

const ThreadNumbers::Thread* ThreadNumbers::FindTracked(int64_t pid,
                                                        int64_t tid,
                                                        uint32_t upid) const {
  std::optional<uint32_t> first;
  const auto [begin, end] = thread_numbers_.equal_range(tid);
  for (auto it = begin; it != end; ++it) {
    if ((pid == 0 || threads_.at(it->second).upid == upid) &&
        (!first || it->second < *first)) {
      first = it->second;
    }
  }
  return first ? &threads_.at(*first) : nullptr;
}

void ThreadNumbers::WriteProcess(const Process& process, RowWriter* rows) {
  WriteRow(kProcessTable,
           ProcessRow{{process.upid},
                      process.pid,
                      TextOrNull(process.name),
                      process.start_ns != 0 ? std::optional(process.start_ns)
                                            : std::nullopt},
           rows);
}

// Each process has a main thread, as in Perfetto's trace processor, but not one
// whose threads the trace numbers from 0: its pid is none of them.
void ThreadNumbers::WriteMainThread(const Process& process, RowWriter* rows) {
  if (has_main_.count(process.upid) == 0 && process.pid != 0)
    WriteThread({++num_threads_, process.upid, process.pid, "", true}, rows);
}

void ThreadNumbers::WriteThread(const Thread& thread, RowWriter* rows) {
  if (thread.is_main || thread.tid == 0)
    has_main_.insert(thread.upid);
  WriteRow(kThreadTable,
           ThreadRow{{thread.utid},
                     thread.tid,
                     TextOrNull(thread.name),
                     NumberOrNull(thread.upid),
                     thread.is_main},
           rows);
}

}  // namespace pztrace
