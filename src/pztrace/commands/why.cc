// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace why.

#include <inttypes.h>
#include <stdio.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/events/track_info.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/tasks/span_tasks.h"
#include "src/pztrace/tasks/task_timeline.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/pztrace/why/other_threads.h"
#include "src/pztrace/why/request_texts.h"
#include "src/pztrace/why/slow_slices.h"
#include "src/pztrace/why/thread_causes.h"
#include "src/pztrace/why/waker_slices.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;
using SlowSlice = SlowSlices::SlowSlice;

// The limit of arguments in a line.
constexpr size_t kMaxArgBytes = 120;
// The shares and threads of a line.
constexpr size_t kMaxShown = 3;
// The number of samples in the kernel from which on they are told.
constexpr uint64_t kManySamples = 5;
// Other threads are named for waits that take more than this part of a slice.
constexpr uint64_t kShareOfLongWait = 10;

// The command line.
struct WhyArguments {
  std::vector<std::string> words;  // The file, and the slice.
  std::string request;
  uint32_t slowest = 10;
};

program::Command WhyCommand(WhyArguments* arguments) {
  return {
      "pztrace why",
      "[options] FILE [SLICE]",
      R"(Prints why slices were slow: for how long their threads ran, were ready but had
no processor, and waited, where, and what ran instead.
)",
      {{"FILE", "a trace, and the name of slices: the slowest of them",
        &arguments->words},
       {"--request ID", "a request of tasks, rather than slices",
        &arguments->request},
       {"--slowest N",
        "how many slices, default: 10. Without SLICE, the slowest of each "
        "name, or the threads that ran most if there is none",
        &arguments->slowest}},
      R"(It needs the states of threads, and for functions the samples of stacks, which
`pztrace record --why` records.
)"};
}

std::string PercentOf(uint64_t part, uint64_t whole) {
  char text[16];
  snprintf(text, sizeof(text), "%.0f %%",
           whole == 0
               ? 0.0
               : 100 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

void PrintShare(const char* word,
                uint64_t ns,
                uint64_t whole_ns,
                const std::string& more) {
  printf("%10s %10s %5s%s\n", word, DurationText(ns).c_str(),
         PercentOf(ns, whole_ns).c_str(),
         more.empty() ? "" : ("  " + more).c_str());
}

// Returns the functions of samples, the hottest first, and how much of them is
// the kernel's.
std::string HotText(const ThreadCauses& causes) {
  std::string text;
  for (size_t i = 0; i < std::min(causes.functions.size(), kMaxShown); ++i) {
    text += (i == 0 ? "" : ", ") +
            PercentOf(causes.functions[i].samples, causes.num_samples) + " " +
            ShownName(causes.functions[i].text);
  }
  if (!text.empty())
    text = "of " + CountOf(causes.num_samples, "sample") + ": " + text;
  static constexpr char kInKernel[] =
      "in the kernel, as for page faults and system calls";
  if (causes.num_in_kernel >= kManySamples &&
      4 * causes.num_in_kernel > causes.num_samples) {
    text += "; " + PercentOf(causes.num_in_kernel, causes.num_samples) +
            " of them " + kInKernel;
  } else if (causes.unsampled_ns != 0) {
    text += (text.empty() ? "" : "; ") + DurationText(causes.unsampled_ns) +
            " without samples: " + kInKernel;
  }
  return text;
}

// Returns what the processor did in the running time; empty if no sample says.
std::string CountsText(const StackSamples::Counts& counts) {
  char text[96] = "";
  const auto instructions = static_cast<double>(counts.instructions);
  if (counts.cycles != 0 && counts.instructions != 0) {
    snprintf(text, sizeof(text), "%.2f instructions a cycle",
             instructions / static_cast<double>(counts.cycles));
  }
  std::string all = text;
  if (counts.cache_misses != 0 && counts.instructions != 0) {
    snprintf(text, sizeof(text), "%.2f cache misses a thousand instructions",
             1000 * static_cast<double>(counts.cache_misses) / instructions);
    all += (all.empty() ? "" : ", ") + std::string(text);
  }
  return all;
}

// Returns what ran while the thread was ready.
std::string NeighbourText(const ThreadCauses& causes) {
  std::string text = CountOf(causes.num_ready, "time");
  size_t i = 0;
  for (; i < std::min(causes.neighbours.size(), kMaxShown); ++i) {
    text += (i == 0 ? "; its processor ran " : ", ") +
            ShownName(causes.neighbours[i].thread) + " for " +
            DurationText(causes.neighbours[i].ns);
  }
  if (causes.not_recorded_ns != 0) {
    text += (i == 0 ? "; its processor ran what is not recorded for "
                    : ", and what is not recorded for ") +
            DurationText(causes.not_recorded_ns);
  }
  return text;
}

// Returns " in NAME {ARGS}" for a slice.
std::string PlaceText(const EventText& slice, const std::string& args) {
  std::string text = " in " + ShownName(slice.name);
  if (!args.empty())
    text += " {" + program::Shown(Cut(args, kMaxArgBytes)) + "}";
  return text;
}

// A slice that is explained: its causes, and the number of its first wait.
struct ExplainedSlice {
  const SlowSlice* slow;
  ThreadCauses causes;
  size_t first_wait;

  std::string PlaceAt(uint64_t time_ns) const {
    const SlowSlice::Inner* const inner = slow->InnermostAt(time_ns);
    return inner == nullptr ? "" : PlaceText(*inner->text, inner->args);
  }
};

// Returns where a slice waited, if not all waits are shown alone.
std::string WaitsText(const ExplainedSlice& slice) {
  const ThreadCauses& causes = slice.causes;
  std::string text = CountOf(causes.num_waits, "time");
  if (causes.num_waits <= causes.waits.size())
    return text;
  std::map<std::string, uint64_t> sums;
  for (const auto& [begin_ns, end_ns] : causes.wait_times)
    sums[slice.PlaceAt(begin_ns)] += end_ns - begin_ns;
  const auto longest = std::max_element(
      sums.begin(), sums.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (!longest->first.empty())
    text += "; " + DurationText(longest->second) + longest->first;
  return text;
}

// Returns who ended a wait.
std::string WakerText(const ThreadCauses::Waker& waker,
                      const WakerSlices& slices) {
  if (waker.is_in_interrupt || waker.name.empty())
    return ", ended by an interrupt";
  const WakerSlices::Place* const place = slices.Find(waker);
  return ", woken by " + ShownName(waker.name) +
         (place == nullptr ? "" : PlaceText(*place->text, place->args));
}

void PrintWait(const ExplainedSlice& slice,
               const ThreadCauses::Wait& wait,
               const WakerSlices& wakers,
               uint64_t first_ns) {
  printf(
      "%32s from %s on%s", DurationText(wait.end_ns - wait.begin_ns).c_str(),
      DurationText(wait.begin_ns - std::min(wait.begin_ns, first_ns)).c_str(),
      slice.PlaceAt(wait.begin_ns).c_str());
  if (wait.is_blocked)
    printf(", not to be interrupted, as for a disk");
  if (wait.waker)
    printf("%s", WakerText(*wait.waker, wakers).c_str());
  for (size_t i = 0; i < wait.stack.size(); ++i)
    printf("%s%s", i == 0 ? ": " : " < ", ShownName(wait.stack[i]).c_str());
  printf("\n");
}

// Prints what other threads of the program did in a wait.
void PrintOthers(const ExplainedSlice& slice,
                 const ThreadCauses::Wait& wait,
                 size_t number,
                 const OtherThreads& threads,
                 const ThreadNames& names) {
  if ((wait.end_ns - wait.begin_ns) * kShareOfLongWait < slice.slow->dur_ns())
    return;
  const SlowSlice::Inner* const inner = slice.slow->InnermostAt(wait.begin_ns);
  const auto others =
      threads.During(number, inner == nullptr ? "" : inner->text->name);
  for (size_t i = 0; i < std::min(others.size(), kMaxShown); ++i) {
    const OtherThreads::Other& other = others[i];
    printf("%s%s",
           i == 0 ? std::string(33, ' ').append("meanwhile ").c_str() : ", ",
           ShownName(names.Get(other.thread)).c_str());
    if (other.waits_there_too)
      printf(" waited, too,");
    else if (other.times)
      printf(" ran for %s", DurationText(other.times->ran_ns).c_str());
    else
      printf(" was");
    printf("%s", PlaceText(*other.text, other.args).c_str());
  }
  if (!others.empty())
    printf("\n");
}

void PrintCauses(const ExplainedSlice& slice,
                 const OtherThreads& others,
                 const WakerSlices& wakers,
                 const ThreadNames& names,
                 uint64_t first_ns) {
  const ThreadCauses& causes = slice.causes;
  const uint64_t dur_ns = slice.slow->dur_ns();
  PrintShare("ran", causes.times.ran_ns, dur_ns, HotText(causes));
  const std::string counts = CountsText(causes.counts);
  if (!counts.empty())
    printf("%27s%s\n", "", counts.c_str());
  // A thread that is never there shows no more by its stacks.
  if (2 * causes.times.ran_ns >= dur_ns) {
    for (size_t i = 0; i < std::min(causes.stacks.size(), kMaxShown); ++i) {
      printf("%32s %s\n",
             PercentOf(causes.stacks[i].samples, causes.num_samples).c_str(),
             Escaped(causes.stacks[i].text).c_str());
    }
  }
  PrintShare("ready", causes.times.ready_ns, dur_ns,
             causes.num_ready == 0 ? "" : NeighbourText(causes));
  PrintShare("waited", causes.times.waited_ns, dur_ns,
             causes.num_waits == 0 ? "" : WaitsText(slice));
  for (size_t i = 0; i < causes.waits.size(); ++i) {
    PrintWait(slice, causes.waits[i], wakers, first_ns);
    PrintOthers(slice, causes.waits[i], slice.first_wait + i, others, names);
  }
  if (causes.unknown_ns != 0) {
    PrintShare("unknown", causes.unknown_ns, dur_ns,
               "states are lost, or were not recorded");
  }
}

const char* MostlyText(const ThreadCauses& causes) {
  const TimeDivision& times = causes.times;
  if (causes.unknown_ns >
      std::max({times.ran_ns, times.ready_ns, times.waited_ns}))
    return "what it did is mostly unknown";
  if (times.waited_ns > times.ran_ns && times.waited_ns > times.ready_ns)
    return "it mostly waited";
  return times.ready_ns > times.ran_ns ? "it mostly had no processor"
                                       : "it mostly ran";
}

void PrintSlice(const ExplainedSlice& slice,
                const Tracks& tracks,
                const OtherThreads& others,
                const WakerSlices& wakers,
                const ThreadNames& names,
                uint64_t first_ns) {
  const SlowSlice& slow = *slice.slow;
  std::string name;
  std::string place;
  if (slow.text == nullptr) {
    name = ShownName(names.Get(static_cast<uint32_t>(slow.number)));
  } else {
    name = ShownName(slow.text->name);
    place = " on " + Escaped(FullLabelOf(slow.track, tracks));
  }
  printf("%s: %s%s from %s on%s; %s\n",
         name.empty() ? "(no name)" : name.c_str(),
         DurationText(slow.dur_ns()).c_str(), place.c_str(),
         DurationText(slow.begin_ns - first_ns).c_str(),
         slow.is_open ? ", and had not ended" : "", MostlyText(slice.causes));
  PrintCauses(slice, others, wakers, names, first_ns);
}

// Prints a request. Returns false, and has printed why, if there is none.
bool PrintRequest(const TaskTimeline& timeline,
                  const TimelineReader& reader,
                  const std::string& request,
                  ThreadTimes* times) {
  const uint32_t found = timeline.texts().Find(request);
  if (found == kNoIndex || timeline.requests()[found].num_tasks == 0) {
    program::PrintError(kProgram, "no task works on the request '%s'",
                        request.c_str());
    return false;
  }
  PrintPath(timeline, reader.tracks(), times,
            std::min(reader.first_ns(), timeline.first_ns()), found, 20);
  if (!times->has_states()) {
    printf(
        "no states of threads: tasks that ran may have waited, or had no "
        "processor;\n`pztrace record --why` records that\n");
  }
  return true;
}

// Returns the end of the message that there is no slice |name|, or none with
// the states of its thread: a similar name, or the names that have slices with
// these states, the slowest first.
std::string AdviceOn(const std::string& name,
                     bool has_slices,
                     const TimelineReader& reader,
                     TraceInput* input,
                     ThreadTimes* times) {
  std::set<std::string> names;
  SlowSlices others("", kMaxShown);
  const auto add = [&](const Slice& slice, bool is_open) {
    others.Add(slice, is_open,
               times->ThreadOf(slice.track, reader.tracks()) !=
                   ThreadStateTable::kNone);
    names.insert(slice.text->name);
  };
  TimelineReader::Callbacks callbacks;
  callbacks.on_slice = [&](const Slice& slice) { add(slice, false); };
  callbacks.on_unfinished = [&](const Slice& slice) { add(slice, true); };
  TimelineReader again(std::move(callbacks));
  if (!ReadAgain(input, &again))
    return "";
  std::string advice;
  if (!has_slices)
    advice = program::Suggestion(name, {names.begin(), names.end()});
  if (advice.empty()) {
    others.Finish();
    for (const SlowSlice& slice : others.slices()) {
      advice += (advice.empty() ? "; others are there, such as '" : "', '") +
                ShownName(slice.text->name);
    }
    if (!advice.empty())
      advice += "'";
  }
  return advice;
}

// Prints slices. Returns false, and has printed why, if there are none.
bool PrintSlices(SlowSlices* slow,
                 const TimelineReader& reader,
                 const std::string& name,
                 TraceInput* input,
                 ThreadTimes* times) {
  slow->Finish();
  uint64_t first_ns = reader.first_ns();
  if (name.empty() && slow->slices().empty() &&
      slow->num_without_thread() == 0) {
    slow->TakeThreads(times->states());
    for (const SlowSlice& thread : slow->slices())
      first_ns = std::min(first_ns, thread.begin_ns);
  }
  const ThreadNames names(*times, reader.tracks());
  OtherThreads others(times, reader.tracks());
  WakerSlices wakers;
  std::vector<ExplainedSlice> slices;
  for (const SlowSlice& slice : slow->slices()) {
    const uint32_t thread = slice.text == nullptr
                                ? static_cast<uint32_t>(slice.number)
                                : times->ThreadOf(slice.track, reader.tracks());
    slices.push_back(
        {&slice, CausesOf(*times, names, thread, slice.begin_ns, slice.end_ns),
         others.num_waits()});
    for (const ThreadCauses::Wait& wait : slices.back().causes.waits)
      others.AddWait(thread, wait.begin_ns, wait.end_ns);
    wakers.Want(slices.back().causes);
  }
  TimelineReader* again = nullptr;
  const auto add = [&](const Slice& slice, bool is_open) {
    slow->AddInner(slice, is_open, *again);
    others.AddSlice(slice, *again);
    wakers.Add(slice, times->ThreadOf(slice.track, reader.tracks()), *again);
  };
  TimelineReader::Callbacks callbacks;
  callbacks.reads_details = true;
  callbacks.on_slice = [&](const Slice& slice) { add(slice, false); };
  callbacks.on_unfinished = [&](const Slice& slice) { add(slice, true); };
  TimelineReader inner_reader(std::move(callbacks));
  again = &inner_reader;
  if (!slices.empty())
    ReadAgain(input, &inner_reader);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (i != 0)
      putchar('\n');
    PrintSlice(slices[i], reader.tracks(), others, wakers, names, first_ns);
  }
  const std::string left_out =
      CountOf(slow->num_without_thread(), "slice") +
      " left out: the trace has no states of their threads, or they are not a "
      "thread's";
  if (!slow->slices().empty()) {
    if (slow->num_without_thread() != 0)
      printf("\n%s\n", left_out.c_str());
    return true;
  }
  const bool has_slices = slow->num_without_thread() != 0;
  std::string problem = has_slices ? left_out : "no slice";
  if (!name.empty()) {
    if (!has_slices)
      problem += " '" + name + "'";
    problem += AdviceOn(name, has_slices, reader, input, times);
  }
  program::PrintError(kProgram, "%s", problem.c_str());
  return false;
}

}  // namespace

int WhyMain(int argc, char** argv) {
  WhyArguments arguments;
  const program::Command command = WhyCommand(&arguments);
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  if (arguments.words.size() > 2)
    return WrongUsage(command, "one FILE and one SLICE");
  arguments.words.resize(2);
  const std::string& file = arguments.words[0];
  const std::string& name = arguments.words[1];
  if (!name.empty() && !arguments.request.empty())
    return WrongUsage(command, "--request and SLICE exclude each other");
  if (arguments.slowest == 0)
    return WrongUsage(command, "--slowest takes a number from 1 on");

  program::NoteInput(file);
  TraceInput input;
  if (!input.Open(file, "why"))
    return kFailure;
  ThreadTimes times;
  TaskTimeline timeline;
  SlowSlices slow(name, arguments.slowest);
  const TimelineReader* tracks_of = nullptr;
  const auto add = [&](const Slice& slice, bool is_open) {
    slow.Add(slice, is_open,
             times.ThreadOf(slice.track, tracks_of->tracks()) !=
                 ThreadStateTable::kNone);
  };
  TimelineReader::Callbacks callbacks;
  const bool wants_request = !arguments.request.empty();
  if (!wants_request) {
    callbacks.on_slice = [&](const Slice& slice) { add(slice, false); };
    callbacks.on_unfinished = [&](const Slice& slice) { add(slice, true); };
  } else {
    callbacks.on_task_step = [&](const protozero::TaskStep& step) {
      timeline.Add(step);
    };
  }
  TimelineReader reader(std::move(callbacks), wants_request);
  tracks_of = &reader;
  const bool is_whole =
      ReadTimeline(file, &input, &reader, /*reads_ahead=*/true, &times);
  if (!times.has_states() && !wants_request) {
    program::PrintError(
        kProgram, "%s: has no states of threads; %s. --request needs none",
        program::DisplayName(file),
        input.stream().Restart()
            ? "`pztrace record --why` records them, unless it "
              "says why it cannot"
            : "they may be there, but a pipe cannot be read twice");
    return kFailure;
  }
  FinishTasks(&reader, &timeline);
  const bool is_found =
      wants_request ? PrintRequest(timeline, reader, arguments.request, &times)
                    : PrintSlices(&slow, reader, name, &input, &times);
  std::vector<std::string> notes;
  AddNotes(reader, !is_whole, "", &notes);
  for (const std::string& note : notes)
    printf("%s\n", note.c_str());
  return program::FlushStandardOutput(kProgram) && is_found && is_whole
             ? kSuccess
             : kFailure;
}

}  // namespace pztrace
