// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/service_impl.h"

#include <algorithm>

namespace protozero {

void TraceService::Impl::RegisterDataSource(
    ProducerState* producer,
    const DataSourceDescriptor& descriptor) {
  if (descriptor.name.empty() ||
      descriptor.name.size() > kMaxDataSourceNameSize ||
      producer->data_sources.size() >= kMaxDataSourcesPerProducer) {
    return;
  }
  for (const DataSourceDescriptor& other : producer->data_sources) {
    if (descriptor.id != 0 && descriptor.id == other.id)
      return;
  }
  producer->data_sources.push_back(descriptor);
  for (auto& it : sessions_) {
    Session& session = it.second;
    if (session.state != kStarting && session.state != kStarted)
      continue;
    std::vector<DataSourceInstanceID> instances;
    SetupDataSource(producer, descriptor, &session, &instances);
    StartDataSources(producer, instances);
  }
}

void TraceService::Impl::UnregisterDataSource(ProducerState* producer,
                                              const std::string& name) {
  std::vector<DataSourceDescriptor>& sources = producer->data_sources;
  sources.erase(std::remove_if(sources.begin(), sources.end(),
                               [&name](const DataSourceDescriptor& source) {
                                 return source.name == name;
                               }),
                sources.end());
  for (auto it = producer->instances.begin();
       it != producer->instances.end();) {
    const auto instance = it++;
    if (instance->second.descriptor.name == name)
      StopDataSource(producer, instance);
  }
  UpdateStates();
}

void TraceService::Impl::NotifyDataSourceStarted(
    ProducerState* producer,
    DataSourceInstanceID instance_id) {
  const auto it = producer->instances.find(instance_id);
  if (it == producer->instances.end() ||
      it->second.state != InstanceState::kStarting) {
    return;
  }
  it->second.state = InstanceState::kStarted;
  UpdateStates();
}

void TraceService::Impl::NotifyDataSourceStopped(
    ProducerState* producer,
    DataSourceInstanceID instance_id) {
  if (producer->instances.erase(instance_id) != 0)
    UpdateStates();
}

void TraceService::Impl::SetupDataSource(
    ProducerState* producer,
    const DataSourceDescriptor& descriptor,
    Session* session,
    std::vector<DataSourceInstanceID>* instances) {
  if (session->names_offered.size() < TraceStats::kMaxNamesOffered)
    session->names_offered.insert(descriptor.name);
  for (size_t i = 0; i < session->config.data_sources.size(); ++i) {
    const TraceConfig::DataSource& wanted = session->config.data_sources[i];
    if (producer->instances.size() >= kMaxInstancesPerProducer)
      return;
    const std::vector<std::string>& names = wanted.producer_name_filter;
    if (wanted.config.name != descriptor.name ||
        (!names.empty() &&
         std::count(names.begin(), names.end(), producer->info.name) == 0) ||
        !SetupMemory(producer, session)) {
      continue;
    }
    ++session->data_source_instances[i];
    const DataSourceInstanceID id = ++last_instance_id_;
    Instance& instance = producer->instances[id];
    instance.session_id = session->id;
    instance.descriptor = descriptor;
    instance.state = InstanceState::kStarting;
    DataSourceConfig& config = instance.config;
    config = wanted.config;
    config.target_buffer = session->buffer_ids[wanted.config.target_buffer];
    config.tracing_session_id = session->id;
    if (config.trace_duration_ms == 0)
      config.trace_duration_ms = session->config.duration_ms;
    if (config.stop_timeout_ms == 0)
      config.stop_timeout_ms = session->config.data_source_stop_timeout_ms;
    producer->buffers.insert(config.target_buffer);
    instances->push_back(id);
    producer->client->SetupDataSource(id, config);
  }
}

void TraceService::Impl::StartDataSources(
    ProducerState* producer,
    const std::vector<DataSourceInstanceID>& instances) {
  for (const DataSourceInstanceID id : instances) {
    Instance& instance = producer->instances[id];
    if (!instance.descriptor.will_notify_on_start)
      instance.state = InstanceState::kStarted;
    producer->client->StartDataSource(id, instance.config);
  }
}

void TraceService::Impl::StopDataSource(
    ProducerState* producer,
    std::map<DataSourceInstanceID, Instance>::iterator it) {
  Instance& instance = it->second;
  if (instance.state == InstanceState::kStopping)
    return;
  producer->client->StopDataSource(it->first);
  if (!instance.descriptor.will_notify_on_stop) {
    producer->instances.erase(it);
    return;
  }
  instance.state = InstanceState::kStopping;
  instance.stop_deadline = Now() + instance.config.stop_timeout_ms;
}

void TraceService::Impl::StopDataSources(Session* session) {
  for (auto& producer : producers_) {
    auto& instances = producer.second.instances;
    for (auto it = instances.begin(); it != instances.end();) {
      const auto instance = it++;
      if (instance->second.session_id == session->id)
        StopDataSource(&producer.second, instance);
    }
  }
  UpdateState(session);
}

void TraceService::Impl::ClearIncrementalState(TracingSessionID session_id) {
  for (auto& producer : producers_) {
    std::vector<DataSourceInstanceID> instances;
    for (const auto& it : producer.second.instances) {
      if (it.second.session_id == session_id &&
          it.second.state != InstanceState::kStopping &&
          it.second.descriptor.handles_incremental_state_clear) {
        instances.push_back(it.first);
      }
    }
    if (!instances.empty())
      producer.second.client->ClearIncrementalState(instances);
  }
}

}  // namespace protozero
