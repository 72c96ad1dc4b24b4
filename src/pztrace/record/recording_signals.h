// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RECORDING_SIGNALS_H_
#define SRC_PZTRACE_RECORD_RECORDING_SIGNALS_H_

#include <signal.h>
#include <stddef.h>

#include "protozero/tracing/service_host.h"

namespace pztrace {

// The signals by which the user ends a recording. As long as this exists, they
// and the end of a command wake the host up, and end nothing themselves. There
// is one at a time, in the host's thread.
class Interrupts {
 public:
  // REQUIRES: |host| outlives it.
  explicit Interrupts(protozero::ServiceHost* host);
  ~Interrupts();

  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Returns the number of interrupts so far.
  int count() const;
  // Returns the signal of the last one. REQUIRES: count() is not 0.
  int last_signal() const;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
  static constexpr size_t kCount = sizeof(kSignals) / sizeof(*kSignals);

  struct sigaction before_[kCount] = {};
};

// Ignores SIGPIPE and SIGXFSZ as long as this exists: the call that would raise
// them fails with an error.
class IgnoredSignals {
 public:
  IgnoredSignals();
  ~IgnoredSignals();

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

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RECORDING_SIGNALS_H_
