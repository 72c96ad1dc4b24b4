// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// See perfetto_source.h.

#include "perfetto_c.h"
#include "test/traced/perfetto_source.h"

namespace {

std::function<void()> g_on_start;
std::function<void(std::function<void()>)> g_on_last_flush;
PerfettoDs g_source = PERFETTO_DS_INIT();

}  // namespace

void RegisterPerfettoSource(
    std::function<void()> on_start,
    std::function<void(std::function<void()> done)> on_last_flush) {
  g_on_start = std::move(on_start);
  g_on_last_flush = std::move(on_last_flush);
  PerfettoProducerInitArgs args = PERFETTO_PRODUCER_INIT_ARGS_INIT();
  args.backends = PERFETTO_BACKEND_SYSTEM;
  PerfettoProducerInit(args);
  PerfettoDsParams params = PerfettoDsParamsDefault();
  params.on_start_cb = [](PerfettoDsImpl*, PerfettoDsInstanceIndex, void*,
                          void*, PerfettoDsOnStartArgs*) { g_on_start(); };
  params.on_flush_cb = [](PerfettoDsImpl*, PerfettoDsInstanceIndex, void*,
                          void*, PerfettoDsOnFlushArgs* args) {
    if (PerfettoDsOnFlushArgsGetReason(args) ==
        PERFETTO_DS_FLUSH_REASON_TRACE_STOP) {
      PerfettoDsAsyncFlusher* flusher = PerfettoDsOnFlushArgsPostpone(args);
      g_on_last_flush([flusher] { PerfettoDsFlushDone(flusher); });
    }
  };
  params.buffer_exhausted_policy =
      PERFETTO_DS_BUFFER_EXHAUSTED_POLICY_STALL_AND_ABORT;
  PerfettoDsRegister(&g_source, "protozero.test", params);
}

void WritePerfettoPacket(uint64_t timestamp,
                         uint32_t event_field_id,
                         std::string_view event) {
  PERFETTO_DS_TRACE(g_source, context) {
    PerfettoDsRootTracePacket packet;
    PerfettoDsTracerPacketBegin(&context, &packet);
    perfetto_protos_TracePacket_set_timestamp(&packet.msg, timestamp);
    PerfettoPbMsg nested;
    PerfettoPbMsgBeginNested(&packet.msg.msg, &nested,
                             static_cast<int32_t>(event_field_id));
    PerfettoPbMsgAppendBytes(
        &nested, reinterpret_cast<const uint8_t*>(event.data()), event.size());
    PerfettoPbMsgEndNested(&packet.msg.msg);
    PerfettoDsTracerPacketEnd(&context, &packet);
  }
}
