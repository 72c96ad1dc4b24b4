// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The comparison of this library's trace events with those of other tracers.
// Each program tracer_rows_* has this library and one other: the threads that
// tracers run in the background would disturb each other. tools/bench --tracers
// runs all of these programs. docs/performance/track-events.md has what came
// out.

#ifndef TEST_BENCHMARKS_TRACERS_TRACER_H_
#define TEST_BENCHMARKS_TRACERS_TRACER_H_

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <string>

// One tracer, set up in one way, and how it writes each kind of event.
struct Tracer {
  struct Outcome {
    uint64_t bytes = 0;        // The size of the trace; 0 if it is not kept.
    uint64_t events_lost = 0;  // For lack of room.
  };
  // Writes |count| events; null for a kind that the tracer does not have.
  using Emit = void (*)(int count);

  const char* name;
  // Its version, and the sizes of its buffers, for people.
  const char* description;

  // Begins to record. Ends the program if that fails.
  void (*start)();
  Outcome (*stop)();
  // Returns when the reader of the buffers has caught up.
  void (*settle)();
  // Returns the memory that other processes take for the tracer, in bytes; null
  // if there are none.
  uint64_t (*memory_elsewhere)();
  // Returns the processor time of these processes so far, in seconds; null if
  // there are none.
  double (*seconds_elsewhere)();
  // False for one that always records.
  bool can_be_off;

  Emit instant;
  Emit instant_with_1;
  Emit slice;
  Emit slice_with_1;
  Emit slice_with_3;
  Emit slice_with_string;
  Emit counter;
};

// Waits for a tracer that does not say when its thread or daemon has caught up.
inline void SettleBriefly() {
  usleep(20000);
}

// A text of 20 characters, the argument of slice_with_string.
inline constexpr char kTracedText[] = "twenty characters...";
static_assert(sizeof(kTracedText) == 20 + 1, "");

// Returns the processor time of a process so far, in seconds; 0 if it has
// ended.
inline double SecondsOfProcess(const char* pid) {
  const std::string path = std::string("/proc/") + pid + "/stat";
  FILE* const file = fopen(path.c_str(), "r");
  if (!file)
    return 0;
  unsigned long long user = 0;
  unsigned long long system = 0;
  // Its name, in brackets, has no spaces here.
  const int found = fscanf(
      file, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu",
      &user, &system);
  fclose(file);
  return found == 2 ? static_cast<double>(user + system) /
                          static_cast<double>(sysconf(_SC_CLK_TCK))
                    : 0;
}

const Tracer& ProtozeroTracer();
// These are defined only in programs that have them.
const Tracer& PerfettoTracer();
const Tracer& PerfettoCTracer();

// The other tracers of the program, each of which is measured in a process of
// its own. Null is after the last one.
extern const Tracer* const kPeers[];

#endif  // TEST_BENCHMARKS_TRACERS_TRACER_H_
