// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TRACING_SERVICE_H_
#define INCLUDE_PROTOZERO_TRACING_TRACING_SERVICE_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "protozero/tracing/data_source_config.h"
#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory.h"
#include "protozero/tracing/trace_config.h"
#include "protozero/tracing/trace_stats.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Collects what producers write to shared memory, and gives it out as a trace.
//
// Knows nothing about sockets, files, or how memory comes to be shared: a
// transport, or a program that is producer and service in one, calls
// ConnectProducer() and implements RemoteProducer. Whoever wants a trace calls
// StartTracing():
//
//   TracingService service;
//   auto producer = service.ConnectProducer(&my_producer, std::move(info));
//   producer->RegisterDataSource(descriptor);
//   TracingSessionID session = service.StartTracing(config, nullptr, &error);
//   ...
//   service.StopTracing(session);
//   ... until GetState(session) == TracingService::kStopped:
//   service.RunDue();
//   service.ReadPackets(session, [file](const uint8_t* data, size_t size) {
//     return fwrite(data, 1, size, file) == size;
//   });
//   service.CloseSession(session);
//
// Producers are not trusted: whatever they call, commit, or write to their
// memory, and whenever they do, costs their own data only. What a buffer holds
// is limited by its size; everything else, by TracingLimits. Consumers
// are trusted.
//
// Any thread, unless stated otherwise: there is one lock, which is held while
// chunks are copied and packets put together, but not while they are given
// out. There is no thread and no timer: NextDeadlineMs() says when RunDue() has
// something to do.
//
// When an allocation fails, what does not work without it is said below: it
// returns null, 0 or false, or throws std::bad_alloc, as do all functions of
// ProducerConnection that register something. Nothing else is affected, and
// connections can be ended and sessions stopped, read and closed. Packets for
// which there is no memory are lost, and counted.
class TracingService {
 public:
  // What the service asks of a producer. Calls come from whatever thread has
  // called the service, one at a time, while the service holds its lock: they
  // must not call the service, but note down, or send, what they are told.
  class RemoteProducer {
   public:
    virtual ~RemoteProducer() = default;

    // Makes the memory to share, all zero, and gives the producer its part.
    // Called once, before the first SetupDataSource(), unless
    // ProducerInfo::memory was accepted. Null if it can not be had: the
    // producer gets no data source set up then.
    virtual std::unique_ptr<SharedMemory> SetupTracing(size_t size,
                                                       size_t page_size) = 0;
    // Why SetupTracing() has returned null, for people to read.
    virtual std::string SetupTracingError() const { return ""; }
    virtual void SetupDataSource(DataSourceInstanceID instance_id,
                                 const DataSourceConfig& config) = 0;
    virtual void StartDataSource(DataSourceInstanceID instance_id,
                                 const DataSourceConfig& config) = 0;
    // Everything is to be committed before NotifyDataSourceStopped().
    virtual void StopDataSource(DataSourceInstanceID instance_id) = 0;
    // Everything of these instances is to be committed, and then the flush
    // acknowledged: CommitDataRequest::flush_request_id.
    virtual void Flush(FlushRequestID request_id,
                       const std::vector<DataSourceInstanceID>& instances,
                       FlushFlags flags) = 0;
    virtual void ClearIncrementalState(
        const std::vector<DataSourceInstanceID>& instances) = 0;
  };

  enum class ScrapingMode { kDefault, kEnabled, kDisabled };

  struct ProducerInfo {
    // Sessions select by it; nothing else depends on it.
    std::string name;
    // Stamped on each of its packets.
    int32_t uid = 0;
    int32_t pid = 0;
    // In bytes; 0 for the defaults. See ClampShmSizes().
    size_t shm_page_size_hint = 0;
    size_t shm_size_hint = 0;
    // Whether the service may look for packets in chunks that have not been
    // committed. By default it does not.
    ScrapingMode scraping_mode = ScrapingMode::kDefault;
    // Its writers report what they lose, and leave behind the complete packets
    // of a chunk whether another one has begun, as TraceWriter does. If not,
    // the service says of some losses that it does not know how large they are.
    // REQUIRES: if they do, and are in this process, they write nothing any
    // more when the connection ends.
    bool reports_losses = true;
    // The producer's own, with pages of |shm_page_size_hint|: it has been
    // tracing since before it was connected.
    std::unique_ptr<SharedMemory> memory;
  };

  // A producer's connection, which ends with the object. As a ProducerEndpoint
  // it can be what a SharedMemoryArbiter in the same process commits to. Calls
  // that make no sense do nothing. REQUIRES: the service outlives it.
  class ProducerConnection : public ProducerEndpoint {
   public:
    virtual ProducerID id() const = 0;
    // Whether ProducerInfo::memory is used. If not, it is unmapped already, and
    // SetupTracing() will be called.
    virtual bool uses_provided_memory() const = 0;

    // It is not registered if the name is empty or too long, if there are too
    // many, or if one with the same id (not 0) is.
    virtual void RegisterDataSource(const DataSourceDescriptor& descriptor) = 0;
    // Replaces what was registered with that name and id.
    virtual void UpdateDataSource(const DataSourceDescriptor& descriptor) = 0;
    // All of that name. Instances are stopped.
    virtual void UnregisterDataSource(const std::string& name) = 0;

    virtual void NotifyDataSourceStarted(DataSourceInstanceID instance_id) = 0;
    virtual void NotifyDataSourceStopped(DataSourceInstanceID instance_id) = 0;

    // Of chunks that it has committed, so far: what a transport that shares its
    // time among producers can go by. One thread, that which commits.
    virtual uint64_t bytes_copied() const = 0;
    // Does nothing before there is memory, and returns false if that is so.
    virtual bool CommitDataIfSetUp(const CommitDataRequest& request) = 0;
    // The connection is about to end, though the producer goes on: what it
    // writes from now on is lost, and nobody knows how much.
    virtual void ReportUnknownLoss() = 0;
    void CommitData(const CommitDataRequest& request) override {
      CommitDataIfSetUp(request);
    }
  };

  enum State {
    // There is no such session, or it was closed.
    kNone,
    // Data sources that notify about it have not started yet.
    kStarting,
    kStarted,
    // There is a last flush, or data sources have not stopped yet.
    kStopping,
    // Everything that there will be can be read.
    kStopped,
  };

  // Takes |size| bytes of the trace, which continue those of the last call.
  // Returns false if they can not be taken; then they are lost.
  using TraceSink = std::function<bool(const uint8_t* data, size_t size)>;

  // Who has started a session. All calls but OnTraceData() come as those of
  // RemoteProducer do: they must not call the service.
  class Consumer {
   public:
    virtual ~Consumer() = default;
    virtual void OnAllDataSourcesStarted(TracingSessionID) {}
    // There is no memory to share with a producer, so what the session wants of
    // it is not recorded. At most once for each.
    virtual void OnProducerWithoutMemory(TracingSessionID,
                                         const ProducerInfo&,
                                         const std::string& /*reason*/) {}
    // The session is kStopped. If TraceConfig::write_period_ms is not 0, the
    // last call of OnTraceData() is still to come, from RunDue().
    virtual void OnTracingStopped(TracingSessionID) {}
    // The end of what RunDue() writes to OnTraceData(). |complete| is false if
    // some of it was not taken, or could not be read for want of memory.
    virtual void OnTraceWritten(TracingSessionID, bool /*complete*/) {}
    // A TraceSink. Called by RunDue(), without the lock. The session stops if
    // it returns false, or if there is no memory to read for it.
    virtual bool OnTraceData(TracingSessionID,
                             const uint8_t* /*data*/,
                             size_t /*size*/) {
      return true;
    }
  };

  // Milliseconds since whatever moment; never goes back. Any thread.
  using Clock = std::function<uint64_t()>;

  // Uses std::chrono::steady_clock if there is no |clock|.
  explicit TracingService(Clock clock = nullptr);
  // REQUIRES: all connections are gone, nobody is in a call.
  ~TracingService();

  TracingService(const TracingService&) = delete;
  TracingService& operator=(const TracingService&) = delete;

  // The sizes that a producer gets for what it asks for. What makes no sense is
  // replaced by the defaults.
  struct ShmSizes {
    size_t page_size;
    size_t size;
  };
  static ShmSizes ClampShmSizes(size_t page_size_hint, size_t size_hint);

  // Null if there are too many, if its name is too long, or if there is no
  // memory. REQUIRES:
  // |producer| outlives the connection.
  std::unique_ptr<ProducerConnection> ConnectProducer(RemoteProducer* producer,
                                                      ProducerInfo info);

  // Sets up and starts the data sources that there are; those that are
  // registered later follow. Returns 0, and says why, if the config is not
  // valid, or if there is no memory. |consumer| may be null. REQUIRES: it
  // outlives the session.
  TracingSessionID StartTracing(const TraceConfig& config,
                                Consumer* consumer,
                                std::string* error);
  // Flushes, then stops the data sources. Does not wait: see GetState().
  void StopTracing(TracingSessionID session_id);
  // Asks all data sources to commit what they have. |on_done| is called once,
  // as the functions of Consumer are, perhaps before this returns; false if
  // some did not answer in time, or if the session was closed before. A
  // |timeout_ms| of 0 is the TraceConfig's. Returns 0 if there is nothing to
  // flush; then it is not called.
  FlushRequestID Flush(TracingSessionID session_id,
                       uint32_t timeout_ms,
                       FlushFlags flags,
                       std::function<void(bool success)> on_done);
  State GetState(TracingSessionID session_id) const;
  // Of all of the session. Everything is 0 if there is none. Throws
  // std::bad_alloc if there is no memory.
  TraceStats GetStats(TracingSessionID session_id) const;
  // Gives out whatever is complete, and forgets it: records of Perfetto's
  // Trace, so that the concatenation of all that is read is a trace file. The
  // sink is called without the lock; no other thread's sink is called at the
  // same time. Returns false if there is no such session, if the sink has
  // returned false, or if there is no memory: then what has not been read can
  // be read later. The sink must not read, nor close sessions.
  bool ReadPackets(TracingSessionID session_id, const TraceSink& sink);
  // Stops the session, without waiting for anybody, and frees its buffers.
  void CloseSession(TracingSessionID session_id);

  // When RunDue() will have something to do, unless something happens before;
  // UINT64_MAX for never. By the clock that the service was given: see NowMs().
  uint64_t NextDeadlineMs() const;
  uint64_t NowMs() const;
  // Does what is due, time-outs and periodic things. Any time will do.
  void RunDue();

  // How often it has looked at a producer, session, data source, instance,
  // flush, page or request of which there may be many: what its functions cost.
  uint64_t NumVisitsForTesting() const;

 private:
  class Impl;
  class Connection;

  const std::unique_ptr<Impl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACING_SERVICE_H_
