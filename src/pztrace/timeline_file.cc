// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/timeline_file.h"

#include <inttypes.h>

#include <optional>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace.h"
#include "src/pbz/extended_schema.h"
#include "src/pbz/field_stream.h"
#include "src/pbz/program_io.h"
#include "src/pztrace/program_name.h"

namespace pztrace {

namespace {

// Of the |trace|.
const pbz::MessageType* EventType(const pbz::MessageType& trace) {
  using protozero::trace::Trace;
  using protozero::trace::TracePacket;
  return trace.FindField(Trace::kPacketFieldNumber)
      ->message->FindField(TracePacket::kTrackEventFieldNumber)
      ->message;
}

}  // namespace

bool ReadTimelineFile(const std::string& file_name,
                      TimelineReader* reader,
                      bool has_extensions) {
  const pbz::ScopedFile file = pbz::OpenFile(kProgram, file_name);
  if (!file)
    return false;
  pbz::FieldStream stream(file.get());
  pbz::FieldStream::Run run;
  bool ok = true;
  std::optional<pbz::ExtendedSchema> schema;
  if (has_extensions)
    schema.emplace().ReadAhead(&stream);
  while (stream.Next(&run)) {
    const protozero::ConstBytes packets(run.data, run.size);
    if (schema)
      reader->set_event_type(EventType(*schema->TypeOf(packets)));
    if (!reader->Read(packets)) {
      pbz::PrintError(kProgram,
                      "%s: the trace is damaged; what comes behind %" PRIu64
                      " bytes, or a little later, is not counted",
                      pbz::DisplayName(file_name), run.offset);
      ok = false;
    }
  }
  reader->set_event_type(nullptr);
  reader->Finish();
  if (schema)
    schema->ReportUnused(kProgram, pbz::DisplayName(file_name));
  if (!stream.error().empty()) {
    pbz::PrintError(kProgram, "%s: %s", pbz::DisplayName(file_name),
                    stream.error().c_str());
    ok = false;
  }
  return ok;
}

std::vector<std::string> OmissionsOf(const TimelineReader& reader) {
  std::vector<std::string> lines;
  const auto add = [&lines](uint64_t count, const char* what) {
    if (count != 0)
      lines.push_back(std::to_string(count) + " " + what);
  };
  add(reader.unfinished(), "slices had not ended, or their end is lost");
  add(reader.unbegun(), "ends without a beginning in the trace");
  add(reader.skipped(), "packets are of no use, since others are lost");
  return lines;
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
