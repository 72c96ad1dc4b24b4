// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// workload_skynet: a million fibers, after the performance page of Boost.Fiber.
// See skynet_tree.h for their work and skynet_fibers.h for the way they do it.
// They run in one thread, or in one for each processor, with the C library's
// allocator or with tcmalloc. For comparison, there are a hundred times fewer
// threads, as on that page.

#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/workloads/recording.h"
#include "test/workloads/shared_value.h"
#include "test/workloads/skynet_environment.h"
#include "test/workloads/skynet_fibers.h"
#include "test/workloads/skynet_task_check.h"
#include "test/workloads/skynet_task_fibers.h"
#include "test/workloads/skynet_threads.h"
#include "test/workloads/skynet_trace_check.h"
#include "test/workloads/skynet_tracer.h"
#include "test/workloads/skynet_tree.h"
#include "test/workloads/task_steps.h"
#include "test/workloads/trace_clock.h"
#include "test/workloads/workload_program.h"

namespace protozero::workloads {

namespace {

constexpr SkynetTree kQuickFibers(10'000);
// The same number as on the page, which could not have more.
constexpr SkynetTree kThreads(10'000);
constexpr SkynetTree kQuickThreads(100);

// ---- The allocator

constexpr std::string_view kGlibc = "libc.so.6";
constexpr std::string_view kTcmalloc = "libtcmalloc_minimal.so.4";

// Returns the files of the program's malloc() and of the malloc() of the
// libraries it is linked with.
std::string_view AllocatorFile() {
  Dl_info info;
  void* const function = dlsym(RTLD_DEFAULT, "malloc");
  if (function == nullptr || dladdr(function, &info) == 0 ||
      info.dli_fname == nullptr)
    return "";
  const std::string_view path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

// ---- Measuring

uint64_t CpuNanoseconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_nsec);
}

// Returns the most memory that this program has had at a time. Not from
// getrusage(), whose figure includes the program that started this one.
double PeakMiB() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes)
      return kilobytes / 1024;
  }
  return 0;
}

// Returns the time of a call, from a great many calls.
template <typename Function>
double NanosecondsOf(Function function) {
  constexpr uint64_t kCalls = 1'000'000;
  uint64_t sum = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < kCalls; ++i)
    sum += function(i);
  const auto end = std::chrono::steady_clock::now();
  [[maybe_unused]] const volatile uint64_t is_used = sum;
  return std::chrono::duration<double, std::nano>(end - begin).count() / kCalls;
}

// Measures |workload|, a SkynetFibers or a SkynetThreads. An operation is a
// leaf, as on the page, which divides the time of all fibers by a million.
template <typename Workload>
void Measure(const SkynetTree& tree,
             Workload workload,
             WorkloadResult* result) {
  const uint64_t cpu_begin = CpuNanoseconds();
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t sum = workload.Run();
  const auto end = std::chrono::steady_clock::now();
  const uint64_t cpu_end = CpuNanoseconds();
  const double operations = static_cast<double>(tree.num_leaves());
  result->operations = tree.num_leaves();
  result->ns_per_operation =
      std::chrono::duration<double, std::nano>(end - begin).count() /
      operations;
  result->figures.emplace_back(
      "cpu_ns", static_cast<double>(cpu_end - cpu_begin) / operations);
  result->figures.emplace_back("peak_mib", PeakMiB());
  if (sum != tree.sum())
    result->problem = "the sum is " + std::to_string(sum);
}

// ---- The variants. Each has the trees, and runs one with a tracer.

struct Fibers {
  static constexpr SkynetTree kTree = kMillionFibers;
  static constexpr SkynetTree kQuickTree = kQuickFibers;
};

struct RoundRobin : Fibers {
  template <typename Tracer>
  static void Run(const SkynetTree& tree,
                  Tracer* tracer,
                  WorkloadResult* result) {
    typename Tracer::Thread traced(tracer);
    Measure(tree, SkynetFibers<Tracer>(tree, tracer), result);
  }
};

struct WorkStealing : Fibers {
  template <typename Tracer>
  static void Run(const SkynetTree& tree,
                  Tracer* tracer,
                  WorkloadResult* result) {
    typename Tracer::Thread traced(tracer);
    WorkStealingThreads<Tracer> threads(
        std::max(2u, std::thread::hardware_concurrency()), tracer);
    Measure(tree, SkynetFibers<Tracer>(tree, tracer), result);
  }
};

template <typename Thread>
struct Threads {
  static constexpr SkynetTree kTree = kThreads;
  static constexpr SkynetTree kQuickTree = kQuickThreads;

  template <typename Tracer>
  static void Run(const SkynetTree& tree,
                  Tracer* tracer,
                  WorkloadResult* result) {
    Measure(tree, SkynetThreads<Tracer, Thread>(tree, tracer), result);
  }
};

template <typename Variant>
SkynetTree TreeOf(const WorkloadOptions& options) {
  return options.quick ? Variant::kQuickTree : Variant::kTree;
}

template <typename Variant>
WorkloadResult RunUntraced(const WorkloadOptions& options) {
  WorkloadResult result;
  NoSkynetTracer tracer;
  Variant::Run(TreeOf<Variant>(options), &tracer, &result);
  return result;
}

template <typename Variant>
WorkloadResult RunTraced(const WorkloadOptions& options,
                         Recording::Options recording_options) {
  WorkloadResult result;
  const SkynetTree tree = TreeOf<Variant>(options);
  const SharedValue<SkynetTraceSums> sums;
  if (recording_options.has_session)
    recording_options.trace_file = options.trace_file;
  recording_options.digest =
      [check = std::make_shared<SkynetTraceCheck>(tree, sums.get())](
          ConstBytes packet) -> uint64_t {
    check->OnEvent(packet);
    return 0;
  };
  const auto recording = Recording::Start(recording_options, &result.problem);
  if (recording == nullptr)
    return result;

  const TraceClock clock;
  SkynetTracer tracer(recording->source(), &clock);
  Variant::Run(tree, &tracer, &result);
  const SkynetTracer::Totals totals = tracer.Finish();
  result.events_written = totals.events_written;
  result.events_lost = totals.events_lost;

  const Recording::Outcome outcome = recording->Stop();
  result.events_received = outcome.events;
  if (!result.problem.empty())
    return result;
  result.problem = outcome.problem;
  if (!recording_options.has_session) {
    // This is the cost for one node alone. The measurement above varies by far
    // more than this cost.
    result.figures.emplace_back("checks_ns", NanosecondsOf([&](uint64_t id) {
                                  tracer.Begin(id);
                                  tracer.End(id);
                                  return id;
                                }));
    return result;
  }
  const bool may_lose =
      recording_options.policy == BufferExhaustedPolicy::kDrop;
  result.problem = may_lose ? sums.get()->FindProblem(tree, result.events_lost)
                            : sums.get()->FindProblem(tree);
  result.figures.emplace_back(
      "leaf_events",
      static_cast<double>(sums.get()->leaf_begins + sums.get()->leaf_ends));
  result.figures.emplace_back("moved_nodes",
                              static_cast<double>(sums.get()->moved));
  result.figures.emplace_back(
      "trace_bytes_per_event",
      static_cast<double>(outcome.bytes) / static_cast<double>(outcome.events));
  result.figures.emplace_back(
      "clock_ns", NanosecondsOf([&](uint64_t) { return clock.Now(); }));
  return result;
}

// ---- Tasks

// The number of threads that have tasks in a row: 1, one for each processor, or
// so many that they share processors.
struct OneThread {
  static uint32_t Count() { return 1; }
};
struct ThreadPerProcessor {
  static uint32_t Count() {
    return std::max(2u, std::thread::hardware_concurrency());
  }
};
struct SixteenThreads {
  static uint32_t Count() { return 16; }
};

template <typename NumThreads, typename Tracer>
void RunTaskFibers(const SkynetTree& tree, WorkloadResult* result) {
  Tracer tracer;
  typename Tracer::Thread traced(&tracer);
  std::unique_ptr<WorkStealingThreads<Tracer>> threads;
  if (NumThreads::Count() > 1) {
    threads = std::make_unique<WorkStealingThreads<Tracer>>(NumThreads::Count(),
                                                            &tracer);
  }
  Measure(tree, SkynetTaskFibers<Tracer>(tree, &tracer), result);
}

template <typename NumThreads>
WorkloadResult RunUntracedTasks(const WorkloadOptions& options) {
  WorkloadResult result;
  RunTaskFibers<NumThreads, NoSkynetTaskTracer>(TreeOf<Fibers>(options),
                                                &result);
  return result;
}

template <typename NumThreads>
WorkloadResult RunTracedTasks(const WorkloadOptions& options,
                              bool has_session) {
  WorkloadResult result;
  const SkynetTree tree = TreeOf<Fibers>(options);
  const SharedValue<SkynetTaskCheck> check;
  Recording::Options recording_options;
  recording_options.has_session = has_session;
  recording_options.has_track_events = true;
  recording_options.shared_memory_size = size_t{16} << 20;
  recording_options.buffer_size = size_t{1} << 30;
  if (has_session)
    recording_options.trace_file = options.trace_file;
  recording_options.digest = [check = check.get(),
                              reader = std::make_shared<TaskStepReader>()](
                                 ConstBytes packet) -> uint64_t {
    check->Count(reader->Read(packet));
    return 0;
  };
  const auto recording = Recording::Start(recording_options, &result.problem);
  if (recording == nullptr)
    return result;
  RunTaskFibers<NumThreads, SkynetTaskTracer>(tree, &result);
  result.figures.emplace_back("switch_ns",
                              MeasureTaskSwitch(NumThreads::Count()));
  const Recording::Outcome outcome = recording->Stop();
  if (result.problem.empty())
    result.problem = outcome.problem;
  if (!has_session || !result.problem.empty())
    return result;
  // Each node is spawned, runs, and ends. That nothing is lost follows from the
  // tree.
  result.events_written = 3 * tree.num_nodes();
  result.events_received = check.get()->events();
  result.problem = check.get()->FindProblem(tree);
  const double steps = static_cast<double>(check.get()->steps());
  result.figures.emplace_back("steps", steps);
  result.figures.emplace_back("wakes",
                              static_cast<double>(check.get()->wakes()));
  result.figures.emplace_back("bytes_per_switch",
                              check.get()->loop_switches().bytes_per_switch());
  result.figures.emplace_back("trace_bytes_per_step",
                              static_cast<double>(outcome.bytes) / steps);
  const TraceClock clock;
  result.figures.emplace_back(
      "clock_ns", NanosecondsOf([&](uint64_t) { return clock.Now(); }));
  return result;
}

// ---- Rows

struct Row {
  WorkloadRow row;
  std::string_view allocator;
};

Recording::Options WithoutSession() {
  Recording::Options options;
  options.has_session = false;
  return options;
}

// Returns options with so much memory that the service may be late by
// milliseconds.
Recording::Options ForFibers() {
  Recording::Options options;
  options.shared_memory_size = size_t{4} << 20;
  return options;
}

// Returns options with too little memory for that.
Recording::Options ForLosses() {
  Recording::Options options;
  options.policy = BufferExhaustedPolicy::kDrop;
  options.shared_memory_size = size_t{32} << 10;
  return options;
}

// Returns options with more chunks than there are threads that wait for their
// children.
Recording::Options ForThreads() {
  Recording::Options options;
  options.shared_memory_size = size_t{16} << 20;
  options.page_layout = SharedMemoryABI::kPageDiv4;
  return options;
}

template <typename Variant>
WorkloadRow TracedRow(const std::string& name,
                      const Recording::Options& recording_options) {
  return {name, [recording_options](const WorkloadOptions& options) {
            return RunTraced<Variant>(options, recording_options);
          }};
}

template <typename Variant>
void AddRows(const std::string& variant,
             std::string_view allocator,
             const Recording::Options& recording_options,
             std::vector<Row>* rows) {
  const std::string name = "Skynet_" + variant;
  rows->push_back({{name + "_Untraced", &RunUntraced<Variant>}, allocator});
  rows->push_back(
      {TracedRow<Variant>(name + "_Off", WithoutSession()), allocator});
  rows->push_back(
      {TracedRow<Variant>(name + "_On", recording_options), allocator});
}

template <typename NumThreads>
void AddTaskRows(const std::string& variant, std::vector<Row>* rows) {
  const std::string name = "Skynet_" + variant;
  rows->push_back(
      {{name + "_Untraced", &RunUntracedTasks<NumThreads>}, kGlibc});
  for (const bool has_session : {false, true}) {
    rows->push_back({{name + (has_session ? "_On" : "_Off"),
                      [has_session](const WorkloadOptions& options) {
                        return RunTracedTasks<NumThreads>(options, has_session);
                      }},
                     kGlibc});
  }
}

std::vector<Row> AllRows() {
  std::vector<Row> rows;
  AddRows<RoundRobin>("RoundRobin", kGlibc, ForFibers(), &rows);
  AddRows<RoundRobin>("RoundRobinTcmalloc", kTcmalloc, ForFibers(), &rows);
  AddRows<WorkStealing>("WorkStealing", kGlibc, ForFibers(), &rows);
  AddRows<WorkStealing>("WorkStealingTcmalloc", kTcmalloc, ForFibers(), &rows);
  rows.push_back(
      {TracedRow<RoundRobin>("Skynet_RoundRobinDrop_On", ForLosses()), kGlibc});
  rows.push_back(
      {TracedRow<WorkStealing>("Skynet_WorkStealingDrop_On", ForLosses()),
       kGlibc});
  AddTaskRows<OneThread>("Tasks", &rows);
  AddTaskRows<ThreadPerProcessor>("TasksWorkStealing", &rows);
  AddTaskRows<SixteenThreads>("TasksWorkStealing16", &rows);
  AddRows<Threads<StdThread>>("StdThread", kGlibc, ForThreads(), &rows);
  AddRows<Threads<SmallPthread>>("SmallPthread", kGlibc, ForThreads(), &rows);
  AddRows<Threads<StdAsync>>("StdAsync", kGlibc, ForThreads(), &rows);
  return rows;
}

int Main(int argc, char** argv) {
  constexpr std::string_view kRun = "--run=";
  std::vector<WorkloadRow> rows;
  for (Row& row : AllRows()) {
    for (int i = 1; i < argc; ++i) {
      if (argv[i] == std::string(kRun) + row.row.name)
        EnsureFiberEnvironment(
            argv, std::string(row.allocator == kGlibc ? "" : row.allocator));
    }
    rows.push_back({row.row.name, [row](const WorkloadOptions& options) {
                      if (AllocatorFile() == row.allocator)
                        return row.row.run(options);
                      WorkloadResult result;
                      result.problem = "the allocator is not " +
                                       std::string(row.allocator) + " but " +
                                       std::string(AllocatorFile());
                      return result;
                    }});
  }
  return RunWorkloadProgram(argc, argv, rows);
}

}  // namespace

}  // namespace protozero::workloads

int main(int argc, char** argv) {
  return protozero::workloads::Main(argc, argv);
}
