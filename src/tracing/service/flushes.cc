// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/flushes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/tracing/service/visit_counter.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

namespace {

// The first and the longest time in which a quiet producer is not asked.
constexpr uint64_t kMinPauseMs = 500;
constexpr uint64_t kMaxPauseMs = 2000;

}  // namespace

FlushRequestID Flushes::Begin(Session* session,
                              uint32_t timeout_ms,
                              FlushFlags flags,
                              bool is_final,
                              std::function<void(bool)> on_done) {
  const FlushRequestID id = ++last_id_;
  ++session->flushes.requested;
  Flush new_flush;
  new_flush.session = session;
  new_flush.deadline = (*clock_)() + timeout_ms;
  new_flush.is_final = is_final;
  new_flush.on_done = std::move(on_done);
  // If there is no memory, the flush has failed.
  if (!RunsInMemory([&] { Add(id, &new_flush); })) {
    observer_->OnFlushEnd(new_flush, false);
    return id;
  }
  Flush& flush = flushes_.find(id)->second;
  session->flushes.has_final = session->flushes.has_final || is_final;
  const bool has_memory = RunsInMemory([&] {
    data_sources_->ForEachProducer(
        *session,
        [](const DataSourceDescriptor& source) { return !source.no_flush; },
        [&](ProducerRecord* producer,
            const std::vector<DataSourceInstanceID>& instances) {
          // If a producer has not answered yet, it may be stopped. Requests
          // queue up for it, and their number must not grow and grow.
          ProducerFlushes* const flushes = &producer->flushes;
          if (flags == kPeriodicFlush) {
            const uint64_t now = (*clock_)();
            if (IsFlushing(*session, *producer) ||
                now - flushes->asked_ms < flushes->pause_ms) {
              return;
            }
            flushes->asked_ms = now;
          }
          flush.producers.insert(producer->id);
          flushes->pending.insert(id);
          producer->remote->Flush(id, instances, flags);
        });
  });
  if (flush.producers.empty() || !has_memory)
    Finish(id, has_memory);
  return id;
}

void Flushes::Add(FlushRequestID id, Flush* flush) {
  std::set<FlushRequestID>& its_session = flush->session->flushes.pending;
  const std::pair<uint64_t, FlushRequestID> deadline(flush->deadline, id);
  ScopeExit undo([&] {
    its_session.erase(id);
    deadlines_.erase(deadline);
  });
  its_session.insert(id);
  deadlines_.insert(deadline);
  flushes_.try_emplace(id, std::move(*flush));
  undo.Cancel();
}

bool Flushes::IsFlushing(const Session& session,
                         const ProducerRecord& producer) const {
  const std::set<FlushRequestID>& pending = producer.flushes.pending;
  return std::any_of(pending.begin(), pending.end(), [&](FlushRequestID id) {
    CountVisit();
    return session.flushes.pending.count(id) != 0;
  });
}

void Flushes::NoteCommit(ProducerRecord* producer,
                         const CommitDataRequest& request) {
  const bool is_answer =
      request.flush_request_id != 0 && request.num_chunks_to_move == 0 &&
      request.num_chunks_to_patch == 0 && request.num_losses == 0;
  if (is_answer)
    return;
  producer->flushes.has_committed = true;
  producer->flushes.pause_ms = 0;
}

void Flushes::UpdatePause(ProducerRecord* producer) {
  ProducerFlushes* const flushes = &producer->flushes;
  const bool is_quiet = !std::exchange(flushes->has_committed, false);
  if (is_quiet && producer->info.commits_after_silence) {
    flushes->pause_ms =
        std::clamp(2 * flushes->pause_ms, kMinPauseMs, kMaxPauseMs);
  }
}

void Flushes::Acknowledge(ProducerRecord* producer, FlushRequestID last) {
  std::set<FlushRequestID>& pending = producer->flushes.pending;
  if (!pending.empty() && *pending.begin() <= last)
    UpdatePause(producer);
  while (!pending.empty() && *pending.begin() <= last) {
    CountVisit();
    const FlushRequestID id = *pending.begin();
    pending.erase(pending.begin());
    std::set<ProducerID>& producers = flushes_.find(id)->second.producers;
    producers.erase(producer->id);
    if (producers.empty())
      Finish(id, true);
  }
}

void Flushes::FailAll(Session* session) {
  session->flushes.has_final = false;
  while (!session->flushes.pending.empty()) {
    const FlushRequestID id = *session->flushes.pending.begin();
    flushes_.find(id)->second.is_final = false;
    Finish(id, false);
  }
}

uint64_t Flushes::NextDeadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first;
}

void Flushes::FailOverdue(uint64_t now) {
  while (!deadlines_.empty() && NextDeadline() <= now)
    Finish(deadlines_.begin()->second, false);
}

void Flushes::Finish(FlushRequestID id, bool success) {
  const auto it = flushes_.find(id);
  const Flush flush = std::move(it->second);
  flushes_.erase(it);
  deadlines_.erase({flush.deadline, id});
  for (const ProducerID producer_id : flush.producers) {
    CountVisit();
    producers_->Get(producer_id)->flushes.pending.erase(id);
  }
  SessionFlushes& of_session = flush.session->flushes;
  of_session.pending.erase(id);
  ++(success ? of_session.succeeded : of_session.failed);
  if (flush.is_final) {
    of_session.has_final = false;
    of_session.final_succeeded = success;
  }
  observer_->OnFlushEnd(flush, success);
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
