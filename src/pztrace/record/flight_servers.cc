// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/flight_servers.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "protozero/tracing/track_event.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/pztrace/trace_file/flight_input.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/writer/flight_header.h"

namespace pztrace {

using protozero::FlightHeader;
using protozero::PacketLosses;
using protozero::ScopedFd;

namespace {

// Calls |visit(pid, header)| for the file of each program in a folder.
template <typename Visit>
void ForEachHeader(const std::string& folder, const Visit& visit) {
  for (const std::string& name : protozero::FindFlightFiles(folder)) {
    uint32_t uid;
    int32_t pid;
    protozero::ParseFlightName(name, &uid, &pid);
    const ScopedFd file(open((folder + "/" + name).c_str(),
                             O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    alignas(FlightHeader) uint8_t header[sizeof(FlightHeader)];
    if (file.is_valid() && pread(file.get(), header, sizeof(header), 0) ==
                               static_cast<ssize_t>(sizeof(header))) {
      visit(pid, *reinterpret_cast<const FlightHeader*>(header));
    }
  }
}

// Returns the losses that the programs of a folder have counted.
PacketLosses CountedLosses(const std::string& folder) {
  PacketLosses losses;
  ForEachHeader(folder, [&losses](int32_t, const FlightHeader& header) {
    losses.Add(protozero::LossesOf(header));
  });
  return losses;
}

// Returns a name of the process that the service knows; may be empty.
std::string ProducerName(int32_t pid, const protozero::TraceStats& stats) {
  for (const protozero::TraceProducerStats& producer : stats.producers) {
    if (producer.pid == pid)
      return producer.name;
  }
  for (const auto& [name, its_pid] : stats.silent_producers.named) {
    if (its_pid == pid)
      return name;
  }
  return "";
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
  if (!stats_server_.Start(StatsSocket(folder, getpid()), error) ||
      !snapshot_server_.Start(SnapshotSocket(folder, getpid()), "", error)) {
    return false;
  }
  published_.Publish(folder, session_->socket());
  return true;
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

protozero::TraceStats FlightServers::FinalStats() const {
  protozero::TraceStats stats = session_->GetStats();
  // A process may have connected again, and has a file for each time.
  std::map<int32_t, bool> has_written;
  uint32_t num_files = 0;
  ForEachHeader(flights_->path(), [&](int32_t pid, const FlightHeader& header) {
    has_written[pid] |=
        header.ring.next_step.load(std::memory_order_relaxed) != 0;
    ++num_files;
  });
  protozero::TraceStats::SilentProducers silent;
  for (const auto& [pid, has] : has_written) {
    if (!has)
      silent.Add(ProducerName(pid, stats), pid);
  }
  // Files that have made room for others are gone.
  if (silent.number != has_written.size() || num_files != flights_->num_taken())
    stats.buffers.at(0).packets_begun = 1;
  stats.silent_producers = std::move(silent);
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
