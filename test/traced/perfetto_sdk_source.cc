// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// See perfetto_source.h.

#include "perfetto.h"
#include "test/traced/perfetto_source.h"

namespace {

std::function<void()> g_on_start;
std::function<void(std::function<void()>)> g_on_last_flush;

class Source : public perfetto::DataSource<Source> {
 public:
  static constexpr perfetto::BufferExhaustedPolicy kBufferExhaustedPolicy =
      perfetto::BufferExhaustedPolicy::kStall;
  void OnStart(const StartArgs&) override { g_on_start(); }
  void OnFlush(const FlushArgs& args) override {
    if (args.flush_flags.reason() == perfetto::FlushFlags::Reason::kTraceStop)
      g_on_last_flush(args.HandleFlushAsynchronously());
  }
};

}  // namespace

PERFETTO_DECLARE_DATA_SOURCE_STATIC_MEMBERS(Source);
PERFETTO_DEFINE_DATA_SOURCE_STATIC_MEMBERS(Source);

void RegisterPerfettoSource(
    std::function<void()> on_start,
    std::function<void(std::function<void()> done)> on_last_flush) {
  g_on_start = std::move(on_start);
  g_on_last_flush = std::move(on_last_flush);
  perfetto::TracingInitArgs args;
  args.backends = perfetto::kSystemBackend;
  perfetto::Tracing::Initialize(args);
  perfetto::DataSourceDescriptor descriptor;
  descriptor.set_name("protozero.test");
  Source::Register(descriptor);
}

void WritePerfettoPacket(uint64_t timestamp,
                         uint32_t event_field_id,
                         std::string_view event) {
  Source::Trace([&](Source::TraceContext context) {
    const auto packet = context.NewTracePacket();
    packet->set_timestamp(timestamp);
    packet->BeginNestedMessage<protozero::Message>(event_field_id)
        ->AppendRawProtoBytes(event.data(), event.size());
  });
}
