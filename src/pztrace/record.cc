// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "src/program/io.h"
#include "src/pztrace/command.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/recording_report.h"
#include "src/pztrace/recording_session.h"
#include "src/pztrace/recording_signals.h"
#include "src/pztrace/recording_sink.h"
#include "src/pztrace/recording_status.h"
#include "src/pztrace/runtime_folder.h"
#include "src/tracing/ipc/user_folder.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace {

using program::PrintError;

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
    if (!interrupted_ms_)
      interrupted_ms_ = now;
    const uint64_t past_ms = now - *interrupted_ms_;
    return past_ms < kMaxMs ? static_cast<uint32_t>(kMaxMs - past_ms) : 0;
  }

 private:
  // The time after an interrupt in which producers may answer, and the output's
  // reader may take the rest of the trace.
  static constexpr uint64_t kMaxMs = 700;

  const Interrupts& interrupts_;
  const protozero::TracingService* const service_;
  // The time when the first interrupt was seen.
  std::optional<uint64_t> interrupted_ms_;
};

// Returns the socket that producers connect to; an empty one, and says why, if
// the current folder is unknown.
std::string SocketFor(const RecordOptions& options,
                      const std::string& folder,
                      std::string* error) {
  if (!options.socket.empty())
    return AbsolutePath(options.socket, error);
  // A command's programs are recorded alone.
  return options.command.empty() ? protozero::RecorderSocket(folder)
                                 : ProducerSocket(folder, getpid());
}

// Starts the command, or tells the user how programs find the session.
bool InviteProducers(const RecordOptions& options,
                     const RecordingSink& sink,
                     const IgnoredSignals& ignored,
                     RecordingSession* session) {
  if (!options.command.empty()) {
    return session->StartCommand(
        options.command, sink.output().is_standard_output(), ignored.signals());
  }
  fprintf(stderr, "%s=%s\n", kSocketVariable, session->socket().c_str());
  return true;
}

// |shows_status| if the terminal is not the command's.
void RecordUntilEnd(const Interrupts& interrupts,
                    bool shows_status,
                    RecordingSession* session,
                    RecordingSink* sink) {
  RecordingStatus status([sink] { return sink->Stats(); });
  while (interrupts.count() == 0 && session->is_recording()) {
    uint32_t wait_ms = sink->Run();
    if (shows_status)
      wait_ms = std::min(wait_ms, status.Run(session->service()->NowMs()));
    session->RunOnce(wait_ms);
    session->problems()->CheckHost();
  }
}

void Stop(EndTime* end, RecordingSession* session, RecordingSink* sink) {
  session->Stop();
  while (!session->is_stopped()) {
    const uint32_t wait_ms = end->Left();
    if (wait_ms == 0)
      session->StopWaiting();
    else
      session->RunOnce(std::min(wait_ms, sink->Run()));
  }
  if (sink->is_out_of_memory())
    session->problems()->OnEarlyEnd();
}

// Writes the rest of a stopped session, and reports what is in the file.
// Returns false, and has printed why, if the trace is not whole and that
// counts.
bool Finish(const RecordOptions& options,
            EndTime* end,
            RecordingSession* session,
            RecordingSink* sink) {
  bool ok = false;
  const bool has_memory = protozero::RunsInMemory([&] {
    while (!sink->WriteRest()) {
      if (end->Left() == 0)
        sink->GiveUp();
      session->RunOnce(0);
    }
    const protozero::TraceStats stats = session->GetStats();
    sink->Close();
    ok = ReportRecording(options, stats, *session->problems(), *sink);
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

}  // namespace

bool Record(const RecordOptions& options) {
  std::string error;
  const std::string folder = protozero::UserFolder(&error);
  const std::string socket = SocketFor(options, folder, &error);
  if (folder.empty() || socket.empty()) {
    PrintError(kProgram, "%s", error.c_str());
    return false;
  }
  // A file that takes no more is an error to report, not a reason to die.
  const IgnoredSignals ignored;
  RecordingSession session(socket);
  if (!session.Start(options.config))
    return false;
  // The file is opened only when there is something to write to it.
  RecordingSink sink(&session, options.config.write_period_ms,
                     options.rotation);
  if (!sink.Open(options.output, StatsSocket(folder, getpid())))
    return false;
  const Interrupts interrupts(session.host());
  if (!InviteProducers(options, sink, ignored, &session))
    return false;

  RecordUntilEnd(interrupts, options.command.empty(), &session, &sink);
  EndTime end(interrupts, session.service());
  // A terminal interrupts the command, too. Other signals are passed on here.
  if (interrupts.count() != 0 && interrupts.last_signal() != SIGINT)
    session.command()->Signal(interrupts.last_signal());
  Stop(&end, &session, &sink);
  const bool is_written = Finish(options, &end, &session, &sink);
  return WaitForCommand(interrupts, &session) && is_written;
}

}  // namespace pztrace
