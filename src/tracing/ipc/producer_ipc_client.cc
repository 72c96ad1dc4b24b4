// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/producer_ipc_client.h"

#include <sys/socket.h>

#include <utility>

#include "protozero/tracing/trace_writer.h"
#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/data_source_access.h"
#include "src/tracing/ipc/messages.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "src/tracing/shared_memory/out_of_memory.h"
#include "src/tracing/writer/flight_header.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace pb = tracing::pbzero;

namespace {

// The most bytes that are queued for a service that does not read. A commit
// takes about twelve bytes for each chunk, and a chunk is committed again only
// after the service has read it. So this is far more than needed, unless many
// writers come and go.
constexpr size_t kMaxQueuedBytes = 4 * 1024 * 1024;

// The first connection of this process. Guarded by ClientLock().
ProducerIpcClient* g_connections = nullptr;

}  // namespace

ProducerIpcClient::ProducerIpcClient(ScopedFd socket, const WakeupFd* wakeup)
    : wakeup_(wakeup), socket_(std::move(socket)), sender_(kMaxQueuedBytes) {
  std::lock_guard<std::mutex> lock(ClientLock());
  next_ = g_connections;
  g_connections = this;
}

ProducerIpcClient::~ProducerIpcClient() {
  // The arbiter still commits here.
  arbiter_.reset();
  std::lock_guard<std::mutex> lock(ClientLock());
  ProducerIpcClient** link = &g_connections;
  while (*link != this)
    link = &(*link)->next_;
  *link = next_;
}

void ProducerIpcClient::Bind() {
  std::lock_guard<std::mutex> lock(ClientLock());
  pb::IPCFrame* const frame = sender_.BeginFrame();
  frame->set_request_id(++request_id_);
  frame->set_msg_bind_service()->set_service_name(kProducerServiceName);
  EndFrame();
}

void ProducerIpcClient::BindUnanswered() {
  Bind();
  std::lock_guard<std::mutex> lock(ClientLock());
  service_id_ = kProducerServiceID;
  for (size_t i = 0; i < kNumProducerMethods; ++i)
    method_ids_[i] = static_cast<uint32_t>(i + 1);
}

bool ProducerIpcClient::OnBindReply(ConstBytes reply) {
  const pb::IPCFrame::BindServiceReply::Decoder decoder(reply);
  std::lock_guard<std::mutex> lock(ClientLock());
  service_id_ = decoder.service_id();
  bool has_methods = false;
  for (const ConstBytes bytes : decoder.methods()) {
    const pb::IPCFrame::MethodInfo::Decoder method(bytes);
    for (size_t i = 0; i < kNumProducerMethods; ++i) {
      if (method.name().ToStdStringView() == kProducerMethodNames[i]) {
        method_ids_[i] = method.id();
        has_methods = true;
      }
    }
  }
  return decoder.success() && has_methods;
}

bool ProducerIpcClient::SetupTracing(
    ScopedFd memory,
    size_t page_size,
    const SharedMemoryArbiter::Options& options) {
  // The size has no limit, because the service is trusted.
  memory_ = SharedMemoryFile::Attach(std::move(memory), SIZE_MAX,
                                     /*needs_seals=*/false);
  if (memory_ == nullptr || !SharedMemoryABI::IsValidPageSize(page_size) ||
      memory_->size() < page_size) {
    return false;
  }
  arbiter_.reset(new SharedMemoryArbiter(memory_->start(), memory_->size(),
                                         page_size, this, options));
  memory_ahead_.reset(new MemoryAhead(memory_.get(), arbiter_.get()));
  return true;
}

bool ProducerIpcClient::SetupRing(std::unique_ptr<SharedMemoryFile> memory,
                                  std::shared_ptr<DataSource> source) {
  if (memory == nullptr || memory->size() < FlightHeader::kSize)
    return false;
  auto* const header = reinterpret_cast<FlightHeader*>(memory->start());
  const size_t page_size = header->page_size;
  const size_t size = memory->size() - FlightHeader::kSize;
  if (header->version != FlightHeader::kVersion ||
      !SharedMemoryABI::IsValidPageSize(page_size) || header->num_pages == 0 ||
      header->num_pages > size / page_size) {
    return false;
  }
  memory->Provide(0, memory->size());
  memory_ = std::move(memory);
  ring_source_ = std::move(source);
  const SharedMemoryABI abi(memory_->start() + FlightHeader::kSize,
                            header->num_pages * page_size, page_size);
  ring_.reset(new RingEndpoint(abi, &header->ring, &header->losses));
  SharedMemoryArbiter::Options options;
  options.ring = &header->ring;
  arbiter_.reset(new SharedMemoryArbiter(abi.start(),
                                         abi.num_pages() * page_size, page_size,
                                         ring_.get(), options));
  return true;
}

pb::IPCFrame::InvokeMethod* ProducerIpcClient::BeginInvoke(
    ProducerMethod method,
    bool drop_reply) {
  const uint32_t id = method_ids_[static_cast<size_t>(method) - 1];
  if (!is_open_ || id == 0)
    return nullptr;
  pb::IPCFrame* const frame = sender_.BeginFrame();
  frame->set_request_id(++request_id_);
  pb::IPCFrame::InvokeMethod* const invocation = frame->set_msg_invoke_method();
  invocation->set_service_id(service_id_);
  invocation->set_method_id(id);
  if (drop_reply)
    invocation->set_drop_reply(true);
  return invocation;
}

void ProducerIpcClient::EndFrame() {
  OnSent(sender_.EndFrame(socket_.get()));
}

void ProducerIpcClient::OnSent(SendStatus status) {
  const bool ok = status == SendStatus::kOk;
  if (!ok) {
    is_open_ = false;
    is_out_of_memory_ = status == SendStatus::kOutOfMemory;
    // The thread that reads notices the shutdown.
    shutdown(socket_.get(), SHUT_RDWR);
  }
  if (wakeup_ != nullptr && (!ok || sender_.has_queued()))
    wakeup_->Notify();
}

void ProducerIpcClient::SendQueued() {
  std::lock_guard<std::mutex> lock(ClientLock());
  if (is_open_)
    OnSent(sender_.SendQueued(socket_.get()));
}

bool ProducerIpcClient::has_queued() const {
  std::lock_guard<std::mutex> lock(ClientLock());
  return is_open_ && sender_.has_queued();
}

bool ProducerIpcClient::is_open() const {
  std::lock_guard<std::mutex> lock(ClientLock());
  return is_open_;
}

bool ProducerIpcClient::is_out_of_memory() const {
  std::lock_guard<std::mutex> lock(ClientLock());
  return is_out_of_memory_;
}

void ProducerIpcClient::Close() {
  std::lock_guard<std::mutex> lock(ClientLock());
  is_open_ = false;
  wakeup_ = nullptr;
  socket_.Reset();
}

void ProducerIpcClient::CommitData(const CommitDataRequest& request) {
  // A service only gets the answers to its flushes.
  if (ring_ != nullptr && request.flush_request_id == 0)
    return ring_->CommitData(request);
  Invoke<pb::CommitDataRequest>(ProducerMethod::kCommitData,
                                /*drop_reply=*/true,
                                [&](pb::CommitDataRequest* message) {
                                  WriteCommitDataRequest(request, message);
                                });
}

void ProducerIpcClient::RegisterTraceWriter(WriterID writer_id,
                                            BufferID buffer) {
  Invoke<pb::RegisterTraceWriterRequest>(
      ProducerMethod::kRegisterTraceWriter, /*drop_reply=*/true,
      [&](pb::RegisterTraceWriterRequest* message) {
        message->set_trace_writer_id(writer_id);
        message->set_target_buffer(buffer);
      });
  num_writers_.fetch_add(1, std::memory_order_relaxed);
}

void ProducerIpcClient::WakeOwner() {
  // Takes no lock: the interrupted thread may have it. The producer's thread is
  // in a wait, so it neither opens nor closes the descriptor meanwhile.
  wakeup_->Notify();
}

void ProducerIpcClient::UnregisterTraceWriter(WriterID writer_id) {
  num_writers_.fetch_sub(1, std::memory_order_relaxed);
  Invoke<pb::UnregisterTraceWriterRequest>(
      ProducerMethod::kUnregisterTraceWriter, /*drop_reply=*/true,
      [&](pb::UnregisterTraceWriterRequest* message) {
        message->set_trace_writer_id(writer_id);
      });
}

void ProducerIpcClient::AbandonAllAfterFork() {
  for (ProducerIpcClient* connection = g_connections; connection != nullptr;
       connection = connection->next_) {
    connection->is_abandoned_ = true;
    connection->keep_this_ = connection->weak_from_this().lock();
    connection->is_open_ = false;
    connection->wakeup_ = nullptr;
    connection->socket_.Reset();
    if (connection->arbiter_ != nullptr) {
      connection->memory_->DetachAfterFork();
      connection->arbiter_->ResetAfterFork();
    }
    if (connection->ring_source_ != nullptr) {
      DataSourceAccess::StopInstancesOf(connection->ring_source_.get(),
                                        connection);
    }
  }
}

void ProducerIpcClient::ReportUnknownLoss(BufferID buffer) {
  const CommitDataRequest::WriterLosses losses = {
      buffer, /*writer_id=*/0, LossReason::kUnknown, 0, 0, 0};
  CommitDataRequest request{};
  request.losses = &losses;
  request.num_losses = 1;
  CommitData(request);
}

void ProducerIpcClient::Keep(std::unique_ptr<TraceWriter> writer) {
  std::lock_guard<std::mutex> lock(ClientLock());
  if (!RunsInMemory([&] { kept_writers_.emplace_back(); })) {
    (void)writer.release();
    return;
  }
  kept_writers_.back() = std::move(writer);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
