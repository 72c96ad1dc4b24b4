// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/span_encoder.h"

#include <algorithm>
#include <optional>

#include "src/program/json_reader.h"
#include "src/program/text.h"
#include "src/program/value_sink.h"

namespace pztrace {

namespace {

namespace otlp = protozero::otlp;
namespace schema = protozero::otlp_schema;

// The name of the tracks of spans that say no other, as OtlpRecord reads them.
constexpr std::string_view kUnnamedTrack = "spans";
// The instants of a track that wait for the slice around them.
constexpr size_t kMaxWaiting = size_t{1} << 16;

template <typename Message>
void AddTextAttribute(std::string_view key,
                      std::string_view value,
                      Message* message) {
  auto* const pair = message->add_attributes();
  pair->set_key(key.data(), key.size());
  pair->set_value()->set_string_value(program::MadeUtf8(value));
}

template <typename Message>
void AddNumberAttribute(std::string_view key, int64_t value, Message* message) {
  auto* const pair = message->add_attributes();
  pair->set_key(key.data(), key.size());
  pair->set_value()->set_int_value(value);
}

// Writes the attributes that name the thread or the track.
template <typename Message>
void AddPlace(const TrackPlace& place, Message* message) {
  if (place.has_thread) {
    AddNumberAttribute("thread.id", place.tid, message);
    if (!place.thread.empty())
      AddTextAttribute("thread.name", place.thread, message);
  }
  if (!place.path.empty() && place.path != kUnnamedTrack)
    AddTextAttribute("pztrace.track", place.path, message);
}

// Writes what slices of files of OpenTelemetry have besides their attributes.
void SetOtelFields(const OtelArgs& otel, schema::Span* span) {
  span->set_kind(otel.kind != 0 ? static_cast<schema::Span::SpanKind>(otel.kind)
                                : schema::Span::SPAN_KIND_INTERNAL);
  if (!otel.trace_state.empty())
    span->set_trace_state(otel.trace_state);
  if (otel.dropped_attributes != 0)
    span->set_dropped_attributes_count(otel.dropped_attributes);
  if (otel.dropped_events != 0)
    span->set_dropped_events_count(otel.dropped_events);
  if (otel.dropped_links != 0)
    span->set_dropped_links_count(otel.dropped_links);
  if (otel.status == 0)
    return;
  auto* const status = span->set_status();
  if (!otel.status_message.empty())
    status->set_message(otel.status_message);
  status->set_code(static_cast<schema::Status::StatusCode>(otel.status));
}

// Splits a label such as "service.version=1.2". False if it is not of that
// form.
bool SplitLabel(std::string_view label,
                std::string_view* key,
                std::string_view* value) {
  const size_t equals = label.find('=');
  if (equals == 0 || equals == label.npos)
    return false;
  *key = label.substr(0, equals);
  *value = label.substr(equals + 1);
  return std::all_of(key->begin(), key->end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-' ||
           c == '/';
  });
}

// A process of a file of OpenTelemetry has its resource's attributes as labels.
// Its pid may be made up, and this is not its host.
std::string EncodeResource(const TrackPlace& place,
                           const std::vector<std::string>& labels,
                           const std::string& host) {
  std::string_view key;
  std::string_view value;
  const bool is_resource =
      std::any_of(labels.begin(), labels.end(), [&](const std::string& label) {
        return SplitLabel(label, &key, &value) && key == "service.name";
      });
  protozero::HeapBuffered<schema::Resource> resource;
  if (!is_resource) {
    AddTextAttribute("service.name",
                     place.process.empty() ? "unknown_service" : place.process,
                     resource.get());
    if (place.pid != 0)
      AddNumberAttribute("process.pid", place.pid, resource.get());
    if (!host.empty())
      AddTextAttribute("host.name", host, resource.get());
  }
  SpanAttributes attributes(resource.get(),
                            schema::Resource::kAttributesFieldNumber, nullptr);
  for (const std::string& label : labels) {
    if (!SplitLabel(label, &key, &value) ||
        (!is_resource && (key == "process.pid" || key == "host.name"))) {
      continue;
    }
    attributes.Name(key, program::ValueSink::NameKind::kFree);
    if (program::IsJson(value))
      program::ReadJson(value, &attributes);
    else
      attributes.Add(value);
  }
  return resource.SerializeAsString();
}

}  // namespace

uint64_t SpanEncoder::UnixTimeOf(uint64_t time_ns) {
  const std::optional<int64_t> time = reader_.RealtimeOf(time_ns);
  has_no_wall_clock_ = has_no_wall_clock_ || !time;
  return time ? static_cast<uint64_t>(*time) : time_ns;
}

const std::string& SpanEncoder::ResourceOf(const TrackPlace& place) {
  KnownResource& known = resources_[{place.process_track, place.pid}];
  const uint64_t version = reader_.tracks().version();
  if (known.bytes.empty() || known.version != version) {
    const TrackInfo process = InfoOf(place.process_track, reader_.tracks());
    known = {version, EncodeResource(place, process.labels, host_)};
  }
  return known.bytes;
}

EncodedSpan SpanEncoder::EncodeSlice(const Slice& slice, OtelArgs* otel) {
  const TrackPlace place = exported_.Get(slice.track).place;
  span_.Reset();
  schema::Span* const span = span_.get();
  span->set_name(program::MadeUtf8(slice.text->name));
  span->set_start_time_unix_nano(UnixTimeOf(slice.begin_ns));
  span->set_end_time_unix_nano(UnixTimeOf(slice.begin_ns + slice.duration_ns));
  SpanLinks links(span);
  SpanAttributes attributes(span, schema::Span::kAttributesFieldNumber, otel,
                            &links);
  ReadArgs(*slice.details, &attributes);
  AddPlace(place, span);
  SetOtelFields(*otel, span);
  AddEvents(slice, span);
  return {ResourceOf(place), program::MadeUtf8(slice.text->category),
          span_.SerializeAsString(), links.spans()};
}

EncodedSpan SpanEncoder::EncodeTask(const TaskLife& task) {
  span_.Reset();
  schema::Span* const span = span_.get();
  span->set_kind(schema::Span::SPAN_KIND_INTERNAL);
  span->set_start_time_unix_nano(UnixTimeOf(task.begin_ns));
  span->set_end_time_unix_nano(UnixTimeOf(task.end_ns));
  if (!task.name.empty())
    span->set_name(program::MadeUtf8(task.name));
  else if (task.place != nullptr)
    span->set_name(program::MadeUtf8(task.place->name));
  if (task.place != nullptr) {
    AddTextAttribute("code.file.path", task.place->file, span);
    AddNumberAttribute("code.line.number", task.place->line, span);
  }
  if (!task.has_ended)
    AddTextAttribute("pztrace.state", "not ended", span);
  if (!task.request.empty())
    AddTextAttribute("pztrace.request", task.request, span);
  constexpr uint8_t kFailed = 2;
  if (task.result == kFailed)
    span->set_status()->set_code(schema::Status::STATUS_CODE_ERROR);
  return {ResourceOf(exported_.Get(task.process).place), "pztrace.tasks",
          span_.SerializeAsString()};
}

void SpanEncoder::Write(EncodedSpan span,
                        const SpanIdentity& ids,
                        const std::vector<SpanIdentity>& links) {
  protozero::HeapBuffered<schema::Span> fields;
  fields->set_trace_id(ids.trace_id);
  fields->set_span_id(ids.span_id);
  if (!ids.parent_id.empty())
    fields->set_parent_span_id(ids.parent_id);
  for (const SpanIdentity& other : links) {
    // A file of OpenTelemetry has such flows when it is read as a trace.
    if (other.span_id == ids.parent_id ||
        std::find(span.linked_spans.begin(), span.linked_spans.end(),
                  other.span_id) != span.linked_spans.end()) {
      continue;
    }
    auto* const link = fields->add_links();
    link->set_trace_id(other.trace_id);
    link->set_span_id(other.span_id);
  }
  batches_->Add(otlp::Signal::kSpans, span.resource, span.scope,
                fields.SerializeAsString() + span.record);
}

// Slices end before those around them: what is left then is theirs.
void SpanEncoder::AddEvents(const Slice& slice, schema::Span* span) {
  const auto found = waiting_.find(slice.track);
  if (found == waiting_.end())
    return;
  const uint64_t end_ns = slice.begin_ns + slice.duration_ns;
  WaitingInstants& instants = found->second;
  auto last = instants.end();
  while (last != instants.begin() && (last - 1)->time_ns > end_ns)
    --last;
  auto first = last;
  while (first != instants.begin() && (first - 1)->time_ns >= slice.begin_ns)
    --first;
  for (auto it = first; it != last; ++it) {
    span->AppendBytes(schema::Span::kEventsFieldNumber, it->event.data(),
                      it->event.size());
  }
  instants.erase(first, last);
}

void SpanEncoder::AddInstant(const Instant& instant) {
  WaitingInstants& instants = waiting_[instant.track];
  // No slice is around those that wait, either.
  const bool is_in_slice = instant.parent != UINT64_MAX;
  if (!is_in_slice)
    WriteLogs(instant.track, instants.size(), &instants);
  instants.push_back(Encode(instant));
  if (!is_in_slice)
    WriteLogs(instant.track, instants.size(), &instants);
  else if (instants.size() >= kMaxWaiting)
    WriteLogs(instant.track, instants.size() / 2, &instants);
}

SpanEncoder::WaitingInstant SpanEncoder::Encode(const Instant& instant) {
  const TrackPlace place = exported_.Get(instant.track).place;
  const uint64_t time = UnixTimeOf(instant.time_ns);
  const std::string name = program::MadeUtf8(instant.text->name);
  WaitingInstant waiting{instant.time_ns, "", "",
                         program::MadeUtf8(instant.text->category)};
  OtelArgs otel;
  protozero::HeapBuffered<schema::Span_Event> event;
  event->set_time_unix_nano(time);
  event->set_name(name);
  SpanAttributes event_attributes(
      event.get(), schema::Span_Event::kAttributesFieldNumber, &otel);
  ReadArgs(*instant.details, &event_attributes);
  if (otel.dropped_attributes != 0)
    event->set_dropped_attributes_count(otel.dropped_attributes);
  waiting.event = event.SerializeAsString();

  protozero::HeapBuffered<schema::LogRecord> log;
  log->set_time_unix_nano(time);
  SpanAttributes log_attributes(
      log.get(), schema::LogRecord::kAttributesFieldNumber, &otel);
  ReadArgs(*instant.details, &log_attributes);
  AddPlace(place, log.get());
  if (otel.body)
    log->set_event_name(name);
  log->set_body()->set_string_value(otel.body.value_or(name));
  if (otel.severity != 0)
    log->set_severity_number(otel.severity);
  if (otel.dropped_attributes != 0)
    log->set_dropped_attributes_count(otel.dropped_attributes);
  if (!otel.severity_text.empty())
    log->set_severity_text(otel.severity_text);
  if (!otel.trace_id.empty())
    log->set_trace_id(otel.trace_id);
  if (!otel.span_id.empty())
    log->set_span_id(otel.span_id);
  waiting.log = log.SerializeAsString();
  return waiting;
}

void SpanEncoder::WriteAllLogs() {
  for (auto& [track, instants] : waiting_)
    WriteLogs(track, instants.size(), &instants);
}

void SpanEncoder::WriteLogs(uint64_t track,
                            size_t count,
                            WaitingInstants* instants) {
  if (count == 0)
    return;
  const TrackPlace place = exported_.Get(track).place;
  const std::string& resource = ResourceOf(place);
  const auto end = instants->begin() + static_cast<ptrdiff_t>(count);
  for (auto it = instants->begin(); it != end; ++it)
    batches_->Add(otlp::Signal::kLogs, resource, it->category, it->log);
  instants->erase(instants->begin(), end);
}

}  // namespace pztrace
