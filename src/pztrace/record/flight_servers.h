// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_FLIGHT_SERVERS_H_
#define SRC_PZTRACE_RECORD_FLIGHT_SERVERS_H_

#include <stdint.h>

#include <string>

#include "src/pztrace/record/recording_session.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/pztrace/record/session_stats.h"
#include "src/pztrace/record/snapshot.h"
#include "src/pztrace/record/socket_server.h"
#include "src/tracing/local/flight_folder.h"

namespace pztrace {

// Answers `pztrace stat`, `list` and `snapshot` for a session whose programs
// write to the files of a FlightFolder.
class FlightServers {
 public:
  // REQUIRES: |session| and |flights| outlive it.
  FlightServers(RecordingSession* session,
                const protozero::FlightFolder* flights);

  // Opens the sockets in |folder|. Returns false, and
  // says why, if it cannot have them. REQUIRES: |flights| is open.
  bool Start(const std::string& folder, std::string* error);

  // Returns the state of the session, and what programs have lost.
  RecordingStats Stats() const;
  // Returns the service's statistics, in which those producers are silent that
  // have written nothing to their files, and some packet has begun if any was
  // written to a file.
  protozero::TraceStats FinalStats() const;

 private:
  // Returns the same, with what is in the files. Tells |client| of progress.
  RecordingStats StatsOfFiles(SocketServer::Client* client) const;

  RecordingSession* const session_;
  const protozero::FlightFolder* const flights_;
  const uint64_t start_ms_;
  PublishedAddress published_;
  // The last members: their threads read the others.
  SocketServer stats_server_;
  SnapshotServer snapshot_server_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_FLIGHT_SERVERS_H_
