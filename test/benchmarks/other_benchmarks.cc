// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/other_benchmarks.h"

#include "test/benchmarks/decode_harness.h"
#include "test/benchmarks/shm_harness.h"
#include "test/workloads/workload_rows.h"

namespace protozero {
namespace bench {

void RegisterOtherBenchmarks() {
  RegisterDecodeBenchmarks();
  RegisterShmBenchmarks();
  workloads::RegisterWorkloadBenchmarks();
}

}  // namespace bench
}  // namespace protozero
