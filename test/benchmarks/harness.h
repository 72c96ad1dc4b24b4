// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The measurement of encoders: every row of the benchmark is one encoder in one
// harness of its workload.

#ifndef TEST_BENCHMARKS_HARNESS_H_
#define TEST_BENCHMARKS_HARNESS_H_

#include <vector>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/workload.h"

namespace protozero {
namespace bench {

// Registers BM_Protozero_<Workload>_<Implementation><suffix><argument> with
// Google Benchmark for each encoder and each harness of its workload.
void RegisterBenchmarks(const std::vector<Workload>& workloads,
                        const EncoderList& encoders);

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_HARNESS_H_
