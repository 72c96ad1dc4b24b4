// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/log.h"

#include <string.h>

#include "src/otlp/attributes.h"
#include "src/otlp/pipeline_state.h"
#include "src/otlp/protos/schema.h"
#include "src/otlp/slot_fields.h"
#include "src/otlp/wire.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace {

using internal::BytesTag;
using internal::Fixed64Tag;
using internal::kMaxHeader;
using internal::PutLength;
using internal::Slot;
using internal::ValueWriter;
using internal::VarIntTag;
using LogSchema = otlp_schema::LogRecord;

void WriteContext(Slot* slot, const SpanContext& context) {
  uint8_t* pos = slot->pos;
  *pos++ = internal::OneByteTag(LogSchema::kFlagsFieldNumber, 5);
  pos = internal::PutFixed32(pos, context.flags);
  pos = internal::PutBytes(pos, BytesTag(LogSchema::kTraceIdFieldNumber),
                           context.trace_id.bytes, TraceId::kSize);
  slot->pos = internal::PutBytes(pos, BytesTag(LogSchema::kSpanIdFieldNumber),
                                 context.span_id.bytes, SpanId::kSize);
}

void WriteBody(Slot* slot, const AttributeValue& body) {
  ValueWriter writer{SIZE_MAX};
  uint8_t* pos = RoomFor(slot, kMaxHeader + writer.RoomForValue(body));
  if (pos == nullptr) {
    ++slot->dropped_attributes;
    const size_t room = static_cast<size_t>(slot->end - slot->pos);
    if (body.type() != AttributeValue::Type::kString || room < 2 * kMaxHeader)
      return;
    writer.text_limit = room - 2 * kMaxHeader;
    pos = slot->pos;
  }
  *pos++ = BytesTag(LogSchema::kBodyFieldNumber);
  uint8_t* const any = ++pos;
  slot->pos = PutLength(any, writer.PutAnyValue(pos, body));
  slot->repaired_texts += writer.repaired;
}

}  // namespace

void Log::Start(internal::ScopeState* scope,
                Severity severity,
                const AttributeValue& body,
                const LogOptions& options) noexcept {
  internal::PipelineState* const pipeline = scope->pipeline;
  internal::ThreadState* const thread = pipeline->Thread();
  Slot* const slot = BeginSlot(thread, scope, Signal::kLogs,
                               BytesTag(LogSchema::kAttributesFieldNumber));
  if (slot == nullptr)
    return;
  const uint64_t boot_time = thread->BootTime();
  const uint64_t now =
      boot_time + static_cast<uint64_t>(pipeline->clock.OffsetAt(boot_time));
  uint8_t* pos = slot->pos;
  *pos++ = Fixed64Tag(LogSchema::kTimeUnixNanoFieldNumber);
  pos = internal::PutFixed64(
      pos, options.unix_time_ns != 0 ? options.unix_time_ns : now);
  *pos++ = Fixed64Tag(LogSchema::kObservedTimeUnixNanoFieldNumber);
  pos = internal::PutFixed64(pos, now);
  *pos++ = VarIntTag(LogSchema::kSeverityNumberFieldNumber);
  *pos++ = static_cast<uint8_t>(static_cast<uint8_t>(severity) & 0x7f);
  slot->pos = pos;
  const SpanContext* const context =
      options.context != nullptr ? options.context : internal::current_context;
  if (context != nullptr && context->IsValid())
    WriteContext(slot, *context);
  WriteBody(slot, body);
  if (!options.severity_text.empty()) {
    AddTextField(slot, BytesTag(LogSchema::kSeverityTextFieldNumber),
                 options.severity_text);
  }
  if (!options.event_name.empty()) {
    AddTextField(slot, BytesTag(LogSchema::kEventNameFieldNumber),
                 options.event_name);
  }
  slot_ = slot;
}

void Log::End() noexcept {
  Slot* const slot = slot_;
  slot_ = nullptr;
  AddDroppedCount(slot, LogSchema::kDroppedAttributesCountFieldNumber,
                  slot->dropped_attributes);
  internal::PipelineState* const pipeline = slot->scope->pipeline;
  internal::ThreadState* const thread = pipeline->Thread();
  if (thread == nullptr) {
    CountNoMemory(pipeline, nullptr, Signal::kLogs);
    return internal::ThreadState::GiveBackFrom(nullptr, slot);
  }
  thread->counters(Signal::kLogs).written.Add(1);
  thread->Finish(slot);
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
