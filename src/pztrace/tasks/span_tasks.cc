// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tasks/span_tasks.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/program/text.h"
#include "src/pztrace/events/exported_tracks.h"
#include "src/pztrace/events/track_info.h"

namespace pztrace {

namespace {

// Makes the steps of the tasks.
class SpanTasks {
 public:
  SpanTasks(OtelSpans spans, const Tracks& tracks)
      : spans_(std::move(spans)), tracks_(tracks), exported_(tracks) {}

  bool is_empty() const { return spans_.size() == 0; }
  void AddTo(TaskTimeline* timeline) {
    FindPlaces();
    FindRoots();
    AddTasks();
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
      return std::tie(a.time_ns, a.kind, a.task, a.other) <
             std::tie(b.time_ns, b.kind, b.task, b.other);
    });
    timeline->set_has_unique_numbers();
    for (const Step& step : steps_)
      timeline->Add(TaskStepOf(step));
  }

 private:
  static constexpr uint32_t kNone = OtelSpans::kNone;

  struct Program {
    std::string name;
    uint64_t process;  // Its track.
  };
  // The place of a span among others.
  struct Place {
    uint32_t program;
    uint32_t parent;
    uint32_t root = kNone;  // The span that is its task.
  };
  // The steps of one moment are in this order.
  enum class Kind : uint8_t {
    kWake,
    kEnd,
    kRun,
    kRequest,
    kSpawn,
    kWait,
  };
  struct Step {
    uint64_t time_ns;
    uint32_t task;  // The span that is the task.
    // The span whose thread does that: of another task if that wakes or spawns
    // this one. Of a kWait, the client's span.
    uint32_t other;
    Kind kind;
  };
  // The time in which a task waits for those that spans of others begin.
  struct Wait {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint32_t client;  // The span.
    uint32_t child;   // The task that wakes it.
    uint64_t wake_ns;
  };
  // A task, and one that its spans have begun.
  struct Spawned {
    uint32_t parent;
    uint32_t child;
  };

  void FindPlaces() {
    std::unordered_map<uint64_t, uint32_t> by_track;
    std::unordered_map<uint32_t, uint32_t> by_process;
    places_.reserve(spans_.size());
    for (uint32_t i = 0; i < spans_.size(); ++i) {
      const uint64_t track = spans_[i].track;
      const auto [found, is_new] = by_track.try_emplace(track, 0);
      if (is_new) {
        const TrackPlace& place = exported_.Get(track).place;
        const auto [program, is_new_program] = by_process.try_emplace(
            place.process_number, static_cast<uint32_t>(programs_.size()));
        if (is_new_program)
          programs_.push_back({place.process, ProcessOf(track)});
        found->second = program->second;
      }
      places_.push_back({found->second, spans_.ParentOf(i)});
    }
  }

  // Returns the track of the process that has |track|; 0 if none has.
  uint64_t ProcessOf(uint64_t track) const {
    for (const uint64_t part : tracks_.PathTo(track)) {
      const TrackInfo info = InfoOf(part, tracks_);
      if (info.is_process)
        return part;
      if (info.is_thread)
        return info.parent;
    }
    return 0;
  }

  void FindRoots() {
    std::vector<uint32_t> path;
    for (uint32_t i = 0; i < places_.size(); ++i) {
      uint32_t at = i;
      while (places_[at].root == kNone) {
        // A span may claim to be its own ancestor: the first one that comes
        // again is the task then.
        places_[at].root = at;
        path.push_back(at);
        const uint32_t parent = places_[at].parent;
        if (parent == kNone || places_[parent].program != places_[at].program)
          break;
        at = parent;
      }
      for (; !path.empty(); path.pop_back())
        places_[path.back()].root = places_[at].root;
    }
  }

  void AddTasks() {
    std::vector<Spawned> spawned;
    for (uint32_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      if (place.root == i && place.parent != kNone)
        spawned.push_back({places_[place.parent].root, i});
    }
    std::sort(
        spawned.begin(), spawned.end(), [](const Spawned& a, const Spawned& b) {
          return std::tie(a.parent, a.child) < std::tie(b.parent, b.child);
        });
    size_t next = 0;
    for (uint32_t i = 0; i < places_.size(); ++i) {
      if (places_[i].root != i)
        continue;
      const size_t first = next;
      while (next < spawned.size() && spawned[next].parent == i)
        ++next;
      AddTask(i, WaitsOf(spawned.data() + first, next - first));
    }
  }

  std::vector<Wait> WaitsOf(const Spawned* spawned, size_t count) const {
    std::vector<Wait> all;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t child = spawned[i].child;
      const uint32_t client = places_[child].parent;
      const OtelSpans::Span& span = spans_[client];
      const OtelSpans::Span& root = spans_[places_[client].root];
      const uint64_t begin_ns = std::max(span.begin_ns, root.begin_ns);
      const uint64_t end_ns = std::min(span.end_ns, root.end_ns);
      // Clocks of programs may differ: the wake is within the client's span.
      if (span.is_client && begin_ns < end_ns) {
        all.push_back({begin_ns, end_ns, client, child,
                       std::clamp(spans_[child].end_ns, begin_ns, end_ns)});
      }
    }
    std::sort(all.begin(), all.end(), [](const Wait& a, const Wait& b) {
      return std::tie(a.begin_ns, a.child) < std::tie(b.begin_ns, b.child);
    });
    // The last one to end counts, if several overlap.
    std::vector<Wait> waits;
    for (const Wait& wait : all) {
      if (waits.empty() || wait.begin_ns >= waits.back().end_ns) {
        waits.push_back(wait);
      } else if (wait.end_ns > waits.back().end_ns) {
        const uint64_t begin_ns = waits.back().begin_ns;
        waits.back() = wait;
        waits.back().begin_ns = begin_ns;
      }
    }
    return waits;
  }

  void AddTask(uint32_t task, const std::vector<Wait>& waits) {
    const OtelSpans::Span& span = spans_[task];
    const uint32_t parent = places_[task].parent;
    if (parent != kNone) {
      AddStep(Kind::kSpawn, std::min(spans_[parent].begin_ns, span.begin_ns),
              task, places_[parent].root);
    } else {
      AddStep(Kind::kSpawn, span.begin_ns, task, task);
    }
    AddStep(Kind::kRun, span.begin_ns, task, task);
    AddStep(Kind::kRequest, span.begin_ns, task, task);
    for (const Wait& wait : waits) {
      AddStep(Kind::kWait, wait.begin_ns, task, wait.client);
      AddStep(Kind::kWake, wait.wake_ns, task, wait.child);
      if (wait.end_ns < span.end_ns)
        AddStep(Kind::kRun, wait.end_ns, task, task);
    }
    AddStep(Kind::kEnd, span.end_ns, task, task);
  }
  void AddStep(Kind kind, uint64_t time_ns, uint32_t task, uint32_t other) {
    steps_.push_back({time_ns, task, other, kind});
  }

  TaskStep TaskStepOf(const Step& from) {
    const OtelSpans::Span& span = spans_[from.task];
    const uint32_t does = from.kind == Kind::kWait ? from.task : from.other;
    TaskStep step{};
    step.time_ns = from.time_ns;
    step.thread = ThreadOf(does);
    step.process = programs_[places_[does].program].process;
    step.task = NumberOf(from.task);
    switch (from.kind) {
      case Kind::kWake:
        step.kind = TaskStep::Kind::kWake;
        break;
      case Kind::kEnd: {
        constexpr uint32_t kDone = 1;
        constexpr uint32_t kFailed = 2;
        step.kind = TaskStep::Kind::kEnd;
        step.result = span.is_failed ? kFailed : kDone;
        break;
      }
      case Kind::kRun:
        step.kind = TaskStep::Kind::kSwitch;
        step.spawned_at = SpawnedAt(from.task);
        break;
      case Kind::kRequest:
        step.kind = TaskStep::Kind::kRequest;
        request_ = program::HexOf({span.trace_id.data(), span.trace_id.size()});
        step.text = request_;
        break;
      case Kind::kSpawn:
        step.kind = TaskStep::Kind::kSpawn;
        step.spawned_at = SpawnedAt(from.task);
        step.parent = does != from.task ? NumberOf(does) : 0;
        break;
      case Kind::kWait:
        step.kind = TaskStep::Kind::kSwitch;
        step.stop = TaskStep::Stop::kWaits;
        step.task = 0;
        step.waits_at = PlaceOf(*spans_[from.other].name);
        break;
    }
    return step;
  }

  static uint64_t NumberOf(uint32_t span) { return uint64_t{span} + 1; }
  // Spans within others on a track that are no part of them have a thread of
  // their own: two tasks do not run at once.
  uint64_t ThreadOf(uint32_t span) const {
    return spans_[span].depth == 0 ? spans_[span].track
                                   : UINT64_MAX - uint64_t{span};
  }
  const TaskPlace* SpawnedAt(uint32_t task) {
    return PlaceOf(programs_[places_[task].program].name + ": " +
                   *spans_[task].name);
  }
  const TaskPlace* PlaceOf(const std::string& name) {
    TaskPlace& place = task_places_[name];
    if (place.name.empty())
      place.name = name;
    return &place;
  }

  const OtelSpans spans_;
  const Tracks& tracks_;
  ExportedTracks exported_;
  std::vector<Program> programs_;
  std::vector<Place> places_;  // By span.
  std::vector<Step> steps_;
  std::unordered_map<std::string, TaskPlace> task_places_;
  std::string request_;  // The text of the last step.
};

}  // namespace

void FinishTasks(TimelineReader* reader, TaskTimeline* timeline) {
  {
    SpanTasks tasks(reader->TakeSpans(), reader->tracks());
    if (!tasks.is_empty())
      tasks.AddTo(timeline);
  }
  timeline->Finish(reader->end_ns());
}

}  // namespace pztrace
