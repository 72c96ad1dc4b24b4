// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_IPC_SERVICE_H_
#define SRC_TRACING_IPC_PRODUCER_IPC_SERVICE_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/ipc/descriptor_reserve.h"
#include "src/tracing/ipc/flight_source.h"
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

// The work that the host does for a connection before the others' turn.
struct TurnShare {
  size_t frames;
  // The bytes of frames that are received, and of chunks that are copied. A
  // turn may exceed it once; the following turns are shorter then.
  size_t bytes;
};

// The host's end of the connection to one producer, which is not trusted. It
// turns the producer's messages into calls of a TracingService, and the
// service's calls into answers to the producer's GetAsyncCommand.
//
// One thread at a time, except for the functions of
// TracingService::RemoteProducer, which the service calls on any thread.
class ProducerIpcService final : private TracingService::RemoteProducer {
 public:
  // All connections share |commit_reader|. Notifies |wakeup| when something is
  // queued. If memory cannot be created otherwise, creates it with the
  // descriptor of |memory_reserve|. If |flight_source| is not null, it has the
  // memory.
  ProducerIpcService(TracingService* service,
                     ScopedFd socket,
                     PeerIdentity peer,
                     size_t max_queued_bytes,
                     const WakeupFd* wakeup,
                     DescriptorReserve* memory_reserve,
                     FlightSource* flight_source,
                     CommitDataReader* commit_reader);
  ~ProducerIpcService() override;

  // Returns the descriptor to poll, which TakeTurn() checks: to check each one
  // for each poll() would take longer than the poll().
  int socket() const { return socket_.get_unchecked(); }
  const PeerIdentity& peer() const { return peer_; }
  // Returns whether the producer has introduced itself.
  bool is_introduced() const { return producer_ != nullptr; }

  // Handles the frames that have been received. If there are none, receives
  // some.
  void TakeTurn(TurnShare share);
  // Returns whether there is something left to do that poll() does not report.
  bool has_more() const { return debt_ != 0 || reader_.HasFrame(); }
  // Sends what is queued.
  void SendQueued();
  bool has_queued() const;
  // Returns whether the connection has ended. Its owner is to destroy it.
  bool is_broken() const;
  // Returns whether it has ended because there was no memory. (There is no way
  // to tell another process that it lacks some of what it has asked for.)
  bool is_out_of_memory() const;
  // Returns whether it has ended because its flight recorder makes room for
  // another producer's.
  bool is_displaced() const { return is_displaced_; }

 private:
  using IPCFrame = tracing::pbzero::IPCFrame;
  using Command = tracing::pbzero::GetAsyncCommandResponse;

  // Receives and serves frames. Throws std::bad_alloc if there is no memory.
  void ReceiveAndServe(TurnShare share);
  void OnOutOfMemory();
  void OnDisplaced() {
    is_displaced_ = true;
    wakeup_->Notify();
  }
  // Returns how many bytes of the producer's chunks the service has copied.
  uint64_t bytes_copied() const {
    return producer_ == nullptr ? 0 : producer_->bytes_copied();
  }
  void OnFrame(ConstBytes payload);
  void OnBind(uint64_t request_id, ConstBytes request);
  void OnInvoke(uint64_t request_id, ConstBytes invocation);
  // Return whether the method has succeeded.
  bool OnMethod(ProducerMethod method, uint64_t request_id, ConstBytes args);
  bool OnInitializeConnection(uint64_t request_id, ConstBytes args);
  bool OnGetAsyncCommand(uint64_t request_id);
  bool OnDataSource(ProducerMethod method, ConstBytes descriptor);

  void Reply(uint64_t request_id, bool success);
  // Calls |write(Command*)| and sends the command to the producer, if it has
  // asked for commands.
  template <typename Write>
  void SendCommand(Write write);

  // REQUIRES, for these: lock_.
  template <typename Write>
  void SendCommandLocked(Write write, ScopedFd fd = ScopedFd());
  // Creates memory. On failure, leaves the reason in |memory_error_| and errno.
  std::unique_ptr<SharedMemory> CreateMemoryLocked(size_t size,
                                                   size_t page_size);
  std::unique_ptr<SharedMemory> TakeFlightFileLocked();
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
  FlightSource* const flight_source_;
  CommitDataReader* const commit_reader_;

  FrameReader reader_;
  bool is_at_end_ = false;
  // The bytes that its last turn took beyond its share.
  size_t debt_ = 0;
  // The descriptor that came last, until a message takes it.
  ScopedFd received_fd_;
  bool is_bound_ = false;

  // A lock that is taken while the service holds its own lock, never the other
  // way round.
  mutable std::mutex lock_;
  FrameSender sender_;
  bool is_broken_ = false;
  bool is_out_of_memory_ = false;
  // It has no lock: another producer's call sets it, which holds its own.
  std::atomic<bool> is_displaced_{false};
  // False if the producer is gone, but some of its messages are still to be
  // read.
  bool can_send_ = true;
  // The request that commands answer. There is none before GetAsyncCommand.
  bool has_command_request_ = false;
  uint64_t command_request_ = 0;
  // True if SetupTracing is to be sent as soon as possible: with this memory
  // or, if the memory is the producer's own, without any.
  bool owes_setup_tracing_ = false;
  ScopedFd memory_fd_;
  uint32_t page_size_kb_ = 0;
  // The version of flight recorders' files that the producer knows; 0 for none.
  uint32_t flight_version_ = 0;
  // The reason why there is no memory for the producer, and true if the
  // producer wants to know it. They change while the service holds its lock.
  std::string memory_error_;
  bool takes_memory_errors_ = false;

  // The connection, which is destroyed first: the service calls no function
  // here afterwards. Null before InitializeConnection.
  std::unique_ptr<TracingService::ProducerConnection> producer_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_IPC_SERVICE_H_
