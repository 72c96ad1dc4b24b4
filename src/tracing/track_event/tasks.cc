// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/track_event/tasks.h"

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <new>
#include <string_view>

#include "protozero/tracing/task.h"
#include "src/tracing/track_event/registry.h"
#include "src/tracing/track_event/task_numbers.h"
#include "src/tracing/track_event/task_run_ids.h"
#include "src/tracing/track_event/thread_tasks.h"

#include "protozero/internal/macros.h"

// The steps of tasks. A switch to a task that the sequence knows is
//
//   68 02 | 5a size | 48 05  50 iid | 40 time
//
// that is 10 bytes, or 11 if the last one is more than 127 ns ago.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

using trace::InternedData;
using trace::TaskEvent;
using trace::TracePacket;
using trace::TrackDescriptor;
using trace::TrackEvent;

TraceSite g_task_site(TrackEvent::TYPE_STATE, "task", "task");

namespace {

std::atomic<uint32_t> g_times_without_tasks{0};

// The step that is written, as far as it is not a switch to a known task.
struct Step {
  uint32_t name_iid = 0;
  // The place that the step refers to; null for none.
  const TaskSite* site = nullptr;
  uint64_t site_iid = 0;
  // The task that the thread runs from now on, for a switch.
  uint64_t next = 0;
  bool is_switch = false;
};

// Counts the times in which no session records tasks. After one, it is unknown
// which task a thread runs.
void CountTimeWithoutTasks() {
  if ((g_task_site.enabled.load(std::memory_order_relaxed) & ~kNewSite) == 0)
    g_times_without_tasks.fetch_add(1, std::memory_order_release);
}

PROTOZERO_COLD bool PrepareForTasks() {
  DescribeTaskEvents();
  const RegistryLock lock;
  if (lock.is_held())
    CallAfterUpdates(&CountTimeWithoutTasks);
  return true;
}

PROTOZERO_COLD TraceSequence* AddTaskSequence(TraceContext& context) {
  TraceSequence* const sequence = AddSequenceOfKind(context);
  if (sequence == nullptr)
    return nullptr;
  sequence->kind.reset(new (std::nothrow) TaskRuns());
  if (sequence->kind != nullptr)
    return sequence;
  CountEventWithoutMemory();
  context.set_state(nullptr);
  return nullptr;
}

PROTOZERO_COLD TraceThread* CreateThreadTasks() {
  static const bool is_prepared = PrepareForTasks();
  static_cast<void>(is_prepared);
  if (t_trace_thread == nullptr && CreateTraceThread() == nullptr)
    return nullptr;
  TraceThread* const thread = t_trace_thread;
  thread->tasks.reset(new (std::nothrow) ThreadTasks(TrackEventDataSource()));
  if (thread->tasks == nullptr) {
    CountEventWithoutMemory();
    return nullptr;
  }
  return thread;
}

TraceThread* ThreadWithTasks() {
  TraceThread* thread = t_trace_thread;
  if (PROTOZERO_UNLIKELY(thread == nullptr || thread->tasks == nullptr))
    thread = CreateThreadTasks();
  return thread;
}

// Returns the sessions that record tasks, and forgets which task the thread
// runs if there was a time without any since its last step.
//
// Such a time is counted after the sessions are gone and before the next ones
// come. The count that stands for |running| is therefore one from before the
// sessions are read: if they end at any moment from there on, the next step
// finds another count. A count that changes while they are read may belong to a
// switch that was not recorded.
SessionMask SessionsOf(ThreadTasks& tasks) {
  const uint32_t times = g_times_without_tasks.load(std::memory_order_acquire);
  const SessionMask sessions = g_task_site.Sessions();
  if (tasks.times_without_tasks != times ||
      g_times_without_tasks.load(std::memory_order_relaxed) != times) {
    tasks.times_without_tasks = times;
    tasks.running = 0;
  }
  return sessions;
}

// Writes what the reader does not know of a place.
void InternSite(TraceSequence& sequence,
                InternedData* data,
                uint64_t iid,
                const TaskSite& site) {
  if (!sequence.sites.Add(iid))
    return;
  auto* const message = data->add_task_sites();
  message->set_iid(iid);
  message->set_name(std::string_view(site.name));
  message->set_file(std::string_view(site.file));
  message->set_line(site.line);
}

// Gives an id to a task that the reader does not know.
uint32_t InternRun(TraceSequence& sequence, InternedData* data, uint64_t task) {
  const uint32_t iid = RunIdsOf(sequence).Add(task);
  const RegisteredTaskSite& site = TaskSiteOf(task);
  if (site.site != nullptr)
    InternSite(sequence, data, task >> kTaskSiteShift, *site.site);
  AppendFields(
      data,
      InternedData::kEventNames(FieldList(
          trace::EventName::kIid(uint64_t{iid}),
          trace::EventName::kName(site.site != nullptr ? site.name : "task"))),
      InternedData::kTaskRuns(
          FieldList(trace::TaskRun::kIid(uint64_t{iid}),
                    trace::TaskRun::kTask(NumberInTrace(task)),
                    trace::TaskRun::kSiteIid(task >> kTaskSiteShift))));
  return iid;
}

// Returns a text that was made at run time, as the session may have it.
std::string_view DynamicText(const TraceSequence& sequence,
                             std::string_view text) {
  return sequence.filters_dynamic_names && !text.empty() ? "FILTERED" : text;
}

// Writes a step to all sessions. |fill| gets its event, and the sequence.
template <typename Fill>
PROTOZERO_NOINLINE void WriteToAll(const Step& step, Fill fill) {
  TraceThread* const thread =
      g_task_site.Sessions() != 0 ? ThreadWithTasks() : nullptr;
  if (thread == nullptr)
    return;
  ThreadTasks& tasks = *TasksOf(thread);
  const SessionMask sessions = SessionsOf(tasks);
  if (sessions == 0)
    return;
  tasks.thread_uuid = ThreadUuid();
  ForEachSequenceOf(
      thread, &tasks.writers, &tasks.ready_writer, &AddTaskSequence, sessions,
      {}, [&](TraceContext& context, TraceSequence& sequence, uint64_t now) {
        auto packet = context.NewTracePacket<TracePacket>();
        packet->set_timestamp(sequence.TakeDelta(now));
        packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
        uint64_t iid =
            step.next != 0 ? RunIdsOf(sequence).Find(step.next) : step.name_iid;
        const bool is_new_run = step.next != 0 && iid == 0;
        const bool is_new_site =
            step.site != nullptr && !sequence.sites.Has(step.site_iid);
        if (is_new_run || is_new_site) {
          InternedData* const data = packet->set_interned_data();
          if (is_new_run)
            iid = InternRun(sequence, data, step.next);
          if (is_new_site)
            InternSite(sequence, data, step.site_iid, *step.site);
        }
        TrackEvent* const event = packet->set_track_event();
        event->set_type(step.is_switch ? TrackEvent::TYPE_STATE
                                       : TrackEvent::TYPE_INSTANT);
        if (!step.is_switch)
          event->set_track_uuid(tasks.thread_uuid);
        if (iid != 0)
          event->set_name_iid(iid);
        fill(event, sequence);
      });
  if (step.is_switch)
    tasks.running = step.next;
}

// Tries to write a step in place, after |values|. |knows| says whether the
// reader knows what |make| refers to. Returns false if it has to be written in
// another way.
template <typename Knows, typename Make, typename... Values>
PROTOZERO_ALWAYS_INLINE bool TryWriteStep(Knows knows,
                                          Make make,
                                          const Values&... values) {
  TraceThread* const thread = t_trace_thread;
  ThreadTasks* const tasks_of_thread = TasksOf(thread);
  if (PROTOZERO_UNLIKELY(tasks_of_thread == nullptr))
    return false;
  ThreadTasks& tasks = *tasks_of_thread;
  // Nothing here is read from the site, so the load acquires nothing.
  return PROTOZERO_LIKELY(
      tasks.ready_writer.TryWrite(
          tasks.writers, &thread->clock,
          g_task_site.enabled.load(std::memory_order_relaxed), knows,
          kNeedsState, values..., MakeLazy([&]() PROTOZERO_INLINE_LAMBDA {
            return TracePacket::kTrackEvent(make(tasks));
          })) != 0);
}

// Tries to write an instant on the thread's own track.
template <typename Knows, typename Make>
PROTOZERO_ALWAYS_INLINE bool TryWriteInstant(uint32_t name_iid,
                                             Knows knows,
                                             Make make) {
  return TryWriteStep(
      knows, [&](const ThreadTasks& tasks) PROTOZERO_INLINE_LAMBDA {
        return FieldList(TrackEvent::kType(TrackEvent::TYPE_INSTANT),
                         TrackEvent::kTrackUuid(tasks.thread_uuid),
                         TrackEvent::kNameIid(uint64_t{name_iid}),
                         TrackEvent::kTask(make()));
      });
}

// Tries to write the switch to a task that the reader does not know, as most
// switches to short tasks are.
template <typename Knows, typename... Values>
PROTOZERO_NOINLINE bool TryWriteFirstSwitch(uint64_t next,
                                            Knows knows,
                                            Values... values) {
  const RegisteredTaskSite& site = TaskSiteOf(next);
  if (PROTOZERO_UNLIKELY(site.site == nullptr))
    return false;
  NewRun run = {nullptr, next, site.name};
  return TryWriteStep(
      [&](const TraceSequence& sequence) PROTOZERO_INLINE_LAMBDA {
        run.ids = &RunIdsOf(sequence);
        return run.ids->Find(next) == 0 &&
               sequence.sites.Has(next >> kTaskSiteShift) && knows(sequence);
      },
      [&](const ThreadTasks&) PROTOZERO_INLINE_LAMBDA {
        return FieldList(TrackEvent::kType(TrackEvent::TYPE_STATE),
                         TrackEvent::kNameIid(uint64_t{run.ids->next_iid()}),
                         values...);
      },
      MakeLazy([&]() PROTOZERO_INLINE_LAMBDA { return run; }));
}

// Tries to write a switch, with the fields of its TaskEvent if there are any.
template <typename Knows, typename... Values>
PROTOZERO_ALWAYS_INLINE bool TryWriteSwitch(uint64_t next,
                                            Knows knows,
                                            Values... values) {
  bool is_done;
  if (next == 0) {
    is_done =
        TryWriteStep(knows, [&](const ThreadTasks&) PROTOZERO_INLINE_LAMBDA {
          return FieldList(TrackEvent::kType(TrackEvent::TYPE_STATE),
                           values...);
        });
  } else {
    uint64_t iid = 0;
    is_done = TryWriteStep(
        [&](const TraceSequence& sequence) PROTOZERO_INLINE_LAMBDA {
          iid = RunIdsOf(sequence).Find(next);
          return iid != 0 && knows(sequence);
        },
        [&](const ThreadTasks&) PROTOZERO_INLINE_LAMBDA {
          return FieldList(TrackEvent::kType(TrackEvent::TYPE_STATE),
                           TrackEvent::kNameIid(iid), values...);
        });
    if (PROTOZERO_UNLIKELY(!is_done))
      is_done = TryWriteFirstSwitch(next, knows, values...);
  }
  // If the step is lost, too: the next sequence says which task goes on.
  if (PROTOZERO_LIKELY(is_done))
    TasksOf(t_trace_thread)->running = next;
  return is_done;
}

constexpr auto kKnowsAll = [](const TraceSequence&) { return true; };

TaskEvent::Result ResultInTrace(TaskResult result) {
  return static_cast<TaskEvent::Result>(result);
}

Step SwitchStep(uint64_t next) {
  Step step;
  step.next = next;
  step.is_switch = true;
  return step;
}

void WriteSpawn(uint64_t task,
                TaskSite* site,
                std::string_view name,
                const uint64_t* parent,
                bool waits) {
  const uint64_t site_iid = task >> kTaskSiteShift;
  const auto try_write = [&](auto... values) PROTOZERO_INLINE_LAMBDA {
    return TryWriteInstant(
        TaskRunIds::kSpawn,
        [&](const TraceSequence& sequence)
            PROTOZERO_INLINE_LAMBDA { return sequence.sites.Has(site_iid); },
        [&]() PROTOZERO_INLINE_LAMBDA {
          return FieldList(TaskEvent::kSpawned(NumberInTrace(task)),
                           TaskEvent::kSiteIid(site_iid), values...);
        });
  };
  if (PROTOZERO_LIKELY(name.empty()) &&
      PROTOZERO_LIKELY(waits ? try_write(TaskEvent::kWaitSiteIid(site_iid))
                       : parent == nullptr ? try_write()
                                           : try_write(TaskEvent::kParent(
                                                 NumberInTrace(*parent))))) {
    return;
  }
  Step step;
  step.name_iid = TaskRunIds::kSpawn;
  step.site = site_iid != 0 ? site : nullptr;
  step.site_iid = site_iid;
  WriteToAll(step, [&](TrackEvent* event, const TraceSequence& sequence) {
    TaskEvent* const message = event->set_task();
    message->set_spawned(NumberInTrace(task));
    message->set_site_iid(site_iid);
    if (!name.empty())
      message->set_name(DynamicText(sequence, name));
    else if (site_iid == 0)
      message->set_name(std::string_view(site->name));
    if (parent != nullptr)
      message->set_parent(NumberInTrace(*parent));
    if (waits)
      message->set_wait_site_iid(site_iid);
  });
}

uint64_t TaskTrackUuid(uint64_t thread_uuid) {
  return Track("tasks", thread_uuid).uuid();
}

}  // namespace

uint64_t TaskRuns::Begin(InternedData* data, uint64_t thread_uuid) {
  ids = TaskRunIds();
  const auto add = [data](uint64_t iid, std::string_view name) {
    AppendFields(
        data, InternedData::kEventNames(FieldList(
                  trace::EventName::kIid(iid), trace::EventName::kName(name))));
  };
  add(TaskRunIds::kSpawn, "spawn");
  add(TaskRunIds::kWake, "wake");
  add(TaskRunIds::kEnd, "end");
  add(TaskRunIds::kRequest, "request");
  return TaskTrackUuid(thread_uuid);
}

void TaskRuns::WriteBeginning(TraceContext& context,
                              TraceSequence& sequence,
                              uint64_t thread_uuid) {
  {
    auto packet = context.NewTracePacket<TracePacket>();
    packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    packet->set_timestamp(0);
    TrackDescriptor* const track = packet->set_track_descriptor();
    track->set_uuid(TaskTrackUuid(thread_uuid));
    track->set_parent_uuid(thread_uuid);
    track->set_name("tasks");
    track->set_state();
  }
  const uint64_t running = TasksOf(t_trace_thread)->running;
  if (running == 0 || sequence.HasLost(context))
    return;
  // The reader may know only what follows.
  auto packet = context.NewTracePacket<TracePacket>();
  packet->set_timestamp(0);
  packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  const uint64_t iid =
      InternRun(sequence, packet->set_interned_data(), running);
  TrackEvent* const event = packet->set_track_event();
  event->set_type(TrackEvent::TYPE_STATE);
  event->set_name_iid(iid);
}

uint64_t RunningTask() noexcept {
  const ThreadTasks* const tasks = TasksOf(t_trace_thread);
  return tasks != nullptr && g_task_site.Sessions() != 0 &&
                 tasks->times_without_tasks ==
                     g_times_without_tasks.load(std::memory_order_relaxed)
             ? tasks->running
             : 0;
}

void WriteTaskSwitch(uint64_t next) noexcept {
  if (!TryWriteSwitch(next, kKnowsAll))
    WriteToAll(SwitchStep(next), [](TrackEvent*, const TraceSequence&) {});
}

void WriteTaskSwitch(uint64_t next, TaskSite& waits_at) noexcept {
  const uint64_t iid = TaskSiteId(&waits_at);
  if (TryWriteSwitch(
          next,
          [iid](const TraceSequence& sequence)
              PROTOZERO_INLINE_LAMBDA { return sequence.sites.Has(iid); },
          TrackEvent::kTask(FieldList(TaskEvent::kWaitSiteIid(iid))))) {
    return;
  }
  Step step = SwitchStep(next);
  step.site = &waits_at;
  step.site_iid = iid;
  WriteToAll(step, [iid](TrackEvent* event, const TraceSequence&) {
    event->set_task()->set_wait_site_iid(iid);
  });
}

void WriteTaskSwitch(uint64_t next, TaskResult result) noexcept {
  if (TryWriteSwitch(next, kKnowsAll,
                     TrackEvent::kTask(FieldList(
                         TaskEvent::kResult(ResultInTrace(result)))))) {
    return;
  }
  WriteToAll(SwitchStep(next),
             [result](TrackEvent* event, const TraceSequence&) {
               event->set_task()->set_result(ResultInTrace(result));
             });
}

void WriteTaskWake(uint64_t task) noexcept {
  if (task == 0 ||
      TryWriteInstant(
          TaskRunIds::kWake, kKnowsAll, [&]() PROTOZERO_INLINE_LAMBDA {
            return FieldList(TaskEvent::kWoken(NumberInTrace(task)));
          })) {
    return;
  }
  Step step;
  step.name_iid = TaskRunIds::kWake;
  WriteToAll(step, [task](TrackEvent* event, const TraceSequence&) {
    event->set_task()->set_woken(NumberInTrace(task));
  });
}

void WriteTaskEnd(uint64_t task, TaskResult result) noexcept {
  if (task == 0 ||
      TryWriteInstant(
          TaskRunIds::kEnd, kKnowsAll, [&]() PROTOZERO_INLINE_LAMBDA {
            return FieldList(TaskEvent::kEnded(NumberInTrace(task)),
                             TaskEvent::kResult(ResultInTrace(result)));
          })) {
    return;
  }
  Step step;
  step.name_iid = TaskRunIds::kEnd;
  WriteToAll(step, [task, result](TrackEvent* event, const TraceSequence&) {
    TaskEvent* const message = event->set_task();
    message->set_ended(NumberInTrace(task));
    message->set_result(ResultInTrace(result));
  });
}

void WriteTaskRequest(std::string_view request) noexcept {
  Step step;
  step.name_iid = TaskRunIds::kRequest;
  WriteToAll(step, [request](TrackEvent* event, const TraceSequence& sequence) {
    event->set_task()->set_request(DynamicText(sequence, request));
  });
}

uint32_t NextAsyncId() noexcept {
  return static_cast<uint32_t>(TakeTaskNumber());
}

}  // namespace internal

Task Task::SpawnAs(TaskSite& site,
                   std::string_view name,
                   const uint64_t* parent,
                   bool waits) noexcept {
  const uint64_t task = uint64_t{internal::TaskSiteId(&site)}
                            << internal::kTaskSiteShift |
                        internal::TakeTaskNumber();
  if (PROTOZERO_UNLIKELY(internal::AreTasksTraced()))
    internal::WriteSpawn(task, &site, name, parent, waits);
  return Task(task);
}

Task Task::Spawn(TaskSite& site, std::string_view name) noexcept {
  return SpawnAs(site, name, nullptr, false);
}

Task Task::SpawnWaiting(TaskSite& site, std::string_view name) noexcept {
  return SpawnAs(site, name, nullptr, true);
}

Task Task::SpawnFrom(Task parent,
                     TaskSite& site,
                     std::string_view name) noexcept {
  return SpawnAs(site, name, &parent.number_, false);
}

PROTOZERO_ABI_END
}  // namespace protozero
