// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The costs of packets that a service collects, for encode_rows.

#ifndef TEST_BENCHMARKS_SERVICE_ROWS_H_
#define TEST_BENCHMARKS_SERVICE_ROWS_H_

#include <vector>

#include "test/benchmarks/event_rows.h"

namespace protozero {
namespace bench {

// Returns rows that collect |count| packets each. Service_Empty has only the
// loop.
std::vector<EventRow> AllServiceRows();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_SERVICE_ROWS_H_
