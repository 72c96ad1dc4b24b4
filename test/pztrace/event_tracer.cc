// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program with trace events of several categories. With --wait, it waits
// until "app" is recorded, says that it has traced, and traces again for each
// line of its standard input, until the input ends. The thread that describes
// its extensions in the trace has ended by then. With --many, it has 2,000
// further categories, and traces none of them. With --numbers, two threads
// trace slices with numbers until the standard input ends; with --hang, there
// is one slice until then.

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <string>
#include <thread>

#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"
#include "test/pztrace/query.pbzero.h"

PROTOZERO_TRACE_CATEGORY("net.slow", "Seldom wanted", "slow big");
PROTOZERO_TRACE_CATEGORY("net.io", "", "");

// Traces slices with numbers from |first| on.
void TraceNumbers(uint64_t first, const std::atomic<bool>* stops) {
  while (!*stops) {
    PROTOZERO_TRACE_EVENT("app", "numbered", "number", first++);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

int main(int argc, char** argv) {
  const bool is_many = argc > 1 && strcmp(argv[1], "--many") == 0;
  const bool waits = argc > 1 && !is_many;
  std::deque<std::string> names;
  std::deque<protozero::internal::TraceCategory> categories;
  for (int i = 0; is_many && i < 2000; ++i) {
    names.push_back("many." + std::to_string(i) + std::string(80, 'x'));
    categories.emplace_back(names.back().c_str(), "", "");
  }
  // Without a name in the options, the producer has the program's name.
  protozero::Producer producer({});
  producer.RegisterDataSource(protozero::TrackEventDataSource());
  if (!producer.Sync(10000))
    return 1;
  if (waits && strcmp(argv[1], "--numbers") == 0) {
    std::atomic<bool> stops{false};
    std::thread threads[] = {std::thread(TraceNumbers, 0, &stops),
                             std::thread(TraceNumbers, 1000000, &stops)};
    puts("registered\ntraced");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    stops = true;
    for (std::thread& thread : threads)
      thread.join();
    return 0;
  }
  if (waits && strcmp(argv[1], "--hang") == 0) {
    PROTOZERO_TRACE_EVENT("app", "hang");
    puts("registered\ntraced");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
  }
  if (waits) {
    puts("registered");
    fflush(stdout);
    while (!PROTOZERO_TRACE_CATEGORY_ENABLED("app"))
      usleep(1000);
    using test::PROTOZERO_TRACE_NAMESPACE::QueryEvent;
    protozero::DescribeTraceExtensions<QueryEvent>();
    std::thread([] { PROTOZERO_TRACE_EVENT("app", "of app"); }).join();
  }
  do {
    {
      PROTOZERO_TRACE_EVENT("app", "of app");
      PROTOZERO_TRACE_EVENT("net.io", "of net.io", "bytes", 7);
      PROTOZERO_TRACE_EVENT("net.dns", "of net.dns");
      PROTOZERO_TRACE_EVENT("net.slow", "of net.slow");
    }
    if (waits) {
      puts("traced");
      fflush(stdout);
    }
  } while (waits && getchar() != EOF);
  return 0;
}
