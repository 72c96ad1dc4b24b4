// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "protozero/tracing/track_event.h"
#include "src/tracing/ipc/keep_loaded.h"
#include "src/tracing/shared_memory/no_cancellation.h"
#include "src/tracing/track_event/registry.h"

#include "protozero/internal/macros.h"

// The identity of the writers of events: this process, and its threads.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

__thread TraceThread* t_trace_thread = nullptr;

namespace {

// True while a thread is being made or destroyed, so that a signal handler
// leaves it alone.
__thread bool t_is_changing = false;

std::atomic<uint64_t> g_process_uuid{0};
std::atomic<int32_t> g_process_id{0};
uint64_t g_forked_thread_id = 0;
// The process's name, guarded by a RegistryLock. Empty for the system's name.
char g_process_name[64] = "";
// The number of times that the name was set, counted from 1. Changed with that
// lock.
std::atomic<uint32_t> g_process_name_changes{1};

// Returns |cut| without its last character if a byte of that was cut off: a
// protobuf string is UTF-8.
std::string_view WithoutCutCharacter(std::string_view cut) {
  const auto byte = [cut](size_t i) { return static_cast<uint8_t>(cut[i]); };
  constexpr size_t kMaxSize = 4;
  size_t size = 1;  // From the last character's first byte on.
  while (size < std::min(cut.size(), kMaxSize) &&
         (byte(cut.size() - size) & 0xc0) == 0x80) {
    ++size;
  }
  if (size > cut.size())
    return cut;
  const uint8_t first = byte(cut.size() - size);
  const size_t whole_size = first >= 0xf0   ? 4
                            : first >= 0xe0 ? 3
                            : first >= 0xc0 ? 2
                                            : 1;
  return whole_size > size ? cut.substr(0, cut.size() - size) : cut;
}

void CopyName(std::string_view name, char (&copy)[64]) {
  if (name.size() >= sizeof(copy))
    name = WithoutCutCharacter(name.substr(0, sizeof(copy) - 1));
  if (!name.empty())
    memcpy(copy, name.data(), name.size());
  copy[name.size()] = '\0';
}

// Returns the time when the process was started, in ticks since the machine was
// started; 0 if that is not known.
uint64_t ProcessStartTime() {
  const NoCancellation no_cancellation;
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  char text[1024];
  const ssize_t size = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (size <= 0)
    return 0;
  text[size] = '\0';
  // The second field is a name in parentheses, which may have any characters.
  const char* pos = strrchr(text, ')');
  for (int field = 2; pos != nullptr && field < 22; ++field) {
    pos = strchr(pos, ' ');
    if (pos != nullptr)
      ++pos;
  }
  return pos != nullptr ? strtoull(pos, nullptr, 10) : 0;
}

// Returns the number of the process's PID namespace; 0 if that is the system's
// first one, or not known. Each container has a process 1, and containers are
// started at the same time.
uint64_t PidNamespace() {
  // The kernel's PROC_PID_INIT_INO.
  constexpr uint64_t kFirst = 0xEFFFFFFC;
  const NoCancellation no_cancellation;
  struct stat status;
  return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino != kFirst
             ? status.st_ino
             : 0;
}

pthread_key_t g_thread_key;

// Destroys a thread's state. It is called after the destructors of thread_local
// objects, which may trace, and again if destructors of other keys trace. It is
// not called for the main thread when the program exits, because destructors of
// static objects may trace, too.
void DestroyTraceThread(void* thread) {
  const NoCancellation no_cancellation;
  t_is_changing = true;
  t_trace_thread = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  delete static_cast<TraceThread*>(thread);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_is_changing = false;
}

}  // namespace

uint64_t ProcessUuid() {
  uint64_t uuid = g_process_uuid.load(std::memory_order_relaxed);
  if (PROTOZERO_LIKELY(uuid != 0))
    return uuid;
  const uint64_t start_time = ProcessStartTime();
  uuid = HashNumber(kFnvOffset, start_time);
  const uint32_t pid = static_cast<uint32_t>(ProcessId());
  for (int i = 0; i < 32; i += 8)
    uuid = HashByte(uuid, static_cast<uint8_t>(pid >> i));
  if (const uint64_t pid_namespace = PidNamespace())
    uuid = HashNumber(uuid, pid_namespace);
  // Without /proc, the random bytes that the kernel gives each program.
  if (start_time == 0) {
    if (const auto* random =
            reinterpret_cast<const char*>(getauxval(AT_RANDOM))) {
      uuid = HashText(uuid, {random, 8});
    }
  }
  g_process_uuid.store(uuid, std::memory_order_relaxed);
  return uuid;
}

int32_t ProcessId() {
  int32_t id = g_process_id.load(std::memory_order_relaxed);
  if (PROTOZERO_UNLIKELY(id == 0)) {
    id = getpid();
    g_process_id.store(id, std::memory_order_relaxed);
  }
  return id;
}

void ResetThreadsAfterFork() {
  g_process_uuid.store(0, std::memory_order_relaxed);
  g_process_id.store(0, std::memory_order_relaxed);
  if (t_trace_thread == nullptr)
    return;
  g_forked_thread_id = static_cast<uint64_t>(t_trace_thread->id);
  t_trace_thread->id = syscall(SYS_gettid);
}

uint64_t ForkedThreadId() {
  return g_forked_thread_id;
}

int64_t TraceThreadId() {
  return t_trace_thread != nullptr ? t_trace_thread->id : syscall(SYS_gettid);
}

void ReadSystemThreadName(TraceThread* thread) {
  char(&buffer)[16] = thread->system_name;
  if (pthread_getname_np(pthread_self(), buffer, sizeof(buffer)) != 0)
    buffer[0] = '\0';
  const std::string_view name = buffer;
  if (name.size() == sizeof(buffer) - 1)
    buffer[WithoutCutCharacter(name).size()] = '\0';
}

std::string_view TraceProcessName(TraceThread* thread) {
  if (thread->process_name_changes ==
      g_process_name_changes.load(std::memory_order_relaxed)) {
    return thread->process_name;
  }
  const RegistryLock lock;
  if (!lock.is_held())
    return thread->process_name;
  if (g_process_name[0] == '\0') {
    const NoCancellation no_cancellation;
    // The name is the first argument, unless the program has changed it.
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      // One more byte is read, which says whether the name is cut.
      char text[sizeof(g_process_name) + 1] = "";
      if (read(fd, text, sizeof(text) - 1) > 0)
        CopyName(text, g_process_name);
      close(fd);
    }
  }
  memcpy(thread->process_name, g_process_name, sizeof(g_process_name));
  thread->process_name_changes =
      g_process_name_changes.load(std::memory_order_relaxed);
  return thread->process_name;
}

TraceThread* CreateTraceThread() {
  if (t_is_changing)
    return nullptr;
  t_is_changing = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // The thread's end calls a function of this library.
  KeepThisLibraryLoaded();
  static const bool has_key =
      pthread_key_create(&g_thread_key, &DestroyTraceThread) == 0;
  auto* const thread = new (std::nothrow) TraceThread(TrackEventDataSource());
  if (thread != nullptr)
    thread->id = syscall(SYS_gettid);
  else
    CountEventWithoutMemory();
  // Without a key, the service has to find what the thread has written.
  if (thread != nullptr && has_key)
    pthread_setspecific(g_thread_key, thread);
  t_trace_thread = thread;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_is_changing = false;
  return thread;
}

}  // namespace internal

void SetTraceThreadName(std::string_view name) {
  internal::TraceThread* thread = internal::t_trace_thread;
  if (thread == nullptr)
    thread = internal::CreateTraceThread();
  if (thread == nullptr)
    return;
  internal::CopyName(name, thread->name);
  // Sequences that have written another name start over.
  thread->writers.Trace([](TraceContext& context) {
    auto* const sequence =
        static_cast<internal::TraceSequence*>(context.state());
    if (sequence != nullptr) {
      sequence->first_chunk =
          context.writer().chunk_id() - sequence->max_chunks;
    }
  });
}

void SetTraceProcessName(std::string_view name) {
  const internal::RegistryLock lock;
  if (!lock.is_held())
    return;
  internal::CopyName(name, internal::g_process_name);
  internal::g_process_name_changes.fetch_add(1, std::memory_order_relaxed);
}

uint64_t TraceTimeNs() {
  return internal::SystemTraceTimeNs();
}

PROTOZERO_ABI_END
}  // namespace protozero
