// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// What the service says to a producer, and what the producer does about it.

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "src/tracing/ipc/messages.h"
#include "src/tracing/ipc/process_barrier.h"
#include "src/tracing/ipc/producer_impl.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace pb = tracing::pbzero;
using internal::ClientLock;

namespace {

using Instances = std::vector<std::shared_ptr<DataSourceInstance>>;
using Lock = std::unique_lock<std::mutex>;

}  // namespace

bool Producer::Impl::OnFrame(const ConnectionPtr& connection,
                             ConstBytes payload) {
  const pb::IPCFrame::Decoder frame(payload);
  if (frame.has_msg_bind_service_reply()) {
    if (!connection->OnBindReply(frame.msg_bind_service_reply()))
      return false;
    OnBound(connection);
  } else if (frame.has_msg_invoke_method_reply()) {
    const pb::IPCFrame::InvokeMethodReply::Decoder reply(
        frame.msg_invoke_method_reply());
    if (!reply.success()) {
      // All but these can do without.
      return frame.request_id() != initialize_request_ &&
             frame.request_id() != command_request_;
    }
    return OnReply(connection, frame.request_id(), reply.reply_proto());
  }
  return true;
}

void Producer::Impl::OnBound(const ConnectionPtr& connection) {
  // The protocol has 32 bits for them. No service gives as much as that.
  const auto hint = [](size_t bytes) {
    return static_cast<uint32_t>(std::min<size_t>(bytes, UINT32_MAX));
  };
  initialize_request_ = connection->Invoke<pb::InitializeConnectionRequest>(
      ProducerMethod::kInitializeConnection, /*drop_reply=*/false,
      [this, hint](pb::InitializeConnectionRequest* message) {
        message->set_producer_name(options_.name);
        message->set_takes_memory_errors(true);
        message->set_shared_memory_page_size_hint_bytes(
            hint(options_.page_size));
        message->set_shared_memory_size_hint_bytes(
            hint(options_.shared_memory_size));
        using Request = pb::InitializeConnectionRequest;
        message->set_smb_scraping_mode(options_.scraping
                                           ? Request::SMB_SCRAPING_ENABLED
                                           : Request::SMB_SCRAPING_DISABLED);
        message->set_reports_losses(true);
      });
}

bool Producer::Impl::OnReply(const ConnectionPtr& connection,
                             uint64_t request_id,
                             ConstBytes reply) {
  if (request_id == command_request_)
    return OnCommand(connection, reply);
  if (request_id != initialize_request_) {
    Lock lock(ClientLock());
    synced_request_ = std::max(synced_request_, request_id);
    changed_.notify_all();
    return true;
  }
  // Before the data sources are registered: what the service wants of them
  // would be lost.
  command_request_ = connection->Invoke<Message>(
      ProducerMethod::kGetAsyncCommand, /*drop_reply=*/false, [](Message*) {});
  Lock lock(ClientLock());
  connection_ = connection;
  synced_request_ = 0;
  for (const std::shared_ptr<DataSource>& source : sources_)
    OfferLocked(*source);
  state_ = State::kConnected;
  ++num_connections_;
  // That there was no memory is true until there is some.
  if (!lacks_memory_)
    SetOffLocked(OffReason::kNone, "");
  lacks_memory_ = false;
  changed_.notify_all();
  return true;
}

bool Producer::Impl::OnCommand(const ConnectionPtr& connection,
                               ConstBytes bytes) {
  const pb::GetAsyncCommandResponse::Decoder command(bytes);
  if (command.has_setup_tracing())
    return OnSetupTracing(connection, command.setup_tracing());
  if (command.has_memory_error()) {
    const pb::GetAsyncCommandResponse::MemoryError::Decoder error(
        command.memory_error());
    OnNoSharedMemory(OffReason::kNoSharedMemory,
                     error.message().ToStdStringView());
  } else if (command.has_setup_data_source()) {
    OnSetup(connection, command.setup_data_source());
  } else if (command.has_start_data_source()) {
    OnStart(connection, command.start_data_source());
  } else if (command.has_stop_data_source()) {
    const pb::GetAsyncCommandResponse::StopDataSource::Decoder stop(
        command.stop_data_source());
    OnStop(connection, stop.instance_id());
  } else if (command.has_flush()) {
    OnFlush(connection, command.flush());
  } else if (command.has_clear_incremental_state()) {
    OnClearIncrementalState(command.clear_incremental_state());
  }
  return true;
}

bool Producer::Impl::OnSetupTracing(const ConnectionPtr& connection,
                                    ConstBytes bytes) {
  const pb::GetAsyncCommandResponse::SetupTracing::Decoder setup(bytes);
  if (connection->arbiter() != nullptr)
    return false;
  if (!received_fd_.is_valid()) {
    // The kernel does not say so.
    OnNoSharedMemory(OffReason::kNoDescriptors,
                     "the shared memory's has not arrived");
    return false;
  }
  SharedMemoryArbiter::Options options;
  options.page_layout = options_.page_layout;
  options.stall_timeout_ms = options_.stall_timeout_ms;
  options.process_barrier = GetProcessBarrier();
  // What is not the system's fault is the service's.
  errno = EINVAL;
  if (!connection->SetupTracing(
          std::move(received_fd_),
          size_t{1024} * setup.shared_buffer_page_size_kb(), options)) {
    OnNoSharedMemory(OffReason::kNoSharedMemory, strerror(errno));
    return false;
  }
  OnSharedMemory();
  return true;
}

void Producer::Impl::OnSetup(const ConnectionPtr& connection,
                             ConstBytes bytes) {
  const pb::GetAsyncCommandResponse::SetupDataSource::Decoder command(bytes);
  DataSourceConfig config;
  if (connection->arbiter() == nullptr ||
      !ReadDataSourceConfig(command.config(), &config) ||
      Find(command.new_instance_id()).instance != nullptr) {
    return;
  }
  Running running;
  {
    Lock lock(ClientLock());
    for (const std::shared_ptr<DataSource>& source : sources_) {
      if (source->descriptor().name == config.name)
        running.source = source;
    }
  }
  if (running.source == nullptr)
    return;
  running.instance = std::make_shared<DataSourceInstance>(
      command.new_instance_id(), std::move(config), connection);
  running_.push_back(running);
  running.source->OnSetup(*running.instance);
}

void Producer::Impl::OnStart(const ConnectionPtr& connection,
                             ConstBytes bytes) {
  const pb::GetAsyncCommandResponse::StartDataSource::Decoder command(bytes);
  const Running running = Find(command.new_instance_id());
  if (running.instance == nullptr)
    return;
  {
    Lock lock(ClientLock());
    Instances& instances = running.source->instances_;
    if (!IsRegisteredLocked(running.source) ||
        std::find(instances.begin(), instances.end(), running.instance) !=
            instances.end()) {
      return;
    }
    instances.push_back(running.instance);
    running.source->ChangeState();
  }
  running.source->OnStart(*running.instance);
  connection->Invoke<pb::NotifyDataSourceStartedRequest>(
      ProducerMethod::kNotifyDataSourceStarted, /*drop_reply=*/true,
      [&](pb::NotifyDataSourceStartedRequest* message) {
        message->set_data_source_id(running.instance->id());
      });
}

void Producer::Impl::OnStop(const ConnectionPtr& connection,
                            DataSourceInstanceID id) {
  const Running running = Take(id);
  if (running.instance == nullptr)
    return;
  running.source->OnStop(*running.instance);
  connection->arbiter()->FlushPendingCommitDataRequestsAndWait();
  connection->Invoke<pb::NotifyDataSourceStoppedRequest>(
      ProducerMethod::kNotifyDataSourceStopped, /*drop_reply=*/true,
      [&](pb::NotifyDataSourceStoppedRequest* message) {
        message->set_data_source_id(id);
      });
}

void Producer::Impl::OnFlush(const ConnectionPtr& connection,
                             ConstBytes bytes) {
  const pb::GetAsyncCommandResponse::Flush::Decoder command(bytes);
  for (const uint64_t id : command.data_source_ids()) {
    const Running running = Find(id);
    if (running.instance == nullptr)
      continue;
    {
      Lock lock(ClientLock());
      running.source->ChangeState();
    }
    running.source->OnFlush(*running.instance, command.flags());
  }
  if (connection->arbiter() != nullptr) {
    connection->arbiter()->ReturnIdleChunks(/*even_if_recent=*/true);
    connection->arbiter()->FlushPendingCommitDataRequestsAndWait();
  }
  CommitDataRequest request{};
  request.flush_request_id = command.request_id();
  connection->CommitData(request);
}

void Producer::Impl::OnClearIncrementalState(ConstBytes bytes) {
  const pb::GetAsyncCommandResponse::ClearIncrementalState::Decoder command(
      bytes);
  for (const uint64_t id : command.data_source_ids()) {
    const Running running = Find(id);
    if (running.instance == nullptr)
      continue;
    running.instance->num_clears_.fetch_add(1, std::memory_order_relaxed);
    running.source->OnClearIncrementalState(*running.instance);
  }
}

void Producer::Impl::StopInstances(const ConnectionPtr& connection) {
  while (!running_.empty()) {
    const Running running = Take(running_.front().instance->id());
    // There may be none any more, which must not keep the others from stopping.
    if (!RunsInMemory([&] { running.source->OnStop(*running.instance); }))
      OnOutOfMemory();
  }
  if (connection->arbiter() != nullptr)
    connection->arbiter()->FlushPendingCommitDataRequestsAndWait();
}

Producer::Impl::Running Producer::Impl::Find(DataSourceInstanceID id) {
  for (const Running& running : running_) {
    if (running.instance->id() == id)
      return running;
  }
  return Running();
}

Producer::Impl::Running Producer::Impl::Take(DataSourceInstanceID id) {
  Running running = Find(id);
  if (running.instance == nullptr)
    return running;
  running_.erase(
      std::find_if(running_.begin(), running_.end(), [&](const Running& other) {
        return other.instance == running.instance;
      }));
  Lock lock(ClientLock());
  Instances& instances = running.source->instances_;
  const auto it =
      std::find(instances.begin(), instances.end(), running.instance);
  if (it != instances.end()) {
    instances.erase(it);
    running.source->ChangeState();
  }
  return running;
}

PROTOZERO_ABI_END
}  // namespace protozero
