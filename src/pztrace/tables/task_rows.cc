// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/task_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "src/program/json_values.h"
#include "src/program/value_sink.h"
#include "src/pztrace/events/track_info.h"

namespace pztrace {

namespace {

using State = TaskTimeline::State;
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

// Returns an object with a member for each of |members|. |add| adds its name
// and its value.
template <typename Members, typename Add>
std::string ObjectOf(const Members& members, Add add) {
  std::string json;
  program::JsonValues values(&json);
  values.Begin(program::ValueSink::Container::kDictionary);
  for (const auto& member : members)
    add(member, &values);
  values.End();
  return json;
}

std::string TimesAsJson(const std::map<PlaceKey, TimeSum>& sums) {
  return ObjectOf(sums, [](const auto& member, program::JsonValues* values) {
    values->Name(PlaceText(member.first));
    values->Begin(program::ValueSink::Container::kDictionary);
    values->Member("count", member.second.count);
    values->Member("total", member.second.total_ns);
    values->Member("max", member.second.max_ns);
    values->End();
  });
}

void AddUnresumed(const Unresumed& tasks, program::JsonValues* values) {
  values->Begin(program::ValueSink::Container::kDictionary);
  if (tasks.count != 0) {
    values->Member("count", tasks.count);
    values->Member("since", tasks.since_ns);
    values->Member("for", tasks.ns);
    values->Member("task", tasks.task);
    values->Member("request", tasks.request);
  }
  values->End();
}

std::string UnresumedAsJson(const Unresumed& tasks) {
  std::string json;
  program::JsonValues values(&json);
  AddUnresumed(tasks, &values);
  return json;
}

std::string UnresumedAsJson(const std::map<PlaceKey, Unresumed>& places) {
  return ObjectOf(places, [](const auto& member, program::JsonValues* values) {
    values->Name(PlaceText(member.first));
    AddUnresumed(member.second, values);
  });
}

std::string CountsAsJson(const std::map<PlaceKey, uint64_t>& counts) {
  return ObjectOf(counts, [](const auto& member, program::JsonValues* values) {
    values->Member(PlaceText(member.first), member.second);
  });
}

PlaceKey PlaceKeyOf(const TaskTimeline& timeline, uint32_t place) {
  if (place == kNoIndex)
    return {};
  const protozero::TaskPlace& found = timeline.places()[place];
  return {found.name, found.file, found.line};
}

std::string_view TextOf(const TaskTimeline& timeline, uint32_t number) {
  return number == kNoIndex ? std::string_view() : timeline.texts()[number];
}

std::string ThreadLabel(const TaskTimeline& timeline,
                        uint32_t thread,
                        const Tracks& tracks) {
  return thread >= timeline.threads().size()
             ? std::string()
             : FullLabelOf(timeline.threads()[thread].track, tracks);
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

constexpr std::tuple kSourceColumns{
    TableColumn{"place", "where it was spawned", &PlaceKey::name},
    TableColumn{"source", "", &PlaceKey::file},
    TableColumn{"line", "", &PlaceKey::line}};

// Returns how the threads of a task spent the time in which it ran. Null if
// some of that is unknown.
std::optional<TimeDivision> DivisionOf(const TaskTimeline& timeline,
                                       const TimelineReader& reader,
                                       const TaskTimeline::Task& task,
                                       ThreadTimes* times) {
  if (!times->has_states())
    return std::nullopt;
  TimeDivision sum;
  for (uint32_t i = task.first_part; i != kNoIndex;) {
    const TaskTimeline::Part& part = timeline.parts()[i];
    i = part.next;
    if (part.state() != State::kRunning)
      continue;
    const auto divided =
        times->Divide(timeline.threads()[part.thread].track, reader.tracks(),
                      part.begin_ns, timeline.EndOf(part));
    if (!divided)
      return std::nullopt;
    sum.Add(*divided);
  }
  return sum;
}

// A task, and what its row needs.
struct TaskCells {
  uint64_t number() const { return task.number; }
  std::string_view name() const { return TextOf(timeline, task.name); }
  std::optional<uint64_t> parent() const {
    if (task.parent == kNoIndex)
      return std::nullopt;
    return timeline.tasks()[task.parent].number;
  }
  std::string_view request() const {
    return TextOf(timeline, timeline.LastRequestOf(task));
  }
  uint64_t ts() const { return first.begin_ns; }
  std::optional<int64_t> time() const { return reader.RealtimeOf(ts()); }
  bool spawned() const { return task.is_spawn_known; }
  std::optional<uint64_t> dur() const {
    if (last.state() != State::kEnded)
      return std::nullopt;
    return last.begin_ns - ts();
  }
  std::string_view state() const { return StateText(last.state()); }
  std::string_view result() const { return ResultText(task.result); }
  uint64_t runs() const { return times.of(State::kRunning).count; }
  uint64_t longest() const { return times.of(State::kRunning).max_ns; }
  template <State kState>
  uint64_t total() const {
    return times.of(kState).total_ns;
  }
  auto waits() const { return JsonObject{TimesAsJson(times.waits)}; }
  template <uint64_t TimeDivision::* kPart>
  std::optional<uint64_t> divided() const {
    return division ? std::optional((*division).*kPart) : std::nullopt;
  }

  const TaskTimeline& timeline;
  const TimelineReader& reader;
  const TaskTimeline::Task& task;
  const std::optional<TimeDivision> division;
  const TaskTimeline::Part& first = timeline.parts()[task.first_part];
  const TaskTimeline::Part& last = timeline.parts()[task.last_part];
  const TaskTimes times = TimesOf(timeline, task);
};

// The columns before those of kSourceColumns, and after them.
constexpr std::tuple kTaskNameColumns{
    TableColumn{"task", "its number in the process", &TaskCells::number},
    TableColumn{"name", "its own", &TaskCells::name}};
constexpr std::tuple kTaskColumns{
    TableColumn{"parent", "the number of the task that has spawned it",
                &TaskCells::parent},
    TableColumn{"request", "the one that it worked on last",
                &TaskCells::request},
    TableColumn{"ts", "its spawn, or the first that the trace says of it",
                &TaskCells::ts, Unit::kNs},
    TableColumn{"time", "", &TaskCells::time, Unit::kNs},
    TableColumn{"spawned", "whether ts is its spawn", &TaskCells::spawned},
    TableColumn{"dur", "until its end, null if it had not ended",
                &TaskCells::dur, Unit::kNs},
    TableColumn{"state",
                "at the end of the trace: ended, waiting, ready, running or "
                "unknown",
                &TaskCells::state},
    TableColumn{"result", "done, failed, cancelled or destroyed",
                &TaskCells::result},
    TableColumn{"runs", "how often it ran", &TaskCells::runs},
    TableColumn{"run", "the sums of its times by state",
                &TaskCells::total<State::kRunning>, Unit::kNs},
    TableColumn{"wait", "", &TaskCells::total<State::kWaiting>, Unit::kNs},
    TableColumn{"ready", "", &TaskCells::total<State::kReady>, Unit::kNs},
    TableColumn{"unknown", "", &TaskCells::total<State::kUnknown>, Unit::kNs},
    TableColumn{"longest", "its longest run", &TaskCells::longest, Unit::kNs},
    TableColumn{"waits",
                "what it waited for: how often, and the sum and the longest of "
                "these times",
                &TaskCells::waits},
    TableColumn{"thread_ran",
                "how long its threads ran, had no processor and waited in its "
                "runs; null if their states are not known",
                &TaskCells::divided<&TimeDivision::ran_ns>, Unit::kNs},
    TableColumn{"thread_ready", "",
                &TaskCells::divided<&TimeDivision::ready_ns>, Unit::kNs},
    TableColumn{"thread_waited", "",
                &TaskCells::divided<&TimeDivision::waited_ns>, Unit::kNs}};

// The tasks of a place.
struct SummaryCells {
  uint64_t tasks() const { return row.tasks; }
  uint64_t runs() const { return row.runs.count; }
  uint64_t run() const { return row.runs.total_ns; }
  uint64_t wait() const { return row.waits.total_ns; }
  uint64_t ready() const { return row.ready.total_ns; }
  uint64_t unknown() const { return row.unknown_ns; }
  uint64_t delays() const { return row.delay.count; }
  template <uint64_t kPercent>
  uint64_t delay() const {
    return row.DelayPercentile(kPercent);
  }
  uint64_t delay_max() const { return row.delay.max_ns; }
  auto delayed() const { return JsonObject{TimesAsJson(row.longest.delayed)}; }
  auto waits() const { return JsonObject{TimesAsJson(row.waits_by_place)}; }
  uint64_t not_ended() const { return row.NotEnded(); }
  auto unresumed() const { return JsonObject{UnresumedAsJson(row.unresumed)}; }
  auto not_run() const { return JsonObject{UnresumedAsJson(row.not_run)}; }
  auto destroyed() const { return JsonObject{CountsAsJson(row.destroyed)}; }

  const TaskRow& row;
};

constexpr std::tuple kSummaryTimeColumns{
    TableColumn{"tasks", "how many", &SummaryCells::tasks},
    TableColumn{"runs", "how often they ran", &SummaryCells::runs},
    TableColumn{"run", "the sums of their times by state", &SummaryCells::run,
                Unit::kNs},
    TableColumn{"wait", "", &SummaryCells::wait, Unit::kNs},
    TableColumn{"ready", "", &SummaryCells::ready, Unit::kNs},
    TableColumn{"unknown", "", &SummaryCells::unknown, Unit::kNs},
    TableColumn{"delays", "how often they waited from a wake to the run",
                &SummaryCells::delays},
    TableColumn{"delay_p50", "and how long", &SummaryCells::delay<50>,
                Unit::kNs},
    TableColumn{"delay_p99", "", &SummaryCells::delay<99>, Unit::kNs},
    TableColumn{"delay_max", "", &SummaryCells::delay_max, Unit::kNs}};
constexpr std::tuple kLongestColumns{
    TableColumn{"longest", "the longest run", &LongRun::ns, Unit::kNs},
    TableColumn{"longest_task", "", &LongRun::task},
    TableColumn{"longest_thread", "", &LongRun::thread},
    TableColumn{"longest_since", "from the beginning of the trace on",
                &LongRun::since_ns, Unit::kNs}};
constexpr std::tuple kSummaryColumns{
    TableColumn{"delayed", "the tasks that could have run meanwhile",
                &SummaryCells::delayed},
    TableColumn{"waits", "what they waited for", &SummaryCells::waits},
    TableColumn{"not_ended", "how many had not ended",
                &SummaryCells::not_ended},
    TableColumn{"unresumed", "those that waited", &SummaryCells::unresumed},
    TableColumn{"not_run", "those that could run", &SummaryCells::not_run},
    TableColumn{"destroyed", "what tasks waited for that were destroyed",
                &SummaryCells::destroyed}};

// A part of the path of a request.
struct PathCells {
  const TaskTimeline::Task& of() const { return timeline.tasks()[part.task]; }
  const Tracks& tracks() const { return reader.tracks(); }

  std::string process_name() const { return UniqueName(process); }
  int64_t pid() const { return process.pid; }
  uint64_t ts() const { return part.begin_ns; }
  std::optional<int64_t> time() const { return reader.RealtimeOf(ts()); }
  uint64_t dur() const { return part.end_ns - part.begin_ns; }
  std::string_view state() const {
    constexpr State kStates[] = {State::kRunning, State::kReady,
                                 State::kWaiting, State::kUnknown};
    return StateText(kStates[static_cast<size_t>(part.kind)]);
  }
  uint64_t task() const { return of().number; }
  std::string name() const { return TaskText(timeline, part.task); }
  std::string thread() const {
    return ThreadLabel(timeline, part.thread, tracks());
  }
  std::string place() const { return PlaceText(timeline, part.place); }
  std::string waker() const {
    return part.waker == kNoIndex ? "" : TaskText(timeline, part.waker);
  }
  auto others() const {
    return JsonObject{ObjectOf(
        part.others, [this](const auto& other, program::JsonValues* values) {
          values->Member(TaskText(timeline, other.task), other.ns);
        })};
  }

  const TaskTimeline& timeline;
  const TimelineReader& reader;
  const PathPart& part;
  std::string_view file;
  std::string_view request;
  TrackInfo process = InfoOf(timeline.processes()[of().process], tracks());
};

constexpr std::tuple kPathColumns{
    TableColumn{"file", "the trace", &PathCells::file},
    TableColumn{"process", "that of the task", &PathCells::process_name},
    TableColumn{"pid", "", &PathCells::pid},
    TableColumn{"request", "", &PathCells::request},
    TableColumn{"ts", "the beginning of the part", &PathCells::ts, Unit::kNs},
    TableColumn{"time", "", &PathCells::time, Unit::kNs},
    TableColumn{"dur", "", &PathCells::dur, Unit::kNs},
    TableColumn{"state", "running, ready, waiting or unknown",
                &PathCells::state},
    TableColumn{"task", "its number and its text", &PathCells::task},
    TableColumn{"name", "", &PathCells::name},
    TableColumn{"thread", "where it ran, could run or was woken",
                &PathCells::thread},
    TableColumn{"place", "what it waited for", &PathCells::place},
    TableColumn{"waker", "the task that woke it", &PathCells::waker},
    TableColumn{"others", "the tasks that ran while it could run",
                &PathCells::others}};

}  // namespace

std::vector<ColumnInfo> TaskColumns() {
  return Joined({InfosOf<TaskCells>(kTaskNameColumns),
                 InfosOf<PlaceKey>(kSourceColumns),
                 InfosOf<TaskCells>(kTaskColumns)});
}

void WriteTasks(const TaskTimeline& timeline,
                const TimelineReader& reader,
                ThreadTimes* times,
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
    const TaskCells cells{timeline, reader, task,
                          DivisionOf(timeline, reader, task, times)};
    WriteCells(kTaskNameColumns, cells, rows);
    WriteCells(kSourceColumns, PlaceKeyOf(timeline, task.place), rows);
    WriteRow(kTaskColumns, cells, rows);
  }
}

std::vector<ColumnInfo> TaskSummaryColumns() {
  return Joined({InfosOf<PlaceKey>(kSourceColumns),
                 InfosOf<SummaryCells>(kSummaryTimeColumns),
                 InfosOf<LongRun>(kLongestColumns),
                 InfosOf<SummaryCells>(kSummaryColumns)});
}

void WriteTaskSummary(const TaskSummary& summary, RowWriter* rows) {
  for (const auto& [place, row] : summary.rows()) {
    const SummaryCells cells{row};
    WriteCells(kSourceColumns, place, rows);
    WriteCells(kSummaryTimeColumns, cells, rows);
    WriteCells(kLongestColumns, row.longest, rows);
    WriteRow(kSummaryColumns, cells, rows);
  }
}

std::vector<ColumnInfo> RequestPathColumns() {
  return InfosOf<PathCells>(kPathColumns);
}

void WriteRequestPath(const TaskTimeline& timeline,
                      const TimelineReader& reader,
                      const std::string& file,
                      uint32_t request,
                      const std::vector<PathPart>& path,
                      RowWriter* rows) {
  for (const PathPart& part : path) {
    WriteRow(kPathColumns,
             PathCells{timeline, reader, part, file, TextOf(timeline, request)},
             rows);
  }
}

}  // namespace pztrace
