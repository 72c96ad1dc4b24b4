// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/track_event.h"

namespace protozero::workloads {

namespace {

using protozero::trace::Trace;
using protozero::trace::TracePacket;

constexpr char kSourceName[] = "protozero.workload";
// The timeout for answers. They take milliseconds unless the other side hangs.
constexpr uint32_t kTimeoutMs = 60000;

// A message of the child. It sends one when it is ready, and one when it has
// read the trace.
struct Report {
  uint64_t events;
  uint64_t other_packets;
  uint64_t losses;
  uint64_t digest;
  uint64_t bytes;
  char problem[128];
};

bool SendAll(int fd, const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(fd, from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    from += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool ReceiveAll(int fd, void* data, size_t size) {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t received = recv(fd, to, size, 0);
    if (received < 0 && errno == EINTR)
      continue;
    if (received <= 0)
      return false;
    to += received;
    size -= static_cast<size_t>(received);
  }
  return true;
}

void SetProblem(const std::string& problem, Report* report) {
  if (report->problem[0] == '\0')
    strncpy(report->problem, problem.c_str(), sizeof(report->problem) - 1);
}

// The service, in the child process.
class Child : private TracingService::Consumer {
 public:
  Child(const Recording::Options& options, std::string socket, int channel)
      : options_(options),
        channel_(channel),
        host_(&service_, HostOptions(std::move(socket))) {}

  void Run() {
    std::string error;
    TracingSessionID session = 0;
    if (!options_.trace_file.empty()) {
      file_.reset(fopen(options_.trace_file.c_str(), "wb"));
      if (file_ == nullptr)
        SetProblem(options_.trace_file + ": " + strerror(errno), &report_);
    }
    if (!host_.Listen(&error))
      SetProblem(error, &report_);
    else if (options_.has_session)
      session = StartSession();
    if (!SendReport() || report_.problem[0] != '\0')
      return;

    // A byte asks the child to end, and so does a closed socket.
    std::thread listener([this] {
      char byte;
      ReceiveAll(channel_, &byte, sizeof(byte));
      is_over_ = true;
      host_.Wakeup();
    });
    while (!is_over_)
      host_.RunOnce(UINT32_MAX);
    listener.join();

    if (session != 0) {
      service_.StopTracing(session);
      while (service_.GetState(session) != TracingService::kStopped)
        host_.RunOnce(kTimeoutMs);
      service_.RunDue();
      service_.ReadPackets(session, [this](const uint8_t* data, size_t size) {
        return Count(data, size);
      });
      LookAtStats(session);
    }
    if (file_ != nullptr && fclose(file_.release()) != 0)
      SetProblem("the trace could not be written", &report_);
    SendReport();
  }

 private:
  static ServiceHost::Options HostOptions(std::string socket) {
    ServiceHost::Options options;
    options.socket = std::move(socket);
    return options;
  }

  TracingSessionID StartSession() {
    TraceConfig config;
    config.buffers.emplace_back();
    config.buffers[0].size_bytes = options_.buffer_size;
    config.buffers[0].fill_policy = BufferFillPolicy::kDiscard;
    config.data_sources.emplace_back();
    config.data_sources[0].config.name =
        options_.has_track_events ? TrackEventDataSource()->descriptor().name
                                  : kSourceName;
    config.data_sources[0].config.buffer_exhausted_policy = options_.policy;
    config.write_period_ms = options_.read_period_ms;
    std::string error;
    const TracingSessionID session =
        service_.StartTracing(config, this, &error);
    if (session == 0)
      SetProblem(error, &report_);
    return session;
  }

  bool SendReport() { return SendAll(channel_, &report_, sizeof(report_)); }

  // TracingService::Consumer:
  bool OnTraceData(TracingSessionID,
                   const uint8_t* data,
                   size_t size) override {
    return Count(data, size);
  }

  // Counts whole packets.
  bool Count(const uint8_t* data, size_t size) {
    report_.bytes += size;
    if (file_ != nullptr && fwrite(data, 1, size, file_.get()) != size)
      SetProblem("the trace could not be written", &report_);
    ProtoDecoder decoder(data, size);
    for (Field field = decoder.ReadField(); field.valid();
         field = decoder.ReadField()) {
      if (field.id() != Trace::kPacketFieldNumber) {
        SetProblem("the trace has something else than packets", &report_);
        continue;
      }
      CountPacket(field.as_bytes());
    }
    if (decoder.status() != DecodeStatus::kOk)
      SetProblem("the trace is malformed", &report_);
    return true;
  }

  void CountPacket(ConstBytes bytes) {
    const TracePacket::Decoder packet(bytes);
    if (packet.status() != DecodeStatus::kOk)
      SetProblem("a packet is malformed", &report_);
    // The service's own packets come from no process.
    if (!packet.has_trusted_pid())
      return;
    if (!packet.has_track_event()) {
      ++report_.other_packets;
      return;
    }
    ++report_.events;
    if (packet.previous_packet_dropped())
      ++report_.losses;
    if (options_.digest)
      report_.digest += options_.digest(bytes);
  }

  void LookAtStats(TracingSessionID session) {
    const TraceStats stats = service_.GetStats(session);
    if (stats.buffers.at(0).chunks_discarded != 0) {
      SetProblem("the service has discarded chunks: the buffer is too small",
                 &report_);
    }
    if (stats.buffers.at(0).abi_violations != 0 || stats.invalid_packets != 0 ||
        stats.chunks_discarded != 0)
      SetProblem("the service has refused something", &report_);
    if (!stats.final_flush_succeeded)
      SetProblem("the last flush has failed", &report_);
  }

  const Recording::Options& options_;
  const int channel_;
  Report report_ = {};
  std::unique_ptr<FILE, int (*)(FILE*)> file_{nullptr, &fclose};
  TracingService service_;
  ServiceHost host_;
  std::atomic<bool> is_over_{false};
};

}  // namespace

std::unique_ptr<Recording> Recording::Start(const Options& options,
                                            std::string* problem) {
  static int num_recordings = 0;
  const std::string socket = "@protozero.workload." + std::to_string(getpid()) +
                             "." + std::to_string(num_recordings++);
  int channel[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) {
    *problem = std::string("socketpair: ") + strerror(errno);
    return nullptr;
  }
  const pid_t child = fork();
  if (child == 0) {
    close(channel[0]);
    // The child must not run the program's exit handlers.
    Child(options, socket, channel[1]).Run();
    _exit(0);
  }
  close(channel[1]);
  std::unique_ptr<Recording> recording(new Recording());
  recording->child_ = child;
  recording->channel_ = channel[0];
  if (child < 0) {
    *problem = std::string("fork: ") + strerror(errno);
    return nullptr;
  }
  Report ready;
  if (!ReceiveAll(recording->channel_, &ready, sizeof(ready))) {
    *problem = "the service's process has died";
    return nullptr;
  }
  if (ready.problem[0] != '\0') {
    *problem = ready.problem;
    return nullptr;
  }

  recording->source_ =
      options.has_track_events
          ? TrackEventDataSource()
          : std::make_shared<DataSource>(DataSourceDescriptor{kSourceName},
                                         options.policy);
  Producer::Options producer_options;
  producer_options.name = "workload";
  producer_options.socket = socket;
  producer_options.shared_memory_size = options.shared_memory_size;
  producer_options.page_size = options.page_size;
  producer_options.page_layout = options.page_layout;
  producer_options.stall_timeout_ms = options.stall_timeout_ms;
  recording->producer_ = std::make_unique<Producer>(producer_options);
  recording->producer_->RegisterDataSource(recording->source_);
  if (!recording->producer_->Sync(kTimeoutMs) ||
      recording->source_->is_enabled() != options.has_session) {
    *problem = "the producer is not what the service makes it";
    return nullptr;
  }
  return recording;
}

Recording::Outcome Recording::Stop() {
  Outcome outcome;
  Report report = {};
  const char byte = 0;
  if (!SendAll(channel_, &byte, sizeof(byte)) ||
      !ReceiveAll(channel_, &report, sizeof(report))) {
    outcome.problem = "the service's process has died";
    return outcome;
  }
  outcome.events = report.events;
  outcome.other_packets = report.other_packets;
  outcome.losses = report.losses;
  outcome.digest = report.digest;
  outcome.bytes = report.bytes;
  outcome.problem = report.problem;
  return outcome;
}

Recording::~Recording() {
  producer_.reset();
  close(channel_);
  if (child_ <= 0)
    return;
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace protozero::workloads
