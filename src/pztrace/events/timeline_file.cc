// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/timeline_file.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "protozero/const_bytes.h"
#include "src/pbz/extended_schema.h"
#include "src/pbz/field_stream.h"
#include "src/program/io.h"
#include "src/pztrace/events/track_rows.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

using protozero::ConstBytes;
using protozero::KernelPacket;
using protozero::TraceReader;

namespace {

void ReadTraceAhead(TraceStream* stream, protozero::TraceReader* reader) {
  pbz::FieldStream::Run run;
  while (stream->Next(&run))
    reader->ReadAhead(ConstBytes(run.data, run.size));
}

// Reads a file once more, if that is possible.
void ReadFileAhead(const std::string& file_name,
                   protozero::TraceReader* reader) {
  struct stat info = {};
  if (stat(file_name.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return;
  const auto file = program::OpenFile(kProgram, file_name);
  if (!file)
    return;
  TraceStream stream(file.get());
  ReadTraceAhead(&stream, reader);
}

bool ReadRuns(const std::string& file_name,
              TraceInput* input,
              protozero::TraceReader* reader) {
  TraceStream& stream = input->stream();
  pbz::FieldStream::Run run;
  bool ok = true;
  while (stream.Next(&run)) {
    if (!reader->Read(ConstBytes(run.data, run.size))) {
      program::PrintError(
          kProgram,
          "%s: the trace is damaged; its end, from about byte %" PRIu64
          " on, is not counted",
          program::DisplayName(file_name), run.offset);
      ok = false;
    }
  }
  reader->Finish();
  if (!stream.error().empty()) {
    program::PrintError(kProgram, "%s: %s", program::DisplayName(file_name),
                        stream.error().c_str());
    ok = false;
  }
  return stream.ReportUnread(program::DisplayName(file_name)) && ok;
}

}  // namespace

bool ReadTrace(const std::string& file_name,
               TraceInput* input,
               protozero::TraceReader* reader) {
  reader->set_read_ahead([&] { ReadFileAhead(file_name, reader); });
  return ReadRuns(file_name, input, reader);
}

bool ReadTimeline(const std::string& file_name,
                  TraceInput* input,
                  TimelineReader* reader,
                  bool reads_ahead,
                  ThreadTimes* times) {
  if (!reads_ahead) {
    reader->set_times(times);
    const bool ok = ReadTrace(file_name, input, reader);
    if (times != nullptr)
      times->Finish();
    return ok;
  }
  pbz::ExtendedSchema schema;
  reader->set_schema(&schema);
  // A pipe can be read only once.
  TraceStream& stream = input->stream();
  if (stream.Restart()) {
    pbz::FieldStream::Run run;
    TraceReader::Callbacks callbacks;
    callbacks.on_kernel_packet = [times](const KernelPacket& packet) {
      times->Add(packet);
    };
    callbacks.skips_events = true;
    TraceReader kernel_reader(std::move(callbacks));
    while (stream.Next(&run)) {
      reader->ReadAhead(ConstBytes(run.data, run.size));
      if (times != nullptr)
        kernel_reader.Read(ConstBytes(run.data, run.size));
    }
    stream.Restart();
    if (times != nullptr)
      times->Finish();
  }
  const bool ok = ReadRuns(file_name, input, reader);
  reader->set_schema(nullptr);
  schema.ReportUnused(kProgram, program::DisplayName(file_name));
  return ok;
}

bool ReadAgain(TraceInput* input, TimelineReader* reader) {
  TraceStream& stream = input->stream();
  if (!stream.Restart())
    return false;
  pbz::FieldStream::Run run;
  while (stream.Next(&run))
    reader->Read(ConstBytes(run.data, run.size));
  reader->Finish();
  return true;
}

std::string UndividedText(uint64_t num_slices) {
  return CountOf(num_slices, "slice") + (num_slices == 1 ? " is" : " are") +
         " not in ran, ready and waited: the states of the thread are not "
         "known all the time";
}

Completeness CompletenessOf(const TimelineReader& reader, bool is_damaged) {
  Completeness completeness;
  for (const auto& [reason, packets] : reader.packets_lost())
    completeness.AddLost(reason, packets);
  completeness.AddUnknown(reader.unknown_losses());
  uint64_t places = 0;
  for (const auto& [sequence, gaps] : reader.gaps())
    places += gaps.places;
  if (places != 0)
    completeness.AddProblem("packets are missing in " +
                            CountOf(places, "place"));
  if (is_damaged)
    completeness.AddProblem("the file is damaged");
  return completeness;
}

std::vector<std::string> OmissionsOf(const TimelineReader& reader) {
  std::vector<std::string> lines;
  const auto add = [&lines](uint64_t count, const char* noun,
                            const char* of_one, const char* of_several) {
    if (count != 0) {
      lines.push_back(CountOf(count, noun) + " " +
                      (count == 1 ? of_one : of_several));
    }
  };
  add(reader.unfinished() - reader.lost_ends(), "slice", "had not ended",
      "had not ended");
  add(reader.lost_ends(), "slice", "had not ended, or its end is lost",
      "had not ended, or their end is lost");
  add(reader.unbegun(), "end", "without a beginning in the trace",
      "without a beginning in the trace");
  add(reader.late(), "event", "came too late to be in order",
      "came too late to be in order");
  add(reader.unrelated(), "event",
      "on a clock that nothing relates to the trace's",
      "on clocks that nothing relates to the trace's");
  add(reader.skipped() - reader.skipped_by_loss(), "packet",
      "refers to others from before the trace",
      "refer to others from before the trace");
  add(reader.skipped_by_loss(), "packet", "is of no use, since others are lost",
      "are of no use, since others are lost");
  add(reader.undescribed(), "extension", "that nothing describes: not read",
      "that nothing describes: not read");
  for (const auto& [what, count] : reader.unread())
    lines.push_back(std::to_string(count) + " " + what + ": not read");
  return lines;
}

std::vector<std::string> LostStretchesOf(const TimelineReader& reader) {
  struct Sum {
    uint64_t all_ns = 0;
    LostStretch longest{};
  };
  std::map<uint64_t, Sum> sums;
  for (const LostStretch& lost : reader.lost_stretches()) {
    Sum& sum = sums[lost.track];
    const uint64_t ns = lost.end_ns - lost.begin_ns;
    sum.all_ns += ns;
    if (ns >= sum.longest.end_ns - sum.longest.begin_ns)
      sum.longest = lost;
  }
  std::map<uint64_t, Gaps> tracks;
  for (const auto& [sequence, gaps] : reader.gaps()) {
    Gaps& of_track = tracks[gaps.track];
    of_track.places += gaps.places;
  }
  std::vector<std::string> lines;
  for (const auto& [track, gaps] : tracks) {
    std::string line = Escaped(FullLabelOf(track, reader.tracks())) +
                       ": packets are missing in " +
                       CountOf(gaps.places, "place");
    const auto found = sums.find(track);
    if (found != sums.end()) {
      const LostStretch& longest = found->second.longest;
      const std::string where =
          DurationText(longest.end_ns - longest.begin_ns) + " from " +
          DurationText(longest.begin_ns - reader.first_ns()) + " on";
      line += gaps.places == 1 ? ", for " + where
                               : ", for " + DurationText(found->second.all_ns) +
                                     " in all; the longest for " + where;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void AddNotes(const TimelineReader& reader,
              bool is_damaged,
              const std::string& prefix,
              std::vector<std::string>* notes) {
  const Completeness completeness = CompletenessOf(reader, is_damaged);
  // Without statistics, the losses were not counted.
  if (reader.has_stats() || !completeness.is_complete())
    notes->push_back(prefix + completeness.Text());
  for (const auto& lines : {LostStretchesOf(reader), OmissionsOf(reader)}) {
    for (const std::string& line : lines)
      notes->push_back(prefix + line);
  }
}

void PrintOmissions(const TimelineReader& reader, FILE* file) {
  for (const std::string& line : OmissionsOf(reader))
    fprintf(file, "%s\n", line.c_str());
}

std::string DurationText(uint64_t ns) {
  constexpr struct {
    double factor;
    const char* unit;
  } kUnits[] = {{1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
  char text[32];
  if (ns < 1000) {
    snprintf(text, sizeof(text), "%" PRIu64 " ns", ns);
    return text;
  }
  const auto* unit = &kUnits[0];
  for (const auto& next : kUnits) {
    if (static_cast<double>(ns) >= next.factor)
      unit = &next;
  }
  snprintf(text, sizeof(text), "%.2f %s",
           static_cast<double>(ns) / unit->factor, unit->unit);
  return text;
}

}  // namespace pztrace
