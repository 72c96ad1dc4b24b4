// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_SESSION_STATS_H_
#define SRC_PZTRACE_RECORD_SESSION_STATS_H_

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <string>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_stats.h"
#include "src/pztrace/record/socket_server.h"

namespace pztrace {

// The state of a recording.
struct RecordingStats {
  std::string file;
  uint64_t file_bytes = 0;
  uint64_t packets_not_written = 0;
  uint64_t elapsed_ms = 0;
  // The time from the oldest event that a flight recorder has to the last one.
  uint64_t kept_ns = 0;
  protozero::TraceStats trace;
  // The text of ProgramOffers::Text().
  std::string offers;
};

// An empty Stats.progress of session_stats.proto.
inline constexpr uint8_t kStatsProgress[] = {13 << 3 | 2, 0};

// Returns the statistics in the form of session_stats.proto.
std::string SerializeStats(const RecordingStats& stats);

// Prints the result of SerializeStats() as a table. Returns false if |bytes|
// are something else.
bool PrintStats(protozero::ConstBytes bytes, FILE* out);

// Reads RecordingStats::offers from the result of SerializeStats(), in a form
// that may be printed. Returns false if |bytes| are something else.
bool ReadOffers(const std::string& bytes, std::string* text);

// Asks a recorder, as Ask() does. Says why in |error| unless that is kWhole. A
// recorder that is about to end may answer with nothing.
AskResult FetchStats(const std::string& socket,
                     std::string* bytes,
                     std::string* error);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_SESSION_STATS_H_
