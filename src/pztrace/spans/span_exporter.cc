// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/span_exporter.h"

#include <stdint.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protozero/scattered_heap_buffer.h"
#include "src/otlp/protos/schema.h"
#include "src/program/io.h"
#include "src/pztrace/events/exported_tracks.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/spans/span_ids.h"
#include "src/pztrace/spans/span_values.h"

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
  pair->set_value()->set_string_value(value.data(), value.size());
}

template <typename Message>
void AddNumberAttribute(std::string_view key, int64_t value, Message* message) {
  auto* const pair = message->add_attributes();
  pair->set_key(key.data(), key.size());
  pair->set_value()->set_int_value(value);
}

// The second reading of a trace: writes the spans.
class SpanExporter {
 public:
  SpanExporter(const std::string& host,
               bool has_unfinished,
               const SpanIds& ids,
               SpanBatches* batches)
      : host_(host),
        ids_(ids),
        batches_(batches),
        reader_(MakeCallbacks(has_unfinished)) {}

  bool Export(const std::string& file, TraceInput* input) {
    const bool ok = ReadTimeline(file, input, &reader_, /*reads_ahead=*/true);
    for (auto& [track, instants] : waiting_)
      WriteLogs(track, &instants, instants.size());
    WriteTasks();
    if (has_no_wall_clock_) {
      program::PrintError(kProgram,
                          "%s: it has no times of the wall clock: those of the "
                          "trace's own are written",
                          program::DisplayName(file));
    }
    PrintOmissions(reader_, stderr);
    return ok;
  }

 private:
  // An instant, encoded in both ways that it may be written.
  struct WaitingInstant {
    uint64_t time_ns;
    std::string event;
    std::string log;
    std::string category;
  };

  TimelineReader::Callbacks MakeCallbacks(bool has_unfinished) {
    TimelineReader::Callbacks callbacks;
    callbacks.reads_details = true;
    callbacks.on_slice = [this](const Slice& slice) { WriteSlice(slice); };
    if (has_unfinished)
      callbacks.on_unfinished = callbacks.on_slice;
    callbacks.on_instant = [this](const Instant& instant) {
      KeepInstant(instant);
    };
    return callbacks;
  }

  uint64_t UnixTimeOf(uint64_t time_ns) {
    const std::optional<int64_t> time = reader_.RealtimeOf(time_ns);
    has_no_wall_clock_ = has_no_wall_clock_ || !time;
    return time ? static_cast<uint64_t>(*time) : time_ns;
  }

  // Returns the bytes of the Resource.
  std::string ResourceOf(std::string_view process, int64_t pid) const {
    protozero::HeapBuffered<schema::Resource> resource;
    AddTextAttribute("service.name",
                     process.empty() ? "unknown_service" : process,
                     resource.get());
    if (pid != 0)
      AddNumberAttribute("process.pid", pid, resource.get());
    if (!host_.empty())
      AddTextAttribute("host.name", host_, resource.get());
    return resource.SerializeAsString();
  }

  // Writes the attributes that name the thread or the track.
  template <typename Message>
  static void AddPlace(const TrackPlace& place, Message* message) {
    if (place.has_thread) {
      AddNumberAttribute("thread.id", place.tid, message);
      if (!place.thread.empty())
        AddTextAttribute("thread.name", place.thread, message);
    }
    if (!place.path.empty() && place.path != kUnnamedTrack)
      AddTextAttribute("pztrace.track", place.path, message);
  }

  void ReadArgs(const EventDetails& details, SpanAttributes* attributes) {
    reader_.ReadArgs(details, UniqueNames::kByText, attributes);
  }

  void WriteSlice(const Slice& slice) {
    const TrackPlace place = exported_.Get(slice.track).place;
    const SpanIdentity ids = ids_.OfSlice(slice);
    const uint64_t end_ns = slice.begin_ns + slice.duration_ns;
    span_.Reset();
    schema::Span* const span = span_.get();
    SetIds(ids, span);
    span->set_name(slice.text->name);
    span->set_start_time_unix_nano(UnixTimeOf(slice.begin_ns));
    span->set_end_time_unix_nano(UnixTimeOf(end_ns));
    OtelArgs otel;
    SpanAttributes attributes(span, schema::Span::kAttributesFieldNumber,
                              &otel);
    ReadArgs(*slice.details, &attributes);
    AddPlace(place, span);
    span->set_kind(otel.kind != 0
                       ? static_cast<schema::Span::SpanKind>(otel.kind)
                       : schema::Span::SPAN_KIND_INTERNAL);
    if (!otel.trace_state.empty())
      span->set_trace_state(otel.trace_state);
    if (otel.status != 0) {
      auto* const status = span->set_status();
      if (!otel.status_message.empty())
        status->set_message(otel.status_message);
      status->set_code(static_cast<schema::Status::StatusCode>(otel.status));
    }
    for (const SpanIdentity& other : ids_.LinksOf(slice)) {
      // A file of OpenTelemetry has such flows when it is read as a trace.
      if (other.span_id == ids.parent_id)
        continue;
      auto* const link = span->add_links();
      link->set_trace_id(other.trace_id);
      link->set_span_id(other.span_id);
    }
    AddEvents(slice.track, slice.begin_ns, end_ns, span);
    batches_->Add(otlp::Signal::kSpans, ResourceOf(place.process, place.pid),
                  slice.text->category, span_.SerializeAsString());
  }

  static void SetIds(const SpanIdentity& ids, schema::Span* span) {
    span->set_trace_id(ids.trace_id);
    span->set_span_id(ids.span_id);
    if (!ids.parent_id.empty())
      span->set_parent_span_id(ids.parent_id);
  }

  // Slices end before those around them: what is left then is theirs.
  void AddEvents(uint64_t track,
                 uint64_t begin_ns,
                 uint64_t end_ns,
                 schema::Span* span) {
    const auto found = waiting_.find(track);
    if (found == waiting_.end())
      return;
    std::vector<WaitingInstant>& instants = found->second;
    auto last = instants.end();
    while (last != instants.begin() && (last - 1)->time_ns > end_ns)
      --last;
    auto first = last;
    while (first != instants.begin() && (first - 1)->time_ns >= begin_ns)
      --first;
    for (auto it = first; it != last; ++it) {
      span->AppendBytes(schema::Span::kEventsFieldNumber, it->event.data(),
                        it->event.size());
    }
    instants.erase(first, last);
  }

  void KeepInstant(const Instant& instant) {
    const TrackPlace place = exported_.Get(instant.track).place;
    const uint64_t time = UnixTimeOf(instant.time_ns);
    WaitingInstant waiting{instant.time_ns, "", "", instant.text->category};
    OtelArgs otel;
    protozero::HeapBuffered<schema::Span_Event> event;
    event->set_time_unix_nano(time);
    event->set_name(instant.text->name);
    SpanAttributes event_attributes(
        event.get(), schema::Span_Event::kAttributesFieldNumber, &otel);
    ReadArgs(*instant.details, &event_attributes);
    waiting.event = event.SerializeAsString();

    protozero::HeapBuffered<schema::LogRecord> log;
    log->set_time_unix_nano(time);
    log->set_body()->set_string_value(instant.text->name);
    SpanAttributes log_attributes(
        log.get(), schema::LogRecord::kAttributesFieldNumber, &otel);
    ReadArgs(*instant.details, &log_attributes);
    AddPlace(place, log.get());
    if (otel.severity != 0)
      log->set_severity_number(otel.severity);
    if (!otel.severity_text.empty())
      log->set_severity_text(otel.severity_text);
    if (!otel.trace_id.empty())
      log->set_trace_id(otel.trace_id);
    if (!otel.span_id.empty())
      log->set_span_id(otel.span_id);
    waiting.log = log.SerializeAsString();

    std::vector<WaitingInstant>& instants = waiting_[instant.track];
    instants.push_back(std::move(waiting));
    if (instants.size() >= kMaxWaiting)
      WriteLogs(instant.track, &instants, instants.size() / 2);
  }

  // Writes the first |count| instants of a track as logs.
  void WriteLogs(uint64_t track,
                 std::vector<WaitingInstant>* instants,
                 size_t count) {
    const TrackPlace place = exported_.Get(track).place;
    const std::string resource = ResourceOf(place.process, place.pid);
    const auto end = instants->begin() + static_cast<ptrdiff_t>(count);
    for (auto it = instants->begin(); it != end; ++it)
      batches_->Add(otlp::Signal::kLogs, resource, it->category, it->log);
    instants->erase(instants->begin(), end);
  }

  void WriteTasks() {
    const TaskTimeline& tasks = ids_.tasks();
    for (uint32_t i = 0; i < tasks.tasks().size(); ++i) {
      const TaskTimeline::Task& task = tasks.tasks()[i];
      if (task.first_part != kNoIndex)
        WriteTask(i, task);
    }
  }

  void WriteTask(uint32_t index, const TaskTimeline::Task& task) {
    const TaskTimeline& tasks = ids_.tasks();
    const TrackInfo process =
        InfoOf(tasks.processes()[task.process], reader_.tracks());
    const TaskTimeline::Part& last = tasks.parts()[task.last_part];
    const bool has_ended = last.state() == TaskTimeline::State::kEnded;
    span_.Reset();
    schema::Span* const span = span_.get();
    SetIds(ids_.OfTask(index), span);
    span->set_kind(schema::Span::SPAN_KIND_INTERNAL);
    span->set_start_time_unix_nano(
        UnixTimeOf(tasks.parts()[task.first_part].begin_ns));
    span->set_end_time_unix_nano(
        UnixTimeOf(has_ended ? last.begin_ns : tasks.end_ns()));
    if (task.name != kNoIndex)
      span->set_name(tasks.texts()[task.name]);
    else if (task.place != kNoIndex)
      span->set_name(tasks.places()[task.place].name);
    if (task.place != kNoIndex) {
      const TaskPlace& place = tasks.places()[task.place];
      AddTextAttribute("code.file.path", place.file, span);
      AddNumberAttribute("code.line.number", place.line, span);
    }
    if (!has_ended)
      AddTextAttribute("pztrace.state", "not ended", span);
    if (const uint32_t request = tasks.LastRequestOf(task); request != kNoIndex)
      AddTextAttribute("pztrace.request", tasks.texts()[request], span);
    constexpr uint8_t kFailed = 2;
    if (task.result == kFailed)
      span->set_status()->set_code(schema::Status::STATUS_CODE_ERROR);
    batches_->Add(otlp::Signal::kSpans, ResourceOf(process.name, process.pid),
                  "pztrace.tasks", span_.SerializeAsString());
  }

  const std::string& host_;
  const SpanIds& ids_;
  SpanBatches* const batches_;
  TimelineReader reader_;
  ExportedTracks exported_{reader_.tracks()};
  protozero::HeapBuffered<schema::Span> span_;
  std::unordered_map<uint64_t, std::vector<WaitingInstant>> waiting_;
  bool has_no_wall_clock_ = false;
};

// Reads a trace for the first time: the second reading prints its faults. False
// if it is a pipe.
bool FindIds(bool has_unfinished, TraceInput* input, SpanIds* ids) {
  TimelineReader* arguments = nullptr;
  TimelineReader::Callbacks callbacks;
  callbacks.reads_details = true;
  callbacks.on_slice = [&](const Slice& slice) {
    OtelArgs otel;
    SpanAttributes attributes(nullptr, 0, &otel);
    arguments->ReadArgs(*slice.details, UniqueNames::kByText, &attributes);
    ids->AddSlice(slice, otel);
  };
  if (has_unfinished)
    callbacks.on_unfinished = callbacks.on_slice;
  callbacks.on_task_step = [&](const TaskStep& step) {
    ids->AddTaskStep(step);
  };
  TimelineReader reader(std::move(callbacks));
  arguments = &reader;
  if (!ReadAgain(input, &reader))
    return false;
  ids->Finish(reader.end_ns());
  return true;
}

}  // namespace

bool ExportSpans(const std::string& host,
                 const std::string& file,
                 bool has_unfinished,
                 TraceInput* input,
                 SpanBatches* batches) {
  SpanIds ids(host);
  if (!FindIds(has_unfinished, input, &ids)) {
    program::PrintError(kProgram,
                        "%s: a pipe cannot be read twice, as spans need it",
                        program::DisplayName(file));
    return false;
  }
  return SpanExporter(host, has_unfinished, ids, batches).Export(file, input);
}

}  // namespace pztrace
