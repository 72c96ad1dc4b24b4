// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program that has something to trace: two processes, with several threads
// each. They make texts, compress them, and check that they come out again.

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "examples/traced_workers/work.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"
#include "src/program/command_line.h"
#include "src/program/io.h"

extern char** environ;

namespace traced_workers {

namespace {

using program::kFailure;
using program::kSuccess;
using program::PrintError;

constexpr char kProgram[] = "traced_workers";
constexpr uint64_t kMaxNumber = 1000000000;
constexpr uint64_t kMaxThreads = 1000;
// The longest wait for a service, if the environment names one.
constexpr uint32_t kConnectTimeoutMs = 5000;

struct Options {
  // True in the second process, which runs this program, too.
  bool is_child = false;
  uint64_t threads = 3;
  uint64_t items = 60;
  uint64_t size = 20000;
};

// The work of one thread.
struct Work {
  uint64_t items = 0;
  bool is_right = true;
};

Work DoWork(const Options& options,
            const std::string& thread_name,
            std::atomic<uint64_t>* next_item,
            std::atomic<uint64_t>* saved_bytes) {
  static constexpr auto kSaved = protozero::CounterTrack("saved").set_unit(
      protozero::CounterTrack::Unit::kBytes);
  protozero::SetTraceThreadName(thread_name);
  Work work;
  for (;;) {
    const uint64_t item = next_item->fetch_add(1);
    if (item >= options.items)
      break;
    PROTOZERO_TRACE_EVENT("worker", "item", "number", item);
    std::string text;
    std::string compressed;
    {
      PROTOZERO_TRACE_EVENT("worker", "make");
      text = MakeText(item, options.size);
    }
    {
      PROTOZERO_TRACE_EVENT("worker", "compress", "bytes", text.size());
      compressed = Compress(text);
    }
    const uint64_t saved = text.size() - compressed.size();
    PROTOZERO_TRACE_COUNTER("worker", kSaved,
                            saved_bytes->fetch_add(saved) + saved);
    {
      PROTOZERO_TRACE_EVENT("worker", "check", "bytes", compressed.size());
      work.is_right = work.is_right && Decompress(compressed) == text;
    }
    {
      PROTOZERO_TRACE_EVENT("worker", "primes", "limit", compressed.size());
      CountPrimes(compressed.size());
    }
    ++work.items;
  }
  return work;
}

// Starts this program once more, as the child.
bool StartChild(const Options& options, pid_t* child) {
  std::vector<std::string> args = {
      "traced_workers", "--child",
      "--threads",      std::to_string(options.threads),
      "--items",        std::to_string(options.items),
      "--size",         std::to_string(options.size)};
  std::vector<char*> argv;
  for (std::string& arg : args)
    argv.push_back(&arg[0]);
  argv.push_back(nullptr);
  const int error = posix_spawn(child, "/proc/self/exe", nullptr, nullptr,
                                argv.data(), environ);
  if (error != 0)
    PrintError(kProgram, "no second process: %s", strerror(error));
  return error == 0;
}

bool WorkInThreads(const Options& options) {
  protozero::Producer::Options producer_options;
  producer_options.name = "traced_workers";
  // This is room for all that a run writes, so that a slow service costs no
  // packet.
  producer_options.shared_memory_size = 1 << 20;
  protozero::Producer producer(producer_options);
  producer.RegisterDataSource(protozero::TrackEventDataSource());
  protozero::SetTraceProcessName(kProgram);
  // Without this wait, the program would be traced, too, but not from its
  // beginning.
  if (getenv("PERFETTO_PRODUCER_SOCK_NAME") != nullptr &&
      !producer.Sync(kConnectTimeoutMs))
    PrintError(kProgram, "not traced: %s", producer.why_off().c_str());

  std::atomic<uint64_t> next_item{0};
  std::atomic<uint64_t> saved_bytes{0};
  std::vector<Work> work(options.threads);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] {
      work[i] = DoWork(options, "worker " + std::to_string(i), &next_item,
                       &saved_bytes);
    });
  }
  for (std::thread& thread : threads)
    thread.join();

  Work sum;
  for (const Work& part : work) {
    sum.items += part.items;
    sum.is_right = sum.is_right && part.is_right;
  }
  printf("process %d: %" PRIu64 " items\n", static_cast<int>(getpid()),
         sum.items);
  fflush(stdout);
  if (!sum.is_right)
    PrintError(kProgram, "a text came out different");
  return sum.is_right;
}

int Main(int argc, char** argv) {
  Options options;
  const program::Command command = {
      "traced_workers",
      "[options]",
      R"(Makes texts, compresses them, and counts primes, with several threads in each of
two processes. To see what they did:

  pztrace record -o session.pftrace -- traced_workers
)",
      {{"--threads N", "in each process (default: 3)", &options.threads},
       {"--items N", "texts for each process (default: 60)", &options.items},
       {"--size N", "bytes of a text (default: 20000)", &options.size},
       {"--child", "", &options.is_child}},
      "The exit code is 0 if all texts came out as they went in, 1 if not, 2 "
      "for wrong\nusage.\n"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  for (const uint64_t number : {options.threads, options.items, options.size}) {
    if (number == 0 || number > kMaxNumber)
      return WrongUsage(command, "numbers are from 1 to 1000000000");
  }
  if (options.threads > kMaxThreads)
    return WrongUsage(command, "--threads is 1000 at most");
  pid_t child = -1;
  // The child starts before there are threads, so that it inherits nothing from
  // them.
  if (!options.is_child && !StartChild(options, &child))
    return kFailure;
  bool ok = WorkInThreads(options);
  if (!options.is_child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ok = ok && WIFEXITED(status) && WEXITSTATUS(status) == kSuccess;
  }
  return ok ? kSuccess : kFailure;
}

}  // namespace

}  // namespace traced_workers

int main(int argc, char** argv) {
  return traced_workers::Main(argc, argv);
}
