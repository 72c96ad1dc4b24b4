// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_SESSIONS_H_
#define SRC_TRACING_SERVICE_SESSIONS_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <optional>
#include <string>

#include "protozero/tracing/trace_config.h"
#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/types.h"
#include "src/tracing/service/buffer_table.h"
#include "src/tracing/service/chunk_collector.h"
#include "src/tracing/service/data_sources.h"
#include "src/tracing/service/flushes.h"
#include "src/tracing/service/producer_record.h"
#include "src/tracing/service/producer_table.h"
#include "src/tracing/service/session.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// The states of sessions, and the work that is due at certain times:
//
//   Start()         all data sources have started
//     |   kStarting -----------> kStarted
//     |       |                      |
//     |       +----> kStopping <-----+   Stop(), or the duration is over
//     |                 |  the final flush ends, data sources stop, and what
//     |                 |  producers have not committed is scraped
//     |                 v
//     |              kStopped
//     +--> none                          Close(), at any time
class Sessions final : private Flushes::Observer {
 public:
  Sessions(const TracingService::Clock* clock,
           BufferTable* buffers,
           ChunkCollector* chunks,
           ProducerTable* producers,
           DataSources* data_sources)
      : clock_(clock),
        buffers_(buffers),
        chunks_(chunks),
        producers_(producers),
        data_sources_(data_sources),
        flushes_(clock, producers, data_sources, this) {}

  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  TracingSessionID Start(const TraceConfig& config,
                         TracingService::Consumer* consumer,
                         std::string* error);
  void Stop(Session* session);
  void StopWaiting(Session* session);
  // Does what TracingService says. Throws std::bad_alloc, or returns false, if
  // there is no memory.
  bool RestartTrace(Session* session);
  void Close(Session* session);
  // Does what TracingService::CloneSession() says.
  TracingSessionID Clone(Session* source, bool is_next, std::string* error);
  // Does what TracingService::FollowSession() says.
  TracingSessionID Follow(const Session& followed,
                          size_t buffer_bytes,
                          std::string* error);
  FlushRequestID Flush(Session* session,
                       uint32_t timeout_ms,
                       FlushFlags flags,
                       std::function<void(bool)> on_done);

  // Does what ProducerConnection::ActivateTrigger() says.
  void ActivateTrigger(const std::string& name);

  // Returns null if there is no such session.
  Session* Find(TracingSessionID id);
  SessionMap* all() { return &sessions_; }
  size_t size() const { return sessions_.size(); }

  // Make the transitions that are due: of one session (null for none), or of
  // all sessions that SessionDataSources::has_changed marks.
  void UpdateState(Session* session);
  void UpdateChanged();

  // Says that the producer has answered all flushes up to this one. The last
  // answer to a flush scrapes the producers of the session.
  void NoteCommit(ProducerRecord* producer, const CommitDataRequest& request) {
    flushes_.NoteCommit(producer, request);
  }
  void AcknowledgeFlush(ProducerRecord* producer, FlushRequestID id) {
    flushes_.Acknowledge(producer, id);
  }
  // Says that the producer has committed chunks. A session with a buffer that
  // is half full is due to be written.
  void OnCommit(const ProducerRecord& producer);
  // Says that a part of the session was read; everything, if |is_empty|.
  void OnRead(Session* session, bool is_empty);
  // Returns whether a buffer has become half full since the last RunDue().
  bool has_become_half_full() const { return has_become_half_full_; }
  // Removes a producer. Costs what it has (the pages of its memory, its
  // buffers, instances, writers, and flushes to answer), and a look at each
  // session.
  void RemoveProducer(ProducerRecord* producer);

  // Returns the time when RunDue() has something to do; kNever if never.
  uint64_t NextDeadline() const;
  // Does everything that is due, except writing.
  void RunDue();
  // Says that a batch of the session is written. If writing goes on, until
  // |limit|, the session is due at once; otherwise, if the batch was the last
  // one, never.
  void EndBatch(Session* session, std::optional<uint64_t> limit, bool is_last);
  // Returns a session that is to be written, and unmarks it. Returns 0 if there
  // is none.
  TracingSessionID TakeSessionToWrite();

 private:
  // Returns the reason why the session cannot start. Null if it can.
  const char* WhyInvalid(const TraceConfig& config,
                         const TracingService::Consumer* consumer) const;
  // Adds the session. Throws std::bad_alloc, or returns false, if there
  // is no memory. The session, if it was added, is to be closed then.
  bool Add(TracingSessionID id,
           const TraceConfig& config,
           TracingService::Consumer* consumer);
  // Flushes::Observer:
  void OnFlushEnd(const Flushes::Flush& flush, bool success) override;
  // Returns the time from which on packets are wanted of a session that has
  // ended, or of a copy. None if all are.
  static std::optional<uint64_t> BeginOfRing(const Session& session);
  // Returns that time of the service on the clock of events.
  uint64_t TraceTimeOf(uint64_t time_ms) const;
  // Forgets what is older than TraceConfig::ring_ms.
  void ForgetOld(Session* session);
  // Prepare a session for its triggers; do what a trigger says, now or after
  // its delay; do what is due; do it early, since the session stops.
  void SetUpTriggers(Session* session);
  void PullTrigger(size_t index, Session* session);
  void RunTriggers(uint64_t now, Session* session);
  void EndTriggers(Session* session);
  void AskForCopy(Session* session);
  // Gives what comes into the buffers of the session to |follower|, too; null
  // for no longer.
  void SetFollower(const Session& session, TraceBuffer* follower);
  // Returns the session that is to be a copy of the one with that id, or null.
  Session* FindCopyOf(TracingSessionID id);
  // Begin and go on with a copy. If there is no memory, close it.
  void BeginCopy(TracingSessionID id, bool flush_succeeded);
  void ContinueCopy();
  // Copies the state of |source|. Throws std::bad_alloc, or returns false, if
  // there is no memory.
  bool CopyState(const Session& source, Session* session);
  // Ends a copy. Returns whether it is whole.
  bool EndCopy(Session* session);
  // Notes the time that a ring has from |begin| on, if that is less than asked
  // for.
  static void NoteOldest(uint64_t begin, uint64_t oldest, Session* session);
  // Calls ChunkCollector::Scrape() for all producers of the session.
  uint64_t Scrape(const Session& session, ChunkCollector::ScrapeMode mode);

  const TracingService::Clock* const clock_;
  BufferTable* const buffers_;
  ChunkCollector* const chunks_;
  ProducerTable* const producers_;
  DataSources* const data_sources_;

  Flushes flushes_;
  SessionMap sessions_;
  TracingSessionID last_id_ = 0;
  bool has_become_half_full_ = false;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_SESSIONS_H_
