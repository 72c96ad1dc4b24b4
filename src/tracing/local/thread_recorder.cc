// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/thread_recorder.h"

#include <string.h>
#include <unistd.h>

#include "src/tracing/scheduling/thread_sums.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// The longest time between two looks at the rings.
constexpr int kLookPeriodMs = 100;

}  // namespace

// Starts and stops the recorder with the session.
class ThreadRecorder::Source final : public DataSource {
 public:
  explicit Source(ThreadRecorder* recorder)
      // The recorder's own thread may wait until there is room again.
      : DataSource({kDataSource}, BufferExhaustedPolicy::kStall),
        recorder_(recorder) {}

 protected:
  void OnStart(const DataSourceInstance&) override { recorder_->Start(); }
  void OnStop(const DataSourceInstance&) override { recorder_->Stop(); }

 private:
  ThreadRecorder* const recorder_;
};

ThreadRecorder::ThreadRecorder(internal::KernelEvents::Options options)
    : options_(options), source_(std::make_shared<Source>(this)) {}

ThreadRecorder::~ThreadRecorder() {
  Stop();
}

void ThreadRecorder::Start() {
  const int error = thread_.Start<&ThreadRecorder::Run>(this);
  if (error != 0) {
    SetError(std::string("no thread: ") + strerror(error));
    SetBegun();
  }
}

void ThreadRecorder::Stop() {
  {
    const std::lock_guard<std::mutex> lock(lock_);
    is_stopping_ = true;
  }
  wakeup_.Notify();
  if (thread_.is_started())
    thread_.Join();
}

void ThreadRecorder::WaitUntilBegun() {
  std::unique_lock<std::mutex> lock(lock_);
  changed_.wait(lock, [this] { return has_begun_ || is_stopping_; });
}

std::string ThreadRecorder::error() const {
  const std::lock_guard<std::mutex> lock(lock_);
  return error_;
}

void ThreadRecorder::SetError(const std::string& what) {
  const std::lock_guard<std::mutex> lock(lock_);
  error_ += (error_.empty() ? "" : "; ") + what;
}

void ThreadRecorder::SetBegun() {
  const std::lock_guard<std::mutex> lock(lock_);
  has_begun_ = true;
  changed_.notify_all();
}

bool ThreadRecorder::is_stopping() const {
  const std::lock_guard<std::mutex> lock(lock_);
  return is_stopping_;
}

void ThreadRecorder::Run() {
  const bool has_memory = RunsInMemory([this] {
    DataSourceWriters writers(source_);
    // When the session stops, no call begins to write to it any more. This one
    // has begun, and still writes what the rings have then.
    writers.Trace([this](TraceContext& context) { Record(&context); });
    writers.Flush();
  });
  // Closes the kernel's events, and gives the timers' signal back.
  recording_.reset();
  if (!has_memory)
    RunsInMemory([this] { SetError("out of memory"); });
  SetBegun();
}

void ThreadRecorder::Record(TraceContext* context) {
  const bool has_events = Begin(context);
  SetBegun();
  if (!has_events)
    RecordSums(context);
  else
    while (Wait())
      recording_->Look();
  if (has_events || has_timers_)
    recording_->LookForTheLastTime();
}

bool ThreadRecorder::Begin(TraceContext* context) {
  std::string error;
  recording_ = std::make_unique<internal::ThreadRecording>(options_);
  const bool is_open = recording_->Open(&error);
  recording_->Begin(context);
  if (is_open && recording_->Attach(getpid(), &error))
    return true;
  SetError(error);
  if (options_.has_switches)
    SetError("threads have the sums of their times only");
  // Rings that were opened are of no use.
  recording_ = std::make_unique<internal::ThreadRecording>(options_);
  recording_->Begin(context);
  if (options_.samples_hz == 0)
    return false;
  has_timers_ = recording_->StartTimers(&error);
  SetError(has_timers_ ? "samples are taken by timers" : error);
  return false;
}

void ThreadRecorder::RecordSums(TraceContext* context) {
  internal::ThreadSumsWriter sums;
  sums.AddProcess(getpid());
  bool goes_on = true;
  while (goes_on) {
    // The last sums are those at the end.
    goes_on = Wait();
    if (options_.has_switches)
      sums.Write(internal::ThreadTimeNs(), context);
    if (has_timers_ && goes_on)
      recording_->Look();
  }
  if (recording_->has_lost_signal())
    SetError("the program has taken their signal");
  if (recording_->lacks_timers()) {
    SetError(
        "some threads have no timer, since there are too many; `ulimit -i` "
        "allows more");
  }
}

bool ThreadRecorder::Wait() {
  if (is_stopping())
    return false;
  recording_->Wait(kLookPeriodMs, wakeup_.fd());
  return !is_stopping();
}

PROTOZERO_ABI_END
}  // namespace protozero
