// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/span.h"

#include <cxxabi.h>
#include <stdlib.h>
#include <string.h>

#include "protozero/otlp/tracer.h"
#include "src/otlp/attributes.h"
#include "src/otlp/pipeline_state.h"
#include "src/otlp/protos/schema.h"
#include "src/otlp/random_ids.h"
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
using internal::PutFixed32;
using internal::PutFixed64;
using internal::PutLength;
using internal::PutVarInt;
using internal::Slot;
using internal::UndecidedTraces;
using internal::ValueWriter;
using internal::VarIntTag;
using Schema = otlp_schema::Span;
using EventSchema = otlp_schema::Span_Event;
using LinkSchema = otlp_schema::Span_Link;
using StatusSchema = otlp_schema::Status;

// Flags of OTLP beyond those of traceparent: if the parent is known to be in
// another program or not, and if it is.
constexpr uint32_t kHasIsRemote = 0x100;
constexpr uint32_t kIsRemote = 0x200;
// The one field whose tag has two bytes, and the type of four bytes.
constexpr uint32_t kFlagsTag = Schema::kFlagsFieldNumber << 3 | 5;
// The bytes of a time: a tag and a fixed64. That of the end follows that of the
// beginning.
constexpr size_t kTimeField = 9;

template <size_t kSize>
PROTOZERO_ALWAYS_INLINE uint8_t* PutId(uint8_t* pos,
                                       uint32_t field,
                                       const RandomId<kSize>& id) {
  pos[0] = BytesTag(field);
  pos[1] = kSize;
  memcpy(pos + 2, id.bytes, kSize);
  return pos + 2 + kSize;
}

// The ids of a span as words, so that compilers keep them in registers.
struct Ids {
  uint64_t trace[2] = {};
  uint64_t span[1] = {};
  explicit Ids(const SpanContext* context) {
    if (context != nullptr) {
      memcpy(trace, context->trace_id.bytes, 16);
      memcpy(span, context->span_id.bytes, 8);
    }
  }
  bool IsValid() const { return (trace[0] | trace[1]) != 0 && span[0] != 0; }
};

// Returns the parent that a caller means by |parent|; null for a root.
PROTOZERO_ALWAYS_INLINE const SpanContext* ParentOf(const SpanContext* parent) {
  if (parent == nullptr)
    parent = internal::current_context;
  return Ids(parent).IsValid() ? parent : nullptr;
}

// Makes the context of a span, but for its `tracestate`.
PROTOZERO_ALWAYS_INLINE SpanContext
MakeIdsAndFlags(const internal::ScopeState* scope, const SpanContext* parent) {
  Ids ids(parent);
  if (parent != nullptr) {
    internal::MakeRandom(ids.span);
  } else {
    uint64_t words[3];
    internal::MakeRandom(words);
    memcpy(ids.trace, words, 16);
    memcpy(ids.span, words + 2, 8);
  }
  TraceId trace_id;
  SpanId span_id;
  memcpy(trace_id.bytes, ids.trace, 16);
  memcpy(span_id.bytes, ids.span, 8);
  const uint8_t is_sampled =
      scope->pipeline->options.sampler.IsSampled(trace_id, parent);
  static_assert(SpanContext::kSampled == 1, "a bool is the flag");
  SpanContext context(trace_id, span_id, is_sampled);
  context.is_remote = false;
  return context;
}

void CopyUndecided(const SpanContext& from, SpanContext* to) {
  to->undecided = from.undecided;
  to->undecided_number = from.undecided_number;
  to->undecided_pipeline = from.undecided_pipeline;
}

// Returns true if a span whose trace is over is recorded; counts it otherwise.
bool FollowDecision(internal::ThreadState* thread,
                    UndecidedTraces::Decision decision) {
  if (decision == UndecidedTraces::Decision::kKept)
    return true;
  internal::Counters& counters = thread->counters(Signal::kSpans);
  counters.written.Add(1);
  if (decision == UndecidedTraces::Decision::kNotWanted)
    counters.not_wanted.Add(1);
  else
    counters.undecided.Add(1);
  return false;
}

// Makes the span part of a trace that a KeepRule decides. False if it is lost,
// which is counted: without memory, or since its trace is over and lost.
bool JoinUndecided(internal::ThreadState* thread,
                   Slot* slot,
                   SpanContext* context,
                   const SpanContext* parent) {
  internal::PipelineState& pipeline = *thread->pipeline();
  const uint32_t pipeline_id = static_cast<uint32_t>(pipeline.id);
  auto decision = UndecidedTraces::Decision::kUnknown;
  if (parent != nullptr && parent->undecided != nullptr &&
      parent->undecided_pipeline == pipeline_id) {
    CopyUndecided(*parent, context);
    if (parent->undecided->Ref(parent->undecided_number))
      slot->undecided = parent->undecided;
    else
      decision = pipeline.undecided.DecisionOf(parent->undecided,
                                               parent->undecided_number);
  }
  if (decision != UndecidedTraces::Decision::kUnknown)
    return FollowDecision(thread, decision);
  if (slot->undecided == nullptr) {
    slot->undecided = pipeline.undecided.Begin(
        thread, parent != nullptr && parent->is_remote && parent->IsSampled());
    slot->is_root = true;
    if (slot->undecided == nullptr) {
      CountNoMemory(&pipeline, thread, Signal::kSpans);
      return false;
    }
    context->undecided = slot->undecided;
    context->undecided_number = slot->undecided->number();
    context->undecided_pipeline = pipeline_id;
  }
  slot->has_rule_key = !pipeline.keep_rule.attribute_key.empty();
  return true;
}

// Writes the fields that each span has.
PROTOZERO_ALWAYS_INLINE void WriteBeginning(Slot* slot,
                                            const SpanContext& context,
                                            const SpanContext* parent,
                                            std::string_view name,
                                            SpanKind kind,
                                            uint64_t start_time) {
  uint8_t* pos = slot->pos;
  pos = PutId(pos, Schema::kTraceIdFieldNumber, context.trace_id);
  pos = PutId(pos, Schema::kSpanIdFieldNumber, context.span_id);
  uint32_t flags = context.flags | kHasIsRemote;
  if (parent != nullptr) {
    pos = PutId(pos, Schema::kParentSpanIdFieldNumber, parent->span_id);
    flags |= parent->is_remote ? kIsRemote : 0;
  }
  *pos++ = Fixed64Tag(Schema::kStartTimeUnixNanoFieldNumber);
  pos = PutFixed64(pos, start_time);
  *pos++ = Fixed64Tag(Schema::kEndTimeUnixNanoFieldNumber);
  slot->end_time_offset = static_cast<uint16_t>(pos - slot->begin);
  pos += 8;
  *pos++ = VarIntTag(Schema::kKindFieldNumber);
  // Any number that an enumeration may have is still one byte.
  *pos++ = static_cast<uint8_t>(kind) & 0x7f;
  *pos++ = static_cast<uint8_t>(kFlagsTag | 0x80);
  *pos++ = static_cast<uint8_t>(kFlagsTag >> 7);
  slot->pos = PutFixed32(pos, flags);
  if (PROTOZERO_UNLIKELY(!context.trace_state.empty())) {
    AddTextField(slot, BytesTag(Schema::kTraceStateFieldNumber),
                 context.trace_state.Text());
  }
  AddTextField(slot, BytesTag(Schema::kNameFieldNumber), name);
}

// Returns this time as Unix time, for a span that is open.
uint64_t UnixTimeIn(const Slot& slot) {
  return internal::BootTimeOf(slot.scope->pipeline->Thread()) +
         static_cast<uint64_t>(slot.clock_offset);
}

// Writes the numbers of what was left out.
PROTOZERO_NOINLINE void AddDroppedCounts(Slot* slot) noexcept {
  AddDroppedCount(slot, Schema::kDroppedAttributesCountFieldNumber,
                  slot->dropped_attributes);
  AddDroppedCount(slot, Schema::kDroppedEventsCountFieldNumber,
                  slot->dropped_events);
  AddDroppedCount(slot, Schema::kDroppedLinksCountFieldNumber,
                  slot->dropped_links);
}

// Counts a span that a thread without memory has ended.
PROTOZERO_COLD void EndWithoutThread(Slot* slot) noexcept {
  internal::PipelineState* const pipeline = slot->scope->pipeline;
  CountNoMemory(pipeline, nullptr, Signal::kSpans);
  if (slot->undecided != nullptr)
    pipeline->undecided.Abandon(slot);
  internal::ThreadState::GiveBackFrom(nullptr, slot);
}

}  // namespace

namespace internal {
namespace {

PROTOZERO_COLD SpanContext
MakeContextSlowPath(ScopeState* scope, const SpanContext* parent) noexcept {
  if (!IsRandomSeeded())
    SeedRandom();
  SpanContext context = MakeIdsAndFlags(scope, parent);
  if (parent != nullptr)
    context.trace_state = parent->trace_state;
  return context;
}

}  // namespace

// A span that is not sampled needs no more than this. It calls a function as
// the last thing that it does, and so saves few registers.
SpanContext MakeContext(ScopeState* scope, const SpanContext* parent) noexcept {
  parent = ParentOf(parent);
  if (PROTOZERO_UNLIKELY(!IsRandomSeeded() ||
                         (parent != nullptr && !parent->trace_state.empty()))) {
    return MakeContextSlowPath(scope, parent);
  }
  return MakeIdsAndFlags(scope, parent);
}

}  // namespace internal

void Span::StartRecording(internal::ScopeState* scope,
                          std::string_view name,
                          SpanKind kind,
                          const SpanContext* parent) noexcept {
  parent = ParentOf(parent);
  SpanContext& context = context_;
  internal::PipelineState* const pipeline = scope->pipeline;
  internal::ThreadState* const thread = pipeline->Thread();
  Slot* const slot = BeginSlot(thread, scope, Signal::kSpans,
                               BytesTag(Schema::kAttributesFieldNumber));
  if (PROTOZERO_UNLIKELY(slot == nullptr)) {
    // Its children are still of the trace that it would have been of.
    if (pipeline->has_keep_rule && parent != nullptr)
      CopyUndecided(*parent, &context);
    return;
  }
  if (PROTOZERO_UNLIKELY(pipeline->has_keep_rule) &&
      !JoinUndecided(thread, slot, &context, parent)) {
    return thread->GiveBack(slot);
  }
  const uint64_t boot_time = thread->BootTime();
  slot->clock_offset = pipeline->clock.OffsetAt(boot_time);
  WriteBeginning(slot, context, parent, name, kind,
                 boot_time + static_cast<uint64_t>(slot->clock_offset));
  slot_ = slot;
}

void Span::SetStart(uint64_t unix_time_ns) noexcept {
  PutFixed64(slot_->begin + slot_->end_time_offset - kTimeField, unix_time_ns);
}

void Span::UpdateName(std::string_view name) noexcept {
  // The last value of a field counts.
  if (slot_ != nullptr)
    AddTextField(slot_, BytesTag(Schema::kNameFieldNumber), name);
}

void Span::WriteEvent(std::string_view name,
                      Attributes attributes,
                      uint64_t unix_time_ns) noexcept {
  const PipelineOptions& options = slot_->scope->pipeline->options;
  ValueWriter writer{options.attribute_value_length_limit};
  const size_t room =
      4 * kMaxHeader + name.size() +
      writer.RoomForAttributes(attributes.begin(), attributes.size());
  uint8_t* pos = slot_->num_events < options.event_count_limit
                     ? RoomFor(slot_, room)
                     : nullptr;
  if (pos == nullptr) {
    ++slot_->dropped_events;
    return;
  }
  *pos++ = BytesTag(Schema::kEventsFieldNumber);
  uint8_t* const event = ++pos;
  *pos++ = Fixed64Tag(EventSchema::kTimeUnixNanoFieldNumber);
  pos = PutFixed64(pos, unix_time_ns != 0 ? unix_time_ns : UnixTimeIn(*slot_));
  ValueWriter name_writer{SIZE_MAX};
  pos = name_writer.PutText(pos, BytesTag(EventSchema::kNameFieldNumber), name);
  uint32_t dropped = 0;
  pos = writer.PutAttributes(pos, BytesTag(EventSchema::kAttributesFieldNumber),
                             attributes.begin(), attributes.size(),
                             options.attribute_per_event_count_limit, &dropped);
  if (dropped != 0) {
    *pos++ = VarIntTag(EventSchema::kDroppedAttributesCountFieldNumber);
    pos = PutVarInt(pos, dropped);
  }
  slot_->pos = PutLength(event, pos);
  slot_->repaired_texts += writer.repaired + name_writer.repaired;
  ++slot_->num_events;
}

void Span::RecordException(std::string_view type,
                           std::string_view message,
                           std::string_view stack_trace) noexcept {
  if (stack_trace.empty()) {
    return AddEvent("exception",
                    {{"exception.type", type}, {"exception.message", message}});
  }
  AddEvent("exception", {{"exception.type", type},
                         {"exception.message", message},
                         {"exception.stacktrace", stack_trace}});
}

void Span::WriteException(const char* mangled_type,
                          const char* message) noexcept {
  char* const type =
      abi::__cxa_demangle(mangled_type, nullptr, nullptr, nullptr);
  RecordException(type != nullptr ? type : mangled_type, message);
  free(type);
}

void Span::WriteLink(const SpanContext& other, Attributes attributes) noexcept {
  const PipelineOptions& options = slot_->scope->pipeline->options;
  ValueWriter writer{options.attribute_value_length_limit};
  const std::string_view state = other.trace_state.Text();
  const size_t room =
      8 * kMaxHeader + state.size() +
      writer.RoomForAttributes(attributes.begin(), attributes.size());
  uint8_t* pos = other.IsValid() && slot_->num_links < options.link_count_limit
                     ? RoomFor(slot_, room)
                     : nullptr;
  if (pos == nullptr) {
    ++slot_->dropped_links;
    return;
  }
  *pos++ = BytesTag(Schema::kLinksFieldNumber);
  uint8_t* const link = ++pos;
  pos = PutId(pos, LinkSchema::kTraceIdFieldNumber, other.trace_id);
  pos = PutId(pos, LinkSchema::kSpanIdFieldNumber, other.span_id);
  if (!state.empty())
    pos = writer.PutText(pos, BytesTag(LinkSchema::kTraceStateFieldNumber),
                         state);
  uint32_t dropped = 0;
  pos = writer.PutAttributes(pos, BytesTag(LinkSchema::kAttributesFieldNumber),
                             attributes.begin(), attributes.size(),
                             options.attribute_per_link_count_limit, &dropped);
  if (dropped != 0) {
    *pos++ = VarIntTag(LinkSchema::kDroppedAttributesCountFieldNumber);
    pos = PutVarInt(pos, dropped);
  }
  *pos++ = internal::OneByteTag(LinkSchema::kFlagsFieldNumber, 5);
  pos = PutFixed32(
      pos, other.flags | kHasIsRemote | (other.is_remote ? kIsRemote : 0));
  slot_->pos = PutLength(link, pos);
  slot_->repaired_texts += writer.repaired;
  ++slot_->num_links;
}

void Span::WriteStatus(StatusCode code, std::string_view description) noexcept {
  if ((code != StatusCode::kOk && code != StatusCode::kError) ||
      slot_->status == StatusCode::kOk)
    return;
  if (slot_->status_offset != 0) {
    // Takes out the one before.
    uint8_t* const status = slot_->begin + slot_->status_offset;
    const uint8_t* const after = internal::SkipField(status);
    memmove(status, after, static_cast<size_t>(slot_->pos - after));
    slot_->pos -= after - status;
    slot_->status_offset = 0;
  }
  slot_->status = code;
  if (code != StatusCode::kError || description.empty())
    return;
  uint8_t* pos = RoomFor(slot_, 3 * kMaxHeader + description.size());
  if (pos == nullptr) {
    ++slot_->dropped_attributes;
    return;
  }
  slot_->status_offset = static_cast<uint32_t>(pos - slot_->begin);
  *pos++ = BytesTag(Schema::kStatusFieldNumber);
  uint8_t* const status = ++pos;
  ValueWriter writer{SIZE_MAX};
  pos = writer.PutText(pos, BytesTag(StatusSchema::kMessageFieldNumber),
                       description);
  *pos++ = VarIntTag(StatusSchema::kCodeFieldNumber);
  *pos++ = static_cast<uint8_t>(code);
  slot_->pos = PutLength(status, pos);
  slot_->repaired_texts += writer.repaired;
}

void Span::EndRecording(uint64_t unix_time_ns) noexcept {
  Slot* const slot = slot_;
  slot_ = nullptr;
  internal::ThreadState* const thread = slot->scope->pipeline->Thread();
  const uint64_t now = unix_time_ns != 0
                           ? unix_time_ns
                           : internal::BootTimeOf(thread) +
                                 static_cast<uint64_t>(slot->clock_offset);
  uint8_t* const end_time = slot->begin + slot->end_time_offset;
  const uint64_t start =
      ::protozero::internal::LoadLittleEndian<uint64_t>(end_time - kTimeField);
  // A span that began in the future, as its caller says, ends when it began.
  const uint64_t end = now < start ? start : now;
  PutFixed64(end_time, end);
  if (slot->status != StatusCode::kUnset && slot->status_offset == 0) {
    uint8_t* const pos = slot->pos;
    pos[0] = BytesTag(Schema::kStatusFieldNumber);
    pos[1] = 2;
    pos[2] = VarIntTag(StatusSchema::kCodeFieldNumber);
    pos[3] = static_cast<uint8_t>(slot->status);
    slot->pos = pos + 4;
  }
  if (PROTOZERO_UNLIKELY((slot->dropped_attributes | slot->dropped_events |
                          slot->dropped_links) != 0)) {
    AddDroppedCounts(slot);
  }
  if (PROTOZERO_UNLIKELY(thread == nullptr))
    return EndWithoutThread(slot);
  thread->counters(Signal::kSpans).written.Add(1);
  if (PROTOZERO_UNLIKELY(slot->undecided != nullptr))
    return thread->pipeline()->undecided.End(thread, slot, end - start);
  thread->Finish(slot);
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
