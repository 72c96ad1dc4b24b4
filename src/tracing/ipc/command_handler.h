// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_COMMAND_HANDLER_H_
#define SRC_TRACING_IPC_COMMAND_HANDLER_H_

#include <stdint.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/data_source.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/types.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/producer_shared.h"
#include "src/tracing/ipc/unix_socket.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Tells the service who the producer is, and whether it |has_place| for one
// more service. Returns the number of the request. May throw std::bad_alloc.
uint64_t Introduce(const Producer::Options& options,
                   bool has_place,
                   ProducerIpcClient* connection);

// Executes the service's commands of one connection, and owns the instances of
// data sources that the service has set up. Only for the producer's thread.
//
// Functions may throw std::bad_alloc. StopInstances() is to be called before
// the connection ends.
class CommandHandler {
 public:
  CommandHandler(ProducerShared* producer,
                 ServicePlace* place,
                 std::shared_ptr<ProducerIpcClient> connection)
      : producer_(producer),
        place_(place),
        connection_(std::move(connection)) {}

  CommandHandler(const CommandHandler&) = delete;
  CommandHandler& operator=(const CommandHandler&) = delete;

  // Returns the descriptor that came last. The command that it belongs to
  // follows.
  ScopedFd* received_fd() { return &received_fd_; }
  // Handles a frame. Returns false if the connection is to end: the service
  // refuses the producer, or a command makes no sense.
  bool OnFrame(ConstBytes payload);

  bool has_instances() const { return !running_.empty(); }
  // Returns the data source of each instance that records.
  std::vector<std::shared_ptr<DataSource>> sources() const;
  // Stops all instances and commits what they have. Returns false if the
  // OnStop() of one instance had no memory.
  bool StopInstances();
  // Tells the service what the data sources of instances have learnt: a
  // category of events, for example, is known when the first of its call sites
  // was reached.
  void UpdateOffers();

 private:
  // An instance, whether or not it has started.
  struct Running {
    std::shared_ptr<DataSource> source;
    std::shared_ptr<DataSourceInstance> instance;
    bool is_refused = false;
  };

  void OnBound();
  bool OnReply(uint64_t request_id, ConstBytes reply);
  void OnConnected();
  bool OnCommand(ConstBytes command);
  bool OnSetupTracing(ConstBytes command);
  void OnNoSharedMemory(Producer::OffReason reason, std::string_view detail);
  void OnSetup(ConstBytes command);
  void OnStart(ConstBytes command);
  void OnStop(DataSourceInstanceID id);
  // Commits what threads have written for the buffer, and reports what they
  // cannot commit.
  void CommitBeforeStop(BufferID buffer);
  void UpdateOffer(const DataSource& source);
  void OnFlush(ConstBytes command);
  void OnClearIncrementalState(ConstBytes command);

  void NotifyStarted(const DataSourceInstance& instance, bool is_refused);

  // Return an instance, which is null if there is none of that id.
  Running Find(DataSourceInstanceID id) const;
  Running Take(DataSourceInstanceID id);

  ProducerShared* const producer_;
  ServicePlace* const place_;
  const std::shared_ptr<ProducerIpcClient> connection_;

  ScopedFd received_fd_;
  uint64_t initialize_request_ = 0;
  uint64_t command_request_ = 0;
  std::vector<Running> running_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_COMMAND_HANDLER_H_
