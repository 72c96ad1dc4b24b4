// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_SERVICE_IMPL_H_
#define SRC_TRACING_SERVICE_SERVICE_IMPL_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "protozero/internal/namespace.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/service/service_packets.h"
#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/shared_memory/chunk_reader.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// What a TracingService is made of. Its functions are defined by subject:
//
//   producers.cc     connections, their memory, what they commit
//   data_sources.cc  what producers offer, and its instances in sessions
//   sessions.cc      sessions, flushes, time
//   reading.cc       traces and statistics
//
// When an allocation fails, what a producer asks for throws std::bad_alloc, as
// do StartTracing() and GetStats(); all structures agree with each other then,
// and whoever asked is to be let go. Everything else goes on without: it does
// not allocate, or its comment says what is missing afterwards.
class TracingService::Impl {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  enum class InstanceState { kStarting, kStarted, kStopping };

  struct Session;

  // A data source as a session has it.
  struct Instance {
    Session* session;
    // As it was registered when the session began to use it.
    std::shared_ptr<const DataSourceDescriptor> descriptor;
    // The session's, the same for all of its producers.
    const DataSourceConfig* config;
    InstanceState state;
    // Of kStopping.
    uint64_t stop_deadline;
  };

  // By writer, which buffer it writes to: two bytes for each id up to the
  // highest, of which there are 32767. 0 for none.
  class WriterTargets {
   public:
    BufferID Get(WriterID id) const {
      return id < targets_.size() ? targets_[id] : BufferID{0};
    }
    void Set(WriterID id, BufferID target) {
      if (id >= targets_.size() && target != 0)
        targets_.resize(size_t{id} + 1);
      if (id < targets_.size())
        targets_[id] = target;
    }

   private:
    std::vector<BufferID> targets_;
  };

  struct ProducerState {
    ProducerID id;
    RemoteProducer* client;
    ProducerInfo info;
    std::unique_ptr<SharedMemory> memory;
    size_t page_size = 0;
    SharedMemoryABI abi;
    std::vector<std::shared_ptr<const DataSourceDescriptor>> data_sources;
    std::map<DataSourceInstanceID, Instance> instances;
    // Those that are not kStopping, by the names in their descriptors.
    std::set<std::pair<std::string_view, DataSourceInstanceID>> running;
    // What it has not answered yet.
    std::set<FlushRequestID> flushes;
    // Where its writers may write to; of those it has told us about, where they
    // do.
    std::set<BufferID> buffers;
    WriterTargets writers;
    uint64_t bytes_copied = 0;
    // Which know that there is no memory.
    std::set<TracingSessionID> sessions_without_memory;
  };

  struct Session {
    TracingSessionID id;
    // Its data sources are as producers are told.
    TraceConfig config;
    Consumer* consumer;
    State state = kStarting;
    std::vector<BufferID> buffer_ids;
    // Which of the config's data sources have that name.
    std::map<std::string, std::vector<size_t>> sources_by_name;

    // Who may write to its buffers, and what it has of them.
    std::set<ProducerID> producers;
    std::set<std::pair<ProducerID, DataSourceInstanceID>> instances;
    // Of those, the ones that are kStarting.
    size_t num_starting = 0;
    // Those that have not been answered by all.
    std::set<FlushRequestID> flushes;
    bool has_final_flush = false;
    // UpdateState() is due, for there is an instance less to wait for.
    bool has_changed = false;

    uint64_t stop_time = kNever;
    uint64_t next_flush = kNever;
    uint64_t next_clear = kNever;
    // Also when the session has stopped, until everything is written.
    uint64_t next_write = kNever;
    bool is_to_be_written = false;
    bool has_failed_to_write = false;

    std::vector<uint8_t> header;
    bool has_trailer = false;
    uint32_t next_sequence_id = kServiceSequenceID + 1;

    // As in TraceStats.
    uint32_t producers_without_memory = 0;
    std::vector<uint32_t> data_source_instances;
    std::set<std::string> names_offered;

    uint64_t invalid_packets = 0;
    uint64_t flushes_requested = 0;
    uint64_t flushes_succeeded = 0;
    uint64_t flushes_failed = 0;
    bool final_flush_succeeded = false;
  };

  struct PendingFlush {
    TracingSessionID session_id;
    uint64_t deadline;
    bool is_final;
    // Who has not answered yet.
    std::set<ProducerID> producers;
    std::function<void(bool)> on_done;
  };

  struct Buffer {
    Buffer(TracingSessionID session, const TraceConfig::BufferConfig& config)
        : session_id(session), buffer(config.size_bytes, config.fill_policy) {}
    TracingSessionID session_id;
    TraceBuffer buffer;
  };

  explicit Impl(Clock clock) : clock_(std::move(clock)) {}

  uint64_t Now() const { return clock_(); }
  uint64_t num_visits() const { return num_visits_; }

  // Held by who calls a sink. Taken before mutex_.
  std::mutex read_mutex_;
  mutable std::mutex mutex_;

  // All of the following need mutex_.

  // Producers: what they ask for. Beside each function stands what it may cost,
  // however many others there are and whatever they do; "sessions" are those
  // that run, kMaxSessions at most. Logarithms, of a map's size, are left out.
  // TracingServiceCostTest counts.

  // A constant.
  ProducerState* AddProducer(RemoteProducer* client, ProducerInfo info);
  // All that the producer has: the pages of its memory, its buffers, instances,
  // writers, and flushes to answer; and the sessions.
  void RemoveProducer(ProducerState* producer);
  // Something of it may be missing in all of its buffers.
  void ReportUnknownLoss(const ProducerState& producer);
  // The producer's data sources (kMaxDataSourcesPerProducer), the sessions, and
  // the instances that it gets.
  void RegisterDataSource(ProducerState* producer,
                          const DataSourceDescriptor& descriptor);
  // The producer's data sources.
  void UpdateDataSource(ProducerState* producer,
                        const DataSourceDescriptor& descriptor);
  // The producer's data sources, its instances of that name, and the sessions.
  void UnregisterDataSource(ProducerState* producer, const std::string& name);
  // A constant.
  void NotifyDataSourceStarted(ProducerState* producer,
                               DataSourceInstanceID instance_id);
  void NotifyDataSourceStopped(ProducerState* producer,
                               DataSourceInstanceID instance_id);
  void RegisterTraceWriter(ProducerState* producer,
                           WriterID writer_id,
                           BufferID target_buffer);
  void UnregisterTraceWriter(ProducerState* producer, WriterID writer_id);
  // The size of the request, the chunks that it moves (as much as the producer
  // has memory), and the flushes that it answers. The last answer to a flush
  // besides scrapes the producers of the session, once for all of them; so
  // does the last data source that stops.
  bool CommitData(ProducerState* producer, const CommitDataRequest& request);

  // Sessions.

  TracingSessionID StartTracing(const TraceConfig& config,
                                Consumer* consumer,
                                std::string* error);
  // A part of it, which may throw std::bad_alloc, or return false for the same
  // reason. What there is of the session then is to be closed.
  bool AddSession(TracingSessionID id,
                  const TraceConfig& config,
                  Consumer* consumer);
  void StopTracing(Session* session);
  FlushRequestID Flush(Session* session,
                       uint32_t timeout_ms,
                       FlushFlags flags,
                       bool is_final,
                       std::function<void(bool)> on_done);
  bool IsFlushing(const Session& session, const ProducerState& producer) const;
  void CloseSession(Session* session);
  Session* FindSession(TracingSessionID id);
  TraceStats GetStats(const Session& session);

  // How far the session's buffers have been read, and how far that will be when
  // all that they hold now has been.
  uint64_t BytesRead(const Session& session);
  uint64_t BytesReadWhenEmpty(const Session& session);

  // Appends some of the trace, and says whether there is more. Returns false,
  // or throws std::bad_alloc, if there was no memory for the next part of it.
  bool ReadBatch(Session* session, std::vector<uint8_t>* trace, bool* has_more);

  // Takes the lock, REQUIRES: read_mutex_.
  bool ReadPackets(TracingSessionID session_id, const TraceSink& sink);

  // Time: the sessions, and what is due.

  uint64_t NextDeadline() const;

  // All but writing.
  void RunDue();
  // A session that is to be written; then it is not any more. 0 if there is
  // none.
  TracingSessionID TakeSessionToWrite();

  // Takes the locks.
  void WriteSession(TracingSessionID session_id);

 private:
  friend class TracingService;
  static const char* WhyInvalid(const TraceConfig& config);

  // Memory and chunks.

  // So that copying the chunks of such pages never lacks memory.
  void ReserveForChunks(size_t page_size) { chunk_.payload.reserve(page_size); }
  void UseMemory(ProducerState* producer,
                 std::unique_ptr<SharedMemory> memory,
                 size_t page_size);
  // What the producers of its process have.
  size_t* MemoryOfProcess(const ProducerState& producer) {
    return &memory_of_process_[{producer.info.uid, producer.info.pid}];
  }
  void ForgetMemory(const ProducerState& producer);
  bool SetupMemory(ProducerState* producer, Session* session);
  Buffer* FindBuffer(BufferID id);

  // Where that writer may write; null if it may not.
  TraceBuffer* BufferFor(const ProducerState& producer,
                         WriterID writer_id,
                         BufferID target_buffer);
  // Null if it is not one that the producer may write to.
  TraceBuffer* BufferOf(const ProducerState& producer, BufferID id);
  static TraceBuffer::ProducerIdentity IdentityOf(
      const ProducerState& producer);
  void MoveChunk(ProducerState* producer,
                 const CommitDataRequest::ChunkToMove& move);

  // That is in chunk_.
  void StoreChunk(const ProducerState& producer, BufferID target_buffer);

  // Copies what the producer has not committed yet to the session's buffers, or
  // to all that it may write to, and leaves it there. If |producer_is_gone|,
  // what that has left open is lost; if it did not agree to this, everything.
  void Scrape(const ProducerState& producer,
              const Session* session,
              bool producer_is_gone = false);
  void ScrapeAll(const Session& session);

  // Data sources.

  using InstanceMap = std::map<DataSourceInstanceID, Instance>;

  // Sets up what the session wants of it. Throws std::bad_alloc without memory;
  // what was set up before is in |instances|.
  void SetupDataSource(
      ProducerState* producer,
      const std::shared_ptr<const DataSourceDescriptor>& descriptor,
      Session* session,
      std::vector<DataSourceInstanceID>* instances);
  // Adds all of it or nothing.
  void AddInstance(
      ProducerState* producer,
      DataSourceInstanceID id,
      const std::shared_ptr<const DataSourceDescriptor>& descriptor,
      Session* session,
      const DataSourceConfig* config);
  void StartDataSources(ProducerState* producer,
                        const std::vector<DataSourceInstanceID>& instances);
  static void SetStarted(Instance* instance);
  // Without an own allocation that could fail. UpdateState() of its session
  // comes next, as it does after EraseInstance(): see UpdateChangedSessions().
  void StopDataSource(ProducerState* producer, InstanceMap::iterator it);
  void EraseInstance(ProducerState* producer, InstanceMap::iterator it);
  void StopDataSources(Session* session);
  // Calls |use| with each producer that has such instances, and with their ids.
  template <typename IsWanted, typename Use>
  void ForEachProducer(const Session& session, IsWanted is_wanted, Use use);
  void ClearIncrementalState(const Session& session);

  // Goes on if nothing is left to be waited for.
  void UpdateState(Session* session);
  void UpdateChangedSessions();

  // Flushes.

  // Parts of Flush(). This one adds all or nothing, and throws std::bad_alloc
  // then.
  void AddFlush(FlushRequestID id, PendingFlush* flush, Session* session);
  // All up to that one.
  void AcknowledgeFlush(ProducerState* producer, FlushRequestID flush_id);
  void FinishFlush(FlushRequestID id, bool success);
  void EndFlush(Session* session, const PendingFlush& flush, bool success);
  void FailFlushes(Session* session);

  const Clock clock_;

  std::map<ProducerID, ProducerState> producers_;
  std::map<std::pair<int32_t, int32_t>, size_t> memory_of_process_;
  std::map<TracingSessionID, Session> sessions_;
  std::map<BufferID, Buffer> buffers_;
  std::map<FlushRequestID, PendingFlush> flushes_;
  std::set<std::pair<uint64_t, FlushRequestID>> flush_deadlines_;
  // Of the instances that are kStopping.
  struct StopDeadline {
    bool operator<(const StopDeadline& other) const {
      return std::tie(time, producer_id, instance_id) <
             std::tie(other.time, other.producer_id, other.instance_id);
    }
    uint64_t time;
    ProducerID producer_id;
    DataSourceInstanceID instance_id;
  };
  std::set<StopDeadline> stop_deadlines_;

  ProducerID last_producer_id_ = 0;
  TracingSessionID last_session_id_ = 0;
  DataSourceInstanceID last_instance_id_ = 0;
  FlushRequestID last_flush_id_ = 0;
  BufferID last_buffer_id_ = 0;

  // How often something was looked at that there may be many of.
  mutable uint64_t num_visits_ = 0;

  uint64_t chunks_discarded_ = 0;
  uint64_t patches_discarded_ = 0;

  // Where chunks are copied to before they are looked at.
  ChunkCopy chunk_;
};

template <typename IsWanted, typename Use>
void TracingService::Impl::ForEachProducer(const Session& session,
                                           IsWanted is_wanted,
                                           Use use) {
  std::vector<DataSourceInstanceID> instances;
  for (auto it = session.instances.begin(); it != session.instances.end();) {
    ProducerState& producer = producers_.find(it->first)->second;
    instances.clear();
    for (; it != session.instances.end() && it->first == producer.id; ++it) {
      ++num_visits_;
      const Instance& instance = producer.instances.find(it->second)->second;
      if (instance.state != InstanceState::kStopping &&
          is_wanted(*instance.descriptor)) {
        instances.push_back(it->second);
      }
    }
    if (!instances.empty())
      use(&producer, instances);
  }
}

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_SERVICE_IMPL_H_
