// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_DATA_SOURCES_H_
#define SRC_TRACING_SERVICE_DATA_SOURCES_H_

#include <stdint.h>

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "protozero/tracing/data_source_config.h"
#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/types.h"
#include "src/tracing/service/buffer_table.h"
#include "src/tracing/service/producer_record.h"
#include "src/tracing/service/producer_table.h"
#include "src/tracing/service/session.h"
#include "src/tracing/service/visit_counter.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// The data sources that producers offer, and their instances. An instance is
// one use of a data source by a session.
//
//                   NotifyStarted(), or at once
//   SetUp ---> kStarting ------------------> kStarted
//                  |                            |
//                  +--------> kStopping <-------+   Stop()
//                                 |
//                                 v   NotifyStopped(), the deadline, or at once
//                               gone
//
// If an instance ends, SessionDataSources::has_changed is set; the caller then
// calls Sessions::UpdateState().
class DataSources {
 public:
  DataSources(const TracingService::Clock* clock,
              BufferTable* buffers,
              ProducerTable* producers)
      : clock_(clock), buffers_(buffers), producers_(producers) {}

  // Calls of producers. They do nothing if they make no sense.

  // Looks at the producer's data sources and at |sessions|, and sets up the
  // instances that these sessions want. Throws std::bad_alloc; instances that
  // were set up before have started.
  void Register(ProducerRecord* producer,
                const DataSourceDescriptor& descriptor,
                SessionMap* sessions);
  // Looks at the producer's data sources. Throws std::bad_alloc.
  void Update(ProducerRecord* producer, const DataSourceDescriptor& descriptor);
  // Looks at the producer's data sources, and at its instances of that name.
  void Unregister(ProducerRecord* producer, const std::string& name);
  // Asks a producer that has committed to a ring that is read at the end to
  // clear its incremental state, if enough was written since it was asked last.
  // Looks at the chunks of the request and, if it is time, at the producer's
  // instances.
  void ClearOverwritten(ProducerRecord* producer,
                        const CommitDataRequest& request);
  // Return the instance's session, which may have changed; null if there is no
  // such instance.
  Session* NotifyStarted(ProducerRecord* producer, DataSourceInstanceID id);
  Session* NotifyStopped(ProducerRecord* producer, DataSourceInstanceID id);

  // Calls of sessions.

  // Sets up everything that the session wants of all producers, then starts it.
  // Throws std::bad_alloc; the session is to be closed then.
  void SetupSession(Session* session);
  void StopAll(Session* session);
  // Ends all instances without waiting.
  void EndAll(Session* session);
  // Unmarks a session whose state is brought up to date.
  static void ForgetChange(Session* session) {
    session->data_sources.has_changed = false;
  }
  // Forgets all of the producer's instances without telling it.
  void EraseAll(ProducerRecord* producer);
  // Tells the consumers of sessions that would record this producer.
  static void ReportNoPlace(const TracingService::ProducerInfo& producer,
                            const SessionMap& sessions);
  // Tells the consumer of the instance's session that it is not recorded.
  static void ReportRefusal(const ProducerRecord& producer,
                            DataSourceInstanceID id);
  // Tells the producers of the session to forget what they have interned.
  void ClearIncrementalState(const Session& session);

  // Calls |use(ProducerRecord*, const std::vector<DataSourceInstanceID>&)|
  // for each producer that has instances for which |is_wanted(const
  // DataSourceDescriptor&)| is true. Throws std::bad_alloc.
  template <typename IsWanted, typename Use>
  void ForEachProducer(const Session& session, IsWanted is_wanted, Use use);

  // Returns the time when the next instance has to have stopped; kNever if none
  // is stopping.
  uint64_t NextStopDeadline() const;
  // Stops waiting for one instance that has not stopped in time. Returns its
  // session; null if there is no such instance.
  Session* StopOverdue(uint64_t now);

 private:
  // Sets up what the session wants of one data source. Throws std::bad_alloc;
  // instances that were set up before are in |instances|.
  void SetUp(ProducerRecord* producer,
             const std::shared_ptr<const DataSourceDescriptor>& descriptor,
             Session* session,
             std::vector<DataSourceInstanceID>* instances);
  // Prepares the wanted instance if the producer's packets go to a ring that is
  // read at the end. Throws std::bad_alloc.
  void SetUpRing(ProducerRecord* producer,
                 const Session& session,
                 DataSourceConfig* wanted);
  bool SetupMemory(ProducerRecord* producer, Session* session);
  // Adds an instance. Throws std::bad_alloc, and has changed nothing, if there
  // is no memory.
  void AddInstance(
      ProducerRecord* producer,
      DataSourceInstanceID id,
      const std::shared_ptr<const DataSourceDescriptor>& descriptor,
      Session* session,
      const DataSourceConfig* config);
  void Start(ProducerRecord* producer,
             const std::vector<DataSourceInstanceID>& instances);
  // End an instance. They do not allocate, unless failing to is harmless.
  void Stop(ProducerRecord* producer, InstanceMap::iterator it);
  void Erase(ProducerRecord* producer, InstanceMap::iterator it);

  struct StopDeadline {
    bool operator<(const StopDeadline& other) const {
      return std::tie(time, producer_id, instance_id) <
             std::tie(other.time, other.producer_id, other.instance_id);
    }
    uint64_t time;
    ProducerID producer_id;
    DataSourceInstanceID instance_id;
  };

  const TracingService::Clock* const clock_;
  BufferTable* const buffers_;
  ProducerTable* const producers_;

  DataSourceInstanceID last_instance_id_ = 0;
  // The deadlines of the instances that are kStopping.
  std::set<StopDeadline> stop_deadlines_;
};

template <typename IsWanted, typename Use>
void DataSources::ForEachProducer(const Session& session,
                                  IsWanted is_wanted,
                                  Use use) {
  const auto& all = session.data_sources.instances;
  std::vector<DataSourceInstanceID> instances;
  for (auto it = all.begin(); it != all.end();) {
    ProducerRecord* const producer = producers_->Get(it->first);
    instances.clear();
    for (; it != all.end() && it->first == producer->id; ++it) {
      CountVisit();
      const Instance& instance =
          producer->data_sources.instances.find(it->second)->second;
      if (instance.state != Instance::kStopping &&
          is_wanted(*instance.descriptor)) {
        instances.push_back(it->second);
      }
    }
    if (!instances.empty())
      use(producer, instances);
  }
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_DATA_SOURCES_H_
