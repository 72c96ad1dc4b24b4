// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/scheduling/scheduling_recorder.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/scheduling/symbol_packets.h"
#include "src/pztrace/scheduling/symbolizer.h"

namespace pztrace {

using protozero::internal::ThreadTimeNs;

namespace {

using program::PrintError;

// The longest time between two looks at the rings.
constexpr int kRingPeriodMs = 100;
// The longest time that a flush waits for the recorder's thread.
constexpr std::chrono::milliseconds kMaxFlush{500};
// A line is printed for so many processes that cannot be recorded.
constexpr uint32_t kMaxRefusals = 8;
// The share of stacks, in percent, from which on a file is named in which they
// end too early.
constexpr uint64_t kManyBroken = 10;
// Fewer of them say nothing.
constexpr uint64_t kFewBroken = 10;

// Returns "--scheduling is not recorded", or the same of what else was asked
// for.
const char* MissingText(const KernelEvents::Options& options) {
  return options.samples_hz == 0 ? "--scheduling is not recorded"
         : options.has_switches  ? "--scheduling and --samples are not recorded"
                                 : "--samples is not recorded";
}

}  // namespace

// Starts and stops the recorder with the session.
class SchedulingRecorder::Source : public protozero::DataSource {
 public:
  // Each rotated file has names and stacks of its own.
  static protozero::DataSourceDescriptor Descriptor() {
    protozero::DataSourceDescriptor descriptor;
    descriptor.name = kDataSource;
    descriptor.handles_incremental_state_clear = true;
    return descriptor;
  }

  explicit Source(SchedulingRecorder* recorder)
      // The recorder's own thread may wait until there is room again.
      : DataSource(Descriptor(), protozero::BufferExhaustedPolicy::kStall),
        recorder_(recorder) {}

 protected:
  void OnStart(const protozero::DataSourceInstance&) override {
    recorder_->Start();
  }
  void OnStop(const protozero::DataSourceInstance&) override {
    recorder_->Stop();
  }
  // A snapshot has the states of its last moments, too.
  void OnFlush(const protozero::DataSourceInstance&,
               protozero::FlushFlags) override {
    recorder_->Flush();
  }

 private:
  SchedulingRecorder* const recorder_;
};

SchedulingRecorder::SchedulingRecorder(KernelEvents::Options options)
    : options_(options), recording_(options) {}

SchedulingRecorder::~SchedulingRecorder() {
  producer_.reset();
  Stop();
}

bool SchedulingRecorder::Open() {
  std::string error;
  wakeup_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  has_events_ = recording_.Open(&error);
  if (has_events_) {
    if (!recording_.why_no_wakings().empty()) {
      PrintError(kProgram,
                 "threads count as waiting until they run, and not until they "
                 "are woken: %s",
                 recording_.why_no_wakings().c_str());
    }
    return true;
  }
  PrintError(kProgram, "%s: %s%s", MissingText(options_), error.c_str(),
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

void SchedulingRecorder::BeginStop() {
  is_stopping_ = true;
  eventfd_write(wakeup_.get(), 1);
}

void SchedulingRecorder::Stop() {
  const std::lock_guard<std::mutex> lock(stop_mutex_);
  BeginStop();
  if (thread_.joinable())
    thread_.join();
}

void SchedulingRecorder::Flush() {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t flush = ++num_flushes_;
  eventfd_write(wakeup_.get(), 1);
  flush_ends_.wait_for(lock, kMaxFlush,
                       [&] { return has_ended_ || num_flushed_ >= flush; });
}

void SchedulingRecorder::EndFlush(uint64_t flush,
                                  protozero::TraceContext* context) {
  context->writer().Flush();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    num_flushed_ = flush;
  }
  flush_ends_.notify_all();
}

void SchedulingRecorder::Wait() {
  recording_.Wait(kRingPeriodMs, wakeup_.get());
  eventfd_t ignored = 0;
  eventfd_read(wakeup_.get(), &ignored);
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
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_ended_ = true;
  }
  flush_ends_.notify_all();
}

void SchedulingRecorder::RunWithEvents(protozero::TraceContext* context) {
  recording_.Begin(context);
  while (!is_stopping_) {
    Wait();
    const uint64_t flush = num_flushes();
    recording_.Look();
    if (flush != num_flushed_) {
      // This look writes what the one before it has read.
      recording_.Look();
      EndFlush(flush, context);
    }
    AttachNew();
  }
  recording_.LookForTheLastTime();
}

void SchedulingRecorder::RunWithSums(protozero::TraceContext* context) {
  bool is_last = false;
  do {
    // The last sums are those at the end.
    is_last = is_stopping_;
    const uint64_t flush = num_flushes();
    for (const int32_t pid : TakeNewProcesses())
      sums_.AddProcess(pid);
    if (options_.has_switches)
      sums_.Write(ThreadTimeNs(), context);
    if (flush != num_flushed_)
      EndFlush(flush, context);
    if (!is_last)
      Wait();
  } while (!is_last);
}

uint64_t SchedulingRecorder::num_flushes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return num_flushes_;
}

std::vector<int32_t> SchedulingRecorder::TakeNewProcesses() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(new_processes_, {});
}

void SchedulingRecorder::AttachNew() {
  for (const int32_t pid : TakeNewProcesses()) {
    std::string error;
    if (recording_.IsRecorded(pid) || recording_.Attach(pid, &error) ||
        num_refused_++ >= kMaxRefusals) {
      continue;
    }
    PrintError(kProgram, "%s of process %" PRId32 ": %s", MissingText(options_),
               pid, error.c_str());
  }
}

bool SchedulingRecorder::Report() {
  // A session that did not wait for its end goes on without it.
  const bool is_whole = !is_ending();
  if (!is_whole) {
    PrintError(kProgram,
               "the states and stacks of the last moments are not in the file: "
               "the recorder had no processor to write them on");
  }
  Stop();
  const uint64_t lost = recording_.num_lost();
  if (lost != 0) {
    PrintError(kProgram,
               "the kernel has lost %s about threads: their states are unknown "
               "there; leave a processor to the recorder, or record fewer "
               "programs",
               program::CountOf(lost, "record").c_str());
  }
  const StackTable& stacks = recording_.stacks();
  const auto is_many = [&stacks](uint64_t number) {
    return number >= kFewBroken &&
           number * 100 >= stacks.num_stacks() * kManyBroken;
  };
  if (is_many(stacks.num_cut())) {
    PrintError(
        kProgram,
        "%" PRIu64
        " of %s lack their outermost functions, since the "
        "kernel looks for %" PRIu32
        " at most; `sudo sysctl kernel.perf_event_max_stack=1024` allows "
        "more",
        stacks.num_cut(),
        program::CountOf(stacks.num_stacks(), "stack").c_str(),
        stacks.max_depth());
  }
  for (const auto& [path, number] : stacks.broken_in()) {
    if (!is_many(number))
      continue;
    PrintError(kProgram,
               "%" PRIu64
               " of %s end in %s, whose functions keep no frame "
               "pointers; compile it with -fno-omit-frame-pointer",
               number, program::CountOf(stacks.num_stacks(), "stack").c_str(),
               path.empty() ? "code made at run time" : path.c_str());
  }
  return is_whole;
}

void SchedulingRecorder::WriteSymbols(
    const std::function<bool(const std::string&)>& write) const {
  const AddressesOfFiles& addresses = recording_.stacks().addresses();
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
  WriteSymbolPackets(addresses, "", &recording_.maps(), write);
}

}  // namespace pztrace
