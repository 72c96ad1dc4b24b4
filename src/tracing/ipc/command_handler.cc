// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/command_handler.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include <algorithm>
#include <mutex>

#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/clock_offset.h"
#include "src/tracing/ipc/data_source_access.h"
#include "src/tracing/ipc/messages.h"
#include "src/tracing/ipc/process_barrier.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "src/tracing/shared_memory/out_of_memory.h"
#include "src/tracing/writer/flight_header.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace pb = tracing::pbzero;
using Command = pb::GetAsyncCommandResponse;
using Lock = std::unique_lock<std::mutex>;

namespace {

// Returns the program's name without /proc. If the program has no arguments,
// the kernel has a name, which takes up to 16 bytes in |buffer|.
std::string_view ProgramName(char* buffer) {
  if (*program_invocation_short_name != '\0')
    return program_invocation_short_name;
  prctl(PR_GET_NAME, buffer);
  return buffer;
}

}  // namespace

uint64_t Introduce(const Producer::Options& options,
                   bool has_place,
                   ProducerIpcClient* connection) {
  // The protocol has 32 bits for a size. No service gives that much memory.
  const auto hint = [](size_t bytes) {
    return static_cast<uint32_t>(std::min<size_t>(bytes, UINT32_MAX));
  };
  return connection->Invoke<pb::InitializeConnectionRequest>(
      ProducerMethod::kInitializeConnection, /*drop_reply=*/false,
      [&](pb::InitializeConnectionRequest* message) {
        char buffer[16] = "";
        message->set_producer_name(options.name.empty()
                                       ? ProgramName(buffer)
                                       : std::string_view(options.name));
        message->set_takes_memory_errors(true);
        message->set_shared_memory_page_size_hint_bytes(
            hint(options.page_size));
        message->set_shared_memory_size_hint_bytes(
            hint(options.shared_memory_size));
        using Request = pb::InitializeConnectionRequest;
        message->set_smb_scraping_mode(options.scraping
                                           ? Request::SMB_SCRAPING_ENABLED
                                           : Request::SMB_SCRAPING_DISABLED);
        message->set_reports_losses(true);
        message->set_flight_version(FlightHeader::kVersion);
        message->set_commits_after_silence(true);
        message->set_boottime_less_realtime_ns(BoottimeLessRealtimeNs());
        if (!has_place)
          message->set_has_no_place(true);
      });
}

bool CommandHandler::OnFrame(ConstBytes payload) {
  const pb::IPCFrame::Decoder frame(payload);
  if (frame.has_msg_bind_service_reply()) {
    if (!connection_->OnBindReply(frame.msg_bind_service_reply()))
      return false;
    OnBound();
  } else if (frame.has_msg_invoke_method_reply()) {
    const pb::IPCFrame::InvokeMethodReply::Decoder reply(
        frame.msg_invoke_method_reply());
    if (!reply.success()) {
      // The producer can do without any other request.
      return frame.request_id() != initialize_request_ &&
             frame.request_id() != command_request_;
    }
    return OnReply(frame.request_id(), reply.reply_proto());
  }
  return true;
}

void CommandHandler::OnBound() {
  initialize_request_ =
      Introduce(producer_->options, /*has_place=*/true, connection_.get());
}

bool CommandHandler::OnReply(uint64_t request_id, ConstBytes reply) {
  if (request_id == command_request_)
    return OnCommand(reply);
  if (request_id == initialize_request_) {
    OnConnected();
    return true;
  }
  Lock lock(ClientLock());
  place_->synced_request = std::max(place_->synced_request, request_id);
  if (place_->status.off_reason() == Producer::OffReason::kTimedOut)
    place_->status.SetOff(Producer::OffReason::kNone);
  producer_->changed.notify_all();
  return true;
}

void CommandHandler::OnConnected() {
  // This comes before the data sources are registered: otherwise the service's
  // commands for them would be lost.
  command_request_ = connection_->Invoke<Message>(
      ProducerMethod::kGetAsyncCommand, /*drop_reply=*/false, [](Message*) {});
  Lock lock(ClientLock());
  place_->connection = connection_;
  place_->synced_request = 0;
  for (const std::shared_ptr<DataSource>& source : producer_->sources)
    OfferDataSource(*source, connection_.get());
  if (producer_->state() != Producer::State::kConnected)
    ++producer_->num_connections;
  place_->status.SetConnected();
  place_->is_introducing = false;
  producer_->changed.notify_all();
}

bool CommandHandler::OnCommand(ConstBytes bytes) {
  const Command::Decoder command(bytes);
  if (command.has_setup_tracing())
    return OnSetupTracing(command.setup_tracing());
  if (command.has_memory_error()) {
    const Command::MemoryError::Decoder error(command.memory_error());
    OnNoSharedMemory(Producer::OffReason::kNoSharedMemory,
                     error.message().ToStdStringView());
  } else if (command.has_setup_data_source()) {
    OnSetup(command.setup_data_source());
  } else if (command.has_start_data_source()) {
    OnStart(command.start_data_source());
  } else if (command.has_stop_data_source()) {
    const Command::StopDataSource::Decoder stop(command.stop_data_source());
    OnStop(stop.instance_id());
  } else if (command.has_flush()) {
    OnFlush(command.flush());
  } else if (command.has_clear_incremental_state()) {
    OnClearIncrementalState(command.clear_incremental_state());
  }
  return true;
}

bool CommandHandler::OnSetupTracing(ConstBytes bytes) {
  const Command::SetupTracing::Decoder setup(bytes);
  if (connection_->arbiter() != nullptr)
    return false;
  if (!received_fd_.is_valid()) {
    // The kernel silently drops a descriptor if this process may open no more
    // files.
    OnNoSharedMemory(Producer::OffReason::kNoDescriptors,
                     "the shared memory's has not arrived");
    return false;
  }
  // This errno stays if no system call fails: then the service has sent
  // something that makes no sense.
  errno = EINVAL;
  bool is_set_up;
  if (setup.is_flight_file()) {
    is_set_up = connection_->SetupRing(
        SharedMemoryFile::Attach(std::move(received_fd_), SIZE_MAX,
                                 /*needs_seals=*/false),
        /*source=*/nullptr);
  } else {
    SharedMemoryArbiter::Options options;
    options.page_layout = producer_->options.page_layout;
    options.stall_timeout_ms = producer_->options.stall_timeout_ms;
    options.owner_commits = true;
    options.process_barrier = GetProcessBarrier();
    is_set_up = connection_->SetupTracing(
        std::move(received_fd_),
        size_t{1024} * setup.shared_buffer_page_size_kb(), options);
  }
  if (!is_set_up) {
    OnNoSharedMemory(Producer::OffReason::kNoSharedMemory, strerror(errno));
    return false;
  }
  Lock lock(ClientLock());
  place_->status.SetHasSharedMemory();
  return true;
}

void CommandHandler::OnNoSharedMemory(Producer::OffReason reason,
                                      std::string_view detail) {
  Lock lock(ClientLock());
  place_->status.SetNoSharedMemory(reason, detail);
}

void CommandHandler::OnSetup(ConstBytes bytes) {
  const Command::SetupDataSource::Decoder command(bytes);
  DataSourceConfig config;
  if (connection_->arbiter() == nullptr ||
      !ReadDataSourceConfig(command.config(), &config) ||
      Find(command.new_instance_id()).instance != nullptr) {
    return;
  }
  Running running;
  {
    Lock lock(ClientLock());
    for (const std::shared_ptr<DataSource>& source : producer_->sources) {
      if (source->descriptor().name == config.name)
        running.source = source;
    }
  }
  if (running.source == nullptr)
    return;
  if (connection_->ring_bytes() != 0)
    config.ring_bytes = connection_->ring_bytes();
  running.instance = std::make_shared<DataSourceInstance>(
      command.new_instance_id(), std::move(config), connection_);
  running_.push_back(running);
  DataSourceAccess::OnSetup(running.source.get(), *running.instance);
  if (DataSourceAccess::IsRefused(*running.instance)) {
    running_.back().is_refused = true;
    Lock lock(ClientLock());
    place_->status.AddRefusedSession();
  }
}

void CommandHandler::OnStart(ConstBytes bytes) {
  const Command::StartDataSource::Decoder command(bytes);
  const Running running = Find(command.new_instance_id());
  if (running.instance == nullptr)
    return;
  if (running.is_refused) {
    connection_->ReportUnknownLoss(running.instance->config().target_buffer);
    return NotifyStarted(*running.instance, /*is_refused=*/true);
  }
  {
    Lock lock(ClientLock());
    const auto& sources = producer_->sources;
    if (std::find(sources.begin(), sources.end(), running.source) ==
            sources.end() ||
        !DataSourceAccess::StartInstance(running.source.get(),
                                         running.instance)) {
      return;
    }
  }
  // The session may be one that the program has interrupted.
  auto& interrupted = place_->interrupted;
  const auto it =
      std::find(interrupted.begin(), interrupted.end(), running.source);
  if (it != interrupted.end()) {
    interrupted.erase(it);
    connection_->ReportUnknownLoss(running.instance->config().target_buffer);
  }
  DataSourceAccess::OnStart(running.source.get(), *running.instance);
  NotifyStarted(*running.instance, /*is_refused=*/false);
}

void CommandHandler::NotifyStarted(const DataSourceInstance& instance,
                                   bool is_refused) {
  connection_->Invoke<pb::NotifyDataSourceStartedRequest>(
      ProducerMethod::kNotifyDataSourceStarted, /*drop_reply=*/true,
      [&](pb::NotifyDataSourceStartedRequest* message) {
        message->set_data_source_id(instance.id());
        if (is_refused)
          message->set_is_refused(true);
      });
}

void CommandHandler::OnStop(DataSourceInstanceID id) {
  const Running running = Take(id);
  if (running.instance == nullptr)
    return;
  DataSourceAccess::OnStop(running.source.get(), *running.instance);
  CommitBeforeStop(running.instance->config().target_buffer);
  UpdateOffer(*running.source);
  connection_->Invoke<pb::NotifyDataSourceStoppedRequest>(
      ProducerMethod::kNotifyDataSourceStopped, /*drop_reply=*/true,
      [&](pb::NotifyDataSourceStoppedRequest* message) {
        message->set_data_source_id(id);
      });
}

void CommandHandler::UpdateOffer(const DataSource& source) {
  Lock lock(ClientLock());
  UpdateDataSource(source, connection_.get());
}

void CommandHandler::CommitBeforeStop(BufferID buffer) {
  SharedMemoryArbiter* const arbiter = connection_->arbiter();
  const bool service_looks = producer_->options.scraping;
  if (!service_looks)
    arbiter->ReturnIdleChunks(/*even_if_recent=*/true);
  arbiter->FlushPendingCommitDataRequestsAndWait();
  // That thread's chunk, with the packets before the open one, comes too late.
  if (!service_looks && arbiter->HasOpenPacket(buffer))
    connection_->ReportUnknownLoss(buffer);
}

void CommandHandler::OnFlush(ConstBytes bytes) {
  const Command::Flush::Decoder command(bytes);
  for (const uint64_t id : command.data_source_ids()) {
    const Running running = Find(id);
    if (running.instance == nullptr)
      continue;
    {
      Lock lock(ClientLock());
      DataSourceAccess::NotifyThreads(running.source.get());
    }
    DataSourceAccess::OnFlush(running.source.get(), *running.instance,
                              command.flags());
  }
  if (connection_->arbiter() != nullptr) {
    connection_->arbiter()->ReturnIdleChunks(/*even_if_recent=*/true);
    connection_->arbiter()->FlushPendingCommitDataRequestsAndWait();
  }
  CommitDataRequest request{};
  request.flush_request_id = command.request_id();
  connection_->CommitData(request);
}

void CommandHandler::OnClearIncrementalState(ConstBytes bytes) {
  const Command::ClearIncrementalState::Decoder command(bytes);
  for (const uint64_t id : command.data_source_ids()) {
    const Running running = Find(id);
    if (running.instance == nullptr)
      continue;
    {
      Lock lock(ClientLock());
      DataSourceAccess::AskToClear(running.source.get(),
                                   running.instance.get());
    }
    DataSourceAccess::OnClearIncrementalState(running.source.get(),
                                              *running.instance);
  }
}

void CommandHandler::UpdateOffers() {
  for (const Running& running : running_)
    UpdateOffer(*running.source);
}

std::vector<std::shared_ptr<DataSource>> CommandHandler::sources() const {
  std::vector<std::shared_ptr<DataSource>> sources;
  for (const Running& running : running_) {
    if (!running.is_refused)
      sources.push_back(running.source);
  }
  return sources;
}

bool CommandHandler::StopInstances() {
  bool had_memory = true;
  while (!running_.empty()) {
    const Running running = Take(running_.front().instance->id());
    // If one instance has no memory, the others stop nevertheless.
    had_memory &= RunsInMemory([&] {
      DataSourceAccess::OnStop(running.source.get(), *running.instance);
    });
  }
  if (connection_->arbiter() != nullptr)
    connection_->arbiter()->FlushPendingCommitDataRequestsAndWait();
  return had_memory;
}

CommandHandler::Running CommandHandler::Find(DataSourceInstanceID id) const {
  for (const Running& running : running_) {
    if (running.instance->id() == id)
      return running;
  }
  return Running();
}

CommandHandler::Running CommandHandler::Take(DataSourceInstanceID id) {
  const auto it = std::find_if(
      running_.begin(), running_.end(),
      [&](const Running& other) { return other.instance->id() == id; });
  if (it == running_.end())
    return Running();
  const Running running = *it;
  running_.erase(it);
  {
    Lock lock(ClientLock());
    DataSourceAccess::StopInstance(running.source.get(), running.instance);
    if (running.is_refused)
      place_->status.RemoveRefusedSession();
  }
  DataSourceAccess::DestroySpareWriters(running.instance.get());
  return running;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
