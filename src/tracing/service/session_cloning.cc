// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Copies sessions for TracingService::CloneSession(), and what comes into them
// for FollowSession().

#include <algorithm>
#include <optional>

#include "src/tracing/service/session_reader.h"
#include "src/tracing/service/sessions.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

TracingSessionID Sessions::Clone(Session* source,
                                 bool is_next,
                                 std::string* error) {
  const auto fail = [error](const char* why) {
    // If there is no memory for it, |error| stays as it was.
    if (error != nullptr)
      RunsInMemory([&] { *error = why; });
    return TracingSessionID{0};
  };
  if (sessions_.size() >= TracingLimits::kMaxSessions)
    return fail("there are too many sessions");
  if (source->source != 0 || FindCopyOf(source->id) != nullptr)
    return fail("another copy is being made");
  const TracingSessionID id = ++last_id_;
  const bool is_added = RunsInMemory([&] {
    Session& session = sessions_[id];
    session.id = id;
    session.source = source->id;
    session.is_next_copy = is_next;
    session.state = TracingService::kStopping;
    session.config = source->config;
    session.config.write_period_ms = 0;
    session.buffer_ids.reserve(source->buffer_ids.size());
    for (const TraceConfig::BufferConfig& buffer : session.config.buffers)
      session.buffer_ids.push_back(buffers_->Add(&session, buffer));
  });
  if (!is_added) {
    if (Session* const session = Find(id))
      Close(session);
    return fail("out of memory");
  }
  if (source->state == TracingService::kStopped) {
    BeginCopy(id, source->flushes.final_succeeded);
  } else {
    flushes_.Begin(
        source, source->config.flush_timeout_ms,
        kFlushReasonTraceClone | kFlushInitiatorService << kFlushInitiatorShift,
        /*is_final=*/false,
        [this, id](bool success) { BeginCopy(id, success); });
  }
  return id;
}

TracingSessionID Sessions::Follow(const Session& followed,
                                  size_t buffer_bytes,
                                  std::string* error) {
  const bool has_follower = std::any_of(
      sessions_.begin(), sessions_.end(), [&followed](const auto& entry) {
        return entry.second.followed == followed.id;
      });
  if (has_follower) {
    if (error != nullptr)
      RunsInMemory([&] { *error = "another session follows it"; });
    return 0;
  }
  TracingSessionID id = 0;
  RunsInMemory([&] {
    TraceConfig config;
    config.buffers.emplace_back();
    config.buffers[0].size_bytes = buffer_bytes;
    config.clock_snapshot_period_ms = followed.config.clock_snapshot_period_ms;
    id = Start(config, nullptr, error);
  });
  if (id == 0)
    return 0;
  Session* const session = Find(id);
  session->followed = followed.id;
  // A writer has one buffer, so the chunks of all buffers can be in one.
  SetFollower(followed, &buffers_->Get(session->buffer_ids[0]));
  return id;
}

void Sessions::SetFollower(const Session& session, TraceBuffer* follower) {
  for (const BufferID id : session.buffer_ids)
    buffers_->Get(id).SetFollower(follower);
}

Session* Sessions::FindCopyOf(TracingSessionID id) {
  const auto it = std::find_if(
      sessions_.begin(), sessions_.end(),
      [id](const auto& entry) { return entry.second.source == id; });
  return it == sessions_.end() ? nullptr : &it->second;
}

void Sessions::BeginCopy(TracingSessionID id, bool flush_succeeded) {
  Session* const session = Find(id);
  if (session == nullptr)
    return;
  const Session& source = *Find(session->source);
  session->stop_time = (*clock_)();
  bool has_state = false;
  RunsInMemory([&] { has_state = CopyState(source, session); });
  if (!has_state)
    return Close(session);
  session->flushes.final_succeeded = flush_succeeded;
  session->times.next_copy = session->stop_time;
}

bool Sessions::CopyState(const Session& source, Session* session) {
  const SessionDataSources& sources = source.data_sources;
  session->data_sources.producers_without_memory =
      sources.producers_without_memory;
  session->data_sources.num_instances = sources.num_instances;
  session->data_sources.names_offered = sources.names_offered;
  session->flushes.requested = source.flushes.requested;
  session->flushes.succeeded = source.flushes.succeeded;
  session->flushes.failed = source.flushes.failed;
  session->output = source.output;
  session->output.has_trailer = false;
  if (session->output.header.empty() &&
      !session->output.BeginTrace(session->config.raw_config)) {
    return false;
  }
  const std::optional<uint64_t> window = BeginOfRing(*session);
  session->begin_ns = window.has_value() ? TraceTimeOf(*window) : 0;
  TraceBuffer::CloneRange range;
  range.is_next = session->is_next_copy;
  range.begin_ms = window.value_or(0);
  range.begins_at_last = range.is_next && source.copied_until_ms != 0 &&
                         source.copied_until_ms >= range.begin_ms;
  if (range.begins_at_last)
    range.begin_ms = source.copied_until_ms;
  for (size_t i = 0; i < source.buffer_ids.size(); ++i) {
    TraceBuffer& buffer = buffers_->Get(source.buffer_ids[i]);
    if (window.has_value())
      NoteOldest(range.begin_ms, buffer.OldestTime(), session);
    buffer.BeginClone(range, &buffers_->Get(session->buffer_ids[i]));
  }
  return true;
}

void Sessions::ContinueCopy() {
  const uint64_t now = (*clock_)();
  const auto it = std::find_if(
      sessions_.begin(), sessions_.end(),
      [now](const auto& entry) { return entry.second.times.next_copy <= now; });
  if (it == sessions_.end())
    return;
  Session* const session = &it->second;
  Session* const source = Find(session->source);
  for (const BufferID id : source->buffer_ids) {
    if (buffers_->Get(id).CloneSome(SessionReader::kBatchSize))
      return;
  }
  session->times.next_copy = kNever;
  if (!EndCopy(session))
    return Close(session);
  session->state = TracingService::kStopped;
  if (!session->is_next_copy)
    return;
  source->copied_until_ms = session->stop_time;
  for (const BufferID id : source->buffer_ids)
    buffers_->Get(id).MarkCloned();
}

bool Sessions::EndCopy(Session* session) {
  const Session* const source = Find(session->source);
  session->source = 0;
  bool is_whole = true;
  if (source != nullptr) {
    for (const BufferID id : source->buffer_ids)
      is_whole = buffers_->Get(id).EndClone() && is_whole;
  }
  return is_whole;
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
