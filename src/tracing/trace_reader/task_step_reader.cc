// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/task_step_reader.h"

#include <memory>
#include <optional>
#include <utility>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/trace_reader/sequence_state.h"
#include "src/tracing/trace_reader/task_sequence.h"
#include "src/tracing/trace_reader/text_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

using trace::InternedData;
using trace::TaskEvent;
using trace::TrackEvent;

namespace {

TaskSequence& TasksOf(SequenceState* sequence) {
  if (sequence->tasks == nullptr)
    sequence->tasks = std::make_unique<TaskSequence>();
  return *sequence->tasks;
}

// Puts |value| into a free place of |places|. Returns its index.
template <typename Value>
uint32_t Put(Value value,
             std::vector<Value>* places,
             std::vector<uint32_t>* free) {
  if (free->empty()) {
    places->push_back(std::move(value));
    return static_cast<uint32_t>(places->size() - 1);
  }
  const uint32_t index = free->back();
  free->pop_back();
  (*places)[index] = std::move(value);
  return index;
}

}  // namespace

// The fields of an event that make it a step.
struct TaskStepReader::Fields {
  uint32_t type = 0;
  uint64_t track_uuid = 0;
  uint64_t name_iid = 0;
  bool has_track = false;
  bool has_name = false;  // A name that is not interned.
  bool has_task = false;
  ConstBytes task;  // A TaskEvent.
};

uint32_t TaskStepReader::InternPlace(ConstBytes task_site) {
  const trace::TaskSite::Decoder site(task_site);
  const std::string_view name = CutText(site.name().ToStdStringView());
  const std::string_view file = CutText(site.file().ToStdStringView());
  const auto known = place_indexes_.find({name, file, site.line()});
  if (known != place_indexes_.end())
    return known->second;
  if (places_.size() == kMaxPlaces)
    return IdMap::kNone;
  const auto index = static_cast<uint32_t>(places_.size());
  places_.push_back({std::string(name), std::string(file), site.line()});
  const TaskPlace& place = places_.back();
  place_indexes_.emplace(
      std::make_tuple(std::string_view(place.name),
                      std::string_view(place.file), place.line),
      index);
  return index;
}

void TaskStepReader::AddInterned(ConstBytes interned_data,
                                 SequenceState* sequence) {
  ProtoDecoder decoder(interned_data);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    if (field.id() == InternedData::kTaskSitesFieldNumber) {
      TaskSequence& tasks = TasksOf(sequence);
      const uint64_t iid = trace::TaskSite::Decoder(field.as_bytes()).iid();
      if (iid == 0 || tasks.num_places_ == TaskSequence::kMaxPlaces ||
          tasks.places_.Find(iid) != IdMap::kNone) {
        continue;
      }
      const uint32_t place = InternPlace(field.as_bytes());
      if (place == IdMap::kNone)
        continue;
      tasks.places_.Insert(iid, place);
      ++tasks.num_places_;
    } else if (field.id() == InternedData::kTaskRunsFieldNumber) {
      TaskSequence& tasks = TasksOf(sequence);
      const trace::TaskRun::Decoder run(field.as_bytes());
      const auto next = static_cast<uint32_t>(tasks.runs_.size());
      if (run.task() != 0 && next != TaskSequence::kMaxRuns &&
          tasks.run_indexes_.Insert(run.iid(), next) == next) {
        tasks.runs_.push_back({run.task(), run.site_iid()});
      }
    }
  }
}

TaskStepReader::Fields TaskStepReader::ReadFields(ConstBytes event) {
  Fields fields;
  ProtoDecoder decoder(event);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    switch (field.id()) {
      case TrackEvent::kTypeFieldNumber:
        fields.type = field.as_uint32();
        break;
      case TrackEvent::kTrackUuidFieldNumber:
        fields.track_uuid = field.as_uint64();
        fields.has_track = true;
        break;
      case TrackEvent::kNameIidFieldNumber:
        fields.name_iid = field.as_uint64();
        break;
      case TrackEvent::kNameFieldNumber:
        fields.has_name = true;
        break;
      case TrackEvent::kTaskFieldNumber:
        fields.task = field.as_bytes();
        fields.has_task = true;
        break;
      default:
        break;
    }
  }
  return fields;
}

TaskSequence* TaskStepReader::FindThread(SequenceState* sequence) {
  const TrackIndex row = sequence->OwnTrack(&tracks_);
  if (sequence->tasks != nullptr && sequence->tasks->row_ == row)
    return sequence->tasks.get();
  const std::optional<TrackInfo> info = tracks_.Find(tracks_.uuid(row));
  if (!info || info->name != "tasks" || info->parent == 0)
    return nullptr;
  const std::optional<TrackInfo> parent = tracks_.Find(info->parent);
  if (!parent || !parent->is_thread)
    return nullptr;
  TaskSequence& tasks = TasksOf(sequence);
  const auto next = static_cast<uint32_t>(threads_.size());
  tasks.row_ = row;
  tasks.thread_ =
      thread_indexes_.Insert(tracks_.IndexOfNumber(info->parent), next);
  if (tasks.thread_ == next) {
    threads_.emplace_back();
    threads_.back().uuid = info->parent;
  }
  tasks.source_ = ++num_sources_;
  tasks.knows_running_ = false;
  return &tasks;
}

bool TaskStepReader::ReadSwitch(const Fields& fields,
                                const TaskSequence& sequence,
                                Step* step) const {
  step->kind = TaskStep::Kind::kSwitch;
  if (fields.has_name)
    return false;
  if (fields.name_iid != 0) {
    const uint32_t run = sequence.run_indexes_.Find(fields.name_iid);
    if (run == IdMap::kNone)
      return false;
    step->task = sequence.runs_[run].task;
    step->spawned_at = sequence.places_.Find(sequence.runs_[run].site_iid);
  }
  const TaskEvent::Decoder task(fields.task);
  if (task.has_result()) {
    step->stop = TaskStep::Stop::kEnds;
    step->result = static_cast<uint32_t>(task.result());
  } else if (task.has_wait_site_iid()) {
    step->stop = TaskStep::Stop::kWaits;
    step->waits_at = sequence.places_.Find(task.wait_site_iid());
  }
  return true;
}

bool TaskStepReader::ReadOther(const Fields& fields,
                               const TaskSequence& sequence,
                               Step* step) {
  const TaskEvent::Decoder task(fields.task);
  if (task.has_request()) {
    step->kind = TaskStep::Kind::kRequest;
    step->text = KeepText(task.request().ToStdStringView());
    return true;
  }
  if (task.spawned() != 0) {
    step->kind = TaskStep::Kind::kSpawn;
    step->task = task.spawned();
    step->spawned_at = sequence.places_.Find(task.site_iid());
    step->has_parent = task.has_parent();
    step->parent = task.parent();
    step->text = KeepText(task.name().ToStdStringView());
    if (task.has_wait_site_iid()) {
      step->stop = TaskStep::Stop::kWaits;
      step->waits_at = sequence.places_.Find(task.wait_site_iid());
    }
  } else if (task.woken() != 0) {
    step->kind = TaskStep::Kind::kWake;
    step->task = task.woken();
  } else {
    step->kind = TaskStep::Kind::kEnd;
    step->task = task.ended();
    step->result = static_cast<uint32_t>(task.result());
  }
  return step->task != 0;
}

void TaskStepReader::Read(ConstBytes event,
                          uint64_t time_ns,
                          SequenceState* sequence) {
  const Fields fields = ReadFields(event);
  const bool is_switch = fields.type == TrackEvent::TYPE_STATE;
  if (!is_switch &&
      (fields.type != TrackEvent::TYPE_INSTANT || !fields.has_task)) {
    return;
  }
  TaskSequence* const tasks = FindThread(sequence);
  if (tasks == nullptr) {
    sequence->lacks_steps = true;
    return;
  }
  const uint64_t track =
      is_switch ? tracks_.uuid(tasks->row_) : threads_[tasks->thread_].uuid;
  if ((!is_switch || fields.has_track) &&
      tracks_.NumberOf(fields.track_uuid) != track) {
    return;
  }

  Step step;
  if (is_switch ? !ReadSwitch(fields, *tasks, &step)
                : !ReadOther(fields, *tasks, &step)) {
    sequence->lacks_steps = true;
    return;
  }
  if (std::exchange(tasks->is_restarted_, false) && tasks->knows_running_ &&
      !sequence->lacks_steps) {
    const bool is_repeated =
        is_switch && !fields.has_task && step.task == tasks->running_;
    // The user has got this step before.
    if (is_repeated && step.task != 0)
      return;
    // Another session began without a task.
    sequence->lacks_steps = tasks->running_ != 0 && !is_repeated;
  }
  if (std::exchange(sequence->lacks_steps, false)) {
    AddLoss(time_ns, *tasks);
    tasks->knows_running_ = false;
  }
  if (is_switch) {
    tasks->running_ = step.task;
    tasks->knows_running_ = true;
  }
  Add(step, time_ns, *tasks);
}

void TaskStepReader::FinishSequence(uint64_t end_ns, SequenceState* sequence) {
  if (sequence->tasks != nullptr && sequence->tasks->source_ != 0 &&
      std::exchange(sequence->lacks_steps, false)) {
    AddLoss(end_ns, *sequence->tasks);
  }
}

uint32_t TaskStepReader::KeepText(std::string_view text) {
  if (text.empty())
    return IdMap::kNone;
  text = CutText(text);
  num_text_bytes_ += text.size();
  return Put(std::string(text), &texts_, &free_texts_);
}

void TaskStepReader::AddLoss(uint64_t time_ns, const TaskSequence& sequence) {
  Step step;
  step.kind = TaskStep::Kind::kLoss;
  Add(step, time_ns, sequence);
}

void TaskStepReader::Add(const Step& step,
                         uint64_t time_ns,
                         const TaskSequence& sequence) {
  TimedEvent event = {};
  event.time_ns = time_ns;
  event.track = sequence.thread_;
  event.text = Put(step, &steps_, &free_steps_);
  steps_[event.text].source = sequence.source_;
  order_.Add(event);
  if (num_text_bytes_ > kMaxTextBytes && step.text != IdMap::kNone)
    order_.Release();
}

void TaskStepReader::OnEvent(const TimedEvent& event) {
  const Step step = steps_[event.text];
  free_steps_.push_back(event.text);
  Thread& thread = threads_[event.track];
  // A step that came too late is lost.
  if (event.time_ns < thread.last_ns) {
    thread.source = 0;
  } else {
    thread.last_ns = event.time_ns;
    const bool is_loss = step.kind == TaskStep::Kind::kLoss;
    if (is_loss || (thread.has_begun && thread.source != step.source))
      GiveLoss(event.time_ns, &thread);
    thread.has_begun = true;
    thread.source = step.source;
    if (!is_loss)
      Give(step, event.time_ns, &thread);
  }
  if (step.text != IdMap::kNone) {
    num_text_bytes_ -= texts_[step.text].size();
    std::string().swap(texts_[step.text]);
    free_texts_.push_back(step.text);
  }
}

void TaskStepReader::GiveLoss(uint64_t time_ns, Thread* thread) {
  // Two sequences may have lost steps at the same place.
  if (thread->is_behind_loss)
    return;
  Step loss;
  loss.kind = TaskStep::Kind::kLoss;
  Give(loss, time_ns, thread);
}

void TaskStepReader::Give(const Step& step, uint64_t time_ns, Thread* thread) {
  thread->is_behind_loss = step.kind == TaskStep::Kind::kLoss;
  if (thread->version != tracks_.version()) {
    thread->version = tracks_.version();
    const std::optional<TrackInfo> info = tracks_.Find(thread->uuid);
    thread->process = info ? info->parent : 0;
  }
  TaskStep result;
  result.kind = step.kind;
  result.stop = step.stop;
  result.result = step.result;
  result.thread = thread->uuid;
  result.process = thread->process;
  result.time_ns = time_ns;
  result.task = step.task;
  if (step.has_parent)
    result.parent = step.parent;
  result.spawned_at = PlaceAt(step.spawned_at);
  result.waits_at = PlaceAt(step.waits_at);
  if (step.text != IdMap::kNone)
    result.text = texts_[step.text];
  callbacks_.on_task_step(result);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
