// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/recording_session.h"

#include <errno.h>
#include <unistd.h>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"

namespace pztrace {

namespace {

using program::PrintError;
using protozero::ServiceHost;
using protozero::TracingService;

ServiceHost::Options OptionsFor(const std::string& socket,
                                protozero::FlightSource* flight_source) {
  ServiceHost::Options options;
  options.socket = socket;
  options.flight_source = flight_source;
  return options;
}

}  // namespace

RecordingSession::RecordingSession(const std::string& socket,
                                   protozero::FlightSource* flight_source)
    : problems_(&host_), host_(&service_, OptionsFor(socket, flight_source)) {}

bool RecordingSession::Start(protozero::TraceConfig config,
                             const char* remedy) {
  std::string error;
  if (!host_.Listen(&error)) {
    PrintError(kProgram, "%s%s", error.c_str(),
               errno == EADDRINUSE
                   ? "; another recording has it (`pztrace stat` shows it): "
                     "end it, or give another --session or --socket"
                   : remedy);
    return false;
  }
  service_.SetDataSourceObserver(
      [this](const TracingService::ProducerInfo& producer,
             const protozero::DataSourceDescriptor& source) {
        // The recorder may be a producer itself.
        if (producer.pid == getpid())
          return;
        if (observer_)
          observer_(producer, source);
        problems_.OnDataSource(producer, source);
        offers_.Add(producer, source);
      });
  // The service does not write by itself: the sink reads with this period.
  config.write_period_ms = 0;
  id_ = service_.StartTracing(config, this, &error);
  if (id_ == 0) {
    PrintError(kProgram, "the configuration is not valid: %s", error.c_str());
    return false;
  }
  return true;
}

bool RecordingSession::StartCommand(const std::vector<std::string>& words,
                                    bool output_is_trace,
                                    const sigset_t& default_signals) {
  has_command_ =
      command_.Start(words, host_.socket(), output_is_trace, default_signals);
  return has_command_;
}

bool RecordingSession::is_recording() {
  return service_.GetState(id_) < TracingService::kStopping &&
         (!has_command_ || command_.is_running());
}

bool RecordingSession::is_stopped() const {
  return service_.GetState(id_) == TracingService::kStopped;
}

}  // namespace pztrace
