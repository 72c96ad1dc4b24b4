// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/recording_sink.h"

#include <algorithm>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"

namespace pztrace {

using protozero::TracingService;

RecordingSink::RecordingSink(RecordingSession* session,
                             uint32_t period_ms,
                             const Rotation& rotation)
    : session_(session),
      rotation_(rotation),
      drain_(session->service(), session->id(), &output_, period_ms),
      rotator_(rotation, session->service(), session->id(), &drain_, &output_),
      stats_server_([this] { return SerializeStats(Stats()); }) {}

bool RecordingSink::Open(const std::string& path,
                         const std::string& stats_socket) {
  if (!output_.Open(path, rotation_))
    return false;
  start_ms_ = session_->service()->NowMs();
  std::string error;
  if (!stats_server_.Start(stats_socket, &error)) {
    program::PrintError(kProgram, "%s", error.c_str());
    return false;
  }
  return true;
}

uint32_t RecordingSink::Run() {
  // A session that stops gets no further file.
  const bool may_rotate =
      session_->service()->GetState(session_->id()) < TracingService::kStopping;
  const uint32_t wait_ms = may_rotate ? rotator_.Run() : UINT32_MAX;
  return std::min(wait_ms, drain_.Run());
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
