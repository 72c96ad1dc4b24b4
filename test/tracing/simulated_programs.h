// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_SIMULATED_PROGRAMS_H_
#define TEST_TRACING_SIMULATED_PROGRAMS_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/data_source_writers.h"
#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/producer_loop.h"
#include "src/tracing/ipc/producer_shared.h"
#include "test/tracing/hostile_client.h"
#include "test/tracing/numbered_packets.h"
#include "test/tracing/raw_client.h"
#include "test/tracing/simulated_system.h"

// The neighbours of a recorder in a SimulatedSystem.

namespace protozero::test {

inline constexpr char kGoodSourceName[] = "good";
inline constexpr uint32_t kMaxSimulatedPacketSize = 6000;

// The packets of one writer, as its threads know them: one after the other, if
// threads end.
struct Stream {
  const SimulatedSystem::Process* process = nullptr;
  TracingSessionID session = 0;
  uint32_t begun = 0;
  uint32_t finished = 0;
  PacketLosses lost;
};

// The streams of all writers, by number. It outlives them.
using StreamList = std::vector<std::unique_ptr<Stream>>;

// The number of the stream of a context.
struct StreamNumber : TraceContextState {
  explicit StreamNumber(uint32_t the_number) : number(the_number) {}
  const uint32_t number;
};

// A well-behaved program: a producer, and threads that trace.
class Program {
 public:
  Program(SimulatedSystem* system,
          StreamList* streams,
          const std::string& socket,
          BufferExhaustedPolicy policy)
      : system_(system),
        streams_(streams),
        process_(system->AddProcess("program")),
        source_(
            std::make_shared<DataSource>(DataSourceDescriptor{kGoodSourceName},
                                         policy)),
        shared_(OptionsOf(system, socket), ScopedFd()),
        loop_(&shared_) {
    shared_.sources.push_back(source_);
    process_->is_doomed = system->OneIn(4);
    process_->on_death = [this] { shared_.is_stopping = true; };
    system->StartThread(process_, [this] {
      loop_.Run();
      system_->Note("the producer ends");
    });
    for (uint32_t i = system->Below(3) + 1; i > 0; --i)
      system->StartThread(process_, [this] { Trace(); });
  }

  SimulatedSystem::Process* process() const { return process_; }
  uint32_t num_connections() const { return shared_.num_connections; }
  bool lets_the_service_look() const { return shared_.options.scraping; }
  bool has_threads() const { return num_threads_ != 0; }
  void StopThreads() { is_stopping_ = true; }
  void StopProducer() {
    std::lock_guard<std::mutex> lock(internal::ClientLock());
    shared_.is_stopping = true;
    shared_.wakeup.Notify();
  }

 private:
  static Producer::Options OptionsOf(SimulatedSystem* system,
                                     const std::string& socket) {
    Producer::Options options;
    options.name = "program";
    options.socket = socket;
    options.service_owner = Producer::ServiceOwner::kAnybody;
    options.shared_memory_size = size_t{16 * 1024} << system->Below(4);
    options.page_size = 4096;
    constexpr SharedMemoryABI::PageLayout kLayouts[] = {
        SharedMemoryABI::kPageDiv1, SharedMemoryABI::kPageDiv4,
        SharedMemoryABI::kPageDiv14};
    options.page_layout = kLayouts[system->Below(3)];
    options.stall_timeout_ms = system->Below(20);
    options.commit_period_ms = 1 + system->Below(50);
    options.idle_period_ms = system->Below(3) * 20;
    options.max_reconnect_pause_ms = 10;
    options.scraping = !system->OneIn(4);
    return options;
  }

  // Does the work of a thread.
  void Trace() {
    ++num_threads_;
    {
      DataSourceWriters writers(source_);
      const uint32_t burst = system_->OneIn(4) ? 30 : 3;
      while (!is_stopping_ && !process_->is_dead) {
        for (uint32_t i = system_->Below(burst) + 1; i > 0; --i)
          WritePacket(&writers);
        if (system_->OneIn(8))
          writers.Flush();
        system_->SleepUntil(system_->now_ns() + system_->Below(4000000));
      }
    }
    --num_threads_;
    system_->Note("a thread ends");
  }

  void WritePacket(DataSourceWriters* writers) {
    const bool pauses = system_->OneIn(4);
    writers->Trace([&](TraceContext& context) {
      if (context.state() == nullptr)
        AddStream(&context);
      const uint32_t number =
          static_cast<const StreamNumber*>(context.state())->number;
      Stream* const stream = (*streams_)[number].get();
      {
        auto packet = context.NewTracePacket();
        const uint32_t index = stream->begun++;
        system_->Note("packet %u of stream %u", index, number);
        WriteNumberedPacket(number, index, kMaxSimulatedPacketSize,
                            packet.get(), [&] {
                              if (pauses && system_->OneIn(8))
                                system_->Yield();
                            });
      }
      if (process_->is_dead)
        return;
      ++stream->finished;
      stream->lost = context.writer().losses();
    });
  }

  void AddStream(TraceContext* context) {
    uint32_t number = static_cast<uint32_t>(streams_->size());
    const WriterID writer_id = context->writer().writer_id();
    if (writer_id != 0) {
      number =
          stream_of_writer_
              .emplace(std::pair(context->instance().id(), writer_id), number)
              .first->second;
    }
    if (number != streams_->size()) {
      context->set_state(std::make_unique<StreamNumber>(number));
      return system_->Note("another thread goes on with stream %u", number);
    }
    streams_->push_back(std::make_unique<Stream>());
    Stream* const stream = streams_->back().get();
    stream->process = process_;
    stream->session = context->instance().config().tracing_session_id;
    context->set_state(std::make_unique<StreamNumber>(number));
    system_->Note("stream %u is in session %u", number,
                  static_cast<unsigned>(stream->session));
  }

  SimulatedSystem* const system_;
  StreamList* const streams_;
  SimulatedSystem::Process* const process_;
  const std::shared_ptr<DataSource> source_;
  internal::ProducerShared shared_;
  internal::ProducerLoop loop_;
  std::map<std::pair<DataSourceInstanceID, WriterID>, uint32_t>
      stream_of_writer_;
  uint32_t num_threads_ = 0;
  bool is_stopping_ = false;
};

// A producer that sends anything.
class Garbler {
 public:
  Garbler(SimulatedSystem* system,
          const std::string& socket,
          const SimulatedSystem::Process* process)
      : system_(system), socket_(socket), process_(process) {}

  void Run() {
    while (!process_->is_dead) {
      std::string error;
      ScopedFd fd = ConnectToUnixSocket(socket_, &error);
      if (fd.is_valid()) {
        RawClient client(std::move(fd));
        Send(&client);
        system_->Note("ends the connection");
      }
      system_->SleepUntil(system_->now_ns() + 1000000);
    }
  }

 private:
  void Send(RawClient* client) {
    if (!system_->OneIn(8))
      client->Bind();
    if (!system_->OneIn(8))
      client->Initialize();
    if (!system_->OneIn(4))
      client->Invoke(3, kGetAsyncCommand);
    if (!system_->OneIn(4))
      RegisterSource(client, 4, kHostileSourceName);
    while (!client->is_broken() && !process_->is_dead && !system_->OneIn(64)) {
      switch (system_->Below(8)) {
        case 0:
          // Usually this breaks the stream.
          if (system_->OneIn(16))
            client->SendBytes(Bytes());
          break;
        case 1:
          client->SendBytes(RawClient::Framed(Bytes()));
          break;
        case 2:
          client->CountReceived();
          break;
        case 3:
          client->Invoke<tracing::pbzero::CommitDataRequest>(
              system_->Random(), kCommit,
              [this](auto* request) { WriteForgedCommit(request); },
              system_->OneIn(2));
          break;
        default:
          client->Invoke<Message>(
              system_->Random(), system_->Below(14),
              [this](Message* message) {
                const std::string bytes = Bytes();
                message->AppendRawProtoBytes(bytes.data(), bytes.size());
              },
              system_->OneIn(2));
      }
    }
  }

  std::string Bytes() {
    std::string bytes(system_->Below(40), '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(system_->Below(system_->OneIn(2) ? 32 : 256));
    return bytes;
  }

  // Writes a chunk, patches and losses as if a program had sent them.
  void WriteForgedCommit(tracing::pbzero::CommitDataRequest* request) {
    std::string chunk(16, '\0');
    chunk[0] = static_cast<char>(system_->Below(4));
    chunk[4] = static_cast<char>(1 + system_->Below(3));
    chunk[6] = static_cast<char>(system_->Below(4));
    chunk[8] = static_cast<char>(system_->Below(8));
    auto* const move = request->add_chunks_to_move();
    move->set_target_buffer(system_->Below(5));
    move->set_data(chunk);
    auto* const patch = request->add_chunks_to_patch();
    patch->set_target_buffer(system_->Below(5));
    patch->set_trace_writer_id(1 + system_->Below(3));
    patch->set_chunk_id(system_->Below(4));
    auto* const losses = request->add_writer_losses();
    losses->set_trace_writer_id(system_->Below(4));
    losses->set_target_buffer(system_->Below(5));
    losses->set_reason(system_->Below(8));
    losses->set_packets(system_->OneIn(2) ? system_->Below(8)
                                          : system_->Random());
    losses->set_begun(system_->Below(8));
    request->set_flush_request_id(system_->Below(16));
  }

  SimulatedSystem* const system_;
  const std::string socket_;
  const SimulatedSystem::Process* const process_;
};

}  // namespace protozero::test

#endif  // TEST_TRACING_SIMULATED_PROGRAMS_H_
