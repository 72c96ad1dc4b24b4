// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program that traces before main() and after it, or that is killed.
// Arguments: "statics" with TRACE_FILE in the environment; "kill_local" with
// the same; "kill" to be recorded by others.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <optional>
#include <string>
#include <thread>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"

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

// Each ends before those above.
const Tracer g_outside("outside ");
std::optional<protozero::LocalTrace> g_trace(OptionsOfProgram());
const Tracer g_inside("inside ");

void TraceSlices() {
  for (int i = 0; i < 100; ++i) {
    PROTOZERO_TRACE_EVENT("app", "before the end");
  }
}

// When told to.
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

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "kill_local") == 0)
    return BeKilled();
  if (argc > 1 && strcmp(argv[1], "kill") == 0)
    return BeKilledWhileRecorded();
  std::thread([] {
    thread_local const Tracer tracer("thread ");
    tracer.Trace("runs");
  }).join();
  return 0;
}
