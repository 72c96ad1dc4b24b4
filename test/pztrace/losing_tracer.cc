// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Traces, loses packets, and prints their numbers on the standard output:
// "BEGUN begun, LOST lost". It is the command of a pztrace record, which it
// stops to fill its memory.
//
//   losing_tracer drop | stall   the memory is full for a while
//   losing_tracer again          the same, until the standard input ends
//   losing_tracer ended          the thread ends while the memory is full
//   losing_tracer one            a thread begins and ends in that time
//   losing_tracer events         trace events, in that time and afterwards
//   losing_tracer short          trace events at once, and end
//   losing_tracer unannounced    is killed while the service has not read
//                                anything of most of its writers
//   losing_tracer threads N      N writers, one by one, write a packet each
//   losing_tracer packets N      N packets of a thread that waits for memory
//   losing_tracer exit | kill    the process ends between two packets
//   losing_tracer packet         the process ends in a packet

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "protozero/tracing/producer.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/track_event.h"

namespace {

using protozero::BufferExhaustedPolicy;
using protozero::DataSource;
using protozero::DataSourceDescriptor;
using protozero::DataSourceWriters;
using protozero::TraceContext;
using protozero::trace::TracePacket;

uint64_t g_begun = 0;
uint64_t g_lost = 0;

void Write(DataSourceWriters* writers, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    writers->Trace([](TraceContext& context) {
      ++g_begun;
      auto packet = context.NewTracePacket<TracePacket>();
      packet->set_timestamp(g_begun);
      packet->set_track_event()->set_name("event");
    });
  }
}

// Writes like a program with a thread of its own for this.
void WriteInThread(const std::shared_ptr<DataSource>& source, uint64_t count) {
  std::thread([&] {
    DataSourceWriters writers(source);
    Write(&writers, count);
    g_lost += writers.packets_lost();
  }).join();
}

// Writes five events for each round.
void WriteEvents(uint64_t rounds) {
  for (uint64_t i = 0; i < rounds; ++i) {
    PROTOZERO_TRACE_EVENT("app", "slice", "round", i);
    PROTOZERO_TRACE_EVENT_INSTANT("app", "instant",
                                  protozero::Track("track", i));
    PROTOZERO_TRACE_EVENT_INSTANT("app", protozero::DynamicString("dynamic"));
    PROTOZERO_TRACE_COUNTER("app", "counter", i);
    g_begun += 5;
  }
}

// Stops the process. Returns when it does not run any more.
void Stop(pid_t process) {
  kill(process, SIGSTOP);
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  for (char state = 0; state != 'T'; usleep(100)) {
    FILE* const file = fopen(path.c_str(), "r");
    if (file == nullptr)
      return;
    // The name in parentheses comes before the state.
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
      state = 'T';
    fclose(file);
  }
}

int Report(uint64_t lost) {
  printf("%" PRIu64 " begun, %" PRIu64 " lost\n", g_begun, lost);
  return fflush(stdout);
}

int Main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "short") {
    static auto& its_producer =
        *new protozero::Producer(protozero::Producer::Options());
    its_producer.RegisterDataSource(protozero::TrackEventDataSource());
    WriteEvents(1);
    return Report(0);
  }
  protozero::Producer::Options options;
  options.name = "losing_tracer";
  options.shared_memory_size = (mode == "unannounced" ? 4096 : 64) * 1024;
  // In this mode, nothing may be lost, even if the service is slow.
  const bool waits = mode == "threads" || mode == "packets";
  options.stall_timeout_ms = waits ? UINT32_MAX : 1;
  auto& producer = *new protozero::Producer(options);
  const auto source =
      mode == "events"
          ? protozero::TrackEventDataSource()
          : std::make_shared<DataSource>(DataSourceDescriptor{"track_event"},
                                         waits || mode == "stall"
                                             ? BufferExhaustedPolicy::kStall
                                             : BufferExhaustedPolicy::kDrop);
  producer.RegisterDataSource(source);
  if (!producer.Sync(UINT32_MAX))
    return 1;
  const pid_t service = getppid();

  if (mode == "threads") {
    // The writers stay, like those of threads that have not ended.
    std::vector<std::unique_ptr<DataSourceWriters>> all;
    for (uint64_t i = strtoull(argc > 2 ? argv[2] : "1", nullptr, 10); i > 0;
         --i) {
      all.push_back(std::make_unique<DataSourceWriters>(source));
      Write(all.back().get(), 1);
      g_lost += all.back()->packets_lost();
    }
    Report(g_lost);
  } else if (mode == "again") {
    DataSourceWriters writers(source);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (poll(&input, 1, /*timeout=*/10) == 0) {
      Stop(service);
      Write(&writers, 10000);
      kill(service, SIGCONT);
    }
    Report(writers.packets_lost());
  } else if (mode == "packets") {
    DataSourceWriters writers(source);
    Write(&writers, strtoull(argc > 2 ? argv[2] : "1", nullptr, 10));
    Report(writers.packets_lost());
  } else if (mode == "unannounced") {
    Stop(service);
    // The socket has no room for so many messages.
    for (int i = 0; i < 500; ++i) {
      DataSourceWriters writers(source);
      Write(&writers, 10);
      g_lost += writers.packets_lost();
    }
    Report(g_lost);
    const pid_t parent = getpid();
    if (fork() == 0) {
      while (getppid() == parent)
        usleep(100);
      kill(service, SIGCONT);
      _exit(0);
    }
    kill(parent, SIGKILL);
  } else if (mode == "events") {
    WriteEvents(10);
    Stop(service);
    WriteEvents(20000);
    // The descriptors of this thread find no memory.
    std::thread(WriteEvents, 1000).join();
    kill(service, SIGCONT);
    for (int i = 0; i < 100; ++i) {
      usleep(1000);
      WriteEvents(1);
    }
    Report(0);
  } else if (mode == "ended" || mode == "one") {
    auto writers = std::make_unique<DataSourceWriters>(source);
    Write(writers.get(), 1);
    Stop(service);
    Write(writers.get(), 10000);
    g_lost += writers->packets_lost();
    const uint64_t lost_before = g_lost;
    if (mode == "one")
      WriteInThread(source, 1);
    if (mode == "one" && g_lost != lost_before + 1)
      return 1;
    writers.reset();
    kill(service, SIGCONT);
    Report(g_lost);
  } else if (mode == "drop" || mode == "stall") {
    DataSourceWriters writers(source);
    Write(&writers, 10);
    Stop(service);
    Write(&writers, 450000);
    kill(service, SIGCONT);
    // Waits until the thread has memory again.
    for (uint64_t lost = 0; lost != writers.packets_lost();) {
      lost = writers.packets_lost();
      usleep(1000);
      Write(&writers, 1);
    }
    Write(&writers, 1000);
    writers.Flush();
    Report(writers.packets_lost());
  } else {
    auto& writers = *new DataSourceWriters(source);
    Write(&writers, 3);
    Report(writers.packets_lost());
    if (mode == "packet") {
      writers.Trace([](TraceContext& context) {
        auto packet = context.NewTracePacket<TracePacket>();
        packet->set_timestamp(1);
        _exit(0);
      });
    }
    if (mode == "kill")
      kill(getpid(), SIGKILL);
    _exit(0);
  }
  delete &producer;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return Main(argc, argv);
}
