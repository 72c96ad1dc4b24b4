// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SESSION_MONITOR_H_
#define SRC_PZTRACE_SESSION_MONITOR_H_

#include <stddef.h>
#include <stdint.h>

#include <string>

#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/trace_output.h"

namespace pztrace {

// Takes a session's trace to its file, and tells the user what keeps producers
// from being part of it: each problem when it is seen first, and all of them in
// the end.
class SessionMonitor : public protozero::TracingService::Consumer {
 public:
  // REQUIRES: they outlive it.
  SessionMonitor(TraceOutput* file, const protozero::ServiceHost* host)
      : file_(file), host_(host) {}

  // To be called whenever the host may have had a problem.
  void CheckHost();

  // Prints all losses. Returns false if a producer connected and could not be
  // recorded. If no producer has a data source that |config| asks for, that is
  // no failure.
  bool Report(const protozero::TraceConfig& config,
              const protozero::TraceStats& stats) const;
  // Prints the losses for which this process had no memory, and returns whether
  // there are any.
  bool ReportLackOfMemory(const protozero::TraceStats& stats) const;

  // TracingService::Consumer:
  bool OnTraceData(protozero::TracingSessionID,
                   const uint8_t* data,
                   size_t size) override;
  void OnTraceWritten(protozero::TracingSessionID, bool complete) override;
  void OnProducerWithoutMemory(protozero::TracingSessionID,
                               const protozero::TracingService::ProducerInfo&,
                               const std::string& reason) override;

 private:
  TraceOutput* const file_;
  const protozero::ServiceHost* const host_;
  // The problems that have been printed.
  bool knows_accept_error_ = false;
  bool knows_refusal_ = false;
  bool knows_lack_of_memory_ = false;
  bool knows_lack_of_host_memory_ = false;
  bool ended_early_ = false;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SESSION_MONITOR_H_
