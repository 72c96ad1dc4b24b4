// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/record.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/chosen_processes.h"
#include "src/pztrace/record/command.h"
#include "src/pztrace/record/flight_servers.h"
#include "src/pztrace/record/recording_report.h"
#include "src/pztrace/record/recording_session.h"
#include "src/pztrace/record/recording_signals.h"
#include "src/pztrace/record/recording_sink.h"
#include "src/pztrace/record/recording_status.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/pztrace/scheduling/scheduling_recorder.h"
#include "src/pztrace/spans/http_sink.h"
#include "src/pztrace/spans/live_spans.h"
#include "src/tracing/ipc/user_folder.h"
#include "src/tracing/local/flight_folder.h"
#include "src/tracing/service/name_pattern.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace {

using program::PrintError;

// The time after which the user is told which programs delay the end.
constexpr uint32_t kPatienceMs = 1000;
constexpr uint32_t kOwnPollMs = 10;

// The time that is left to end a recording in. There is no limit until the user
// interrupts.
class EndTime {
 public:
  EndTime(const Interrupts& interrupts,
          const protozero::TracingService* service)
      : interrupts_(interrupts), service_(service) {
    // The user may have interrupted already.
    Left();
  }

  // Returns the milliseconds that are left, UINT32_MAX for any number.
  uint32_t Left() {
    if (interrupts_.count() == 0)
      return UINT32_MAX;
    const uint64_t now = service_->NowMs();
    interrupted_ms_ = std::min(interrupted_ms_, now);
    const uint64_t past_ms = now - interrupted_ms_;
    return past_ms < kMaxMs ? static_cast<uint32_t>(kMaxMs - past_ms) : 0;
  }

 private:
  // The time after an interrupt in which producers may answer, and the output's
  // reader may take the rest of the trace.
  static constexpr uint64_t kMaxMs = 700;

  const Interrupts& interrupts_;
  const protozero::TracingService* const service_;
  // The time when the first interrupt was seen; UINT64_MAX before that.
  uint64_t interrupted_ms_ = UINT64_MAX;
};

// Returns the socket that producers connect to; an empty one, and says why, if
// the current folder is unknown.
std::string SocketFor(const RecordOptions& options,
                      const std::string& folder,
                      std::string* error) {
  if (!options.socket.empty())
    return AbsolutePath(options.socket, error);
  if (!options.session.empty())
    return SessionAddress(folder, options.session, !options.command.empty());
  // A command's programs are recorded alone.
  return options.command.empty() ? protozero::RecorderSocket(folder)
                                 : ProducerSocket(folder, getpid());
}

// Returns what helps if there can be no socket for producers.
const char* RemedyFor(const RecordOptions& options) {
  return !options.session.empty()
             ? "; set XDG_RUNTIME_DIR to another folder, or give another "
               "--session"
         : options.socket.empty()
             ? "; set XDG_RUNTIME_DIR to another folder, or give --socket"
             : "";
}

// Lets producers connect, and begins to record |config|. Returns false, and has
// printed why, if that is not possible.
bool Start(const RecordOptions& options,
           const protozero::TraceConfig& config,
           const std::string& folder,
           RecordingSession* session) {
  if (!session->Start(config, RemedyFor(options)))
    return false;
  const bool has_command = !options.command.empty();
  if (options.session.empty() ||
      IsOnlySession(folder, options.session, has_command)) {
    return true;
  }
  PrintError(kProgram,
             "another recording has the name %s (`pztrace stat` shows it): "
             "end it, or give another --session or --socket",
             options.session.c_str());
  return false;
}

// Tells the user of a problem with the user's folder. Returns whether the
// recording can go on: if producers connect elsewhere, only other commands need
// the folder.
bool CanBeHidden(const RecordOptions& options, const std::string& problem) {
  if (options.socket.empty()) {
    PrintError(kProgram, "%s; --socket needs no such folder", problem.c_str());
    return false;
  }
  PrintError(
      kProgram,
      "`pztrace stat`, `list`, `snapshot` and `trigger` do not find this "
      "recording: %s",
      problem.c_str());
  return true;
}

// Starts the command, or tells the user how programs find the session. Calls
// |begin| when the command runs, which replaces what was there, and returns
// false if it cannot: a command that cannot be run changes nothing.
template <typename Begin>
bool InviteProducers(const RecordOptions& options,
                     bool output_is_trace,
                     const IgnoredSignals& ignored,
                     Begin begin,
                     RecordingSession* session) {
  if (!options.command.empty() &&
      !session->StartCommand(options.command, output_is_trace,
                             ignored.signals())) {
    return false;
  }
  if (!begin()) {
    session->command()->Signal(SIGKILL);
    session->command()->Finish();
    return false;
  }
  if (options.command.empty())
    fprintf(stderr, "%s=%s\n", kSocketVariable, session->socket().c_str());
  return true;
}

// Records, and asks the producers for the rest. Calls |run| each time, which
// returns how many milliseconds there are until the next time. Uses |status| if
// the terminal is not the command's.
template <typename Run>
void RecordUntilEnd(const RecordOptions& options,
                    const Interrupts& interrupts,
                    Run run,
                    RecordingStatus status,
                    RecordingSession* session) {
  while (interrupts.count() == 0 && session->is_recording()) {
    uint32_t wait_ms = run();
    if (options.command.empty()) {
      wait_ms = std::min(wait_ms, status.Run(session->service()->NowMs(),
                                             session->offers()->number()));
    }
    session->RunOnce(wait_ms);
    session->problems()->CheckHost();
  }
}

// Stops the session, and waits for the rest of its packets. The recorder's own
// ones may take longer than those of programs, which may be stopped.
template <typename Run>
void Stop(const Interrupts& interrupts,
          SchedulingRecorder* scheduling,
          EndTime* end,
          Run run,
          RecordingSession* session) {
  // A terminal interrupts the command, too. Other signals are passed on here.
  if (interrupts.count() != 0 && interrupts.last_signal() != SIGINT)
    session->command()->Signal(interrupts.last_signal());
  session->Stop();
  uint64_t report_ms = session->service()->NowMs() + kPatienceMs;
  while (!session->is_stopped()) {
    const uint32_t wait_ms = end->Left();
    if (wait_ms == 0) {
      const bool awaits_own = scheduling != nullptr &&
                              scheduling->is_ending() &&
                              interrupts.count() == 1;
      // A program that does not answer keeps the session from asking for it.
      if (awaits_own)
        scheduling->BeginStop();
      // This takes what has been committed by now.
      session->RunOnce(awaits_own ? std::min(run(), kOwnPollMs) : 0);
      if (!awaits_own)
        session->StopWaiting();
      continue;
    }
    const uint64_t now = session->service()->NowMs();
    if (now >= report_ms) {
      report_ms = UINT64_MAX;
      // Without memory, no program is named.
      protozero::RunsInMemory([session] {
        session->problems()->ReportAwaited(session->GetStats());
      });
    }
    const auto until_report =
        static_cast<uint32_t>(std::min<uint64_t>(report_ms - now, UINT32_MAX));
    session->RunOnce(std::min({wait_ms, run(), until_report}));
  }
}

// Connects the Collector that spans are sent to, if there is one. Returns
// false, and has printed why, if that is not possible.
bool OpenSpans(const RecordOptions& options,
               RecordingSink* sink,
               std::unique_ptr<LiveSpans>* spans) {
  if (options.endpoint.empty())
    return true;
  std::string problem;
  auto http = CreateHttpSink(options.endpoint, &problem);
  if (http == nullptr) {
    PrintError(kProgram, "--endpoint: %s", problem.c_str());
    return false;
  }
  *spans = std::make_unique<LiveSpans>(HostName(), std::move(http));
  sink->SetObserver([live = spans->get()](protozero::ConstBytes packets) {
    live->Add(packets);
  });
  return true;
}

// Waits until the spans are sent, but not long for a server that does not take
// them, and not after another interrupt. Returns false, and has printed why, if
// not all are sent.
bool FinishSpans(const Interrupts& interrupts,
                 RecordingSession* session,
                 LiveSpans* spans) {
  constexpr uint64_t kLongestEndMs = 5000;
  constexpr uint64_t kMaxInterruptedMs = 2000;
  constexpr uint32_t kEndPollMs = 10;
  const int interruptions = interrupts.count();
  const uint64_t end = session->service()->NowMs() +
                       (interruptions == 0 ? kLongestEndMs : kMaxInterruptedMs);
  spans->Finish();
  while (!spans->has_ended()) {
    if (interrupts.count() != interruptions ||
        session->service()->NowMs() >= end)
      spans->Interrupt();
    session->RunOnce(kEndPollMs);
  }
  return spans->Report();
}

// Writes the rest of a stopped session, and reports what is in the file.
// Returns false, and has printed why, if the trace is not whole and that
// counts.
bool Finish(const RecordOptions& options,
            EndTime* end,
            const SchedulingRecorder* scheduling,
            const Interrupts& interrupts,
            LiveSpans* spans,
            RecordingSession* session,
            RecordingSink* sink) {
  bool ok = false;
  const bool has_memory = protozero::RunsInMemory([&] {
    sink->LookLast();
    while (!sink->WriteRest()) {
      // A file takes all, however large a ring is.
      if (end->Left() == 0 && sink->output().has_kept())
        sink->GiveUp();
      session->RunOnce(0);
    }
    const protozero::TraceStats stats = session->GetStats();
    if (scheduling != nullptr) {
      scheduling->WriteSymbols(
          [sink](const std::string& packets) { return sink->Append(packets); });
    }
    sink->Close();
    const bool are_sent =
        spans == nullptr || FinishSpans(interrupts, session, spans);
    ok = ReportRecording(options, stats, *session->problems(), *sink) &&
         (are_sent || !options.fails_on_loss);
  });
  session->Close();
  // Without memory, the losses are unknown.
  if (!has_memory)
    PrintError(kProgram, "out of memory");
  return has_memory && ok;
}

// Waits for the command, which may go on when there is nothing more to record.
// It keeps its producers connected until the user interrupts once more. Returns
// false, and has printed why, if it failed.
bool WaitForCommand(const Interrupts& interrupts, RecordingSession* session) {
  Command* const command = session->command();
  const int interruptions = interrupts.count();
  while (command->is_running() && interrupts.count() == interruptions)
    session->RunOnce(UINT32_MAX);
  command->Signal(SIGKILL);
  return command->Finish();
}

// Returns whether the session records that data source of the producer.
bool IsWanted(const protozero::TraceConfig& config,
              const protozero::TracingService::ProducerInfo& producer,
              const std::string& source_name) {
  using Source = protozero::TraceConfig::DataSource;
  return std::any_of(
      config.data_sources.begin(), config.data_sources.end(),
      [&](const Source& source) {
        const auto has = [](const auto& list, const auto& is_right) {
          return list.empty() ||
                 std::any_of(list.begin(), list.end(), is_right);
        };
        return source.config.name == source_name &&
               has(source.producer_pids,
                   [&](int32_t pid) { return pid == producer.pid; }) &&
               has(source.producer_name_filter,
                   [&](const auto& name) { return name == producer.name; }) &&
               has(source.producer_name_patterns, [&](const auto& pattern) {
                 return protozero::service::IsLike(producer.name, pattern);
               });
      });
}

// Opens the kernel's events about threads, and adds their data source to
// |config|. Returns null if they are not wanted, or not possible.
std::unique_ptr<SchedulingRecorder> OpenScheduling(
    const RecordOptions& options,
    RecordingSession* session,
    protozero::TraceConfig* config) {
  if (!options.threads.are_wanted())
    return nullptr;
  auto scheduling = std::make_unique<SchedulingRecorder>(options.threads);
  if (!scheduling->Open())
    return nullptr;
  session->SetObserver(
      [&options, recorder = scheduling.get()](
          const protozero::TracingService::ProducerInfo& producer,
          const protozero::DataSourceDescriptor& source) {
        if (IsWanted(options.config, producer, source.name))
          recorder->AddProcess(producer.pid);
      });
  protozero::TraceConfig::DataSource source;
  source.config.name = SchedulingRecorder::kDataSource;
  source.producer_pids = {getpid()};
  config->data_sources.push_back(source);
  return scheduling;
}

// Waits until the recorder is a producer of its session. Otherwise a command
// that ends soon would have ended before.
void AwaitStart(const SchedulingRecorder& scheduling,
                const Interrupts& interrupts,
                RecordingSession* session) {
  constexpr uint64_t kMaxStartMs = 5000;
  const uint64_t end = session->service()->NowMs() + kMaxStartMs;
  while (!scheduling.has_started() && interrupts.count() == 0 &&
         session->service()->NowMs() < end) {
    session->RunOnce(/*timeout_ms=*/10);
  }
}

// Writes a trace.
bool RecordToFile(const RecordOptions& options,
                  const std::string& folder,
                  const std::string& socket) {
  // A file that takes no more is an error to report, not a reason to die.
  const IgnoredSignals ignored;
  RecordingSession session(socket);
  session.problems()->WatchCategories(options.categories);
  protozero::TraceConfig config = options.config;
  const std::unique_ptr<SchedulingRecorder> scheduling =
      OpenScheduling(options, &session, &config);
  if (!Start(options, config, folder, &session))
    return false;
  if (scheduling != nullptr)
    scheduling->Connect(session.socket());
  std::unique_ptr<LiveSpans> spans;
  RecordingSink sink(&session, options.config.write_period_ms, options.rotation,
                     options.compression);
  if (!options.strings.are_empty())
    sink.FilterStrings(options.strings);
  if (!options.watched.rules.empty() && !sink.Watch(options.watched))
    return false;
  if (!OpenSpans(options, &sink, &spans))
    return false;
  if (!sink.Open(options.output))
    return false;
  std::string error;
  if (!folder.empty() && !sink.Serve(folder, &error) &&
      !CanBeHidden(options, error)) {
    return false;
  }
  const Interrupts interrupts(session.host());
  if (scheduling != nullptr)
    AwaitStart(*scheduling, interrupts, &session);
  if (!InviteProducers(
          options, sink.output().is_standard_output(), ignored,
          [&sink] { return sink.Begin(); }, &session)) {
    return false;
  }
  const auto run = [&sink] { return sink.Run(); };
  RecordUntilEnd(options, interrupts, run,
                 RecordingStatus([&sink] { return sink.Stats(); }), &session);
  EndTime end(interrupts, session.service());
  Stop(interrupts, scheduling.get(), &end, run, &session);
  if (sink.is_out_of_memory())
    session.problems()->OnEarlyEnd();
  const bool has_all_states = scheduling == nullptr || scheduling->Report();
  const bool is_written = Finish(options, &end, scheduling.get(), interrupts,
                                 spans.get(), &session, &sink);
  return WaitForCommand(interrupts, &session) && is_written &&
         (has_all_states || !options.fails_on_loss);
}

// Gives programs files to write to, and writes nothing.
bool RecordFlights(const RecordOptions& options,
                   const std::string& folder,
                   const std::string& socket) {
  const IgnoredSignals ignored;
  protozero::FlightFolder flights;
  RecordingSession session(socket, &flights);
  session.problems()->WatchCategories(options.categories);
  if (!Start(options, options.config, folder, &session))
    return false;
  // The folder of another recorder stays if that is running.
  std::string error;
  FlightServers servers(&session, &flights);
  if (!flights.Open(options.flight_folder, options.flight_bytes,
                    options.flight_programs, &error)) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
  }
  if (!folder.empty() && !servers.Start(folder, &error) &&
      !CanBeHidden(options, error)) {
    return false;
  }
  const Interrupts interrupts(session.host());
  const auto begin = [&] {
    const bool has_begun = flights.Begin(&error);
    if (!has_begun)
      PrintError(kProgram, "%s", error.c_str());
    return has_begun;
  };
  if (!InviteProducers(options, /*output_is_trace=*/false, ignored, begin,
                       &session)) {
    return false;
  }
  const auto run = [] { return UINT32_MAX; };
  RecordUntilEnd(options, interrupts, run,
                 RecordingStatus([&servers] { return servers.Stats(); }),
                 &session);
  EndTime end(interrupts, session.service());
  Stop(interrupts, /*scheduling=*/nullptr, &end, run, &session);
  const protozero::TraceStats stats = servers.FinalStats();
  const bool is_complete = session.problems()->Report(options.config, stats);
  session.problems()->ReportCategories(stats);
  fprintf(stderr, "%s: %s; `pztrace recover` makes a trace of it\n",
          flights.path().c_str(),
          program::CountOf(flights.num_taken(), "program").c_str());
  session.Close();
  return WaitForCommand(interrupts, &session) && is_complete;
}

}  // namespace

bool Record(const RecordOptions& options) {
  for (const auto& source : options.config.data_sources) {
    if (!CanBeRecorded(source.producer_pids, !options.socket.empty()))
      return false;
  }
  std::string error;
  const std::string folder = RecorderFolder(&error);
  if (folder.empty() && !CanBeHidden(options, error))
    return false;
  // Programs need not try what killed recorders have left.
  if (!options.session.empty())
    FindRecorders(folder);
  const std::string socket = SocketFor(options, folder, &error);
  if (socket.empty()) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
  }
  return options.flight_folder.empty() ? RecordToFile(options, folder, socket)
                                       : RecordFlights(options, folder, socket);
}

}  // namespace pztrace
