// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/snapshot.h"

#include <string.h>

#include <vector>

#include "src/pztrace/record/summary_text.h"
#include "src/pztrace/trace_file/flight_input.h"

namespace pztrace {

namespace {

using protozero::TracingService;
using protozero::TracingSessionID;

enum class PartKind : uint32_t {
  kTrace = 1,
  kSummary = 2,
  kError = 3,
  kKeepsNone = 4
};

struct PartHeader {
  PartKind kind;
  uint32_t size;
};

// The size of a larger part makes no sense. A packet that does not fit into the
// service's batch is a part of its own.
constexpr uint32_t kMaxPartSize =
    protozero::TracingLimits::kMaxPacketSize + (1 << 20);
// The time between two looks whether a copy is ready.
constexpr int kCopyPollMs = 1;
// The time in which a part of the answer comes. Programs may take long to
// answer the flush before the copy.
constexpr int kPartTimeoutMs = 15000;

bool SendPart(PartKind kind,
              const void* data,
              size_t size,
              SocketServer::Client* client) {
  const PartHeader header = {kind, static_cast<uint32_t>(size)};
  return client->Send(&header, sizeof(header)) && client->Send(data, size);
}

}  // namespace

SnapshotServer::SnapshotServer(RecordingSession* session)
    : session_(session),
      server_([this](SocketServer::Client* client) { Answer(client); }) {}

bool SnapshotServer::Start(const std::string& socket,
                           const std::string& file,
                           std::string* error) {
  file_ = file;
  return server_.Start(socket, error);
}

void SnapshotServer::Answer(SocketServer::Client* client) {
  if (!flight_folder_.empty())
    return SendFlight(client);
  std::string error;
  const TracingSessionID copy = Copy(client, &error);
  if (copy != 0)
    SendCopy(copy, client);
  else
    SendPart(file_.empty() ? PartKind::kError : PartKind::kKeepsNone,
             error.data(), error.size(), client);
  session_->service()->CloseSession(copy);
}

TracingSessionID SnapshotServer::Copy(SocketServer::Client* client,
                                      std::string* error) {
  TracingService* const service = session_->service();
  if (!file_.empty()) {
    *error = "the recording writes its packets to " + file_ +
             " at once; with --ring it keeps them";
    return 0;
  }
  const TracingSessionID copy = service->CloneSession(session_->id(), error);
  if (copy == 0)
    return 0;
  // The host copies.
  session_->host()->Wakeup();
  while (service->GetState(copy) == TracingService::kStopping) {
    if (!client->Wait(kCopyPollMs))
      break;
  }
  if (service->GetState(copy) == TracingService::kStopped)
    return copy;
  service->CloseSession(copy);
  *error = "the recording has ended, or has no memory for a copy";
  return 0;
}

void SnapshotServer::SendCopy(TracingSessionID copy,
                              SocketServer::Client* client) {
  TracingService* const service = session_->service();
  std::vector<uint8_t> batch;
  // Other reads wait for a sink, so it must not wait for the client: it takes
  // one batch and ends the read.
  const auto take = [&batch](const uint8_t* data, size_t size) {
    batch.assign(data, data + size);
    return false;
  };
  for (;;) {
    batch.clear();
    const bool is_last = service->ReadPackets(copy, take);
    const bool is_empty = batch.empty();
    if (filter_ != nullptr && !is_empty) {
      std::string filtered;
      filter_->Filter({batch.data(), batch.size()}, &filtered);
      batch.assign(filtered.begin(), filtered.end());
    }
    if (!batch.empty() &&
        !SendPart(PartKind::kTrace, batch.data(), batch.size(), client)) {
      return;
    }
    if (is_last)
      break;
    if (is_empty)
      return;
  }
  const std::string summary = SummaryText(service->GetStats(copy));
  SendPart(PartKind::kSummary, summary.data(), summary.size(), client);
}

void SnapshotServer::SendFlight(SocketServer::Client* client) {
  FlightInput input;
  const bool is_open = input.Open(flight_folder_);
  const auto send = [client](const uint8_t* data, size_t size) {
    return SendPart(PartKind::kTrace, data, size, client);
  };
  if (is_open && input.WriteTrace(send, /*goes_on=*/true)) {
    const std::string summary = SummaryText(input.Stats());
    SendPart(PartKind::kSummary, summary.data(), summary.size(), client);
    return;
  }
  const std::string error = flight_folder_ + " cannot be read";
  SendPart(PartKind::kError, error.data(), error.size(), client);
}

SnapshotResult FetchSnapshot(const std::string& socket,
                             const OnAnswer& on_trace,
                             std::string* summary,
                             std::string* error) {
  std::vector<uint8_t> part;
  std::string reason = "the recording has ended";
  bool is_whole = false;
  bool keeps_none = false;
  const auto take = [&](const uint8_t* data, size_t size) {
    part.insert(part.end(), data, data + size);
    size_t begin = 0;
    PartHeader header;
    while (part.size() - begin >= sizeof(header)) {
      memcpy(&header, part.data() + begin, sizeof(header));
      if (header.size > kMaxPartSize)
        return false;
      if (part.size() - begin - sizeof(header) < header.size)
        break;
      const uint8_t* const content = part.data() + begin + sizeof(header);
      const std::string text(reinterpret_cast<const char*>(content),
                             header.kind == PartKind::kTrace ? 0 : header.size);
      begin += sizeof(header) + header.size;
      switch (header.kind) {
        case PartKind::kTrace:
          if (!on_trace(content, header.size))
            return false;
          break;
        case PartKind::kSummary:
          *summary = text;
          is_whole = true;
          break;
        case PartKind::kKeepsNone:
          keeps_none = true;
          reason = text;
          break;
        case PartKind::kError:
          reason = text;
          break;
      }
    }
    part.erase(part.begin(), part.begin() + static_cast<ptrdiff_t>(begin));
    return true;
  };
  const AskResult result = Ask(socket, kPartTimeoutMs, take, error);
  if (result == AskResult::kWhole && is_whole)
    return SnapshotResult::kWhole;
  if (result == AskResult::kRefused)
    *error = "the recorder sends something other than a snapshot";
  else if (result == AskResult::kWhole)
    *error = reason;
  return keeps_none ? SnapshotResult::kKeepsNone : SnapshotResult::kFailed;
}

}  // namespace pztrace
