// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/recording_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"

namespace pztrace {

namespace {

using protozero::ServiceHost;

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

// Returns whether Ctrl-C in a terminal interrupts this process.
bool TerminalInterrupts() {
  const int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0)
    return false;
  const bool interrupts = tcgetpgrp(terminal) == getpgrp();
  close(terminal);
  return interrupts;
}

}  // namespace

Interrupts::Interrupts(ServiceHost* host) {
  g_host = host;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kCount; ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    // A signal that the parent ignores, as nohup does, stays ignored. A script
    // has its & commands ignore SIGINT, so that Ctrl-C does not end them: where
    // that is not possible, it is sent on purpose.
    bool takes = before_[i].sa_handler != SIG_IGN || kSignals[i] == SIGCHLD;
    if (!takes && kSignals[i] == SIGINT) {
      takes = !TerminalInterrupts();
      if (!takes) {
        program::PrintError(kProgram,
                            "SIGINT is ignored, as in a script's background; "
                            "`kill %d` ends the recording",
                            getpid());
      }
    }
    if (takes)
      sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupts::~Interrupts() {
  for (size_t i = 0; i < kCount; ++i)
    sigaction(kSignals[i], &before_[i], nullptr);
  g_host = nullptr;
}

int Interrupts::count() const {
  return g_interruptions;
}

int Interrupts::last_signal() const {
  return g_last_interruption;
}

IgnoredSignals::IgnoredSignals() {
  sigemptyset(&changed_);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  for (size_t i = 0; i < kCount; ++i) {
    sigaction(kSignals[i], &ignore, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN)
      sigaddset(&changed_, kSignals[i]);
  }
}

IgnoredSignals::~IgnoredSignals() {
  for (size_t i = 0; i < kCount; ++i)
    sigaction(kSignals[i], &before_[i], nullptr);
}

}  // namespace pztrace
