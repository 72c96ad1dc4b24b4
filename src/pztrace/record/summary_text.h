// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_SUMMARY_TEXT_H_
#define SRC_PZTRACE_RECORD_SUMMARY_TEXT_H_

#include <string>

#include "protozero/tracing/trace_stats.h"

namespace pztrace {

// Returns how many writers and producers a trace has; with |counts_packets|,
// how many packets of theirs, too.
std::string WritersText(const protozero::TraceStats& stats,
                        bool counts_packets);

// Returns how many packets of how many writers and producers a trace has, and
// what it lacks.
std::string SummaryText(const protozero::TraceStats& stats);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_SUMMARY_TEXT_H_
