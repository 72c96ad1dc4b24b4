// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SESSION_STATS_H_
#define SRC_PZTRACE_SESSION_STATS_H_

#include <stdint.h>
#include <stdio.h>

#include <atomic>
#include <functional>
#include <string>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_stats.h"
#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/ipc/unix_socket.h"

namespace pztrace {

// The state of a recording.
struct RecordingStats {
  std::string file;
  uint64_t file_bytes = 0;
  uint64_t packets_not_written = 0;
  uint64_t elapsed_ms = 0;
  protozero::TraceStats trace;
  // The text of ProgramOffers::Text().
  std::string offers;
};

// Returns the statistics in the form of session_stats.proto.
std::string SerializeStats(const RecordingStats& stats);

// Prints the result of SerializeStats() as a table. Returns false if |bytes|
// are something else.
bool PrintStats(protozero::ConstBytes bytes, FILE* out);

// Reads RecordingStats::offers from the result of SerializeStats(), in a form
// that may be printed. Returns false if |bytes| are something else.
bool ReadOffers(const std::string& bytes, std::string* text);

// Sends the current statistics to everybody who connects to a socket.
class StatsServer {
 public:
  // |serialize| is called on a thread of the server's own.
  explicit StatsServer(std::function<std::string()> serialize);
  ~StatsServer();

  StatsServer(const StatsServer&) = delete;
  StatsServer& operator=(const StatsServer&) = delete;

  // Returns false, and says why, if it cannot have the socket.
  bool Start(const std::string& socket, std::string* error);

 private:
  void Run();

  const std::function<std::string()> serialize_;
  std::string socket_;
  protozero::ScopedFd listening_;
  protozero::WakeupFd wakeup_;
  std::atomic<bool> stops_{false};
  protozero::BackgroundThread thread_;
};

// Asks a StatsServer. Returns false, and says why, if there is no answer in
// time.
bool FetchStats(const std::string& socket,
                std::string* bytes,
                std::string* error);

}  // namespace pztrace

#endif  // SRC_PZTRACE_SESSION_STATS_H_
