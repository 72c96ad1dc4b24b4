// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests that the requests of one producer cost the service only what that
// producer makes it do, however many others there are. It counts the objects
// that the service looks at, and those that it keeps; time would say less.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/service/visit_counter.h"
#include "test/tracing/test_producer.h"

namespace protozero::test {
namespace {

constexpr size_t kSessions = 3;
// The memory of each producer, so that one process may have many.
constexpr size_t kShmSize = TracingLimits::kReducedShmSize;

DataSourceDescriptor Source(const std::string& name, bool notifies = true) {
  DataSourceDescriptor descriptor;
  descriptor.name = name;
  descriptor.will_notify_on_start = notifies;
  descriptor.will_notify_on_stop = notifies;
  return descriptor;
}

TracingService::ProducerInfo ScrapedInfo() {
  TracingService::ProducerInfo info;
  info.name = "test";
  info.scraping_mode = TracingService::ScrapingMode::kEnabled;
  info.shm_size_hint = kShmSize;
  return info;
}

// Sessions with so many producers besides the one under test. They have
// instances that start, run and stop, and flushes to answer.
class World {
 public:
  explicit World(size_t num_others) : service_([this] { return now_; }) {
    TraceConfig config;
    config.buffers.push_back({1 << 20, BufferFillPolicy::kRingBuffer});
    for (const char* name : {"other", "other.gone", "mine"}) {
      TraceConfig::DataSource source;
      source.config.name = name;
      config.data_sources.push_back(source);
    }
    for (size_t i = 0; i < kSessions; ++i)
      sessions_.push_back(service_.StartTracing(config, nullptr, nullptr));
    for (size_t i = 0; i < num_others; ++i) {
      others_.emplace_back();
      others_.back().Connect(&service_, "other", ScrapedInfo());
      TracingService::ProducerConnection& connection =
          *others_.back().connection();
      for (int j = 0; j < 5; ++j) {
        connection.RegisterDataSource(Source("other"));
        connection.RegisterDataSource(Source("other.gone"));
        connection.UnregisterDataSource("other.gone");
      }
      for (WriterID writer = 1; writer < 20; ++writer)
        connection.RegisterTraceWriter(writer, others_.back().buffer());
    }
    mine_.Connect(&service_, "mine", ScrapedInfo());
    for (const TracingSessionID session : sessions_) {
      for (int i = 0; i < 4; ++i)
        service_.Flush(session, 1000, kFlushReasonExplicit, nullptr);
    }
  }

  uint64_t Cost(const std::function<void()>& action) {
    const uint64_t before = protozero::service::NumVisits();
    action();
    return protozero::service::NumVisits() - before;
  }
  TracingService* service() { return &service_; }
  TestProducer* mine() { return &mine_; }

 private:
  uint64_t now_ = 1000;
  TracingService service_;
  std::vector<TracingSessionID> sessions_;
  std::list<TestProducer> others_;
  TestProducer mine_;
};

using Costs = std::vector<std::pair<std::string, uint64_t>>;

Costs CostsOfRequests(size_t num_others) {
  World world(num_others);
  TestProducer& mine = *world.mine();
  TracingService::ProducerConnection& connection = *mine.connection();
  Costs costs;
  const auto measure = [&](const std::string& name,
                           const std::function<void()>& action) {
    costs.emplace_back(name, world.Cost(action));
  };
  measure("unregister what is not there",
          [&] { connection.UnregisterDataSource("nothing"); });
  measure("unregister somebody else's",
          [&] { connection.UnregisterDataSource("other"); });
  measure("register what nobody wants",
          [&] { connection.RegisterDataSource(Source("nothing")); });
  measure("register", [&] { connection.RegisterDataSource(Source("mine")); });
  measure("update", [&] { connection.UpdateDataSource(Source("mine")); });
  // The producer's instances came last.
  const auto last_instance = [&] {
    const std::string calls = mine.TakeCalls();
    return std::stoull(calls.substr(calls.rfind("start") + 5));
  };
  const DataSourceInstanceID last = last_instance();
  measure("started", [&] { connection.NotifyDataSourceStarted(last); });
  measure("started again", [&] { connection.NotifyDataSourceStarted(last); });
  measure("somebody else's started",
          [&] { connection.NotifyDataSourceStarted(1); });
  measure("stopped", [&] { connection.NotifyDataSourceStopped(last); });
  measure("stopped again", [&] { connection.NotifyDataSourceStopped(last); });
  measure("register writer",
          [&] { connection.RegisterTraceWriter(7, mine.buffer()); });
  measure("register writer again",
          [&] { connection.RegisterTraceWriter(7, mine.buffer()); });
  measure("unregister writer", [&] { connection.UnregisterTraceWriter(7); });
  measure("unregister writer again",
          [&] { connection.UnregisterTraceWriter(7); });
  measure("acknowledge nothing", [&] { mine.AcknowledgeFlush(1); });
  measure("acknowledge a flush",
          [&] { mine.AcknowledgeFlush(mine.last_flush()); });
  measure("commit what is not there", [&] {
    const CommitDataRequest::ChunkToMove moves[3] = {
        {0, 0, mine.buffer()}, {1000, 0, mine.buffer()}, {0, 99, 1}};
    const CommitDataRequest::ChunkToPatch patch{1, 1, 0, nullptr, 0};
    connection.CommitData({moves, 3, &patch, 1});
  });
  measure("unregister", [&] { connection.UnregisterDataSource("mine"); });
  measure("next deadline", [&] { world.service()->NextDeadlineMs(); });
  measure("nothing is due", [&] { world.service()->RunDue(); });
  measure("disconnect", [&] { mine.Die(); });
  TestProducer late;
  measure("connect",
          [&] { late.Connect(world.service(), "x", ScrapedInfo()); });
  return costs;
}

TEST(TracingServiceCostTest, RequestsCostNothingForWhatIsNotOnesOwn) {
  const Costs alone = CostsOfRequests(1);
  const Costs among_many = CostsOfRequests(60);
  EXPECT_EQ(alone, among_many);
}

TEST(TracingServiceCostTest, RequestsCostWhatTheirProducerHas) {
  constexpr uint64_t kPages = kShmSize / TracingLimits::kDefaultShmPageSize;
  for (const auto& [request, cost] : CostsOfRequests(10)) {
    // The limit is a visit for each session, and one for what is registered.
    if (request == "disconnect")
      EXPECT_LE(cost, kPages + 10 * kSessions) << request;
    else
      EXPECT_LE(cost, 5 * kSessions) << request;
  }
}

TEST(TracingServiceCostTest, UnregisteringInALoop) {
  // This is the attack: instances that never stop, and a name that does not
  // exist.
  World world(60);
  TracingService::ProducerConnection& connection = *world.mine()->connection();
  for (int i = 0; i < 1000; ++i) {
    connection.RegisterDataSource(Source("mine"));
    connection.UnregisterDataSource("mine");
  }
  connection.RegisterDataSource(Source("mine"));
  const uint64_t cost =
      world.Cost([&] { connection.UnregisterDataSource("nothing"); });
  EXPECT_LE(cost, 1u);
  EXPECT_LE(world.Cost([&] { connection.UnregisterDataSource("mine"); }),
            1 + 2 * kSessions);
}

// The producer fills a chunk again as soon as the service has copied it: the
// service asks for the time then. One request lists that chunk over and over.
TEST(TracingServiceCostTest, OneRequestCopiesAtMostTheMemoryOnce) {
  std::function<void()> refill = [] {};
  TracingService service([&refill] {
    refill();
    return uint64_t{1000};
  });
  TraceConfig config;
  config.buffers.push_back({4 << 20, BufferFillPolicy::kRingBuffer});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = "mine";
  const TracingSessionID session =
      service.StartTracing(config, nullptr, nullptr);
  TestProducer producer;
  producer.Connect(&service, "mine", ScrapedInfo());
  const SharedMemoryABI abi = producer.abi();
  ChunkID last_chunk = 0;
  size_t chunk_size = 0;
  const auto fill = [&] {
    abi.TryPartitionPage(0, SharedMemoryABI::kPageDiv1);
    const SharedMemoryABI::Chunk chunk =
        abi.TryAcquireChunkForWriting(0, SharedMemoryABI::kPageDiv1);
    if (!chunk.is_valid())
      return;
    chunk_size = chunk.size();
    SharedMemoryABI::InitChunkForWriting(chunk, 1, ++last_chunk, 1);
    abi.ReleaseChunkAsComplete(chunk);
  };
  fill();
  const size_t most = kShmSize / chunk_size + 1;
  const std::vector<CommitDataRequest::ChunkToMove> moves(
      3 * most, CommitDataRequest::ChunkToMove{0, 0, producer.buffer()});
  producer.connection()->RegisterTraceWriter(1, producer.buffer());
  refill = fill;
  producer.connection()->CommitData({moves.data(), moves.size(), nullptr, 0});
  refill = [] {};
  const uint64_t copied = service.GetStats(session).buffers[0].chunks_written;
  EXPECT_LE(copied, most);
  // The next request may copy as much.
  EXPECT_GE(copied, most - 1);
}

TEST(TracingServiceCostTest, WritersAreLimitedAndSoAreTheirStatistics) {
  TracingService service([] { return uint64_t{1000}; });
  TraceConfig config;
  config.buffers.push_back({1 << 20, BufferFillPolicy::kRingBuffer});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = "mine";
  const TracingSessionID session =
      service.StartTracing(config, nullptr, nullptr);
  TestProducer victim;
  victim.Connect(&service, "mine", ScrapedInfo());
  std::list<TestProducer> attackers;
  for (int i = 0; i < 3; ++i) {
    attackers.emplace_back();
    TracingService::ProducerInfo info = ScrapedInfo();
    info.pid = 666;
    attackers.back().Connect(&service, "mine", std::move(info));
  }
  const auto commit = [](TestProducer* producer, WriterID writer,
                         size_t packet_size) {
    std::string chunk(sizeof(SharedMemoryABI::ChunkHeader), '\0');
    chunk[offsetof(SharedMemoryABI::ChunkHeader, packets)] = 1;
    memcpy(&chunk[offsetof(SharedMemoryABI::ChunkHeader, writer_id)], &writer,
           sizeof(writer));
    chunk += static_cast<char>(packet_size);
    chunk.append(packet_size, '\0');
    CommitDataRequest::ChunkToMove move{};
    move.target_buffer = producer->buffer();
    move.data = reinterpret_cast<const uint8_t*>(chunk.data());
    move.data_size = chunk.size();
    producer->connection()->RegisterTraceWriter(writer, producer->buffer());
    producer->connection()->CommitData({&move, 1, nullptr, 0});
  };
  for (WriterID writer = 1; writer <= 20; ++writer)
    commit(&victim, writer, 100);
  constexpr WriterID kWriters = 2000;
  for (WriterID writer = 1; writer <= kWriters; ++writer) {
    for (TestProducer& attacker : attackers)
      commit(&attacker, writer, 2);
  }
  const TraceStats stats = service.GetStats(session);
  EXPECT_EQ(stats.writers.size(), TraceStats::kMaxWriters);
  EXPECT_GT(stats.writers_left_out, 0u);
  // The sums include all writers.
  EXPECT_EQ(stats.writers_seen(), 20 + 3u * kWriters);
  EXPECT_EQ(stats.packets_begun(), 20 + 3u * kWriters);
  size_t of_victim = 0;
  for (const TraceWriterStats& writer : stats.writers) {
    of_victim += writer.producer_id == victim.connection()->id();
    EXPECT_LE(of_victim, 20u);
  }
  EXPECT_EQ(of_victim, 20u);
}

TEST(TracingServiceCostTest, MemoryToShareIsLimited) {
  TracingService service;
  TraceConfig config;
  config.buffers.push_back({1 << 20, BufferFillPolicy::kRingBuffer});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = "mine";
  const TracingSessionID session =
      service.StartTracing(config, nullptr, nullptr);
  std::list<TestProducer> producers;
  // Returns the memory that a process has after so many new connections.
  const auto connect = [&](int32_t pid, int count) {
    for (int i = 0; i < count; ++i) {
      TracingService::ProducerInfo info;
      info.pid = pid;
      info.shm_size_hint = TracingLimits::kMaxShmSize;
      producers.emplace_back();
      producers.back().Connect(&service, "mine", std::move(info));
    }
    size_t sum = 0;
    for (const TraceProducerStats& producer :
         service.GetStats(session).producers) {
      sum += producer.pid == pid ? producer.shm_size : 0;
    }
    return sum;
  };
  constexpr size_t kLimit = TracingLimits::kMaxShmSizePerProcess;
  // Each gets half of the rest.
  EXPECT_EQ(connect(1, 1), kLimit / 2);
  EXPECT_EQ(connect(1, 1), kLimit / 2 + kLimit / 4);
  EXPECT_LT(connect(1, 20), kLimit + 20 * TracingLimits::kReducedShmSize);
  EXPECT_EQ(connect(2, 1), TracingLimits::kMaxShmSize);
  producers.clear();
  EXPECT_EQ(connect(1, 1), kLimit / 2);
}

TEST(TracingServiceCostTest, NamesAreLimited) {
  TracingService service;
  TestProducer producer;
  TracingService::ProducerInfo info;
  info.name.assign(TracingLimits::kMaxProducerNameSize + 1, 'x');
  EXPECT_EQ(service.ConnectProducer(&producer, std::move(info)), nullptr);
  info.name.assign(TracingLimits::kMaxProducerNameSize, 'x');
  EXPECT_NE(service.ConnectProducer(&producer, std::move(info)), nullptr);
}

}  // namespace
}  // namespace protozero::test
