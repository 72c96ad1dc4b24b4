// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests producers, their service and a recorder under one scheduler, which a
// number decides: which thread runs, how much of a message arrives, who dies.
// The test is short by default; at length, and again for a number that has
// failed:
//
//   tracing_simulation_unittests --seeds=10000
//   tracing_simulation_unittests --seeds=1 --seed=123

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/record/trace_drain.h"
#include "src/pztrace/trace_file/trace_output.h"
#include "test/testing/flags.h"
#include "test/testing/sanitizers.h"
#include "test/tracing/hostile_client.h"
#include "test/tracing/numbered_packets.h"
#include "test/tracing/simulated_programs.h"
#include "test/tracing/simulated_system.h"

#if PROTOZERO_TEST_HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace protozero::test {
namespace {

using Process = SimulatedSystem::Process;

constexpr int64_t kMs = 1000000;
// The field ids of packets that only the service writes, and the ones of
// numbered packets.
enum : uint32_t {
  kUid = 3,
  kSequence = 10,
  kPid = 79,
  kEvent = 900,
  kStream = 1,
};

// A session of the recorder, and the file that it writes.
struct Session {
  Session(TracingService* service,
          TracingSessionID the_id,
          TracingSessionID the_source)
      : id(the_id),
        source(the_source),
        file(memfd_create("trace", MFD_CLOEXEC)),
        drain(service, the_id, &output, /*period_ms=*/0) {
    EXPECT_TRUE(output.Open("/proc/self/fd/" + std::to_string(file.get()), {}));
  }

  std::string ReadFile() const {
    std::string bytes;
    char part[65536];
    ssize_t size;
    while ((size = pread(file.get(), part, sizeof(part),
                         static_cast<off_t>(bytes.size()))) > 0) {
      bytes.append(part, static_cast<size_t>(size));
    }
    return bytes;
  }

  const TracingSessionID id;
  // The session that it is a copy of; or itself.
  const TracingSessionID source;
  bool is_stopping = false;
  // The packets that threads had finished when it was to stop.
  uint64_t finished = 0;
  // True if it is read at the end, and so are its copies.
  bool is_read_at_end = false;
  // True if programs had ended their threads before it stopped.
  bool is_quiet = false;
  const ScopedFd file;
  pztrace::TraceOutput output;
  pztrace::TraceDrain drain;
};

// One run: a recorder, its service, and its neighbours.
class Simulation {
 public:
  Simulation(uint64_t seed, bool prints_history)
      : system_(seed, prints_history),
        socket_("@protozero_simulation_" + std::to_string(getpid())),
        host_(&service_, HostOptions()) {}

  void Run() {
    std::string error;
    ASSERT_TRUE(host_.Listen(&error)) << error;
    step_ns_ = (kMs / 20) << (2 * system_.Below(4));
    shares_buffer_ = system_.OneIn(4);
    StartSession();
    for (uint32_t i = system_.Below(3) + 1; i > 0; --i)
      AddProgram();
    for (uint32_t i = system_.Below(3); i > 0; --i)
      AddHostile();
    has_full_disk_ = system_.OneIn(16);
    if (has_full_disk_) {
      // The recorder prints what is wrong.
      testing::internal::CaptureStderr();
      system_.set_disk_room(system_.Below(30000));
    }
    for (uint32_t i = 200 + system_.Below(400); i > 0; --i)
      Step();
    End();
    for (const auto& session : sessions_)
      Check(session.get());
    for (const auto& session : sessions_)
      service_.CloseSession(session->id);
    EXPECT_EQ(flushes_begun_, flushes_ended_);
    if (has_full_disk_)
      testing::internal::GetCapturedStderr();
  }

  const SimulatedSystem& system() const { return system_; }
  uint64_t received() const { return received_; }
  const PacketLosses& lost() const { return lost_; }

 private:
  // The most connections, so few that hostile processes take all of them.
  static constexpr size_t kMaxConnections = 8;

  ServiceHost::Options HostOptions() {
    ServiceHost::Options options;
    options.socket = socket_;
    options.max_connections = kMaxConnections;
    options.max_connections_per_process = 4;
    options.max_queued_bytes = 20000;
    return options;
  }

  void AddSession(TracingSessionID id,
                  TracingSessionID source,
                  bool is_read_at_end) {
    sessions_.push_back(std::make_unique<Session>(&service_, id, source));
    sessions_.back()->is_read_at_end = is_read_at_end;
    system_.Note("session %u starts%s", static_cast<unsigned>(id),
                 id == source ? "" : " as a copy");
  }

  void StartSession() {
    TraceConfig config;
    constexpr size_t kSizes[] = {8 * 1024, 64 * 1024, 1024 * 1024};
    for (int i = 0; i < 2; ++i) {
      config.buffers.push_back({kSizes[system_.Below(3)],
                                system_.OneIn(2) ? BufferFillPolicy::kRingBuffer
                                                 : BufferFillPolicy::kDiscard});
    }
    config.data_sources.resize(2);
    config.data_sources[0].config.name = kGoodSourceName;
    config.data_sources[1].config.name = kHostileSourceName;
    config.data_sources[1].config.target_buffer = shares_buffer_ ? 0 : 1;
    if (system_.OneIn(2))
      config.flush_period_ms = 1 + system_.Below(50);
    if (system_.OneIn(4))
      config.incremental_state_clear_period_ms = 1 + system_.Below(50);
    config.flush_timeout_ms = 5000;
    std::string error;
    const TracingSessionID id = service_.StartTracing(config, nullptr, &error);
    ASSERT_NE(id, 0u) << error;
    AddSession(id, id, system_.OneIn(3));
  }

  void AddProgram() {
    programs_.push_back(std::make_unique<Program>(
        &system_, &streams_, socket_,
        system_.OneIn(2) ? BufferExhaustedPolicy::kDrop
                         : BufferExhaustedPolicy::kStall));
  }

  void AddHostile() {
    Process* const process = system_.AddProcess("hostile");
    process->waits_to_send = true;
    hostile_.push_back(process);
    for (uint32_t i = system_.OneIn(4) ? 6 : 1; i > 0; --i) {
      if (system_.OneIn(2)) {
        system_.StartThread(process, [this, process] {
          Garbler(&system_, socket_, process).Run();
        });
      } else {
        const uint64_t seed = system_.Random();
        system_.StartThread(
            process, [this, process, seed] { RunHostile(process, seed); });
      }
    }
  }

  void RunHostile(const Process* process, uint64_t seed) {
    while (!process->is_dead) {
      HostileClient(socket_, seed++).Run();
      system_.Note("loses the connection");
      system_.SleepUntil(system_.now_ns() + kMs);
    }
  }

  void Step() {
    system_.Advance(system_.Below(static_cast<uint64_t>(step_ns_)));
    switch (system_.Below(16)) {
      case 0:
      case 1:
      case 2:
        RunHost();
        break;
      case 3:
        Act();
        break;
      default:
        system_.RunSomeThread();
    }
  }

  void RunHost() {
    host_.RunOnce(0);
    EXPECT_LE(host_.num_connections(), kMaxConnections);
  }

  // Does something that is rare.
  void Act() {
    Session* const session = sessions_[system_.Below(sessions_.size())].get();
    switch (system_.Below(16)) {
      case 0:
        if (sessions_.size() < 3)
          StartSession();
        break;
      case 1:
        if (programs_.size() < 4)
          AddProgram();
        break;
      case 2:
        if (system_.OneIn(2))
          system_.Kill(programs_[system_.Below(programs_.size())]->process());
        break;
      case 3:
        if (!hostile_.empty())
          system_.Kill(hostile_[system_.Below(hostile_.size())]);
        break;
      case 4:
        if (system_.OneIn(4))
          Stop(session);
        break;
      case 5:
        if (sessions_.size() < 4 && session->id == session->source)
          Clone(*session);
        break;
      case 6:
      case 7:
        Flush(*session);
        break;
      default:
        if (!session->is_read_at_end && session->id == session->source)
          session->drain.ReadSome();
        system_.Note(
            "session %u has %llu packets", static_cast<unsigned>(session->id),
            static_cast<unsigned long long>(session->output.packets()));
    }
  }

  void Clone(const Session& session) {
    std::string error;
    const TracingSessionID id = service_.CloneSession(session.id, &error);
    if (id != 0)
      AddSession(id, session.id, session.is_read_at_end);
  }

  void Flush(const Session& session) {
    system_.Note("flushes session %u", static_cast<unsigned>(session.id));
    flushes_begun_ += service_.Flush(session.id, 0, kFlushReasonExplicit,
                                     [this](bool) { ++flushes_ended_; }) != 0;
  }

  void Stop(Session* session) {
    if (session->is_stopping || session->id != session->source)
      return;
    session->is_stopping = true;
    for (const std::unique_ptr<Stream>& stream : streams_) {
      if (stream->session == session->id)
        session->finished += stream->finished;
    }
    service_.StopTracing(session->id);
    system_.Note("stops session %u", static_cast<unsigned>(session->id));
  }

  // Lets everything come to its end, in one of several orders.
  void End() {
    system_.CalmDown();
    const bool stops_threads = !system_.OneIn(4);
    const bool stops_producers = stops_threads && system_.OneIn(2);
    system_.Note("the end begins: threads %d, producers %d", stops_threads,
                 stops_producers);
    if (stops_threads)
      StopPrograms(stops_producers);
    for (const auto& session : sessions_) {
      session->is_quiet = stops_threads && !session->is_stopping &&
                          session->id == session->source;
      Stop(session.get());
      RunUntil([&] {
        return service_.GetState(session->id) == TracingService::kStopped;
      });
      session->drain.ReadAll();
      session->output.Close();
    }
    StopPrograms(true);
    for (const std::unique_ptr<Program>& program : programs_)
      EXPECT_LE(program->num_connections(), 1u) << "a program lost its service";
    for (Process* const process : hostile_)
      system_.Kill(process);
    RunUntil([this] {
      return !system_.has_fibers() && host_.num_connections() == 0;
    });
  }

  void StopPrograms(bool with_producers) {
    for (const std::unique_ptr<Program>& program : programs_)
      program->StopThreads();
    RunUntil([this] {
      for (const std::unique_ptr<Program>& program : programs_) {
        if (program->has_threads())
          return false;
      }
      return true;
    });
    if (!with_producers)
      return;
    for (const std::unique_ptr<Program>& program : programs_)
      program->StopProducer();
    RunUntil([this] {
      for (const std::unique_ptr<Program>& program : programs_) {
        if (system_.IsRunning(program->process()))
          return false;
      }
      return true;
    });
  }

  template <typename Condition>
  void RunUntil(Condition condition) {
    for (int i = 0; !condition(); ++i) {
      // An answer comes before the time of a timeout passes.
      system_.Advance(i < 200 ? kMs / 4 : 100 * kMs);
      RunHost();
      system_.RunAllThreads();
      ASSERT_LT(i, 2000) << "nothing happens any more";
    }
  }

  // The packets of programs in a session's file.
  struct Received {
    explicit Received(const Session* the_session)
        : session(the_session),
          // Some of a copy may have been read from its source before.
          is_whole(
              session->output.packets_lost() == 0 &&
              (session->id == session->source || session->is_read_at_end)) {}
    const Session* const session;
    // True if the file has everything that was read.
    const bool is_whole;
    PacketChecker checker{kMaxSimulatedPacketSize};
    uint64_t packets = 0;
    std::map<uint32_t, uint32_t> stream_of_sequence;
  };

  // Checks what has become of all packets of a session.
  void Check(const Session* session) {
    SCOPED_TRACE("session " + std::to_string(session->id));
    Received received(session);
    const std::string trace = session->ReadFile();
    uint64_t in_file = 0;
    ProtoDecoder decoder(trace);
    for (Field field = decoder.ReadField(); field;
         field = decoder.ReadField()) {
      ++in_file;
      CheckPacket(field.as_bytes(), &received);
    }
    ASSERT_EQ(decoder.status(), DecodeStatus::kOk);
    if (received.is_whole) {
      EXPECT_EQ(received.checker.num_errors(), 0u) << received.checker.errors();
    }
    EXPECT_EQ(in_file, session->output.packets());
    received_ += received.packets;

    const TraceStats stats = service_.GetStats(session->id);
    if (session->id == session->source) {
      EXPECT_GE(in_file + session->output.packets_lost(), stats.packets_read());
    }
    for (size_t i = 0; i < stats.buffers.size(); ++i) {
      const TraceBufferStats& buffer = stats.buffers[i];
      EXPECT_EQ(buffer.packets_begun, buffer.packets_read + buffer.lost.total())
          << "buffer " << i << (shares_buffer_ ? ", shared" : "");
    }
    CheckWriters(received, stats);
    if (shares_buffer_)
      return;
    const TraceBufferStats& buffer = stats.buffers[0];
    lost_.Add(buffer.lost);
    if (received.is_whole) {
      EXPECT_EQ(buffer.packets_read, received.packets);
    }
    EXPECT_EQ(buffer.abi_violations, 0u);
    if (session->id == session->source)
      CheckSums(*session, buffer);
  }

  // Returns true if some program has died. Then the service need not know all.
  bool HasDeath() const {
    for (const std::unique_ptr<Program>& program : programs_) {
      if (program->process()->is_dead)
        return true;
    }
    return false;
  }

  bool AllLetTheServiceLook() const {
    for (const std::unique_ptr<Program>& program : programs_) {
      if (!program->lets_the_service_look())
        return false;
    }
    return true;
  }

  // Checks the ledger of each writer that has something in the file.
  void CheckWriters(const Received& received, const TraceStats& stats) {
    for (const TraceWriterStats& writer : stats.writers) {
      const auto found = received.stream_of_sequence.find(writer.sequence_id);
      EXPECT_EQ(writer.packets_begun,
                writer.packets_read + writer.lost.total());
      if (found == received.stream_of_sequence.end())
        continue;
      const Stream& stream = *streams_[found->second];
      EXPECT_LE(writer.packets_begun, stream.begun);
      if (received.is_whole) {
        EXPECT_EQ(writer.packets_read,
                  received.checker.streams().at(found->second).received);
      }
      if (received.session->is_quiet && !stream.process->is_dead) {
        EXPECT_EQ(writer.packets_begun, stream.begun);
      }
    }
  }

  // Checks the ledger's sums, as far as they follow from what threads know.
  void CheckSums(const Session& session, const TraceBufferStats& buffer) {
    uint64_t begun = 0;
    uint64_t num_streams = 0;
    PacketLosses lost;
    for (const std::unique_ptr<Stream>& stream : streams_) {
      if (stream->session != session.id)
        continue;
      begun += stream->begun;
      lost.Add(stream->lost);
      ++num_streams;
    }
    EXPECT_LE(buffer.packets_begun, begun);
    const bool has_death = HasDeath();
    // A thread in the middle of a packet keeps the packets before it, too.
    if (!has_death && (session.is_quiet || AllLetTheServiceLook())) {
      EXPECT_EQ(buffer.unknown_losses, 0u);
    }
    if (buffer.unknown_losses == 0) {
      // A writer that dies has not reported its last losses.
      const uint64_t unreported =
          has_death ? lost.of(LossReason::kMemoryFull) +
                          lost.of(LossReason::kStallTimedOut) + 2 * num_streams
                    : 0;
      EXPECT_GE(buffer.packets_begun + unreported, session.finished);
    }
    if (!session.is_quiet || has_death)
      return;
    EXPECT_EQ(buffer.packets_begun, begun);
    EXPECT_EQ(buffer.lost.of(LossReason::kIncomplete), 0u);
    for (size_t i = 0; i < kNumWriterLossReasons; ++i)
      EXPECT_LE(buffer.lost.packets[i], lost.packets[i]) << "reason " << i;
  }

  void CheckPacket(ConstBytes packet, Received* received) {
    ProtoDecoder decoder(packet);
    const uid_t uid = decoder.FindField(kUid).as_uint32();
    const pid_t pid = decoder.FindField(kPid).as_int32();
    const uint32_t sequence = decoder.FindField(kSequence).as_uint32();
    const Process* process = nullptr;
    for (const std::unique_ptr<Program>& program : programs_) {
      if (program->process()->pid == pid)
        process = program->process();
    }
    // A hostile process may write what it likes, but under its own name.
    if (process == nullptr)
      return;
    ++received->packets;
    EXPECT_EQ(uid, process->uid);
    const Field event = decoder.FindField(kEvent);
    ASSERT_TRUE(event) << "no program has written that";
    const uint32_t number =
        ProtoDecoder(event.as_bytes()).FindField(kStream).as_uint32();
    ASSERT_LT(number, streams_.size());
    EXPECT_EQ(streams_[number]->process, process);
    EXPECT_EQ(streams_[number]->session, received->session->source);
    // A sequence is one stream.
    EXPECT_EQ(
        received->stream_of_sequence.emplace(sequence, number).first->second,
        number);
    received->checker.AddPacket(packet);
  }

  SimulatedSystem system_;
  const std::string socket_;
  TracingService service_;
  ServiceHost host_;
  // The most time that passes in a step.
  int64_t step_ns_ = 0;
  bool shares_buffer_ = false;
  bool has_full_disk_ = false;
  std::vector<std::unique_ptr<Session>> sessions_;
  StreamList streams_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<Process*> hostile_;
  uint64_t flushes_begun_ = 0;
  uint64_t flushes_ended_ = 0;
  uint64_t received_ = 0;
  PacketLosses lost_;
};

// The seed of the run, for when it crashes.
std::atomic<uint64_t> g_seed{0};

void PrintSeed() {
  dprintf(STDERR_FILENO, "crashed: --seeds=1 --seed=%llu\n",
          (unsigned long long)g_seed);
}

void TellSeedOfCrash() {
#if PROTOZERO_TEST_HAS_ASAN
  __sanitizer_set_death_callback(&PrintSeed);
#else
  for (const int signal_number : {SIGABRT, SIGBUS, SIGSEGV}) {
    signal(signal_number, [](int number) {
      PrintSeed();
      signal(number, SIG_DFL);
      raise(number);
    });
  }
#endif
}

TEST(SimulationTest, WhatIsWrittenIsReceivedOrLost) {
  TellSeedOfCrash();
  const uint64_t first = Flag("seed", 1);
  const uint64_t seeds = Flag("seeds", 500);
  uint64_t received = 0;
  PacketLosses lost;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("--seeds=1 --seed=" + std::to_string(seed));
    g_seed = seed;
    {
      Simulation simulation(seed, /*prints_history=*/seeds == 1);
      simulation.Run();
      received += simulation.received();
      lost.Add(simulation.lost());
    }
    if (HasFailure()) {
      if (seeds != 1)
        Simulation(seed, /*prints_history=*/true).Run();
      return;
    }
  }
  printf("%llu packets received, lost:", (unsigned long long)received);
  for (size_t i = 0; i < kNumLossReasons; ++i) {
    printf(" %llu %s,", (unsigned long long)lost.packets[i],
           LossReasonToString(static_cast<LossReason>(i)));
  }
  printf("\n");
}

TEST(SimulationTest, SeedReplaysExactly) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    uint64_t digests[2];
    for (uint64_t& digest : digests) {
      Simulation simulation(seed, /*prints_history=*/false);
      simulation.Run();
      digest = simulation.system().digest();
    }
    EXPECT_EQ(digests[0], digests[1]) << seed;
  }
}

}  // namespace
}  // namespace protozero::test
