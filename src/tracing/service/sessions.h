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
  FlushRequestID Flush(Session* session,
                       uint32_t timeout_ms,
                       FlushFlags flags,
                       std::function<void(bool)> on_done);

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
  void AcknowledgeFlush(ProducerRecord* producer, FlushRequestID id) {
    flushes_.Acknowledge(producer, id);
  }
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
  // Does a part of Start(). Throws std::bad_alloc, or returns false, if there
  // is no memory. The session, if it was added, is to be closed then.
  bool Add(TracingSessionID id,
           const TraceConfig& config,
           TracingService::Consumer* consumer);
  // Flushes::Observer:
  void OnFlushEnd(const Flushes::Flush& flush, bool success) override;
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
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_SESSIONS_H_
