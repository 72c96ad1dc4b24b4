// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/producer_ipc_service.h"

#include <errno.h>

#include <algorithm>
#include <utility>

#include "protozero/decode_status.h"
#include "protozero/internal/compiler.h"
#include "src/tracing/ipc/clock_offset.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/shared_memory/out_of_memory.h"
#include "src/tracing/writer/flight_header.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace pb = tracing::pbzero;

ProducerIpcService::ProducerIpcService(TracingService* service,
                                       ScopedFd socket,
                                       PeerIdentity peer,
                                       size_t max_queued_bytes,
                                       const WakeupFd* wakeup,
                                       DescriptorReserve* memory_reserve,
                                       FlightSource* flight_source,
                                       CommitDataReader* commit_reader)
    : service_(service),
      socket_(std::move(socket)),
      peer_(peer),
      wakeup_(wakeup),
      memory_reserve_(memory_reserve),
      flight_source_(flight_source),
      commit_reader_(commit_reader),
      sender_(max_queued_bytes) {}

ProducerIpcService::~ProducerIpcService() {
  if (is_out_of_memory() && producer_ != nullptr)
    producer_->ReportUnknownLoss();
}

void ProducerIpcService::TakeTurn(TurnShare share) {
  if (!RunsInMemory([&] { ReceiveAndServe(share); }))
    OnOutOfMemory();
}

void ProducerIpcService::OnOutOfMemory() {
  std::lock_guard<std::mutex> lock(lock_);
  is_broken_ = true;
  is_out_of_memory_ = true;
}

void ProducerIpcService::ReceiveAndServe(TurnShare share) {
  if (debt_ >= share.bytes) {
    debt_ -= share.bytes;
    return;
  }
  share.bytes -= debt_;
  debt_ = 0;
  if (!reader_.HasFrame()) {
    const ContiguousMemoryRange range = reader_.BeginReceive();
    if (range.size() == 0)
      return OnOutOfMemory();
    size_t size;
    is_at_end_ = ReceiveFromSocket(socket_.get(), range.begin,
                                   std::min(range.size(), share.bytes), &size,
                                   &received_fd_) == SocketStatus::kClosed;
    reader_.EndReceive(size);
    if (is_at_end_ && LacksMemory(errno))
      return OnOutOfMemory();
  }
  const uint64_t copied_before = bytes_copied();
  ConstBytes payload;
  while (share.frames != 0 && bytes_copied() - copied_before < share.bytes &&
         !is_broken() && reader_.NextFrame(&payload)) {
    --share.frames;
    OnFrame(payload);
    // The host makes room before the next frame.
    if (service_->has_become_half_full())
      break;
  }
  const size_t copied = internal::ToSize(bytes_copied() - copied_before);
  debt_ = copied > share.bytes ? copied - share.bytes : 0;
  if (reader_.is_broken() || (is_at_end_ && !reader_.HasFrame())) {
    std::lock_guard<std::mutex> lock(lock_);
    is_broken_ = true;
  }
}

void ProducerIpcService::SendQueued() {
  std::lock_guard<std::mutex> lock(lock_);
  if (can_send_)
    OnSent(sender_.SendQueued(socket_.get()));
}

bool ProducerIpcService::has_queued() const {
  std::lock_guard<std::mutex> lock(lock_);
  return can_send_ && sender_.has_queued();
}

bool ProducerIpcService::is_broken() const {
  std::lock_guard<std::mutex> lock(lock_);
  return is_broken_ || is_displaced_;
}

bool ProducerIpcService::is_out_of_memory() const {
  std::lock_guard<std::mutex> lock(lock_);
  return is_out_of_memory_;
}

void ProducerIpcService::OnFrame(ConstBytes payload) {
  const IPCFrame::Decoder frame(payload);
  if (frame.status() != DecodeStatus::kOk)
    return;
  const uint64_t request_id = frame.request_id();
  switch (frame.msg_case()) {
    case IPCFrame::MsgCase::kMsgBindService:
      return OnBind(request_id, frame.msg_bind_service());
    case IPCFrame::MsgCase::kMsgInvokeMethod:
      return OnInvoke(request_id, frame.msg_invoke_method());
    case IPCFrame::MsgCase::kMsgBindServiceReply:
    case IPCFrame::MsgCase::kMsgInvokeMethodReply:
    case IPCFrame::MsgCase::kMsgRequestError:
    case IPCFrame::MsgCase::kNotSet:
      break;
  }
  std::lock_guard<std::mutex> lock(lock_);
  IPCFrame* const reply = sender_.BeginFrame();
  reply->set_request_id(request_id);
  reply->set_msg_request_error()->set_error("unknown request");
  EndFrame();
}

void ProducerIpcService::OnBind(uint64_t request_id, ConstBytes request) {
  const IPCFrame::BindService::Decoder decoder(request);
  const bool success =
      decoder.service_name().ToStdStringView() == kProducerServiceName;
  is_bound_ = is_bound_ || success;
  std::lock_guard<std::mutex> lock(lock_);
  IPCFrame* const frame = sender_.BeginFrame();
  frame->set_request_id(request_id);
  auto* const reply = frame->set_msg_bind_service_reply();
  if (success) {
    reply->set_success(true);
    reply->set_service_id(kProducerServiceID);
    for (uint32_t i = 0; i < kNumProducerMethods; ++i) {
      auto* const method = reply->add_methods();
      method->set_id(i + 1);
      method->set_name(kProducerMethodNames[i]);
    }
  }
  EndFrame();
}

void ProducerIpcService::OnInvoke(uint64_t request_id, ConstBytes invocation) {
  const IPCFrame::InvokeMethod::Decoder decoder(invocation);
  const uint32_t method_id = decoder.method_id();
  // No method comes before InitializeConnection, which comes once.
  const bool is_possible =
      decoder.status() == DecodeStatus::kOk && is_bound_ &&
      decoder.service_id() == kProducerServiceID && method_id != 0 &&
      method_id <= kNumProducerMethods &&
      (producer_ == nullptr) ==
          (method_id ==
           static_cast<uint32_t>(ProducerMethod::kInitializeConnection));
  const auto method = static_cast<ProducerMethod>(method_id);
  const bool success =
      is_possible && OnMethod(method, request_id, decoder.args_proto());
  if (decoder.drop_reply())
    return;
  // These methods have sent their reply themselves.
  if (success && (method == ProducerMethod::kInitializeConnection ||
                  method == ProducerMethod::kGetAsyncCommand)) {
    return;
  }
  Reply(request_id, success);
}

bool ProducerIpcService::OnMethod(ProducerMethod method,
                                  uint64_t request_id,
                                  ConstBytes args) {
  switch (method) {
    case ProducerMethod::kInitializeConnection:
      return OnInitializeConnection(request_id, args);
    case ProducerMethod::kGetAsyncCommand:
      return OnGetAsyncCommand(request_id);
    case ProducerMethod::kCommitData:
      return commit_reader_->Read(args) &&
             producer_->CommitDataIfSetUp(commit_reader_->request());
    case ProducerMethod::kRegisterDataSource:
      return OnDataSource(method, pb::RegisterDataSourceRequest::Decoder(args)
                                      .data_source_descriptor());
    case ProducerMethod::kUpdateDataSource:
      return OnDataSource(
          method,
          pb::UpdateDataSourceRequest::Decoder(args).data_source_descriptor());
    case ProducerMethod::kUnregisterDataSource:
      producer_->UnregisterDataSource(
          pb::UnregisterDataSourceRequest::Decoder(args)
              .data_source_name()
              .ToStdString());
      return true;
    case ProducerMethod::kRegisterTraceWriter: {
      const pb::RegisterTraceWriterRequest::Decoder writer(args);
      if (writer.trace_writer_id() == 0 ||
          writer.trace_writer_id() > kMaxWriterID ||
          writer.target_buffer() > UINT16_MAX) {
        return false;
      }
      producer_->RegisterTraceWriter(
          static_cast<WriterID>(writer.trace_writer_id()),
          static_cast<BufferID>(writer.target_buffer()));
      return true;
    }
    case ProducerMethod::kUnregisterTraceWriter: {
      const pb::UnregisterTraceWriterRequest::Decoder writer(args);
      if (writer.trace_writer_id() == 0 ||
          writer.trace_writer_id() > kMaxWriterID) {
        return false;
      }
      producer_->UnregisterTraceWriter(
          static_cast<WriterID>(writer.trace_writer_id()));
      return true;
    }
    case ProducerMethod::kNotifyDataSourceStarted: {
      const pb::NotifyDataSourceStartedRequest::Decoder request(args);
      if (request.is_refused())
        producer_->NotifyDataSourceRefused(request.data_source_id());
      else
        producer_->NotifyDataSourceStarted(request.data_source_id());
      return true;
    }
    case ProducerMethod::kNotifyDataSourceStopped:
      producer_->NotifyDataSourceStopped(
          pb::NotifyDataSourceStoppedRequest::Decoder(args).data_source_id());
      return true;
    case ProducerMethod::kActivateTriggers: {
      const pb::ActivateTriggersRequest::Decoder request(args);
      for (const ConstChars name : request.trigger_names())
        producer_->ActivateTrigger(name.ToStdString());
      return true;
    }
    case ProducerMethod::kSync:
      return true;
  }
  return false;
}

bool ProducerIpcService::OnDataSource(ProducerMethod method, ConstBytes bytes) {
  DataSourceDescriptor descriptor;
  if (!ReadDataSourceDescriptor(bytes, &descriptor))
    return false;
  if (method == ProducerMethod::kRegisterDataSource)
    producer_->RegisterDataSource(descriptor);
  else
    producer_->UpdateDataSource(descriptor);
  return true;
}

bool ProducerIpcService::OnInitializeConnection(uint64_t request_id,
                                                ConstBytes args) {
  using Request = pb::InitializeConnectionRequest;
  const Request::Decoder request(args);
  if (request.status() != DecodeStatus::kOk)
    return false;
  TracingService::ProducerInfo info;
  info.name = request.producer_name().ToStdString();
  info.uid = static_cast<int32_t>(peer_.uid);
  info.pid = static_cast<int32_t>(peer_.pid);
  info.shm_page_size_hint = request.shared_memory_page_size_hint_bytes();
  info.shm_size_hint = request.shared_memory_size_hint_bytes();
  info.scraping_mode =
      request.smb_scraping_mode() == Request::SMB_SCRAPING_ENABLED
          ? TracingService::ScrapingMode::kEnabled
      : request.smb_scraping_mode() == Request::SMB_SCRAPING_DISABLED
          ? TracingService::ScrapingMode::kDisabled
          : TracingService::ScrapingMode::kDefault;
  takes_memory_errors_ = request.takes_memory_errors();
  info.reports_losses = request.reports_losses();
  info.commits_after_silence = request.commits_after_silence();
  info.has_no_place = request.has_no_place();
  flight_version_ = request.flight_version();
  if (request.has_boottime_less_realtime_ns())
    info.clock_ahead_ns = ClockAheadNs(request.boottime_less_realtime_ns());
  if (request.producer_provided_shmem() && flight_source_ == nullptr) {
    info.memory = SharedMemoryFile::Attach(std::move(received_fd_),
                                           TracingLimits::kMaxShmSize,
                                           /*needs_seals=*/true);
  }
  producer_ = service_->ConnectProducer(this, std::move(info));
  std::lock_guard<std::mutex> lock(lock_);
  is_broken_ = is_broken_ || producer_ == nullptr;
  if (producer_ == nullptr)
    return false;
  owes_setup_tracing_ |= producer_->uses_provided_memory();
  pb::InitializeConnectionResponse* const response =
      BeginReply(request_id, true)
          ->BeginNestedMessage<pb::InitializeConnectionResponse>(
              IPCFrame::InvokeMethodReply::kReplyProtoFieldNumber);
  response->set_using_shmem_provided_by_producer(
      producer_->uses_provided_memory());
  response->set_direct_smb_patching_supported(true);
  EndFrame();
  return true;
}

bool ProducerIpcService::OnGetAsyncCommand(uint64_t request_id) {
  std::lock_guard<std::mutex> lock(lock_);
  has_command_request_ = true;
  command_request_ = request_id;
  if (!memory_error_.empty())
    SendMemoryErrorLocked();
  if (owes_setup_tracing_)
    SendSetupTracingLocked();
  return true;
}

void ProducerIpcService::Reply(uint64_t request_id, bool success) {
  std::lock_guard<std::mutex> lock(lock_);
  IPCFrame::InvokeMethodReply* const reply = BeginReply(request_id, success);
  if (success) {
    reply->BeginNestedMessage<Message>(
        IPCFrame::InvokeMethodReply::kReplyProtoFieldNumber);
  }
  EndFrame();
}

template <typename Write>
void ProducerIpcService::SendCommand(Write write) {
  std::lock_guard<std::mutex> lock(lock_);
  SendCommandLocked(write);
}

template <typename Write>
void ProducerIpcService::SendCommandLocked(Write write, ScopedFd fd) {
  if (!has_command_request_)
    return;
  IPCFrame::InvokeMethodReply* const reply = BeginReply(command_request_, true);
  reply->set_has_more(true);
  write(reply->BeginNestedMessage<Command>(
      IPCFrame::InvokeMethodReply::kReplyProtoFieldNumber));
  EndFrame(std::move(fd));
}

void ProducerIpcService::SendSetupTracingLocked() {
  owes_setup_tracing_ = false;
  SendCommandLocked(
      [this](Command* command) {
        auto* const setup = command->set_setup_tracing();
        if (page_size_kb_ != 0)
          setup->set_shared_buffer_page_size_kb(page_size_kb_);
        if (flight_source_ != nullptr)
          setup->set_is_flight_file(true);
      },
      std::move(memory_fd_));
}

void ProducerIpcService::SendMemoryErrorLocked() {
  if (!takes_memory_errors_)
    return;
  const bool has_memory = RunsInMemory([this] {
    const std::string error = "the service cannot create it: " + memory_error_;
    SendCommandLocked([&error](Command* command) {
      command->set_memory_error()->set_message(error);
    });
  });
  if (!has_memory)
    OnSent(SendStatus::kOutOfMemory);
}

ProducerIpcService::IPCFrame::InvokeMethodReply* ProducerIpcService::BeginReply(
    uint64_t request_id,
    bool success) {
  IPCFrame* const frame = sender_.BeginFrame();
  frame->set_request_id(request_id);
  IPCFrame::InvokeMethodReply* const reply =
      frame->set_msg_invoke_method_reply();
  reply->set_success(success);
  return reply;
}

void ProducerIpcService::EndFrame(ScopedFd fd) {
  if (can_send_)
    OnSent(sender_.EndFrame(socket_.get(), std::move(fd)));
}

void ProducerIpcService::OnSent(SendStatus status) {
  can_send_ = status == SendStatus::kOk;
  is_out_of_memory_ |= status == SendStatus::kOutOfMemory;
  is_broken_ |= is_out_of_memory_ || status == SendStatus::kPeerDoesNotRead ||
                (!can_send_ && socket_.is_lost());
  if (is_broken_ || (can_send_ && sender_.has_queued()))
    wakeup_->Notify();
}

std::unique_ptr<SharedMemory> ProducerIpcService::SetupTracing(
    size_t size,
    size_t page_size) {
  std::lock_guard<std::mutex> lock(lock_);
  const auto create = [&] {
    std::unique_ptr<SharedMemory> memory;
    if (!RunsInMemory([&] { memory = CreateMemoryLocked(size, page_size); })) {
      memory_error_ = "out of memory";
      errno = ENOMEM;
    }
    return memory;
  };
  std::unique_ptr<SharedMemory> memory = create();
  // The reserve is only for a producer that takes the descriptor at once.
  if (memory == nullptr && LacksDescriptors(errno) && has_command_request_)
    memory = memory_reserve_->Use(create);
  if (memory == nullptr && has_command_request_)
    SendMemoryErrorLocked();
  return memory;
}

std::unique_ptr<SharedMemory> ProducerIpcService::CreateMemoryLocked(
    size_t size,
    size_t page_size) {
  memory_error_.clear();
  std::unique_ptr<SharedMemory> memory;
  if (flight_source_ != nullptr) {
    memory = TakeFlightFileLocked();
  } else {
    std::unique_ptr<SharedMemoryFile> file =
        SharedMemoryFile::Create(size, &memory_error_);
    // This is no duplicate, because there may be no descriptor left for one.
    if (file != nullptr)
      memory_fd_ = file->TakeFd();
    page_size_kb_ = static_cast<uint32_t>(page_size / 1024);
    memory = std::move(file);
  }
  if (memory == nullptr)
    return nullptr;
  owes_setup_tracing_ = true;
  if (has_command_request_)
    SendSetupTracingLocked();
  return memory;
}

std::unique_ptr<SharedMemory> ProducerIpcService::TakeFlightFileLocked() {
  if (flight_version_ != FlightHeader::kVersion) {
    memory_error_ = flight_version_ == 0
                        ? "it cannot write to a flight recorder"
                        : "it writes another version of flight recorders";
    return nullptr;
  }
  return flight_source_->Take(
      peer_, [this] { OnDisplaced(); }, &memory_fd_, &memory_error_);
}

void ProducerIpcService::SetupDataSource(DataSourceInstanceID instance_id,
                                         const DataSourceConfig& config) {
  SendCommand([&](Command* command) {
    auto* const setup = command->set_setup_data_source();
    setup->set_new_instance_id(instance_id);
    WriteDataSourceConfig(config, setup->set_config());
  });
}

void ProducerIpcService::StartDataSource(DataSourceInstanceID instance_id,
                                         const DataSourceConfig& config) {
  SendCommand([&](Command* command) {
    auto* const start = command->set_start_data_source();
    start->set_new_instance_id(instance_id);
    WriteDataSourceConfig(config, start->set_config());
  });
}

void ProducerIpcService::StopDataSource(DataSourceInstanceID instance_id) {
  SendCommand([&](Command* command) {
    command->set_stop_data_source()->set_instance_id(instance_id);
  });
}

void ProducerIpcService::Flush(
    FlushRequestID request_id,
    const std::vector<DataSourceInstanceID>& instances,
    FlushFlags flags) {
  SendCommand([&](Command* command) {
    auto* const flush = command->set_flush();
    for (const DataSourceInstanceID id : instances)
      flush->add_data_source_ids(id);
    flush->set_request_id(request_id);
    flush->set_flags(flags);
  });
}

void ProducerIpcService::ClearIncrementalState(
    const std::vector<DataSourceInstanceID>& instances) {
  SendCommand([&](Command* command) {
    auto* const clear = command->set_clear_incremental_state();
    for (const DataSourceInstanceID id : instances)
      clear->add_data_source_ids(id);
  });
}

PROTOZERO_ABI_END
}  // namespace protozero
