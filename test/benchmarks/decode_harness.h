// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_BENCHMARKS_DECODE_HARNESS_H_
#define TEST_BENCHMARKS_DECODE_HARNESS_H_

namespace protozero {
namespace bench {

// Registers BM_ProtoDecoder_<Workload>_<Implementation>[_Random] with Google
// Benchmark for each decoder. Times are per message.
void RegisterDecodeBenchmarks();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_DECODE_HARNESS_H_
