// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/service_impl.h"

#include <algorithm>
#include <utility>

#include "src/tracing/shared_memory/out_of_memory.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

constexpr FlushFlags kPeriodicFlush =
    kFlushReasonPeriodic | kFlushInitiatorService << kFlushInitiatorShift;

}  // namespace

TracingSessionID TracingService::Impl::StartTracing(const TraceConfig& config,
                                                    Consumer* consumer,
                                                    std::string* error) {
  const char* const reason =
      sessions_.size() >= TracingLimits::kMaxSessions
          ? "there are too many sessions"
      : config.write_period_ms != 0 && consumer == nullptr
          ? "there is nobody to write to"
          : WhyInvalid(config);
  const auto fail = [error](const char* why) {
    // If there is no memory for it, it stays as it was.
    if (error != nullptr)
      RunsInMemory([&] { *error = why; });
    return TracingSessionID{0};
  };
  if (reason != nullptr)
    return fail(reason);
  const TracingSessionID id = ++last_session_id_;
  bool is_added = false;
  RunsInMemory([&] { is_added = AddSession(id, config, consumer); });
  if (is_added) {
    UpdateState(FindSession(id));
    return id;
  }
  if (Session* const session = FindSession(id))
    CloseSession(session);
  return fail("out of memory");
}

bool TracingService::Impl::AddSession(TracingSessionID id,
                                      const TraceConfig& config,
                                      Consumer* consumer) {
  Session& session = sessions_[id];
  session.id = id;
  session.config = config;
  session.consumer = consumer;
  session.data_source_instances.resize(config.data_sources.size());
  session.buffer_ids.reserve(config.buffers.size());
  for (const TraceConfig::BufferConfig& buffer : config.buffers) {
    // Reused as late as can be.
    do {
      ++last_buffer_id_;
    } while (last_buffer_id_ == 0 || buffers_.count(last_buffer_id_) != 0);
    buffers_.try_emplace(last_buffer_id_, id, buffer);
    session.buffer_ids.push_back(last_buffer_id_);
  }
  for (size_t i = 0; i < config.data_sources.size(); ++i) {
    DataSourceConfig& source = session.config.data_sources[i].config;
    session.sources_by_name[source.name].push_back(i);
    source.target_buffer = session.buffer_ids[source.target_buffer];
    source.tracing_session_id = id;
    if (source.trace_duration_ms == 0)
      source.trace_duration_ms = config.duration_ms;
    if (source.stop_timeout_ms == 0)
      source.stop_timeout_ms = config.data_source_stop_timeout_ms;
  }
  if (!AppendTraceHeader(config.raw_config, &session.header))
    return false;
  const uint64_t now = Now();
  const auto after = [now](uint32_t milliseconds) {
    return milliseconds == 0 ? kNever : now + milliseconds;
  };
  session.stop_time = after(config.duration_ms);
  session.next_flush = after(config.flush_period_ms);
  session.next_clear = after(config.incremental_state_clear_period_ms);
  session.next_write = after(config.write_period_ms);

  std::map<ProducerID, std::vector<DataSourceInstanceID>> instances;
  for (auto& it : producers_) {
    for (const auto& source : it.second.data_sources)
      SetupDataSource(&it.second, source, &session, &instances[it.first]);
  }
  for (auto& it : producers_)
    StartDataSources(&it.second, instances[it.first]);
  return true;
}

const char* TracingService::Impl::WhyInvalid(const TraceConfig& config) {
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
  for (const TraceConfig::DataSource& source : config.data_sources) {
    if (source.config.name.empty())
      return "a data source has no name";
    if (source.config.target_buffer >= config.buffers.size())
      return "a data source is for a buffer that is not there";
  }
  return nullptr;
}

void TracingService::Impl::StopTracing(Session* session) {
  if (session->state != kStarting && session->state != kStarted)
    return;
  session->state = kStopping;
  session->stop_time = kNever;
  session->next_flush = kNever;
  session->next_clear = kNever;
  Flush(session, session->config.flush_timeout_ms,
        kFlushReasonTraceStop | kFlushInitiatorService << kFlushInitiatorShift,
        true, nullptr);
}

void TracingService::Impl::CloseSession(Session* session) {
  for (auto it = session->instances.begin(); it != session->instances.end();) {
    const auto [producer_id, instance_id] = *it++;
    ProducerState& producer = producers_.find(producer_id)->second;
    const auto instance = producer.instances.find(instance_id);
    if (instance->second.state != InstanceState::kStopping)
      producer.client->StopDataSource(instance_id);
    EraseInstance(&producer, instance);
  }
  for (const ProducerID producer_id : session->producers) {
    for (const BufferID id : session->buffer_ids)
      producers_.find(producer_id)->second.buffers.erase(id);
  }
  session->producers.clear();
  for (auto& it : producers_)
    it.second.sessions_without_memory.erase(session->id);
  for (const BufferID id : session->buffer_ids)
    buffers_.erase(id);
  FailFlushes(session);
  sessions_.erase(session->id);
}

TracingService::Impl::Session* TracingService::Impl::FindSession(
    TracingSessionID id) {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : &it->second;
}

void TracingService::Impl::UpdateChangedSessions() {
  for (auto& it : sessions_) {
    if (it.second.has_changed)
      UpdateState(&it.second);
  }
}

void TracingService::Impl::UpdateState(Session* session) {
  ++num_visits_;
  session->has_changed = false;
  if (session->state == kStarting && session->num_starting == 0) {
    session->state = kStarted;
    if (session->consumer != nullptr)
      session->consumer->OnAllDataSourcesStarted(session->id);
  }
  // The last flush comes first, whether or not somebody takes part in it.
  if (session->state == kStopping && session->instances.empty() &&
      !session->has_final_flush) {
    ScrapeAll(*session);
    session->state = kStopped;
    if (session->config.write_period_ms != 0)
      session->next_write = Now();
    FailFlushes(session);
    if (session->consumer != nullptr)
      session->consumer->OnTracingStopped(session->id);
  }
}

// Flushes.

FlushRequestID TracingService::Impl::Flush(Session* session,
                                           uint32_t timeout_ms,
                                           FlushFlags flags,
                                           bool is_final,
                                           std::function<void(bool)> on_done) {
  const FlushRequestID id = ++last_flush_id_;
  ++session->flushes_requested;
  PendingFlush new_flush;
  new_flush.session_id = session->id;
  new_flush.deadline = Now() + timeout_ms;
  new_flush.is_final = is_final;
  new_flush.on_done = std::move(on_done);
  // Without memory, it has failed.
  if (!RunsInMemory([&] { AddFlush(id, &new_flush, session); })) {
    EndFlush(session, new_flush, false);
    return id;
  }
  PendingFlush& flush = flushes_.find(id)->second;
  session->has_final_flush = session->has_final_flush || is_final;
  const bool has_memory = RunsInMemory([&] {
    ForEachProducer(
        *session,
        [](const DataSourceDescriptor& source) { return !source.no_flush; },
        [&](ProducerState* producer,
            const std::vector<DataSourceInstanceID>& instances) {
          // Who has not answered yet may have been stopped: what it is told is
          // kept for it, and must not get more and more.
          if (flags == kPeriodicFlush && IsFlushing(*session, *producer))
            return;
          flush.producers.insert(producer->id);
          producer->flushes.insert(id);
          producer->client->Flush(id, instances, flags);
        });
  });
  if (flush.producers.empty() || !has_memory)
    FinishFlush(id, has_memory);
  return id;
}

void TracingService::Impl::AddFlush(FlushRequestID id,
                                    PendingFlush* flush,
                                    Session* session) {
  const std::pair<uint64_t, FlushRequestID> deadline(flush->deadline, id);
  ScopeExit undo([&] {
    session->flushes.erase(id);
    flush_deadlines_.erase(deadline);
  });
  session->flushes.insert(id);
  flush_deadlines_.insert(deadline);
  flushes_.try_emplace(id, std::move(*flush));
  undo.Cancel();
}

bool TracingService::Impl::IsFlushing(const Session& session,
                                      const ProducerState& producer) const {
  return std::any_of(producer.flushes.begin(), producer.flushes.end(),
                     [&](FlushRequestID id) {
                       ++num_visits_;
                       return session.flushes.count(id) != 0;
                     });
}

void TracingService::Impl::AcknowledgeFlush(ProducerState* producer,
                                            FlushRequestID flush_id) {
  std::set<FlushRequestID>& pending = producer->flushes;
  while (!pending.empty() && *pending.begin() <= flush_id) {
    ++num_visits_;
    const FlushRequestID id = *pending.begin();
    pending.erase(pending.begin());
    std::set<ProducerID>& producers = flushes_.find(id)->second.producers;
    producers.erase(producer->id);
    if (producers.empty())
      FinishFlush(id, true);
  }
}

void TracingService::Impl::FinishFlush(FlushRequestID id, bool success) {
  const auto it = flushes_.find(id);
  const PendingFlush flush = std::move(it->second);
  flushes_.erase(it);
  flush_deadlines_.erase({flush.deadline, id});
  for (const ProducerID producer_id : flush.producers) {
    ++num_visits_;
    producers_.find(producer_id)->second.flushes.erase(id);
  }
  // It is there as long as its flushes are.
  Session* const session = FindSession(flush.session_id);
  session->flushes.erase(id);
  EndFlush(session, flush, success);
}

void TracingService::Impl::EndFlush(Session* session,
                                    const PendingFlush& flush,
                                    bool success) {
  ScrapeAll(*session);
  ++(success ? session->flushes_succeeded : session->flushes_failed);
  // What has been flushed is not to wait for the next period.
  if (session->next_write != kNever)
    session->next_write = Now();
  if (flush.is_final) {
    session->has_final_flush = false;
    session->final_flush_succeeded = success;
    StopDataSources(session);
  }
  if (flush.on_done)
    flush.on_done(success);
}

void TracingService::Impl::FailFlushes(Session* session) {
  // The session need not go on.
  session->has_final_flush = false;
  while (!session->flushes.empty()) {
    const FlushRequestID id = *session->flushes.begin();
    flushes_.find(id)->second.is_final = false;
    FinishFlush(id, false);
  }
}

// Time.

uint64_t TracingService::Impl::NextDeadline() const {
  uint64_t deadline = kNever;
  const auto consider = [&deadline](uint64_t time) {
    deadline = std::min(deadline, time);
  };
  for (const auto& it : sessions_) {
    ++num_visits_;
    consider(it.second.stop_time);
    consider(it.second.next_flush);
    consider(it.second.next_clear);
    consider(it.second.next_write);
  }
  if (!flush_deadlines_.empty())
    consider(flush_deadlines_.begin()->first);
  if (!stop_deadlines_.empty())
    consider(stop_deadlines_.begin()->time);
  return deadline;
}

TracingSessionID TracingService::Impl::TakeSessionToWrite() {
  for (auto& it : sessions_) {
    if (std::exchange(it.second.is_to_be_written, false))
      return it.first;
  }
  return 0;
}

void TracingService::Impl::RunDue() {
  const uint64_t now = Now();
  // Whether it was time; then it is again in |period_ms|.
  const auto is_due = [now](uint64_t* time, uint32_t period_ms) {
    if (*time > now)
      return false;
    *time = now + period_ms;
    return true;
  };
  while (!stop_deadlines_.empty() && stop_deadlines_.begin()->time <= now) {
    const StopDeadline due = *stop_deadlines_.begin();
    NotifyDataSourceStopped(&producers_.find(due.producer_id)->second,
                            due.instance_id);
  }
  while (!flush_deadlines_.empty() && flush_deadlines_.begin()->first <= now)
    FinishFlush(flush_deadlines_.begin()->second, false);
  for (auto& it : sessions_) {
    ++num_visits_;
    Session& session = it.second;
    if (is_due(&session.next_clear,
               session.config.incremental_state_clear_period_ms)) {
      ClearIncrementalState(session);
    }
    if (session.stop_time <= now) {
      StopTracing(&session);
    } else if (is_due(&session.next_flush, session.config.flush_period_ms)) {
      Flush(&session, session.config.flush_timeout_ms, kPeriodicFlush, false,
            nullptr);
    }
    if (is_due(&session.next_write, session.config.write_period_ms))
      session.is_to_be_written = true;
  }
}

PROTOZERO_ABI_END
}  // namespace protozero
