// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/scheduling/scheduling_recorder.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/scheduling/symbol_packets.h"
#include "src/pztrace/scheduling/symbolizer.h"
#include "src/tracing/scheduling/process_files.h"

namespace pztrace {

using protozero::internal::ParentOf;
using protozero::internal::ThreadExists;
using protozero::internal::ThreadName;
using protozero::internal::ThreadState;

namespace {

using program::PrintError;

// The longest time between two looks at the rings.
constexpr int kRingPeriodMs = 100;
// A line is printed for so many processes that cannot be recorded.
constexpr uint32_t kMaxRefusals = 8;
// The share of stacks, in percent, from which on a file is named in which they
// end too early.
constexpr uint64_t kManyBroken = 10;
// Fewer of them say nothing.
constexpr uint64_t kFewBroken = 10;

uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

uint64_t PeriodOf(const KernelEvents::Options& options) {
  return options.samples_hz == 0 ? 0
                                 : uint64_t{1000000000} / options.samples_hz;
}

const char* WhatIsMissing(const KernelEvents::Options& options) {
  return options.samples_hz == 0 ? "--scheduling"
         : options.has_switches  ? "--scheduling and --samples"
                                 : "--samples";
}

}  // namespace

// Starts and stops the recorder with the session.
class SchedulingRecorder::Source : public protozero::DataSource {
 public:
  explicit Source(SchedulingRecorder* recorder)
      // The recorder's own thread may wait until there is room again.
      : DataSource({kDataSource}, protozero::BufferExhaustedPolicy::kStall),
        recorder_(recorder) {}

 protected:
  void OnStart(const protozero::DataSourceInstance&) override {
    recorder_->Start();
  }
  void OnStop(const protozero::DataSourceInstance&) override {
    recorder_->Stop();
  }

 private:
  SchedulingRecorder* const recorder_;
};

SchedulingRecorder::SchedulingRecorder(KernelEvents::Options options)
    : options_(options),
      events_(options),
      states_(this),
      packets_(PeriodOf(options)) {}

SchedulingRecorder::~SchedulingRecorder() {
  producer_.reset();
  Stop();
}

bool SchedulingRecorder::Open() {
  std::string error;
  wakeup_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  has_events_ = events_.Open(&error);
  if (has_events_)
    return true;
  PrintError(kProgram, "%s is not recorded: %s%s", WhatIsMissing(options_),
             error.c_str(),
             options_.has_switches
                 ? "; threads have the sums of their times only"
                 : "");
  return options_.has_switches;
}

void SchedulingRecorder::Connect(const std::string& socket) {
  source_ = std::make_shared<Source>(this);
  writers_ = std::make_unique<protozero::DataSourceWriters>(source_);
  protozero::Producer::Options options;
  options.name = kProgram;
  options.socket = socket;
  producer_ = std::make_unique<protozero::Producer>(options);
  producer_->RegisterDataSource(source_);
}

void SchedulingRecorder::AddProcess(int32_t pid) {
  if (pid <= 0 || pid == getpid())
    return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    new_processes_.push_back(pid);
  }
  eventfd_write(wakeup_.get(), 1);
}

void SchedulingRecorder::Start() {
  // Signals are for the main thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void SchedulingRecorder::Stop() {
  const std::lock_guard<std::mutex> lock(stop_mutex_);
  is_stopping_ = true;
  eventfd_write(wakeup_.get(), 1);
  if (thread_.joinable())
    thread_.join();
}

void SchedulingRecorder::Run() {
  // When the session stops, no call begins to write to it any more. This one
  // has begun, and still writes what the rings have then.
  writers_->Trace([this](protozero::TraceContext& context) {
    has_started_ = true;
    if (has_events_)
      RunWithEvents(&context);
    else
      RunWithSums(&context);
  });
  writers_->Flush();
}

void SchedulingRecorder::RunWithEvents(protozero::TraceContext* context) {
  packets_.Begin(context, states_);
  uint64_t until = 0;
  while (!is_stopping_) {
    events_.Wait(kRingPeriodMs, wakeup_.get());
    eventfd_t ignored = 0;
    eventfd_read(wakeup_.get(), &ignored);
    const uint64_t now = NowNs();
    Look(until);
    until = now;
  }
  Look(UINT64_MAX);
}

void SchedulingRecorder::RunWithSums(protozero::TraceContext* context) {
  bool is_last = false;
  do {
    // The last sums are those at the end.
    is_last = is_stopping_;
    for (const int32_t pid : TakeNewProcesses())
      sums_.AddProcess(pid);
    if (options_.has_switches)
      sums_.Write(NowNs(), context);
    if (!is_last)
      events_.Wait(kRingPeriodMs, wakeup_.get());
    eventfd_t ignored = 0;
    eventfd_read(wakeup_.get(), &ignored);
  } while (!is_last);
}

std::vector<int32_t> SchedulingRecorder::TakeNewProcesses() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(new_processes_, {});
}

void SchedulingRecorder::Look(uint64_t until) {
  ReadRings(/*is_last=*/until == UINT64_MAX);
  WriteRecords(until);
  AttachNew();
  if (std::exchange(has_lost_, false))
    RemoveEnded();
  for (const int32_t pid : std::exchange(gone_, {}))
    events_.Detach(pid);
}

void SchedulingRecorder::ReadRings(bool is_last) {
  for (size_t ring = 0; ring < events_.num_rings(); ++ring) {
    std::vector<KernelRecord> records;
    if (is_last)
      events_.ReadLast(ring, NowNs(), &records);
    else
      events_.Read(ring, &records);
    std::move(records.begin(), records.end(), std::back_inserter(records_));
  }
}

void SchedulingRecorder::WriteRecords(uint64_t until) {
  std::stable_sort(records_.begin(), records_.end(),
                   [](const KernelRecord& a, const KernelRecord& b) {
                     return a.time < b.time;
                   });
  auto end = records_.begin();
  for (; end != records_.end() && end->time <= until; ++end)
    Write(*end);
  records_.erase(records_.begin(), end);
}

void SchedulingRecorder::Write(const KernelRecord& record) {
  KernelRecord::Kind kind = record.kind;
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
  maps_.Add(record);
  states_.Add(record);
  const auto process = states_.processes().find(record.subject_pid);
  if (kind == KernelRecord::Kind::kExec && process != states_.processes().end())
    packets_.WriteProcess(time_, process->first, process->second);
  if (kind == KernelRecord::Kind::kSample && record.tid > 0)
    packets_.WriteSample(maps_, record);
}

void SchedulingRecorder::AttachNew() {
  for (const int32_t pid : TakeNewProcesses()) {
    // A process that a recorded one has made is recorded already.
    const bool is_known =
        states_.Contains(pid) ||
        std::any_of(records_.begin(), records_.end(),
                    [pid](const KernelRecord& record) {
                      return record.subject_pid == pid || record.pid == pid;
                    });
    if (!is_known)
      Attach(pid);
  }
}

void SchedulingRecorder::Attach(int32_t pid) {
  std::vector<int32_t> tids;
  std::string error;
  if (!events_.Attach(pid, &tids, &error)) {
    if (num_refused_++ < kMaxRefusals) {
      PrintError(kProgram, "%s is not recorded of process %" PRId32 ": %s",
                 WhatIsMissing(options_), pid, error.c_str());
    }
    return;
  }
  if (options_.samples_hz != 0)
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
}

void SchedulingRecorder::AddFound(int32_t pid, int32_t tid) {
  KernelRecord found;
  found.pid = pid;
  found.tid = tid;
  // A thread that runs may have no record for a long time.
  found.time = NowNs();
  switch (ThreadState(pid, tid, &found.cpu)) {
    case 'R': {
      const uint64_t ran = events_.RanOn(pid, tid, found.cpu);
      found.time = NowNs();
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

void SchedulingRecorder::RemoveEnded() {
  std::vector<int32_t> ended;
  for (const auto& [tid, thread] : states_.threads()) {
    if (!ThreadExists(thread.pid, tid))
      ended.push_back(tid);
  }
  for (const int32_t tid : ended)
    states_.Remove(time_, tid);
}

void SchedulingRecorder::OnState(uint64_t time,
                                 int32_t tid,
                                 const ThreadStates::Thread& thread) {
  if (options_.has_switches)
    packets_.WriteState(time, tid, thread);
}

void SchedulingRecorder::OnThread(int32_t tid,
                                  const ThreadStates::Thread& thread) {
  packets_.WriteThread(time_, tid, thread);
}

void SchedulingRecorder::OnProcess(int32_t pid,
                                   const ThreadStates::Process& process) {
  packets_.WriteProcess(time_, pid, process);
}

void SchedulingRecorder::OnRename(uint64_t time,
                                  int32_t tid,
                                  const std::string& name) {
  packets_.WriteName(time, tid, name);
}

void SchedulingRecorder::OnRootGone(int32_t root) {
  gone_.push_back(root);
}

void SchedulingRecorder::Report() {
  // A session that did not wait for its end goes on without it.
  Stop();
  const uint64_t lost = events_.num_lost();
  if (lost != 0) {
    PrintError(kProgram,
               "the kernel has lost %s about threads: their states are unknown "
               "there; leave a processor to the recorder, or record fewer "
               "programs",
               program::CountOf(lost, "record").c_str());
  }
  const StackTable& stacks = packets_.stacks();
  for (const auto& [path, number] : stacks.broken_in()) {
    if (number < kFewBroken ||
        number * 100 < stacks.num_stacks() * kManyBroken) {
      continue;
    }
    PrintError(kProgram,
               "%" PRIu64
               " of %s end in %s, whose functions keep no frame "
               "pointers; compile it with -fno-omit-frame-pointer",
               number, program::CountOf(stacks.num_stacks(), "stack").c_str(),
               path.empty() ? "code made at run time" : path.c_str());
  }
}

void SchedulingRecorder::WriteSymbols(
    const std::function<bool(const std::string&)>& write) const {
  const AddressesOfFiles& addresses = packets_.stacks().addresses();
  if (addresses.empty())
    return;
  if (!Symbolizer::IsBuilt()) {
    PrintError(kProgram,
               "stacks have addresses, not names, since this build has no "
               "libdw; `pztrace symbolize` of another build adds names");
    return;
  }
  // A server of debug information would keep the recording from its end.
  unsetenv("DEBUGINFOD_URLS");
  WriteSymbolPackets(addresses, "", /*names_problems=*/false, write);
}

}  // namespace pztrace
