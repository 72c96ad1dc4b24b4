// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_IPC_SERVICE_H_
#define SRC_TRACING_IPC_PRODUCER_IPC_SERVICE_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/ipc/descriptor_reserve.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/frame_sender.h"
#include "src/tracing/ipc/messages.h"
#include "src/tracing/ipc/producer_methods.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// What a connection may have done for it before others have their turn.
struct TurnShare {
  size_t frames;
  // That are received; and those of chunks that are copied, which it may exceed
  // once, at the cost of the turns that follow.
  size_t bytes;
};

// The host's end of the connection to one producer, which is not trusted. What
// comes from it are calls of a TracingService, what the service wants of it are
// answers to its GetAsyncCommand.
//
// One thread, but for the functions of TracingService::RemoteProducer: the
// service calls those from any.
class ProducerIpcService final : private TracingService::RemoteProducer {
 public:
  // What a frame may hold, and what it takes to read it, is shared by all
  // connections. |wakeup| is notified when there is something queued. Memory is
  // created with the help of |memory_reserve|, if nothing else does.
  ProducerIpcService(TracingService* service,
                     ScopedFd socket,
                     PeerIdentity peer,
                     size_t max_queued_bytes,
                     const WakeupFd* wakeup,
                     DescriptorReserve* memory_reserve,
                     CommitDataReader* commit_reader);
  ~ProducerIpcService() override;

  int socket() const { return socket_.get(); }
  const PeerIdentity& peer() const { return peer_; }
  // It has said who it is.
  bool is_introduced() const { return producer_ != nullptr; }

  // Does what the frames say that have been received, or receives some if there
  // are none.
  void TakeTurn(TurnShare share);
  // There is something left to do that no poll() tells of.
  bool has_more() const { return debt_ != 0 || reader_.HasFrame(); }
  // Sends what is queued.
  void SendQueued();
  bool has_queued() const;
  // Nothing is to be done with it but to destroy it.
  bool is_broken() const;
  // And that for want of memory. Another process cannot be told that it lacks
  // some of what it has asked for.
  bool is_out_of_memory() const;

 private:
  using IPCFrame = tracing::pbzero::IPCFrame;
  using Command = tracing::pbzero::GetAsyncCommandResponse;

  // Throws std::bad_alloc if there is no memory.
  void ReceiveAndServe(TurnShare share);
  void OnOutOfMemory();
  // By the service, of the producer's chunks, so far.
  uint64_t bytes_copied() const;
  void OnFrame(ConstBytes payload);
  void OnBind(uint64_t request_id, ConstBytes request);
  void OnInvoke(uint64_t request_id, ConstBytes invocation);
  // These return whether the method has succeeded.
  bool OnMethod(ProducerMethod method, uint64_t request_id, ConstBytes args);
  bool OnInitializeConnection(uint64_t request_id, ConstBytes args);
  bool OnGetAsyncCommand(uint64_t request_id);
  bool OnDataSource(ProducerMethod method, ConstBytes descriptor);

  void Reply(uint64_t request_id, bool success);
  // Calls |write(Command*)| and sends that to the producer, if it has asked.
  template <typename Write>
  void SendCommand(Write write);

  // REQUIRES, for these: lock_.
  template <typename Write>
  void SendCommandLocked(Write write, ScopedFd fd = ScopedFd());
  // Leaves the reason in memory_error_ and errno, on failure.
  std::unique_ptr<SharedMemory> CreateMemoryLocked(size_t size,
                                                   size_t page_size);
  void SendSetupTracingLocked();
  void SendMemoryErrorLocked();
  IPCFrame::InvokeMethodReply* BeginReply(uint64_t request_id, bool success);
  void EndFrame(ScopedFd fd = ScopedFd());
  void OnSent(SendStatus status);

  // TracingService::RemoteProducer:
  std::unique_ptr<SharedMemory> SetupTracing(size_t size,
                                             size_t page_size) override;
  std::string SetupTracingError() const override { return memory_error_; }
  void SetupDataSource(DataSourceInstanceID instance_id,
                       const DataSourceConfig& config) override;
  void StartDataSource(DataSourceInstanceID instance_id,
                       const DataSourceConfig& config) override;
  void StopDataSource(DataSourceInstanceID instance_id) override;
  void Flush(FlushRequestID request_id,
             const std::vector<DataSourceInstanceID>& instances,
             FlushFlags flags) override;
  void ClearIncrementalState(
      const std::vector<DataSourceInstanceID>& instances) override;

  TracingService* const service_;
  const ScopedFd socket_;
  const PeerIdentity peer_;
  const WakeupFd* const wakeup_;
  DescriptorReserve* const memory_reserve_;
  CommitDataReader* const commit_reader_;

  FrameReader reader_;
  bool is_at_end_ = false;
  // What its last turn took beyond its share, in bytes.
  size_t debt_ = 0;
  // What came last, and was not asked for yet.
  ScopedFd received_fd_;
  bool is_bound_ = false;

  // The lock is taken while the service holds its own, never the other way
  // round.
  mutable std::mutex lock_;
  FrameSender sender_;
  bool is_broken_ = false;
  bool is_out_of_memory_ = false;
  // The producer is gone, but what it has sent is still to be read.
  bool can_send_ = true;
  // Where commands go; none before GetAsyncCommand.
  bool has_command_request_ = false;
  uint64_t command_request_ = 0;
  // SetupTracing is to be sent, as soon as it can be: with this memory, or, if
  // it is the producer's own, without any.
  bool owes_setup_tracing_ = false;
  ScopedFd memory_fd_;
  uint32_t page_size_kb_ = 0;
  // Why there is no memory for the producer, and whether it wants to know that.
  // Changes while the service holds its lock.
  std::string memory_error_;
  bool takes_memory_errors_ = false;

  // Goes first: nobody calls afterwards. Null before InitializeConnection.
  std::unique_ptr<TracingService::ProducerConnection> producer_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_IPC_SERVICE_H_
