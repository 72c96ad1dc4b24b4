// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/recording_sink.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

using protozero::TracingService;

RecordingSink::RecordingSink(RecordingSession* session,
                             uint32_t period_ms,
                             const Rotation& rotation,
                             const Compression& compression)
    : session_(session),
      period_ms_(period_ms),
      rotation_(rotation),
      output_(compression),
      drain_(session->service(), session->id(), &output_, period_ms),
      rotator_(rotation, session->service(), session->id(), &drain_, &output_),
      triggered_(session, rotation.keep, compression),
      loss_warning_(session->service()->NowMs(), period_ms != 0),
      stats_server_([this](SocketServer::Client* client) {
        const std::string bytes = SerializeStats(Stats());
        client->Send(bytes.data(), bytes.size());
      }),
      snapshot_server_(session) {}

void RecordingSink::FilterStrings(const StringFilter::Patterns& patterns) {
  filter_.emplace(patterns);
  output_.SetFilter(&*filter_);
  triggered_.SetFilter(&*filter_);
  snapshot_server_.SetFilter(&*filter_);
}

bool RecordingSink::Watch(const WatchedRules& rules) {
  watcher_.emplace(session_->service(), rules, filter_ ? &*filter_ : nullptr);
  return watcher_->Start(session_->id());
}

bool RecordingSink::Open(const std::string& path) {
  triggered_.SetPath(path);
  start_ms_ = session_->service()->NowMs();
  return output_.Open(path, rotation_);
}

bool RecordingSink::Serve(const std::string& folder, std::string* error) {
  const std::string file_so_far = period_ms_ == 0 ? "" : output_.name();
  if (!stats_server_.Start(StatsSocket(folder, getpid()), error) ||
      !snapshot_server_.Start(SnapshotSocket(folder, getpid()), file_so_far,
                              error)) {
    return false;
  }
  published_.Publish(folder, session_->socket());
  return true;
}

uint32_t RecordingSink::Run() {
  uint32_t wait_ms = UINT32_MAX;
  // A session that stops gets no further file.
  if (session_->service()->GetState(session_->id()) <
      TracingService::kStopping) {
    wait_ms = rotator_.Run();
    if (watcher_.has_value())
      wait_ms = std::min(wait_ms, watcher_->Run());
  }
  WarnOfLosses();
  if (session_->TakeHalfFull())
    drain_.RunSoon();
  return std::min({wait_ms, drain_.Run(), triggered_.Run()});
}

void RecordingSink::WarnOfLosses() {
  const uint64_t now = session_->service()->NowMs();
  if (!loss_warning_.IsDue(now))
    return;
  // Without memory, the summary says it.
  protozero::RunsInMemory([&] {
    const std::string line = loss_warning_.Look(session_->GetStats(), now);
    if (!line.empty())
      program::PrintError(kProgram, "%s", line.c_str());
  });
}

void RecordingSink::LookLast() {
  if (watcher_.has_value() && watcher_->LookLast())
    triggered_.Request();
}

bool RecordingSink::WriteRest() {
  // Copies come first: what is read is not there anymore.
  triggered_.Run();
  return !triggered_.is_busy() && drain_.ReadSome();
}

void RecordingSink::Close() {
  if (watcher_.has_value())
    watcher_->ReportLosses();
  output_.Close();
}

RecordingStats RecordingSink::Stats() const {
  RecordingStats stats;
  stats.file = output_.name();
  stats.file_bytes = output_.bytes();
  stats.packets_not_written = output_.packets_lost();
  stats.elapsed_ms = session_->service()->NowMs() - start_ms_;
  stats.trace = session_->GetStats();
  stats.offers = session_->offers()->Text(stats.trace);
  return stats;
}

}  // namespace pztrace
