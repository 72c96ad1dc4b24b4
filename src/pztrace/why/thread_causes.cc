// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/why/thread_causes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "protozero/tracing/trace.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

namespace {

using ThreadPart = ThreadStateTable::Part;
using ThreadState = ThreadStateTable::State;

// A stack that is sampled as a thread leaves its processor may have a time just
// before that.
constexpr uint64_t kStackLeadNs = 100000;
// The most times without a processor whose neighbours are searched, and the
// most waits whose slices are.
constexpr size_t kMaxSearched = 1000;
// Less running time without samples says nothing: a sample may be late.
constexpr uint64_t kMinUnsampled = 5;

// A time in which a thread waits, and the part of all its states.
struct FoundWait {
  ThreadPart clipped;
  size_t part;
};

// Returns the stack with which a wait began, or else one near that.
std::vector<std::string> StackOfWait(const StackSamples& samples,
                                     int64_t tid,
                                     const ThreadPart& part) {
  const auto [first_leaving, end_leaving] =
      samples.Find(tid, part.begin_ns, part.begin_ns + 1);
  for (size_t i = first_leaving; i < end_leaving; ++i) {
    const StackSamples::Sample& sample = samples.samples()[i];
    if (samples.CounterOf(sample).is_of_waits)
      return samples.StackOf(sample.callsite, ThreadCauses::kMaxFrames);
  }
  const auto [first, end] = samples.Find(
      tid, part.begin_ns - std::min(part.begin_ns, kStackLeadNs), part.end_ns);
  // The last one before it, or else the first one in it.
  std::optional<size_t> found;
  for (size_t i = first; i < end; ++i) {
    if (!samples.CounterOf(samples.samples()[i]).is_of_running)
      continue;
    const bool is_before = samples.samples()[i].time_ns <= part.begin_ns;
    if (!is_before && found)
      break;
    found = i;
  }
  if (!found)
    return {};
  return samples.StackOf(samples.samples()[*found].callsite,
                         ThreadCauses::kMaxFrames);
}

// Returns who woke the thread after a wait, if that is in the trace.
std::optional<ThreadCauses::Waker> WakerOf(const ThreadStateTable& states,
                                           const ThreadNames& names,
                                           uint32_t thread,
                                           size_t wait) {
  if (wait + 1 == states.num_parts(thread))
    return std::nullopt;
  const ThreadStateTable::Waking* const waking =
      states.WakingOf(thread, wait + 1);
  if (waking == nullptr)
    return std::nullopt;
  ThreadCauses::Waker waker{waking->time_ns, ThreadStateTable::kNone, "",
                            waking->is_in_interrupt};
  if (waking->tid == 0)
    return waker;
  waker.thread = states.FindTid(waking->tid);
  waker.name = waker.thread == ThreadStateTable::kNone
                   ? "thread " + std::to_string(waking->tid)
                   : names.Get(waker.thread);
  return waker;
}

void AddNeighbours(const ThreadStateTable& states,
                   const ThreadNames& names,
                   std::vector<ThreadPart> ready,
                   ThreadCauses* causes) {
  std::sort(ready.begin(), ready.end(),
            [](const ThreadPart& a, const ThreadPart& b) {
              return a.dur_ns() > b.dur_ns();
            });
  ready.resize(std::min(ready.size(), kMaxSearched));
  std::map<uint32_t, uint64_t> sums;
  uint64_t recorded_ns = 0;
  for (const ThreadPart& part : ready) {
    if (part.cpu == ThreadStateTable::kNoCpu)
      continue;
    for (const ThreadStateTable::Run& run :
         states.RunsOn(part.cpu, part.begin_ns, part.end_ns)) {
      sums[run.thread] += run.ns;
      recorded_ns += run.ns;
    }
  }
  for (const auto& [thread, ns] : sums)
    causes->neighbours.push_back({names.Get(thread), ns});
  std::stable_sort(causes->neighbours.begin(), causes->neighbours.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  causes->not_recorded_ns =
      causes->times.ready_ns - std::min(causes->times.ready_ns, recorded_ns);
}

std::vector<ThreadCauses::Place> Hottest(
    const std::map<std::string, uint64_t>& counts) {
  std::vector<ThreadCauses::Place> places;
  for (const auto& [text, samples] : counts)
    places.push_back({text, samples});
  std::stable_sort(
      places.begin(), places.end(),
      [](const auto& a, const auto& b) { return a.samples > b.samples; });
  places.resize(std::min(places.size(), ThreadCauses::kMaxPlaces));
  return places;
}

void AddSamples(const ThreadTimes& times,
                uint32_t thread,
                uint64_t begin_ns,
                uint64_t end_ns,
                ThreadCauses* causes) {
  const ThreadStateTable& states = times.states();
  const StackSamples& samples = times.samples();
  std::map<uint32_t, uint64_t> callsites;
  uint64_t sampled_ns = 0;
  const auto [first, end] = samples.Find(states.tid(thread), begin_ns, end_ns);
  for (size_t i = first; i < end; ++i) {
    const StackSamples::Sample& sample = samples.samples()[i];
    const size_t part = states.PartAt(thread, sample.time_ns);
    const bool is_running =
        part < states.num_parts(thread) &&
        states.PartOf(thread, part).state == ThreadState::kRunning;
    if (!is_running || sample.callsite == StackSamples::kNone ||
        !samples.CounterOf(sample).is_of_running) {
      continue;
    }
    ++callsites[sample.callsite];
    causes->num_in_kernel +=
        sample.mode == protozero::trace::StackSample::MODE_KERNEL;
    sampled_ns += sample.weight;
  }
  if (samples.time_period_ns() != 0) {
    const uint64_t ran_ns = causes->times.ran_ns;
    const uint64_t unsampled_ns = ran_ns - std::min(ran_ns, sampled_ns);
    if (unsampled_ns / kMinUnsampled > samples.time_period_ns() &&
        unsampled_ns > ran_ns / 4) {
      causes->unsampled_ns = unsampled_ns;
    }
  }
  causes->counts = samples.CountsOf(states.tid(thread), begin_ns, end_ns);
  std::map<std::string, uint64_t> functions;
  std::map<std::string, uint64_t> stacks;
  for (const auto& [callsite, count] : callsites) {
    causes->num_samples += count;
    const auto frames = samples.StackOf(callsite, ThreadCauses::kMaxFrames + 1);
    functions[frames.front()] += count;
    std::string stack;
    for (size_t j = std::min(frames.size(), ThreadCauses::kMaxFrames); j-- > 0;)
      stack += (stack.empty() ? "" : " > ") + frames[j];
    if (frames.size() > ThreadCauses::kMaxFrames)
      stack = "... > " + stack;
    stacks[stack] += count;
  }
  causes->functions = Hottest(functions);
  causes->stacks = Hottest(stacks);
}

}  // namespace

ThreadNames::ThreadNames(const ThreadTimes& times, const Tracks& tracks) {
  const ThreadStateTable& states = times.states();
  for (uint32_t i = 0; i < states.num_threads(); ++i) {
    const std::string& name = states.name(i);
    names_.push_back((name.empty() ? std::string("thread") : name) + " " +
                     std::to_string(states.tid(i)));
  }
  for (const uint64_t track : tracks.All()) {
    const TrackInfo info = InfoOf(track, tracks);
    const uint32_t thread = states.Find(info);
    if (thread != ThreadStateTable::kNone && !info.name.empty())
      names_[thread] = LabelOf(info);
  }
}

ThreadCauses CausesOf(const ThreadTimes& times,
                      const ThreadNames& names,
                      uint32_t thread,
                      uint64_t begin_ns,
                      uint64_t end_ns) {
  const ThreadStateTable& states = times.states();
  ThreadCauses causes;
  std::vector<FoundWait> waits;
  std::vector<ThreadPart> ready;
  uint64_t known_ns = 0;
  size_t i = states.PartAt(thread, begin_ns);
  for (i = i == states.num_parts(thread) ? 0 : i; i < states.num_parts(thread);
       ++i) {
    ThreadPart part = states.PartOf(thread, i);
    if (part.begin_ns >= end_ns)
      break;
    part.begin_ns = std::max(part.begin_ns, begin_ns);
    part.end_ns = std::min(part.end_ns, end_ns);
    if (part.end_ns <= part.begin_ns)
      continue;
    if (part.state == ThreadState::kRunning) {
      causes.times.ran_ns += part.dur_ns();
    } else if (ThreadStateTable::IsReady(part.state)) {
      causes.times.ready_ns += part.dur_ns();
      ready.push_back(part);
    } else if (ThreadStateTable::IsWaiting(part.state)) {
      causes.times.waited_ns += part.dur_ns();
      waits.push_back({part, i});
    } else {
      continue;
    }
    known_ns += part.dur_ns();
  }
  causes.unknown_ns = end_ns - begin_ns - known_ns;
  causes.num_ready = ready.size();
  causes.num_waits = waits.size();
  std::stable_sort(waits.begin(), waits.end(),
                   [](const FoundWait& a, const FoundWait& b) {
                     return a.clipped.dur_ns() > b.clipped.dur_ns();
                   });
  waits.resize(std::min(waits.size(), kMaxSearched));
  for (const FoundWait& wait : waits) {
    causes.wait_times.emplace_back(wait.clipped.begin_ns, wait.clipped.end_ns);
  }
  waits.resize(std::min(waits.size(), ThreadCauses::kMaxWaits));
  for (const FoundWait& wait : waits) {
    const ThreadPart whole = states.PartOf(thread, wait.part);
    causes.waits.push_back(
        {wait.clipped.begin_ns, wait.clipped.end_ns,
         whole.state == ThreadState::kBlocked,
         StackOfWait(times.samples(), states.tid(thread), whole),
         whole.end_ns > end_ns ? std::nullopt
                               : WakerOf(states, names, thread, wait.part)});
  }
  AddNeighbours(states, names, std::move(ready), &causes);
  AddSamples(times, thread, begin_ns, end_ns, &causes);
  return causes;
}

std::string HaltText(const ThreadCauses& causes) {
  std::string text;
  if (causes.times.ready_ns != 0) {
    text = "it had no processor for " + DurationText(causes.times.ready_ns);
    if (!causes.neighbours.empty()) {
      text += ", where " + ShownName(causes.neighbours[0].thread) +
              " ran for " + DurationText(causes.neighbours[0].ns);
    }
  }
  if (causes.times.waited_ns != 0) {
    text += text.empty() ? "it waited" : ", and it waited";
    if (!causes.waits[0].stack.empty())
      text += " in " + ShownName(causes.waits[0].stack[0]);
    text += " for " + DurationText(causes.times.waited_ns);
  }
  return text;
}

}  // namespace pztrace
