// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_PRODUCER_PROBLEMS_H_
#define SRC_PZTRACE_RECORD_PRODUCER_PROBLEMS_H_

#include <stdint.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"

namespace pztrace {

// The problems that keep producers, or packets, from being part of the trace.
// Tells the user of each when it is first seen, and of all of them in the end.
class ProducerProblems : public protozero::TracingService::Consumer {
 public:
  // REQUIRES: |host| exists whenever CheckHost() or a report is called.
  explicit ProducerProblems(const protozero::ServiceHost* host) : host_(host) {}

  // To be called if the session has stopped because it could not be read.
  void OnEarlyEnd() { ended_early_ = true; }

  // To be called whenever the host may have had a problem.
  void CheckHost();

  // Has ReportCategories() say which patterns of |categories|, a list of the
  // user, name no category of any producer. Call it before producers connect.
  void WatchCategories(const std::string& categories);
  // Remembers the categories of events, and tells the user of a producer whose
  // clock is another one. A TracingService::DataSourceObserver.
  void OnDataSource(const protozero::TracingService::ProducerInfo& producer,
                    const protozero::DataSourceDescriptor& source);
  // Prints which programs the end of the session waits for.
  void ReportAwaited(const protozero::TraceStats& stats) const;
  // Prints which wanted categories were not there, and which ones there were.
  void ReportCategories(const protozero::TraceStats& stats) const;

  // Prints all losses. Returns false if a producer connected and could not be
  // recorded. It is not a failure if no producer has a data source that
  // |config| asks for.
  bool Report(const protozero::TraceConfig& config,
              const protozero::TraceStats& stats) const;
  // Prints the losses for which this process had no memory, and returns whether
  // there are any.
  bool ReportLackOfMemory(const protozero::TraceStats& stats) const;

  // TracingService::Consumer:
  void OnProducerWithoutMemory(protozero::TracingSessionID,
                               const protozero::TracingService::ProducerInfo&,
                               const std::string& reason) override;
  void OnProducerWithoutPlace(
      protozero::TracingSessionID,
      const protozero::TracingService::ProducerInfo&) override;

 private:
  void CheckClock(const protozero::TracingService::ProducerInfo& producer);

  const protozero::ServiceHost* const host_;
  // True for the problems that have been printed.
  bool knows_accept_error_ = false;
  bool knows_refusal_ = false;
  bool knows_lack_of_memory_ = false;
  bool knows_lack_of_host_memory_ = false;
  bool ended_early_ = false;
  // The number of times that a program had no place for this recorder.
  uint32_t num_without_place_ = 0;
  // The user's list, and its patterns that no category has matched so far.
  std::string wanted_categories_;
  std::vector<std::string> unmatched_;
  std::set<std::string> categories_;
  // The programs with another clock, by process and name.
  std::set<std::pair<int32_t, std::string>> other_clocks_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_PRODUCER_PROBLEMS_H_
