// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The service of the soak test, in a process of its own.

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "test/tracing/hostile_client.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/numbered_packets.h"
#include "test/tracing/soak_state.h"

namespace protozero::test {

namespace {

using SteadyClock = std::chrono::steady_clock;

// The limit of shared memory. Well-behaved producers need two megabytes, and
// the others take the rest.
constexpr size_t kBytesToShare = 128 << 20;

TraceConfig ConfigOf(size_t buffer_size, uint32_t flush_period_ms) {
  TraceConfig config;
  config.buffers = {{buffer_size, BufferFillPolicy::kRingBuffer}};
  config.flush_period_ms = flush_period_ms;
  return config;
}

void AddSource(const char* name, uint32_t life, TraceConfig* config) {
  HeapBuffered<Message> fields;
  fields->AppendVarInt(kSoakLifeFieldId, life);
  TraceConfig::DataSource source;
  source.config.name = name;
  source.config.raw_fields = fields.SerializeAsString();
  config->data_sources.push_back(source);
}

class SoakService final : TracingService::Consumer {
 public:
  SoakService(const SoakServiceOptions& options, SoakState* state)
      : state_(state),
        life_(state->life),
        host_(&service_, HostOptions(options)) {
    std::string error;
    if (!host_.Listen(&error))
      Fail(error);
    std::mt19937_64 random(options.seed);
    // This buffer is not for the hostile ones: no producer is safe from what
    // others write to the same buffer.
    TraceConfig config =
        ConfigOf(kSoakBufferSize, static_cast<uint32_t>(random() % 300));
    AddSource(kSourceName, life_, &config);
    AddSource(kSoakStallingSourceName, life_, &config);
    config.flush_timeout_ms = kTimeoutMs;
    session_ = service_.StartTracing(config, this, &error);
    TraceConfig hostile_config = ConfigOf(kSoakHostileBufferSize, 50);
    AddSource(kHostileSourceName, life_, &hostile_config);
    hostile_config.flush_timeout_ms = 20;
    hostile_session_ = service_.StartTracing(hostile_config, this, &error);
    if (session_ == 0 || hostile_session_ == 0)
      Fail(error);
  }

  void Run() {
    auto next_read = SteadyClock::now();
    while (!state_->service_ends) {
      host_.RunOnce(5);
      if (SteadyClock::now() >= next_read) {
        Read();
        next_read = SteadyClock::now() + std::chrono::milliseconds(20);
        state_->turns_without_descriptor += host_.accept_error() != 0;
      }
    }
    state_->places_refused += host_.num_refused();
    service_.StopTracing(session_);
    while (service_.GetState(session_) != TracingService::kStopped)
      host_.RunOnce(5);
    Read();
    const TraceStats stats = service_.GetStats(session_);
    SoakReport& report = state_->reports[life_];
    report.packets_begun = stats.packets_begun();
    report.packets_read = stats.packets_read();
    report.lost = stats.lost();
    report.unknown_losses = stats.buffers[0].unknown_losses;
    report.abi_violations = stats.buffers[0].abi_violations;
    report.is_closed = true;
  }

 private:
  static ServiceHost::Options HostOptions(const SoakServiceOptions& options) {
    ServiceHost::Options host;
    host.socket = options.socket;
    host.introduction_timeout_ms = 2000;
    host.max_queued_bytes = kSoakQueuedBytes;
    if (options.has_few_places) {
      host.max_connections = kSoakPlaces;
      host.max_connections_per_user = kSoakPlaces;
      host.max_connections_per_process = kSoakPlacesPerProcess;
    }
    return host;
  }

  void OnProducerWithoutMemory(TracingSessionID,
                               const TracingService::ProducerInfo&,
                               const std::string&) override {
    ++state_->producers_without_memory;
  }

  [[noreturn]] static void Fail(const std::string& error) {
    fprintf(stderr, "%s\n", error.c_str());
    _exit(1);
  }

  void Read() {
    const auto ignore = [](const uint8_t*, size_t) { return true; };
    service_.ReadPackets(hostile_session_, ignore);
    std::string trace;
    service_.ReadPackets(session_, [&](const uint8_t* data, size_t size) {
      trace.append(reinterpret_cast<const char*>(data), size);
      return true;
    });
    const uint64_t errors = checker_.num_errors();
    checker_.AddTrace(trace);
    if (checker_.num_errors() != errors)
      fprintf(stderr, "%s", checker_.errors().c_str());
    state_->reports[life_].received = checker_.received();
    state_->reports[life_].errors = checker_.num_errors();
  }

  SoakState* const state_;
  const uint32_t life_;
  TracingService service_;
  ServiceHost host_;
  TracingSessionID session_ = 0;
  TracingSessionID hostile_session_ = 0;
  PacketChecker checker_{kMaxNumberedPacketSize};
};

void SetLimit(decltype(RLIMIT_NOFILE) resource, rlim_t value) {
  rlimit limit;
  if (getrlimit(resource, &limit) == 0)
    limit.rlim_cur = std::min(value, limit.rlim_max);
  if (setrlimit(resource, &limit) != 0)
    _exit(1);
}

// Limits the address space so that only memory to share runs out: memory of the
// service's own is set aside before.
void LimitAddressSpace() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  void* volatile aside = malloc(kMaxSoakServiceBytes);
  if (aside == nullptr)
    _exit(1);
  free(aside);
  size_t num_pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == nullptr || fscanf(file, "%zu", &num_pages) != 1)
    _exit(1);
  fclose(file);
  SetLimit(RLIMIT_AS, num_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) +
                          kBytesToShare);
}

}  // namespace

void RunSoakService(const SoakServiceOptions& options, SoakState* state) {
  if (!options.has_few_places)
    SetLimit(RLIMIT_NOFILE, kSoakDescriptors);
  if (kSoakLimitsMemory)
    LimitAddressSpace();
  SoakService(options, state).Run();
}

}  // namespace protozero::test
