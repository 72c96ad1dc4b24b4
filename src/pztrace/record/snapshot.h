// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_SNAPSHOT_H_
#define SRC_PZTRACE_RECORD_SNAPSHOT_H_

#include <stddef.h>
#include <stdint.h>

#include <string>

#include "src/pztrace/record/recording_session.h"
#include "src/pztrace/record/socket_server.h"
#include "src/pztrace/trace_file/string_filter.h"

namespace pztrace {

// Sends what the ring of a recording holds to each client of a socket. An
// answer is a sequence of parts, each with a header:
//
//   +----------------+----------------+---------------
//   | kind, 4 bytes  | size, 4 bytes  | |size| bytes
//   +----------------+----------------+---------------
//
// Parts of the trace, which are whole packets, come first; then one part that
// says how complete the trace is, or why there is none.
class SnapshotServer {
 public:
  // REQUIRES: |session| outlives it.
  explicit SnapshotServer(RecordingSession* session);

  // Sends packets as |filter| leaves them. It has to outlive this. Call it
  // before Start().
  void SetFilter(const StringFilter* filter) { filter_ = filter; }
  // Sends what is in a FlightFolder in place of what is in the session. Call it
  // before Start().
  void SetFlightFolder(const std::string& path) { flight_folder_ = path; }
  // |file| is where the recording goes as it is made; empty if the session
  // keeps its packets. Returns false, and says why, if it cannot have the
  // socket.
  bool Start(const std::string& socket,
             const std::string& file,
             std::string* error);

 private:
  void Answer(SocketServer::Client* client);
  // Copies the session. Returns 0, and says why, if that is not possible.
  protozero::TracingSessionID Copy(SocketServer::Client* client,
                                   std::string* error);
  void SendCopy(protozero::TracingSessionID copy, SocketServer::Client* client);
  void SendFlight(SocketServer::Client* client);

  RecordingSession* const session_;
  const StringFilter* filter_ = nullptr;
  std::string flight_folder_;
  std::string file_;
  SocketServer server_;
};

// The ends of a request for a snapshot.
enum class SnapshotResult {
  kWhole,
  // The recording writes its packets to a file at once, and keeps none.
  kKeepsNone,
  kFailed,
};

// Gets the snapshot of a SnapshotServer. |on_trace| takes its bytes, whole
// packets at a time. Says why in |error| if it does not come whole, or if
// |on_trace| has returned false.
SnapshotResult FetchSnapshot(const std::string& socket,
                             const OnAnswer& on_trace,
                             std::string* summary,
                             std::string* error);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_SNAPSHOT_H_
