// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/span_exporter.h"

#include <stdint.h>

#include <string>
#include <utility>

#include "src/program/io.h"
#include "src/pztrace/events/otel_args.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/spans/span_encoder.h"
#include "src/pztrace/spans/span_ids.h"

namespace pztrace {

namespace {

// The second reading of a trace: writes the spans.
class SpanExporter {
 public:
  SpanExporter(const std::string& host,
               bool has_unfinished,
               const SpanIds& ids,
               SpanBatches* batches)
      : ids_(ids),
        reader_(MakeCallbacks(has_unfinished)),
        encoder_(host, &reader_, batches) {}

  bool Export(const std::string& file, TraceInput* input) {
    const bool ok = ReadTimeline(file, input, &reader_, /*reads_ahead=*/true);
    encoder_.WriteAllLogs();
    WriteTasks();
    if (encoder_.has_no_wall_clock()) {
      program::PrintError(kProgram,
                          "%s: it has no times of the wall clock: those of the "
                          "trace's own are written",
                          program::DisplayName(file));
    }
    PrintOmissions(reader_, stderr);
    return ok;
  }

 private:
  TimelineReader::Callbacks MakeCallbacks(bool has_unfinished) {
    TimelineReader::Callbacks callbacks;
    callbacks.reads_details = true;
    callbacks.on_slice = [this](const Slice& slice) {
      OtelArgs otel;
      EncodedSpan span = encoder_.EncodeSlice(slice, &otel);
      encoder_.Write(std::move(span), ids_.OfSlice(slice), ids_.LinksOf(slice));
    };
    if (has_unfinished)
      callbacks.on_unfinished = callbacks.on_slice;
    callbacks.nests_instants = true;
    callbacks.on_instant = [this](const Instant& instant) {
      encoder_.AddInstant(instant);
    };
    return callbacks;
  }

  void WriteTasks() {
    const TaskTimeline& tasks = ids_.tasks();
    for (uint32_t i = 0; i < tasks.tasks().size(); ++i) {
      const TaskTimeline::Task& task = tasks.tasks()[i];
      if (task.first_part != kNoIndex)
        encoder_.Write(encoder_.EncodeTask(LifeOf(task)), ids_.OfTask(i), {});
    }
  }

  TaskLife LifeOf(const TaskTimeline::Task& task) const {
    const TaskTimeline& tasks = ids_.tasks();
    const TaskTimeline::Part& last = tasks.parts()[task.last_part];
    TaskLife life;
    life.process = tasks.processes()[task.process];
    life.begin_ns = tasks.parts()[task.first_part].begin_ns;
    life.has_ended = last.state() == TaskTimeline::State::kEnded;
    life.end_ns = life.has_ended ? last.begin_ns : tasks.end_ns();
    life.result = task.result;
    if (task.name != kNoIndex)
      life.name = tasks.texts()[task.name];
    if (task.place != kNoIndex)
      life.place = &tasks.places()[task.place];
    if (const uint32_t request = tasks.LastRequestOf(task); request != kNoIndex)
      life.request = tasks.texts()[request];
    return life;
  }

  const SpanIds& ids_;
  TimelineReader reader_;
  SpanEncoder encoder_;
};

// Reads a trace for the first time: the second reading prints its faults. False
// if it is a pipe.
bool FindIds(TraceInput* input, SpanIds* ids) {
  TimelineReader* arguments = nullptr;
  TimelineReader::Callbacks callbacks;
  callbacks.reads_details = true;
  callbacks.on_slice = [&](const Slice& slice) {
    OtelArgs otel;
    OtelArgsSink attributes(&otel);
    arguments->ReadArgs(*slice.details, UniqueNames::kByText, &attributes);
    ids->AddSlice(slice, otel);
  };
  // The parent of a span is known although it has no end.
  callbacks.on_unfinished = callbacks.on_slice;
  // The second reading numbers them with slices, too.
  callbacks.nests_instants = true;
  callbacks.on_instant = [](const Instant&) {};
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
  if (!FindIds(input, &ids)) {
    program::PrintError(kProgram,
                        "%s: a pipe cannot be read twice, as spans need it",
                        program::DisplayName(file));
    return false;
  }
  return SpanExporter(host, has_unfinished, ids, batches).Export(file, input);
}

}  // namespace pztrace
