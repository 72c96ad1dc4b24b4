// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The costs of a level in messages that are nested deeply, for encode_rows.

#ifndef TEST_BENCHMARKS_LEVEL_ROWS_H_
#define TEST_BENCHMARKS_LEVEL_ROWS_H_

#include <vector>

#include "test/benchmarks/event_rows.h"

namespace protozero {
namespace bench {

// Returns rows that write |count| levels each, in messages of as many levels as
// the row's name says. Levels_Empty has only the loop.
std::vector<EventRow> AllLevelRows();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_LEVEL_ROWS_H_
