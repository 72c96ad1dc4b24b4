// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "protozero/tracing/service_host.h"
#include "src/program/io.h"
#include "src/pztrace/command.h"
#include "src/pztrace/completeness.h"
#include "src/pztrace/file_rotator.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/runtime_folder.h"
#include "src/pztrace/session_monitor.h"
#include "src/pztrace/session_stats.h"
#include "src/pztrace/trace_drain.h"
#include "src/pztrace/trace_output.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace {

using program::PrintError;

using protozero::ServiceHost;
using protozero::TracingService;
using protozero::TracingSessionID;

// The time after an interrupt in which producers may answer, and the output's
// reader may take the rest of the trace.
constexpr uint64_t kMaxEndMs = 700;

// Messages of the signal handlers for the loop. They run in its thread: the
// other thread takes no signals.
std::atomic<ServiceHost*> g_host{nullptr};
volatile sig_atomic_t g_interruptions = 0;
volatile sig_atomic_t g_last_interruption = 0;

void OnSignal(int signal) {
  const int saved_errno = errno;
  if (signal != SIGCHLD) {
    g_last_interruption = signal;
    g_interruptions = g_interruptions + 1;
  }
  if (ServiceHost* const host = g_host.load())
    host->Wakeup();
  errno = saved_errno;
}

// Makes signals wake the host up, as long as this exists.
class ScopedSignals {
 public:
  explicit ScopedSignals(ServiceHost* host) {
    g_host = host;
    struct sigaction action = {};
    action.sa_handler = OnSignal;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < kCount; ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      // A signal that the parent ignores, as nohup does, stays ignored.
      if (before_[i].sa_handler != SIG_IGN || kSignals[i] == SIGCHLD)
        sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~ScopedSignals() {
    for (size_t i = 0; i < kCount; ++i)
      sigaction(kSignals[i], &before_[i], nullptr);
    g_host = nullptr;
  }

  ScopedSignals(const ScopedSignals&) = delete;
  ScopedSignals& operator=(const ScopedSignals&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
  static constexpr size_t kCount = sizeof(kSignals) / sizeof(*kSignals);

  struct sigaction before_[kCount] = {};
};

// Ignores SIGPIPE and SIGXFSZ as long as this exists: the call that would raise
// them fails with an error.
class IgnoredSignals {
 public:
  IgnoredSignals() {
    sigemptyset(&changed_);
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    for (size_t i = 0; i < kCount; ++i) {
      sigaction(kSignals[i], &ignore, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN)
        sigaddset(&changed_, kSignals[i]);
    }
  }
  ~IgnoredSignals() {
    for (size_t i = 0; i < kCount; ++i)
      sigaction(kSignals[i], &before_[i], nullptr);
  }

  IgnoredSignals(const IgnoredSignals&) = delete;
  IgnoredSignals& operator=(const IgnoredSignals&) = delete;

  // Returns the signals that were not ignored before. Other programs expect
  // that.
  const sigset_t& signals() const { return changed_; }

 private:
  static constexpr int kSignals[] = {SIGPIPE, SIGXFSZ};
  static constexpr size_t kCount = sizeof(kSignals) / sizeof(*kSignals);

  struct sigaction before_[kCount] = {};
  sigset_t changed_;
};

void PrintSummary(const TraceOutput& file,
                  const protozero::TraceStats& stats,
                  const Completeness& completeness) {
  // If the file lacks packets, some of these may be the service's.
  const std::string of_writers =
      file.packets_lost() == 0
          ? std::to_string(stats.packets_read()) + " of them "
          : std::string();
  const std::string name =
      file.num_files() == 1
          ? file.name()
          : file.name() + ": " + CountOf(file.num_files(), "file");
  fprintf(stderr, "%s: %s, %s, %sof %s in %s, %s\n", name.c_str(),
          CountOf(file.bytes(), "byte").c_str(),
          CountOf(file.packets(), "packet").c_str(), of_writers.c_str(),
          CountOf(stats.writers_seen(), "writer").c_str(),
          CountOf(stats.producers_seen, "producer").c_str(),
          completeness.Text().c_str());
}

// Prints at the end what the file has and what it lacks. |is_complete| if all
// could be read. Returns whether all losses are counted ones, or, if the user
// wants that, whether there are none.
bool Report(const RecordOptions& options,
            bool is_complete,
            const protozero::TraceStats& stats,
            const SessionMonitor& monitor,
            TraceOutput* file) {
  bool ok = file->Close();
  std::string problem;
  if (!ok && file->packets_lost() == 0)
    problem = "perhaps not all of it in the file";
  if (!monitor.Report(options.config, stats)) {
    ok = false;
    problem = "producers are missing";
  }
  monitor.ReportCategories(options.categories, stats);
  if (!is_complete)
    PrintError(kProgram, "out of memory: not all could be read");
  if (monitor.ReportLackOfMemory(stats) || !is_complete) {
    ok = false;
    problem = "out of memory";
  }
  Completeness completeness(stats);
  completeness.AddNotWritten(file->packets_lost());
  if (!problem.empty())
    completeness.AddProblem(problem);
  PrintSummary(*file, stats, completeness);
  return ok && (completeness.is_complete() || !options.fails_on_loss);
}

}  // namespace

bool Record(const RecordOptions& options) {
  std::string error;
  const std::string folder = RuntimeFolder(&error);
  if (folder.empty()) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
  }
  // A file that takes no more is an error to report, not a reason to die.
  const IgnoredSignals ignored;
  TraceOutput file;
  TracingService service;
  ServiceHost::Options host_options;
  host_options.socket = options.socket.empty()
                            ? ProducerSocket(folder, getpid())
                            : AbsolutePath(options.socket, &error);
  if (host_options.socket.empty()) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
  }
  ServiceHost host(&service, host_options);
  if (!host.Listen(&error)) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
  }
  SessionMonitor monitor(&host);
  service.SetDataSourceObserver(
      [&monitor](const TracingService::ProducerInfo&,
                 const protozero::DataSourceDescriptor& source) {
        monitor.OnDataSource(source);
      });
  // The service does not write by itself: the drain reads with this period.
  protozero::TraceConfig config = options.config;
  const uint32_t period_ms = std::exchange(config.write_period_ms, 0);
  const TracingSessionID session =
      service.StartTracing(config, &monitor, &error);
  if (session == 0) {
    PrintError(kProgram, "the configuration is not valid: %s", error.c_str());
    return false;
  }
  // The file is opened only when there is something to write to it.
  if (!file.Open(options.output, options.rotation))
    return false;

  const uint64_t start_ms = service.NowMs();
  StatsServer stats_server([&] {
    RecordingStats stats;
    stats.file = file.name();
    stats.file_bytes = file.bytes();
    stats.packets_not_written = file.packets_lost();
    stats.elapsed_ms = service.NowMs() - start_ms;
    stats.trace = service.GetStats(session);
    return SerializeStats(stats);
  });
  if (!stats_server.Start(StatsSocket(folder, getpid()), &error)) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
  }

  const ScopedSignals signals(&host);
  Command command;
  if (options.command.empty()) {
    fprintf(stderr, "%s=%s\n", kSocketVariable, host.socket().c_str());
  } else if (!command.Start(options.command, host.socket(),
                            file.is_standard_output(), ignored.signals())) {
    return false;
  }
  TraceDrain drain(&service, session, &file, period_ms);
  FileRotator rotator(options.rotation, &service, session, &drain, &file);
  while (service.GetState(session) < TracingService::kStopping &&
         g_interruptions == 0 &&
         (options.command.empty() || command.is_running())) {
    const uint32_t wait_ms = rotator.Run();
    host.RunOnce(std::min(wait_ms, drain.Run()));
    monitor.CheckHost();
  }
  // The time when the first interrupt was seen.
  std::optional<uint64_t> interrupted_ms;
  const auto time_left = [&]() -> uint32_t {
    if (g_interruptions == 0)
      return UINT32_MAX;
    const uint64_t now = service.NowMs();
    if (!interrupted_ms)
      interrupted_ms = now;
    const uint64_t past_ms = now - *interrupted_ms;
    return past_ms < kMaxEndMs ? static_cast<uint32_t>(kMaxEndMs - past_ms) : 0;
  };
  time_left();

  // A terminal interrupts the command, too. Other signals are passed on here.
  if (g_interruptions != 0 && g_last_interruption != SIGINT)
    command.Signal(g_last_interruption);
  service.StopTracing(session);
  while (service.GetState(session) != TracingService::kStopped) {
    const uint32_t wait_ms = time_left();
    if (wait_ms == 0)
      service.StopWaiting(session);
    else
      host.RunOnce(std::min(wait_ms, drain.Run()));
  }
  if (drain.is_out_of_memory())
    monitor.OnEarlyEnd();
  bool ok = false;
  const bool has_memory = protozero::RunsInMemory([&] {
    while (!drain.ReadSome()) {
      if (time_left() == 0)
        file.GiveUp();
      host.RunOnce(0);
    }
    ok = Report(options, !drain.is_out_of_memory(), service.GetStats(session),
                monitor, &file);
  });
  service.CloseSession(session);
  // Without memory, the losses are unknown.
  if (!has_memory) {
    ok = false;
    PrintError(kProgram, "out of memory");
  }

  // The command may go on when there is nothing more to record. It keeps its
  // producers connected until the user interrupts once more.
  const int interruptions = g_interruptions;
  while (command.is_running() && g_interruptions == interruptions)
    host.RunOnce(UINT32_MAX);
  command.Signal(SIGKILL);
  if (!options.command.empty() && !command.Finish())
    ok = false;
  return ok;
}

}  // namespace pztrace
