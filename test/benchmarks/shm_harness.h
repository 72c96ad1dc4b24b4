// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_BENCHMARKS_SHM_HARNESS_H_
#define TEST_BENCHMARKS_SHM_HARNESS_H_

namespace protozero {
namespace bench {

// Registers BM_ProtoShm_<Workload>_<Variant> with Google Benchmark for each
// row. Times are per packet and per thread.
void RegisterShmBenchmarks();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_SHM_HARNESS_H_
