// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Traces to a flight recorder until it is killed, or kills itself.
//
//   flight_tracer FILE BYTES THREADS [EVENTS [OTHERS]]
//
// If BYTES is 0, a recorder has the flight recorder, and FILE is only a name.
// Before the program kills itself, another thread traces OTHERS instants
// "other" of 1 kB.
//
// Each thread traces instants "event" with a number, in a slice that never
// ends, and counts those that are finished: in FILE.count, 64 bits a thread.

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"

int main(int argc, char** argv) {
  if (argc < 4)
    return 2;
  const std::string path = argv[1];
  const size_t num_threads = strtoul(argv[3], nullptr, 0);
  const int64_t num_events = argc > 4 ? atoll(argv[4]) : INT64_MAX;
  const int64_t num_others = argc > 5 ? atoll(argv[5]) : 0;

  const int fd = open((path + ".count").c_str(), O_RDWR | O_CREAT, 0600);
  const size_t size = num_threads * sizeof(int64_t);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0)
    return 1;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  auto* const counts = static_cast<std::atomic<int64_t>*>(memory);

  protozero::LocalTrace::Options options;
  options.flight_recorder = path;
  options.buffer_size = strtoul(argv[2], nullptr, 0);
  std::optional<protozero::LocalTrace> trace;
  protozero::Producer::Options producer_options;
  producer_options.name = "flight_tracer";
  std::optional<protozero::Producer> producer;
  if (options.buffer_size != 0) {
    trace.emplace(options);
  } else {
    producer.emplace(producer_options);
    producer->RegisterDataSource(protozero::TrackEventDataSource());
    producer->Sync(60000);
  }
  const std::string error = trace ? trace->error() : producer->why_off();
  if (!error.empty()) {
    fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < num_threads; ++i) {
    threads.emplace_back([&, i] {
      PROTOZERO_TRACE_EVENT("app", "work", "thread", i);
      for (int64_t number = 0; number < num_events; ++number) {
        PROTOZERO_TRACE_EVENT_INSTANT("app", "event", "number", number,
                                      "thread", i);
        counts[i] = number + 1;
        // A thread that others overtake by half of the ring loses what it has
        // finished.
        while (*std::min_element(counts, counts + num_threads) + 500 < number)
          usleep(20);
      }
      for (;;)
        pause();
    });
  }
  while (num_events != INT64_MAX) {
    bool is_done = true;
    for (size_t i = 0; i < num_threads; ++i)
      is_done = is_done && counts[i] == num_events;
    if (is_done) {
      const std::string text(1000, 'x');
      for (int64_t number = 0; number < num_others; ++number)
        PROTOZERO_TRACE_EVENT_INSTANT("app", "other", "text", text);
      kill(getpid(), SIGKILL);
    }
    usleep(1000);
  }
  for (;;)
    pause();
}
