// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/producer_problems.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "protozero/tracing/trace.h"
#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/scheduling/scheduling_recorder.h"
#include "src/pztrace/trace_file/completeness.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/tracing/shared_memory/out_of_memory.h"
#include "src/tracing/track_event/category_rules.h"

namespace pztrace {

namespace {

using program::PrintError;
using protozero::TraceConfig;
using protozero::TraceStats;

namespace trace = protozero::trace;

// The limit of categories. Producers may name any number of them.
constexpr size_t kMaxCategories = 64;

// The limit of programs that a line is printed for, as any can say that.
constexpr size_t kMaxOtherClocks = 16;

// The same, for programs that have no place for this recorder.
constexpr uint32_t kMaxWithoutPlace = 16;

using Names = std::vector<std::string>;

bool Contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string ListOf(const Names& names) {
  std::string list;
  for (const std::string& name : names)
    list += (list.empty() ? "'" : ", '") + ShownName(name) + "'";
  return list;
}

// Returns a list such as "server (12), client (13)".
std::string ListOf(const TraceStats::SilentProducers& programs) {
  std::string list;
  for (const auto& [name, pid] : programs.named)
    list += (list.empty() ? "" : ", ") + ShownProcess(name, pid);
  return list + (programs.number > programs.named.size() ? ", ..." : "");
}

// Returns whether the session wants the data source of some producers only.
bool HasSelection(const TraceConfig::DataSource& source) {
  return !source.producer_name_filter.empty() ||
         !source.producer_name_patterns.empty() ||
         !source.producer_pids.empty();
}

// Prints the data sources that no program offered, and the programs that
// connected and wrote nothing.
void PrintUnmetWishes(const TraceConfig& config, const TraceStats& stats) {
  if (stats.producers_seen == 0) {
    PrintError(kProgram, "no producer has connected, so nothing was recorded");
    return;
  }
  Names not_offered;
  Names not_selected;
  for (size_t i = 0; i < config.data_sources.size(); ++i) {
    const TraceConfig::DataSource& source = config.data_sources[i];
    const std::string& name = source.config.name;
    if (stats.data_source_instances[i] != 0)
      continue;
    const bool is_offered = Contains(stats.names_offered, name);
    Names* const names = !is_offered            ? &not_offered
                         : HasSelection(source) ? &not_selected
                                                : nullptr;
    if (names != nullptr && !Contains(*names, name))
      names->push_back(name);
  }
  if (!not_offered.empty()) {
    Names offered = stats.names_offered;
    // The recorder's own offer is of no help.
    offered.erase(std::remove(offered.begin(), offered.end(),
                              SchedulingRecorder::kDataSource),
                  offered.end());
    PrintError(kProgram, "no producer has offered %s; %s%s%s",
               ListOf(not_offered).c_str(),
               offered.empty() ? "none has offered anything" : "offered were ",
               ListOf(offered).c_str(),
               offered.size() == TraceStats::kMaxNamesOffered ? ", ..." : "");
  }
  if (!not_selected.empty()) {
    PrintError(kProgram, "no producer that is selected has offered %s",
               ListOf(not_selected).c_str());
  }
  // Producers that are not selected are silent by intent, unless none is.
  const bool may_be_silent =
      not_selected.empty() &&
      std::any_of(config.data_sources.begin(), config.data_sources.end(),
                  HasSelection);
  TraceStats::SilentProducers silent = stats.silent_producers;
  const auto is_self = [](const auto& producer) {
    return producer.second == getpid();
  };
  const auto end =
      std::remove_if(silent.named.begin(), silent.named.end(), is_self);
  if (end != silent.named.end()) {
    silent.named.erase(end, silent.named.end());
    --silent.number;
  }
  if (silent.number == 0 || !not_offered.empty() || may_be_silent)
    return;
  PrintError(kProgram, "%s connected and wrote nothing: %s",
             CountOf(silent.number, "producer").c_str(),
             ListOf(silent).c_str());
}

}  // namespace

void ProducerProblems::CheckHost() {
  const int error = host_->accept_error();
  if (error != 0 && !knows_accept_error_) {
    PrintError(kProgram, "a producer can not connect: %s", strerror(error));
    knows_accept_error_ = true;
  }
  if (host_->num_refused() != 0 && !knows_refusal_) {
    PrintError(kProgram, "there are too many producers for another one");
    knows_refusal_ = true;
  }
  if (host_->num_out_of_memory() != 0 && !knows_lack_of_host_memory_) {
    PrintError(kProgram, "out of memory: a producer has been disconnected");
    knows_lack_of_host_memory_ = true;
  }
}

void ProducerProblems::CheckClock(
    const protozero::TracingService::ProducerInfo& producer) {
  if (producer.clock_ahead_ns == 0 || other_clocks_.size() == kMaxOtherClocks ||
      !other_clocks_.emplace(producer.pid, producer.name).second) {
    return;
  }
  const double seconds = static_cast<double>(producer.clock_ahead_ns) / 1e9;
  PrintError(kProgram,
             "%s is in another time namespace: its times are %.1f s %s "
             "those of the recorder%s",
             ShownProcess(producer.name, producer.pid).c_str(),
             seconds < 0 ? -seconds : seconds, seconds < 0 ? "before" : "after",
             other_clocks_.size() == kMaxOtherClocks
                 ? "; further programs are not checked"
                 : "");
}

void ProducerProblems::WatchCategories(const std::string& categories) {
  wanted_categories_ = categories;
  unmatched_ = protozero::internal::WantedPatterns(categories);
}

void ProducerProblems::OnDataSource(
    const protozero::TracingService::ProducerInfo& producer,
    const protozero::DataSourceDescriptor& source) {
  // Without memory, the user is not told.
  protozero::RunsInMemory([&] { CheckClock(producer); });
  const trace::DataSourceDescriptor::Decoder fields(source.raw_fields);
  const trace::TrackEventDescriptor::Decoder events(
      fields.track_event_descriptor());
  // Without memory, the message lacks some categories.
  protozero::RunsInMemory([&] {
    for (const protozero::ConstBytes bytes : events.available_categories()) {
      const trace::TrackEventCategory::Decoder category(bytes);
      const std::string_view name = category.name().ToStdStringView();
      unmatched_.erase(
          std::remove_if(unmatched_.begin(), unmatched_.end(),
                         [name](const std::string& pattern) {
                           return protozero::internal::NamesCategory(pattern,
                                                                     name);
                         }),
          unmatched_.end());
      if (categories_.size() < kMaxCategories)
        categories_.insert(ShownName(name));
    }
  });
}

void ProducerProblems::ReportAwaited(const TraceStats& stats) const {
  TraceStats::SilentProducers awaited;
  for (const protozero::TraceProducerStats& producer : stats.producers) {
    if (producer.is_awaited)
      awaited.Add(producer.name, producer.pid);
  }
  if (awaited.number != 0) {
    PrintError(kProgram,
               "waiting for %s, which %s not answer; a stopped program does "
               "not, and an interrupt ends the wait",
               ListOf(awaited).c_str(), awaited.number == 1 ? "does" : "do");
  }
}

void ProducerProblems::ReportCategories(const TraceStats& stats) const {
  const bool is_empty = stats.packets_begun() == 0;
  if (stats.producers_seen == 0 || wanted_categories_.empty() ||
      (!is_empty && unmatched_.empty())) {
    return;
  }
  std::string known;
  for (const std::string& name : categories_)
    known += (known.empty() ? "'" : ", '") + name + "'";
  if (categories_.size() == kMaxCategories)
    known += ", ...";
  const std::string subject =
      is_empty ? "nothing was recorded of the categories '" +
                     ShownName(wanted_categories_) + "'; producers knew "
               : "no producer knew " + ListOf(unmatched_) + "; they knew ";
  // Producers describe themselves when they connect and when they stop. A
  // category that is not declared is known from its first event on.
  PrintError(kProgram, "%s%s, and others may come with their first event",
             subject.c_str(), known.empty() ? "no category" : known.c_str());
}

bool ProducerProblems::Report(const TraceConfig& config,
                              const TraceStats& stats) const {
  bool is_complete = true;
  if (knows_accept_error_) {
    PrintError(kProgram,
               "producers that could not connect are not recorded, or not from "
               "the beginning");
    is_complete = false;
  }
  if (host_->num_refused() != 0) {
    PrintError(kProgram, "%s %s refused",
               CountOf(host_->num_refused(), "connection").c_str(),
               host_->num_refused() == 1 ? "was" : "were");
    is_complete = false;
  }
  if (stats.producers_without_memory != 0) {
    PrintError(kProgram,
               "%" PRIu32 " of %" PRIu32
               " producers could not be recorded, for lack of shared memory",
               stats.producers_without_memory, stats.producers_seen);
    is_complete = false;
  }
  if (num_without_place_ != 0) {
    PrintError(kProgram, "%s had no place for this recording, or not at first",
               CountOf(num_without_place_, "program").c_str());
    is_complete = false;
  }
  // Otherwise a producer that could not connect may have the data source.
  if (is_complete)
    PrintUnmetWishes(config, stats);
  return is_complete;
}

bool ProducerProblems::ReportLackOfMemory(const TraceStats& stats) const {
  bool is_short = false;
  if (host_->num_out_of_memory() != 0) {
    PrintError(kProgram, "%s ended for lack of memory",
               CountOf(host_->num_out_of_memory(), "connection").c_str());
    is_short = true;
  }
  if (stats.lost().of(protozero::LossReason::kOutOfMemory) != 0) {
    PrintError(kProgram, "out of memory: packets could not be recorded");
    is_short = true;
  }
  if (ended_early_) {
    PrintError(kProgram, "out of memory: the recording has ended early");
    is_short = true;
  }
  return is_short;
}

void ProducerProblems::OnProducerWithoutPlace(
    protozero::TracingSessionID,
    const protozero::TracingService::ProducerInfo& info) {
  ++num_without_place_;
  // Any program can say that.
  if (num_without_place_ > kMaxWithoutPlace)
    return;
  PrintError(kProgram,
             "%s is not recorded: it has no place left for another recording%s",
             ShownProcess(info.name, info.pid).c_str(),
             num_without_place_ == kMaxWithoutPlace
                 ? "; further programs are counted"
                 : "");
}

void ProducerProblems::OnProducerWithoutMemory(
    protozero::TracingSessionID,
    const protozero::TracingService::ProducerInfo& info,
    const std::string& reason) {
  if (knows_lack_of_memory_)
    return;
  PrintError(kProgram, "%s is not recorded: no shared memory: %s",
             ShownProcess(info.name, info.pid).c_str(), reason.c_str());
  knows_lack_of_memory_ = true;
}

}  // namespace pztrace
