// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_PIPELINE_STATE_H_
#define SRC_OTLP_PIPELINE_STATE_H_

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <atomic>
#include <string>
#include <vector>

#include "protozero/otlp/pipeline.h"
#include "src/otlp/batch_builder.h"
#include "src/otlp/process_context.h"
#include "src/otlp/thread_state.h"
#include "src/otlp/undecided_trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {

inline uint64_t ReadClock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

// Converts the boot clock, which cannot be set, to Unix time.
class UnixClock {
 public:
  UnixClock() { Renew(); }
  // Returns the offset of Unix time for a time on the boot clock. It is taken
  // again once a second, for the clock of Unix time can be set.
  PROTOZERO_ALWAYS_INLINE int64_t OffsetAt(uint64_t boot_time) {
    if (PROTOZERO_UNLIKELY(boot_time >=
                           next_renewal_.load(std::memory_order_relaxed))) {
      Renew();
    }
    return offset_.load(std::memory_order_relaxed);
  }

 private:
  void Renew();

  std::atomic<uint64_t> next_renewal_{0};
  std::atomic<int64_t> offset_{0};
};

// The inside of a Pipeline. It stays in memory while a span of it is open.
class PipelineState {
 public:
  PipelineState(const PipelineOptions& options, BatchSink* sink);
  ~PipelineState();

  // Returns the calling thread's state in this pipeline; null without memory.
  PROTOZERO_ALWAYS_INLINE ThreadState* Thread() {
    return PROTOZERO_LIKELY(last_thread.pipeline_id == id) ? last_thread.state
                                                           : ThreadSlowPath();
  }
  // Returns false if a span is open. No other thread uses the pipeline.
  bool IsIdle();
  // Gives up a state when its thread ends.
  void Leave(ThreadState* thread);

  // Return and take memory below the limit.
  void* Allocate(size_t size);
  void Free(void* memory, size_t size);
  // Returns true if so little is left that no thread may keep some unused.
  bool IsShortOfMemory() const {
    const int64_t limit = static_cast<int64_t>(options.memory_limit);
    return memory_used_.load(std::memory_order_relaxed) > limit - limit / 8;
  }

  // Ends what profilers see.
  void StopPublishing() { process_context_.Withdraw(); }

  // Lets the pipeline's thread export soon.
  void Wake();

  bool Flush(uint64_t deadline);
  bool Shutdown(uint64_t deadline);
  Account GetAccount(Signal signal);
  std::string LastError();
  ScopeState* AddScope(std::string_view name,
                       std::string_view version,
                       std::string_view schema_url);
  void SetEnabled(bool enabled);

  // Around a fork(): the lock is held. In the child, only the calling thread
  // exists.
  void LockForFork() {
    pthread_mutex_lock(&mutex_);
    pthread_mutex_lock(&builder_mutex_);
  }
  void UnlockAfterFork() {
    pthread_mutex_unlock(&builder_mutex_);
    pthread_mutex_unlock(&mutex_);
  }
  void ResetInChild(ThreadState* mine);

  // Unique in the process.
  const uint64_t id;
  PipelineOptions options;
  // The texts of options.keep_rule.
  const KeepRule keep_rule;
  const bool has_keep_rule;
  const bool has_slow_attributes;
  UnixClock clock;
  UndecidedTraces undecided;
  std::atomic<bool> is_shut_down{false};
  // For threads without a state.
  Counters other_counters[2];
  PipelineState* next_pipeline = nullptr;

  // The state that the calling thread used last.
  struct LastThread {
    uint64_t pipeline_id;
    ThreadState* state;
  };
  static inline thread_local LastThread last_thread = {0, nullptr};

 private:
  ThreadState* ThreadSlowPath();
  ThreadState* JoinThread();
  size_t RingSize() const;
  // Keeps the beginning of the text, without an allocation. Under the lock.
  void SetLastError(const char* error);
  bool StartThread();
  static void* RunThread(void* self);
  void Run();
  // Exports what is in the buffers. False if the sink failed.
  bool ExportAll();
  bool ExportBatches();
  bool FlushSink();
  bool ExportBatch(Batch batch);
  template <typename Done>
  bool WaitUntil(uint64_t deadline, Done done);
  void InitLock();

  BatchSink* const sink_;
  BatchBuilder builder_;
  ProcessContext process_context_;
  // Negative in the child of a fork() that frees what the parent took.
  std::atomic<int64_t> memory_used_{0};
  Counter exported_[2];
  Counter rejected_[2];
  Counter export_failed_[2];
  std::atomic<bool> is_interrupted_{false};
  std::atomic<bool> is_woken_{false};

  // Guards the scopes of builder_.
  pthread_mutex_t builder_mutex_;
  // Guards what is below, and is_used of threads.
  pthread_mutex_t mutex_;
  pthread_cond_t changed_;
  std::atomic<ThreadState*> threads_{nullptr};
  std::vector<ScopeState*> scopes_;
  bool is_enabled_ = true;
  std::atomic<bool> has_thread_{false};
  bool is_thread_new_ = false;
  bool must_stop_ = false;
  pthread_t thread_;
  uint64_t flushes_wanted_ = 0;
  uint64_t flushes_done_ = 0;
  bool flush_succeeded_ = true;
  char last_error_[256] = {};
};

// A record that lies in its slot is small enough for any buffer.
PROTOZERO_ALWAYS_INLINE void ThreadState::Finish(Slot* slot) {
  if (PROTOZERO_LIKELY(
          (slot->size_class | slot->repaired_texts) == 0 &&
          slot->owner == this &&
          !pipeline_->is_shut_down.load(std::memory_order_relaxed))) {
    const RecordHeader header{static_cast<uint32_t>(slot->pos - slot->begin),
                              slot->scope->number,
                              static_cast<uint16_t>(slot->signal)};
    if (PROTOZERO_LIKELY(ring_.AppendFast(header, slot->begin))) {
      slot->next = free_slots_;
      free_slots_ = slot;
      return;
    }
  }
  Commit(slot);
  GiveBack(slot);
}

// Returns the boot clock's time for a thread, which may have no state.
PROTOZERO_ALWAYS_INLINE uint64_t BootTimeOf(ThreadState* thread) {
  return PROTOZERO_LIKELY(thread != nullptr) ? thread->BootTime()
                                             : ReadClock(CLOCK_BOOTTIME);
}

// Adds a pipeline to those of the process, and removes it.
void RegisterPipeline(PipelineState* pipeline);
void UnregisterPipeline(PipelineState* pipeline);
// Keeps the memory of one that is gone, because a span of it is open.
void KeepForever(PipelineState* pipeline);
// Returns the state that the calling thread has in a pipeline; null for none.
ThreadState* JoinedState(uint64_t pipeline_id);
// False if the calling thread is ending.
bool MayJoin();
// Calls Leave() of the pipeline when the thread ends. False without memory.
bool LeaveAtThreadExit(uint64_t pipeline_id, ThreadState* state);

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_PIPELINE_STATE_H_
