// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// workload_chains_shared, workload_chains_static: chains of asynchronous
// operations, after P0162R0, "A response to P0055R0". There are ten independent
// flows, and each completion starts the flow's next operation. A completion
// needs only the operating system's interface, a handler, and memory for the
// operation's state. So it is a worst case for tracing, which records every
// completion.
//
// This program is built twice. In the first, the emulated operating system is a
// shared library. In the second, it is a static one, and the program is
// optimized at link time.

#include <stdint.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "test/testing/allocation_monitor.h"
#include "test/workloads/completion_chains_operation.h"
#include "test/workloads/completion_chains_os.h"
#include "test/workloads/completion_chains_tracer.h"
#include "test/workloads/recording.h"
#include "test/workloads/shared_value.h"
#include "test/workloads/task_steps.h"
#include "test/workloads/trace_clock.h"
#include "test/workloads/workload_program.h"

namespace protozero::workloads {

namespace {

constexpr size_t kFlows = 10;

// ---- The three ways to run a flow. Start() begins its first operation.

// The common part of all flows.
template <typename Tracer>
struct Flow {
  template <typename... Args>
  explicit Flow(Args&&... args) : tracer(std::forward<Args>(args)...) {}

  // The value that each operation passes on to the next.
  uint64_t value = 0;
  // The number of operations that have not been started yet.
  uint64_t remaining = 0;
  Tracer tracer;
};

template <typename Tracer>
struct CustomAllocatorFlow : Flow<Tracer> {
  using Flow<Tracer>::Flow;

  struct Handler {
    CustomAllocator get_allocator() const {
      return CustomAllocator(&flow->memory);
    }
    void operator()(uint64_t result) {
      flow->tracer.OnCompletion();
      flow->value = result;
      if (flow->remaining != 0)
        flow->Start();
    }
    CustomAllocatorFlow* flow;
  };
  void Start() {
    --this->remaining;
    StartOperation(this->value, Handler{this});
  }

  OperationMemory memory;
};

template <typename Tracer>
struct RecyclingAllocatorFlow : Flow<Tracer> {
  using Flow<Tracer>::Flow;

  struct Handler {
    RecyclingAllocator get_allocator() const { return {}; }
    void operator()(uint64_t result) {
      flow->tracer.OnCompletion();
      flow->value = result;
      if (flow->remaining != 0)
        flow->Start();
    }
    RecyclingAllocatorFlow* flow;
  };
  void Start() {
    --this->remaining;
    StartOperation(this->value, Handler{this});
  }
};

template <typename Tracer>
struct CoroutineFlow : Flow<Tracer> {
  using Flow<Tracer>::Flow;

  Detached Start() {
    while (this->remaining != 0) {
      --this->remaining;
      this->value = co_await AwaitableOperation(this->value);
      this->tracer.OnCompletion();
    }
  }
};

// ---- Measuring

// The value of the first flow. Volatile, so that the compiler does not know it.
volatile uint64_t first_value = 1000;

double Nanoseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

double Median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns nanoseconds per call.
template <typename Function>
double MeasureCall(const Function& function) {
  constexpr int kBatches = 25;
  constexpr int kCalls = 10000;
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) {
    uint64_t sum = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i)
      sum += function();
    const auto end = std::chrono::steady_clock::now();
    [[maybe_unused]] const volatile uint64_t is_used = sum;
    times.push_back(Nanoseconds(end - begin) / kCalls);
  }
  return Median(std::move(times));
}

// The size with which the service may be late by a few milliseconds.
constexpr size_t kSharedMemorySize = size_t{4} << 20;

// The number of batches and their size. The median of the batches counts, so
// that an interruption of the processor in one of them does not. They are so
// short that most of them are not interrupted.
struct Amount {
  // Operations per flow. While it warms up, events fill the shared memory once.
  uint64_t warm_up;
  uint64_t batch;
  size_t batches;
};

Amount AmountFor(const WorkloadOptions& options) {
  return options.quick ? Amount{1000, 200, 25} : Amount{40000, 1000, 201};
}

// Triggers |count| completions. Returns false if there were fewer.
bool Trigger(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (!os_trigger_next_completion())
      return false;
  }
  return true;
}

// Runs |flows| to their end. Times the part between warming up and the last
// operation of each flow.
template <typename FlowType>
void RunFlows(const Amount& amount,
              const std::vector<std::unique_ptr<FlowType>>& flows,
              WorkloadResult* result) {
  const uint64_t per_flow = amount.warm_up + amount.batch * amount.batches + 1;
  const uint64_t first = first_value;
  std::vector<double> times(amount.batches);
  os_register_completion_callback(&CompleteOperation);
  for (size_t i = 0; i < flows.size(); ++i) {
    flows[i]->value = first + i;
    flows[i]->remaining = per_flow;
    flows[i]->Start();
  }
  bool is_right = Trigger(amount.warm_up * flows.size());
  {
    const test::AllocationCounter counter;
    const uint64_t operations = amount.batch * flows.size();
    for (double& time : times) {
      const auto begin = std::chrono::steady_clock::now();
      is_right = Trigger(operations) && is_right;
      const auto end = std::chrono::steady_clock::now();
      time = Nanoseconds(end - begin) / static_cast<double>(operations);
    }
    result->allocations = counter.count();
    result->operations = operations * amount.batches;
  }
  is_right = Trigger(flows.size()) && is_right;
  is_right = !os_trigger_next_completion() && is_right;
  RecyclingAllocator::FreeKeptBlock();
  for (size_t i = 0; i < flows.size(); ++i)
    is_right = flows[i]->value == first + i + per_flow && is_right;
  if (!is_right) {
    result->problem = "the flows went wrong";
  } else if (result->allocations != 0) {
    result->problem =
        std::to_string(result->allocations) + " allocations, where none is due";
  }
  // The best time excludes the processor's other work. The mean includes it,
  // and the rare costs of a batch, such as waiting for the service.
  result->figures = {
      {"best_ns", *std::min_element(times.begin(), times.end())},
      {"mean_ns", std::accumulate(times.begin(), times.end(), 0.0) /
                      static_cast<double>(times.size())},
  };
  result->ns_per_operation = Median(std::move(times));
}

template <template <typename> class FlowOf>
WorkloadResult RunUntraced(const WorkloadOptions& options) {
  WorkloadResult result;
  std::vector<std::unique_ptr<FlowOf<NoTracer>>> flows;
  for (size_t i = 0; i < kFlows; ++i)
    flows.push_back(std::make_unique<FlowOf<NoTracer>>());
  RunFlows(AmountFor(options), flows, &result);
  return result;
}

template <template <typename> class FlowOf>
WorkloadResult RunTraced(const WorkloadOptions& options, bool has_session) {
  WorkloadResult result;
  Recording::Options recording_options;
  recording_options.has_session = has_session;
  recording_options.shared_memory_size = kSharedMemorySize;
  if (has_session)
    recording_options.trace_file = options.trace_file;
  recording_options.digest = [](ConstBytes packet) -> uint64_t {
    return FlowTracer::IsEvent(packet) ? 1 : 0;
  };
  const auto recording = Recording::Start(recording_options, &result.problem);
  if (recording == nullptr)
    return result;

  TraceClock clock;
  {
    std::vector<std::unique_ptr<FlowOf<FlowTracer>>> flows;
    for (uint32_t i = 0; i < kFlows; ++i) {
      flows.push_back(
          std::make_unique<FlowOf<FlowTracer>>(recording->source(), &clock, i));
    }
    RunFlows(AmountFor(options), flows, &result);
    for (const auto& flow : flows) {
      result.events_written += flow->tracer.events_written();
      result.events_lost += flow->tracer.events_lost();
    }
  }
  const Recording::Outcome outcome = recording->Stop();
  result.events_received = outcome.events;
  if (!result.problem.empty())
    return result;
  result.problem = outcome.problem;
  if (outcome.digest != outcome.events)
    result.problem = "the trace has events that nobody wrote";
  if (has_session) {
    if (result.events_lost != 0)
      result.problem = "events were lost";
    const std::pair<std::string, double> figures[] = {
        {"clock_ns", MeasureCall([&clock] { return clock.Now(); })},
        {"system_clock_ns",
         MeasureCall([] { return TraceClock::SystemNow(); })},
        {"trace_bytes_per_event", static_cast<double>(outcome.bytes) /
                                      static_cast<double>(outcome.events)},
    };
    result.figures.insert(result.figures.end(), std::begin(figures),
                          std::end(figures));
  }
  return result;
}

// Runs the flows with a switch between tasks for each completion.
template <template <typename> class FlowOf>
WorkloadResult RunTracedTasks(const WorkloadOptions& options,
                              bool has_session) {
  WorkloadResult result;
  const SharedValue<TaskSwitchSums> sums;
  Recording::Options recording_options;
  recording_options.has_session = has_session;
  recording_options.has_track_events = true;
  recording_options.shared_memory_size = kSharedMemorySize;
  if (has_session)
    recording_options.trace_file = options.trace_file;
  recording_options.digest = [sums = sums.get(),
                              reader = std::make_shared<TaskStepReader>()](
                                 ConstBytes packet) -> uint64_t {
    sums->Count(reader->Read(packet), FlowTaskTracer::kSite);
    return 0;
  };
  const auto recording = Recording::Start(recording_options, &result.problem);
  if (recording == nullptr)
    return result;

  const Amount amount = AmountFor(options);
  {
    std::vector<std::unique_ptr<FlowOf<FlowTaskTracer>>> flows;
    for (size_t i = 0; i < kFlows; ++i)
      flows.push_back(std::make_unique<FlowOf<FlowTaskTracer>>());
    RunFlows(amount, flows, &result);
    SwitchTask(Task());
  }
  result.figures.emplace_back("switch_ns", MeasureTaskSwitch(1));
  const Recording::Outcome outcome = recording->Stop();
  if (result.problem.empty())
    result.problem = outcome.problem;
  if (!has_session || !result.problem.empty())
    return result;
  result.events_written =
      kFlows * (amount.warm_up + amount.batch * amount.batches + 1);
  result.events_received = sums.get()->switches;
  result.problem = sums.get()->FindProblem(result.events_written);
  const TraceClock clock;
  result.figures.emplace_back("bytes_per_switch",
                              sums.get()->bytes_per_switch());
  result.figures.emplace_back("clock_ns",
                              MeasureCall([&clock] { return clock.Now(); }));
  return result;
}

template <template <typename> class FlowOf>
void AddTaskRows(const std::string& variant, std::vector<WorkloadRow>* rows) {
  const std::string name = "Chains_" + variant;
  rows->push_back({name + "_Untraced", &RunUntraced<FlowOf>});
  for (const bool has_session : {false, true}) {
    rows->push_back({name + (has_session ? "_On" : "_Off"),
                     [has_session](const WorkloadOptions& options) {
                       return RunTracedTasks<FlowOf>(options, has_session);
                     }});
  }
}

template <template <typename> class FlowOf>
void AddRows(const std::string& variant, std::vector<WorkloadRow>* rows) {
  const std::string name = "Chains_" + variant;
  rows->push_back({name + "_Untraced", &RunUntraced<FlowOf>});
  rows->push_back({name + "_Off", [](const WorkloadOptions& options) {
                     return RunTraced<FlowOf>(options, false);
                   }});
  rows->push_back({name + "_On", [](const WorkloadOptions& options) {
                     return RunTraced<FlowOf>(options, true);
                   }});
}

}  // namespace

}  // namespace protozero::workloads

int main(int argc, char** argv) {
  using namespace protozero::workloads;
  const std::string os = COMPLETION_CHAINS_OS;
  std::vector<WorkloadRow> rows;
  AddRows<CustomAllocatorFlow>(os + "CustomAllocator", &rows);
  AddRows<RecyclingAllocatorFlow>(os + "RecyclingAllocator", &rows);
  AddRows<CoroutineFlow>(os + "Coroutine", &rows);
  AddTaskRows<CustomAllocatorFlow>(os + "CustomAllocatorTasks", &rows);
  AddTaskRows<CoroutineFlow>(os + "CoroutineTasks", &rows);
  return RunWorkloadProgram(argc, argv, rows);
}
