// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <string>
#include <vector>

#include "perfetto_c.h"
#include "protozero/proto_decoder.h"
#include "test/benchmarks/tracers/tracer.h"
#include "test/benchmarks/track_event/rows.h"

#define ROWS_CATEGORIES(C) C(rows, "rows", "measured")
PERFETTO_TE_CATEGORIES_DEFINE(ROWS_CATEGORIES)

namespace {

PerfettoTracingSessionImpl* g_session;
PerfettoTeRegisteredTrack g_counter;

void Initialize(PerfettoBackendTypes backend) {
  static const bool is_initialized = [backend] {
    PerfettoProducerInitArgs args = PERFETTO_PRODUCER_INIT_ARGS_INIT();
    args.backends = backend;
    args.shmem_size_hint_kb = 8 << 10;
    PerfettoProducerInit(args);
    PerfettoTeInit();
    PERFETTO_TE_REGISTER_CATEGORIES(ROWS_CATEGORIES);
    PerfettoTeCounterTrackRegister(&g_counter, "counter",
                                   PerfettoTeProcessTrackUuid(), true);
    return true;
  }();
  (void)is_initialized;
}

// Returns a TraceConfig. Unlike the C++ SDK, this one records no category that
// the configuration does not name.
std::string Config() {
  PerfettoPbMsgWriter writer;
  PerfettoHeapBuffer* heap = PerfettoHeapBufferCreate(&writer);
  perfetto_protos_TraceConfig config;
  PerfettoPbMsgInit(&config.msg, &writer);

  perfetto_protos_TraceConfig_BufferConfig buffer;
  perfetto_protos_TraceConfig_begin_buffers(&config, &buffer);
  perfetto_protos_TraceConfig_BufferConfig_set_size_kb(&buffer, 64 << 10);
  perfetto_protos_TraceConfig_end_buffers(&config, &buffer);

  perfetto_protos_TraceConfig_DataSource source;
  perfetto_protos_DataSourceConfig source_config;
  perfetto_protos_TrackEventConfig events;
  perfetto_protos_TraceConfig_begin_data_sources(&config, &source);
  perfetto_protos_TraceConfig_DataSource_begin_config(&source, &source_config);
  perfetto_protos_DataSourceConfig_set_cstr_name(&source_config, "track_event");
  perfetto_protos_DataSourceConfig_begin_track_event_config(&source_config,
                                                            &events);
  perfetto_protos_TrackEventConfig_set_cstr_enabled_categories(&events, "*");
  perfetto_protos_DataSourceConfig_end_track_event_config(&source_config,
                                                          &events);
  perfetto_protos_TraceConfig_DataSource_end_config(&source, &source_config);
  perfetto_protos_TraceConfig_end_data_sources(&config, &source);

  std::string bytes(PerfettoPbMsgWriterGetWrittenSize(&writer), '\0');
  PerfettoHeapBufferCopyInto(heap, &writer, &bytes[0], bytes.size());
  PerfettoHeapBufferDestroy(heap, &writer);
  return bytes;
}

void Start() {
  Initialize(PERFETTO_BACKEND_IN_PROCESS);
  std::string config = Config();
  g_session = PerfettoTracingSessionCreate(PERFETTO_BACKEND_IN_PROCESS);
  PerfettoTracingSessionSetup(g_session, &config[0], config.size());
  PerfettoTracingSessionStartBlocking(g_session);
}

// Returns the packets that the service missed, which a trace says itself.
uint64_t PacketsLost(const std::string& trace) {
  constexpr uint32_t kPacket = 1;       // of Trace
  constexpr uint32_t kTraceStats = 35;  // of TracePacket
  constexpr uint32_t kBufferStats = 1;  // of TraceStats
  constexpr uint32_t kPacketLoss = 19;  // of BufferStats
  uint64_t lost = 0;
  protozero::ProtoDecoder packets(trace.data(), trace.size());
  for (auto packet = packets.ReadField(); packet;
       packet = packets.ReadField()) {
    if (packet.id() != kPacket)
      continue;
    const auto stats =
        protozero::ProtoDecoder(packet.as_bytes()).FindField(kTraceStats);
    if (!stats)
      continue;
    protozero::ProtoDecoder buffers(stats.as_bytes());
    for (auto it = buffers.ReadField(); it; it = buffers.ReadField()) {
      if (it.id() == kBufferStats) {
        // Counts of several such packets only grow.
        lost = protozero::ProtoDecoder(it.as_bytes())
                   .FindField(kPacketLoss)
                   .as_uint64();
      }
    }
  }
  return lost;
}

TrackEventRows::Outcome Stop() {
  PerfettoTracingSessionStopBlocking(g_session);
  std::string trace;
  PerfettoTracingSessionReadTraceBlocking(
      g_session,
      [](PerfettoTracingSessionImpl*, const void* data, size_t size, bool,
         void* to) {
        static_cast<std::string*>(to)->append(static_cast<const char*>(data),
                                              size);
      },
      &trace);
  PerfettoTracingSessionDestroy(g_session);
  TrackEventRows::Outcome outcome;
  outcome.bytes = trace.size();
  outcome.events_lost = PacketsLost(trace);
  return outcome;
}

bool Connect() {
  Initialize(PERFETTO_BACKEND_SYSTEM);
  for (int i = 0; i < 1000; ++i) {
    if (PERFETTO_TE_IS_CATEGORY_ENABLED(rows))
      return true;
    usleep(10000);
  }
  return false;
}

void Instant(int count) {
  for (int i = 0; i < count; ++i)
    PERFETTO_TE(rows, PERFETTO_TE_INSTANT("instant"));
}
void Slice(int count) {
  for (int i = 0; i < count; ++i) {
    PERFETTO_TE_SCOPED(rows, PERFETTO_TE_SLICE("slice"));
  }
}
void SliceWith1(int count) {
  for (int i = 0; i < count; ++i) {
    PERFETTO_TE_SCOPED(rows, PERFETTO_TE_SLICE("slice 1"),
                       PERFETTO_TE_ARG_INT64("i", i));
  }
}
void SliceWith3(int count) {
  for (int i = 0; i < count; ++i) {
    PERFETTO_TE_SCOPED(
        rows, PERFETTO_TE_SLICE("slice 3"), PERFETTO_TE_ARG_INT64("i", i),
        PERFETTO_TE_ARG_BOOL("b", true), PERFETTO_TE_ARG_STRING("s", "text"));
  }
}
void Counter(int count) {
  for (int i = 0; i < count; ++i) {
    PERFETTO_TE(rows, PERFETTO_TE_COUNTER(),
                PERFETTO_TE_REGISTERED_TRACK(&g_counter),
                PERFETTO_TE_INT_COUNTER(i));
  }
}
void DynamicName(int count) {
  const std::string name = "a name";
  for (int i = 0; i < count; ++i) {
    PERFETTO_TE(rows, PERFETTO_TE_INSTANT(name.c_str()),
                PERFETTO_TE_NO_INTERN());
  }
}

void InstantWith1(int count) {
  for (int i = 0; i < count; ++i) {
    PERFETTO_TE(rows, PERFETTO_TE_INSTANT("instant 1"),
                PERFETTO_TE_ARG_INT64("i", i));
  }
}
void SliceWith3Ints(int count) {
  for (int i = 0; i < count; ++i) {
    PERFETTO_TE_SCOPED(
        rows, PERFETTO_TE_SLICE("slice 3 ints"), PERFETTO_TE_ARG_INT64("i", i),
        PERFETTO_TE_ARG_INT64("j", i + 1), PERFETTO_TE_ARG_INT64("k", i + 2));
  }
}
void SliceWithString(int count) {
  for (int i = 0; i < count; ++i) {
    PERFETTO_TE_SCOPED(rows, PERFETTO_TE_SLICE("slice string"),
                       PERFETTO_TE_ARG_STRING("s", kTracedText));
  }
}

}  // namespace

const TrackEventRows& PerfettoCRows() {
  static const TrackEventRows rows = {
      "perfetto c", &Start,      &Stop,       &Connect, &Instant,
      &Slice,       &SliceWith1, &SliceWith3, &Counter, &DynamicName};
  return rows;
}

const Tracer& PerfettoCTracer() {
  static const Tracer tracer = {
      "Perfetto C",
      "Perfetto C SDK v59, 8 MB of shared memory, a buffer of 64 MB",
      &Start,
      &Stop,
      &SettleBriefly,
      nullptr,
      nullptr,
      true,
      &Instant,
      &InstantWith1,
      &Slice,
      &SliceWith1,
      &SliceWith3Ints,
      &SliceWithString,
      &Counter,
  };
  return tracer;
}
