// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_NINJA_TRACE_NINJA_LOG_H_
#define EXAMPLES_NINJA_TRACE_NINJA_LOG_H_

#include <stdint.h>
#include <stdio.h>

#include <functional>
#include <string_view>

#include "examples/ninja_trace/build_history.h"

// The text format of .ninja_log, versions 5 to 7:
//
//   # ninja log v5
//   <start ms> TAB <end ms> TAB <mtime> TAB <output> TAB <command hash, hex>
//
// The versions differ in the hash function and in mtime: the time of the output
// (5), or the time when the command was started (6 and 7).

namespace ninja_trace {

// A function that is called for each line that cannot be used.
using ReportLine = std::function<void(uint64_t line, std::string_view reason)>;

// Reads |file| to its end. Passes over damaged lines. Returns false, and has
// reported why, if |file| is no log or cannot be read.
bool ReadNinjaLog(FILE* file, const ReportLine& report, BuildHistory* history);

}  // namespace ninja_trace

#endif  // EXAMPLES_NINJA_TRACE_NINJA_LOG_H_
