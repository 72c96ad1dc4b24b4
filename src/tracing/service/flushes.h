// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_FLUSHES_H_
#define SRC_TRACING_SERVICE_FLUSHES_H_

#include <stdint.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/types.h"
#include "src/tracing/service/data_sources.h"
#include "src/tracing/service/producer_record.h"
#include "src/tracing/service/producer_table.h"
#include "src/tracing/service/session.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

inline constexpr FlushFlags kPeriodicFlush =
    kFlushReasonPeriodic | kFlushInitiatorService << kFlushInitiatorShift;

// Asks producers to commit what they have, and waits for their answers.
//
// Periodic flushes leave out a producer that has had nothing to commit, for a
// time that doubles up to two seconds, if it tells when that changes: see
// TracingService::ProducerInfo::commits_after_silence. Meanwhile the service
// looks at its memory as before.
//
// A flush ends when all producers have answered, when its time is over, when
// its session closes, or at once if there is no memory for it.
class Flushes {
 public:
  struct Flush {
    Session* session;
    uint64_t deadline;
    // True if the session stops when this flush ends.
    bool is_final;
    // The producers that have not answered yet.
    std::set<ProducerID> producers;
    std::function<void(bool)> on_done;
  };

  // Called when a flush has ended, perhaps before Begin() returns. |flush|
  // is in no table any more, and the call may begin or end others.
  class Observer {
   public:
    virtual void OnFlushEnd(const Flush& flush, bool success) = 0;

   protected:
    ~Observer() = default;
  };

  Flushes(const TracingService::Clock* clock,
          ProducerTable* producers,
          DataSources* data_sources,
          Observer* observer)
      : clock_(clock),
        producers_(producers),
        data_sources_(data_sources),
        observer_(observer) {}

  FlushRequestID Begin(Session* session,
                       uint32_t timeout_ms,
                       FlushFlags flags,
                       bool is_final,
                       std::function<void(bool)> on_done);
  // Notes that the producer has committed something, so that it is not quiet.
  // An answer without content counts as nothing.
  static void NoteCommit(ProducerRecord* producer,
                         const CommitDataRequest& request);
  // Ends the producer's part in all flushes up to this one.
  void Acknowledge(ProducerRecord* producer, FlushRequestID id);
  // Ends all flushes of the session; its final flush no longer stops it.
  void FailAll(Session* session);

  // Returns the time when the next flush is overdue; kNever if there is none.
  uint64_t NextDeadline() const;
  // Ends the flushes whose time is over.
  void FailOverdue(uint64_t now);

 private:
  bool IsFlushing(const Session& session, const ProducerRecord& producer) const;
  // Adds a flush. Throws std::bad_alloc, and has changed nothing, if there is
  // no memory.
  void Add(FlushRequestID id, Flush* flush);
  // Lets the producer pause if it has had nothing to commit for an answer.
  static void UpdatePause(ProducerRecord* producer);
  void Finish(FlushRequestID id, bool success);

  const TracingService::Clock* const clock_;
  ProducerTable* const producers_;
  DataSources* const data_sources_;
  Observer* const observer_;

  std::map<FlushRequestID, Flush> flushes_;
  std::set<std::pair<uint64_t, FlushRequestID>> deadlines_;
  FlushRequestID last_id_ = 0;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_FLUSHES_H_
