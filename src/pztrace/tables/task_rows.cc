// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/task_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "src/program/text.h"
#include "src/pztrace/events/track_info.h"

namespace pztrace {

namespace {

using State = TaskTimeline::State;
using table::Column;
using table::RowWriter;

std::string_view StateText(State state) {
  switch (state) {
    case State::kReady:
      return "ready";
    case State::kRunning:
      return "running";
    case State::kWaiting:
      return "waiting";
    case State::kEnded:
      return "ended";
    case State::kUnknown:
      break;
  }
  return "unknown";
}

// Appends a member of a JSON object, and its comma.
void AppendName(std::string_view name, std::string* json) {
  if (json->size() > 1)
    *json += ',';
  program::AppendJsonString(name, json);
  *json += ':';
}

std::string TimesAsJson(const std::map<PlaceKey, TimeSum>& sums) {
  std::string json = "{";
  for (const auto& [place, sum] : sums) {
    AppendName(PlaceText(place), &json);
    json += "{\"count\":" + std::to_string(sum.count) +
            ",\"total\":" + std::to_string(sum.total_ns) +
            ",\"max\":" + std::to_string(sum.max_ns) + "}";
  }
  return json + "}";
}

std::string UnresumedAsJson(const Unresumed& tasks) {
  if (tasks.count == 0)
    return "{}";
  std::string json = "{\"count\":" + std::to_string(tasks.count) +
                     ",\"since\":" + std::to_string(tasks.since_ns) +
                     ",\"for\":" + std::to_string(tasks.ns) + ",\"task\":";
  program::AppendJsonString(tasks.task, &json);
  json += ",\"request\":";
  program::AppendJsonString(tasks.request, &json);
  return json + "}";
}

std::string UnresumedAsJson(const std::map<PlaceKey, Unresumed>& places) {
  std::string json = "{";
  for (const auto& [place, tasks] : places) {
    AppendName(PlaceText(place), &json);
    json += UnresumedAsJson(tasks);
  }
  return json + "}";
}

std::string CountsAsJson(const std::map<PlaceKey, uint64_t>& counts) {
  std::string json = "{";
  for (const auto& [place, count] : counts) {
    AppendName(PlaceText(place), &json);
    json += std::to_string(count);
  }
  return json + "}";
}

// Writes the first cells of a row.
void BeginRow(const std::string& file,
              const TrackInfo& process,
              RowWriter* rows) {
  rows->Text(file);
  rows->Text(process.name);
  rows->Number(int64_t{process.pid});
}

void WriteNumber(uint32_t number, RowWriter* rows) {
  rows->Number(uint64_t{number});
}

void WritePlace(const PlaceKey& place, RowWriter* rows) {
  rows->Text(place.name);
  rows->Text(place.file);
  WriteNumber(place.line, rows);
}

PlaceKey PlaceKeyOf(const TaskTimeline& timeline, uint32_t place) {
  if (place == kNoIndex)
    return {};
  const protozero::TaskPlace& found = timeline.places()[place];
  return {found.name, found.file, found.line};
}

// Writes the number of a task, or null.
void WriteTaskNumber(const TaskTimeline& timeline,
                     uint32_t task,
                     RowWriter* rows) {
  if (task == kNoIndex)
    rows->Null();
  else
    rows->Number(timeline.tasks()[task].number);
}

void WriteText(const TaskTimeline& timeline, uint32_t number, RowWriter* rows) {
  rows->Text(number == kNoIndex ? std::string_view()
                                : timeline.texts()[number]);
}

std::string ThreadLabel(const TaskTimeline& timeline,
                        uint32_t thread,
                        const Tracks& tracks) {
  return thread >= timeline.threads().size()
             ? std::string()
             : LabelOf(InfoOf(timeline.threads()[thread].track, tracks));
}

// The times of one task.
struct TaskTimes {
  TimeSum by_state[5];
  std::map<PlaceKey, TimeSum> waits;

  const TimeSum& of(State state) const {
    return by_state[static_cast<size_t>(state)];
  }
};

TaskTimes TimesOf(const TaskTimeline& timeline,
                  const TaskTimeline::Task& task) {
  TaskTimes times;
  for (uint32_t i = task.first_part; i != kNoIndex;) {
    const TaskTimeline::Part& part = timeline.parts()[i];
    const uint64_t ns = timeline.EndOf(part) - part.begin_ns;
    times.by_state[static_cast<size_t>(part.state())].Add(ns);
    if (part.state() == State::kWaiting)
      times.waits[PlaceKeyOf(timeline, part.other)].Add(ns);
    i = part.next;
  }
  return times;
}

void WriteTask(const TaskTimeline& timeline,
               const TimelineReader& reader,
               const TaskTimeline::Task& task,
               RowWriter* rows) {
  const TaskTimes times = TimesOf(timeline, task);
  const TaskTimeline::Part& first = timeline.parts()[task.first_part];
  const TaskTimeline::Part& last = timeline.parts()[task.last_part];
  rows->Number(task.number);
  WriteText(timeline, task.name, rows);
  WritePlace(PlaceKeyOf(timeline, task.place), rows);
  WriteTaskNumber(timeline, task.parent, rows);
  WriteText(timeline, timeline.LastRequestOf(task), rows);
  rows->Number(first.begin_ns);
  rows->Number(reader.RealtimeOf(first.begin_ns));
  rows->Bool(task.is_spawn_known);
  if (last.state() == State::kEnded)
    rows->Number(last.begin_ns - first.begin_ns);
  else
    rows->Null();
  rows->Text(StateText(last.state()));
  rows->Text(ResultText(task.result));
  rows->Number(times.of(State::kRunning).count);
  rows->Number(times.of(State::kRunning).total_ns);
  rows->Number(times.of(State::kWaiting).total_ns);
  rows->Number(times.of(State::kReady).total_ns);
  rows->Number(times.of(State::kUnknown).total_ns);
  rows->Number(times.of(State::kRunning).max_ns);
  rows->Json(TimesAsJson(times.waits));
  rows->EndRow();
}

}  // namespace

std::vector<Column> TaskColumns() {
  using Type = Column::Type;
  return {{"task", Type::kUint64},    {"name", Type::kText},
          {"place", Type::kText},     {"source", Type::kText},
          {"line", Type::kUint64},    {"parent", Type::kUint64},
          {"request", Type::kText},   {"ts", Type::kUint64},
          {"time", Type::kInt64},     {"spawned", Type::kBool},
          {"dur", Type::kUint64},     {"state", Type::kText},
          {"result", Type::kText},    {"runs", Type::kUint64},
          {"run", Type::kUint64},     {"wait", Type::kUint64},
          {"ready", Type::kUint64},   {"unknown", Type::kUint64},
          {"longest", Type::kUint64}, {"waits", Type::kJson}};
}

void WriteTasks(const TaskTimeline& timeline,
                const TimelineReader& reader,
                const std::function<void(const TrackInfo&)>& begin_row,
                RowWriter* rows) {
  std::vector<TrackInfo> processes;
  for (const uint64_t track : timeline.processes())
    processes.push_back(InfoOf(track, reader.tracks()));
  // By their first steps. A task without a part is only known as a parent.
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < timeline.tasks().size(); ++i) {
    if (timeline.tasks()[i].first_part != kNoIndex)
      order.push_back(i);
  }
  const auto first_ns = [&timeline](uint32_t task) {
    return timeline.parts()[timeline.tasks()[task].first_part].begin_ns;
  };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return first_ns(a) < first_ns(b);
  });
  for (const uint32_t i : order) {
    const TaskTimeline::Task& task = timeline.tasks()[i];
    begin_row(processes[task.process]);
    WriteTask(timeline, reader, task, rows);
  }
}

std::vector<Column> TaskSummaryColumns() {
  using Type = Column::Type;
  return {{"place", Type::kText},           {"source", Type::kText},
          {"line", Type::kUint64},          {"tasks", Type::kUint64},
          {"runs", Type::kUint64},          {"run", Type::kUint64},
          {"wait", Type::kUint64},          {"ready", Type::kUint64},
          {"unknown", Type::kUint64},       {"delays", Type::kUint64},
          {"delay_p50", Type::kUint64},     {"delay_p99", Type::kUint64},
          {"delay_max", Type::kUint64},     {"longest", Type::kUint64},
          {"longest_task", Type::kText},    {"longest_thread", Type::kText},
          {"longest_since", Type::kUint64}, {"delayed", Type::kJson},
          {"waits", Type::kJson},           {"not_ended", Type::kUint64},
          {"unresumed", Type::kJson},       {"not_run", Type::kJson},
          {"destroyed", Type::kJson}};
}

void WriteTaskSummary(const TaskSummary& summary, RowWriter* rows) {
  for (const auto& [place, row] : summary.rows()) {
    WritePlace(place, rows);
    rows->Number(row.tasks);
    rows->Number(row.runs.count);
    rows->Number(row.runs.total_ns);
    rows->Number(row.waits.total_ns);
    rows->Number(row.ready.total_ns);
    rows->Number(row.unknown_ns);
    rows->Number(row.delay.count);
    rows->Number(row.DelayPercentile(50));
    rows->Number(row.DelayPercentile(99));
    rows->Number(row.delay.max_ns);
    rows->Number(row.longest.ns);
    rows->Text(row.longest.task);
    rows->Text(row.longest.thread);
    rows->Number(row.longest.since_ns);
    rows->Json(TimesAsJson(row.longest.delayed));
    rows->Json(TimesAsJson(row.waits_by_place));
    rows->Number(row.NotEnded());
    rows->Json(UnresumedAsJson(row.unresumed));
    rows->Json(UnresumedAsJson(row.not_run));
    rows->Json(CountsAsJson(row.destroyed));
    rows->EndRow();
  }
}

std::vector<Column> RequestPathColumns() {
  using Type = Column::Type;
  return {{"file", Type::kText},   {"process", Type::kText},
          {"pid", Type::kInt64},   {"request", Type::kText},
          {"ts", Type::kUint64},   {"time", Type::kInt64},
          {"dur", Type::kUint64},  {"state", Type::kText},
          {"task", Type::kUint64}, {"name", Type::kText},
          {"thread", Type::kText}, {"place", Type::kText},
          {"waker", Type::kText},  {"others", Type::kJson}};
}

void WriteRequestPath(const TaskTimeline& timeline,
                      const TimelineReader& reader,
                      const std::string& file,
                      uint32_t request,
                      const std::vector<PathPart>& path,
                      RowWriter* rows) {
  constexpr State kStates[] = {State::kRunning, State::kReady, State::kWaiting,
                               State::kUnknown};
  for (const PathPart& part : path) {
    const TaskTimeline::Task& task = timeline.tasks()[part.task];
    BeginRow(file, InfoOf(timeline.processes()[task.process], reader.tracks()),
             rows);
    WriteText(timeline, request, rows);
    rows->Number(part.begin_ns);
    rows->Number(reader.RealtimeOf(part.begin_ns));
    rows->Number(part.end_ns - part.begin_ns);
    rows->Text(StateText(kStates[static_cast<size_t>(part.kind)]));
    rows->Number(task.number);
    rows->Text(TaskText(timeline, part.task));
    rows->Text(ThreadLabel(timeline, part.thread, reader.tracks()));
    rows->Text(PlaceText(timeline, part.place));
    rows->Text(part.waker == kNoIndex ? "" : TaskText(timeline, part.waker));
    std::string others = "{";
    for (const PathPart::Other& other : part.others) {
      AppendName(TaskText(timeline, other.task), &others);
      others += std::to_string(other.ns);
    }
    rows->Json(others + "}");
    rows->EndRow();
  }
}

}  // namespace pztrace
