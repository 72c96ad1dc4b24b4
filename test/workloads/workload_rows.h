// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_WORKLOAD_ROWS_H_
#define TEST_WORKLOADS_WORKLOAD_ROWS_H_

namespace protozero::workloads {

// Registers BM_ProtoWorkload_<row> with Google Benchmark for each row of the
// programs beside this one. A repetition is a run of the program, and its time
// is the time of one operation.
void RegisterWorkloadBenchmarks();

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_WORKLOAD_ROWS_H_
