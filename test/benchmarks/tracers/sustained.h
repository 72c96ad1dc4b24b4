// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_BENCHMARKS_TRACERS_SUSTAINED_H_
#define TEST_BENCHMARKS_TRACERS_SUSTAINED_H_

#include <stdint.h>
#include <sys/types.h>

#include "test/benchmarks/tracers/tracer.h"

namespace protozero {
namespace bench {

// The result of threads that write instants for some seconds, each millisecond
// as many as the rate says.
struct Sustained {
  uint64_t events = 0;
  uint64_t events_lost = 0;
  // The time that the threads took: longer than asked for, if the tracer cannot
  // write so fast.
  double seconds = 0;
  // The processor time of everything but these threads and the caller: threads
  // and processes of the tracer.
  double seconds_of_others = 0;
};

// Writes |events_per_second| with |num_threads| together.
Sustained MeasureSustained(const Tracer& tracer,
                           double events_per_second,
                           int num_threads,
                           double seconds);

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_TRACERS_SUSTAINED_H_
