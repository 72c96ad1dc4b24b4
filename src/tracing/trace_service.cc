// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/trace_service.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "src/tracing/chunk_reader.h"
#include "src/tracing/service_packets.h"
#include "src/tracing/trace_buffer.h"

namespace protozero {

using ABI = SharedMemoryABI;

namespace {

constexpr uint64_t kNever = UINT64_MAX;

constexpr FlushFlags kPeriodicFlush =
    kFlushReasonPeriodic | kFlushInitiatorService << kFlushInitiatorShift;

// How much of a trace is put together under the lock before it is given out.
constexpr size_t kReadBatchSize = 256 * 1024;

bool IsGrantedPageSize(size_t size) {
  return size >= ABI::kMinPageSize && size <= TraceService::kMaxShmPageSize &&
         (size & (size - 1)) == 0;
}

bool AreGrantedSizes(size_t page_size, size_t size) {
  return IsGrantedPageSize(page_size) && size >= page_size &&
         size <= TraceService::kMaxShmSize && size % page_size == 0;
}

}  // namespace

class TraceService::Impl {
 public:
  enum class InstanceState { kStarting, kStarted, kStopping };

  // A data source as a session has it.
  struct Instance {
    TracingSessionID session_id;
    DataSourceDescriptor descriptor;
    DataSourceConfig config;
    InstanceState state;
    // Of kStopping.
    uint64_t stop_deadline;
  };

  struct ProducerState {
    ProducerID id;
    Producer* client;
    ProducerInfo info;
    std::unique_ptr<SharedMemory> memory;
    size_t page_size = 0;
    ABI abi;
    std::vector<DataSourceDescriptor> data_sources;
    std::map<DataSourceInstanceID, Instance> instances;
    // Where its writers may write to; of those it has told us about, where they
    // do.
    std::set<BufferID> buffers;
    std::map<WriterID, BufferID> writers;
  };

  struct Session {
    TracingSessionID id;
    TraceConfig config;
    Consumer* consumer;
    State state = kStarting;
    std::vector<BufferID> buffer_ids;

    uint64_t stop_time = kNever;
    uint64_t next_flush = kNever;
    uint64_t next_clear = kNever;
    // Also when the session has stopped, until everything is written.
    uint64_t next_write = kNever;
    bool has_failed_to_write = false;

    std::vector<uint8_t> header;
    bool has_trailer = false;
    uint32_t next_sequence_id = kServiceSequenceID + 1;

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
    Buffer(TracingSessionID session, const TraceConfig::Buffer& config)
        : session_id(session), buffer(config.size_bytes, config.fill_policy) {}
    TracingSessionID session_id;
    TraceBuffer buffer;
  };

  explicit Impl(Clock clock) : clock_(std::move(clock)) {}

  uint64_t Now() const { return clock_(); }

  // Held by who calls a sink. Taken before mutex_.
  std::mutex read_mutex_;
  mutable std::mutex mutex_;

  // All of the following need mutex_.

  // Producers.

  ProducerState* AddProducer(Producer* client, ProducerInfo info) {
    if (producers_.size() >= kMaxProducers)
      return nullptr;
    const ProducerID id = ++last_producer_id_;
    ProducerState& producer = producers_[id];
    producer.id = id;
    producer.client = client;
    producer.info = std::move(info);
    std::unique_ptr<SharedMemory> memory = std::move(producer.info.memory);
    if (memory != nullptr &&
        AreGrantedSizes(producer.info.shm_page_size_hint, memory->size())) {
      UseMemory(&producer, std::move(memory), producer.info.shm_page_size_hint);
    }
    return &producer;
  }

  void RemoveProducer(ProducerState* producer) {
    for (auto& session : sessions_)
      Scrape(*producer, session.second);
    for (const BufferID id : producer->buffers) {
      if (Buffer* const buffer = FindBuffer(id))
        buffer->buffer.EndProducer(producer->id);
    }
    const ProducerID producer_id = producer->id;
    producers_.erase(producer_id);
    AcknowledgeFlush(producer_id, UINT64_MAX);
    for (auto& session : sessions_)
      UpdateState(&session.second);
  }

  void RegisterDataSource(ProducerState* producer,
                          const DataSourceDescriptor& descriptor) {
    if (descriptor.name.empty() ||
        descriptor.name.size() > kMaxDataSourceNameSize ||
        producer->data_sources.size() >= kMaxDataSourcesPerProducer) {
      return;
    }
    for (const DataSourceDescriptor& other : producer->data_sources) {
      if (descriptor.id != 0 && descriptor.id == other.id)
        return;
    }
    producer->data_sources.push_back(descriptor);
    for (auto& it : sessions_) {
      Session& session = it.second;
      if (session.state != kStarting && session.state != kStarted)
        continue;
      std::vector<DataSourceInstanceID> instances;
      SetupDataSource(producer, descriptor, &session, &instances);
      StartDataSources(producer, instances);
    }
  }

  void UnregisterDataSource(ProducerState* producer, const std::string& name) {
    std::vector<DataSourceDescriptor>& sources = producer->data_sources;
    sources.erase(std::remove_if(sources.begin(), sources.end(),
                                 [&name](const DataSourceDescriptor& source) {
                                   return source.name == name;
                                 }),
                  sources.end());
    for (auto it = producer->instances.begin();
         it != producer->instances.end();) {
      const auto instance = it++;
      if (instance->second.descriptor.name == name)
        StopDataSource(producer, instance);
    }
    UpdateStates();
  }

  void NotifyDataSourceStarted(ProducerState* producer,
                               DataSourceInstanceID instance_id) {
    const auto it = producer->instances.find(instance_id);
    if (it == producer->instances.end() ||
        it->second.state != InstanceState::kStarting) {
      return;
    }
    it->second.state = InstanceState::kStarted;
    UpdateStates();
  }

  void NotifyDataSourceStopped(ProducerState* producer,
                               DataSourceInstanceID instance_id) {
    if (producer->instances.erase(instance_id) != 0)
      UpdateStates();
  }

  void RegisterTraceWriter(ProducerState* producer,
                           WriterID writer_id,
                           BufferID target_buffer) {
    if (writer_id == 0 || writer_id > kMaxWriterID)
      return;
    UnregisterTraceWriter(producer, writer_id);
    producer->writers[writer_id] = target_buffer;
  }

  void UnregisterTraceWriter(ProducerState* producer, WriterID writer_id) {
    const auto it = producer->writers.find(writer_id);
    if (it == producer->writers.end())
      return;
    if (TraceBuffer* const buffer =
            BufferFor(*producer, writer_id, it->second)) {
      buffer->EndWriter(producer->id, writer_id);
    }
    producer->writers.erase(it);
  }

  bool CommitData(ProducerState* producer, const CommitDataRequest& request) {
    if (producer->memory == nullptr)
      return false;
    for (size_t i = 0; i < request.num_chunks_to_move; ++i)
      MoveChunk(*producer, request.chunks_to_move[i]);
    for (size_t i = 0; i < request.num_chunks_to_patch; ++i) {
      const CommitDataRequest::ChunkToPatch& patches =
          request.chunks_to_patch[i];
      TraceBuffer* const buffer =
          BufferFor(*producer, patches.writer_id, patches.target_buffer);
      if (buffer == nullptr || patches.num_patches > ABI::kMaxPatchesPerChunk)
        patches_discarded_ += patches.num_patches;
      else
        buffer->PatchChunk(producer->id, patches);
    }
    if (request.flush_request_id != 0)
      AcknowledgeFlush(producer->id, request.flush_request_id);
    return true;
  }

  // Sessions.

  TracingSessionID StartTracing(const TraceConfig& config,
                                Consumer* consumer,
                                std::string* error) {
    const char* const reason =
        sessions_.size() >= kMaxSessions ? "there are too many sessions"
        : config.write_period_ms != 0 && consumer == nullptr
            ? "there is nobody to write to"
            : WhyInvalid(config);
    if (reason != nullptr) {
      if (error != nullptr)
        *error = reason;
      return 0;
    }
    const TracingSessionID id = ++last_session_id_;
    Session& session = sessions_[id];
    session.id = id;
    session.config = config;
    session.consumer = consumer;
    for (const TraceConfig::Buffer& buffer : config.buffers) {
      // Reused as late as can be.
      do {
        ++last_buffer_id_;
      } while (last_buffer_id_ == 0 || buffers_.count(last_buffer_id_) != 0);
      buffers_.try_emplace(last_buffer_id_, id, buffer);
      session.buffer_ids.push_back(last_buffer_id_);
    }
    AppendTraceHeader(config.raw_config, &session.header);
    const uint64_t now = Now();
    const auto after = [now](uint32_t milliseconds) {
      return milliseconds == 0 ? kNever : now + milliseconds;
    };
    session.stop_time = after(config.duration_ms);
    session.next_flush = after(config.flush_period_ms);
    session.next_clear = after(config.incremental_state_clear_period_ms);
    session.next_write = after(config.write_period_ms);

    std::map<ProducerID, std::vector<DataSourceInstanceID>> instances;
    for (auto& it : producers_) {
      for (const DataSourceDescriptor& source : it.second.data_sources)
        SetupDataSource(&it.second, source, &session, &instances[it.first]);
    }
    for (auto& it : producers_)
      StartDataSources(&it.second, instances[it.first]);
    UpdateState(&session);
    return id;
  }

  void StopTracing(Session* session) {
    if (session->state != kStarting && session->state != kStarted)
      return;
    session->state = kStopping;
    session->stop_time = kNever;
    session->next_flush = kNever;
    session->next_clear = kNever;
    Flush(
        session, session->config.flush_timeout_ms,
        kFlushReasonTraceStop | kFlushInitiatorService << kFlushInitiatorShift,
        true, nullptr);
  }

  FlushRequestID Flush(Session* session,
                       uint32_t timeout_ms,
                       FlushFlags flags,
                       bool is_final,
                       std::function<void(bool)> on_done) {
    const FlushRequestID id = ++last_flush_id_;
    PendingFlush& flush = flushes_[id];
    flush.session_id = session->id;
    flush.deadline = Now() + timeout_ms;
    flush.is_final = is_final;
    flush.on_done = std::move(on_done);
    ++session->flushes_requested;
    for (auto& it : producers_) {
      std::vector<DataSourceInstanceID> instances;
      for (const auto& instance : it.second.instances) {
        if (instance.second.session_id == session->id &&
            instance.second.state != InstanceState::kStopping &&
            !instance.second.descriptor.no_flush) {
          instances.push_back(instance.first);
        }
      }
      // Who has not answered yet may have been stopped: what it is told is kept
      // for it, and must not get more and more.
      if (instances.empty() ||
          (flags == kPeriodicFlush && IsFlushing(session->id, it.first))) {
        continue;
      }
      flush.producers.insert(it.first);
      it.second.client->Flush(id, instances, flags);
    }
    if (flush.producers.empty())
      FinishFlush(id, true);
    return id;
  }

  bool IsFlushing(TracingSessionID session_id, ProducerID producer_id) const {
    return std::any_of(flushes_.begin(), flushes_.end(), [&](const auto& it) {
      return it.second.session_id == session_id &&
             it.second.producers.count(producer_id) != 0;
    });
  }

  void CloseSession(Session* session) {
    for (auto& it : producers_) {
      ProducerState& producer = it.second;
      for (auto instance = producer.instances.begin();
           instance != producer.instances.end();) {
        if (instance->second.session_id != session->id) {
          ++instance;
          continue;
        }
        if (instance->second.state != InstanceState::kStopping)
          producer.client->StopDataSource(instance->first);
        instance = producer.instances.erase(instance);
      }
      for (const BufferID id : session->buffer_ids)
        producer.buffers.erase(id);
    }
    for (const BufferID id : session->buffer_ids)
      buffers_.erase(id);
    FailFlushes(session->id);
    sessions_.erase(session->id);
  }

  Session* FindSession(TracingSessionID id) {
    const auto it = sessions_.find(id);
    return it == sessions_.end() ? nullptr : &it->second;
  }

  TraceStats GetStats(const Session& session) {
    TraceStats stats;
    for (const auto& it : producers_) {
      const ProducerState& producer = it.second;
      TraceProducerStats entry;
      entry.producer_id = producer.id;
      entry.name = producer.info.name;
      entry.pid = producer.info.pid;
      entry.shm_size = producer.memory == nullptr ? 0 : producer.memory->size();
      entry.shm_page_size = producer.page_size;
      entry.data_sources = static_cast<uint32_t>(producer.data_sources.size());
      stats.producers.push_back(std::move(entry));
      stats.data_sources_registered +=
          static_cast<uint32_t>(producer.data_sources.size());
    }
    for (const BufferID id : session.buffer_ids) {
      const TraceBuffer& buffer = FindBuffer(id)->buffer;
      stats.buffers.push_back(buffer.stats());
      const size_t first = stats.writers.size();
      buffer.AppendWriterStats(&stats.writers);
      for (size_t i = first; i < stats.writers.size(); ++i)
        stats.writers[i].buffer_id = id;
    }
    std::stable_sort(stats.writers.begin(), stats.writers.end(),
                     [](const TraceWriterStats& a, const TraceWriterStats& b) {
                       return std::make_pair(a.producer_id, a.writer_id) <
                              std::make_pair(b.producer_id, b.writer_id);
                     });
    stats.producers_seen = last_producer_id_;
    stats.tracing_sessions = static_cast<uint32_t>(sessions_.size());
    stats.chunks_discarded = chunks_discarded_;
    stats.patches_discarded = patches_discarded_;
    stats.invalid_packets = session.invalid_packets;
    stats.flushes_requested = session.flushes_requested;
    stats.flushes_succeeded = session.flushes_succeeded;
    stats.flushes_failed = session.flushes_failed;
    stats.final_flush_succeeded = session.final_flush_succeeded;
    return stats;
  }

  // How far the session's buffers have been read, and how far that will be when
  // all that they hold now has been.
  uint64_t BytesRead(const Session& session) {
    uint64_t bytes = 0;
    for (const BufferID id : session.buffer_ids)
      bytes += FindBuffer(id)->buffer.stats().bytes_read;
    return bytes;
  }
  uint64_t BytesReadWhenEmpty(const Session& session) {
    uint64_t bytes = BytesRead(session);
    for (const BufferID id : session.buffer_ids)
      bytes += FindBuffer(id)->buffer.used_bytes();
    return bytes;
  }

  // Appends some of the trace. Returns whether there is more.
  bool ReadBatch(Session* session, std::vector<uint8_t>* trace) {
    trace->insert(trace->end(), session->header.begin(), session->header.end());
    std::vector<uint8_t>().swap(session->header);
    const bool is_final = session->state == kStopped;
    for (const BufferID id : session->buffer_ids) {
      if (FindBuffer(id)->buffer.ReadPackets(
              kReadBatchSize, is_final,
              [session, trace](const TraceBuffer::Packet& packet) {
                if (!IsValidPacket(packet.bytes)) {
                  ++session->invalid_packets;
                  return false;
                }
                if (*packet.sequence_id == 0)
                  *packet.sequence_id = session->next_sequence_id++;
                AppendPacket(packet, trace);
                return true;
              })) {
        return true;
      }
    }
    if (is_final && !session->has_trailer) {
      session->has_trailer = true;
      AppendTraceTrailer(GetStats(*session), trace);
    }
    return false;
  }

  // Takes the lock, REQUIRES: read_mutex_.
  bool ReadPackets(TracingSessionID session_id, const TraceSink& sink) {
    std::vector<uint8_t> trace;
    // So that this ends, even if somebody writes faster than it reads.
    std::optional<uint64_t> limit;
    for (bool has_more = true; has_more;) {
      trace.clear();
      {
        std::lock_guard<std::mutex> lock(mutex_);
        Session* const session = FindSession(session_id);
        if (session == nullptr)
          return false;
        if (!limit.has_value())
          limit = BytesReadWhenEmpty(*session);
        has_more = ReadBatch(session, &trace);
        if (session->state != kStopped && BytesRead(*session) >= *limit)
          has_more = false;
      }
      if (!trace.empty() && !sink(trace.data(), trace.size()))
        return false;
    }
    return true;
  }

  // Time.

  uint64_t NextDeadline() const {
    uint64_t deadline = kNever;
    const auto consider = [&deadline](uint64_t time) {
      deadline = std::min(deadline, time);
    };
    for (const auto& it : sessions_) {
      consider(it.second.stop_time);
      consider(it.second.next_flush);
      consider(it.second.next_clear);
      consider(it.second.next_write);
    }
    for (const auto& it : flushes_)
      consider(it.second.deadline);
    for (const auto& producer : producers_) {
      for (const auto& instance : producer.second.instances) {
        if (instance.second.state == InstanceState::kStopping)
          consider(instance.second.stop_deadline);
      }
    }
    return deadline;
  }

  // All but writing. Returns what is to be written.
  std::vector<TracingSessionID> RunDue() {
    const uint64_t now = Now();
    // Whether it was time; then it is again in |period_ms|.
    const auto is_due = [now](uint64_t* time, uint32_t period_ms) {
      if (*time > now)
        return false;
      *time = now + period_ms;
      return true;
    };
    for (auto& producer : producers_) {
      auto& instances = producer.second.instances;
      for (auto it = instances.begin(); it != instances.end();) {
        const auto instance = it++;
        if (instance->second.state == InstanceState::kStopping &&
            instance->second.stop_deadline <= now) {
          instances.erase(instance);
        }
      }
    }
    UpdateStates();
    for (;;) {
      const auto it = std::find_if(
          flushes_.begin(), flushes_.end(),
          [now](const auto& flush) { return flush.second.deadline <= now; });
      if (it == flushes_.end())
        break;
      FinishFlush(it->first, false);
    }
    std::vector<TracingSessionID> to_write;
    for (auto& it : sessions_) {
      Session& session = it.second;
      if (is_due(&session.next_clear,
                 session.config.incremental_state_clear_period_ms)) {
        ClearIncrementalState(session.id);
      }
      if (session.stop_time <= now) {
        StopTracing(&session);
      } else if (is_due(&session.next_flush, session.config.flush_period_ms)) {
        Flush(&session, session.config.flush_timeout_ms, kPeriodicFlush, false,
              nullptr);
      }
      if (is_due(&session.next_write, session.config.write_period_ms))
        to_write.push_back(session.id);
    }
    return to_write;
  }

  // Takes the locks.
  void WriteSession(TracingSessionID session_id) {
    std::lock_guard<std::mutex> read_lock(read_mutex_);
    Consumer* consumer;
    bool is_last;
    bool is_complete;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      Session* const session = FindSession(session_id);
      if (session == nullptr)
        return;
      consumer = session->consumer;
      is_last = session->state == kStopped;
      is_complete = !session->has_failed_to_write;
      if (is_last)
        session->next_write = kNever;
    }
    // If it can not be written, it is not read.
    if (is_complete) {
      is_complete =
          ReadPackets(session_id, [&](const uint8_t* data, size_t size) {
            return consumer == nullptr ||
                   consumer->OnTraceData(session_id, data, size);
          });
    }
    std::lock_guard<std::mutex> lock(mutex_);
    Session* const session = FindSession(session_id);
    if (session == nullptr)
      return;
    if (!is_complete && !session->has_failed_to_write) {
      session->has_failed_to_write = true;
      StopTracing(session);
    }
    if (is_last)
      consumer->OnTraceWritten(session_id, is_complete);
  }

 private:
  friend class TraceService;

  static const char* WhyInvalid(const TraceConfig& config) {
    if (config.buffers.empty())
      return "there is no buffer";
    if (config.buffers.size() > kMaxBuffersPerSession)
      return "there are too many buffers";
    if (config.data_sources.size() > kMaxDataSourcesPerSession)
      return "there are too many data sources";
    for (const TraceConfig::Buffer& buffer : config.buffers) {
      if (buffer.size_bytes == 0)
        return "a buffer has no size";
    }
    for (const TraceConfig::DataSource& source : config.data_sources) {
      if (source.config.name.empty())
        return "a data source has no name";
      if (source.config.target_buffer >= config.buffers.size())
        return "a data source is for a buffer that is not there";
    }
    return nullptr;
  }

  // Memory and chunks.

  static void UseMemory(ProducerState* producer,
                        std::unique_ptr<SharedMemory> memory,
                        size_t page_size) {
    producer->abi = ABI(memory->start(), memory->size(), page_size);
    producer->page_size = page_size;
    producer->memory = std::move(memory);
  }

  bool SetupMemory(ProducerState* producer, const Session& session) {
    if (producer->memory != nullptr)
      return true;
    size_t page_size = producer->info.shm_page_size_hint;
    size_t size = producer->info.shm_size_hint;
    for (const TraceConfig::Producer& config : session.config.producers) {
      if (config.producer_name != producer->info.name)
        continue;
      if (config.page_size_bytes != 0)
        page_size = config.page_size_bytes;
      if (config.shm_size_bytes != 0)
        size = config.shm_size_bytes;
    }
    const ShmSizes sizes = ClampShmSizes(page_size, size);
    std::unique_ptr<SharedMemory> memory =
        producer->client->SetupTracing(sizes.size, sizes.page_size);
    if (memory == nullptr || memory->size() < sizes.size)
      return false;
    UseMemory(producer, std::move(memory), sizes.page_size);
    return true;
  }

  Buffer* FindBuffer(BufferID id) {
    const auto it = buffers_.find(id);
    return it == buffers_.end() ? nullptr : &it->second;
  }

  // Where that writer may write; null if it may not.
  TraceBuffer* BufferFor(const ProducerState& producer,
                         WriterID writer_id,
                         BufferID target_buffer) {
    if (writer_id == 0 || writer_id > kMaxWriterID ||
        producer.buffers.count(target_buffer) == 0) {
      return nullptr;
    }
    const auto writer = producer.writers.find(writer_id);
    if (writer != producer.writers.end() && writer->second != target_buffer)
      return nullptr;
    Buffer* const buffer = FindBuffer(target_buffer);
    return buffer == nullptr ? nullptr : &buffer->buffer;
  }

  void MoveChunk(const ProducerState& producer,
                 const CommitDataRequest::ChunkToMove& move) {
    if (move.data != nullptr) {
      if (!CopyChunk(ConstBytes(move.data, move.data_size), !move.is_incomplete,
                     &chunk_)) {
        ++chunks_discarded_;
        return;
      }
    } else {
      const ABI::Chunk chunk =
          producer.abi.TryAcquireChunkForReading(move.page, move.chunk);
      if (!chunk.is_valid())
        return;
      CopyChunk(chunk, &chunk_);
      // If it fails, the producer has tampered with the page, and has lost it.
      producer.abi.ReleaseChunkAsFree(chunk);
    }
    StoreChunk(producer, move.target_buffer);
  }

  // That is in chunk_.
  void StoreChunk(const ProducerState& producer, BufferID target_buffer) {
    TraceBuffer* const buffer =
        BufferFor(producer, chunk_.writer_id, target_buffer);
    if (buffer == nullptr) {
      ++chunks_discarded_;
      return;
    }
    buffer->CopyChunk({producer.id, producer.info.uid, producer.info.pid},
                      chunk_);
  }

  // Copies what the producer has not committed yet, and leaves it there.
  void Scrape(const ProducerState& producer, const Session& session) {
    if (producer.info.scraping_mode != ScrapingMode::kEnabled)
      return;
    const std::vector<BufferID>& ids = session.buffer_ids;
    if (std::none_of(ids.begin(), ids.end(), [&producer](BufferID id) {
          return producer.buffers.count(id) != 0;
        })) {
      return;
    }
    for (size_t page = 0; page < producer.abi.num_pages(); ++page) {
      if ((producer.abi.GetPageWord(page) & ABI::kAllChunksMask) == 0)
        continue;
      for (size_t chunk = 0; chunk < ABI::kMaxChunksPerPage; ++chunk) {
        if (!ScrapeChunk(producer.abi, page, chunk, &chunk_))
          continue;
        // Its header is believed only if the producer has said the same before.
        const auto writer = producer.writers.find(chunk_.writer_id);
        if (writer != producer.writers.end() &&
            std::count(ids.begin(), ids.end(), writer->second) != 0) {
          StoreChunk(producer, writer->second);
        }
      }
    }
  }

  void ScrapeAll(const Session& session) {
    for (const auto& producer : producers_)
      Scrape(producer.second, session);
  }

  // Data sources.

  // Sets up what the session wants of it.
  void SetupDataSource(ProducerState* producer,
                       const DataSourceDescriptor& descriptor,
                       Session* session,
                       std::vector<DataSourceInstanceID>* instances) {
    for (const TraceConfig::DataSource& wanted : session->config.data_sources) {
      if (producer->instances.size() >= kMaxInstancesPerProducer)
        return;
      const std::vector<std::string>& names = wanted.producer_name_filter;
      if (wanted.config.name != descriptor.name ||
          (!names.empty() &&
           std::count(names.begin(), names.end(), producer->info.name) == 0) ||
          !SetupMemory(producer, *session)) {
        continue;
      }
      const DataSourceInstanceID id = ++last_instance_id_;
      Instance& instance = producer->instances[id];
      instance.session_id = session->id;
      instance.descriptor = descriptor;
      instance.state = InstanceState::kStarting;
      DataSourceConfig& config = instance.config;
      config = wanted.config;
      config.target_buffer = session->buffer_ids[wanted.config.target_buffer];
      config.tracing_session_id = session->id;
      if (config.trace_duration_ms == 0)
        config.trace_duration_ms = session->config.duration_ms;
      if (config.stop_timeout_ms == 0)
        config.stop_timeout_ms = session->config.data_source_stop_timeout_ms;
      producer->buffers.insert(config.target_buffer);
      instances->push_back(id);
      producer->client->SetupDataSource(id, config);
    }
  }

  static void StartDataSources(
      ProducerState* producer,
      const std::vector<DataSourceInstanceID>& instances) {
    for (const DataSourceInstanceID id : instances) {
      Instance& instance = producer->instances[id];
      if (!instance.descriptor.will_notify_on_start)
        instance.state = InstanceState::kStarted;
      producer->client->StartDataSource(id, instance.config);
    }
  }

  // UpdateState() comes next.
  void StopDataSource(ProducerState* producer,
                      std::map<DataSourceInstanceID, Instance>::iterator it) {
    Instance& instance = it->second;
    if (instance.state == InstanceState::kStopping)
      return;
    producer->client->StopDataSource(it->first);
    if (!instance.descriptor.will_notify_on_stop) {
      producer->instances.erase(it);
      return;
    }
    instance.state = InstanceState::kStopping;
    instance.stop_deadline = Now() + instance.config.stop_timeout_ms;
  }

  void StopDataSources(Session* session) {
    for (auto& producer : producers_) {
      auto& instances = producer.second.instances;
      for (auto it = instances.begin(); it != instances.end();) {
        const auto instance = it++;
        if (instance->second.session_id == session->id)
          StopDataSource(&producer.second, instance);
      }
    }
    UpdateState(session);
  }

  void ClearIncrementalState(TracingSessionID session_id) {
    for (auto& producer : producers_) {
      std::vector<DataSourceInstanceID> instances;
      for (const auto& it : producer.second.instances) {
        if (it.second.session_id == session_id &&
            it.second.state != InstanceState::kStopping &&
            it.second.descriptor.handles_incremental_state_clear) {
          instances.push_back(it.first);
        }
      }
      if (!instances.empty())
        producer.second.client->ClearIncrementalState(instances);
    }
  }

  // Goes on if nothing is left to be waited for.
  void UpdateState(Session* session) {
    bool has_starting = false;
    bool has_any = false;
    for (const auto& producer : producers_) {
      for (const auto& it : producer.second.instances) {
        if (it.second.session_id != session->id)
          continue;
        has_any = true;
        has_starting |= it.second.state == InstanceState::kStarting;
      }
    }
    if (session->state == kStarting && !has_starting) {
      session->state = kStarted;
      if (session->consumer != nullptr)
        session->consumer->OnAllDataSourcesStarted(session->id);
    }
    // The last flush comes first, whether or not somebody takes part in it.
    const bool is_flushing =
        std::any_of(flushes_.begin(), flushes_.end(), [&](const auto& flush) {
          return flush.second.session_id == session->id &&
                 flush.second.is_final;
        });
    if (session->state == kStopping && !has_any && !is_flushing) {
      ScrapeAll(*session);
      session->state = kStopped;
      if (session->config.write_period_ms != 0)
        session->next_write = Now();
      FailFlushes(session->id);
      if (session->consumer != nullptr)
        session->consumer->OnTracingStopped(session->id);
    }
  }

  void UpdateStates() {
    for (auto& session : sessions_)
      UpdateState(&session.second);
  }

  // Flushes.

  void AcknowledgeFlush(ProducerID producer_id, FlushRequestID flush_id) {
    std::vector<FlushRequestID> done;
    for (auto it = flushes_.begin();
         it != flushes_.end() && it->first <= flush_id; ++it) {
      if (it->second.producers.erase(producer_id) != 0 &&
          it->second.producers.empty()) {
        done.push_back(it->first);
      }
    }
    for (const FlushRequestID id : done)
      FinishFlush(id, true);
  }

  void FinishFlush(FlushRequestID id, bool success) {
    const auto it = flushes_.find(id);
    if (it == flushes_.end())
      return;
    const PendingFlush flush = std::move(it->second);
    flushes_.erase(it);
    Session* const session = FindSession(flush.session_id);
    if (session != nullptr) {
      ScrapeAll(*session);
      ++(success ? session->flushes_succeeded : session->flushes_failed);
      // What has been flushed is not to wait for the next period.
      if (session->next_write != kNever)
        session->next_write = Now();
      if (flush.is_final) {
        session->final_flush_succeeded = success;
        StopDataSources(session);
      }
    }
    if (flush.on_done)
      flush.on_done(success);
  }

  void FailFlushes(TracingSessionID session_id) {
    for (;;) {
      const auto it = std::find_if(
          flushes_.begin(), flushes_.end(), [session_id](const auto& flush) {
            return flush.second.session_id == session_id;
          });
      if (it == flushes_.end())
        return;
      // The session need not go on.
      it->second.is_final = false;
      FinishFlush(it->first, false);
    }
  }

  const Clock clock_;

  std::map<ProducerID, ProducerState> producers_;
  std::map<TracingSessionID, Session> sessions_;
  std::map<BufferID, Buffer> buffers_;
  std::map<FlushRequestID, PendingFlush> flushes_;

  ProducerID last_producer_id_ = 0;
  TracingSessionID last_session_id_ = 0;
  DataSourceInstanceID last_instance_id_ = 0;
  FlushRequestID last_flush_id_ = 0;
  BufferID last_buffer_id_ = 0;

  uint64_t chunks_discarded_ = 0;
  uint64_t patches_discarded_ = 0;

  // Where chunks are copied to before they are looked at.
  ChunkCopy chunk_;
};

class TraceService::Connection : public ProducerConnection {
 public:
  Connection(Impl* impl, Impl::ProducerState* producer)
      : impl_(impl),
        producer_(producer),
        id_(producer->id),
        uses_provided_memory_(producer->memory != nullptr) {}
  ~Connection() override {
    Locked([](Impl* impl, auto* producer) { impl->RemoveProducer(producer); });
  }

  ProducerID id() const override { return id_; }
  bool uses_provided_memory() const override { return uses_provided_memory_; }

  void RegisterDataSource(const DataSourceDescriptor& descriptor) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->RegisterDataSource(producer, descriptor);
    });
  }
  void UpdateDataSource(const DataSourceDescriptor& descriptor) override {
    Locked([&](Impl*, auto* producer) {
      for (DataSourceDescriptor& source : producer->data_sources) {
        if (source.name == descriptor.name && source.id == descriptor.id)
          source = descriptor;
      }
    });
  }
  void UnregisterDataSource(const std::string& name) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->UnregisterDataSource(producer, name);
    });
  }
  void NotifyDataSourceStarted(DataSourceInstanceID instance_id) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->NotifyDataSourceStarted(producer, instance_id);
    });
  }
  void NotifyDataSourceStopped(DataSourceInstanceID instance_id) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->NotifyDataSourceStopped(producer, instance_id);
    });
  }
  void RegisterTraceWriter(WriterID writer_id,
                           BufferID target_buffer) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->RegisterTraceWriter(producer, writer_id, target_buffer);
    });
  }
  void UnregisterTraceWriter(WriterID writer_id) override {
    Locked([&](Impl* impl, auto* producer) {
      impl->UnregisterTraceWriter(producer, writer_id);
    });
  }
  bool CommitDataIfSetUp(const CommitDataRequest& request) override {
    std::lock_guard<std::mutex> lock(impl_->mutex_);
    return impl_->CommitData(producer_, request);
  }

 private:
  template <typename Function>
  void Locked(Function function) {
    std::lock_guard<std::mutex> lock(impl_->mutex_);
    function(impl_, producer_);
  }

  Impl* const impl_;
  Impl::ProducerState* const producer_;
  const ProducerID id_;
  const bool uses_provided_memory_;
};

static_assert(TraceService::kMaxPacketSize == TraceBuffer::kMaxPacketSize);

TraceService::TraceService(Clock clock)
    : impl_(std::make_unique<Impl>(clock ? std::move(clock) : [] {
        return static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::steady_clock::now().time_since_epoch())
                .count());
      })) {}

TraceService::~TraceService() = default;

TraceService::ShmSizes TraceService::ClampShmSizes(size_t page_size_hint,
                                                   size_t size_hint) {
  const size_t page_size =
      std::min(page_size_hint != 0 ? page_size_hint : kDefaultShmPageSize,
               kMaxShmPageSize);
  const size_t size =
      std::min(size_hint != 0 ? size_hint : kDefaultShmSize, kMaxShmSize);
  return AreGrantedSizes(page_size, size)
             ? ShmSizes{page_size, size}
             : ShmSizes{kDefaultShmPageSize, kDefaultShmSize};
}

std::unique_ptr<TraceService::ProducerConnection> TraceService::ConnectProducer(
    Producer* producer,
    ProducerInfo info) {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  Impl::ProducerState* const state =
      impl_->AddProducer(producer, std::move(info));
  return state == nullptr ? nullptr
                          : std::make_unique<Connection>(impl_.get(), state);
}

TracingSessionID TraceService::StartTracing(const TraceConfig& config,
                                            Consumer* consumer,
                                            std::string* error) {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  return impl_->StartTracing(config, consumer, error);
}

void TraceService::StopTracing(TracingSessionID session_id) {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  if (Impl::Session* const session = impl_->FindSession(session_id))
    impl_->StopTracing(session);
}

FlushRequestID TraceService::Flush(TracingSessionID session_id,
                                   uint32_t timeout_ms,
                                   FlushFlags flags,
                                   std::function<void(bool)> on_done) {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  Impl::Session* const session = impl_->FindSession(session_id);
  if (session == nullptr ||
      (session->state != kStarting && session->state != kStarted)) {
    return 0;
  }
  if (timeout_ms == 0)
    timeout_ms = session->config.flush_timeout_ms;
  return impl_->Flush(session, timeout_ms, flags, false, std::move(on_done));
}

TraceService::State TraceService::GetState(TracingSessionID session_id) const {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  const Impl::Session* const session = impl_->FindSession(session_id);
  return session == nullptr ? kNone : session->state;
}

TraceStats TraceService::GetStats(TracingSessionID session_id) const {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  const Impl::Session* const session = impl_->FindSession(session_id);
  return session == nullptr ? TraceStats() : impl_->GetStats(*session);
}

bool TraceService::ReadPackets(TracingSessionID session_id,
                               const TraceSink& sink) {
  std::lock_guard<std::mutex> read_lock(impl_->read_mutex_);
  return impl_->ReadPackets(session_id, sink);
}

void TraceService::CloseSession(TracingSessionID session_id) {
  // Nobody is in its sink, or its consumer, afterwards.
  std::lock_guard<std::mutex> read_lock(impl_->read_mutex_);
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  if (Impl::Session* const session = impl_->FindSession(session_id))
    impl_->CloseSession(session);
}

uint64_t TraceService::NextDeadlineMs() const {
  std::lock_guard<std::mutex> lock(impl_->mutex_);
  return impl_->NextDeadline();
}

uint64_t TraceService::NowMs() const {
  return impl_->Now();
}

void TraceService::RunDue() {
  std::vector<TracingSessionID> to_write;
  {
    std::lock_guard<std::mutex> lock(impl_->mutex_);
    to_write = impl_->RunDue();
  }
  for (const TracingSessionID id : to_write)
    impl_->WriteSession(id);
}

}  // namespace protozero
