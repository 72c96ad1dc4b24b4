// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Runs our service for one session with Perfetto's probes. See probes_test.py.

#include <stdio.h>

#include <string>

#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "src/program/command_line.h"

namespace {

using namespace protozero;

// Fields of Perfetto's DataSourceConfig and of its messages.
constexpr uint32_t kProcessStatsConfigFieldId = 103;
constexpr uint32_t kScanAllProcessesOnStartFieldId = 2;
constexpr uint32_t kProcStatsPollMsFieldId = 4;
constexpr uint32_t kSysStatsConfigFieldId = 104;
constexpr uint32_t kMeminfoPeriodMsFieldId = 1;
constexpr uint32_t kStatPeriodMsFieldId = 5;

TraceConfig Config() {
  TraceConfig config;
  config.buffers.push_back({16 * 1024 * 1024, BufferFillPolicy::kDiscard});
  config.data_sources.resize(2);
  // Its chunks are large, and it writes little.
  config.flush_period_ms = 200;

  HeapBuffered<Message> process_stats;
  {
    Message* const message =
        process_stats->BeginNestedMessage<Message>(kProcessStatsConfigFieldId);
    message->AppendVarInt(kScanAllProcessesOnStartFieldId, 1);
    message->AppendVarInt(kProcStatsPollMsFieldId, 100);
  }
  config.data_sources[0].config.name = "linux.process_stats";
  config.data_sources[0].config.raw_fields = process_stats.SerializeAsString();

  HeapBuffered<Message> sys_stats;
  {
    Message* const message =
        sys_stats->BeginNestedMessage<Message>(kSysStatsConfigFieldId);
    message->AppendVarInt(kMeminfoPeriodMsFieldId, 50);
    message->AppendVarInt(kStatPeriodMsFieldId, 50);
  }
  config.data_sources[1].config.name = "linux.sys_stats";
  config.data_sources[1].config.raw_fields = sys_stats.SerializeAsString();
  return config;
}

uint64_t NumPacketsRead(const TracingService& service,
                        TracingSessionID session) {
  uint64_t packets = 0;
  for (const TraceWriterStats& writer : service.GetStats(session).writers)
    packets += writer.packets_read;
  return packets;
}

}  // namespace

int main(int argc, char** argv) {
  ServiceHost::Options options;
  std::string trace;
  uint64_t num_packets = 0;
  const program::Command command = {
      "traced_host",
      "SOCKET TRACE PACKETS",
      "Prints \"listening\", records until producers have written so many "
      "packets, writes\nthe trace, and prints the statistics.\n",
      {{"SOCKET", "where producers connect", &options.socket},
       {"TRACE", "the file of the trace", &trace},
       {"PACKETS", "how many to wait for", &num_packets}}};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  TracingService service;
  ServiceHost host(&service, options);
  std::string error;
  if (!host.Listen(&error)) {
    fprintf(stderr, "traced_host: %s\n", error.c_str());
    return 1;
  }
  printf("listening\n");
  fflush(stdout);

  FILE* const file = fopen(trace.c_str(), "wb");
  const TracingSessionID session =
      service.StartTracing(Config(), nullptr, &error);
  if (session == 0 || file == nullptr) {
    fprintf(stderr, "traced_host: %s\n", error.c_str());
    return 1;
  }
  const auto read = [&] {
    service.ReadPackets(session, [&](const uint8_t* data, size_t size) {
      return fwrite(data, 1, size, file) == size;
    });
  };
  while (NumPacketsRead(service, session) < num_packets) {
    host.RunOnce(UINT32_MAX);
    read();
  }
  service.StopTracing(session);
  while (service.GetState(session) != TracingService::kStopped)
    host.RunOnce(UINT32_MAX);
  read();
  const TraceStats stats = service.GetStats(session);
  printf(
      "%llu packets, %llu invalid, %llu violations, %llu patches, "
      "%llu patches failed, final flush %s\n",
      static_cast<unsigned long long>(NumPacketsRead(service, session)),
      static_cast<unsigned long long>(stats.invalid_packets),
      static_cast<unsigned long long>(stats.buffers.at(0).abi_violations),
      static_cast<unsigned long long>(stats.buffers.at(0).patches_succeeded),
      static_cast<unsigned long long>(stats.buffers.at(0).patches_failed),
      stats.final_flush_succeeded ? "succeeded" : "failed");
  return fclose(file) == 0 ? 0 : 1;
}
