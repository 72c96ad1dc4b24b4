// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_BENCHMARKS_OTHER_BENCHMARKS_H_
#define TEST_BENCHMARKS_OTHER_BENCHMARKS_H_

namespace protozero {
namespace bench {

// Registers all benchmarks but those of encoders: decoders, shared memory,
// workloads.
void RegisterOtherBenchmarks();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_OTHER_BENCHMARKS_H_
