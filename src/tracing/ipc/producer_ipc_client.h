// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_IPC_CLIENT_H_
#define SRC_TRACING_IPC_PRODUCER_IPC_CLIENT_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/frame_sender.h"
#include "src/tracing/ipc/memory_ahead.h"
#include "src/tracing/ipc/producer_methods.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/writer/ring_endpoint.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

class DataSource;

namespace internal {

// One connection to the service, from the first byte to the last, and the
// memory that came with it. Writers keep it alive after that. Their commits
// then stay in the memory, where the service may still find them. Any thread,
// unless stated otherwise.
class ProducerIpcClient final
    : public ProducerEndpoint,
      public std::enable_shared_from_this<ProducerIpcClient> {
 public:
  // Notifies |wakeup| when something is queued. REQUIRES: |wakeup| outlives
  // Close().
  ProducerIpcClient(ScopedFd socket, const WakeupFd* wakeup);
  ~ProducerIpcClient() override;

  // The functions up to memory_ahead() are only for the producer's thread.
  // Returns the socket; -1 if the program has closed or replaced it.
  int socket() const { return socket_.get(); }
  bool has_lost_socket() const { return socket_.is_lost(); }
  void Bind();
  // Binds to a service of this library, without a look at its answer.
  void BindUnanswered();
  // Reads the ids of the methods. Returns false if there are none.
  bool OnBindReply(ConstBytes reply);
  // Maps the memory that the service has sent. Returns false if it is unusable.
  bool SetupTracing(ScopedFd memory,
                    size_t page_size,
                    const SharedMemoryArbiter::Options& options);
  // Takes the memory of a ring, which begins with a FlightHeader. Returns false
  // if it is unusable. If there is no service, |source| is the only data source
  // that writes there, otherwise it is null.
  bool SetupRing(std::unique_ptr<SharedMemoryFile> memory,
                 std::shared_ptr<DataSource> source);
  // Returns the size of the ring; 0 if there is none.
  size_t ring_bytes() const {
    return ring_ == nullptr ? 0
                            : arbiter_->shmem_abi().num_pages() *
                                  arbiter_->shmem_abi().page_size();
  }
  // Return null before SetupTracing() or SetupRing().
  SharedMemoryArbiter* arbiter() const { return arbiter_.get(); }

  MemoryAhead* memory_ahead() const { return memory_ahead_.get(); }
  // Returns the number of writers that threads have. Any thread.
  uint32_t num_writers() const {
    return num_writers_.load(std::memory_order_relaxed) -
           num_spare_writers_.load(std::memory_order_relaxed);
  }
  // Counts writers that no thread has any more. Any thread.
  void AddSpareWriters(uint32_t num) {
    num_spare_writers_.fetch_add(num, std::memory_order_relaxed);
  }

  // Calls |write(T*)|, where T is the method's message, and sends the message.
  // Returns the request's id, or 0 if the service is gone or does not have the
  // method.
  template <typename T, typename Write>
  uint64_t Invoke(ProducerMethod method, bool drop_reply, Write write) {
    std::lock_guard<std::mutex> lock(ClientLock());
    return InvokeLocked<T>(method, drop_reply, write);
  }
  // Invokes the method. REQUIRES: ClientLock().
  template <typename T, typename Write>
  uint64_t InvokeLocked(ProducerMethod method, bool drop_reply, Write write) {
    using Invocation = tracing::pbzero::IPCFrame::InvokeMethod;
    Invocation* const invocation = BeginInvoke(method, drop_reply);
    if (invocation == nullptr)
      return 0;
    write(invocation->BeginNestedMessage<T>(Invocation::kArgsProtoFieldNumber));
    EndFrame();
    return request_id_;
  }

  // Sends what is queued.
  void SendQueued();
  bool has_queued() const;
  // Returns true until Close(), until the service turns out to be gone, or
  // until there is no memory for a message that the service needs.
  bool is_open() const;
  bool is_out_of_memory() const;
  // Returns why nothing, or not everything, reaches the service any more. A
  // connection that has broken is lost from then on, also before the thread
  // that reads notices. REQUIRES: ClientLock().
  Producer::OffReason off_reason() const {
    using OffReason = Producer::OffReason;
    if (is_out_of_memory_ || lacks_writer_.load(std::memory_order_relaxed)) {
      return OffReason::kOutOfMemory;
    }
    return is_open_ ? OffReason::kNone : OffReason::kConnectionLost;
  }
  void Close();

  // ProducerEndpoint:
  void CommitData(const CommitDataRequest& request) override;
  void RegisterTraceWriter(WriterID writer_id, BufferID buffer) override;
  void UnregisterTraceWriter(WriterID writer_id) override;
  void WakeOwner() override;

  // Makes all connections share nothing with the parent or the service any
  // more, in a child process, after fork(). All objects stay where they are,
  // for good: nothing may be destroyed, because other threads of the parent may
  // have been using it. REQUIRES: ClientLock().
  static void AbandonAllAfterFork();
  bool is_abandoned() const { return is_abandoned_; }
  // Sets whether a thread got no writer because there was no memory, and no
  // thread has got one since.
  void set_lacks_writer(bool lacks_writer) {
    lacks_writer_.store(lacks_writer, std::memory_order_relaxed);
  }

  // Says that packets for the buffer are lost, and that it is unknown how many.
  void ReportUnknownLoss(BufferID buffer);
  // Keeps a writer that must not be destroyed.
  void Keep(std::unique_ptr<TraceWriter> writer);

 private:
  // REQUIRES, for these: ClientLock().
  tracing::pbzero::IPCFrame::InvokeMethod* BeginInvoke(ProducerMethod method,
                                                       bool drop_reply);
  void EndFrame();
  void OnSent(SendStatus status);

  // Guarded by ClientLock(), except for |wakeup_| in WakeOwner().
  const WakeupFd* wakeup_;
  ScopedFd socket_;
  bool is_open_ = true;
  bool is_out_of_memory_ = false;
  FrameSender sender_;
  uint32_t service_id_ = 0;
  // The ids by ProducerMethod, less 1. 0 if the service does not have the
  // method.
  uint32_t method_ids_[kNumProducerMethods] = {};
  uint64_t request_id_ = 0;

  std::unique_ptr<SharedMemoryFile> memory_;
  // Null if the memory is no ring.
  std::unique_ptr<RingEndpoint> ring_;
  // Null if there is a service.
  std::shared_ptr<DataSource> ring_source_;
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
  std::unique_ptr<MemoryAhead> memory_ahead_;

  std::atomic<uint32_t> num_writers_{0};
  std::atomic<uint32_t> num_spare_writers_{0};
  std::atomic<bool> lacks_writer_{false};

  // The next connection of this process.
  ProducerIpcClient* next_ = nullptr;

  // True after AbandonAllAfterFork(), which runs when there is only one thread.
  bool is_abandoned_ = false;
  std::shared_ptr<ProducerIpcClient> keep_this_;
  std::vector<std::unique_ptr<TraceWriter>> kept_writers_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_IPC_CLIENT_H_
