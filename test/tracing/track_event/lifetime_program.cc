// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program that traces before main() and after it, that is killed, or whose
// threads end in other ways. Its argument is "kill" to be recorded by others;
// with TRACE_FILE in the environment, it is "statics" or one of those in
// main().

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"
#include "test/testing/sanitizers.h"

using protozero::DynamicString;

namespace {

// Traces when it begins, and when it ends.
class Tracer {
 public:
  explicit Tracer(const char* name) : name_(name) { Trace("begins"); }
  ~Tracer() { Trace("ends"); }

  void Trace(const char* what) const {
    PROTOZERO_TRACE_EVENT_INSTANT("app",
                                  DynamicString(std::string(name_) + what));
  }

 private:
  const char* const name_;
};

protozero::LocalTrace::Options OptionsOfProgram() {
  protozero::LocalTrace::Options options;
  const char* const path = getenv("TRACE_FILE");
  options.path = path != nullptr ? path : "/dev/null";
  options.write_period_ms = 10;
  return options;
}

// The objects end in the reverse order.
const Tracer g_outside("outside ");
std::optional<protozero::LocalTrace> g_trace(OptionsOfProgram());
const Tracer g_inside("inside ");

void TraceSlices() {
  for (int i = 0; i < 100; ++i) {
    PROTOZERO_TRACE_EVENT("app", "before the end");
  }
}

// Kills the program when it is told to.
int BeKilled() {
  TraceSlices();
  puts("traced");
  fflush(stdout);
  getchar();
  raise(SIGKILL);
  return 1;
}

int BeKilledWhileRecorded() {
  g_trace.reset();
  auto& producer = *new protozero::Producer(protozero::Producer::Options());
  producer.RegisterDataSource(protozero::TrackEventDataSource());
  if (!producer.Sync(10000))
    return 1;
  TraceSlices();
  raise(SIGKILL);
  return 1;
}

[[noreturn]] void EndMain() {
  TraceSlices();
  // With ThreadSanitizer, this is not possible: it has a thread of its own.
  puts(PROTOZERO_TEST_HAS_TSAN ? "cannot" : "traced");
  fflush(stdout);
  pthread_exit(nullptr);
}

// Waits for the signal, and ends main(). The signal is blocked only after the
// library's threads have begun.
void WaitForSignalAndEndMain() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    _exit(signal == SIGTERM ? 5 : 1);
  }).detach();
  EndMain();
}

// Runs a thread that is cancelled before its first event, and ends after its
// last.
int BeCancelled() {
  static std::atomic<bool> is_cancelled{false};
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        while (!is_cancelled)
          sched_yield();
        for (int i = 0; i < 100; ++i)
          TraceSlices();
        g_trace->Stop();
        pthread_testcancel();
        return nullptr;
      },
      nullptr);
  pthread_cancel(thread);
  is_cancelled = true;
  void* result = nullptr;
  pthread_join(thread, &result);
  return result == PTHREAD_CANCELED ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "kill_local") == 0)
    return BeKilled();
  if (argc > 1 && strcmp(argv[1], "end_main") == 0)
    EndMain();
  if (argc > 1 && strcmp(argv[1], "wait_and_end_main") == 0)
    WaitForSignalAndEndMain();
  if (argc > 1 && strcmp(argv[1], "cancel") == 0)
    return BeCancelled();
  if (argc > 1 && strcmp(argv[1], "kill") == 0)
    return BeKilledWhileRecorded();
  std::thread([] {
    thread_local const Tracer tracer("thread ");
    tracer.Trace("runs");
  }).join();
  return 0;
}
