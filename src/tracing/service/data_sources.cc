// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/service_impl.h"

#include <algorithm>

#include "src/tracing/shared_memory/out_of_memory.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

void TracingService::Impl::RegisterDataSource(
    ProducerState* producer,
    const DataSourceDescriptor& descriptor) {
  if (descriptor.name.empty() ||
      descriptor.name.size() > TracingLimits::kMaxDataSourceNameSize ||
      producer->data_sources.size() >=
          TracingLimits::kMaxDataSourcesPerProducer) {
    return;
  }
  for (const auto& other : producer->data_sources) {
    ++num_visits_;
    if (descriptor.id != 0 && descriptor.id == other->id)
      return;
  }
  const auto source = std::make_shared<const DataSourceDescriptor>(descriptor);
  producer->data_sources.push_back(source);
  for (auto& it : sessions_) {
    ++num_visits_;
    Session& session = it.second;
    if (session.state != kStarting && session.state != kStarted)
      continue;
    std::vector<DataSourceInstanceID> instances;
    // Those that were set up start, even if there is no memory for others.
    const ScopeExit start([&] { StartDataSources(producer, instances); });
    SetupDataSource(producer, source, &session, &instances);
  }
}

void TracingService::Impl::UpdateDataSource(
    ProducerState* producer,
    const DataSourceDescriptor& descriptor) {
  for (auto& source : producer->data_sources) {
    ++num_visits_;
    if (source->name == descriptor.name && source->id == descriptor.id)
      source = std::make_shared<const DataSourceDescriptor>(descriptor);
  }
}

void TracingService::Impl::UnregisterDataSource(ProducerState* producer,
                                                const std::string& name) {
  auto& sources = producer->data_sources;
  sources.erase(std::remove_if(sources.begin(), sources.end(),
                               [&](const auto& source) {
                                 ++num_visits_;
                                 return source->name == name;
                               }),
                sources.end());
  for (auto it = producer->running.lower_bound({name, 0});
       it != producer->running.end() && it->first == name;) {
    ++num_visits_;
    StopDataSource(producer, producer->instances.find((it++)->second));
  }
  UpdateChangedSessions();
}

void TracingService::Impl::NotifyDataSourceStarted(
    ProducerState* producer,
    DataSourceInstanceID instance_id) {
  const auto it = producer->instances.find(instance_id);
  if (it == producer->instances.end() ||
      it->second.state != InstanceState::kStarting) {
    return;
  }
  SetStarted(&it->second);
  UpdateState(it->second.session);
}

void TracingService::Impl::NotifyDataSourceStopped(
    ProducerState* producer,
    DataSourceInstanceID instance_id) {
  const auto it = producer->instances.find(instance_id);
  if (it == producer->instances.end())
    return;
  Session* const session = it->second.session;
  EraseInstance(producer, it);
  UpdateState(session);
}

void TracingService::Impl::SetupDataSource(
    ProducerState* producer,
    const std::shared_ptr<const DataSourceDescriptor>& descriptor,
    Session* session,
    std::vector<DataSourceInstanceID>* instances) {
  if (session->names_offered.size() < TraceStats::kMaxNamesOffered)
    session->names_offered.insert(descriptor->name);
  const auto found = session->sources_by_name.find(descriptor->name);
  if (found == session->sources_by_name.end())
    return;
  instances->reserve(instances->size() + found->second.size());
  for (const size_t i : found->second) {
    ++num_visits_;
    const TraceConfig::DataSource& wanted = session->config.data_sources[i];
    if (producer->instances.size() >= TracingLimits::kMaxInstancesPerProducer)
      return;
    const std::vector<std::string>& names = wanted.producer_name_filter;
    if ((!names.empty() &&
         std::count(names.begin(), names.end(), producer->info.name) == 0) ||
        !SetupMemory(producer, session)) {
      continue;
    }
    const DataSourceInstanceID id = ++last_instance_id_;
    AddInstance(producer, id, descriptor, session, &wanted.config);
    ++session->data_source_instances[i];
    instances->push_back(id);
    producer->client->SetupDataSource(id, wanted.config);
  }
}

void TracingService::Impl::AddInstance(
    ProducerState* producer,
    DataSourceInstanceID id,
    const std::shared_ptr<const DataSourceDescriptor>& descriptor,
    Session* session,
    const DataSourceConfig* config) {
  const bool is_new = session->producers.insert(producer->id).second;
  ScopeExit undo_producer([&] {
    if (is_new)
      session->producers.erase(producer->id);
  });
  producer->buffers.insert(config->target_buffer);
  undo_producer.Cancel();

  ScopeExit undo([&] {
    session->instances.erase({producer->id, id});
    producer->running.erase({descriptor->name, id});
    producer->instances.erase(id);
  });
  producer->instances[id] = {session, descriptor, config,
                             InstanceState::kStarting, 0};
  producer->running.emplace(descriptor->name, id);
  session->instances.emplace(producer->id, id);
  undo.Cancel();
  ++session->num_starting;
}

void TracingService::Impl::StartDataSources(
    ProducerState* producer,
    const std::vector<DataSourceInstanceID>& instances) {
  for (const DataSourceInstanceID id : instances) {
    ++num_visits_;
    Instance& instance = producer->instances.find(id)->second;
    if (!instance.descriptor->will_notify_on_start)
      SetStarted(&instance);
    producer->client->StartDataSource(id, *instance.config);
  }
}

void TracingService::Impl::SetStarted(Instance* instance) {
  instance->state = InstanceState::kStarted;
  --instance->session->num_starting;
}

void TracingService::Impl::StopDataSource(ProducerState* producer,
                                          InstanceMap::iterator it) {
  Instance& instance = it->second;
  if (instance.state == InstanceState::kStopping)
    return;
  instance.session->has_changed = true;
  producer->client->StopDataSource(it->first);
  const uint64_t deadline = Now() + instance.config->stop_timeout_ms;
  // Without memory for the deadline, nobody waits.
  if (!instance.descriptor->will_notify_on_stop || !RunsInMemory([&] {
        stop_deadlines_.insert({deadline, producer->id, it->first});
      })) {
    EraseInstance(producer, it);
    return;
  }
  if (instance.state == InstanceState::kStarting)
    --instance.session->num_starting;
  instance.state = InstanceState::kStopping;
  instance.stop_deadline = deadline;
  producer->running.erase({instance.descriptor->name, it->first});
}

void TracingService::Impl::EraseInstance(ProducerState* producer,
                                         InstanceMap::iterator it) {
  Instance& instance = it->second;
  switch (instance.state) {
    case InstanceState::kStarting:
      --instance.session->num_starting;
      break;
    case InstanceState::kStarted:
      break;
    case InstanceState::kStopping:
      stop_deadlines_.erase({instance.stop_deadline, producer->id, it->first});
      break;
  }
  producer->running.erase({instance.descriptor->name, it->first});
  instance.session->instances.erase({producer->id, it->first});
  instance.session->has_changed = true;
  producer->instances.erase(it);
}

void TracingService::Impl::StopDataSources(Session* session) {
  for (auto it = session->instances.begin(); it != session->instances.end();) {
    ++num_visits_;
    const auto [producer_id, instance_id] = *it++;
    ProducerState& producer = producers_.find(producer_id)->second;
    StopDataSource(&producer, producer.instances.find(instance_id));
  }
  UpdateState(session);
}

void TracingService::Impl::ClearIncrementalState(const Session& session) {
  // Without memory, those that are left have it cleared the next time.
  RunsInMemory([&] {
    ForEachProducer(
        session,
        [](const DataSourceDescriptor& source) {
          return source.handles_incremental_state_clear;
        },
        [](ProducerState* producer,
           const std::vector<DataSourceInstanceID>& instances) {
          producer->client->ClearIncrementalState(instances);
        });
  });
}

PROTOZERO_ABI_END
}  // namespace protozero
