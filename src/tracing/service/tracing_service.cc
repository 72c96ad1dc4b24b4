// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/tracing_service.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "src/tracing/service/buffer_table.h"
#include "src/tracing/service/chunk_collector.h"
#include "src/tracing/service/data_sources.h"
#include "src/tracing/service/producer_record.h"
#include "src/tracing/service/producer_table.h"
#include "src/tracing/service/session.h"
#include "src/tracing/service/session_reader.h"
#include "src/tracing/service/sessions.h"
#include "src/tracing/service/stats_collector.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using service::ProducerRecord;
using service::Session;

// The parts of the service, in the order of what they use, and the locks. Only
// this file locks; the parts know nothing of threads.
//
// When an allocation fails, the calls of producers that register something, and
// StartTracing() and GetStats(), throw std::bad_alloc; the parts agree with
// each other then. All other functions go on without the memory: they do not
// allocate, or a comment says what is missing afterwards.
class TracingService::Impl {
 public:
  explicit Impl(Clock the_clock) : clock(std::move(the_clock)) {}

  // Puts the next batch of the trace together and gives it to |sink|. Reading
  // ends at |limit|, which the first batch sets: it ends even if producers
  // write faster. Returns false if the sink has refused the batch, or if there
  // is no memory. Takes |mutex|. REQUIRES: |read_mutex| is held.
  bool ReadBatch(TracingSessionID session_id,
                 const TraceSink& sink,
                 std::vector<uint8_t>* trace,
                 std::optional<uint64_t>* limit,
                 bool* has_more);
  // Gives the next batch to the session's consumer. If there are more, the
  // session is due again at once. Returns whether a buffer is still half full.
  // Takes the locks.
  bool WriteBatch(TracingSessionID session_id);

  // A lock that is held while a sink or Consumer::OnTraceData() is called. It
  // is taken before |mutex|.
  std::mutex read_mutex;
  // A lock of all following members.
  std::mutex mutex;

  const Clock clock;
  service::BufferTable buffers;
  service::ChunkCollector chunks{&clock, &buffers};
  service::ProducerTable producers{&chunks};
  service::DataSources data_sources{&clock, &buffers, &producers};
  service::Sessions sessions{&clock, &buffers, &chunks, &producers,
                             &data_sources};
  service::StatsCollector stats{&buffers, &chunks, &producers, &sessions};
  service::SessionReader reader{&buffers, &stats};
  DataSourceObserver observer;
};

// The calls of a producer.
class TracingService::ProducerConnectionImpl : public ProducerConnection {
 public:
  ProducerConnectionImpl(Impl* impl, ProducerRecord* producer)
      : impl_(impl),
        producer_(producer),
        id_(producer->id),
        uses_provided_memory_(producer->shm.memory != nullptr) {}
  ~ProducerConnectionImpl() override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->sessions.RemoveProducer(producer_);
  }

  ProducerID id() const override { return id_; }
  bool uses_provided_memory() const override { return uses_provided_memory_; }
  uint64_t bytes_copied() const override {
    return producer_->chunks.bytes_copied;
  }

  void RegisterDataSource(const DataSourceDescriptor& descriptor) override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    Show(descriptor);
    impl_->data_sources.Register(producer_, descriptor, impl_->sessions.all());
  }
  void UpdateDataSource(const DataSourceDescriptor& descriptor) override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    Show(descriptor);
    impl_->data_sources.Update(producer_, descriptor);
  }
  void UnregisterDataSource(const std::string& name) override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->data_sources.Unregister(producer_, name);
    impl_->sessions.UpdateChanged();
  }
  void NotifyDataSourceStarted(DataSourceInstanceID id) override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->sessions.UpdateState(
        impl_->data_sources.NotifyStarted(producer_, id));
  }
  void NotifyDataSourceRefused(DataSourceInstanceID id) override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    service::DataSources::ReportRefusal(*producer_, id);
    impl_->sessions.UpdateState(
        impl_->data_sources.NotifyStarted(producer_, id));
  }
  void NotifyDataSourceStopped(DataSourceInstanceID id) override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->sessions.UpdateState(
        impl_->data_sources.NotifyStopped(producer_, id));
  }
  void ActivateTrigger(const std::string& name) override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    producer_->has_activated_trigger = true;
    impl_->sessions.ActivateTrigger(name);
  }
  void RegisterTraceWriter(WriterID writer_id,
                           BufferID target_buffer) override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->chunks.RegisterTraceWriter(producer_, writer_id, target_buffer);
  }
  void UnregisterTraceWriter(WriterID writer_id) override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->chunks.UnregisterTraceWriter(producer_, writer_id);
  }
  void ReportUnknownLoss() override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->chunks.ReportUnknownLoss(*producer_);
  }
  bool CommitDataIfSetUp(const CommitDataRequest& request) override {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (producer_->shm.memory == nullptr)
      return false;
    impl_->chunks.Commit(producer_, request);
    if (request.num_chunks_to_move != 0)
      impl_->sessions.OnCommit(*producer_);
    impl_->data_sources.ClearOverwritten(producer_, request);
    impl_->sessions.NoteCommit(producer_, request);
    if (request.flush_request_id != 0)
      impl_->sessions.AcknowledgeFlush(producer_, request.flush_request_id);
    return true;
  }

 private:
  void Show(const DataSourceDescriptor& descriptor) {
    if (impl_->observer)
      impl_->observer(producer_->info, descriptor);
  }

  Impl* const impl_;
  ProducerRecord* const producer_;
  const ProducerID id_;
  const bool uses_provided_memory_;
};

TracingService::TracingService(Clock clock)
    : impl_(std::make_unique<Impl>(clock ? std::move(clock) : [] {
        return static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::steady_clock::now().time_since_epoch())
                .count());
      })) {}

TracingService::~TracingService() = default;

void TracingService::SetDataSourceObserver(DataSourceObserver observer) {
  impl_->observer = std::move(observer);
}

std::unique_ptr<TracingService::ProducerConnection>
TracingService::ConnectProducer(RemoteProducer* producer, ProducerInfo info) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (info.has_no_place) {
    service::DataSources::ReportNoPlace(info, *impl_->sessions.all());
    return nullptr;
  }
  ProducerRecord* connected = nullptr;
  std::unique_ptr<ProducerConnectionImpl> connection;
  RunsInMemory([&] {
    connected = impl_->producers.Add(producer, std::move(info));
    if (connected != nullptr)
      connection =
          std::make_unique<ProducerConnectionImpl>(impl_.get(), connected);
  });
  if (connection == nullptr && connected != nullptr)
    impl_->sessions.RemoveProducer(connected);
  return connection;
}

TracingSessionID TracingService::StartTracing(const TraceConfig& config,
                                              Consumer* consumer,
                                              std::string* error) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->sessions.Start(config, consumer, error);
}

void TracingService::StopTracing(TracingSessionID session_id) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (Session* const session = impl_->sessions.Find(session_id))
    impl_->sessions.Stop(session);
}

void TracingService::StopWaiting(TracingSessionID session_id) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (Session* const session = impl_->sessions.Find(session_id))
    impl_->sessions.StopWaiting(session);
}

TracingSessionID TracingService::CloneSession(TracingSessionID session_id,
                                              std::string* error,
                                              CopyKind kind) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  Session* const session = impl_->sessions.Find(session_id);
  if (session != nullptr)
    return impl_->sessions.Clone(session, kind == CopyKind::kNext, error);
  if (error != nullptr)
    RunsInMemory([&] { *error = "there is no such session"; });
  return 0;
}

TracingSessionID TracingService::FollowSession(TracingSessionID session_id,
                                               size_t buffer_bytes,
                                               std::string* error) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Session* const session = impl_->sessions.Find(session_id);
  if (session != nullptr)
    return impl_->sessions.Follow(*session, buffer_bytes, error);
  if (error != nullptr)
    RunsInMemory([&] { *error = "there is no such session"; });
  return 0;
}

void TracingService::ActivateTrigger(const std::string& name) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->sessions.ActivateTrigger(name);
}

FlushRequestID TracingService::Flush(TracingSessionID session_id,
                                     uint32_t timeout_ms,
                                     FlushFlags flags,
                                     std::function<void(bool)> on_done) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  Session* const session = impl_->sessions.Find(session_id);
  return session == nullptr ? 0
                            : impl_->sessions.Flush(session, timeout_ms, flags,
                                                    std::move(on_done));
}

TracingService::State TracingService::GetState(
    TracingSessionID session_id) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Session* const session = impl_->sessions.Find(session_id);
  return session == nullptr ? kNone : session->state;
}

TraceStats TracingService::GetStats(TracingSessionID session_id) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Session* const session = impl_->sessions.Find(session_id);
  return session == nullptr ? TraceStats() : impl_->stats.Collect(*session);
}

bool TracingService::ReadPackets(TracingSessionID session_id,
                                 const TraceSink& sink) {
  std::lock_guard<std::mutex> read_lock(impl_->read_mutex);
  std::vector<uint8_t> trace;
  std::optional<uint64_t> limit;
  bool has_more = true;
  while (has_more) {
    if (!impl_->ReadBatch(session_id, sink, &trace, &limit, &has_more))
      return false;
  }
  return true;
}

void TracingService::DiscardPackets(TracingSessionID session_id) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Session* const session = impl_->sessions.Find(session_id);
  if (session != nullptr && session->source == 0)
    impl_->reader.Discard(*session);
}

bool TracingService::RestartTrace(TracingSessionID session_id) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  Session* const session = impl_->sessions.Find(session_id);
  bool is_done = false;
  return session != nullptr && RunsInMemory([&] {
           is_done = impl_->sessions.RestartTrace(session);
         }) &&
         is_done;
}

void TracingService::CloseSession(TracingSessionID session_id) {
  // With this lock, no thread is in the session's sink or consumer any more
  // when this returns.
  std::lock_guard<std::mutex> read_lock(impl_->read_mutex);
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (Session* const session = impl_->sessions.Find(session_id))
    impl_->sessions.Close(session);
}

uint64_t TracingService::NextDeadlineMs() const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->sessions.NextDeadline();
}

bool TracingService::has_become_half_full() const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->sessions.has_become_half_full();
}

uint64_t TracingService::NowMs() const {
  return impl_->clock();
}

void TracingService::RunDue() {
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->sessions.RunDue();
  }
  const auto next = [this] {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    return impl_->sessions.TakeSessionToWrite();
  };
  while (const TracingSessionID id = next()) {
    // Commits have filled more than half. Each call makes as much room as they
    // have taken, so that the other half is never full.
    while (impl_->WriteBatch(id)) {
    }
  }
}

bool TracingService::Impl::ReadBatch(TracingSessionID session_id,
                                     const TraceSink& sink,
                                     std::vector<uint8_t>* trace,
                                     std::optional<uint64_t>* limit,
                                     bool* has_more) {
  bool has_memory = false;
  trace->clear();
  {
    std::lock_guard<std::mutex> lock(mutex);
    Session* const session = sessions.Find(session_id);
    if (session == nullptr || session->source != 0)
      return false;
    if (!limit->has_value())
      *limit = reader.BytesReadWhenEmpty(*session);
    RunsInMemory([&] {
      // The memory is taken before packets leave the buffer: a packet is lost
      // if it no longer fits into |trace| and |trace| cannot grow. Events
      // become twice as long with the fields that they get.
      trace->reserve(2 * service::SessionReader::kBatchSize);
      has_memory = reader.ReadBatch(session, trace, has_more);
    });
    sessions.OnRead(session, has_memory && !*has_more);
    if (session->state != kStopped && reader.BytesRead(*session) >= **limit) {
      *has_more = false;
      // The next commit says if it is half full again.
      session->is_half_full = false;
    }
  }
  return (trace->empty() || sink(trace->data(), trace->size())) && has_memory;
}

bool TracingService::Impl::WriteBatch(TracingSessionID session_id) {
  std::lock_guard<std::mutex> read_lock(read_mutex);
  // CloseSession() waits for the lock, so that the session stays.
  Session* session;
  Consumer* consumer;
  bool is_last;
  bool is_complete;
  std::optional<uint64_t> limit;
  {
    std::lock_guard<std::mutex> lock(mutex);
    session = sessions.Find(session_id);
    if (session == nullptr)
      return false;
    consumer = session->consumer;
    is_last = session->state == kStopped;
    is_complete = !session->has_failed_to_write;
    limit = session->write_limit;
  }
  // If the consumer has refused something, nothing more is read.
  bool has_more = false;
  if (is_complete) {
    const auto give = [&](const uint8_t* data, size_t size) {
      return consumer == nullptr ||
             consumer->OnTraceData(session_id, data, size);
    };
    is_complete = false;
    RunsInMemory([&] {
      std::vector<uint8_t> trace;
      is_complete = ReadBatch(session_id, give, &trace, &limit, &has_more);
    });
  }
  has_more = has_more && is_complete;
  std::lock_guard<std::mutex> lock(mutex);
  sessions.EndBatch(session, has_more ? limit : std::nullopt, is_last);
  if (!is_complete && !session->has_failed_to_write) {
    session->has_failed_to_write = true;
    sessions.Stop(session);
  }
  if (is_last && !has_more)
    consumer->OnTraceWritten(session_id, is_complete);
  return has_more && session->is_half_full;
}

PROTOZERO_ABI_END
}  // namespace protozero
