// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/flight_servers.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "protozero/tracing/track_event.h"
#include "src/pztrace/flight_input.h"
#include "src/pztrace/runtime_folder.h"
#include "src/pztrace/timeline_reader.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/writer/flight_header.h"

namespace pztrace {

using protozero::FlightHeader;
using protozero::PacketLosses;
using protozero::ScopedFd;

namespace {

// Returns the losses that the programs of a folder have counted.
PacketLosses CountedLosses(const std::string& folder) {
  PacketLosses losses;
  for (const std::string& name : protozero::FindFlightFiles(folder)) {
    const ScopedFd file(open((folder + "/" + name).c_str(),
                             O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    alignas(FlightHeader) uint8_t header[sizeof(FlightHeader)];
    if (file.is_valid() && pread(file.get(), header, sizeof(header), 0) ==
                               static_cast<ssize_t>(sizeof(header))) {
      losses.Add(
          protozero::LossesOf(*reinterpret_cast<const FlightHeader*>(header)));
    }
  }
  return losses;
}

}  // namespace

FlightServers::FlightServers(RecordingSession* session,
                             const protozero::FlightFolder* flights)
    : session_(session),
      flights_(flights),
      start_ms_(session->service()->NowMs()),
      stats_server_([this](SocketServer::Client* client) {
        const std::string bytes = SerializeStats(StatsOfFiles(client));
        client->Send(bytes.data(), bytes.size());
      }),
      snapshot_server_(session) {}

bool FlightServers::Start(const std::string& folder, std::string* error) {
  snapshot_server_.SetFlightFolder(flights_->path());
  return stats_server_.Start(StatsSocket(folder, getpid()), error) &&
         snapshot_server_.Start(SnapshotSocket(folder, getpid()), "", error);
}

RecordingStats FlightServers::Stats() const {
  RecordingStats stats;
  stats.file = flights_->path();
  stats.file_bytes = flights_->size();
  stats.elapsed_ms = session_->service()->NowMs() - start_ms_;
  stats.trace = session_->GetStats();
  stats.trace.buffers.assign(1, {});
  stats.trace.buffers[0].lost = CountedLosses(flights_->path());
  stats.offers = session_->offers()->Text(stats.trace);
  return stats;
}

RecordingStats FlightServers::StatsOfFiles(SocketServer::Client* client) const {
  RecordingStats stats = Stats();
  FlightInput input;
  TimelineReader reader{TimelineReader::Callbacks()};
  if (!input.Open(flights_->path()) ||
      !input.WriteTrace([&reader, client](const uint8_t* data, size_t size) {
        reader.Read({data, size});
        return client->Send(kStatsProgress, sizeof(kStatsProgress));
      })) {
    return stats;
  }
  reader.Finish();
  stats.trace.buffers = input.Stats().buffers;
  const uint64_t now_ns = protozero::TraceTimeNs();
  if (reader.first_ns() <= reader.last_ns() && reader.first_ns() < now_ns)
    stats.kept_ns = now_ns - reader.first_ns();
  return stats;
}

}  // namespace pztrace
