// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/recording_status.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/completeness.h"
#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

namespace {

using Programs = std::map<protozero::ProducerID, std::string>;

constexpr uint32_t kPeriodMs = 1000;
// Control sequences of terminals: the rest of the line is erased, and the
// cursor goes to the beginning of the line, so that a message overwrites the
// line.
constexpr char kEraseLine[] = "\x1b[K";
constexpr char kToLineBegin[] = "\r";

size_t TerminalColumns() {
  winsize size = {};
  const bool is_known =
      ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  return is_known ? size.ws_col : 80;
}

// Returns a number of bytes as a person says it, such as "1.2 MB".
std::string SizeText(uint64_t bytes) {
  const char* const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value,
           units[unit]);
  return text;
}

Programs ProgramsOf(const RecordingStats& stats) {
  Programs programs;
  for (const protozero::TraceProducerStats& producer : stats.trace.producers) {
    // One without data sources, such as `pztrace trigger`, has no part in it.
    // The recorder itself has one for threads.
    if (producer.data_sources == 0 || producer.pid == getpid())
      continue;
    programs[producer.producer_id] = ShownProcess(producer.name, producer.pid);
  }
  return programs;
}

std::string LossesOf(const RecordingStats& stats) {
  Completeness completeness(stats.trace);
  completeness.AddNotWritten(stats.packets_not_written);
  return completeness.Text();
}

}  // namespace

RecordingStatus::RecordingStatus(std::function<RecordingStats()> get_stats)
    : get_stats_(std::move(get_stats)),
      is_terminal_(isatty(STDERR_FILENO) == 1) {}

RecordingStatus::~RecordingStatus() {
  if (is_terminal_ && next_ms_ != 0)
    fputs(kEraseLine, stderr);
}

uint32_t RecordingStatus::Run(uint64_t now_ms, uint64_t num_offers) {
  // A program that comes may be gone a moment later.
  const bool has_come = num_offers != num_offers_ && !is_terminal_;
  if (now_ms < next_ms_ && !has_come)
    return static_cast<uint32_t>(next_ms_ - now_ms);
  num_offers_ = num_offers;
  next_ms_ = now_ms + kPeriodMs;
  const RecordingStats stats = get_stats_();
  if (is_terminal_) {
    ShowLine(stats, now_ms);
    return kPeriodMs;
  }
  PrintChanges(stats);
  // Without a program that comes or goes, there is nothing to say.
  return UINT32_MAX;
}

void RecordingStatus::ShowLine(const RecordingStats& stats, uint64_t now_ms) {
  const Programs programs = ProgramsOf(stats);
  std::string names;
  for (const auto& [id, name] : programs)
    names += (names.empty() ? ": " : ", ") + name;
  const uint64_t ms = std::max<uint64_t>(now_ms - last_ms_, 1);
  const uint64_t rate =
      last_ms_ == 0 ? 0 : (stats.file_bytes - last_bytes_) * 1000 / ms;
  last_ms_ = now_ms;
  last_bytes_ = stats.file_bytes;
  // The names may be long, so they come last.
  const std::string line =
      SizeText(stats.file_bytes) + ", " + SizeText(rate) + "/s, " +
      LossesOf(stats) + "; Ctrl-C ends; " +
      (programs.empty() ? "no program yet"
                        : CountOf(programs.size(), "program") + names);
  fprintf(stderr, "%s%s%s", Cut(line, TerminalColumns() - 4).c_str(),
          kEraseLine, kToLineBegin);
  fflush(stderr);
}

void RecordingStatus::PrintChanges(const RecordingStats& stats) {
  Programs programs = ProgramsOf(stats);
  for (const auto& [id, name] : programs) {
    if (programs_.find(id) == programs_.end())
      program::PrintError(kProgram, "%s is connected", name.c_str());
  }
  for (const auto& [id, name] : programs_) {
    if (programs.find(id) == programs.end())
      program::PrintError(kProgram, "%s is gone", name.c_str());
  }
  programs_ = std::move(programs);
}

}  // namespace pztrace
