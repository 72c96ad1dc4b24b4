// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_IMPL_H_
#define SRC_TRACING_IPC_PRODUCER_IMPL_H_

#include <stdint.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/internal/namespace.h"
#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/unix_socket.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

class Producer::Impl {
 public:
  // Starts. If that fails, it is kDisconnected.
  explicit Impl(Options options);
  ~Impl();

  State state() const;
  OffReason off_reason() const;
  std::string why_off() const;
  uint32_t num_connections() const;
  // In a child process, where nothing of this may be destroyed: other threads
  // of the parent may have been using it.
  bool is_abandoned() const { return is_abandoned_; }
  bool RegisterDataSource(std::shared_ptr<DataSource> source);
  void UnregisterDataSource(const std::shared_ptr<DataSource>& source);
  bool Sync(uint32_t timeout_ms);
  void ActivateTrigger(const std::string& name);

 private:
  using ConnectionPtr = std::shared_ptr<internal::ProducerIpcClient>;

  // The first one in this process. Guarded by ClientLock().
  static Impl* first_;
  static bool is_ready_for_fork_;
  static void BeforeFork() { internal::ClientLock().lock(); }
  static void AfterForkInParent() { internal::ClientLock().unlock(); }
  static void AfterForkInChild();

  // REQUIRES: ClientLock().
  void StartLocked();

  // ---- The thread.
  void Run();
  // Connects, and serves as long as that lasts. Returns whether the pause
  // before the next attempt begins anew.
  bool ConnectAndServe();
  // Until the connection is lost, or the destructor wants it to end.
  void Serve(const ConnectionPtr& connection);
  // As long as there is memory.
  void HandleEvents(const ConnectionPtr& connection);
  // Returns false at the end of the stream, or if it makes no sense.
  bool Receive(const ConnectionPtr& connection, FrameReader* reader);
  bool OnFrame(const ConnectionPtr& connection, ConstBytes payload);
  void OnBound(const ConnectionPtr& connection);
  bool OnReply(const ConnectionPtr& connection,
               uint64_t request_id,
               ConstBytes reply);
  bool OnCommand(const ConnectionPtr& connection, ConstBytes command);
  bool OnSetupTracing(const ConnectionPtr& connection, ConstBytes command);
  void OnSetup(const ConnectionPtr& connection, ConstBytes command);
  void OnStart(const ConnectionPtr& connection, ConstBytes command);
  void OnStop(const ConnectionPtr& connection, DataSourceInstanceID id);
  void OnFlush(const ConnectionPtr& connection, ConstBytes command);
  void OnClearIncrementalState(ConstBytes command);
  // All of them.
  void StopInstances(const ConnectionPtr& connection);
  void Pause(uint32_t* pause_ms);
  // Says why there is no connection; |error| is an errno.
  void OnConnectFailed(int error);
  void OnOutOfMemory();
  // Says that a session gets nothing. |detail| may be of any bytes.
  void OnNoSharedMemory(OffReason reason, std::string_view detail);
  void OnSharedMemory();

  // REQUIRES, for these: ClientLock().
  void SetOffLocked(OffReason reason, std::string_view detail);
  OffReason OffReasonLocked() const;
  void OfferLocked(const DataSource& source);
  bool IsRegisteredLocked(const std::shared_ptr<DataSource>& source) const {
    return std::find(sources_.begin(), sources_.end(), source) !=
           sources_.end();
  }

  struct Running {
    std::shared_ptr<DataSource> source;
    std::shared_ptr<DataSourceInstance> instance;
  };
  // The instance of that id, whether or not it has started.
  Running Find(DataSourceInstanceID id);
  Running Take(DataSourceInstanceID id);

  const Options options_;
  // Empty until it has started.
  std::string socket_;

  // ---- The thread's.
  // What came last, and belongs to what comes next.
  ScopedFd received_fd_;
  // Which has ended the connection.
  bool is_out_of_memory_ = false;
  uint64_t initialize_request_ = 0;
  uint64_t command_request_ = 0;
  // What has been set up, started or not. They change under ClientLock().
  std::vector<Running> running_;

  // ---- Guarded by ClientLock().
  std::vector<std::shared_ptr<DataSource>> sources_;
  ConnectionPtr connection_;
  State state_ = State::kConnecting;
  uint32_t num_connections_ = 0;
  uint64_t synced_request_ = 0;
  // In this connection, a session wanted something and there was no memory.
  bool lacks_memory_ = false;
  OffReason off_reason_ = OffReason::kConnecting;
  // What why_off() says, or ends with. Here, lest saying that there is no
  // memory take some.
  char off_detail_[256] = "";
  bool is_stopping_ = false;
  // Of the thread's poll(), if there is a descriptor for it.
  WakeupFd wakeup_;
  Impl* next_ = nullptr;
  // Set while there is one thread.
  bool is_abandoned_ = false;
  // That one of the above has changed.
  std::condition_variable changed_;

  BackgroundThread thread_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_IMPL_H_
