// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Two processes, each on a processor of its own, send a value of 64 bits to and
// fro through shared memory. This one, the client, measures the round trip. The
// other one, its child, is one of several servers, see ping_pong_servers.h.
//
//   workload_ping_pong --list | --run=ROW [--quick] [--trace=FILE]
//   workload_ping_pong --steps=VARIANT:COUNT
//
// The second form does COUNT round trips with the client and the server taking
// turns in one thread: for a profiler that counts instructions.

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/producer.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/trace.h"
#include "test/testing/allocation_monitor.h"
#include "test/workloads/ping_pong_histogram.h"
#include "test/workloads/ping_pong_servers.h"
#include "test/workloads/recording.h"
#include "test/workloads/shared_value.h"
#include "test/workloads/task_steps.h"
#include "test/workloads/trace_clock.h"
#include "test/workloads/workload_program.h"

namespace protozero::workloads {

namespace {

// ---- The work of the tracer for each round trip

// Compiled without instrumentation.
class NoTracer {
 public:
  [[gnu::always_inline]] inline void OnRoundTrip() {}
  uint64_t events_written() const { return 0; }
  uint64_t events_lost() const { return 0; }
};

// A tracer that writes an event with the time. It reads the time from the clock
// itself, as in any other program.
class RoundTripTracer {
 public:
  RoundTripTracer(std::shared_ptr<DataSource> source, const TraceClock* clock)
      : clock_(clock), writers_(std::move(source)) {
    writers_.Trace([](TraceContext& context) {
      auto* track =
          context.NewTracePacket<TracePacket>()->set_track_descriptor();
      track->set_uuid(kTrack);
      track->set_name("ping-pong");
    });
  }

  [[gnu::always_inline]] inline void OnRoundTrip() {
    writers_.Trace([this](TraceContext& context) {
      auto packet = context.NewTracePacket<TracePacket>();
      packet->set_timestamp(clock_->Now());
      TrackEvent* const event = packet->set_track_event();
      event->set_type(TrackEvent::TYPE_INSTANT);
      event->set_track_uuid(kTrack);
      event->set_name("round trip");
      ++events_written_;
    });
  }

  uint64_t events_written() const { return events_written_; }
  uint64_t events_lost() const { return writers_.packets_lost(); }

 private:
  using TracePacket = protozero::trace::TracePacket;
  using TrackEvent = protozero::trace::TrackEvent;

  static constexpr uint64_t kTrack = 0x70696e67706f6e67;

  const TraceClock* const clock_;
  uint64_t events_written_ = 0;
  DataSourceWriters writers_;
};

// A tracer of two tasks, which take turns: each sends a value when it runs, and
// the answer lets the other one run.
class TurnTracer {
 public:
  static constexpr char kSite[] = "turn";

  ~TurnTracer() {
    SwitchTask(Task(), TaskResult::kDone);
    tasks_[(events_written_ + 1) % 2].End(TaskResult::kDone);
  }

  [[gnu::always_inline]] inline void OnRoundTrip() {
    SwitchTask(tasks_[events_written_++ % 2]);
  }

  uint64_t events_written() const { return events_written_; }

 private:
  const Task tasks_[2] = {Task::Spawn(PROTOZERO_TASK_SITE(kSite)),
                          Task::Spawn(PROTOZERO_TASK_SITE(kSite))};
  uint64_t events_written_ = 0;
};

// ---- The two processes

// The memory that both processes share. All of it is zero at first.
struct Memory {
  ValueMemory values;
  PacketMemory packets;
  // The server's last report.
  uint64_t answered;
  uint64_t allocations;
};
void Find(Memory* memory, ValueMemory** part) {
  *part = &memory->values;
}
void Find(Memory* memory, PacketMemory** part) {
  *part = &memory->packets;
}

// Returns the processors that this process may use, up to two. If there is only
// one, neither process has it for itself.
std::vector<int> Processors() {
  cpu_set_t allowed;
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    for (int i = 0; i < CPU_SETSIZE && processors.size() < 2; ++i) {
      if (CPU_ISSET(i, &allowed))
        processors.push_back(i);
    }
  }
  return processors;
}

// Keeps this thread on one processor from now on.
void StayOn(const std::vector<int>& processors, size_t index) {
  if (processors.size() < 2)
    return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processors[index], &only);
  sched_setaffinity(0, sizeof(only), &only);
}

// A loop's way to wait: it waits for the other process and keeps the processor.
// After a long time, the other process may be waiting for this processor, so it
// gives the processor up.
class Patience {
 public:
  // Returns true if the wait has been long.
  [[gnu::always_inline]] inline bool Wait() {
    return __builtin_expect(++num_waits_ % kWaitsUntilYield == 0, false) &&
           Yield();
  }

 private:
  static constexpr uint32_t kWaitsUntilYield = 1 << 13;

  [[gnu::noinline]] static bool Yield() {
    sched_yield();
    return true;
  }

  uint32_t num_waits_ = 0;
};

// Runs the server. Does not return.
template <typename Server, typename Part>
void RunServer(uint64_t warm_up, Memory* memory) {
  // The server has no other way to learn that the client is gone.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() == 1)
    _exit(1);
  StayOn(Processors(), 1);
  Part* part;
  Find(memory, &part);
  Server server(part);
  Patience patience;
  const auto serve = [&](uint64_t limit) {
    while (!server.is_over() && server.num_answered() < limit) {
      if (!server.Poll())
        patience.Wait();
    }
  };
  serve(warm_up);
  const test::AllocationCounter counter;
  serve(UINT64_MAX);
  memory->answered = server.num_answered();
  memory->allocations = counter.count();
  _exit(0);
}

// The server's process, and the memory that it shares with this one.
class Peer {
 public:
  // Starts the server. REQUIRES: this process has only one thread.
  template <typename Server, typename Part>
  static std::unique_ptr<Peer> Start(uint64_t warm_up, std::string* problem) {
    void* const memory = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      *problem = std::string("mmap: ") + strerror(errno);
      return nullptr;
    }
    std::unique_ptr<Peer> peer(new Peer(static_cast<Memory*>(memory)));
    peer->process_ = fork();
    if (peer->process_ == 0)
      RunServer<Server, Part>(warm_up, peer->memory_);
    if (peer->process_ < 0) {
      *problem = std::string("fork: ") + strerror(errno);
      return nullptr;
    }
    return peer;
  }

  ~Peer() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      Wait(0);
    }
    munmap(memory_, sizeof(Memory));
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  Memory* memory() const { return memory_; }

  // Returns true while the process is running.
  bool is_running() { return process_ > 0 && !Wait(WNOHANG); }
  // Returns true if the process has ended well. REQUIRES: it was told to end.
  bool Join() {
    if (process_ > 0)
      Wait(0);
    return has_succeeded_;
  }

 private:
  explicit Peer(Memory* memory) : memory_(memory) {}

  // Returns true if the process has ended.
  bool Wait(int flags) {
    int status = 0;
    pid_t ended;
    do {
      ended = waitpid(process_, &status, flags);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0)
      return false;
    has_succeeded_ =
        ended == process_ && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    process_ = -1;
    return true;
  }

  Memory* const memory_;
  pid_t process_ = -1;
  bool has_succeeded_ = false;
};

// ---- The measurement

struct Amount {
  uint64_t warm_up;
  uint64_t count;
};

Amount AmountFor(const WorkloadOptions& options) {
  return options.quick ? Amount{1000, 2000} : Amount{50000, 1000000};
}

// Returns a value that differs from the next one in all bytes and is never
// kOver.
constexpr uint64_t ValueOf(uint64_t index) {
  return (index + 1) * 0x9e3779b97f4a7c15;
}

bool IsRight(const ValueClient&) {
  return true;
}
bool IsRight(const PacketClient& client) {
  return client.is_right();
}

// A round trip lasts from one reading of the clock to the next, so that it
// includes all its work and one reading.
template <typename Client, typename Tracer>
void Measure(const Amount& amount,
             const TraceClock& clock,
             Peer* peer,
             Client* client,
             Tracer* tracer,
             LatencyHistogram* latencies,
             WorkloadResult* result) {
  Patience patience;
  bool is_right = true;
  // Sends a value and waits for the answer. Returns false if the server is
  // gone.
  const auto go_there_and_back = [&](uint64_t value) {
    client->Send(value);
    uint64_t answer;
    while (__builtin_expect(!client->TryReceive(&answer), true)) {
      if (patience.Wait() && !peer->is_running()) {
        // The last answer is received only once.
        if (!client->TryReceive(&answer))
          return false;
        break;
      }
    }
    is_right = is_right && answer == value;
    return true;
  };
  const auto run = [&](uint64_t begin, uint64_t end,
                       LatencyHistogram* histogram) {
    uint64_t before = clock.Now();
    for (uint64_t i = begin; i < end; ++i) {
      if (__builtin_expect(!go_there_and_back(ValueOf(i)), false))
        return false;
      tracer->OnRoundTrip();
      const uint64_t now = clock.Now();
      // The time goes back only if the clock is corrected.
      histogram->Add(now > before ? now - before : 0);
      before = now;
    }
    return true;
  };
  LatencyHistogram warm_up_latencies;
  bool is_alive = run(0, amount.warm_up, &warm_up_latencies);
  {
    const test::AllocationCounter counter;
    is_alive = is_alive &&
               run(amount.warm_up, amount.warm_up + amount.count, latencies);
    result->allocations = counter.count();
  }
  is_alive = is_alive && go_there_and_back(kOver);
  if (!is_alive || !peer->Join())
    result->problem = "the server has died";
  else if (!is_right || !IsRight(*client))
    result->problem = "an answer is not what was sent";
  else if (peer->memory()->answered != amount.warm_up + amount.count + 1)
    result->problem = "the server has answered something else";
  result->allocations += peer->memory()->allocations;
  if (result->problem.empty() && result->allocations != 0) {
    result->problem =
        std::to_string(result->allocations) + " allocations, where none is due";
  }
}

// The quantiles of the result. The plot shows these, too.
constexpr std::pair<const char*, double> kQuantiles[] = {
    {"p10_ns", 0.1},       {"p50_ns", 0.5},     {"p75_ns", 0.75},
    {"p90_ns", 0.9},       {"p95_ns", 0.95},    {"p99_ns", 0.99},
    {"p99.5_ns", 0.995},   {"p99.9_ns", 0.999}, {"p99.95_ns", 0.9995},
    {"p99.99_ns", 0.9999},
};

void Report(const LatencyHistogram& latencies, WorkloadResult* result) {
  result->operations = latencies.count();
  result->ns_per_operation = static_cast<double>(latencies.Quantile(0.5));
  for (const auto& [name, fraction] : kQuantiles) {
    result->figures.emplace_back(
        name, static_cast<double>(latencies.Quantile(fraction)));
  }
  result->figures.emplace_back("max_ns", static_cast<double>(latencies.max()));
  result->figures.emplace_back("mean_ns", latencies.mean());
}

// Returns the cost of one call in nanoseconds, in a loop that does nothing
// else: the median of a few batches. Differences between round trips are far
// larger than this cost.
template <typename Function>
double CallCost(const TraceClock& clock, const Function& function) {
  constexpr size_t kBatches = 25;
  constexpr uint64_t kCalls = 2000;
  uint64_t times[kBatches];
  for (uint64_t& time : times) {
    const uint64_t begin = clock.Now();
    for (uint64_t i = 0; i < kCalls; ++i)
      function();
    time = clock.Now() - begin;
  }
  std::nth_element(times, times + kBatches / 2, times + kBatches);
  return static_cast<double>(times[kBatches / 2]) / static_cast<double>(kCalls);
}

template <typename Server, typename Client, typename Part>
WorkloadResult RunUntraced(const WorkloadOptions& options) {
  WorkloadResult result;
  const Amount amount = AmountFor(options);
  const auto peer = Peer::Start<Server, Part>(amount.warm_up, &result.problem);
  if (peer == nullptr)
    return result;
  const TraceClock clock;
  LatencyHistogram latencies;
  StayOn(Processors(), 0);
  Part* part;
  Find(peer->memory(), &part);
  Client client(part);
  NoTracer tracer;
  Measure(amount, clock, peer.get(), &client, &tracer, &latencies, &result);
  Report(latencies, &result);
  return result;
}

template <typename Server>
WorkloadResult RunTraced(const WorkloadOptions& options, bool has_session) {
  WorkloadResult result;
  const Amount amount = AmountFor(options);
  const auto peer =
      Peer::Start<Server, ValueMemory>(amount.warm_up, &result.problem);
  if (peer == nullptr)
    return result;
  Recording::Options recording_options;
  recording_options.has_session = has_session;
  // With this size, the service may be late: it may have no processor for
  // itself.
  recording_options.shared_memory_size = size_t{4} << 20;
  if (has_session)
    recording_options.trace_file = options.trace_file;
  const auto recording = Recording::Start(recording_options, &result.problem);
  if (recording == nullptr)
    return result;
  const TraceClock clock;
  LatencyHistogram latencies;
  // Not before this, because the service and its threads may use any processor.
  StayOn(Processors(), 0);
  {
    ValueClient client(&peer->memory()->values);
    RoundTripTracer tracer(recording->source(), &clock);
    Measure(amount, clock, peer.get(), &client, &tracer, &latencies, &result);
    Report(latencies, &result);
    result.figures.emplace_back(
        "trace_call_ns", CallCost(clock, [&tracer] { tracer.OnRoundTrip(); }));
    [[maybe_unused]] volatile uint64_t time;
    result.figures.emplace_back("clock_ns",
                                CallCost(clock, [&] { time = clock.Now(); }));
    result.events_written = tracer.events_written();
    result.events_lost = tracer.events_lost();
  }
  const Recording::Outcome outcome = recording->Stop();
  result.events_received = outcome.events;
  if (result.problem.empty())
    result.problem = outcome.problem;
  if (result.problem.empty() && result.events_lost != 0)
    result.problem = "events were lost";
  return result;
}

// Runs the round trips with a switch between tasks for each.
template <typename Server>
WorkloadResult RunTracedTasks(const WorkloadOptions& options,
                              bool has_session) {
  WorkloadResult result;
  const Amount amount = AmountFor(options);
  const auto peer =
      Peer::Start<Server, ValueMemory>(amount.warm_up, &result.problem);
  if (peer == nullptr)
    return result;
  const SharedValue<TaskSwitchSums> sums;
  Recording::Options recording_options;
  recording_options.has_session = has_session;
  recording_options.has_track_events = true;
  recording_options.shared_memory_size = size_t{4} << 20;
  if (has_session)
    recording_options.trace_file = options.trace_file;
  recording_options.digest = [sums = sums.get(),
                              reader = std::make_shared<TaskStepReader>()](
                                 ConstBytes packet) -> uint64_t {
    sums->Count(reader->Read(packet), TurnTracer::kSite);
    return 0;
  };
  const auto recording = Recording::Start(recording_options, &result.problem);
  if (recording == nullptr)
    return result;
  const TraceClock clock;
  LatencyHistogram latencies;
  StayOn(Processors(), 0);
  {
    ValueClient client(&peer->memory()->values);
    TurnTracer tracer;
    Measure(amount, clock, peer.get(), &client, &tracer, &latencies, &result);
    Report(latencies, &result);
    result.figures.emplace_back(
        "switch_ns", CallCost(clock, [&tracer] { tracer.OnRoundTrip(); }));
    [[maybe_unused]] volatile uint64_t time;
    result.figures.emplace_back("clock_ns",
                                CallCost(clock, [&] { time = clock.Now(); }));
    if (has_session)
      result.events_written = tracer.events_written();
  }
  const Recording::Outcome outcome = recording->Stop();
  if (result.problem.empty())
    result.problem = outcome.problem;
  if (!has_session || !result.problem.empty())
    return result;
  result.events_received = sums.get()->switches;
  result.problem = sums.get()->FindProblem(result.events_written);
  result.figures.emplace_back("bytes_per_switch",
                              sums.get()->bytes_per_switch());
  return result;
}

// ---- Rows

template <typename Server, typename Client, typename Part>
bool RunSteps(uint64_t count) {
  const auto memory = std::make_unique<Part>();
  Server server(memory.get());
  Client client(memory.get());
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t answer = 0;
    client.Send(ValueOf(i));
    if (!server.Poll() || !client.TryReceive(&answer) || answer != ValueOf(i))
      return false;
  }
  return IsRight(client);
}

struct Variant {
  std::string name;
  bool (*run_steps)(uint64_t count);
};

template <typename Server>
void AddValueRows(const std::string& name,
                  std::vector<WorkloadRow>* rows,
                  std::vector<Variant>* variants) {
  variants->push_back({name, &RunSteps<Server, ValueClient, ValueMemory>});
  const std::string row = "PingPong_" + name;
  rows->push_back(
      {row + "_Untraced", &RunUntraced<Server, ValueClient, ValueMemory>});
  rows->push_back({row + "_Off", [](const WorkloadOptions& options) {
                     return RunTraced<Server>(options, false);
                   }});
  rows->push_back({row + "_On", [](const WorkloadOptions& options) {
                     return RunTraced<Server>(options, true);
                   }});
}

template <typename Server>
void AddTaskRows(const std::string& name, std::vector<WorkloadRow>* rows) {
  const std::string row = "PingPong_" + name;
  rows->push_back(
      {row + "_Untraced", &RunUntraced<Server, ValueClient, ValueMemory>});
  for (const bool has_session : {false, true}) {
    rows->push_back({row + (has_session ? "_On" : "_Off"),
                     [has_session](const WorkloadOptions& options) {
                       return RunTracedTasks<Server>(options, has_session);
                     }});
  }
}

template <typename Server>
void AddPacketRow(const std::string& name,
                  std::vector<WorkloadRow>* rows,
                  std::vector<Variant>* variants) {
  variants->push_back({name, &RunSteps<Server, PacketClient, PacketMemory>});
  rows->push_back({"PingPong_" + name + "_Untraced",
                   &RunUntraced<Server, PacketClient, PacketMemory>});
}

int Main(int argc, char** argv) {
  std::vector<WorkloadRow> rows;
  std::vector<Variant> variants;
  AddValueRows<SpinValueServer>("SpinValue", &rows, &variants);
  AddValueRows<CallbackValueServer>("CallbackValue", &rows, &variants);
  AddValueRows<CoroutineResumeServer>("CoroutineResume", &rows, &variants);
  AddValueRows<CoroutineSuspendServer>("CoroutineSuspend", &rows, &variants);
  AddTaskRows<CoroutineSuspendServer>("CoroutineSuspendTasks", &rows);
  AddPacketRow<PacketSpinServer>("PacketSpin", &rows, &variants);
  AddPacketRow<PacketCallbackServer>("PacketCallback", &rows, &variants);
  AddPacketRow<PacketCoroutineServer>("PacketCoroutine", &rows, &variants);

  const std::string argument = argc == 2 ? argv[1] : "";
  for (const Variant& variant : variants) {
    const std::string steps = "--steps=" + variant.name + ":";
    if (argument.substr(0, steps.size()) == steps) {
      const uint64_t count = strtoull(argv[1] + steps.size(), nullptr, 10);
      if (variant.run_steps(count))
        return 0;
      fprintf(stderr, "an answer is not what was sent\n");
      return 1;
    }
  }
  return RunWorkloadProgram(argc, argv, rows);
}

}  // namespace

}  // namespace protozero::workloads

int main(int argc, char** argv) {
  return protozero::workloads::Main(argc, argv);
}
