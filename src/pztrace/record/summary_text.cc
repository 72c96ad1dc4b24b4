// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/summary_text.h"

#include "src/pztrace/trace_file/completeness.h"

namespace pztrace {

std::string WritersText(const protozero::TraceStats& stats,
                        bool counts_packets) {
  return (counts_packets ? std::to_string(stats.packets_read()) + " of them "
                         : std::string()) +
         "of " + CountOf(stats.writers_seen(), "writer") + " in " +
         CountOf(stats.producers_seen, "producer");
}

std::string SummaryText(const protozero::TraceStats& stats) {
  return WritersText(stats, /*counts_packets=*/true) + ", " +
         Completeness(stats).Text();
}

}  // namespace pztrace
