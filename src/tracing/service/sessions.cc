// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/sessions.h"

#include <algorithm>
#include <utility>

#include "src/tracing/service/service_packets.h"
#include "src/tracing/service/visit_counter.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

using ScrapeMode = ChunkCollector::ScrapeMode;

namespace {

// The most unread snapshots of a session. Later ones replace the oldest.
constexpr size_t kMaxUnreadClockSnapshots = 16;
// The most looks at a producer that goes on writing when its session ends.
constexpr int kMaxFinalLooks = 4;

// Takes a snapshot. If there is no memory, the trace lacks it.
void TakeClockSnapshot(SessionOutput* output) {
  const ClockReadings clocks = ReadClocksAfter(output->last_clock_snapshot);
  auto& unread = output->clock_snapshots;
  const bool is_last_read = unread.empty() && output->header.empty();
  // The last snapshot holds for a longer part of the data in the buffers.
  if (!is_last_read && !HaveDrifted(output->last_clock_snapshot, clocks))
    return;
  if (unread.size() >= kMaxUnreadClockSnapshots)
    unread.erase(unread.begin());
  RunsInMemory([&] {
    unread.push_back(clocks);
    output->last_clock_snapshot = clocks;
  });
}

}  // namespace

TracingSessionID Sessions::Start(const TraceConfig& config,
                                 TracingService::Consumer* consumer,
                                 std::string* error) {
  const auto fail = [error](const char* why) {
    // If there is no memory for it, |error| stays as it was.
    if (error != nullptr)
      RunsInMemory([&] { *error = why; });
    return TracingSessionID{0};
  };
  if (const char* const reason = WhyInvalid(config, consumer))
    return fail(reason);
  const TracingSessionID id = ++last_id_;
  bool is_added = false;
  RunsInMemory([&] { is_added = Add(id, config, consumer); });
  if (is_added) {
    UpdateState(Find(id));
    return id;
  }
  if (Session* const session = Find(id))
    Close(session);
  return fail("out of memory");
}

const char* Sessions::WhyInvalid(
    const TraceConfig& config,
    const TracingService::Consumer* consumer) const {
  if (sessions_.size() >= TracingLimits::kMaxSessions)
    return "there are too many sessions";
  if (config.write_period_ms != 0 && consumer == nullptr)
    return "there is no consumer to write to";
  if (config.buffers.empty())
    return "there is no buffer";
  if (config.buffers.size() > TracingLimits::kMaxBuffersPerSession)
    return "there are too many buffers";
  if (config.data_sources.size() > TracingLimits::kMaxDataSourcesPerSession)
    return "there are too many data sources";
  for (const TraceConfig::BufferConfig& buffer : config.buffers) {
    if (buffer.size_bytes == 0)
      return "a buffer has no size";
  }
  if (config.trigger_mode != TraceConfig::TriggerMode::kNone &&
      config.triggers.empty()) {
    return "there is no trigger";
  }
  for (const TraceConfig::DataSource& source : config.data_sources) {
    if (source.config.name.empty())
      return "a data source has no name";
    if (source.config.target_buffer >= config.buffers.size())
      return "a data source is for a buffer that is not there";
  }
  return nullptr;
}

bool Sessions::Add(TracingSessionID id,
                   const TraceConfig& config,
                   TracingService::Consumer* consumer) {
  Session& session = sessions_[id];
  session.id = id;
  session.config = config;
  session.consumer = consumer;
  session.data_sources.num_instances.resize(config.data_sources.size());
  session.buffer_ids.reserve(config.buffers.size());
  for (const TraceConfig::BufferConfig& buffer : config.buffers)
    session.buffer_ids.push_back(buffers_->Add(&session, buffer));
  for (size_t i = 0; i < config.data_sources.size(); ++i) {
    DataSourceConfig& source = session.config.data_sources[i].config;
    session.data_sources.wanted[source.name].push_back(i);
    source.target_buffer = session.buffer_ids[source.target_buffer];
    source.tracing_session_id = id;
    if (source.trace_duration_ms == 0)
      source.trace_duration_ms = config.duration_ms;
    if (source.stop_timeout_ms == 0)
      source.stop_timeout_ms = config.data_source_stop_timeout_ms;
  }
  if (!session.output.BeginTrace(config.raw_config))
    return false;
  const uint64_t now = (*clock_)();
  const auto after = [now](uint32_t milliseconds) {
    return milliseconds == 0 ? kNever : now + milliseconds;
  };
  session.times.stop = after(config.duration_ms);
  session.times.next_flush = after(config.flush_period_ms);
  session.times.next_clear = after(config.incremental_state_clear_period_ms);
  session.times.next_clock_snapshot = after(config.clock_snapshot_period_ms);
  if (config.write_period_ms != UINT32_MAX)
    session.times.next_write = after(config.write_period_ms);

  SetUpTriggers(&session);
  if (!session.triggers.waits_for_start)
    data_sources_->SetupSession(&session);
  return true;
}

void Sessions::Stop(Session* session) {
  if (session->state != TracingService::kStarting &&
      session->state != TracingService::kStarted) {
    return;
  }
  session->state = TracingService::kStopping;
  session->stop_time = (*clock_)();
  session->times.stop = kNever;
  session->times.next_flush = kNever;
  session->times.next_clear = kNever;
  session->times.next_clock_snapshot = kNever;
  flushes_.Begin(
      session, session->config.flush_timeout_ms,
      kFlushReasonTraceStop | kFlushInitiatorService << kFlushInitiatorShift,
      /*is_final=*/true, nullptr);
  EndTriggers(session);
}

void Sessions::StopWaiting(Session* session) {
  if (session->state != TracingService::kStopping)
    return;
  flushes_.FailAll(session);
  data_sources_->EndAll(session);
  UpdateState(session);
}

bool Sessions::RestartTrace(Session* session) {
  if (session->state != TracingService::kStarting &&
      session->state != TracingService::kStarted) {
    return false;
  }
  if (!session->output.BeginTrace(session->config.raw_config))
    return false;
  data_sources_->ClearIncrementalState(*session);
  return true;
}

void Sessions::Close(Session* session) {
  while (Session* const copy = FindCopyOf(session->id))
    Close(copy);
  EndCopy(session);
  if (const Session* const followed = Find(session->followed))
    SetFollower(*followed, nullptr);
  data_sources_->EndAll(session);
  for (const ProducerID producer_id : session->producers) {
    ProducerRecord* const producer = producers_->Get(producer_id);
    for (const BufferID id : session->buffer_ids) {
      producer->chunks.buffers.erase(id);
      producer->data_sources.rings.erase(id);
    }
  }
  session->producers.clear();
  for (const BufferID id : session->buffer_ids)
    buffers_->Remove(id);
  flushes_.FailAll(session);
  sessions_.erase(session->id);
}

FlushRequestID Sessions::Flush(Session* session,
                               uint32_t timeout_ms,
                               FlushFlags flags,
                               std::function<void(bool)> on_done) {
  if (session->state != TracingService::kStarting &&
      session->state != TracingService::kStarted) {
    return 0;
  }
  if (timeout_ms == 0)
    timeout_ms = session->config.flush_timeout_ms;
  return flushes_.Begin(session, timeout_ms, flags, /*is_final=*/false,
                        std::move(on_done));
}

Session* Sessions::Find(TracingSessionID id) {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : &it->second;
}

void Sessions::UpdateChanged() {
  for (auto& it : sessions_) {
    if (it.second.data_sources.has_changed)
      UpdateState(&it.second);
  }
}

void Sessions::UpdateState(Session* session) {
  if (session == nullptr)
    return;
  CountVisit();
  DataSources::ForgetChange(session);
  if (session->state == TracingService::kStarting &&
      !session->triggers.waits_for_start &&
      session->data_sources.num_starting == 0) {
    session->state = TracingService::kStarted;
    if (session->consumer != nullptr)
      session->consumer->OnAllDataSourcesStarted(session->id);
  }
  // The final flush ends first, even if no producer takes part in it.
  if (session->state == TracingService::kStopping && session->source == 0 &&
      session->data_sources.instances.empty() && !session->flushes.has_final) {
    // Writers that go on may finish a chunk and begin another one while the
    // scraper passes. When it finds the same twice, nothing has changed between
    // the two looks: so the session ends at one moment for each writer.
    uint64_t progress = Scrape(*session, ScrapeMode::kForNow);
    for (int i = 0; i < kMaxFinalLooks; ++i) {
      const uint64_t before =
          std::exchange(progress, Scrape(*session, ScrapeMode::kForNow));
      if (progress == before)
        break;
    }
    if (!session->flushes.final_succeeded)
      Scrape(*session, ScrapeMode::kLastChance);
    session->state = TracingService::kStopped;
    ForgetOld(session);
    if (session->config.write_period_ms != 0)
      session->times.next_write = (*clock_)();
    flushes_.FailAll(session);
    if (session->consumer != nullptr)
      session->consumer->OnTracingStopped(session->id);
  }
}

std::optional<uint64_t> Sessions::BeginOfRing(const Session& session) {
  const uint32_t ring_ms = session.config.ring_ms;
  if (!session.config.is_read_at_end || ring_ms == 0)
    return std::nullopt;
  return session.stop_time - std::min<uint64_t>(session.stop_time, ring_ms);
}

uint64_t Sessions::TraceTimeOf(uint64_t time_ms) const {
  const uint64_t now = (*clock_)();
  const uint64_t past_ns = (now - std::min(now, time_ms)) * 1'000'000;
  const uint64_t now_ns = ReadClocks().boottime;
  return now_ns - std::min(now_ns, past_ns);
}

void Sessions::ForgetOld(Session* session) {
  const std::optional<uint64_t> begin = BeginOfRing(*session);
  if (!begin.has_value())
    return;
  session->begin_ns = TraceTimeOf(*begin);
  for (const BufferID id : session->buffer_ids) {
    TraceBuffer& buffer = buffers_->Get(id);
    NoteOldest(*begin, buffer.OldestTime(), session);
    buffer.ForgetBefore(*begin);
  }
}

void Sessions::NoteOldest(uint64_t begin, uint64_t oldest, Session* session) {
  if (oldest <= begin)
    return;
  const uint64_t end = session->stop_time;
  // One millisecond stands for less.
  const auto kept =
      static_cast<uint32_t>(std::max<uint64_t>(end - std::min(end, oldest), 1));
  session->ring_ms_kept =
      session->ring_ms_kept == 0 ? kept : std::min(session->ring_ms_kept, kept);
}

void Sessions::OnFlushEnd(const Flushes::Flush& flush, bool success) {
  Session* const session = flush.session;
  Scrape(*session, ScrapeMode::kForNow);
  // The session writes the flushed packets now, not at the end of the period.
  if (session->times.next_write != kNever)
    session->times.next_write = (*clock_)();
  if (flush.is_final) {
    data_sources_->StopAll(session);
    UpdateState(session);
  }
  if (flush.on_done)
    flush.on_done(success);
}

uint64_t Sessions::Scrape(const Session& session, ScrapeMode mode) {
  uint64_t progress = 0;
  for (const ProducerID id : session.producers) {
    progress += chunks_->Scrape(producers_->Get(id), &session.buffer_ids, mode);
  }
  return progress;
}

void Sessions::OnCommit(const ProducerRecord& producer) {
  for (const BufferID id : producer.chunks.buffers) {
    CountVisit();
    BufferTable::Entry* const entry = buffers_->Find(id);
    Session* const session = entry->session;
    if (session->is_half_full || session->config.is_read_at_end ||
        !entry->IsHalfFull()) {
      continue;
    }
    session->is_half_full = true;
    has_become_half_full_ = true;
    if (session->times.next_write != kNever)
      session->times.next_write = (*clock_)();
    if (session->consumer != nullptr)
      session->consumer->OnBufferHalfFull(session->id);
  }
}

void Sessions::OnRead(Session* session, bool is_empty) {
  session->is_half_full = false;
  for (const BufferID id : session->buffer_ids) {
    BufferTable::Entry* const entry = buffers_->Find(id);
    if (is_empty)
      entry->left_unread = entry->buffer.used_bytes();
    session->is_half_full |= entry->IsHalfFull();
  }
}

void Sessions::RemoveProducer(ProducerRecord* producer) {
  chunks_->Scrape(producer, nullptr, ScrapeMode::kProducerIsGone);
  for (const BufferID id : producer->chunks.buffers) {
    CountVisit();
    BufferTable::Entry* const entry = buffers_->Find(id);
    if (entry->session->state != TracingService::kStopped)
      entry->buffer.EndProducer(producer->id);
    entry->session->producers.erase(producer->id);
  }
  data_sources_->EraseAll(producer);
  flushes_.Acknowledge(producer, UINT64_MAX);
  producers_->Remove(producer);
  UpdateChanged();
}

uint64_t Sessions::NextDeadline() const {
  uint64_t deadline =
      std::min(flushes_.NextDeadline(), data_sources_->NextStopDeadline());
  for (const auto& it : sessions_) {
    CountVisit();
    const SessionTimes& times = it.second.times;
    deadline =
        std::min({deadline, times.stop, times.trigger, times.trigger_timeout,
                  times.next_flush, times.next_clear, times.next_clock_snapshot,
                  times.next_copy, times.next_write});
  }
  return deadline;
}

void Sessions::EndBatch(Session* session,
                        std::optional<uint64_t> limit,
                        bool is_last) {
  session->write_limit = limit;
  if (limit.has_value())
    session->times.next_write = (*clock_)();
  else if (is_last)
    session->times.next_write = kNever;
}

TracingSessionID Sessions::TakeSessionToWrite() {
  for (auto& it : sessions_) {
    if (std::exchange(it.second.is_to_be_written, false))
      return it.first;
  }
  return 0;
}

void Sessions::RunDue() {
  has_become_half_full_ = false;
  const uint64_t now = (*clock_)();
  // Returns whether |time| has come. If so, sets it to |period_ms| later.
  const auto is_due = [now](uint64_t* time, uint32_t period_ms) {
    if (*time > now)
      return false;
    *time = now + period_ms;
    return true;
  };
  while (Session* const session = data_sources_->StopOverdue(now))
    UpdateState(session);
  flushes_.FailOverdue(now);
  for (auto& it : sessions_) {
    CountVisit();
    Session& session = it.second;
    const TraceConfig& config = session.config;
    if (is_due(&session.times.next_clear,
               config.incremental_state_clear_period_ms)) {
      data_sources_->ClearIncrementalState(session);
    }
    if (is_due(&session.times.next_clock_snapshot,
               config.clock_snapshot_period_ms)) {
      TakeClockSnapshot(&session.output);
    }
    RunTriggers(now, &session);
    if (session.times.stop <= now) {
      Stop(&session);
    } else if (is_due(&session.times.next_flush, config.flush_period_ms)) {
      flushes_.Begin(&session, config.flush_timeout_ms, kPeriodicFlush,
                     /*is_final=*/false, nullptr);
    }
    if (is_due(&session.times.next_write, config.write_period_ms))
      session.is_to_be_written = true;
  }
  ContinueCopy();
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
