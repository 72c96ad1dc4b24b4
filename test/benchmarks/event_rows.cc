// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/event_rows.h"

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/track_event.h"
#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/data_source_access.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/track_event/thread_tasks.h"

namespace protozero {
namespace bench {

namespace {

using internal::DataSourceAccess;
using internal::ProducerIpcClient;

constexpr size_t kPageSize = 4096;

// Starts a session without a service: nothing uses the connection, and no chunk
// ever becomes free. So only the thread that traces runs, and all runs execute
// the same instructions.
void StartSession(size_t memory_size) {
  int sockets[2];
  auto memory = SharedMemoryFile::Create(memory_size);
  if (memory == nullptr ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return;
  }
  static const auto& wakeup = *new WakeupFd;
  const auto client =
      std::make_shared<ProducerIpcClient>(ScopedFd(sockets[0]), &wakeup);
  if (!client->SetupTracing(memory->TakeFd(), kPageSize, {}))
    return;
  const auto source = TrackEventDataSource();
  DataSourceConfig config;
  config.name = source->descriptor().name;
  const auto instance =
      std::make_shared<DataSourceInstance>(1, std::move(config), client);
  DataSourceAccess::OnSetup(source.get(), *instance);
  {
    std::lock_guard<std::mutex> lock(internal::ClientLock());
    DataSourceAccess::StartInstance(source.get(), instance);
  }
  DataSourceAccess::OnStart(source.get(), *instance);
}

uint64_t NumLost() {
  const auto* const thread = internal::t_trace_thread;
  const auto* const tasks = internal::TasksOf(thread);
  return thread->writers.packets_lost() +
         (tasks != nullptr ? tasks->writers.packets_lost() : 0);
}

// tools/measure_instructions counts the function of this name.
template <typename Kind>
__attribute__((noinline)) void EncodeOutOfLine() {
  Kind::Trace();
  asm volatile("" : : : "memory");
}

template <typename Kind>
__attribute__((noinline)) void TraceMany(size_t count) {
  for (size_t i = 0; i < count; ++i)
    EncodeOutOfLine<Kind>();
}

struct Empty {
  static void Trace() {}
};
struct Instant {
  static void Trace() { PROTOZERO_TRACE_EVENT_INSTANT("app", "event"); }
};
struct Slice {
  static void Trace() { PROTOZERO_TRACE_EVENT("app", "event"); }
};
struct InstantInt {
  static void Trace() {
    PROTOZERO_TRACE_EVENT_INSTANT("app", "event", "int", 1234);
  }
};
struct SliceInts {
  static void Trace() {
    PROTOZERO_TRACE_EVENT("app", "event", "a", 7, "b", 1234, "c", 1 << 20);
  }
};

// A task that the reader knows.
const Task g_task = Task::Spawn(PROTOZERO_TASK_SITE("task"));

struct Switch {
  static void Trace() { SwitchTask(g_task); }
};
struct SwitchWaits {
  static void Trace() { SwitchTask(g_task, PROTOZERO_TASK_SITE("wait")); }
};
struct Wake {
  static void Trace() { g_task.Wake(); }
};
struct Spawn {
  static void Trace() { Task::Spawn(PROTOZERO_TASK_SITE("leaf")); }
};
// A task that runs once: three steps, the last of which is back to |g_task|.
struct Leaf {
  static void Trace() {
    SwitchTask(Task::Spawn(PROTOZERO_TASK_SITE("leaf")));
    SwitchTask(g_task, TaskResult::kDone);
  }
};

// Writes two events, so that the thread knows the clocks' rates, for which it
// takes two readings, and has written the packets that a sequence has once.
template <typename Kind>
bool WarmUp(size_t memory_size) {
  StartSession(memory_size);
  EncodeOutOfLine<Kind>();
  usleep(25'000);
  EncodeOutOfLine<Kind>();
  return internal::t_trace_thread != nullptr;
}

// Returns the size of the memory for |count| events. Much memory costs nothing
// until it is used.
size_t SizeFor(size_t count) {
  constexpr size_t kMaxSize = 128;
  return (size_t{1} << 20) + count * kMaxSize;
}

// Writes |count| events.
template <typename Kind>
bool Write(size_t count) {
  if (!WarmUp<Kind>(SizeFor(count)))
    return false;
  TraceMany<Kind>(count);
  return NumLost() == 0;
}

// Writes them to two sessions, as a program with two recorders does.
template <typename Kind>
bool WriteTwice(size_t count) {
  StartSession(SizeFor(count));
  return Write<Kind>(count);
}

// Writes them to a flight recorder.
template <typename Kind>
bool WriteFlight(size_t count) {
  LocalTrace::Options options;
  options.flight_recorder =
      "/dev/shm/protozero_event_rows." + std::to_string(getpid());
  options.buffer_size = 64 << 20;
  const LocalTrace trace(options);
  unlink(options.flight_recorder.c_str());
  EncodeOutOfLine<Kind>();
  usleep(25'000);
  EncodeOutOfLine<Kind>();
  TraceMany<Kind>(count);
  return trace.error().empty() && NumLost() == 0;
}

template <typename Kind>
bool Drop(size_t count) {
  constexpr size_t kMemorySize = 4 * kPageSize;
  if (!WarmUp<Kind>(kMemorySize))
    return false;
  for (size_t i = 0; i < kMemorySize; ++i)
    Kind::Trace();
  const uint64_t lost = NumLost();
  TraceMany<Kind>(count);
  return NumLost() - lost >= count;
}

bool DoNothing(size_t count) {
  TraceMany<Empty>(count);
  return true;
}

}  // namespace

std::vector<EventRow> AllEventRows() {
  return {
      {"Event_Empty", &DoNothing},
      {"Event_Instant", &Write<Instant>},
      {"Event_Slice", &Write<Slice>},
      {"Event_InstantInt", &Write<InstantInt>},
      {"Event_SliceInts", &Write<SliceInts>},
      {"Event_FlightInstant", &WriteFlight<Instant>},
      {"Event_FlightSlice", &WriteFlight<Slice>},
      {"Event_TwiceInstant", &WriteTwice<Instant>},
      {"Event_TwiceSlice", &WriteTwice<Slice>},
      {"Event_DroppedInstant", &Drop<Instant>},
      {"Event_DroppedSlice", &Drop<Slice>},
      {"Task_Empty", &DoNothing},
      {"Task_Switch", &Write<Switch>},
      {"Task_SwitchWaits", &Write<SwitchWaits>},
      {"Task_Wake", &Write<Wake>},
      {"Task_Spawn", &Write<Spawn>},
      {"Task_Leaf", &Write<Leaf>},
      {"Task_Dropped", &Drop<Switch>},
  };
}

}  // namespace bench
}  // namespace protozero
