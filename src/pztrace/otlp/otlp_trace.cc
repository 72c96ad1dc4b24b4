// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/otlp/otlp_trace.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/otlp/protos/schema.h"
#include "src/program/text.h"
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
        const schema::KeyValue::Decoder pair(*it);
        DebugAnnotation* const entry = annotation->add_dict_entries();
        entry->set_name(pair.key());
        SetAnnotationValue(pair.value(), depth + 1, entry);
      }
      return;
    }
    case Case::kNotSet:
      return;
  }
}

// Appends a value of a resource, as a label has it.
void AppendLabelValue(ConstBytes any_value, int depth, std::string* label) {
  const schema::AnyValue::Decoder value(any_value);
  using Case = schema::AnyValue::Decoder::ValueCase;
  const auto append_list = [&](auto it, char open, char close, auto append) {
    *label += open;
    for (bool is_first = true; it && depth < kMaxValueDepth; ++it) {
      if (!is_first)
        *label += ',';
      is_first = false;
      append(*it);
    }
    *label += close;
  };
  switch (value.value_case()) {
    case Case::kStringValue:
      *label += value.string_value().ToStdStringView();
      return;
    case Case::kBoolValue:
      *label += value.bool_value() ? "true" : "false";
      return;
    case Case::kIntValue:
      *label += std::to_string(value.int_value());
      return;
    case Case::kDoubleValue:
      return program::AppendDouble(value.double_value(), label);
    case Case::kBytesValue:
      return program::AppendBase64(value.bytes_value().ToStdStringView(),
                                   label);
    case Case::kArrayValue:
      return append_list(
          schema::ArrayValue::Decoder(value.array_value()).values(), '[', ']',
          [&](ConstBytes one) { AppendLabelValue(one, depth + 1, label); });
    case Case::kKvlistValue:
      return append_list(
          schema::KeyValueList::Decoder(value.kvlist_value()).values(), '{',
          '}', [&](ConstBytes one) {
            const schema::KeyValue::Decoder pair(one);
            *label += pair.key().ToStdStringView();
            *label += '=';
            AppendLabelValue(pair.value(), depth + 1, label);
          });
    case Case::kNotSet:
      return;
  }
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
    });
  }

  template <typename Process>
  static void AddLabel(ConstBytes attribute, Process* process) {
    const schema::KeyValue::Decoder pair(attribute);
    std::string label = pair.key().ToStdString() + '=';
    AppendLabelValue(pair.value(), 0, &label);
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
      if (record.parent != OtlpRecord::kNone && !lanes_.IsOnParent(i))
        AddFlow(record.parent, i);
      const schema::Span::Decoder span(record.bytes);
      for (auto it = span.links(); it; ++it) {
        const schema::Span_Link::Decoder link(*it);
        const uint32_t other =
            records_.FindSpan(link.trace_id().ToStdStringView(),
                              link.span_id().ToStdStringView());
        if (other != OtlpRecord::kNone && other != i)
          AddFlow(other, i);
      }
    }
    std::sort(flows_.begin(), flows_.end());
  }
  void AddFlow(uint32_t from, uint32_t to) {
    const uint64_t flow =
        MixedId(OtlpIdNumberOf(OtlpRecords::IdsOf(all_[from]).span),
                OtlpIdNumberOf(OtlpRecords::IdsOf(all_[to]).span));
    flows_.emplace_back(from, flow);
    flows_.emplace_back(to, flow);
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
      DebugAnnotation* const annotation = event->add_debug_annotations();
      annotation->set_name("otel.body");
      SetAnnotationValue(log.body(), 0, annotation);
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
    DebugAnnotation* const annotation = event->add_debug_annotations();
    annotation->set_name(pair.key());
    SetAnnotationValue(pair.value(), 0, annotation);
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
    if (count == 0)
      return;
    DebugAnnotation* const annotation = event->add_debug_annotations();
    annotation->set_name(name);
    annotation->set_int_value(count);
  }

  static void AddText(const char* name,
                      const std::string& text,
                      TrackEvent* event) {
    if (text.empty())
      return;
    DebugAnnotation* const annotation = event->add_debug_annotations();
    annotation->set_name(name);
    annotation->set_string_value(text);
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
