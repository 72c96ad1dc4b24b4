// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/data_sources.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/tracing/service/name_pattern.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

namespace {

// The number of times that a producer is asked to clear incremental state while
// a ring that is read at the end is filled once. This library's writers start
// over by themselves, but what their process says once, such as extensions, has
// to be in the ring, too. Those of Perfetto's SDK do nothing unless they are
// asked. A producer that does not commit is not asked: it may be stopped.
constexpr size_t kClearsPerRing = 8;
constexpr size_t kClearsPerRingOfOthers = 128;
// The number of times in TraceConfig::ring_ms, if a producer commits as often:
// so little of what is older has to be kept for what refers to it.
constexpr uint32_t kClearsPerRingTime = 16;

// Copies the fields that matter to sessions. The rest may be long.
std::shared_ptr<const DataSourceDescriptor> Keep(
    const DataSourceDescriptor& descriptor) {
  auto kept = std::make_shared<DataSourceDescriptor>(descriptor);
  std::string().swap(kept->raw_fields);
  return kept;
}

// Returns whether the request is one to this producer.
bool Selects(const TraceConfig::DataSource& wanted,
             const TracingService::ProducerInfo& producer) {
  const std::vector<std::string>& names = wanted.producer_name_filter;
  const std::vector<std::string>& patterns = wanted.producer_name_patterns;
  const std::vector<int32_t>& pids = wanted.producer_pids;
  const auto is_like_name = [&](const std::string& pattern) {
    return IsLike(producer.name, pattern);
  };
  return (names.empty() && patterns.empty() && pids.empty()) ||
         std::count(names.begin(), names.end(), producer.name) != 0 ||
         std::any_of(patterns.begin(), patterns.end(), is_like_name) ||
         std::count(pids.begin(), pids.end(), producer.pid) != 0;
}

void SetStarted(Instance* instance) {
  instance->state = Instance::kStarted;
  --instance->session->data_sources.num_starting;
}

}  // namespace

void DataSources::Register(ProducerRecord* producer,
                           const DataSourceDescriptor& descriptor,
                           SessionMap* sessions) {
  auto& registered = producer->data_sources.registered;
  if (descriptor.name.empty() ||
      descriptor.name.size() > TracingLimits::kMaxDataSourceNameSize ||
      registered.size() >= TracingLimits::kMaxDataSourcesPerProducer) {
    return;
  }
  for (const auto& other : registered) {
    CountVisit();
    if (descriptor.id != 0 && descriptor.id == other->id)
      return;
  }
  const auto source = Keep(descriptor);
  registered.push_back(source);
  producer->data_sources.has_registered = true;
  for (auto& it : *sessions) {
    CountVisit();
    Session& session = it.second;
    if (!session.takes_instances())
      continue;
    std::vector<DataSourceInstanceID> instances;
    // The instances that were set up start, even if there is no memory for
    // others.
    const ScopeExit start([&] { Start(producer, instances); });
    SetUp(producer, source, &session, &instances);
  }
}

void DataSources::ReportNoPlace(const TracingService::ProducerInfo& producer,
                                const SessionMap& sessions) {
  for (const auto& [id, session] : sessions) {
    const auto& wanted = session.config.data_sources;
    if (session.consumer != nullptr &&
        std::any_of(wanted.begin(), wanted.end(), [&](const auto& source) {
          return Selects(source, producer);
        })) {
      session.consumer->OnProducerWithoutPlace(id, producer);
    }
  }
}

void DataSources::ReportRefusal(const ProducerRecord& producer,
                                DataSourceInstanceID id) {
  const auto& instances = producer.data_sources.instances;
  const auto it = instances.find(id);
  if (it == instances.end())
    return;
  const Session& session = *it->second.session;
  if (session.consumer != nullptr)
    session.consumer->OnProducerWithoutPlace(session.id, producer.info);
}

void DataSources::Update(ProducerRecord* producer,
                         const DataSourceDescriptor& descriptor) {
  for (auto& source : producer->data_sources.registered) {
    CountVisit();
    if (source->name == descriptor.name && source->id == descriptor.id)
      source = Keep(descriptor);
  }
}

void DataSources::Unregister(ProducerRecord* producer,
                             const std::string& name) {
  auto& sources = producer->data_sources.registered;
  sources.erase(std::remove_if(sources.begin(), sources.end(),
                               [&](const auto& source) {
                                 CountVisit();
                                 return source->name == name;
                               }),
                sources.end());
  auto& running = producer->data_sources.running;
  for (auto it = running.lower_bound({name, 0});
       it != running.end() && it->first == name;) {
    CountVisit();
    Stop(producer, producer->data_sources.instances.find((it++)->second));
  }
}

Session* DataSources::NotifyStarted(ProducerRecord* producer,
                                    DataSourceInstanceID id) {
  const auto it = producer->data_sources.instances.find(id);
  if (it == producer->data_sources.instances.end() ||
      it->second.state != Instance::kStarting) {
    return nullptr;
  }
  SetStarted(&it->second);
  return it->second.session;
}

Session* DataSources::NotifyStopped(ProducerRecord* producer,
                                    DataSourceInstanceID id) {
  const auto it = producer->data_sources.instances.find(id);
  if (it == producer->data_sources.instances.end())
    return nullptr;
  Session* const session = it->second.session;
  Erase(producer, it);
  return session;
}

void DataSources::SetupSession(Session* session) {
  std::map<ProducerID, std::vector<DataSourceInstanceID>> instances;
  for (auto& it : *producers_) {
    for (const auto& source : it.second.data_sources.registered)
      SetUp(&it.second, source, session, &instances[it.first]);
  }
  for (auto& it : *producers_)
    Start(&it.second, instances[it.first]);
}

void DataSources::StopAll(Session* session) {
  const auto& instances = session->data_sources.instances;
  for (auto it = instances.begin(); it != instances.end();) {
    CountVisit();
    const auto [producer_id, instance_id] = *it++;
    ProducerRecord* const producer = producers_->Get(producer_id);
    Stop(producer, producer->data_sources.instances.find(instance_id));
  }
}

void DataSources::EndAll(Session* session) {
  const auto& instances = session->data_sources.instances;
  for (auto it = instances.begin(); it != instances.end();) {
    const auto [producer_id, instance_id] = *it++;
    ProducerRecord* const producer = producers_->Get(producer_id);
    const auto instance = producer->data_sources.instances.find(instance_id);
    if (instance->second.state != Instance::kStopping)
      producer->remote->StopDataSource(instance_id);
    Erase(producer, instance);
  }
  for (auto& it : *producers_)
    it.second.data_sources.sessions_without_memory.erase(session->id);
}

void DataSources::EraseAll(ProducerRecord* producer) {
  InstanceMap& instances = producer->data_sources.instances;
  while (!instances.empty()) {
    CountVisit();
    Erase(producer, instances.begin());
  }
}

void DataSources::ClearIncrementalState(const Session& session) {
  // If there is no memory, the remaining producers do it the next time.
  RunsInMemory([&] {
    ForEachProducer(
        session,
        [](const DataSourceDescriptor& source) {
          return source.handles_incremental_state_clear;
        },
        [](ProducerRecord* producer,
           const std::vector<DataSourceInstanceID>& instances) {
          producer->remote->ClearIncrementalState(instances);
        });
  });
}

void DataSources::ClearOverwritten(ProducerRecord* producer,
                                   const CommitDataRequest& request) {
  ProducerDataSources& sources = producer->data_sources;
  for (size_t i = 0; !sources.rings.empty() && i < request.num_chunks_to_move;
       ++i) {
    CountVisit();
    const BufferID id = request.chunks_to_move[i].target_buffer;
    const auto ring = sources.rings.find(id);
    if (ring == sources.rings.end())
      continue;
    const BufferTable::Entry* const entry = buffers_->Find(id);
    if (entry == nullptr)
      continue;
    ProducerDataSources::Ring& last = ring->second;
    const uint64_t written = entry->buffer.bytes_written();
    const uint64_t now = (*clock_)();
    const size_t parts =
        producer->info.reports_losses ? kClearsPerRing : kClearsPerRingOfOthers;
    const uint32_t ring_ms = entry->session->config.ring_ms;
    const bool is_time =
        ring_ms != 0 && now >= last.time_ms + ring_ms / kClearsPerRingTime;
    if (!is_time &&
        written < last.bytes_written + entry->buffer.ring_size() / parts) {
      continue;
    }
    last = {written, now};
    // If there is no memory, the producer is asked the next time.
    RunsInMemory([&] {
      std::vector<DataSourceInstanceID> instances;
      for (const auto& [instance_id, instance] : sources.instances) {
        CountVisit();
        if (instance.config->target_buffer == id &&
            instance.state != Instance::kStopping &&
            instance.descriptor->handles_incremental_state_clear) {
          instances.push_back(instance_id);
        }
      }
      if (!instances.empty())
        producer->remote->ClearIncrementalState(instances);
    });
  }
}

uint64_t DataSources::NextStopDeadline() const {
  return stop_deadlines_.empty() ? kNever : stop_deadlines_.begin()->time;
}

Session* DataSources::StopOverdue(uint64_t now) {
  if (stop_deadlines_.empty() || NextStopDeadline() > now)
    return nullptr;
  const StopDeadline due = *stop_deadlines_.begin();
  return NotifyStopped(producers_->Get(due.producer_id), due.instance_id);
}

void DataSources::SetUp(
    ProducerRecord* producer,
    const std::shared_ptr<const DataSourceDescriptor>& descriptor,
    Session* session,
    std::vector<DataSourceInstanceID>* instances) {
  SessionDataSources& sources = session->data_sources;
  if (sources.names_offered.size() < TraceStats::kMaxNamesOffered)
    sources.names_offered.insert(descriptor->name);
  const auto found = sources.wanted.find(descriptor->name);
  if (found == sources.wanted.end())
    return;
  instances->reserve(instances->size() + found->second.size());
  for (const size_t i : found->second) {
    CountVisit();
    TraceConfig::DataSource& wanted = session->config.data_sources[i];
    if (!Selects(wanted, producer->info))
      continue;
    if (producer->data_sources.instances.size() >=
        TracingLimits::kMaxInstancesPerProducer) {
      // It is unknown what the instance would have written.
      buffers_->Get(wanted.config.target_buffer).ReportUnknownLoss();
      continue;
    }
    if (!SetupMemory(producer, session))
      continue;
    const DataSourceInstanceID id = ++last_instance_id_;
    SetUpRing(producer, *session, &wanted.config);
    AddInstance(producer, id, descriptor, session, &wanted.config);
    ++sources.num_instances[i];
    instances->push_back(id);
    producer->remote->SetupDataSource(id, wanted.config);
  }
}

void DataSources::SetUpRing(ProducerRecord* producer,
                            const Session& session,
                            DataSourceConfig* wanted) {
  if (!session.config.is_read_at_end)
    return;
  const BufferID id = wanted->target_buffer;
  const TraceBuffer& buffer = buffers_->Get(id);
  if (buffer.ring_size() == 0)
    return;
  const size_t num_others =
      session.producers.size() - session.producers.count(producer->id);
  wanted->ring_bytes = buffer.ring_size() / (num_others + 1);
  producer->data_sources.rings.try_emplace(
      id, ProducerDataSources::Ring{buffer.bytes_written(), (*clock_)()});
}

bool DataSources::SetupMemory(ProducerRecord* producer, Session* session) {
  if (producers_->SetupMemory(producer, session->config))
    return true;
  if (producer->data_sources.sessions_without_memory.insert(session->id)
          .second) {
    ++session->data_sources.producers_without_memory;
    if (session->consumer != nullptr) {
      session->consumer->OnProducerWithoutMemory(
          session->id, producer->info, producer->remote->SetupTracingError());
    }
  }
  return false;
}

void DataSources::AddInstance(
    ProducerRecord* producer,
    DataSourceInstanceID id,
    const std::shared_ptr<const DataSourceDescriptor>& descriptor,
    Session* session,
    const DataSourceConfig* config) {
  const bool is_new = session->producers.insert(producer->id).second;
  ScopeExit undo_producer([&] {
    if (is_new)
      session->producers.erase(producer->id);
  });
  producer->chunks.AddBuffer(config->target_buffer);
  undo_producer.Cancel();

  ProducerDataSources& its_sources = producer->data_sources;
  ScopeExit undo([&] {
    session->data_sources.instances.erase({producer->id, id});
    its_sources.running.erase({descriptor->name, id});
    its_sources.instances.erase(id);
  });
  its_sources.instances[id] = {session, descriptor, config, Instance::kStarting,
                               0};
  its_sources.running.emplace(descriptor->name, id);
  session->data_sources.instances.emplace(producer->id, id);
  undo.Cancel();
  ++session->data_sources.num_starting;
}

void DataSources::Start(ProducerRecord* producer,
                        const std::vector<DataSourceInstanceID>& instances) {
  for (const DataSourceInstanceID id : instances) {
    CountVisit();
    Instance& instance = producer->data_sources.instances.find(id)->second;
    if (!instance.descriptor->will_notify_on_start)
      SetStarted(&instance);
    producer->remote->StartDataSource(id, *instance.config);
  }
}

void DataSources::Stop(ProducerRecord* producer, InstanceMap::iterator it) {
  Instance& instance = it->second;
  if (instance.state == Instance::kStopping)
    return;
  SessionDataSources& sources = instance.session->data_sources;
  sources.has_changed = true;
  producer->remote->StopDataSource(it->first);
  const uint64_t deadline = (*clock_)() + instance.config->stop_timeout_ms;
  // If there is no memory for the deadline, the service does not wait.
  if (!instance.descriptor->will_notify_on_stop || !RunsInMemory([&] {
        stop_deadlines_.insert({deadline, producer->id, it->first});
      })) {
    Erase(producer, it);
    return;
  }
  if (instance.state == Instance::kStarting)
    --sources.num_starting;
  instance.state = Instance::kStopping;
  instance.stop_deadline = deadline;
  producer->data_sources.running.erase({instance.descriptor->name, it->first});
}

void DataSources::Erase(ProducerRecord* producer, InstanceMap::iterator it) {
  Instance& instance = it->second;
  SessionDataSources& sources = instance.session->data_sources;
  switch (instance.state) {
    case Instance::kStarting:
      --sources.num_starting;
      break;
    case Instance::kStarted:
      break;
    case Instance::kStopping:
      stop_deadlines_.erase({instance.stop_deadline, producer->id, it->first});
      break;
  }
  producer->data_sources.running.erase({instance.descriptor->name, it->first});
  sources.instances.erase({producer->id, it->first});
  sources.has_changed = true;
  producer->data_sources.instances.erase(it);
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
