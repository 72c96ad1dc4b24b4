// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/thread_states.h"

#include <algorithm>
#include <vector>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

using RecordKind = KernelRecord::Kind;

}  // namespace

void ThreadStates::AddThread(int32_t tid,
                             const Thread& thread,
                             int32_t parent) {
  const auto [it, is_new] = threads_.try_emplace(tid, thread);
  if (!is_new) {
    it->second.has_own_events |= thread.has_own_events;
    return;
  }
  const auto [process, is_new_process] =
      processes_.try_emplace(thread.pid, Process());
  if (is_new_process) {
    const auto parent_process = processes_.find(parent);
    process->second.parent = parent;
    process->second.root = parent_process != processes_.end()
                               ? parent_process->second.root
                               : thread.pid;
    observer_->OnProcess(thread.pid, process->second);
  }
  ++process->second.num_threads;
  ++threads_of_root_[process->second.root];
  observer_->OnThread(tid, it->second);
}

void ThreadStates::Add(const KernelRecord& record) {
  if (record.kind == RecordKind::kLost)
    return ForgetStates(record);
  if (record.kind == RecordKind::kExit)
    return Remove(record.time, record.subject_tid);
  if (record.kind == RecordKind::kWaking)
    return Wake(record);
  // A thread that has ended has no number any more.
  if (record.tid <= 0)
    return;
  const bool leaves =
      record.kind == RecordKind::kWait || record.kind == RecordKind::kPreempted;
  // A thread that leaves was there before, or its end was lost.
  if (leaves && !Contains(record.tid))
    return;
  Thread* const thread = Find(record);
  if (record.kind >= RecordKind::kFoundRunning)
    return AddFound(record, thread);
  if (leaves)
    return Leave(record, thread);
  // Only a thread that runs can do something.
  Run(record, thread);
  if (record.kind == RecordKind::kFork)
    AddFork(record);
  if (record.kind == RecordKind::kExec)
    RemoveOthers(record);
  if (record.kind == RecordKind::kRename || record.kind == RecordKind::kExec) {
    const auto renamed = threads_.find(record.subject_tid);
    if (renamed == threads_.end() || renamed->second.name == record.text)
      return;
    renamed->second.name = record.text;
    observer_->OnRename(record.time, record.subject_tid, record.text);
  }
}

void ThreadStates::Remove(uint64_t time, int32_t tid) {
  const auto it = threads_.find(tid);
  if (it == threads_.end())
    return;
  SetState(time, tid, &it->second, kDead);
  early_wakings_.erase(tid);
  const int32_t pid = it->second.pid;
  threads_.erase(it);
  const auto process = processes_.find(pid);
  const int32_t root = process->second.root;
  if (--process->second.num_threads == 0) {
    processes_.erase(process);
    observer_->OnProcessGone(pid);
  }
  if (--threads_of_root_[root] == 0) {
    threads_of_root_.erase(root);
    observer_->OnRootGone(root);
  }
}

ThreadStates::Thread* ThreadStates::Find(const KernelRecord& record) {
  const auto it = threads_.find(record.tid);
  if (it != threads_.end())
    return &it->second;
  Thread thread;
  thread.pid = record.pid;
  AddThread(record.tid, thread, 0);
  return &threads_[record.tid];
}

void ThreadStates::SetState(uint64_t time,
                            int32_t tid,
                            Thread* thread,
                            State state) {
  if (thread->state == kRunning) {
    const auto it = running_.find(thread->cpu);
    if (it != running_.end() && it->second == tid)
      running_.erase(it);
  }
  thread->state = state;
  observer_->OnState(time, tid, *thread);
}

void ThreadStates::Run(const KernelRecord& record, Thread* thread) {
  if (thread->state == kRunning) {
    if (thread->cpu == record.cpu)
      return;
    // The record in which it left the other processor is missing.
    SetState(record.time, record.tid, thread, kUnknown);
  }
  const auto it = running_.find(record.cpu);
  if (it != running_.end()) {
    const int32_t other = it->second;
    SetState(record.time, other, &threads_[other], kUnknown);
  }
  const auto early = early_wakings_.find(record.tid);
  if (early != early_wakings_.end()) {
    // No other waking has ended the wait, so this one has.
    if (thread->state == kWaiting) {
      thread->state = kRunnable;
      observer_->OnWaking(early->second, *thread);
    }
    early_wakings_.erase(early);
  }
  thread->cpu = record.cpu;
  SetState(record.time, record.tid, thread, kRunning);
  running_[record.cpu] = record.tid;
}

void ThreadStates::Leave(const KernelRecord& record, Thread* thread) {
  // Another event of the thread may have said it.
  if (thread->state == kWaiting || thread->state == kRunnable)
    return;
  State state = record.kind == RecordKind::kWait ? kWaiting : kRunnable;
  // It may have gone on in a record that is missing.
  if (record.time < lost_until_)
    state = kUnknown;
  if (state == kUnknown && thread->state == kUnknown)
    return;
  if (thread->state != kRunning)
    thread->cpu = record.cpu;
  SetState(record.time, record.tid, thread, state);
  const auto early = early_wakings_.find(record.tid);
  if (early != early_wakings_.end())
    early->second.time = record.time;
}

void ThreadStates::Wake(const KernelRecord& record) {
  const auto it = threads_.find(record.subject_tid);
  if (it == threads_.end())
    return;
  // It may be about to wait, or go on without a wait. Run() tells.
  if (it->second.state == kRunning)
    early_wakings_[record.subject_tid] = record;
  if (it->second.state != kWaiting)
    return;
  early_wakings_.erase(record.subject_tid);
  it->second.state = kRunnable;
  observer_->OnWaking(record, it->second);
}

void ThreadStates::AddFound(const KernelRecord& record, Thread* thread) {
  // Its own records say more.
  if (thread->state != kUnknown || record.time < lost_until_)
    return;
  if (record.kind == RecordKind::kFoundRunning)
    return Run(record, thread);
  thread->cpu = record.cpu;
  SetState(record.time, record.tid, thread,
           record.kind == RecordKind::kFoundReady ? kRunnable : kWaiting);
}

void ThreadStates::AddFork(const KernelRecord& record) {
  if (Contains(record.subject_tid))
    return;
  const auto& parent = threads_[record.tid];
  Thread thread;
  thread.pid = record.subject_pid;
  thread.name = parent.name;
  thread.cpu = record.cpu;
  // It may run already, by a record that is missing.
  const bool is_known = record.time >= lost_until_;
  if (is_known)
    thread.state = kCreated;
  AddThread(record.subject_tid, thread, parent.pid);
  if (!is_known)
    return;
  observer_->OnState(record.time, record.subject_tid,
                     threads_[record.subject_tid]);
}

void ThreadStates::RemoveOthers(const KernelRecord& exec) {
  const auto process = processes_.find(exec.subject_pid);
  if (process == processes_.end() || process->second.num_threads == 1)
    return;
  std::vector<int32_t> others;
  for (const auto& [tid, thread] : threads_) {
    if (thread.pid == exec.subject_pid && tid != exec.subject_tid)
      others.push_back(tid);
  }
  for (const int32_t tid : others)
    Remove(exec.time, tid);
}

void ThreadStates::ForgetStates(const KernelRecord& loss) {
  lost_until_ = std::max(lost_until_, loss.lost_until);
  early_wakings_.clear();
  for (auto& [tid, thread] : threads_) {
    if (thread.state != kUnknown)
      SetState(loss.time, tid, &thread, kUnknown);
  }
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
