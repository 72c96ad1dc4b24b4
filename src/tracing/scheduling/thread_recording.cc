// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/thread_recording.h"

#include <time.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "src/tracing/scheduling/process_files.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The number of records that are written between two looks at how much the
// rings have.
constexpr size_t kTakeEvery = 16;

}  // namespace

uint64_t ThreadTimeNs() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

ThreadRecording::ThreadRecording(KernelEvents::Options options)
    : options_(options),
      events_(options),
      states_(this),
      maps_(/*keeps_files=*/options.follows_processes),
      packets_(options.sample_period()) {}

void ThreadRecording::Begin(TraceContext* context) {
  began_at_ = ThreadTimeNs();
  packets_.Begin(context, states_, events_.counters());
  events_.StartWakings();
}

bool ThreadRecording::IsRecorded(int32_t pid) const {
  return states_.Contains(pid) ||
         std::any_of(records_.begin(), records_.end(),
                     [pid](const KernelRecord& record) {
                       return record.subject_pid == pid || record.pid == pid;
                     });
}

bool ThreadRecording::Attach(int32_t pid, std::string* error) {
  std::vector<int32_t> tids;
  if (!events_.Attach(pid, &tids, error))
    return false;
  if (options_.samples_hz != 0 && !tids.empty())
    maps_.AddProcess(pid);
  for (const int32_t tid : tids) {
    ThreadStates::Thread thread;
    thread.pid = pid;
    thread.name = ThreadName(pid, tid);
    thread.has_own_events = true;
    states_.AddThread(tid, thread, ParentOf(pid));
    AddFound(pid, tid);
  }
  if (tids.empty())
    events_.Detach(pid);
  return true;
}

bool ThreadRecording::StartTimers(std::string* error) {
  auto timers = std::make_unique<TimerSamples>(options_.sample_period());
  if (!timers->Start(error))
    return false;
  timers_ = std::move(timers);
  maps_.AddProcess(own_pid_);
  ReadTimers(/*is_last=*/false);
  return true;
}

void ThreadRecording::Look() {
  const uint64_t now = ThreadTimeNs();
  LookUntil(std::exchange(looked_at_, now));
}

void ThreadRecording::LookForTheLastTime() {
  LookUntil(UINT64_MAX);
}

void ThreadRecording::LookUntil(uint64_t until) {
  const bool is_last = until == UINT64_MAX;
  if (timers_ != nullptr)
    ReadTimers(is_last);
  else
    ReadRings(is_last);
  WriteRecords(until);
  if (std::exchange(has_lost_, false))
    RemoveEnded();
  for (const int32_t pid : std::exchange(gone_, {}))
    events_.Detach(pid);
}

void ThreadRecording::ReadRings(bool is_last) {
  for (size_t ring = 0; ring < events_.num_rings(); ++ring) {
    if (is_last)
      events_.ReadLast(ring, &records_);
    else
      events_.Read(ring, &records_);
  }
}

void ThreadRecording::ReadTimers(bool is_last) {
  const std::vector<int32_t> tids = ThreadsOf(own_pid_);
  for (const int32_t tid : tids) {
    if (states_.Contains(tid))
      continue;
    ThreadStates::Thread thread;
    thread.pid = own_pid_;
    thread.name = ThreadName(own_pid_, tid);
    states_.AddThread(tid, thread, ParentOf(own_pid_));
  }
  if (is_last)
    timers_->Stop();
  else if (!timers_->Follow(tids))
    has_lost_signal_ = true;
  const size_t num_before = records_.size();
  timers_->Take(&records_);
  const uint64_t num_lost = timers_->TakeNumLost();
  if (num_lost != 0)
    packets_.AddLoss(num_lost);
  // The program may have loaded more code.
  for (size_t i = num_before; i < records_.size(); ++i) {
    const std::vector<uint64_t>& stack = records_[i].stack;
    if (!stack.empty() && maps_.Find(own_pid_, stack[0]) == nullptr) {
      maps_.AddProcess(own_pid_);
      break;
    }
  }
  has_lost_ = true;
}

bool ThreadRecording::IsOfChild(const KernelRecord& record) const {
  // The thread that wakes one of this process may be any.
  return !options_.follows_processes &&
         record.kind != KernelRecord::Kind::kWaking &&
         ((record.pid > 0 && record.pid != own_pid_) ||
          (record.kind == KernelRecord::Kind::kFork &&
           record.subject_pid != own_pid_));
}

void ThreadRecording::WriteRecords(uint64_t until) {
  // Records of one time stay in their order. std::stable_sort() warns of its
  // own inside with some compilers and libraries.
  std::vector<size_t> order(records_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
    return std::pair(records_[a].time, a) < std::pair(records_[b].time, b);
  });
  size_t num_written = 0;
  for (const size_t i : order) {
    if (records_[i].time > until)
      break;
    Write(records_[i]);
    // The kernel goes on meanwhile, and this may take longer than a ring has
    // room for: files are read, and the service has to make room for packets.
    if (++num_written % kTakeEvery == 0)
      events_.TakeMuch();
  }
  records_.erase(std::remove_if(records_.begin(), records_.end(),
                                [until](const KernelRecord& record) {
                                  return record.time <= until;
                                }),
                 records_.end());
}

void ThreadRecording::Write(const KernelRecord& record) {
  const KernelRecord::Kind kind = record.kind;
  if (kind != KernelRecord::Kind::kLost && IsOfChild(record))
    return;
  if (kind == KernelRecord::Kind::kLost || record.time < time_) {
    // A record that comes so late is of no use any more.
    KernelRecord loss;
    loss.time = std::max(record.time, time_);
    loss.lost_until = std::max(record.lost_until, loss.time);
    states_.Add(loss);
    packets_.AddLoss(kind == KernelRecord::Kind::kLost ? record.lost : 1);
    has_lost_ = true;
    return;
  }
  time_ = record.time;
  const auto thread = states_.threads().find(record.tid);
  if (thread != states_.threads().end() &&
      events_.IsRepeated(record, thread->second.has_own_events)) {
    return;
  }
  if (kind == KernelRecord::Kind::kLeaving) {
    leaving_[record.tid] = record;
    return;
  }
  maps_.Add(record);
  states_.Add(record);
  WriteWait(record);
  const auto process = states_.processes().find(record.subject_pid);
  if (kind == KernelRecord::Kind::kExec && process != states_.processes().end())
    packets_.WriteProcess(time_, process->first, process->second);
  if (kind == KernelRecord::Kind::kSample && record.tid > 0)
    packets_.WriteSample(maps_, record);
}

void ThreadRecording::WriteWait(const KernelRecord& record) {
  if (leaving_.empty() || record.kind == KernelRecord::Kind::kWaking)
    return;
  const auto leaving = leaving_.find(record.tid);
  if (leaving == leaving_.end())
    return;
  KernelRecord stack = std::move(leaving->second);
  leaving_.erase(leaving);
  // The stack of a preempted thread says no more than samples do.
  if (record.kind != KernelRecord::Kind::kWait)
    return;
  stack.time = record.time;
  packets_.WriteWait(maps_, stack);
}

void ThreadRecording::AddFound(int32_t pid, int32_t tid) {
  KernelRecord found;
  found.pid = pid;
  found.tid = tid;
  // A thread that runs may have no record for a long time.
  found.time = ThreadTimeNs();
  switch (ThreadState(pid, tid, &found.cpu)) {
    case 'R': {
      const uint64_t ran = events_.RanOn(pid, tid, found.cpu);
      found.time = ThreadTimeNs();
      found.kind = events_.RanOn(pid, tid, found.cpu) > ran
                       ? KernelRecord::Kind::kFoundRunning
                       : KernelRecord::Kind::kFoundReady;
      break;
    }
    case 'S':
    case 'D':
      found.kind = KernelRecord::Kind::kFoundWaiting;
      break;
    default:
      return;
  }
  records_.push_back(found);
}

void ThreadRecording::RemoveEnded() {
  std::vector<int32_t> ended;
  for (const auto& [tid, thread] : states_.threads()) {
    if (!ThreadExists(thread.pid, tid))
      ended.push_back(tid);
  }
  for (const int32_t tid : ended)
    states_.Remove(time_, tid);
}

void ThreadRecording::OnState(uint64_t time,
                              int32_t tid,
                              const ThreadStates::Thread& thread) {
  if (thread.state == ThreadStates::kDead)
    packets_.Forget(tid);
  // The samples of timers are no states.
  if (options_.has_switches && timers_ == nullptr)
    packets_.WriteState(time, tid, thread);
}

void ThreadRecording::OnWaking(const KernelRecord& record,
                               const ThreadStates::Thread& thread) {
  packets_.WriteWaking(record, thread);
}

void ThreadRecording::OnThread(int32_t tid,
                               const ThreadStates::Thread& thread) {
  packets_.WriteThread(std::max(time_, began_at_), tid, thread);
}

void ThreadRecording::OnProcess(int32_t pid,
                                const ThreadStates::Process& process) {
  packets_.WriteProcess(std::max(time_, began_at_), pid, process);
}

void ThreadRecording::OnRename(uint64_t time,
                               int32_t tid,
                               const std::string& name) {
  packets_.WriteName(time, tid, name);
}

void ThreadRecording::OnProcessGone(int32_t pid) {
  maps_.Remove(pid);
  packets_.ForgetProcess(pid);
}

void ThreadRecording::OnRootGone(int32_t root) {
  gone_.push_back(root);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
