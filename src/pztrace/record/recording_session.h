// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RECORDING_SESSION_H_
#define SRC_PZTRACE_RECORD_RECORDING_SESSION_H_

#include <signal.h>
#include <stdint.h>

#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/record/command.h"
#include "src/pztrace/record/producer_problems.h"
#include "src/pztrace/record/program_offers.h"

namespace pztrace {

// The source of a recording's packets: a tracing session, the service that it
// is in, the socket that producers connect to, and the command that is one of
// them. It writes nothing: see RecordingSink.
class RecordingSession : private protozero::TracingService::Consumer {
 public:
  // |socket| is a path, or '@' and a name. |flight_source| may be null, see
  // ServiceHost::Options; REQUIRES: it outlives this.
  explicit RecordingSession(const std::string& socket,
                            protozero::FlightSource* flight_source = nullptr);

  RecordingSession(const RecordingSession&) = delete;
  RecordingSession& operator=(const RecordingSession&) = delete;

  // Calls |observer| when a producer offers a data source, with a lock of the
  // service held. Call it before Start().
  void SetObserver(protozero::TracingService::DataSourceObserver observer) {
    observer_ = std::move(observer);
  }

  // Lets producers connect, and records what they trace in the buffers of
  // |config|. Returns false, and has printed why, if that is not possible;
  // |remedy| ends the message if there can be no socket.
  bool Start(protozero::TraceConfig config, const char* remedy);
  // Starts the command, see Command::Start(). REQUIRES: Start() has returned
  // true.
  bool StartCommand(const std::vector<std::string>& words,
                    bool output_is_trace,
                    const sigset_t& default_signals);
  // Waits until something happens, but no longer than |timeout_ms|, and serves
  // the producers.
  void RunOnce(uint32_t timeout_ms) { host_.RunOnce(timeout_ms); }
  // Asks the producers for the rest. They answer during RunOnce().
  void Stop() { service_.StopTracing(id_); }
  // Goes without the answers that are missing.
  void StopWaiting() { service_.StopWaiting(id_); }
  // Frees the buffers.
  void Close() { service_.CloseSession(id_); }

  // Returns true until Stop(), the configured end, or the end of the command.
  bool is_recording();
  // Returns true if nothing can follow what is in the buffers.
  bool is_stopped() const;
  // Returns whether a trigger has asked for a copy of the session since the
  // last call.
  bool TakeTrigger() { return std::exchange(is_triggered_, false); }
  // Returns whether a buffer has become half full since the last call.
  bool TakeHalfFull() { return std::exchange(is_half_full_, false); }
  // Throws std::bad_alloc if there is no memory.
  protozero::TraceStats GetStats() const { return service_.GetStats(id_); }

  const std::string& socket() const { return host_.socket(); }
  protozero::TracingService* service() { return &service_; }
  protozero::TracingSessionID id() const { return id_; }
  protozero::ServiceHost* host() { return &host_; }
  ProducerProblems* problems() { return &problems_; }
  ProgramOffers* offers() { return &offers_; }
  Command* command() { return &command_; }

 private:
  // TracingService::Consumer:
  void OnProducerWithoutMemory(
      protozero::TracingSessionID id,
      const protozero::TracingService::ProducerInfo& producer,
      const std::string& reason) override {
    problems_.OnProducerWithoutMemory(id, producer, reason);
  }
  void OnProducerWithoutPlace(
      protozero::TracingSessionID id,
      const protozero::TracingService::ProducerInfo& producer) override {
    problems_.OnProducerWithoutPlace(id, producer);
  }
  void OnCloneTrigger(protozero::TracingSessionID,
                      const std::string&) override {
    is_triggered_ = true;
  }
  void OnBufferHalfFull(protozero::TracingSessionID) override {
    is_half_full_ = true;
  }

  // The first members: the service tells them of producers until its end.
  protozero::TracingService::DataSourceObserver observer_;
  ProducerProblems problems_;
  ProgramOffers offers_;
  protozero::TracingService service_;
  protozero::ServiceHost host_;
  protozero::TracingSessionID id_ = 0;
  Command command_;
  bool has_command_ = false;
  bool is_triggered_ = false;
  bool is_half_full_ = false;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RECORDING_SESSION_H_
