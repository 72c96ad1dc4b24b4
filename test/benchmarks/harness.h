// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// How encoders are measured: every row of the benchmark is one encoder in one
// of these harnesses.

#ifndef TEST_BENCHMARKS_HARNESS_H_
#define TEST_BENCHMARKS_HARNESS_H_

#include <stddef.h>

#include "test/benchmarks/encoder.h"

namespace protozero {
namespace bench {

struct Harness {
  const char* suffix;  // of the benchmark's name
  size_t ring_size;    // bytes of output memory, used slot after slot
  size_t cycle_size;   // see EventCycle
  bool reads_back;     // see Batch
};

constexpr Harness kHarnesses[] = {
    // A trace buffer in use: the output is never in the cache when it is
    // written, and because all of it is read, neither the compiler nor the
    // processor can drop a store. Reading takes most of the time, and much of
    // a fast encoder's work hides behind it.
    {"", 64 * 1024 * 1024, 1, true},
    // The encoder alone: output that fits the first-level cache, not read.
    // Subtract the Empty row to be rid of the loop and the call.
    {"_L1", 64 * kSlotSize, 1, false},
    // The same without the luck of predictable branches.
    {"_L1Random", 64 * kSlotSize, kRandomCycleSize, false},
};

// Registers BM_Protozero_<Workload>_<Implementation><suffix> with Google
// Benchmark for each encoder and each harness.
void RegisterBenchmarks(const EncoderList& encoders);

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_HARNESS_H_
