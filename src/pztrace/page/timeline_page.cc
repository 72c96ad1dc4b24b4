// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/page/timeline_page.h"

#include <math.h>
#include <stddef.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/program/text.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/page/embedded_page.h"

namespace pztrace {

namespace {

// A list of numbers, as JSON. A list of zeros is not written.
class NumberList {
 public:
  void Add(uint64_t number) {
    is_zero_ = is_zero_ && number == 0;
    json_ += (json_.empty() ? "" : ",") + std::to_string(number);
  }

  // Appends the list as the last member of |object|, which is not empty.
  void AppendTo(const char* name, std::string* object) const {
    if (!is_zero_)
      *object += ",\"" + std::string(name) + "\":[" + json_ + "]";
  }

  const std::string& json() const { return json_; }

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

  const std::string& json() const { return differences_.json(); }

 private:
  uint64_t last_ns_;
  NumberList differences_;
};

class Page {
 public:
  Page(const TimelineReader& reader,
       const PageOptions& options,
       TrackRows* rows)
      : reader_(reader), first_ns_(rows->is_empty() ? 0 : rows->first_ns()) {
    const uint64_t length = rows->is_empty() ? 0 : rows->last_ns() - first_ns_;
    from_ns_ = first_ns_ + std::min(options.from_ns, length);
    to_ns_ = first_ns_ + std::min(options.to_ns, length);
    StringId("");  // The empty string has the number 0.
  }

  std::string Json(const std::string& title,
                   bool is_complete,
                   const std::vector<std::string>& notes,
                   const std::vector<TrackRow>& rows) {
    for (const TrackRow& row : rows)
      AddFlowEnds(row);
    for (auto& [flow, ends] : flow_ends_)
      std::sort(ends.begin(), ends.end());
    std::string list;
    const TrackRow* last = nullptr;
    for (const TrackRow& row : rows) {
      list += list.empty() ? "\n" : ",\n";
      // Tracks that share rows have the first one's number.
      AddRow(row, last && last->track == row.track, &list);
      last = &row;
    }
    std::string json = "{\"name\":";
    program::AppendJsonString(title, &json);
    // JavaScript's numbers cannot hold these exactly.
    json += ",\"first\":\"" + std::to_string(first_ns_) + "\",\"realtime\":";
    const auto offset = reader_.realtime_offset_ns();
    json += offset ? "\"" + std::to_string(*offset) + "\"" : "null";
    json += ",\"from\":" + std::to_string(from_ns_ - first_ns_);
    json += ",\"to\":" + std::to_string(to_ns_ - first_ns_);
    json += std::string(",\"complete\":") + (is_complete ? "true" : "false");
    json += ",\n\"notes\":[";
    for (const std::string& note : notes) {
      json += &note == &notes[0] ? "" : ",";
      program::AppendJsonString(note, &json);
    }
    return json + "],\n\"strings\":[" + strings_ + "],\n\"texts\":[" + texts_ +
           "],\n\"rows\":[" + list + "]}";
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

    std::string Json() const {
      std::string json =
          "{\"begin\":[" + begin.json() + "],\"text\":[" + text.json() + "]";
      duration.AppendTo("duration", &json);
      open.AppendTo("open", &json);
      nested.AppendTo("nested", &json);
      args.AppendTo("args", &json);
      flows.AppendTo("flows", &json);
      return json + "}";
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

  std::string SlicesJson(const std::vector<RowSlice>& slices) {
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
    return events.Json();
  }

  std::string InstantsJson(const std::vector<Instant>& instants) {
    Events events(first_ns_);
    for (const Instant& instant : instants) {
      if (instant.time_ns < from_ns_ || instant.time_ns > to_ns_)
        continue;
      events.begin.Add(instant.time_ns);
      AddText(*instant.text, instant.details, instant.time_ns,
              /*is_state=*/false, &events);
    }
    return events.Json();
  }

  std::string CounterJson(const std::vector<CounterValue>& values,
                          const std::string& unit) const {
    Times times(first_ns_);
    std::string list;
    for (size_t i = 0; i < values.size() && values[i].time_ns <= to_ns_; ++i) {
      // A value lasts until the next one.
      if (i + 1 < values.size() && values[i + 1].time_ns < from_ns_)
        continue;
      times.Add(values[i].time_ns);
      list += list.empty() ? "" : ",";
      if (isfinite(values[i].value))
        program::AppendDouble(values[i].value, &list);
      else
        list += "null";
    }
    std::string json =
        "{\"time\":[" + times.json() + "],\"value\":[" + list + "],\"unit\":";
    program::AppendJsonString(unit, &json);
    return json + "}";
  }

  // |continues| if the row belongs to the tracks of the row before it.
  void AddRow(const TrackRow& row, bool continues, std::string* json) {
    const TrackInfo info = InfoOf(row.track, reader_.tracks());
    *json += "{\"label\":";
    program::AppendJsonString(row.label.empty() ? LabelOf(info) : row.label,
                              json);
    *json += ",\"level\":" + std::to_string(row.level) + ",\"kind\":\"";
    *json += !row.label.empty() ? "tasks\""
             : info.is_thread   ? "thread\""
             : info.pid != 0    ? "process\""
                                : "track\"";
    *json += continues ? ",\"continues\":true" : "";
    if (row.events && !row.events->instants.empty())
      *json += ",\"instants\":" + InstantsJson(row.events->instants);
    if (row.events && !row.events->values.empty())
      *json += ",\"counter\":" + CounterJson(row.events->values, info.unit);
    if (row.events && !row.events->slices.empty()) {
      *json += ",\"slices\":[";
      for (const std::vector<RowSlice>& line : row.events->slices)
        *json += (json->back() == '[' ? "" : ",") + SlicesJson(line);
      *json += ']';
    }
    if (row.events && !row.events->lost.empty())
      *json += ",\"lost\":" + LostJson(row.events->lost);
    *json += '}';
  }

  std::string LostJson(const std::vector<LostStretch>& stretches) const {
    Times begin(first_ns_);
    NumberList duration;
    for (const LostStretch& lost : stretches) {
      if (lost.begin_ns > to_ns_ || lost.end_ns < from_ns_)
        continue;
      begin.Add(lost.begin_ns);
      duration.Add(lost.end_ns - lost.begin_ns);
    }
    return "{\"begin\":[" + begin.json() + "],\"duration\":[" +
           duration.json() + "]}";
  }

  const TimelineReader& reader_;
  const uint64_t first_ns_;
  // The shown range, on the clock of the trace.
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
                     TrackRows* rows) {
  const Completeness completeness = CompletenessOf(reader, is_damaged);
  std::vector<std::string> notes;
  if (!completeness.is_complete())
    notes.push_back(completeness.Text());
  for (std::string& line : LostStretchesOf(reader))
    notes.push_back(std::move(line));
  for (std::string& line : OmissionsOf(reader))
    notes.push_back(std::move(line));
  std::vector<TrackRow> all = rows->Arrange(reader.tracks());
  tasks.AppendTo(&all);
  const std::string json =
      Page(reader, options, rows)
          .Json(options.title, completeness.is_complete(), notes, all);
  return FilledPage(kTimelinePage, json);
}

}  // namespace pztrace
