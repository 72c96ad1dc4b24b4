// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/thread_state_table.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

using trace::FtraceEvent;
using trace::FtraceEventBundle;
using trace::GenericKernelProcessTree;
using trace::GenericKernelTaskRenameEvent;
using trace::GenericKernelTaskStateEvent;
using trace::TracePacket;

namespace {

using KernelState = ThreadStateTable::State;

// The states by the numbers of GenericKernelTaskStateEvent.TaskStateEnum.
constexpr KernelState kStates[] = {
    KernelState::kUnknown, KernelState::kCreated,  KernelState::kWoken,
    KernelState::kRunning, KernelState::kSleeping, KernelState::kBlocked,
    KernelState::kStopped, KernelState::kDead,     KernelState::kDestroyed};

// Returns whether a thread can enter |next| from |state|. A thread runs between
// two waits, and before it is preempted again.
bool CanFollow(KernelState state, KernelState next) {
  if (state == KernelState::kUnknown || ThreadStateTable::IsOver(state) ||
      next == KernelState::kUnknown || ThreadStateTable::IsOver(next)) {
    return true;
  }
  if (next == KernelState::kCreated)
    return false;
  if (state == KernelState::kCreated)
    return next == KernelState::kWoken || next == KernelState::kRunning;
  if (state == KernelState::kRunning)
    return next != KernelState::kRunning;
  if (ThreadStateTable::IsWaiting(state))
    return next == KernelState::kWoken || next == KernelState::kRunning;
  return next == KernelState::kRunning;
}

}  // namespace

ThreadStateTable::Thread& ThreadStateTable::ThreadOf(int64_t tid) {
  const uint32_t next = num_threads();
  const uint32_t index =
      thread_indexes_.Insert(static_cast<uint64_t>(tid), next);
  if (index == next) {
    threads_.emplace_back();
    threads_.back().tid = tid;
  }
  return threads_[index];
}

void ThreadStateTable::Add(const KernelPacket& packet) {
  Sequence& sequence = sequences_[packet.sequence()];
  if (packet.num_gaps() != sequence.num_gaps) {
    sequence.num_gaps = packet.num_gaps();
    ++num_losses_;
  }
  if (packet.time_ns())
    sequence.end_ns = std::max(sequence.end_ns, *packet.time_ns());
  switch (packet.field_id()) {
    case TracePacket::kGenericKernelTaskStateEventFieldNumber:
      if (packet.time_ns())
        AddState(packet.message(), *packet.time_ns(), packet.sequence());
      return;
    case TracePacket::kFtraceEventsFieldNumber:
      if (packet.time_ns())
        AddWakings(packet.message(), *packet.time_ns(), packet.sequence());
      return;
    case TracePacket::kGenericKernelTaskRenameEventFieldNumber: {
      const GenericKernelTaskRenameEvent::Decoder rename(packet.message());
      ThreadOf(rename.tid()).name = rename.comm().ToStdString();
      return;
    }
    case TracePacket::kGenericKernelProcessTreeFieldNumber:
      return AddTree(packet.message());
    default:
      return;
  }
}

void ThreadStateTable::AddState(ConstBytes bytes,
                                uint64_t time_ns,
                                uint32_t sequence) {
  const GenericKernelTaskStateEvent::Decoder event(bytes);
  Thread& thread = ThreadOf(event.tid());
  if (event.comm().size != 0)
    thread.name = event.comm().ToStdString();
  const auto number = static_cast<uint32_t>(event.state());
  const KernelState state =
      number < std::size(kStates) ? kStates[number] : KernelState::kUnknown;
  uint32_t cpu = kNoCpu;
  if (event.has_cpu())
    cpu = std::min(static_cast<uint32_t>(event.cpu()), kNoCpu);
  AddEvent(time_ns, state, cpu, sequence, &thread);
}

// The packet has the event's time.
void ThreadStateTable::AddWakings(ConstBytes bytes,
                                  uint64_t time_ns,
                                  uint32_t sequence) {
  // Hardware and software interrupts.
  constexpr uint32_t kInterruptFlags = 8 | 16;
  const FtraceEventBundle::Decoder bundle(bytes);
  for (const auto entry : bundle.event()) {
    const FtraceEvent::Decoder event(entry);
    if (!event.has_sched_waking())
      continue;
    const trace::SchedWakingFtraceEvent::Decoder waking(event.sched_waking());
    Thread& thread = ThreadOf(waking.pid());
    AddEvent(time_ns, KernelState::kWoken,
             std::min(static_cast<uint32_t>(waking.target_cpu()), kNoCpu),
             sequence, &thread);
    thread.wakings.push_back(
        {time_ns, event.pid(), (event.common_flags() & kInterruptFlags) != 0});
  }
}

void ThreadStateTable::AddEvent(uint64_t time_ns,
                                State state,
                                uint32_t cpu,
                                uint32_t sequence,
                                Thread* added_to) {
  Thread& thread = *added_to;
  uint32_t bits =
      static_cast<uint32_t>(state) | cpu << kCpuShift |
      ((static_cast<uint32_t>(num_losses_) << kLossShift) & kLossMask);
  if (!thread.times.empty()) {
    if (thread.num_losses != num_losses_)
      bits |= kIsAfterLoss;
    if (time_ns < thread.times.back())
      thread.is_sorted = false;
  }
  thread.num_losses = num_losses_;
  thread.sequence = sequence;
  thread.times.push_back(time_ns);
  thread.events.push_back(bits);
  ++num_events_;
}

void ThreadStateTable::AddTree(ConstBytes bytes) {
  const GenericKernelProcessTree::Decoder tree(bytes);
  for (const auto entry : tree.processes()) {
    const GenericKernelProcessTree::Process::Decoder of_tree(entry);
    const std::string words = of_tree.cmdline().ToStdString();
    if (!words.empty())
      process_names_[of_tree.pid()] = words.substr(0, words.find(' '));
  }
  for (const auto entry : tree.threads()) {
    const GenericKernelProcessTree::Thread::Decoder of_tree(entry);
    Thread& thread = ThreadOf(of_tree.tid());
    thread.pid = of_tree.pid();
    if (of_tree.comm().size != 0)
      thread.name = of_tree.comm().ToStdString();
  }
}

void ThreadStateTable::Finish() {
  for (Thread& thread : threads_) {
    if (!thread.is_sorted)
      Sort(&thread);
  }
  CompareProcessors();
  for (Thread& thread : threads_) {
    Settle(&thread);
    AddUp(&thread);
  }
}

// Sorts the events by time. Those of one time stay in the order of the file.
void ThreadStateTable::Sort(Thread* thread) {
  std::vector<uint32_t> order(thread->times.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [thread](uint32_t a, uint32_t b) {
    return std::pair(thread->times[a], a) < std::pair(thread->times[b], b);
  });
  std::vector<uint64_t> times;
  std::vector<uint32_t> events;
  times.reserve(order.size());
  events.reserve(order.size());
  for (const uint32_t i : order) {
    times.push_back(thread->times[i]);
    events.push_back(thread->events[i]);
  }
  thread->times = std::move(times);
  thread->events = std::move(events);
  std::sort(thread->wakings.begin(), thread->wakings.end(),
            [](const Waking& a, const Waking& b) {
              return std::tie(a.time_ns, a.tid, a.is_in_interrupt) <
                     std::tie(b.time_ns, b.tid, b.is_in_interrupt);
            });
  thread->is_sorted = true;
}

// Tells preemptions from wakes, and makes parts unknown after which events are
// missing.
void ThreadStateTable::Settle(Thread* thread) const {
  std::vector<uint32_t>& events = thread->events;
  KernelState before = KernelState::kUnknown;
  for (size_t i = 0; i < events.size(); ++i) {
    const bool has_lost_end = (events[i] & kStateMask) == kLostEnd;
    const KernelState state =
        has_lost_end ? KernelState::kRunning : StateOf(events[i]);
    KernelState shown = state;
    if (state == KernelState::kWoken && before == KernelState::kRunning)
      shown = KernelState::kPreempted;
    before = state;
    bool is_known = i + 1 != events.size() || thread->num_losses == num_losses_;
    if (i + 1 != events.size()) {
      const uint32_t next = events[i + 1];
      is_known = (next & kIsAfterLoss) == 0 &&
                 (next & kLossMask) == (events[i] & kLossMask) &&
                 ((next & kStateMask) == kLostEnd
                      ? CanFollow(state, KernelState::kRunning)
                      : CanFollow(state, StateOf(next)));
    }
    if (!is_known || has_lost_end)
      shown = KernelState::kUnknown;
    // A thread that is woken waits for the processor on which it runs then.
    if (shown == KernelState::kWoken && i + 1 != events.size()) {
      events[i] &= (uint32_t{1} << kCpuShift) - 1;
      events[i] |= events[i + 1] >> kCpuShift << kCpuShift;
    }
    events[i] = (events[i] & ~kStateMask) | static_cast<uint32_t>(shown);
  }
}

// Marks the parts in which another thread got the processor of one that runs:
// the end of the run is lost. Goes through the runs of all threads in the order
// of time, without a list of them all.
void ThreadStateTable::CompareProcessors() {
  struct NextRun {
    uint64_t begin_ns;
    bool lasts;  // False if it ends at once: another may begin then.
    uint32_t thread;
    size_t part;
  };
  // The next run of each thread, the first of them on top.
  std::vector<NextRun> next;
  const auto is_after = [](const NextRun& a, const NextRun& b) {
    return std::tie(a.begin_ns, a.lasts, a.thread) >
           std::tie(b.begin_ns, b.lasts, b.thread);
  };
  const auto push_from = [&](uint32_t index, size_t part) {
    const Thread& thread = threads_[index];
    for (; part < thread.events.size(); ++part) {
      if (StateOf(thread.events[part]) != KernelState::kRunning ||
          thread.events[part] >> kCpuShift == kNoCpu)
        continue;
      const uint64_t begin_ns = thread.times[part];
      next.push_back({begin_ns, begin_ns != EndOf(thread, part), index, part});
      std::push_heap(next.begin(), next.end(), is_after);
      return;
    }
  };
  for (uint32_t i = 0; i < num_threads(); ++i)
    push_from(i, 0);
  struct Open {
    uint64_t end_ns = 0;
    uint32_t* event = nullptr;
  };
  std::unordered_map<uint32_t, Open> open_on;  // By processor.
  while (!next.empty()) {
    std::pop_heap(next.begin(), next.end(), is_after);
    const NextRun run = next.back();
    next.pop_back();
    Thread& thread = threads_[run.thread];
    uint32_t& event = thread.events[run.part];
    Open& open = open_on[event >> kCpuShift];
    if (run.begin_ns < open.end_ns)
      *open.event |= kLostEnd;
    const uint64_t end_ns = EndOf(thread, run.part);
    if (end_ns >= open.end_ns)
      open = {end_ns, &event};
    push_from(run.thread, run.part + 1);
  }
}

void ThreadStateTable::AddUp(Thread* thread) const {
  thread->sums.clear();
  Sums sums;
  for (size_t i = 0; i < thread->times.size(); ++i) {
    if (i % kStride == 0)
      thread->sums.push_back(sums);
    AddTo(&sums, StateOf(thread->events[i]),
          EndOf(*thread, i) - thread->times[i]);
  }
}

void ThreadStateTable::AddTo(Sums* sums, State state, uint64_t ns) {
  if (state == KernelState::kRunning)
    sums->known.ran_ns += ns;
  else if (IsReady(state))
    sums->known.ready_ns += ns;
  else if (IsWaiting(state))
    sums->known.waited_ns += ns;
  else
    sums->unknown_ns += ns;
}

uint64_t ThreadStateTable::EndOf(const Thread& thread, size_t part) const {
  if (part + 1 < thread.times.size())
    return thread.times[part + 1];
  const auto sequence = sequences_.find(thread.sequence);
  return std::max(thread.times[part], sequence->second.end_ns);
}

uint32_t ThreadStateTable::Find(const TrackInfo& track) const {
  if (!track.is_thread || track.tid == 0)
    return kNone;
  const uint32_t found = thread_indexes_.Find(static_cast<uint64_t>(track.tid));
  return found == kNone || threads_[found].times.empty() ||
                 !MayBeOf(found, track.pid)
             ? kNone
             : found;
}

uint32_t ThreadStateTable::Find(uint64_t track,
                                const TraceTracks& tracks) const {
  const std::optional<TrackInfo> info = InfoForKernel(track, tracks);
  return info ? Find(*info) : kNone;
}

std::optional<TrackInfo> ThreadStateTable::InfoForKernel(
    uint64_t track,
    const TraceTracks& tracks) {
  std::optional<TrackInfo> info = tracks.Find(track);
  if (!info)
    return std::nullopt;
  const std::optional<TrackInfo> process = tracks.Find(info->parent);
  if (process && process->outer_pid != 0 && process->outer_pid != info->pid) {
    if (info->outer_tid == 0)
      return std::nullopt;
    info->pid = process->outer_pid;
    info->tid = info->outer_tid;
  }
  return info;
}

ThreadStateTable::Part ThreadStateTable::PartOf(uint32_t thread,
                                                size_t part) const {
  const Thread& of = threads_[thread];
  const uint32_t event = of.events[part];
  return {of.times[part], EndOf(of, part), StateOf(event), event >> kCpuShift};
}

const ThreadStateTable::Waking* ThreadStateTable::WakingOf(uint32_t index,
                                                           size_t part) const {
  const Thread& thread = threads_[index];
  if (StateOf(thread.events[part]) != KernelState::kWoken)
    return nullptr;
  const uint64_t time_ns = thread.times[part];
  const auto found =
      std::lower_bound(thread.wakings.begin(), thread.wakings.end(), time_ns,
                       [](const Waking& waking, uint64_t time) {
                         return waking.time_ns < time;
                       });
  return found == thread.wakings.end() || found->time_ns != time_ns ? nullptr
                                                                    : &*found;
}

size_t ThreadStateTable::PartAt(uint32_t thread, uint64_t time_ns) const {
  const std::vector<uint64_t>& times = threads_[thread].times;
  const auto after = std::upper_bound(times.begin(), times.end(), time_ns);
  return after == times.begin()
             ? times.size()
             : static_cast<size_t>(after - times.begin()) - 1;
}

ThreadStateTable::Sums ThreadStateTable::SumsUntil(const Thread& thread,
                                                   uint64_t time_ns) const {
  const auto next =
      std::upper_bound(thread.times.begin(), thread.times.end(), time_ns);
  const auto num_begun = static_cast<size_t>(next - thread.times.begin());
  if (num_begun == 0)
    return {};
  const size_t last = num_begun - 1;
  Sums sums = thread.sums[last / kStride];
  for (size_t i = last / kStride * kStride; i < last; ++i) {
    AddTo(&sums, StateOf(thread.events[i]),
          thread.times[i + 1] - thread.times[i]);
  }
  AddTo(&sums, StateOf(thread.events[last]),
        std::min(time_ns, EndOf(thread, last)) - thread.times[last]);
  return sums;
}

std::optional<TimeDivision> ThreadStateTable::Divide(uint32_t thread,
                                                     uint64_t begin_ns,
                                                     uint64_t end_ns) const {
  if (thread == kNone)
    return std::nullopt;
  const Thread& of = threads_[thread];
  if (of.times.empty() || begin_ns < of.times.front() || begin_ns > end_ns ||
      end_ns > EndOf(of, of.times.size() - 1)) {
    return std::nullopt;
  }
  const Sums before = SumsUntil(of, begin_ns);
  const Sums until = SumsUntil(of, end_ns);
  const KernelState state = StateOf(of.events[PartAt(thread, begin_ns)]);
  const bool is_moment_unknown =
      begin_ns == end_ns && (state == KernelState::kUnknown || IsOver(state));
  if (until.unknown_ns != before.unknown_ns || is_moment_unknown)
    return std::nullopt;
  return TimeDivision{until.known.ran_ns - before.known.ran_ns,
                      until.known.ready_ns - before.known.ready_ns,
                      until.known.waited_ns - before.known.waited_ns};
}

std::vector<ThreadStateTable::Run> ThreadStateTable::RunsOn(
    uint32_t cpu,
    uint64_t begin_ns,
    uint64_t end_ns) const {
  std::vector<Run> runs;
  for (uint32_t i = 0; i < num_threads(); ++i) {
    const Thread& thread = threads_[i];
    uint64_t ns = 0;
    size_t part = PartAt(i, begin_ns);
    if (part == thread.times.size())
      part = 0;
    for (; part < thread.times.size() && thread.times[part] < end_ns; ++part) {
      if (StateOf(thread.events[part]) != KernelState::kRunning ||
          thread.events[part] >> kCpuShift != cpu) {
        continue;
      }
      const uint64_t from = std::max(begin_ns, thread.times[part]);
      const uint64_t to = std::min(end_ns, EndOf(thread, part));
      ns += to > from ? to - from : 0;
    }
    if (ns != 0)
      runs.push_back({i, ns});
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::pair(b.ns, a.thread) < std::pair(a.ns, b.thread);
  });
  return runs;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
