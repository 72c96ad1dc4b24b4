// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A producer of known packets, and a check that they have arrived. See
// traced_test.py.

#include <signal.h>
#include <stdio.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "protozero/tracing/producer.h"
#include "src/program/command_line.h"
#include "test/tracing/numbered_packets.h"

namespace {

using namespace protozero;

struct Flags {
  uint32_t threads = 4;
  uint32_t packets = 2000;
  uint32_t writers = 1;
  uint32_t max_size = 50000;
  uint32_t page_size = 4096;
  uint32_t memory = 256 * 1024;
  uint32_t layout = SharedMemoryABI::kPageDiv14;
  uint32_t drop = 0;
  uint32_t stall_timeout_ms = 30000;
  uint32_t stop_service = 0;
  uint32_t extend = 0;
  uint32_t first_stream = 0;
  uint32_t pause_at = UINT32_MAX;
  std::string trigger;
};

class Source : public DataSource {
 public:
  using DataSource::DataSource;
  std::future<void> started() { return started_.get_future(); }

 private:
  void OnStart(const DataSourceInstance&) override { started_.set_value(); }

  std::promise<void> started_;
};

struct Written {
  uint32_t stream;
  uint32_t packets;
  uint64_t lost;
};

// Waits for a line of input.
void Pause() {
  printf("paused\n");
  fflush(stdout);
  getchar();
}

// Does the work of one thread. Returns a line for each of its streams.
std::vector<Written> WriteStreams(Producer* producer,
                                  const std::shared_ptr<DataSource>& source,
                                  uint32_t thread,
                                  const Flags& flags) {
  std::vector<Written> written;
  for (uint32_t i = 0; i < flags.writers; ++i) {
    const uint32_t stream = flags.first_stream + thread * flags.writers + i;
    DataSourceWriters writers(source);
    uint32_t packets = flags.packets;
    bool is_behind = false;
    uint64_t lost = 0;
    for (uint32_t index = 0; index < flags.packets; ++index) {
      if (index == flags.pause_at)
        Pause();
      // While the service is stopped, it frees no chunks.
      if (flags.stop_service != 0 && index == flags.packets / 3) {
        // All of the memory is free after this. So it certainly becomes full in
        // the middle of this packet.
        writers.Flush();
        producer->Sync(30000);
        kill(static_cast<pid_t>(flags.stop_service), SIGSTOP);
        writers.Trace([](TraceContext& context) {
          context.NewTracePacket()->AppendString(1000,
                                                 std::string(1 << 20, 'x'));
        });
        ++packets;
      }
      if (flags.stop_service != 0 && index == 2 * flags.packets / 3) {
        kill(static_cast<pid_t>(flags.stop_service), SIGCONT);
        is_behind = true;
      }
      // Waits until there is a free chunk.
      if (is_behind) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        is_behind = writers.packets_lost() != lost;
        lost = writers.packets_lost();
      }
      writers.Trace([&](TraceContext& context) {
        auto packet = context.NewTracePacket();
        test::WriteNumberedPacket(stream, index, flags.max_size, packet.get());
        // The packet ends at the beginning of another chunk.
        if (flags.extend != 0 && index % flags.extend == 0)
          packet.TakeStreamWriter()->Extend();
      });
    }
    written.push_back({stream, packets, writers.packets_lost()});
  }
  return written;
}

int Write(const Flags& flags) {
  const auto source =
      std::make_shared<Source>(DataSourceDescriptor{"protozero.test"},
                               flags.drop ? BufferExhaustedPolicy::kDrop
                                          : BufferExhaustedPolicy::kStall);
  std::future<void> started = source->started();
  Producer::Options options;
  options.name = "traced_producer";
  options.page_size = flags.page_size;
  options.shared_memory_size = flags.memory;
  options.page_layout = static_cast<SharedMemoryABI::PageLayout>(flags.layout);
  options.stall_timeout_ms = flags.stall_timeout_ms;
  Producer producer(options);
  producer.RegisterDataSource(source);
  if (!producer.Sync(30000)) {
    fprintf(stderr, "traced_producer: there is no service\n");
    return 1;
  }
  printf("registered\n");
  fflush(stdout);
  // The service forgets a trigger that comes before the session.
  for (int i = 0; !flags.trigger.empty(); ++i) {
    producer.ActivateTrigger(flags.trigger);
    if (started.wait_for(std::chrono::milliseconds(50)) ==
        std::future_status::ready) {
      break;
    }
    if (i == 600) {
      fprintf(stderr, "traced_producer: the trigger starts nothing\n");
      return 1;
    }
  }
  started.wait();

  std::vector<std::future<std::vector<Written>>> threads;
  for (uint32_t thread = 0; thread < flags.threads; ++thread) {
    threads.push_back(std::async(std::launch::async, [&, thread] {
      return WriteStreams(&producer, source, thread, flags);
    }));
  }
  for (auto& thread : threads) {
    for (const Written& written : thread.get()) {
      printf("%u %u %llu\n", written.stream, written.packets,
             static_cast<unsigned long long>(written.lost));
    }
  }
  producer.Sync(30000);
  printf("written\n");
  fflush(stdout);
  getchar();
  return 0;
}

int Check(const char* trace_path,
          const char* written_path,
          const Flags& flags) {
  std::ifstream file(trace_path, std::ios::binary);
  std::stringstream trace;
  trace << file.rdbuf();
  test::PacketChecker checker(flags.max_size);
  checker.AddTrace(trace.str());

  uint64_t total = 0;
  uint64_t total_lost = 0;
  uint64_t errors = checker.num_errors();
  fputs(checker.errors().c_str(), stdout);
  std::ifstream lines(written_path);
  uint32_t stream;
  uint64_t packets;
  uint64_t lost;
  while (lines >> stream >> packets >> lost) {
    total += packets;
    total_lost += lost;
    const auto it = checker.streams().find(stream);
    const uint64_t received =
        it == checker.streams().end() ? 0 : it->second.received;
    if (received + lost != packets && ++errors <= 20) {
      printf("stream %u: %llu written, %llu lost, %llu received\n", stream,
             static_cast<unsigned long long>(packets),
             static_cast<unsigned long long>(lost),
             static_cast<unsigned long long>(received));
    }
  }
  printf("%llu written, %llu lost, %llu received, %llu errors\n",
         static_cast<unsigned long long>(total),
         static_cast<unsigned long long>(total_lost),
         static_cast<unsigned long long>(checker.received()),
         static_cast<unsigned long long>(errors));
  return errors == 0 && total != 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  std::string trace;
  std::string written;
  const program::Command write = {
      "traced_producer write",
      "[options]",
      "Waits for a session, writes packets, prints them, and waits for a line "
      "of input.\n",
      {{"--threads N", "default: 4", &flags.threads},
       {"--packets N", "for each writer; default: 2000", &flags.packets},
       {"--writers N", "for each thread, one after the other; default: 1",
        &flags.writers},
       {"--max-size N", "of a packet, in bytes; default: 50000",
        &flags.max_size},
       {"--page-size N", "in bytes; default: 4096", &flags.page_size},
       {"--memory N", "in bytes; default: 262144", &flags.memory},
       {"--layout N", "a SharedMemoryABI::PageLayout; default: 5",
        &flags.layout},
       {"--drop 0|1", "drop packets when the memory is full; default: 0",
        &flags.drop},
       {"--stall-timeout-ms N", "default: 30000", &flags.stall_timeout_ms},
       {"--stop-service PID", "stop it while some packets are being written",
        &flags.stop_service},
       {"--extend N",
        "continue every Nth packet by an empty fragment in another chunk",
        &flags.extend},
       {"--first-stream N", "the number of the first stream; default: 0",
        &flags.first_stream},
       {"--pause-at N", "wait for a line of input before this packet",
        &flags.pause_at},
       {"--trigger NAME", "activate this until the session starts",
        &flags.trigger}}};
  const program::Command check = {
      "traced_producer check",
      "[options] TRACE WRITTEN",
      "Compares a trace with the output of `traced_producer write`.\n",
      {{"TRACE", "the trace", &trace},
       {"WRITTEN", "the output of the producer", &written},
       {"--max-size N", "of a packet, in bytes; default: 50000",
        &flags.max_size}}};
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode != "write" && mode != "check")
    return WrongUsage(write, "write or check is missing");
  if (const auto exit_code =
          program::Parse(mode == "write" ? write : check, argc - 1, argv + 1)) {
    return *exit_code;
  }
  if (mode == "write")
    return Write(flags);
  return Check(trace.c_str(), written.c_str(), flags);
}
