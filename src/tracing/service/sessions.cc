// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/service_impl.h"

#include <algorithm>
#include <utility>

namespace protozero {

namespace {

constexpr FlushFlags kPeriodicFlush =
    kFlushReasonPeriodic | kFlushInitiatorService << kFlushInitiatorShift;

}  // namespace

TracingSessionID TraceService::Impl::StartTracing(const TraceConfig& config,
                                                  Consumer* consumer,
                                                  std::string* error) {
  const char* const reason =
      sessions_.size() >= kMaxSessions ? "there are too many sessions"
      : config.write_period_ms != 0 && consumer == nullptr
          ? "there is nobody to write to"
          : WhyInvalid(config);
  if (reason != nullptr) {
    if (error != nullptr)
      *error = reason;
    return 0;
  }
  const TracingSessionID id = ++last_session_id_;
  Session& session = sessions_[id];
  session.id = id;
  session.config = config;
  session.consumer = consumer;
  session.data_source_instances.resize(config.data_sources.size());
  for (const TraceConfig::Buffer& buffer : config.buffers) {
    // Reused as late as can be.
    do {
      ++last_buffer_id_;
    } while (last_buffer_id_ == 0 || buffers_.count(last_buffer_id_) != 0);
    buffers_.try_emplace(last_buffer_id_, id, buffer);
    session.buffer_ids.push_back(last_buffer_id_);
  }
  AppendTraceHeader(config.raw_config, &session.header);
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
    for (const DataSourceDescriptor& source : it.second.data_sources)
      SetupDataSource(&it.second, source, &session, &instances[it.first]);
  }
  for (auto& it : producers_)
    StartDataSources(&it.second, instances[it.first]);
  UpdateState(&session);
  return id;
}

const char* TraceService::Impl::WhyInvalid(const TraceConfig& config) {
  if (config.buffers.empty())
    return "there is no buffer";
  if (config.buffers.size() > kMaxBuffersPerSession)
    return "there are too many buffers";
  if (config.data_sources.size() > kMaxDataSourcesPerSession)
    return "there are too many data sources";
  for (const TraceConfig::Buffer& buffer : config.buffers) {
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

void TraceService::Impl::StopTracing(Session* session) {
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

void TraceService::Impl::CloseSession(Session* session) {
  for (auto& it : producers_) {
    ProducerState& producer = it.second;
    for (auto instance = producer.instances.begin();
         instance != producer.instances.end();) {
      if (instance->second.session_id != session->id) {
        ++instance;
        continue;
      }
      if (instance->second.state != InstanceState::kStopping)
        producer.client->StopDataSource(instance->first);
      instance = producer.instances.erase(instance);
    }
    for (const BufferID id : session->buffer_ids)
      producer.buffers.erase(id);
    producer.sessions_without_memory.erase(session->id);
  }
  for (const BufferID id : session->buffer_ids)
    buffers_.erase(id);
  FailFlushes(session->id);
  sessions_.erase(session->id);
}

TraceService::Impl::Session* TraceService::Impl::FindSession(
    TracingSessionID id) {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : &it->second;
}

void TraceService::Impl::UpdateState(Session* session) {
  bool has_starting = false;
  bool has_any = false;
  for (const auto& producer : producers_) {
    for (const auto& it : producer.second.instances) {
      if (it.second.session_id != session->id)
        continue;
      has_any = true;
      has_starting |= it.second.state == InstanceState::kStarting;
    }
  }
  if (session->state == kStarting && !has_starting) {
    session->state = kStarted;
    if (session->consumer != nullptr)
      session->consumer->OnAllDataSourcesStarted(session->id);
  }
  // The last flush comes first, whether or not somebody takes part in it.
  const bool is_flushing =
      std::any_of(flushes_.begin(), flushes_.end(), [&](const auto& flush) {
        return flush.second.session_id == session->id && flush.second.is_final;
      });
  if (session->state == kStopping && !has_any && !is_flushing) {
    ScrapeAll(*session);
    session->state = kStopped;
    if (session->config.write_period_ms != 0)
      session->next_write = Now();
    FailFlushes(session->id);
    if (session->consumer != nullptr)
      session->consumer->OnTracingStopped(session->id);
  }
}

void TraceService::Impl::UpdateStates() {
  for (auto& session : sessions_)
    UpdateState(&session.second);
}

// Flushes.

FlushRequestID TraceService::Impl::Flush(Session* session,
                                         uint32_t timeout_ms,
                                         FlushFlags flags,
                                         bool is_final,
                                         std::function<void(bool)> on_done) {
  const FlushRequestID id = ++last_flush_id_;
  PendingFlush& flush = flushes_[id];
  flush.session_id = session->id;
  flush.deadline = Now() + timeout_ms;
  flush.is_final = is_final;
  flush.on_done = std::move(on_done);
  ++session->flushes_requested;
  for (auto& it : producers_) {
    std::vector<DataSourceInstanceID> instances;
    for (const auto& instance : it.second.instances) {
      if (instance.second.session_id == session->id &&
          instance.second.state != InstanceState::kStopping &&
          !instance.second.descriptor.no_flush) {
        instances.push_back(instance.first);
      }
    }
    // Who has not answered yet may have been stopped: what it is told is kept
    // for it, and must not get more and more.
    if (instances.empty() ||
        (flags == kPeriodicFlush && IsFlushing(session->id, it.first))) {
      continue;
    }
    flush.producers.insert(it.first);
    it.second.client->Flush(id, instances, flags);
  }
  if (flush.producers.empty())
    FinishFlush(id, true);
  return id;
}

bool TraceService::Impl::IsFlushing(TracingSessionID session_id,
                                    ProducerID producer_id) const {
  return std::any_of(flushes_.begin(), flushes_.end(), [&](const auto& it) {
    return it.second.session_id == session_id &&
           it.second.producers.count(producer_id) != 0;
  });
}

void TraceService::Impl::AcknowledgeFlush(ProducerID producer_id,
                                          FlushRequestID flush_id) {
  std::vector<FlushRequestID> done;
  for (auto it = flushes_.begin();
       it != flushes_.end() && it->first <= flush_id; ++it) {
    if (it->second.producers.erase(producer_id) != 0 &&
        it->second.producers.empty()) {
      done.push_back(it->first);
    }
  }
  for (const FlushRequestID id : done)
    FinishFlush(id, true);
}

void TraceService::Impl::FinishFlush(FlushRequestID id, bool success) {
  const auto it = flushes_.find(id);
  if (it == flushes_.end())
    return;
  const PendingFlush flush = std::move(it->second);
  flushes_.erase(it);
  Session* const session = FindSession(flush.session_id);
  if (session != nullptr) {
    ScrapeAll(*session);
    ++(success ? session->flushes_succeeded : session->flushes_failed);
    // What has been flushed is not to wait for the next period.
    if (session->next_write != kNever)
      session->next_write = Now();
    if (flush.is_final) {
      session->final_flush_succeeded = success;
      StopDataSources(session);
    }
  }
  if (flush.on_done)
    flush.on_done(success);
}

void TraceService::Impl::FailFlushes(TracingSessionID session_id) {
  for (;;) {
    const auto it = std::find_if(flushes_.begin(), flushes_.end(),
                                 [session_id](const auto& flush) {
                                   return flush.second.session_id == session_id;
                                 });
    if (it == flushes_.end())
      return;
    // The session need not go on.
    it->second.is_final = false;
    FinishFlush(it->first, false);
  }
}

// Time.

uint64_t TraceService::Impl::NextDeadline() const {
  uint64_t deadline = kNever;
  const auto consider = [&deadline](uint64_t time) {
    deadline = std::min(deadline, time);
  };
  for (const auto& it : sessions_) {
    consider(it.second.stop_time);
    consider(it.second.next_flush);
    consider(it.second.next_clear);
    consider(it.second.next_write);
  }
  for (const auto& it : flushes_)
    consider(it.second.deadline);
  for (const auto& producer : producers_) {
    for (const auto& instance : producer.second.instances) {
      if (instance.second.state == InstanceState::kStopping)
        consider(instance.second.stop_deadline);
    }
  }
  return deadline;
}

std::vector<TracingSessionID> TraceService::Impl::RunDue() {
  const uint64_t now = Now();
  // Whether it was time; then it is again in |period_ms|.
  const auto is_due = [now](uint64_t* time, uint32_t period_ms) {
    if (*time > now)
      return false;
    *time = now + period_ms;
    return true;
  };
  for (auto& producer : producers_) {
    auto& instances = producer.second.instances;
    for (auto it = instances.begin(); it != instances.end();) {
      const auto instance = it++;
      if (instance->second.state == InstanceState::kStopping &&
          instance->second.stop_deadline <= now) {
        instances.erase(instance);
      }
    }
  }
  UpdateStates();
  for (;;) {
    const auto it = std::find_if(
        flushes_.begin(), flushes_.end(),
        [now](const auto& flush) { return flush.second.deadline <= now; });
    if (it == flushes_.end())
      break;
    FinishFlush(it->first, false);
  }
  std::vector<TracingSessionID> to_write;
  for (auto& it : sessions_) {
    Session& session = it.second;
    if (is_due(&session.next_clear,
               session.config.incremental_state_clear_period_ms)) {
      ClearIncrementalState(session.id);
    }
    if (session.stop_time <= now) {
      StopTracing(&session);
    } else if (is_due(&session.next_flush, session.config.flush_period_ms)) {
      Flush(&session, session.config.flush_timeout_ms, kPeriodicFlush, false,
            nullptr);
    }
    if (is_due(&session.next_write, session.config.write_period_ms))
      to_write.push_back(session.id);
  }
  return to_write;
}

}  // namespace protozero
