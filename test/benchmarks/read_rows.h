// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The costs of reading events of a trace, for encode_rows.

#ifndef TEST_BENCHMARKS_READ_ROWS_H_
#define TEST_BENCHMARKS_READ_ROWS_H_

#include <vector>

#include "test/benchmarks/event_rows.h"

namespace protozero {
namespace bench {

// Returns rows that read |count| events each. Read_Empty has only the loop.
std::vector<EventRow> AllReadRows();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_READ_ROWS_H_
