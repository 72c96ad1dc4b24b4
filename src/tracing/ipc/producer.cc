// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/producer.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/messages.h"
#include "src/tracing/ipc/process_barrier.h"
#include "src/tracing/ipc/service_connection.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/producer_port.pbzero.h"

namespace protozero {

namespace pb = tracing::pbzero;
using internal::ClientLock;
using internal::ServiceConnection;

namespace {

using Instances = std::vector<std::shared_ptr<DataSourceInstance>>;
using Lock = std::unique_lock<std::mutex>;
using SteadyClock = std::chrono::steady_clock;

constexpr uint32_t kMinReconnectPauseMs = 100;
// What the destructor waits for a service that does not read.
constexpr int kGoodbyeTimeoutMs = 1000;

}  // namespace

// ---- DataSourceInstance and DataSource

DataSourceInstance::DataSourceInstance(
    DataSourceInstanceID id,
    DataSourceConfig config,
    std::shared_ptr<ServiceConnection> connection)
    : id_(id), config_(std::move(config)), connection_(std::move(connection)) {}

DataSourceInstance::~DataSourceInstance() = default;

DataSource::DataSource(DataSourceDescriptor descriptor,
                       std::optional<BufferExhaustedPolicy> policy)
    : descriptor_(std::move(descriptor)), policy_(policy) {}

DataSource::~DataSource() = default;

void DataSource::ChangeState() {
  const uint32_t count =
      (state_.load(std::memory_order_relaxed) & ~(kStateStep - 1)) + kStateStep;
  state_.store(count | (instances_.empty() ? 0 : kEnabled),
               std::memory_order_relaxed);
}

// ---- DataSourceWriters

DataSourceWriters::DataSourceWriters(std::shared_ptr<DataSource> source)
    : source_(std::move(source)) {}

DataSourceWriters::~DataSourceWriters() {
  for (TraceContext& context : contexts_)
    RemoveContext(&context);
}

void DataSourceWriters::FollowSessions() {
  Instances instances;
  {
    Lock lock(ClientLock());
    seen_state_ = source_->state_.load(std::memory_order_relaxed);
    instances = source_->instances_;
  }
  std::vector<TraceContext> contexts;
  for (TraceContext& context : contexts_) {
    const auto it =
        std::find(instances.begin(), instances.end(), context.instance_);
    if (it == instances.end()) {
      RemoveContext(&context);
    } else {
      instances.erase(it);
      // This may be about a flush.
      context.writer_->ReturnChunk();
      contexts.push_back(std::move(context));
    }
  }
  for (std::shared_ptr<DataSourceInstance>& instance : instances) {
    TraceContext context;
    const DataSourceConfig& config = instance->config();
    context.writer_ = instance->connection_->arbiter()->CreateTraceWriter(
        config.target_buffer,
        source_->policy_.value_or(config.buffer_exhausted_policy));
    context.instance_ = std::move(instance);
    contexts.push_back(std::move(context));
  }
  contexts_ = std::move(contexts);
  idle_state_ = contexts_.empty() ? seen_state_ : DataSource::kNoState;
}

void DataSourceWriters::RemoveContext(TraceContext* context) {
  packets_lost_ += context->writer_->packets_lost();
  bytes_lost_ += context->writer_->bytes_lost();
  ServiceConnection& connection = *context->instance_->connection_;
  if (connection.is_abandoned())
    connection.Keep(std::move(context->writer_));
  context->writer_.reset();
}

void DataSourceWriters::Flush() {
  for (TraceContext& context : contexts_) {
    if (!context.instance_->connection_->is_abandoned())
      context.writer_->Flush();
  }
}

uint64_t DataSourceWriters::packets_lost() const {
  uint64_t sum = packets_lost_;
  for (const TraceContext& context : contexts_)
    sum += context.writer_->packets_lost();
  return sum;
}

uint64_t DataSourceWriters::bytes_lost() const {
  uint64_t sum = bytes_lost_;
  for (const TraceContext& context : contexts_)
    sum += context.writer_->bytes_lost();
  return sum;
}

// ---- Producer

class Producer::Impl {
 public:
  explicit Impl(Options options);
  ~Impl();

  State state() const;
  uint32_t num_connections() const;
  // In a child process, where nothing of this may be destroyed: other threads
  // of the parent may have been using it.
  bool is_abandoned() const { return is_abandoned_; }
  void RegisterDataSource(std::shared_ptr<DataSource> source);
  void UnregisterDataSource(const std::shared_ptr<DataSource>& source);
  bool Sync(uint32_t timeout_ms);
  void ActivateTrigger(const std::string& name);

 private:
  using ConnectionPtr = std::shared_ptr<ServiceConnection>;

  // Of this process. Guarded by ClientLock().
  static std::vector<Impl*>& All();
  static void BeforeFork() { ClientLock().lock(); }
  static void AfterForkInParent() { ClientLock().unlock(); }
  static void AfterForkInChild();

  // ---- The thread.
  void Run();
  // Until the connection is lost, or the destructor wants it to end.
  void Serve(const ConnectionPtr& connection);
  // Returns false at the end of the stream, or if it makes no sense.
  bool Receive(const ConnectionPtr& connection, FrameReader* reader);
  bool OnFrame(const ConnectionPtr& connection, ConstBytes payload);
  void OnBound(const ConnectionPtr& connection);
  bool OnReply(const ConnectionPtr& connection,
               uint64_t request_id,
               ConstBytes reply);
  bool OnCommand(const ConnectionPtr& connection, ConstBytes command);
  void OnSetup(const ConnectionPtr& connection, ConstBytes command);
  void OnStart(const ConnectionPtr& connection, ConstBytes command);
  void OnStop(const ConnectionPtr& connection, DataSourceInstanceID id);
  void OnFlush(const ConnectionPtr& connection, ConstBytes command);
  void OnClearIncrementalState(ConstBytes command);
  // All of them.
  void StopInstances(const ConnectionPtr& connection);
  void Pause(uint32_t* pause_ms);

  // REQUIRES, for these: ClientLock().
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
  const std::string socket_;
  WakeupFd wakeup_;

  // ---- The thread's.
  // What came last, and belongs to what comes next.
  ScopedFd received_fd_;
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
  bool is_stopping_ = false;
  // Set while there is one thread.
  bool is_abandoned_ = false;
  // That one of the above has changed.
  std::condition_variable changed_;

  std::thread thread_;
};

std::vector<Producer::Impl*>& Producer::Impl::All() {
  static auto& all = *new std::vector<Impl*>();
  return all;
}

Producer::Impl::Impl(Options options)
    : options_(std::move(options)),
      socket_(options_.socket.empty() ? DefaultProducerSocket()
                                      : options_.socket) {
  static const int registered =
      pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
  (void)registered;
  Lock lock(ClientLock());
  All().push_back(this);
  thread_ = StartBackgroundThread([this] { Run(); });
}

Producer::Impl::~Impl() {
  {
    Lock lock(ClientLock());
    All().erase(std::find(All().begin(), All().end(), this));
    is_stopping_ = true;
  }
  wakeup_.Notify();
  thread_.join();
}

void Producer::Impl::AfterForkInChild() {
  ServiceConnection::AbandonAllAfterFork();
  for (Impl* producer : All()) {
    producer->is_abandoned_ = true;
    producer->state_ = State::kDisconnected;
    for (const std::shared_ptr<DataSource>& source : producer->sources_) {
      source->instances_.clear();
      source->ChangeState();
    }
  }
  ClientLock().unlock();
}

Producer::State Producer::Impl::state() const {
  Lock lock(ClientLock());
  return state_;
}

uint32_t Producer::Impl::num_connections() const {
  Lock lock(ClientLock());
  return num_connections_;
}

void Producer::Impl::RegisterDataSource(std::shared_ptr<DataSource> source) {
  Lock lock(ClientLock());
  if (state_ == State::kConnected)
    OfferLocked(*source);
  sources_.push_back(std::move(source));
}

void Producer::Impl::OfferLocked(const DataSource& source) {
  connection_->InvokeLocked<pb::RegisterDataSourceRequest>(
      ProducerMethod::kRegisterDataSource, /*drop_reply=*/true,
      [&](pb::RegisterDataSourceRequest* message) {
        DataSourceDescriptor descriptor = source.descriptor();
        // What this class does by itself, and after the callback.
        descriptor.will_notify_on_start = true;
        descriptor.will_notify_on_stop = true;
        WriteDataSourceDescriptor(descriptor,
                                  message->set_data_source_descriptor());
      });
}

void Producer::Impl::UnregisterDataSource(
    const std::shared_ptr<DataSource>& source) {
  Lock lock(ClientLock());
  const auto it = std::find(sources_.begin(), sources_.end(), source);
  if (it == sources_.end())
    return;
  sources_.erase(it);
  // The service answers by stopping what is in running_.
  source->instances_.clear();
  source->ChangeState();
  if (state_ != State::kConnected)
    return;
  connection_->InvokeLocked<pb::UnregisterDataSourceRequest>(
      ProducerMethod::kUnregisterDataSource, /*drop_reply=*/true,
      [&](pb::UnregisterDataSourceRequest* message) {
        message->set_data_source_name(source->descriptor().name);
      });
}

bool Producer::Impl::Sync(uint32_t timeout_ms) {
  Lock lock(ClientLock());
  const auto deadline =
      SteadyClock::now() + std::chrono::milliseconds(timeout_ms);
  if (!changed_.wait_until(lock, deadline,
                           [this] { return state_ != State::kConnecting; }) ||
      state_ != State::kConnected) {
    return false;
  }
  const ConnectionPtr connection = connection_;
  const uint64_t request = connection->InvokeLocked<Message>(
      ProducerMethod::kSync, /*drop_reply=*/false, [](Message*) {});
  const bool done = request != 0 && changed_.wait_until(lock, deadline, [&] {
    return connection_ != connection || synced_request_ >= request;
  });
  const bool ok = done && connection_ == connection;
  // The connection may end here, which takes the lock.
  lock.unlock();
  return ok;
}

void Producer::Impl::ActivateTrigger(const std::string& name) {
  Lock lock(ClientLock());
  if (state_ != State::kConnected)
    return;
  connection_->InvokeLocked<pb::ActivateTriggersRequest>(
      ProducerMethod::kActivateTriggers, /*drop_reply=*/true,
      [&](pb::ActivateTriggersRequest* message) {
        message->add_trigger_names(name);
      });
}

void Producer::Impl::Run() {
  uint32_t pause_ms = kMinReconnectPauseMs;
  for (;;) {
    std::string error;
    ScopedFd socket = ConnectToUnixSocket(socket_, &error);
    if (socket.is_valid()) {
      const auto connection =
          std::make_shared<ServiceConnection>(std::move(socket), &wakeup_);
      const uint32_t connections_before = num_connections();
      Serve(connection);
      if (num_connections() != connections_before)
        pause_ms = kMinReconnectPauseMs;
    }
    {
      Lock lock(ClientLock());
      if (is_stopping_ || options_.max_reconnect_pause_ms == 0) {
        state_ = State::kDisconnected;
        changed_.notify_all();
        return;
      }
    }
    Pause(&pause_ms);
  }
}

void Producer::Impl::Pause(uint32_t* pause_ms) {
  *pause_ms = std::min(*pause_ms, options_.max_reconnect_pause_ms);
  pollfd fd{wakeup_.fd(), POLLIN, 0};
  if (poll(&fd, 1, static_cast<int>(*pause_ms)) > 0)
    wakeup_.Clear();
  *pause_ms *= 2;
}

void Producer::Impl::Serve(const ConnectionPtr& connection) {
  FrameReader reader;
  received_fd_.Reset();
  initialize_request_ = 0;
  command_request_ = 0;
  connection->Bind();
  SteadyClock::time_point return_idle_chunks_at;
  while (connection->is_open()) {
    {
      Lock lock(ClientLock());
      if (is_stopping_)
        break;
    }
    pollfd fds[2] = {{connection->socket(), POLLIN, 0},
                     {wakeup_.fd(), POLLIN, 0}};
    if (connection->has_queued())
      fds[0].events |= POLLOUT;
    // Without instances, there is nobody who could have something to commit.
    poll(fds, 2,
         running_.empty() ? -1 : static_cast<int>(options_.commit_period_ms));
    if (fds[1].revents != 0)
      wakeup_.Clear();
    if (fds[0].revents & POLLOUT)
      connection->SendQueued();
    if ((fds[0].revents & ~POLLOUT) && !Receive(connection, &reader))
      break;
    if (connection->arbiter() != nullptr) {
      if (options_.idle_period_ms != 0 &&
          SteadyClock::now() >= return_idle_chunks_at) {
        return_idle_chunks_at =
            SteadyClock::now() +
            std::chrono::milliseconds(options_.idle_period_ms);
        connection->arbiter()->ReturnIdleChunks(/*even_if_recent=*/false);
      }
      connection->arbiter()->FlushPendingCommitDataRequests();
    }
  }

  StopInstances(connection);
  const auto deadline =
      SteadyClock::now() + std::chrono::milliseconds(kGoodbyeTimeoutMs);
  while (connection->has_queued() && SteadyClock::now() < deadline) {
    pollfd fd{connection->socket(), POLLOUT, 0};
    poll(&fd, 1, kGoodbyeTimeoutMs);
    connection->SendQueued();
  }
  ConnectionPtr last;
  {
    Lock lock(ClientLock());
    state_ = State::kConnecting;
    last = std::move(connection_);
    connection_.reset();
    changed_.notify_all();
  }
  connection->Close();
}

bool Producer::Impl::Receive(const ConnectionPtr& connection,
                             FrameReader* reader) {
  const ContiguousMemoryRange range = reader->BeginReceive();
  size_t size;
  const SocketStatus status = ReceiveFromSocket(
      connection->socket(), range.begin, range.size(), &size, &received_fd_);
  reader->EndReceive(size);
  ConstBytes payload;
  while (reader->NextFrame(&payload)) {
    if (!OnFrame(connection, payload))
      return false;
  }
  return status != SocketStatus::kClosed && !reader->is_broken();
}

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
  initialize_request_ = connection->Invoke<pb::InitializeConnectionRequest>(
      ProducerMethod::kInitializeConnection, /*drop_reply=*/false,
      [this](pb::InitializeConnectionRequest* message) {
        message->set_producer_name(options_.name);
        message->set_shared_memory_page_size_hint_bytes(
            static_cast<uint32_t>(options_.page_size));
        message->set_shared_memory_size_hint_bytes(
            static_cast<uint32_t>(options_.shared_memory_size));
        using Request = pb::InitializeConnectionRequest;
        message->set_smb_scraping_mode(options_.scraping
                                           ? Request::SMB_SCRAPING_ENABLED
                                           : Request::SMB_SCRAPING_DISABLED);
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
  changed_.notify_all();
  return true;
}

bool Producer::Impl::OnCommand(const ConnectionPtr& connection,
                               ConstBytes bytes) {
  const pb::GetAsyncCommandResponse::Decoder command(bytes);
  if (command.has_setup_tracing()) {
    const pb::GetAsyncCommandResponse::SetupTracing::Decoder setup(
        command.setup_tracing());
    SharedMemoryArbiter::Options options;
    options.page_layout = options_.page_layout;
    options.stall_timeout_ms = options_.stall_timeout_ms;
    options.process_barrier = GetProcessBarrier();
    return connection->arbiter() == nullptr &&
           connection->SetupTracing(
               std::move(received_fd_),
               size_t{1024} * setup.shared_buffer_page_size_kb(), options);
  }
  if (command.has_setup_data_source()) {
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
    running.source->OnStop(*running.instance);
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

Producer::Producer(Options options) : impl_(new Impl(std::move(options))) {}

Producer::~Producer() {
  if (impl_->is_abandoned())
    impl_.release();
}

Producer::State Producer::state() const {
  return impl_->state();
}

uint32_t Producer::num_connections() const {
  return impl_->num_connections();
}

void Producer::RegisterDataSource(std::shared_ptr<DataSource> source) {
  impl_->RegisterDataSource(std::move(source));
}

void Producer::UnregisterDataSource(const std::shared_ptr<DataSource>& source) {
  impl_->UnregisterDataSource(source);
}

bool Producer::Sync(uint32_t timeout_ms) {
  return impl_->Sync(timeout_ms);
}

void Producer::ActivateTrigger(const std::string& name) {
  impl_->ActivateTrigger(name);
}

}  // namespace protozero
