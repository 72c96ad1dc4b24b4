// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The thread of a pipeline, which takes records out of the buffers of the
// others.

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <new>

#include "src/otlp/pipeline_state.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {
namespace {

timespec ToTimespec(uint64_t time) {
  timespec result;
  result.tv_sec = static_cast<time_t>(time / 1000000000);
  result.tv_nsec = static_cast<long>(time % 1000000000);
  return result;
}

// Calls a function of the sink, whose strings may find no memory: that is a
// loss, and no reason to end the program.
template <typename Call>
void CallSink(Call call) {
#if defined(__cpp_exceptions)
  try {
    call();
  } catch (const std::bad_alloc&) {
  }
#else
  call();
#endif
}

}  // namespace

void PipelineState::SetLastError(const char* error) {
  const size_t size = std::min(strlen(error), sizeof(last_error_) - 1);
  memcpy(last_error_, error, size);
  last_error_[size] = '\0';
}

// Under the lock, as all that follows reads what it guards.
bool PipelineState::StartThread() {
  if (has_thread_ || must_stop_)
    return has_thread_;
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  has_thread_ = pthread_create(&thread_, nullptr, RunThread, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!has_thread_)
    SetLastError("no thread can be created");
  return has_thread_;
}

void* PipelineState::RunThread(void* self) {
  static_cast<PipelineState*>(self)->Run();
  return nullptr;
}

void PipelineState::Run() {
  pthread_mutex_lock(&mutex_);
  if (is_thread_new_)
    CallSink([&] { sink_->AfterFork(); });
  is_thread_new_ = false;
  for (bool is_last = false; !is_last;) {
    const timespec deadline =
        ToTimespec(ReadClock(CLOCK_MONOTONIC) +
                   uint64_t{options.export_interval_ms} * 1000000);
    while (!must_stop_ && flushes_wanted_ == flushes_done_ &&
           !is_woken_.load(std::memory_order_relaxed)) {
      if (pthread_cond_timedwait(&changed_, &mutex_, &deadline) != 0)
        break;
    }
    is_woken_.store(false, std::memory_order_relaxed);
    is_last = must_stop_;
    const uint64_t wanted = flushes_wanted_;
    const bool is_flush = wanted != flushes_done_;
    pthread_mutex_unlock(&mutex_);
    bool succeeded = ExportAll();
    if (is_flush || is_last)
      succeeded = FlushSink() && succeeded;
    pthread_mutex_lock(&mutex_);
    if (is_flush || is_last) {
      flushes_done_ = wanted;
      flush_succeeded_ = succeeded;
      pthread_cond_broadcast(&changed_);
    }
  }
  has_thread_ = false;
  pthread_cond_broadcast(&changed_);
  pthread_mutex_unlock(&mutex_);
}

bool PipelineState::FlushSink() {
  bool succeeded = false;
  CallSink([&] { succeeded = sink_->Flush(); });
  return succeeded;
}

bool PipelineState::ExportAll() {
  bool succeeded = true;
  for (ThreadState* thread = threads_.load(std::memory_order_acquire);
       thread != nullptr; thread = thread->next) {
    // Not what is written meanwhile, or it might never come to the others.
    const uint64_t end = thread->ring().Contents().end;
    for (bool is_read = false; !is_read;) {
      pthread_mutex_lock(&builder_mutex_);
      is_read = builder_.Read(thread, end);
      pthread_mutex_unlock(&builder_mutex_);
      if (!is_read)
        succeeded = ExportBatches() && succeeded;
    }
  }
  return ExportBatches() && succeeded;
}

bool PipelineState::ExportBatches() {
  bool succeeded = true;
  for (const Signal signal : {Signal::kSpans, Signal::kLogs}) {
    if (builder_.count(signal) == 0)
      continue;
    pthread_mutex_lock(&builder_mutex_);
    const Batch batch = builder_.Build(signal);
    pthread_mutex_unlock(&builder_mutex_);
    succeeded = ExportBatch(batch) && succeeded;
  }
  pthread_mutex_lock(&builder_mutex_);
  builder_.Clear();
  pthread_mutex_unlock(&builder_mutex_);
  return succeeded;
}

bool PipelineState::ExportBatch(Batch batch) {
  ExportResult result;
  const bool is_late = is_interrupted_.load(std::memory_order_acquire);
  if (batch.data == nullptr) {
    result = ExportResult::Dropped("no memory for a batch");
  } else if (is_late) {
    result = ExportResult::Dropped("the time for the shutdown is over");
  } else {
    batch.deadline = ReadClock(CLOCK_MONOTONIC) +
                     uint64_t{options.export_timeout_ms} * 1000000;
    result = ExportResult::Dropped("the exporter has no memory");
    CallSink([&] { result = sink_->Export(batch); });
  }
  const int i = static_cast<int>(batch.signal);
  // A sink may be wrong, the account may not.
  const uint32_t exported = std::min(result.exported, batch.count);
  const uint32_t rejected = std::min(result.rejected, batch.count - exported);
  if (result.reason != nullptr) {
    pthread_mutex_lock(&mutex_);
    // The sink's reason says more than that there is no time left.
    if (!is_late || last_error_[0] == '\0')
      SetLastError(result.reason);
    pthread_mutex_unlock(&mutex_);
  }
  exported_[i].AddShared(exported);
  rejected_[i].AddShared(rejected);
  export_failed_[i].AddShared(batch.count - exported - rejected);
  return exported == batch.count;
}

// Waits, under the lock, until |done| says so. False if the time is over.
template <typename Done>
bool PipelineState::WaitUntil(uint64_t deadline, Done done) {
  const timespec time = ToTimespec(deadline);
  while (!done()) {
    if (pthread_cond_timedwait(&changed_, &mutex_, &time) != 0)
      return done();
  }
  return true;
}

bool PipelineState::Flush(uint64_t deadline) {
  pthread_mutex_lock(&mutex_);
  bool succeeded = StartThread();
  if (succeeded) {
    const uint64_t mine = ++flushes_wanted_;
    pthread_cond_broadcast(&changed_);
    succeeded = WaitUntil(deadline, [&] { return flushes_done_ >= mine; });
    // The sink has not said why yet.
    if (!succeeded && last_error_[0] == '\0')
      SetLastError("the exporter needs longer than the time for the flush");
    succeeded = succeeded && flush_succeeded_;
  }
  pthread_mutex_unlock(&mutex_);
  return succeeded;
}

bool PipelineState::Shutdown(uint64_t deadline) {
  // Traces that a rule wants already are exported.
  if (has_keep_rule)
    undecided.EvictAll(Thread());
  is_shut_down.store(true);
  // Traces may have begun meanwhile.
  if (has_keep_rule)
    undecided.EvictAll(Thread());
  pthread_mutex_lock(&mutex_);
  if (must_stop_) {
    // It has been shut down, or another thread does that.
    const bool is_done = WaitUntil(deadline, [&] { return !has_thread_; });
    pthread_mutex_unlock(&mutex_);
    return is_done;
  }
  // There may be none yet, as after a fork(), and something to export.
  bool succeeded = StartThread();
  must_stop_ = true;
  const pthread_t thread = thread_;
  pthread_cond_broadcast(&changed_);
  const bool had_thread = succeeded;
  const bool is_in_time = WaitUntil(deadline, [&] { return !has_thread_; });
  pthread_mutex_unlock(&mutex_);
  if (had_thread && !is_in_time) {
    is_interrupted_.store(true, std::memory_order_release);
    sink_->Interrupt();
  }
  if (had_thread)
    pthread_join(thread, nullptr);
  return had_thread && is_in_time && flush_succeeded_;
}

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
