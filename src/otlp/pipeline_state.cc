// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp/pipeline_state.h"

#include <stdlib.h>

#include <algorithm>
#include <new>

#include "src/otlp/text.h"
#include "src/otlp/wire.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {
namespace {

uint64_t NextId() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1) + 1;
}

constexpr size_t kMinThreadBuffer = 4096;
static_assert(Slot::kInlineSize <= kMinThreadBuffer / 8,
              "ThreadState::Finish() takes them for small");
// The threads for which the last half of the memory is enough, at least.
constexpr size_t kThreadsInRest = 256;

// Corrects settings that make no sense.
PipelineOptions Checked(PipelineOptions options) {
  size_t size = kMinThreadBuffer;
  while (size < options.thread_buffer_size && size < SIZE_MAX / 2)
    size *= 2;
  options.thread_buffer_size = size;
  options.attribute_count_limit =
      std::min(options.attribute_count_limit, uint32_t{UINT16_MAX});
  options.event_count_limit =
      std::min(options.event_count_limit, uint32_t{UINT16_MAX});
  options.link_count_limit =
      std::min(options.link_count_limit, uint32_t{UINT16_MAX});
  // A batch of protobuf has a length of 31 bits.
  options.record_size_limit =
      std::min(options.record_size_limit, size_t{1} << 28);
  options.memory_limit =
      std::min(options.memory_limit, static_cast<size_t>(INT64_MAX));
  options.max_batch_bytes = std::min(options.max_batch_bytes, size_t{1} << 28);
  options.export_interval_ms = std::max(options.export_interval_ms, 1u);
  if (options.export_timeout_ms == 0)
    options.export_timeout_ms = UINT32_MAX;
  return options;
}

}  // namespace

void UnixClock::Renew() {
  constexpr uint64_t kInterval = 1000000000;
  const uint64_t boot = ReadClock(CLOCK_BOOTTIME);
  const uint64_t unix_time = ReadClock(CLOCK_REALTIME);
  offset_.store(static_cast<int64_t>(unix_time - boot),
                std::memory_order_relaxed);
  next_renewal_.store(boot + kInterval, std::memory_order_relaxed);
}

PipelineState::PipelineState(const PipelineOptions& wanted, BatchSink* sink)
    : id(NextId()),
      options(Checked(wanted)),
      keep_rule(wanted.keep_rule),
      has_keep_rule(keep_rule.IsSet()),
      has_slow_attributes(wanted.attribute_value_length_limit < 128 ||
                          !keep_rule.attribute_key.empty()),
      sink_(sink),
      builder_(wanted) {
  // They are views of the caller's texts.
  options.resource.clear();
  options.resource_schema_url = {};
  InitLock();
  // Opens a file the first time, which no span is to do.
  ::protozero::internal::TraceClock().NowNs();
  if (options.publish_thread_context) {
    if (const char* const error = process_context_.Publish(builder_.resource()))
      SetLastError(error);
  }
  if (has_keep_rule) {
    const double share = std::clamp(keep_rule.memory_share, 0.0, 1.0);
    undecided.Init(
        static_cast<size_t>(share * static_cast<double>(options.memory_limit)),
        options.memory_limit);
  }
}

bool PipelineState::IsIdle() {
  bool is_idle = true;
  for (ThreadState* thread = threads_.load(); thread != nullptr;
       thread = thread->next) {
    is_idle = thread->IsIdle() && is_idle;
  }
  return is_idle;
}

PipelineState::~PipelineState() {
  for (ThreadState* thread = threads_.load(); thread != nullptr;) {
    ThreadState* const next = thread->next;
    void* const memory = thread->own_memory;
    thread->FreeMemory();
    thread->~ThreadState();
    free(memory);
    thread = next;
  }
  for (ScopeState* scope : scopes_)
    delete scope;
  pthread_cond_destroy(&changed_);
  pthread_mutex_destroy(&mutex_);
  pthread_mutex_destroy(&builder_mutex_);
}

void PipelineState::InitLock() {
  pthread_mutex_init(&mutex_, nullptr);
  pthread_mutex_init(&builder_mutex_, nullptr);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&changed_, &attributes);
  pthread_condattr_destroy(&attributes);
}

void* PipelineState::Allocate(size_t size) {
  const int64_t bytes = static_cast<int64_t>(size);
  const int64_t used =
      memory_used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  void* const memory = used > static_cast<int64_t>(options.memory_limit)
                           ? nullptr
                           : malloc(size);
  if (memory == nullptr)
    memory_used_.fetch_sub(bytes, std::memory_order_relaxed);
  return memory;
}

void PipelineState::Free(void* memory, size_t size) {
  free(memory);
  memory_used_.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
}

ThreadState* PipelineState::ThreadSlowPath() {
  if (!MayJoin())
    return nullptr;
  ThreadState* thread = JoinedState(id);
  if (thread == nullptr)
    thread = JoinThread();
  if (thread != nullptr)
    last_thread = {id, thread};
  if (!has_thread_.load(std::memory_order_relaxed)) {
    pthread_mutex_lock(&mutex_);
    StartThread();
    pthread_mutex_unlock(&mutex_);
  }
  return thread;
}

// Returns the size of a new thread's buffer: less than it should be when more
// than half of the memory is used, so that hundreds of threads have one, and
// spans have room, too.
size_t PipelineState::RingSize() const {
  const int64_t used = memory_used_.load(std::memory_order_relaxed);
  const int64_t limit = static_cast<int64_t>(options.memory_limit);
  size_t size = options.thread_buffer_size;
  if (used <= limit / 2)
    return size;
  const size_t left = static_cast<size_t>(std::max(limit - used, int64_t{0}));
  while (size > kMinThreadBuffer && size > left / kThreadsInRest)
    size /= 2;
  return size;
}

ThreadState* PipelineState::JoinThread() {
  pthread_mutex_lock(&mutex_);
  ThreadState* thread = threads_.load(std::memory_order_relaxed);
  while (thread != nullptr && thread->is_used)
    thread = thread->next;
  if (thread != nullptr) {
    thread->is_used = true;
  } else {
    void* const memory = Allocate(sizeof(ThreadState) + alignof(ThreadState));
    const size_t ring_size = RingSize();
    void* const ring = memory == nullptr ? nullptr : Allocate(ring_size);
    if (ring != nullptr) {
      const uintptr_t unaligned = reinterpret_cast<uintptr_t>(memory);
      const uintptr_t mask = alignof(ThreadState) - 1;
      thread = new (reinterpret_cast<void*>((unaligned + mask) & ~mask))
          ThreadState(this);
      thread->own_memory = memory;
      thread->ring().Init(static_cast<uint8_t*>(ring), ring_size);
      thread->next = threads_.load(std::memory_order_relaxed);
      threads_.store(thread, std::memory_order_release);
    } else if (memory != nullptr) {
      Free(memory, sizeof(ThreadState) + alignof(ThreadState));
    }
  }
  pthread_mutex_unlock(&mutex_);
  if (thread == nullptr || LeaveAtThreadExit(id, thread))
    return thread;
  Leave(thread);
  return nullptr;
}

void PipelineState::Leave(ThreadState* thread) {
  pthread_mutex_lock(&mutex_);
  thread->is_used = false;
  pthread_mutex_unlock(&mutex_);
}

void PipelineState::Wake() {
  // The thread looks at the flag before it waits, and after an interval anyway.
  if (is_woken_.load(std::memory_order_relaxed) ||
      is_woken_.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  pthread_mutex_lock(&mutex_);
  pthread_cond_broadcast(&changed_);
  pthread_mutex_unlock(&mutex_);
}

ScopeState* PipelineState::AddScope(std::string_view name,
                                    std::string_view version,
                                    std::string_view schema_url) {
  pthread_mutex_lock(&mutex_);
  pthread_mutex_lock(&builder_mutex_);
  const size_t number = builder_.AddScope(name, version, schema_url);
  pthread_mutex_unlock(&builder_mutex_);
  ScopeState* scope = &no_scope;
  if (number < scopes_.size()) {
    scope = scopes_[number];
  } else if (number <= UINT16_MAX) {
    scope = new ScopeState(this);
    scope->number = static_cast<uint16_t>(number);
    scope->is_enabled.store(is_enabled_, std::memory_order_relaxed);
    scopes_.push_back(scope);
  }
  pthread_mutex_unlock(&mutex_);
  return scope;
}

void PipelineState::SetEnabled(bool enabled) {
  pthread_mutex_lock(&mutex_);
  is_enabled_ = enabled;
  for (ScopeState* scope : scopes_)
    scope->is_enabled.store(enabled, std::memory_order_relaxed);
  pthread_mutex_unlock(&mutex_);
}

Account PipelineState::GetAccount(Signal signal) {
  const int i = static_cast<int>(signal);
  Account account;
  // Each is read before those that are counted earlier, so that none of the
  // differences is negative while threads write.
  account.exported = exported_[i].Get();
  account.rejected = rejected_[i].Get();
  account.export_failed = export_failed_[i].Get();
  const auto add_losses = [&account](const Counters& counters) {
    account.no_memory += counters.no_memory.Get();
    account.buffer_full += counters.buffer_full.Get();
    account.after_shutdown += counters.after_shutdown.Get();
    account.not_wanted += counters.not_wanted.Get();
    account.undecided += counters.undecided.Get();
    account.repaired_texts += counters.repaired_texts.Get();
  };
  ThreadState* const threads = threads_.load(std::memory_order_acquire);
  add_losses(other_counters[i]);
  for (ThreadState* thread = threads; thread != nullptr; thread = thread->next)
    add_losses(thread->counters(signal));
  account.written = other_counters[i].written.Get();
  // A state may have been added meanwhile.
  for (ThreadState* thread = threads_.load(std::memory_order_acquire);
       thread != nullptr; thread = thread->next) {
    account.written += thread->counters(signal).written.Get();
  }
  account.kept =
      account.written - account.exported - account.rejected - account.dropped();
  return account;
}

std::string PipelineState::LastError() {
  pthread_mutex_lock(&mutex_);
  std::string error(last_error_);
  pthread_mutex_unlock(&mutex_);
  return error;
}

void PipelineState::ResetInChild(ThreadState* mine) {
  // Locks that other threads of the parent waited for are of no use here.
  InitLock();
  for (ThreadState* thread = threads_.load(); thread != nullptr;
       thread = thread->next) {
    // Other threads may have been changing theirs: it stays unused.
    thread->is_used = true;
    thread->ring().Reset();
    thread->counters(Signal::kSpans).Reset();
    thread->counters(Signal::kLogs).Reset();
  }
  static_cast<void>(mine);
  for (int i = 0; i < 2; ++i) {
    exported_[i].Reset();
    rejected_[i].Reset();
    export_failed_[i].Reset();
    other_counters[i].Reset();
  }
  if (has_keep_rule)
    undecided.Reset();
  memory_used_.store(0);
  is_woken_.store(false);
  builder_.Clear();
  process_context_.PublishInChild();
  flushes_done_ = flushes_wanted_;
  has_thread_ = false;
  is_thread_new_ = true;
}

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
