// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program that has something to trace: two processes, with several threads
// each. They make texts, compress them, and check that they come out again.

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "examples/traced_workers/work.h"
#include "protozero/config.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"

extern char** environ;

namespace traced_workers {

namespace {

enum ExitCode : int { kSuccess = 0, kFailure = 1, kWrongUsage = 2 };

constexpr char kProgram[] = "traced_workers";
constexpr uint64_t kMaxNumber = 1000000000;
constexpr uint64_t kMaxThreads = 1000;
// The longest wait for a service, if the environment names one.
constexpr uint32_t kConnectTimeoutMs = 5000;

constexpr char kHelp[] =
    R"(Usage: traced_workers [options]

Makes texts, compresses them, and counts primes, with several threads in each of
two processes. To see what they did:

  pztrace record -o session.pftrace -- traced_workers

  --threads N  in each process (default: 3)
  --items N    texts for each process (default: 60)
  --size N     bytes of a text (default: 20000)
  -h, --help   print this
  --version    print the version

The exit code is 0 if all texts came out as they went in, 1 if not, 2 for wrong
usage.
)";

struct Options {
  // True in the second process, which runs this program, too.
  bool is_child = false;
  uint64_t threads = 3;
  uint64_t items = 60;
  uint64_t size = 20000;
};

void PrintError(const std::string& problem, const std::string& reason = "") {
  fprintf(stderr, "%s: %s%s\n", kProgram, problem.c_str(), reason.c_str());
}

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
    PrintError("no second process: ", strerror(error));
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
    PrintError("not traced: ", producer.why_off());

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
    PrintError("a text came out different");
  return sum.is_right;
}

int WrongUsage(const std::string& problem) {
  PrintError(problem);
  fprintf(stderr, "Try %s --help.\n", kProgram);
  return kWrongUsage;
}

// Reads a number from 1 to |max|. Returns false if |text| is none.
bool ReadNumber(const char* text, uint64_t max, uint64_t* number) {
  char* end = nullptr;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
         *number >= 1 && *number <= max;
}

// Fills |options|. Returns an exit code if there is nothing left to do: it has
// printed the help, the version or an error.
std::optional<int> Parse(int argc, char** argv, Options* options) {
  static const option kOptions[] = {
      {"child", no_argument, nullptr, 'c'},
      {"help", no_argument, nullptr, 'h'},
      {"items", required_argument, nullptr, 'i'},
      {"size", required_argument, nullptr, 's'},
      {"threads", required_argument, nullptr, 't'},
      {"version", no_argument, nullptr, 'v'},
      {nullptr, 0, nullptr, 0}};
  opterr = 0;
  bool is_number = true;
  int found;
  while ((found = getopt_long(argc, argv, ":h", kOptions, nullptr)) != -1) {
    switch (found) {
      case 'c':
        options->is_child = true;
        break;
      case 'h':
        fputs(kHelp, stdout);
        return kSuccess;
      case 'i':
        is_number &= ReadNumber(optarg, kMaxNumber, &options->items);
        break;
      case 's':
        is_number &= ReadNumber(optarg, kMaxNumber, &options->size);
        break;
      case 't':
        is_number &= ReadNumber(optarg, kMaxThreads, &options->threads);
        break;
      case 'v':
        printf("%s %d.%d.%d\n", kProgram, PROTOZERO_VERSION / 10000,
               PROTOZERO_VERSION / 100 % 100, PROTOZERO_VERSION % 100);
        return kSuccess;
      case ':':
        return WrongUsage(std::string(argv[optind - 1]) + " needs a value");
      default:
        return WrongUsage("unknown option '" + std::string(argv[optind - 1]) +
                          "'");
    }
  }
  if (optind < argc) {
    return WrongUsage("'" + std::string(argv[optind]) +
                      "' is one argument too many");
  }
  if (!is_number) {
    return WrongUsage(
        "numbers are from 1 to 1000000000, and --threads is 1000 at most");
  }
  return std::nullopt;
}

int Main(int argc, char** argv) {
  Options options;
  if (const auto exit_code = Parse(argc, argv, &options))
    return *exit_code;
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
