// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The well-behaved producers of the soak test.

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/producer.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/numbered_packets.h"
#include "test/tracing/soak_state.h"

namespace protozero::test {

namespace {

using SteadyClock = std::chrono::steady_clock;

// Writes numbered packets, and counts them for the life of the service that
// records them.
class SoakThread {
 public:
  SoakThread(Producer* producer,
             std::shared_ptr<DataSource> source,
             SoakSlot* slot,
             size_t index,
             uint64_t seed,
             SoakState* state)
      : producer_(producer),
        source_(std::move(source)),
        slot_(slot),
        index_(index),
        random_(seed),
        state_(state) {}

  void Run() {
    writers_ = std::make_unique<DataSourceWriters>(source_);
    while (!state_->producers_end) {
      if (state_->pause != slot_->paused[index_]) {
        writers_->Flush();
        slot_->paused[index_] = state_->pause.load();
      }
      if (slot_->paused[index_] != 0) {
        usleep(1000);
        continue;
      }
      // Sometimes these are more packets than the memory holds.
      const uint64_t num_packets = random_() % (random_() % 64 == 0 ? 600 : 10);
      for (uint64_t i = 0; i < num_packets && state_->pause == 0; ++i)
        Write();
      if (random_() % 16 == 0)
        Commit();
      usleep(static_cast<useconds_t>(random_() % 20000));
    }
    writers_.reset();
  }

 private:
  SoakAccount* account() { return &slot_->accounts[index_][life_]; }

  void Write() {
    writers_->Trace([this](TraceContext& context) {
      const std::string& fields = context.instance().config().raw_fields;
      const uint32_t life =
          ProtoDecoder(fields).FindField(kSoakLifeFieldId).as_uint32();
      if (life != life_) {
        life_ = life;
        stream_ = ++state_->next_stream;
        next_index_ = 0;
        for (size_t i = 0; i < kNumWriterLossReasons; ++i)
          lost_before_[i] = account()->lost[i];
      }
      ++account()->begun;
      {
        auto packet = context.NewTracePacket();
        WriteNumberedPacket(stream_, next_index_++, kMaxNumberedPacketSize,
                            packet.get());
      }
      // These are the losses of this life only, because each life has a writer
      // of its own.
      const PacketLosses losses = context.writer().losses();
      for (size_t i = 0; i < kNumWriterLossReasons; ++i)
        account()->lost[i] = lost_before_[i] + losses.packets[i];
    });
  }

  // Commits, and measures how long it takes until the service has it.
  void Commit() {
    const uint32_t life = life_;
    const uint64_t lost = account()->total_lost();
    const bool is_connected = producer_->state() == Producer::State::kConnected;
    const uint32_t connections = producer_->num_connections();
    const SteadyClock::time_point begin = SteadyClock::now();
    writers_->Flush();
    if (!producer_->Sync(kTimeoutMs))
      return;
    const auto latency = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(
            SteadyClock::now() - begin)
            .count());
    slot_->accounts[index_][life].reported = lost;
    ++slot_->num_answers;
    // The time until there is a new service does not count.
    if (!is_connected || producer_->num_connections() != connections)
      return;
    size_t bucket = 0;
    while (bucket + 1 < SoakState::kLatencies && latency >> bucket != 0)
      ++bucket;
    ++state_->latencies[bucket];
    uint64_t max = state_->max_latency_us;
    while (max < latency &&
           !state_->max_latency_us.compare_exchange_weak(max, latency)) {
    }
  }

  Producer* const producer_;
  const std::shared_ptr<DataSource> source_;
  SoakSlot* const slot_;
  const size_t index_;
  std::mt19937_64 random_;
  SoakState* const state_;
  std::unique_ptr<DataSourceWriters> writers_;
  uint32_t life_ = 0;
  uint32_t stream_ = 0;
  uint32_t next_index_ = 0;
  uint64_t lost_before_[kNumWriterLossReasons] = {};
};

}  // namespace

void RunSoakProducer(const std::string& socket,
                     size_t slot,
                     uint64_t seed,
                     SoakState* state) {
  // The process ends without waiting for its threads.
  const auto end = [](SoakProducerEnd how) { _exit(static_cast<int>(how)); };
  const uint32_t first_life = state->life;
  std::mt19937_64 random(seed);
  Producer::Options options;
  options.name = "soak";
  options.socket = socket;
  options.shared_memory_size = size_t{32 * 1024} << random() % 4;
  options.page_layout = random() % 2 == 0 ? SharedMemoryABI::kPageDiv4
                                          : SharedMemoryABI::kPageDiv14;
  options.commit_period_ms = 20;
  options.stall_timeout_ms = 1000;
  options.idle_period_ms = 50;
  options.max_reconnect_pause_ms = 50;
  Producer producer(options);
  const std::shared_ptr<DataSource> sources[kSoakThreads] = {
      std::make_shared<DataSource>(DataSourceDescriptor{kSourceName},
                                   BufferExhaustedPolicy::kDrop),
      std::make_shared<DataSource>(
          DataSourceDescriptor{kSoakStallingSourceName},
          BufferExhaustedPolicy::kStall)};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kSoakThreads; ++i) {
    producer.RegisterDataSource(sources[i]);
    threads.emplace_back([&, i, thread_seed = random()] {
      SoakThread(&producer, sources[i], &state->slots[slot], i, thread_seed,
                 state)
          .Run();
    });
  }
  while (!state->producers_end) {
    const Producer::OffReason reason = producer.off_reason();
    state->slots[slot].off_reason = static_cast<int>(reason);
    if (reason == Producer::OffReason::kNoSharedMemory ||
        reason == Producer::OffReason::kNoDescriptors) {
      end(SoakProducerEnd::kNoMemory);
    }
    const uint32_t connections = producer.num_connections();
    const uint32_t lives = state->life - first_life + 1;
    if (connections > lives) {
      fprintf(stderr, "connected %u times to %u services\n", connections,
              lives);
      end(SoakProducerEnd::kFault);
    }
    usleep(10000);
  }
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace protozero::test
