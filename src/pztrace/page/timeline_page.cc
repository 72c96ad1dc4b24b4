// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/page/timeline_page.h"

#include <math.h>
#include <stddef.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "src/program/json_values.h"
#include "src/program/text.h"
#include "src/program/value_sink.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/page/embedded_page.h"
#include "src/pztrace/page/thread_page_rows.h"

namespace pztrace {

namespace {

using program::JsonValues;
using Container = program::ValueSink::Container;

// A list of numbers, as JSON.
class NumberList {
 public:
  void Add(uint64_t number) {
    is_zero_ = is_zero_ && number == 0;
    json_ += (json_.empty() ? "" : ",") + std::to_string(number);
  }

  void AddTo(std::string_view name, JsonValues* values) const {
    values->Name(name);
    values->AddJson("[" + json_ + "]");
  }
  void AddUnlessZero(std::string_view name, JsonValues* values) const {
    if (!is_zero_)
      AddTo(name, values);
  }

 private:
  std::string json_;
  bool is_zero_ = true;
};

// Writes times as differences, which are short.
class Times {
 public:
  explicit Times(uint64_t first_ns) : last_ns_(first_ns) {}

  // REQUIRES: no time is before the one before it.
  void Add(uint64_t time_ns) {
    differences_.Add(time_ns - last_ns_);
    last_ns_ = time_ns;
  }

  void AddTo(std::string_view name, JsonValues* values) const {
    differences_.AddTo(name, values);
  }

 private:
  uint64_t last_ns_;
  NumberList differences_;
};

class Page {
 public:
  Page(const TimelineReader& reader,
       const PageOptions& options,
       const ThreadTimes& times,
       const TrackRows& rows)
      : reader_(reader), times_(times) {
    uint64_t last_ns = 0;
    std::tie(first_ns_, last_ns) =
        rows.is_empty() ? TimesOfThreads(times)
                        : std::pair(rows.first_ns(), rows.last_ns());
    const uint64_t length = last_ns - first_ns_;
    from_ns_ = first_ns_ + std::min(options.from_ns, length);
    to_ns_ = first_ns_ + std::min(options.to_ns, length);
    StringId("");  // The empty string has the number 0.
  }

  uint64_t from_ns() const { return from_ns_; }
  uint64_t to_ns() const { return to_ns_; }

  std::string Json(const std::string& title,
                   bool is_complete,
                   const std::vector<std::string>& notes,
                   const std::vector<TrackRow>& rows) {
    for (const TrackRow& row : rows)
      AddFlowEnds(row);
    for (auto& [flow, ends] : flow_ends_)
      std::sort(ends.begin(), ends.end());
    std::string json;
    JsonValues values(&json);
    values.Begin(Container::kDictionary);
    // Rows find the texts and stacks that come after them.
    values.Name("rows");
    values.Begin(Container::kArray);
    const TrackRow* last = nullptr;
    for (const TrackRow& row : rows) {
      values.BeginLine();
      // Tracks that share rows have the first one's number.
      AddRow(row, last && last->track == row.track, &values);
      last = &row;
    }
    values.End();
    values.BeginLine();
    values.Member("name", title);
    // JavaScript's numbers cannot hold these exactly.
    values.Member("first", std::to_string(first_ns_));
    const auto offset = reader_.realtime_offset_ns();
    values.Name("realtime");
    if (offset)
      values.Add(std::to_string(*offset));
    else
      values.Add({});
    values.Member("from", from_ns_ - first_ns_);
    values.Member("to", to_ns_ - first_ns_);
    values.Member("complete", is_complete);
    values.BeginLine();
    values.Name("notes");
    values.Begin(Container::kArray);
    for (const std::string& note : notes)
      values.Add(note);
    values.End();
    values.BeginLine();
    values.Name("strings");
    values.AddJson("[" + strings_ + "]");
    values.BeginLine();
    values.Name("texts");
    values.AddJson("[" + texts_ + "]");
    if (!stack_nodes_.empty()) {
      values.BeginLine();
      values.Name("stacks");
      values.Begin(Container::kDictionary);
      stack_parents_.AddTo("parent", &values);
      stack_names_.AddTo("name", &values);
      values.End();
    }
    values.End();
    return json;
  }

 private:
  size_t StringId(std::string_view text) {
    const auto [place, is_new] = string_ids_.emplace(text, string_ids_.size());
    if (is_new) {
      strings_ += place->second == 0 ? "" : ",";
      program::AppendJsonString(text, &strings_);
    }
    return place->second;
  }

  // Returns the number of |text|. Only texts that are on the page have one.
  size_t TextId(const EventText& text) {
    const auto [place, is_new] = text_ids_.emplace(&text, text_ids_.size());
    if (is_new) {
      texts_ += place->second == 0 ? "" : ",";
      texts_ += "[" + std::to_string(StringId(text.category)) + "," +
                std::to_string(StringId(NameOf(text))) + "]";
    }
    return place->second;
  }

  // The columns of events.
  struct Events {
    explicit Events(uint64_t first_ns) : begin(first_ns) {}

    void AddTo(JsonValues* values) const {
      values->Begin(Container::kDictionary);
      begin.AddTo("begin", values);
      text.AddTo("text", values);
      duration.AddUnlessZero("duration", values);
      open.AddUnlessZero("open", values);
      nested.AddUnlessZero("nested", values);
      args.AddUnlessZero("args", values);
      flows.AddUnlessZero("flows", values);
      values->End();
    }

    Times begin;
    NumberList duration;
    NumberList open;  // 1 for a slice that had not ended.
    NumberList nested;
    NumberList text;
    NumberList args;
    NumberList flows;
  };

  void AddText(const EventText& text,
               const EventDetails* details,
               uint64_t time_ns,
               bool is_state,
               Events* events) {
    events->text.Add(TextId(text));
    events->args.Add(details ? StringId(ArgsJson(*details)) : 0);
    events->flows.Add(
        details ? StringId(NamesOfFlows(*details, time_ns, is_state)) : 0);
  }

  std::string ArgsJson(const EventDetails& details) const {
    std::string json;
    reader_.AppendArgs(details, &json);
    return json;
  }

  void AddFlowEnds(const EventDetails* details, uint64_t time_ns) {
    if (details == nullptr)
      return;
    for (const EventFlow& flow : details->flows) {
      if (flow.ends_here)
        flow_ends_[flow.id].push_back(time_ns);
    }
  }

  void AddFlowEnds(const TrackRow& row) {
    if (row.events == nullptr)
      return;
    for (const std::vector<RowSlice>& line : row.events->slices) {
      for (const RowSlice& slice : line)
        AddFlowEnds(slice.details, slice.begin_ns);
    }
    for (const Instant& instant : row.events->instants)
      AddFlowEnds(instant.details, instant.time_ns);
  }

  // Returns the flows' names. The second flow of the number 7, which begins
  // after the first has ended, is "7/2".
  std::string NamesOfFlows(const EventDetails& details,
                           uint64_t time_ns,
                           bool is_state) const {
    std::string names;
    for (const EventFlow& flow : details.flows) {
      names += names.empty() ? "" : ",";
      if (is_state) {
        names += TaskPageRows::NameOfFlow(flow.id);
        continue;
      }
      names += std::to_string(flow.id);
      const auto ends = flow_ends_.find(flow.id);
      if (ends == flow_ends_.end())
        continue;
      const auto num_before =
          std::lower_bound(ends->second.begin(), ends->second.end(), time_ns) -
          ends->second.begin();
      if (num_before != 0)
        names += "/" + std::to_string(num_before + 1);
    }
    return names;
  }

  void AddSlices(const std::vector<RowSlice>& slices, JsonValues* values) {
    Events events(first_ns_);
    for (const RowSlice& slice : slices) {
      if (slice.begin_ns > to_ns_ ||
          slice.begin_ns + slice.duration_ns < from_ns_) {
        continue;
      }
      events.begin.Add(slice.begin_ns);
      events.duration.Add(slice.duration_ns);
      events.open.Add(slice.is_open);
      events.nested.Add(slice.duration_ns - slice.self_ns);
      AddText(*slice.text, slice.details, slice.begin_ns, slice.is_state,
              &events);
    }
    events.AddTo(values);
  }

  void AddInstants(const std::vector<Instant>& instants, JsonValues* values) {
    Events events(first_ns_);
    for (const Instant& instant : instants) {
      if (instant.time_ns < from_ns_ || instant.time_ns > to_ns_)
        continue;
      events.begin.Add(instant.time_ns);
      AddText(*instant.text, instant.details, instant.time_ns,
              /*is_state=*/false, &events);
    }
    events.AddTo(values);
  }

  void AddCounter(const std::vector<CounterValue>& values,
                  const std::string& unit,
                  JsonValues* json) const {
    Times times(first_ns_);
    std::string list;
    JsonValues numbers(&list);
    numbers.Begin(Container::kArray);
    for (size_t i = 0; i < values.size() && values[i].time_ns <= to_ns_; ++i) {
      // A value lasts until the next one.
      if (i + 1 < values.size() && values[i + 1].time_ns < from_ns_)
        continue;
      times.Add(values[i].time_ns);
      if (isfinite(values[i].value))
        numbers.Add(values[i].value);
      else
        numbers.Add({});
    }
    numbers.End();
    json->Begin(Container::kDictionary);
    times.AddTo("time", json);
    json->Name("value");
    json->AddJson(list);
    json->Member("unit", unit);
    json->End();
  }

  // |continues| if the row belongs to the tracks of the row before it.
  void AddRow(const TrackRow& row, bool continues, JsonValues* values) {
    const TrackInfo info = InfoOf(row.track, reader_.tracks());
    values->Begin(Container::kDictionary);
    const bool is_of_track = row.kind == TrackRow::Kind::kOfTrack;
    values->Member("label", is_of_track ? LabelOf(info) : row.label);
    values->Member("level", uint64_t{row.level});
    values->Member("kind", KindText(row.kind, info));
    if (continues)
      values->Member("continues", true);
    const int64_t tid =
        is_of_track ? times_.TidOf(row.track, reader_.tracks()) : row.tid;
    if (tid != 0)
      AddThread(tid, values);
    if (row.events)
      AddEvents(*row.events, info.unit, values);
    values->End();
  }

  static std::string_view KindText(TrackRow::Kind kind, const TrackInfo& info) {
    switch (kind) {
      case TrackRow::Kind::kTasks:
        return "tasks";
      case TrackRow::Kind::kProcess:
        return "process";
      case TrackRow::Kind::kThread:
        return "thread";
      case TrackRow::Kind::kOfTrack:
        break;
    }
    return info.is_thread ? "thread" : info.is_process ? "process" : "track";
  }

  void AddThread(int64_t tid, JsonValues* values) {
    const uint32_t thread = times_.states().FindTid(tid);
    if (thread != ThreadStateTable::kNone)
      AddStates(thread, values);
    const StackSamples& samples = times_.samples();
    const auto [first, end] = samples.Find(tid, from_ns_, to_ns_);
    if (first == end)
      return;
    Times time(first_ns_);
    NumberList stack;
    for (size_t i = first; i < end; ++i) {
      const StackSamples::Sample& sample = samples.samples()[i];
      if (!samples.CounterOf(sample).is_of_running)
        continue;
      time.Add(sample.time_ns);
      stack.Add(NodeOf(sample.callsite));
    }
    values->Name("samples");
    values->Begin(Container::kDictionary);
    time.AddTo("time", values);
    stack.AddTo("stack", values);
    values->End();
  }

  // Adds the states of a thread, each until the next one: 0 unknown, 1 running,
  // 2 ready, 3 waiting, 4 before it was made or after its end.
  void AddStates(uint32_t thread, JsonValues* values) const {
    const ThreadStateTable& states = times_.states();
    Times begin(first_ns_);
    std::string kinds;
    const auto add = [&](uint64_t time_ns, char kind) {
      if (!kinds.empty() && kinds.back() == kind)
        return;
      begin.Add(time_ns);
      kinds += kind;
    };
    uint64_t end_ns = from_ns_;
    for (size_t i = 0; i < states.num_parts(thread); ++i) {
      const ThreadStateTable::Part part = states.PartOf(thread, i);
      if (part.end_ns < from_ns_ || part.begin_ns > to_ns_)
        continue;
      if (i == 0 && part.state == ThreadStateTable::State::kCreated &&
          part.begin_ns > from_ns_) {
        add(from_ns_, '4');
      }
      char kind = '0';
      if (ThreadStateTable::IsOver(part.state))
        kind = '4';
      else if (part.state == ThreadStateTable::State::kRunning)
        kind = '1';
      else if (ThreadStateTable::IsReady(part.state))
        kind = '2';
      else if (ThreadStateTable::IsWaiting(part.state))
        kind = '3';
      add(std::max(part.begin_ns, from_ns_), kind);
      end_ns = std::min(part.end_ns, to_ns_);
    }
    if (kinds.empty())
      return;
    if (kinds.back() != '4')
      add(end_ns, '0');
    values->Name("states");
    values->Begin(Container::kDictionary);
    begin.AddTo("begin", values);
    values->Member("kind", kinds);
    values->End();
  }

  // Returns the node of a callsite; 0, which is around all others, for none.
  // Callsites of one function are one node.
  uint64_t NodeOf(uint32_t callsite) {
    const StackSamples& samples = times_.samples();
    if (callsite == StackSamples::kNone)
      return 0;
    // A caller has a lower number.
    for (size_t i = stack_nodes_.size(); i <= callsite; ++i) {
      const StackSamples::Callsite& site = samples.callsites()[i];
      const uint64_t parent =
          site.parent == StackSamples::kNone ? 0 : stack_nodes_[site.parent];
      const size_t name =
          StringId(samples.TextOf(samples.frames()[site.frame]));
      const auto [place, is_new] = stack_node_ids_.try_emplace(
          {parent, name}, stack_node_ids_.size() + 1);
      if (is_new) {
        stack_parents_.Add(parent);
        stack_names_.Add(name);
      }
      stack_nodes_.push_back(place->second);
    }
    return stack_nodes_[callsite];
  }

  void AddEvents(const TrackEvents& events,
                 const std::string& unit,
                 JsonValues* values) {
    if (!events.instants.empty()) {
      values->Name("instants");
      AddInstants(events.instants, values);
    }
    if (!events.values.empty()) {
      values->Name("counter");
      AddCounter(events.values, unit, values);
    }
    if (!events.slices.empty()) {
      values->Name("slices");
      values->Begin(Container::kArray);
      for (const std::vector<RowSlice>& line : events.slices)
        AddSlices(line, values);
      values->End();
    }
    if (!events.lost.empty()) {
      values->Name("lost");
      AddLost(events.lost, values);
    }
  }

  void AddLost(const std::vector<LostStretch>& stretches,
               JsonValues* values) const {
    Times begin(first_ns_);
    NumberList duration;
    for (const LostStretch& lost : stretches) {
      if (lost.begin_ns > to_ns_ || lost.end_ns < from_ns_)
        continue;
      begin.Add(lost.begin_ns);
      duration.Add(lost.end_ns - lost.begin_ns);
    }
    values->Begin(Container::kDictionary);
    begin.AddTo("begin", values);
    duration.AddTo("duration", values);
    values->End();
  }

  const TimelineReader& reader_;
  const ThreadTimes& times_;
  // The stacks of samples as a tree: the numbers of their nodes, from 1 on, by
  // callsite, and by the node around them and the name.
  std::vector<uint64_t> stack_nodes_;
  std::map<std::pair<uint64_t, size_t>, uint64_t> stack_node_ids_;
  NumberList stack_parents_;
  NumberList stack_names_;
  // The beginning of the trace, and the shown range, on its clock.
  uint64_t first_ns_ = 0;
  uint64_t from_ns_;
  uint64_t to_ns_;
  std::unordered_map<std::string, size_t> string_ids_;
  std::string strings_;
  std::unordered_map<const EventText*, size_t> text_ids_;
  std::string texts_;
  // The times at which flows end, by their numbers.
  std::unordered_map<uint64_t, std::vector<uint64_t>> flow_ends_;
};

}  // namespace

std::string MakePage(const TimelineReader& reader,
                     const PageOptions& options,
                     bool is_damaged,
                     const TaskPageRows& tasks,
                     const ThreadTimes& times,
                     TrackRows* rows) {
  const Completeness completeness = CompletenessOf(reader, is_damaged);
  std::vector<std::string> notes;
  if (!completeness.is_complete())
    notes.push_back(completeness.Text());
  for (std::string& line : LostStretchesOf(reader))
    notes.push_back(std::move(line));
  for (std::string& line : OmissionsOf(reader))
    notes.push_back(std::move(line));
  Page page(reader, options, times, *rows);
  std::vector<TrackRow> all = rows->Arrange(reader.tracks());
  const uint64_t num_idle =
      AddThreadRows(times, reader.tracks(), page.from_ns(), page.to_ns(), &all);
  if (num_idle != 0) {
    notes.push_back(program::CountOf(num_idle, "thread") +
                    " without events that never ran: not shown");
  }
  tasks.AppendTo(&all);
  return FilledPage(
      kTimelinePage,
      page.Json(options.title, completeness.is_complete(), notes, all));
}

}  // namespace pztrace
