// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/otlp/otlp_trace.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/otlp/protos/schema.h"
#include "src/program/json_reader.h"
#include "src/program/json_values.h"
#include "src/program/text.h"
#include "src/program/value_sink.h"
#include "src/program/varint.h"
#include "src/pztrace/otlp/otlp_lanes.h"
#include "src/pztrace/otlp/otlp_records.h"

namespace pztrace {

namespace {

namespace schema = protozero::otlp_schema;
using protozero::ConstBytes;
using protozero::ConstChars;
using protozero::trace::DebugAnnotation;
using NestedValue = protozero::trace::DebugAnnotation_NestedValue;
using protozero::trace::TrackEvent;
using Step = OtlpLanes::Step;
using StepKind = OtlpLanes::Kind;

constexpr uint32_t kSequence = 1;
constexpr size_t kOtlpWriteBytes = size_t{1} << 20;
// The limit of lists in each other. A deeper one is left out.
constexpr int kMaxValueDepth = 32;

// Returns a number for what has been made of |number| in one of several ways.
uint64_t MixedId(uint64_t number, uint64_t way) {
  number = (number ^ way * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;
  number ^= number >> 33;
  // Ids of tracks are not 0; the highest bit stays free for readers.
  return std::max<uint64_t>(number >> 1, 1);
}

uint64_t OtlpIdNumberOf(std::string_view id) {
  uint64_t number = 0;
  for (const char c : id)
    number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

// Sets an empty array or dictionary, which only the older form has.
void SetEmpty(NestedValue::NestedType type, DebugAnnotation* annotation) {
  annotation->set_nested_value()->set_nested_type(type);
}

// Gives the annotation a name, and returns it.
DebugAnnotation* Named(const char* name, DebugAnnotation* annotation) {
  annotation->set_name(name);
  return annotation;
}

void SetAnnotationValue(ConstBytes any_value,
                        int depth,
                        DebugAnnotation* annotation);

// Sets the name and the value.
void SetAnnotation(const schema::KeyValue::Decoder& pair,
                   int depth,
                   DebugAnnotation* annotation) {
  annotation->set_name(pair.key());
  SetAnnotationValue(pair.value(), depth, annotation);
}

void SetAnnotationValue(ConstBytes any_value,
                        int depth,
                        DebugAnnotation* annotation) {
  const schema::AnyValue::Decoder value(any_value);
  using Case = schema::AnyValue::Decoder::ValueCase;
  switch (value.value_case()) {
    case Case::kStringValue:
      return annotation->set_string_value(value.string_value());
    case Case::kBoolValue:
      return annotation->set_bool_value(value.bool_value());
    case Case::kIntValue:
      return annotation->set_int_value(value.int_value());
    case Case::kDoubleValue:
      return annotation->set_double_value(value.double_value());
    case Case::kBytesValue: {
      std::string base64;
      program::AppendBase64(value.bytes_value().ToStdStringView(), &base64);
      return annotation->set_string_value(base64);
    }
    case Case::kArrayValue: {
      const schema::ArrayValue::Decoder list(value.array_value());
      if (!list.has_values())
        return SetEmpty(NestedValue::ARRAY, annotation);
      for (auto it = list.values(); it && depth < kMaxValueDepth; ++it)
        SetAnnotationValue(*it, depth + 1, annotation->add_array_values());
      return;
    }
    case Case::kKvlistValue: {
      const schema::KeyValueList::Decoder list(value.kvlist_value());
      if (!list.has_values())
        return SetEmpty(NestedValue::DICT, annotation);
      for (auto it = list.values(); it && depth < kMaxValueDepth; ++it) {
        SetAnnotation(schema::KeyValue::Decoder(*it), depth + 1,
                      annotation->add_dict_entries());
      }
      return;
    }
    case Case::kNotSet:
      return;
  }
}

// Gives a number to |sink|, so that JSON does not make an integer of it.
void AddFraction(double value, program::ValueSink* sink) {
  std::string digits;
  program::AppendDouble(value, &digits);
  if (digits.find_first_not_of("-0123456789") != digits.npos)
    return sink->Add(value);
  digits += ".0";
  sink->Add(program::Decimal{digits});
}

// Gives a value to |sink|.
void ReadAnyValue(ConstBytes any_value, int depth, program::ValueSink* sink) {
  const schema::AnyValue::Decoder value(any_value);
  using Case = schema::AnyValue::Decoder::ValueCase;
  switch (value.value_case()) {
    case Case::kStringValue:
      return sink->Add(value.string_value().ToStdStringView());
    case Case::kBoolValue:
      return sink->Add(value.bool_value());
    case Case::kIntValue:
      return sink->Add(value.int_value());
    case Case::kDoubleValue:
      return AddFraction(value.double_value(), sink);
    case Case::kBytesValue: {
      std::string base64;
      program::AppendBase64(value.bytes_value().ToStdStringView(), &base64);
      return sink->Add(std::string_view(base64));
    }
    case Case::kArrayValue: {
      const schema::ArrayValue::Decoder list(value.array_value());
      sink->Begin(program::ValueSink::Container::kArray);
      for (auto it = list.values(); it && depth < kMaxValueDepth; ++it)
        ReadAnyValue(*it, depth + 1, sink);
      return sink->End();
    }
    case Case::kKvlistValue: {
      const schema::KeyValueList::Decoder list(value.kvlist_value());
      sink->Begin(program::ValueSink::Container::kDictionary);
      for (auto it = list.values(); it && depth < kMaxValueDepth; ++it) {
        const schema::KeyValue::Decoder pair(*it);
        sink->Name(pair.key().ToStdStringView());
        ReadAnyValue(pair.value(), depth + 1, sink);
      }
      return sink->End();
    }
    case Case::kNotSet:
      return sink->Add(std::monostate());
  }
}

// Appends a value of a resource, as a label has it: a text that is not JSON, or
// JSON. SpanEncoder makes attributes of it again.
void AppendLabelValue(ConstBytes any_value, std::string* label) {
  const schema::AnyValue::Decoder value(any_value);
  const std::string_view text = value.string_value().ToStdStringView();
  if (value.has_string_value() && !program::IsJson(text)) {
    *label += text;
    return;
  }
  program::JsonValues json(label);
  ReadAnyValue(any_value, 0, &json);
}

// Makes the packets.
class OtlpTraceWriter {
 public:
  OtlpTraceWriter(const OtlpRecords& records, FILE* file)
      : records_(records),
        all_(records.records()),
        lanes_(records),
        file_(file) {}

  // Returns false, with errno, if the file takes no more.
  bool Write() {
    WriteClocks();
    for (size_t i = 0; i < records_.resources().size(); ++i)
      WriteProcess(records_.resources()[i]);
    for (size_t i = 0; i < lanes_.lanes().size(); ++i)
      WriteLane(i);
    FindFlows();
    std::vector<Step> steps = lanes_.Steps();
    AddEvents(&steps);
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
      return std::tie(a.time, a.lane, a.place, a.record) <
             std::tie(b.time, b.lane, b.place, b.record);
    });
    for (const Step& step : steps)
      WriteStep(step);
    Flush();
    return is_ok_;
  }

 private:
  using Packet = protozero::trace::TracePacket;

  using Flow = std::pair<uint32_t, uint64_t>;  // A record, and the number.
  enum class Placed : uint8_t { kNowhere, kOnThread, kOnTrack };

  struct EventOfSpan {
    uint32_t record;
    ConstBytes bytes;
  };

  static constexpr uint32_t kNoLane = UINT32_MAX;

  template <typename Function>
  void AddPacket(uint64_t time, Function function) {
    packet_.Reset();
    if (time != 0)
      packet_->set_timestamp(time);
    packet_->set_trusted_packet_sequence_id(kSequence);
    function(packet_.get());
    const std::string bytes = packet_.SerializeAsString();
    output_.push_back('\x0a');
    program::AppendVarInt(bytes.size(), &output_);
    output_ += bytes;
    if (output_.size() >= kOtlpWriteBytes)
      Flush();
  }
  void Flush() {
    is_ok_ = is_ok_ &&
             fwrite(output_.data(), 1, output_.size(), file_) == output_.size();
    output_.clear();
  }

  // The trace's clock is the wall clock.
  void WriteClocks() {
    uint64_t first = UINT64_MAX;
    for (const OtlpRecord& record : all_)
      first = std::min(first, record.start);
    if (all_.empty())
      return;
    AddPacket(0, [&](Packet* packet) {
      packet->set_sequence_flags(Packet::SEQ_INCREMENTAL_STATE_CLEARED);
      auto* const snapshot = packet->set_clock_snapshot();
      for (const uint32_t clock : {1u, 6u}) {  // CLOCK_REALTIME, _BOOTTIME.
        auto* const reading = snapshot->add_clocks();
        reading->set_clock_id(clock);
        reading->set_timestamp(first);
      }
    });
  }

  void WriteProcess(const OtlpResource& resource) {
    AddPacket(0, [&](Packet* packet) {
      auto* const track = packet->set_track_descriptor();
      track->set_uuid(ProcessUuid(resource));
      auto* const process = track->set_process();
      process->set_pid(resource.pid);
      if (!resource.name.empty())
        process->set_process_name(resource.name);
      const schema::Resource::Decoder decoder(resource.bytes);
      for (auto it = decoder.attributes(); it; ++it)
        AddLabel(*it, process);
      // Its readers know by that name that the labels are a resource's.
      if (resource.name.empty())
        process->add_process_labels("service.name=unknown_service");
    });
  }

  template <typename Process>
  static void AddLabel(ConstBytes attribute, Process* process) {
    const schema::KeyValue::Decoder pair(attribute);
    std::string label = pair.key().ToStdString() + '=';
    AppendLabelValue(pair.value(), &label);
    process->add_process_labels(label);
  }

  void WriteLane(size_t index) {
    const OtlpLanes::Lane& lane = lanes_.lanes()[index];
    const OtlpPlace& place = records_.PlaceOf(all_[lane.first]);
    const OtlpResource& resource = records_.resources()[lane.resource];
    AddPacket(0, [&](Packet* packet) {
      auto* const track = packet->set_track_descriptor();
      track->set_uuid(LaneUuid(index));
      track->set_parent_uuid(ProcessUuid(resource));
      if (!lane.is_thread) {
        // Viewers show those of one name as one.
        track->set_name(place.track.data(), place.track.size());
        return;
      }
      auto* const thread = track->set_thread();
      thread->set_pid(resource.pid);
      thread->set_tid(place.thread);
      if (!place.thread_name.empty())
        thread->set_thread_name(place.thread_name.data(),
                                place.thread_name.size());
    });
  }

  static uint64_t ProcessUuid(const OtlpResource& resource) {
    return MixedId(resource.uuid, 1);
  }
  uint64_t LaneUuid(size_t index) const {
    const OtlpLanes::Lane& lane = lanes_.lanes()[index];
    const uint64_t process = ProcessUuid(records_.resources()[lane.resource]);
    const OtlpPlace& place = records_.PlaceOf(all_[lane.first]);
    return lane.is_thread
               ? MixedId(process, static_cast<uint64_t>(place.thread) * 2)
               : MixedId(process, index * 2 + 1);
  }

  // A flow goes to a span from each that it links to, and from its parent if
  // that is on another track.
  void FindFlows() {
    for (uint32_t i = 0; i < all_.size(); ++i) {
      const OtlpRecord& record = all_[i];
      if (record.is_log)
        continue;
      // Once: a span of many links has many fields.
      const OtlpIds ids = OtlpRecords::IdsOf(record);
      if (record.parent != OtlpRecord::kNone && !lanes_.IsOnParent(i))
        AddFlow({record.parent, ids.parent}, {i, ids.span});
      const schema::Span::Decoder span(record.bytes);
      for (auto it = span.links(); it; ++it) {
        const schema::Span_Link::Decoder link(*it);
        const uint32_t other = LinkedSpan(i, link);
        if (other != OtlpRecord::kNone)
          AddFlow({other, link.span_id().ToStdStringView()}, {i, ids.span});
      }
    }
    std::sort(flows_.begin(), flows_.end());
  }
  // Returns the span that a link of a span comes from by a flow. kNone if it is
  // in another file, or the span itself or its parent.
  uint32_t LinkedSpan(uint32_t index,
                      const schema::Span_Link::Decoder& link) const {
    const uint32_t other = records_.FindSpan(link.trace_id().ToStdStringView(),
                                             link.span_id().ToStdStringView());
    return other != index && other != all_[index].parent ? other
                                                         : OtlpRecord::kNone;
  }

  // Writes the links that a flow does not show whole: to spans of other files,
  // and those that say more than their ids.
  void AddLinks(uint32_t index,
                const schema::Span::Decoder& span,
                TrackEvent* event) const {
    DebugAnnotation* all = nullptr;
    for (auto it = span.links(); it; ++it) {
      const schema::Span_Link::Decoder link(*it);
      if (!link.has_attributes() && link.trace_state().size == 0 &&
          link.dropped_attributes_count() == 0 &&
          LinkedSpan(index, link) != OtlpRecord::kNone) {
        continue;
      }
      if (all == nullptr)
        all = Named("otel.links", event->add_debug_annotations());
      DebugAnnotation* const one = all->add_array_values();
      AddEntry("trace_id", program::HexOf(link.trace_id().ToStdStringView()),
               one);
      AddEntry("span_id", program::HexOf(link.span_id().ToStdStringView()),
               one);
      AddEntry("trace_state", link.trace_state().ToStdString(), one);
      if (link.dropped_attributes_count() != 0) {
        Named("dropped_attributes", one->add_dict_entries())
            ->set_int_value(link.dropped_attributes_count());
      }
      if (!link.has_attributes())
        continue;
      DebugAnnotation* const attributes =
          Named("attributes", one->add_dict_entries());
      for (auto attribute = link.attributes(); attribute; ++attribute) {
        SetAnnotation(schema::KeyValue::Decoder(*attribute), 0,
                      attributes->add_dict_entries());
      }
    }
  }
  static void AddEntry(const char* name,
                       const std::string& text,
                       DebugAnnotation* dictionary) {
    if (!text.empty())
      Named(name, dictionary->add_dict_entries())->set_string_value(text);
  }

  struct FlowEnd {
    uint32_t record;
    std::string_view span_id;
  };
  void AddFlow(const FlowEnd& from, const FlowEnd& to) {
    const uint64_t flow =
        MixedId(OtlpIdNumberOf(from.span_id), OtlpIdNumberOf(to.span_id));
    flows_.emplace_back(from.record, flow);
    flows_.emplace_back(to.record, flow);
  }

  // Adds the events of spans, and the logs.
  void AddEvents(std::vector<Step>* steps) {
    for (uint32_t i = 0; i < all_.size(); ++i) {
      const OtlpRecord& record = all_[i];
      if (record.is_log) {
        AddEvent(record.parent != OtlpRecord::kNone
                     ? lanes_.EventOf(record.parent, record.start)
                     : Step{record.start, kNoLane, 0, i, StepKind::kEvent},
                 {i, record.bytes}, steps);
        continue;
      }
      const schema::Span::Decoder span(record.bytes);
      for (auto it = span.events(); it; ++it) {
        const schema::Span_Event::Decoder event(*it);
        AddEvent(lanes_.EventOf(i, event.time_unix_nano()), {i, *it}, steps);
      }
    }
  }
  void AddEvent(Step step, const EventOfSpan& event, std::vector<Step>* steps) {
    step.record = static_cast<uint32_t>(events_.size());
    steps->push_back(step);
    events_.push_back(event);
  }

  void WriteStep(const Step& step) {
    AddPacket(step.time, [&](Packet* packet) {
      auto* const event = packet->set_track_event();
      if (step.kind == StepKind::kEvent)
        return WriteEvent(step, event);
      event->set_track_uuid(LaneUuid(step.lane));
      if (step.kind == StepKind::kEnd)
        event->set_type(TrackEvent::TYPE_SLICE_END);
      else
        WriteSpan(step.record, event);
    });
  }

  void WriteSpan(uint32_t index, TrackEvent* event) {
    const OtlpRecord& record = all_[index];
    const schema::Span::Decoder span(record.bytes);
    event->set_type(TrackEvent::TYPE_SLICE_BEGIN);
    event->set_name(span.name());
    AddScope(record, event);
    auto flow = std::lower_bound(flows_.begin(), flows_.end(), Flow(index, 0));
    for (; flow != flows_.end() && flow->first == index; ++flow)
      event->add_flow_ids(flow->second);
    const bool is_on_thread = lanes_.lanes()[lanes_.LaneOf(index)].is_thread;
    for (auto it = span.attributes(); it; ++it) {
      AddAttribute(*it, is_on_thread ? Placed::kOnThread : Placed::kOnTrack,
                   event);
    }
    AddIds(OtlpRecords::IdsOf(record), event);
    AddText("otel.trace_state", span.trace_state().ToStdString(), event);
    constexpr const char* kKinds[] = {"",       "",         "server",
                                      "client", "producer", "consumer"};
    if (span.kind() > 0 && span.kind() < 6)
      AddText("otel.kind", kKinds[span.kind()], event);
    const schema::Status::Decoder status(span.status());
    if (status.code() == 1 || status.code() == 2)
      AddText("otel.status", status.code() == 1 ? "ok" : "error", event);
    AddText("otel.status_message", status.message().ToStdString(), event);
    AddCount("otel.dropped_attributes", span.dropped_attributes_count(), event);
    AddCount("otel.dropped_events", span.dropped_events_count(), event);
    AddCount("otel.dropped_links", span.dropped_links_count(), event);
    AddLinks(index, span, event);
  }

  void WriteEvent(const Step& step, TrackEvent* event) {
    const auto& [index, bytes] = events_[step.record];
    const OtlpRecord& record = all_[index];
    event->set_type(TrackEvent::TYPE_INSTANT);
    event->set_track_uuid(
        step.lane != kNoLane
            ? LaneUuid(step.lane)
            : ProcessUuid(records_.resources()[records_.ResourceOf(record)]));
    AddScope(record, event);
    if (record.is_log)
      return WriteLog(record, event);
    const schema::Span_Event::Decoder decoder(bytes);
    event->set_name(decoder.name());
    for (auto it = decoder.attributes(); it; ++it)
      AddAttribute(*it, Placed::kNowhere, event);
    AddCount("otel.dropped_attributes", decoder.dropped_attributes_count(),
             event);
  }

  static void WriteLog(const OtlpRecord& record, TrackEvent* event) {
    const schema::LogRecord::Decoder log(record.bytes);
    const schema::AnyValue::Decoder body(log.body());
    const bool has_text = body.has_string_value();
    if (!log.event_name().ToStdStringView().empty())
      event->set_name(log.event_name());
    else if (has_text)
      event->set_name(body.string_value());
    else
      event->set_name("log");
    for (auto it = log.attributes(); it; ++it)
      AddAttribute(*it, Placed::kNowhere, event);
    if (log.has_body() &&
        (!has_text || !log.event_name().ToStdStringView().empty())) {
      SetAnnotationValue(log.body(), 0,
                         Named("otel.body", event->add_debug_annotations()));
    }
    AddCount("otel.severity", log.severity_number(), event);
    AddCount("otel.dropped_attributes", log.dropped_attributes_count(), event);
    AddText("otel.severity_text", log.severity_text().ToStdString(), event);
    const OtlpIds ids = OtlpRecords::IdsOf(record);
    AddIds({ids.trace, ids.parent, {}}, event);
  }

  // Adds an attribute, but not one that says where a track is: |placed| is what
  // the track says itself.
  static void AddAttribute(ConstBytes attribute,
                           Placed placed,
                           TrackEvent* event) {
    const schema::KeyValue::Decoder pair(attribute);
    const std::string_view key = pair.key().ToStdStringView();
    if (placed == Placed::kOnThread && (key == kThreadId || key == kThreadName))
      return;
    if (placed == Placed::kOnTrack && key == kTrack)
      return;
    SetAnnotation(pair, 0, event->add_debug_annotations());
  }

  void AddScope(const OtlpRecord& record, TrackEvent* event) const {
    const std::string_view scope = records_.ScopeOf(record);
    if (!scope.empty())
      event->add_categories(scope.data(), scope.size());
  }

  static void AddIds(const OtlpIds& ids, TrackEvent* event) {
    AddText("otel.trace_id", program::HexOf(ids.trace), event);
    AddText("otel.span_id", program::HexOf(ids.span), event);
    AddText("otel.parent_span_id", program::HexOf(ids.parent), event);
  }

  static void AddCount(const char* name, int64_t count, TrackEvent* event) {
    if (count != 0)
      Named(name, event->add_debug_annotations())->set_int_value(count);
  }

  static void AddText(const char* name,
                      const std::string& text,
                      TrackEvent* event) {
    if (!text.empty())
      Named(name, event->add_debug_annotations())->set_string_value(text);
  }

  const OtlpRecords& records_;
  const std::vector<OtlpRecord>& all_;
  const OtlpLanes lanes_;
  FILE* const file_;
  bool is_ok_ = true;
  std::string output_;
  protozero::HeapBuffered<Packet> packet_;
  // The flows of each record, in order of records.
  std::vector<Flow> flows_;
  std::vector<EventOfSpan> events_;
};

}  // namespace

bool WriteTraceOfOtlp(const std::vector<std::string_view>& messages,
                      FILE* file,
                      uint64_t* num_reversed) {
  const OtlpRecords records(messages);
  *num_reversed += records.num_reversed();
  return OtlpTraceWriter(records, file).Write();
}

}  // namespace pztrace
