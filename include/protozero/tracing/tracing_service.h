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

// Collects what producers write to shared memory, and makes traces of it.
//
// Knows nothing about sockets, files, or how memory comes to be shared. A
// transport, or a program that is producer and service in one, calls
// ConnectProducer() and implements RemoteProducer. A program that wants a trace
// calls StartTracing():
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
// The service does not trust producers. Whatever a producer calls, commits, or
// writes to its memory, and whenever it does, it can spoil only its own data. A
// buffer's size limits what it holds; TracingLimits has all other limits. The
// service trusts consumers.
//
// Any thread, unless stated otherwise. One lock is held while the service
// copies chunks and puts packets together, but not while it gives them out. The
// service has no thread and no timer: NextDeadlineMs() says when RunDue() has
// something to do.
//
// When an allocation fails, the function that needed it returns null, 0 or
// false, or throws std::bad_alloc, as its comment says; functions of
// ProducerConnection that register something throw. Nothing else is affected:
// connections can end, and sessions can be stopped, read and closed. Packets
// for which there is no memory are lost, and counted.
class TracingService {
 public:
  // The requests of the service to a producer, which a transport carries. The
  // thread that has called the service makes these calls, one at a time, while
  // the service holds its lock. They must not call the service; they note what
  // they are told, or send it.
  class RemoteProducer {
   public:
    virtual ~RemoteProducer() = default;

    // Creates the memory to share, all zero, and gives the producer its part;
    // or memory of the producer alone, in which it commits nothing. Called
    // once, before the first SetupDataSource(), unless ProducerInfo::memory was
    // accepted. Returns null on failure: then no data source is set up at the
    // producer.
    virtual std::unique_ptr<SharedMemory> SetupTracing(size_t size,
                                                       size_t page_size) = 0;
    // Returns, for people, the reason why SetupTracing() has returned null.
    virtual std::string SetupTracingError() const { return ""; }
    // Asks the producer to prepare an instance, and then to start it.
    virtual void SetupDataSource(DataSourceInstanceID instance_id,
                                 const DataSourceConfig& config) = 0;
    virtual void StartDataSource(DataSourceInstanceID instance_id,
                                 const DataSourceConfig& config) = 0;
    // Asks the producer to commit everything before NotifyDataSourceStopped().
    virtual void StopDataSource(DataSourceInstanceID instance_id) = 0;
    // Asks the producer to commit everything of these instances, and then to
    // acknowledge the flush with CommitDataRequest::flush_request_id.
    virtual void Flush(FlushRequestID request_id,
                       const std::vector<DataSourceInstanceID>& instances,
                       FlushFlags flags) = 0;
    // Asks the writers of these instances to repeat, from now on, what they
    // have written once, such as interned strings.
    virtual void ClearIncrementalState(
        const std::vector<DataSourceInstanceID>& instances) = 0;
  };

  // The choice whether the service reads chunks that are being written.
  enum class ScrapingMode { kDefault, kEnabled, kDisabled };

  // The properties that a producer states when it connects.
  struct ProducerInfo {
    // The name by which sessions can select it. It has no other meaning.
    std::string name;
    // The ids that the service stamps on each of the producer's packets.
    int32_t uid = 0;
    int32_t pid = 0;
    // Wanted sizes in bytes; 0 for the defaults. See ClampShmSizes().
    size_t shm_page_size_hint = 0;
    size_t shm_size_hint = 0;
    // The choice whether the service may look for packets in chunks that have
    // not been committed. By default, it may not.
    ScrapingMode scraping_mode = ScrapingMode::kDefault;
    // True if the producer's writers report what they lose, and mark in a
    // chunk, after the complete packets, whether another one has begun, as
    // TraceWriter does. Otherwise the service counts some losses as unknown.
    // REQUIRES: if such writers are in this process, they write nothing any
    // more when the connection ends.
    bool reports_losses = true;
    // True if the producer calls CommitData(), perhaps without content, when a
    // writer takes a chunk after a silence. Then periodic flushes ask it less
    // and less often while it commits nothing, down to once in two seconds.
    bool commits_after_silence = false;
    // The time by which its CLOCK_BOOTTIME is ahead of the service's, if it is
    // in another time namespace; 0 if not, or if it has not said so. Its events
    // keep the times of its own clock.
    int64_t clock_ahead_ns = 0;
    // True if the producer serves as many services as it can, and wants to tell
    // this one. It is not connected then.
    bool has_no_place = false;
    // The producer's own memory, with pages of |shm_page_size_hint|, if it has
    // been tracing since before it was connected.
    std::unique_ptr<SharedMemory> memory;
  };

  // A producer's connection, which ends with the object. A SharedMemoryArbiter
  // in the same process can commit to it. Calls that make no sense do nothing.
  // REQUIRES: the service outlives it.
  class ProducerConnection : public ProducerEndpoint {
   public:
    // Returns an id that is unique in the service while the connection lasts.
    virtual ProducerID id() const = 0;
    // Returns whether the service uses ProducerInfo::memory. If not, the
    // service has unmapped it, and will call SetupTracing().
    virtual bool uses_provided_memory() const = 0;

    // Offers a data source. Does nothing if the name is empty or too long, if
    // there are too many data sources, or if there is one with the same id (not
    // 0).
    virtual void RegisterDataSource(const DataSourceDescriptor& descriptor) = 0;
    // Replaces the data sources with that name and id.
    virtual void UpdateDataSource(const DataSourceDescriptor& descriptor) = 0;
    // Removes all data sources of that name, and stops their instances.
    virtual void UnregisterDataSource(const std::string& name) = 0;

    // Says that what RemoteProducer was asked for is done.
    virtual void NotifyDataSourceStarted(DataSourceInstanceID instance_id) = 0;
    virtual void NotifyDataSourceStopped(DataSourceInstanceID instance_id) = 0;
    // Says that it was started, but records nothing: the program is in as many
    // sessions as it can.
    virtual void NotifyDataSourceRefused(DataSourceInstanceID instance_id) = 0;

    // Activates a trigger of all sessions that wait for one of that name.
    virtual void ActivateTrigger(const std::string& name) = 0;

    // Returns how many bytes of the producer's chunks the service has copied. A
    // transport can use it to share its time among producers. Only for the
    // thread that commits.
    virtual uint64_t bytes_copied() const = 0;
    // Commits. Does nothing, and returns false, while there is no memory.
    virtual bool CommitDataIfSetUp(const CommitDataRequest& request) = 0;
    // Says that the connection is about to end, but the producer goes on. The
    // service then cannot know how much of its data is lost.
    virtual void ReportUnknownLoss() = 0;
    // Calls CommitDataIfSetUp() and drops the result.
    void CommitData(const CommitDataRequest& request) override {
      CommitDataIfSetUp(request);
    }
  };

  // The state of a session.
  enum State {
    // There is no such session, or it was closed.
    kNone,
    // Data sources that notify about their start have not started yet.
    kStarting,
    kStarted,
    // The final flush has not ended, or data sources have not stopped yet.
    kStopping,
    // The whole trace can be read.
    kStopped,
  };

  // Takes |size| bytes of the trace, which continue those of the last call. If
  // it returns false, these bytes are lost.
  using TraceSink = std::function<bool(const uint8_t* data, size_t size)>;

  // The owner of a session. The service calls all functions except
  // OnTraceData() in the same way as those of RemoteProducer: they must not
  // call the service.
  class Consumer {
   public:
    virtual ~Consumer() = default;
    // Called when the session is kStarted.
    virtual void OnAllDataSourcesStarted(TracingSessionID) {}
    // Called once for each producer without memory to share. The session does
    // not record it.
    virtual void OnProducerWithoutMemory(TracingSessionID,
                                         const ProducerInfo&,
                                         const std::string& /*reason*/) {}
    // Called for each producer that wants to connect, and that the session
    // would record, but that has ProducerInfo::has_no_place, and for each data
    // source that a producer has refused.
    virtual void OnProducerWithoutPlace(TracingSessionID, const ProducerInfo&) {
    }
    // Called when a trigger of TriggerMode::kClone has been activated, and its
    // delay is over, or the session stops. It is time to call CloneSession();
    // when a session has stopped, its copy has all of it.
    virtual void OnCloneTrigger(TracingSessionID, const std::string& /*name*/) {
    }
    // Called when the session is kStopped. If TraceConfig::write_period_ms is
    // not 0, RunDue() has yet to make the last call of OnTraceData().
    virtual void OnTracingStopped(TracingSessionID) {}
    // Called after RunDue() has made the last call of OnTraceData(). |complete|
    // is false if a call has refused something, or if something could not be
    // read because there was no memory.
    virtual void OnTraceWritten(TracingSessionID, bool /*complete*/) {}
    // Called when a buffer has become half full, unless the session is read at
    // its end. It is time to call ReadPackets(), if the service does not write
    // the trace. Called once until packets have been read.
    virtual void OnBufferHalfFull(TracingSessionID) {}
    // Takes bytes of the trace, as a TraceSink does. RunDue() calls it without
    // the lock. If it returns false, or if there is no memory to read for it,
    // the session stops.
    virtual bool OnTraceData(TracingSessionID,
                             const uint8_t* /*data*/,
                             size_t /*size*/) {
      return true;
    }
  };

  // Returns milliseconds since any moment. Never goes back. Any thread.
  using Clock = std::function<uint64_t()>;

  // Uses std::chrono::steady_clock if |clock| is null.
  explicit TracingService(Clock clock = nullptr);
  // REQUIRES: all connections have ended, and no thread is in a call.
  ~TracingService();

  TracingService(const TracingService&) = delete;
  TracingService& operator=(const TracingService&) = delete;

  // The sizes that a producer gets when it asks for these. Sizes that make no
  // sense are replaced by the defaults.
  struct ShmSizes {
    size_t page_size;
    size_t size;
  };
  // Returns the sizes, for tests and for transports that want to know before
  // they connect.
  static ShmSizes ClampShmSizes(size_t page_size_hint, size_t size_hint);

  // Called when a producer offers a data source, or changes it. Like functions
  // of RemoteProducer, it must not call the service.
  using DataSourceObserver =
      std::function<void(const ProducerInfo&, const DataSourceDescriptor&)>;
  // Sets the observer. REQUIRES: no producer has connected.
  void SetDataSourceObserver(DataSourceObserver observer);

  // Connects a producer. Returns null if there are too many producers, if the
  // name is too long, if there is no memory, or if it has no place. REQUIRES:
  // |producer| outlives the connection.
  std::unique_ptr<ProducerConnection> ConnectProducer(RemoteProducer* producer,
                                                      ProducerInfo info);

  // Sets up and starts the data sources that are registered, and later those
  // that are registered later. Returns 0, and says why, if the config is not
  // valid, or if there is no memory. |consumer| may be null. REQUIRES:
  // |consumer| outlives the session.
  TracingSessionID StartTracing(const TraceConfig& config,
                                Consumer* consumer,
                                std::string* error);
  // Flushes, then stops the data sources. Does not wait: see GetState().
  void StopTracing(TracingSessionID session_id);
  // Ends a session that is kStopping now, without waiting for producers that
  // have not answered. The service takes what it finds in their memory. Does
  // nothing in other states.
  void StopWaiting(TracingSessionID session_id);
  // The part of a session that a copy has: everything, or what the last copy of
  // this kind does not have. So each packet that is not older than
  // TraceConfig::ring_ms is in one of these copies. The copy also has what its
  // events refer to, such as names. A slice that goes on when a copy is made
  // has its beginning there, and its end in the next one.
  enum class CopyKind { kAll, kNext };

  // Begins a copy of a session: of what its buffers hold when data sources have
  // committed what they have. The session goes on, and loses nothing. Returns
  // the copy's id. It is kStopping while RunDue() copies about 64 KiB a call;
  // commits that come meanwhile copy as much as they overwrite. Then it is
  // kStopped, to be read and closed as a session that has ended: it begins with
  // clocks and config, and ends with statistics. If there is no memory, or if
  // its source is closed before, it is kNone. Returns 0, and says why, if there
  // is no such session, there are too many, or another copy of it is being
  // made.
  TracingSessionID CloneSession(TracingSessionID session_id,
                                std::string* error,
                                CopyKind kind = CopyKind::kAll);
  // Begins a session that gets a copy of everything that comes into the buffers
  // of another one from now on, in one buffer. Read it while the other one is
  // recorded: that takes nothing out of the other one, asks nothing of
  // producers, and what the copy loses, the other one has. Both have to be
  // closed. Returns 0, and says why, if there is no such session, there are too
  // many, another session follows it, or there is no memory.
  TracingSessionID FollowSession(TracingSessionID session_id,
                                 size_t buffer_bytes,
                                 std::string* error);
  // Does what ProducerConnection::ActivateTrigger() does.
  void ActivateTrigger(const std::string& name);
  // Asks all data sources to commit what they have. Like the functions of
  // Consumer, |on_done| is called with the lock held; once, perhaps before this
  // returns. |success| is false if a producer did not answer in time, or if the
  // session was closed before. A |timeout_ms| of 0 stands for
  // TraceConfig::flush_timeout_ms. Returns 0, and does not call |on_done|, if
  // there is nothing to flush.
  FlushRequestID Flush(TracingSessionID session_id,
                       uint32_t timeout_ms,
                       FlushFlags flags,
                       std::function<void(bool success)> on_done);
  // Returns the state of the session.
  State GetState(TracingSessionID session_id) const;
  // Returns the statistics of the whole session. Everything is 0 if there is no
  // such session. Throws std::bad_alloc if there is no memory.
  TraceStats GetStats(TracingSessionID session_id) const;
  // Gives out all packets that are complete, and forgets them. They come as
  // records of Perfetto's Trace: all that is read, one after the other, is a
  // trace file. The sink is called without the lock, while no other thread's
  // sink is. Returns false if there is no such session, if the sink has
  // returned false, or if there is no memory; the rest can then be read later.
  // The sink must not read, nor close sessions.
  bool ReadPackets(TracingSessionID session_id, const TraceSink& sink);
  // Forgets the packets that have not been read, as LossReason::kNotWritten. If
  // the session is not kStopped, forgets only complete packets.
  void DiscardPackets(TracingSessionID session_id);
  // Begins another trace in the same session: the next batch that is read
  // starts with a header, and writers are asked to clear their incremental
  // state. The packets of each sequence before the next one with
  // SEQ_INCREMENTAL_STATE_CLEARED still need the trace before. Both traces, one
  // after the other, are one trace as well. Returns false, and changes nothing,
  // if the session is not being recorded, or if there is no memory.
  bool RestartTrace(TracingSessionID session_id);
  // Stops the session without waiting, and frees its buffers.
  void CloseSession(TracingSessionID session_id);

  // Returns the time when RunDue() will have something to do, unless something
  // happens before; UINT64_MAX for never. It is in the time of NowMs(), the
  // time of the service's clock.
  uint64_t NextDeadlineMs() const;
  uint64_t NowMs() const;
  // Does what is due: time-outs and periodic work. May be called at any time.
  // Gives each consumer one batch of its trace, about 64 KiB, so that a thread
  // that serves producers as well is soon back with them: a producer's memory
  // is full after some milliseconds. While a buffer is half full, gives more.
  // If there are more then, RunDue() is due at once.
  void RunDue();
  // Returns whether a buffer has become half full since the last RunDue(). A
  // thread that commits for producers calls RunDue() then, before other commits
  // fill the buffer.
  bool has_become_half_full() const;

 private:
  class Impl;
  class ProducerConnectionImpl;

  const std::unique_ptr<Impl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACING_SERVICE_H_
