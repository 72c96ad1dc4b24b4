// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Sessions that begin and end while threads trace: the table of a data source's
// sessions, and the events, clock and descriptions that follow it.
// src/tracing/ipc, src/tracing/track_event.

#include <stdint.h>

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "protozero/tracing/adapters/asio_handler_tracking.h"
#include "protozero/tracing/data_source_writers.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/track_event.h"
#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/data_source_access.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/track_event/registry.h"
#include "src/tracing/track_event/trace_extensions.h"
#include "test/model/weak/scenarios.h"

namespace protozero {

// A connection, as far as writers need it: memory that is never taken away. The
// program has no other definition of these functions.
namespace {
constexpr size_t kPageSize = SharedMemoryABI::kMinPageSize;
alignas(8) uint8_t g_memory[kPageSize];
// The numbers of lost packets, and of those whose beginnings were committed.
uint64_t g_lost = 0;
uint64_t g_begun = 0;
}  // namespace

internal::ProducerIpcClient::ProducerIpcClient(ScopedFd, const WakeupFd* wakeup)
    : wakeup_(wakeup), sender_(0) {
  SharedMemoryArbiter::Options options;
  options.page_layout = SharedMemoryABI::kPageDiv4;
  arbiter_ = std::make_unique<SharedMemoryArbiter>(g_memory, kPageSize,
                                                   kPageSize, this, options);
}
internal::ProducerIpcClient::~ProducerIpcClient() = default;
void internal::ProducerIpcClient::CommitData(const CommitDataRequest& request) {
  for (size_t i = 0; i < request.num_losses; ++i) {
    if (request.losses[i].reason == LossReason::kWriterBusy)
      continue;
    g_lost += request.losses[i].packets;
    g_begun += request.losses[i].begun;
    weak::Check(g_begun >= g_lost, "the beginning is reported before the loss");
  }
}
void internal::ProducerIpcClient::RegisterTraceWriter(WriterID, BufferID) {}
void internal::ProducerIpcClient::UnregisterTraceWriter(WriterID) {}
void internal::ProducerIpcClient::WakeOwner() {}
void internal::ProducerIpcClient::ReportUnknownLoss(BufferID) {}
void internal::ProducerIpcClient::Keep(std::unique_ptr<TraceWriter>) {}

namespace weak {
namespace {

using internal::DataSourceAccess;

// A data source, and two sessions that may record it.
struct Sessions {
  std::shared_ptr<internal::ProducerIpcClient> connection =
      std::make_shared<internal::ProducerIpcClient>(ScopedFd(), nullptr);
  std::shared_ptr<DataSource> source;
  std::shared_ptr<DataSourceInstance> instances[2];

  explicit Sessions(std::shared_ptr<DataSource> its_source)
      : source(std::move(its_source)) {
    for (size_t i = 0; i < 2; ++i) {
      instances[i] = std::make_shared<DataSourceInstance>(
          i + 1, DataSourceConfig(), connection);
    }
  }
  // The steps of a producer's thread.
  void Start(size_t session) {
    DataSourceAccess::OnSetup(source.get(), *instances[session]);
    {
      std::lock_guard<std::mutex> lock(internal::ClientLock());
      DataSourceAccess::StartInstance(source.get(), instances[session]);
    }
    DataSourceAccess::OnStart(source.get(), *instances[session]);
  }
  void Stop(size_t session) {
    DataSourceAccess::OnStop(source.get(), *instances[session]);
    std::lock_guard<std::mutex> lock(internal::ClientLock());
    DataSourceAccess::StopInstance(source.get(), instances[session]);
  }
};

// A session ends and another one begins while a thread writes.
struct SessionsChange : Sessions {
  DataSourceWriters writers{source};
  int num_written[2] = {};
  SessionsChange()
      : Sessions(std::make_shared<DataSource>(DataSourceDescriptor{"source"})) {
    Start(0);
    Write();
  }
  void Write() {
    writers.Trace([this](TraceContext& context) {
      context.NewTracePacket()->AppendVarInt(1, 1);
      ++num_written[&context.instance() == instances[0].get() ? 0 : 1];
    });
  }
  void Run(int thread) {
    if (thread == 0) {
      Stop(0);
      Start(1);
    } else {
      Write();
    }
  }
  void End() {
    const int before[2] = {num_written[0], num_written[1]};
    Write();
    Check(num_written[0] == before[0], "the session that has ended is gone");
    Check(num_written[1] == before[1] + 1, "the thread finds the new session");
    Check(writers.packets_lost() == 0, "no packet is lost");
  }
};

// A packet is lost whose beginning was committed, while another thread reports
// what its writer had lost before.
struct SecondLoss : Sessions {
  DataSourceWriters writers{source};
  MessageHandle<Message> packet;
  uint8_t bytes[kPageSize / 4] = {};
  SecondLoss()
      : Sessions(std::make_shared<DataSource>(DataSourceDescriptor{"source"})) {
    Start(0);
    writers.Trace([this](TraceContext& context) {
      packet = context.NewTracePacket();
      packet->AppendBytes(1, bytes, sizeof(bytes));
      // Traces in the middle of a packet, as a signal handler may.
      writers.Trace([](TraceContext&) {});
    });
    const SharedMemoryABI& abi = connection->arbiter()->shmem_abi();
    while (abi.TryAcquireChunkForWriting(0, SharedMemoryABI::kPageDiv4)
               .is_valid()) {
    }
  }
  void Run(int thread) {
    if (thread == 0) {
      packet->AppendBytes(1, bytes, sizeof(bytes));
      packet = MessageHandle<Message>();
    } else {
      connection->arbiter()->FlushPendingCommitDataRequests();
    }
  }
  void End() {
    connection->arbiter()->FlushPendingCommitDataRequests();
    Check(g_lost == 1 && g_begun == 1, "the loss is reported");
  }
};

// A thread whose writer is ready comes to a site that another thread registers.
struct ReadyEvents : Sessions {
  internal::TraceThread thread{source};
  internal::TraceSite known{trace::TrackEvent::TYPE_INSTANT, "category",
                            "known"};
  ReadyEvents() : Sessions(TrackEventDataSource()) {
    Start(0);
    internal::t_trace_thread = &thread;
    internal::EmitSimpleEvent<>(&known);
    internal::t_trace_thread = nullptr;
  }
  void Register(internal::TraceSite* site) {
    Check(site->Sessions() != 0, "the session wants the site");
  }
};

struct ReadyEvent : ReadyEvents {
  internal::TraceSite site{trace::TrackEvent::TYPE_INSTANT, "category", "new"};
  void Run(int index) {
    if (index == 0)
      return Register(&site);
    internal::t_trace_thread = &thread;
    internal::EmitSimpleEvent<>(&site);
  }
  void End() {}
};

struct ReadyCounter : ReadyEvents {
  internal::TraceSite site{trace::TrackEvent::TYPE_COUNTER, "category", "new"};
  void Run(int index) {
    if (index == 0)
      return Register(&site);
    internal::t_trace_thread = &thread;
    internal::EmitNamedCounter(&site, int64_t{1});
  }
  void End() {}
};

struct ReadyTrackCounter : ReadyEvents {
  internal::TraceSite site{trace::TrackEvent::TYPE_COUNTER, "category", "new"};
  ReadyTrackCounter() { Write(&known); }
  void Write(internal::TraceSite* its_site) {
    internal::t_trace_thread = &thread;
    internal::EmitCounter(its_site, {}, CounterTrack("track"), int64_t{1});
  }
  void Run(int index) {
    if (index == 0)
      Register(&site);
    else
      Write(&site);
  }
  void End() {}
};

// A thread switches between tasks while a session ends. Until another one
// begins, no session records what the thread does.
struct Tasks : Sessions {
  internal::TraceThread thread{source};
  Tasks() : Sessions(TrackEventDataSource()) {
    Start(0);
    SwitchTo(1);
  }
  void SwitchTo(uint64_t task) {
    internal::t_trace_thread = &thread;
    internal::WriteTaskSwitch(task);
  }
  void Run(int index) {
    if (index == 0) {
      DataSourceAccess::OnStop(source.get(), *instances[0]);
    } else {
      SwitchTo(2);
      SwitchTo(0);
    }
  }
  void End() {
    Start(1);
    internal::t_trace_thread = &thread;
    Check(internal::RunningTask() == 0, "the thread runs no task");
  }
};

// Two threads read the clock for the first time.
struct Clock {
  void Run(int) {
    internal::TraceClock clock;
    const uint64_t now = clock.NowNs();
    Check(clock.NowNs() >= now, "time does not go back");
  }
  void End() {}
};

// One thread adds a description, and another one reads all there are.
struct Extensions {
  internal::TraceExtensions extensions;
  const uint8_t set[1] = {1};
  void Run(int thread) {
    if (thread == 0) {
      extensions.Add({set, 1});
    } else if (extensions.size() != 0) {
      Check(extensions[0].data == set, "a set that is counted is there");
    }
  }
  void End() {}
};

// Two threads start the same operation of Asio.
struct NewAsioSite {
  TaskSite* sites[2] = {};
  void Run(int thread) {
    sites[thread] = &internal::AsioSites::Find("socket", "receive");
    Check(std::string_view(sites[thread]->name) == "socket.receive",
          "the site has its name");
  }
  void End() { Check(sites[0] == sites[1], "there is one site"); }
};

}  // namespace

std::vector<Scenario> SessionScenarios() {
  return {
      MakeScenario<SessionsChange>("sessions", 2),
      MakeScenario<SecondLoss>("second loss", 2, 16),
      MakeScenario<ReadyEvent>("ready event", 2, 32),
      MakeScenario<ReadyCounter>("ready counter", 2, 32),
      MakeScenario<ReadyTrackCounter>("ready counter of a track", 2, 32),
      MakeScenario<Tasks>("tasks", 2, 64),
      MakeScenario<Clock>("clock", 2),
      MakeScenario<Extensions>("extensions", 2),
      MakeScenario<NewAsioSite>("new Asio site", 2),
  };
}

}  // namespace weak
}  // namespace protozero
